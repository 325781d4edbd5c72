/* Commands for objects of a kind, from its row.
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

/* Verbs of a command whose row names a kind. They act on the objects that their arguments name, and
 * return the exit code. */
RunFunction kind_run_list;
RunFunction kind_run_show;
/* Every document of every --file. All are checked first: if one is wrong, none is created. */
RunFunction kind_run_create;
/* The same, but replaces objects that exist. A document with a revision replaces only that one. */
RunFunction kind_run_apply;
/* All objects are tried; the exit code is that of the worst failure. */
RunFunction kind_run_delete;

/* Parts of such verbs. `none` is printed if there are no objects at all. */
typedef void KindTable(const Invocation *invocation, const Kind *kind, const List *items);
int kind_list_as(Invocation *invocation, KindTable *table, const char *none);
int kind_show(Invocation *invocation, Str name);
/* The arguments are FIELD=VALUE of its spec, FIELD:=JSON for values that are not text, FIELD- to unset.
 * Creates the object if it does not exist. */
int kind_set(Invocation *invocation, Str name);
