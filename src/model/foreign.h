/* Words that users know from Ansible, Salt and Puppet, and what to write instead. Consulted before
 * "did you mean", because a similarly spelled name seldom has the same meaning. */
#pragma once

#include "model/module.h"

typedef enum ForeignKind {
    FOREIGN_KEY,       /* key of a map; `context` is the kind of map, such as "a step" */
    FOREIGN_TASK,      /* an Ansible module, which is a key of its tasks; `context` is empty */
    FOREIGN_ACTION,    /* "file.append"; `context` is empty */
    FOREIGN_PARAMETER, /* `context` is the action, "file.managed" */
    FOREIGN_VALUE,     /* value of a parameter; `context` is "service.ensure.state" */
    FOREIGN_REFERENCE, /* key of a requisite, "sls"; `context` is empty */
    FOREIGN_NAME,      /* variable in templates, "grains.id"; `context` is empty */
    FOREIGN_OPTION,    /* command-line option without dashes; `context` is empty */
} ForeignKind;

/* The word to write instead; empty if the word is unknown, or if the suggested action is not in the
 * table of modules (NULL: not checked). */
Str foreign_word(ModuleTable table, ForeignKind location, Str context, Str word);
/* The X in a hint "write 'X'"; empty for other hints. */
Str hint_replacement(Str hint);
/* A hint for a document that is a playbook, a list of tasks or a file of states; otherwise
 * empty. */
Str foreign_document(Value document);
