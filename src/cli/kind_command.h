/* Commands for objects of a kind, from its row: a command is its own row, and what it says of itself.
 *
 *     eden roles list -l team=web      eden roles show web      eden roles delete web
 *     eden roles create -f role.yaml   eden config set title=Production
 *     eden roles apply -f role.yaml */
#pragma once

#include "cli/kind_print.h"

#define FILE_OPTION                                                                            \
    {                                                                                          \
        .name = "file", .letter = 'f', .argument = "FILE", .repeats = true, .word = WORD_FILE, \
        .help = "the object, as YAML or JSON; - is standard input"                             \
    }

/* Each does one thing with objects of the kind that the arguments of the verb name, and returns the
 * exit code. */
int kind_run_list(Invocation *invocation, const Kind *kind);
/* The same with a table of its own, and what is said when there is none at all. */
typedef void KindTable(const Invocation *invocation, const Kind *kind, const List *items);
int kind_run_list_as(Invocation *invocation, const Kind *kind, KindTable *table, const char *none);
int kind_run_show(Invocation *invocation, const Kind *kind, Str name);
/* Every document of every --file. All are looked at first: when one is wrong, none is made. */
int kind_run_create(Invocation *invocation, const Kind *kind);
/* The same in place of what is there. A document with a revision is for that one alone. */
int kind_run_apply(Invocation *invocation, const Kind *kind);
/* All that are named are tried; the worst failure is the exit code. */
int kind_run_delete(Invocation *invocation, const Kind *kind);
/* FIELD=VALUE of its spec, FIELD:=JSON for what is no text, FIELD- unsets. Makes it when it is not
 * there. */
int kind_run_set(Invocation *invocation, const Kind *kind, Str name);
