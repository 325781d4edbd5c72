/* Words that users bring along from Ansible, Salt and Puppet, and what to write instead: asked
 * before "did you mean", because a name that is spelled alike seldom means the same. */
#pragma once

#include "model/module.h"

typedef enum ForeignPlace {
    FOREIGN_KEY,       /* of a map; `within` says which, such as "a step" */
    FOREIGN_TASK,      /* a module of Ansible, which is a key of its tasks; `within` is empty */
    FOREIGN_ACTION,    /* "file.append"; `within` is empty */
    FOREIGN_PARAMETER, /* `within` is the action, "file.managed" */
    FOREIGN_VALUE,     /* of a parameter; `within` is "service.ensure.state" */
    FOREIGN_NAME,      /* of a variable in templates, "grains.id"; `within` is empty */
    FOREIGN_OPTION,    /* of the command line, without dashes; `within` is empty */
} ForeignPlace;

/* What to write instead; empty when the word is not known here, or when what it stands for is not
 * in the table of modules (NULL: not asked). */
Str foreign_word(ModuleTable table, ForeignPlace place, Str within, Str word);
/* What stands in a hint "write 'X'"; empty for any other hint. */
Str hint_replacement(Str hint);
/* What to do with a document that is a playbook, a list of tasks or a file of states; empty when it
 * is none of them. */
Str foreign_document(Value document);
