/* Verbs for objects of a kind, derived from its row.
 *
 *     eden roles list -l team=web      eden roles show web      eden roles delete web
 *     eden roles create -f role.yaml   eden config set title=Production
 *     eden roles apply -f role.yaml */
#pragma once

#include "cli/kind_print.h"

/* Verbs of a command whose row names a kind. They act on the objects that the arguments name, and
 * return the exit code. */
RunFunction kind_run_list;
RunFunction kind_run_show;
/* Creates every document of every --file. All documents are validated first; if one is invalid,
 * none is created. */
RunFunction kind_run_create;
/* Like create, but replaces existing objects. A document with a revision replaces only that
 * revision. */
RunFunction kind_run_apply;
/* Continues after failures; returns the exit code of the worst one. */
RunFunction kind_run_delete;

/* Options of these verbs. The command itself has `kind_options`: -o, and how to reach the
 * server. */
extern const Option kind_options[];
extern const Option kind_list_options[]; /* --selector, --watch */
extern const Option kind_file_options[]; /* --file */

/* The rows of these verbs. `plural` is the name of the command, `singular` is the word for one
 * object, `arg` and `word` describe the argument that names an object, and `example` is a name for
 * the examples:
 *
 *     static const Verb verbs[] = { KIND_VERBS("roles", "role", "ROLE", WORD_ROLE, "web"), { 0 } };
 *
 * Use this macro for all five verbs, or the macros above for those that the kind supports. */
#define KIND_VERBS(plural, singular, arg, word, example)                            \
    KIND_VERB_LIST(plural), KIND_VERB_SHOW(plural, singular, arg, word, example),   \
        KIND_VERB_CREATE(plural, singular), KIND_VERB_APPLY(plural, singular, arg), \
        KIND_VERB_DELETE(plural, singular, arg, word, example)

#define KIND_VERB_LIST(plural)                                                                \
    {                                                                                         \
        .name = "list", .is_default = true, .help = "List " plural ".",                       \
        .options = kind_list_options, .examples = { { "eden " plural, "list all " plural } }, \
        .run = kind_run_list                                                                  \
    }

#define KIND_VERB_SHOW(plural, singular, arg, word, example)                                   \
    {                                                                                          \
        .name = "show", .args = { { arg, word } }, .help = "Show a " singular ".",             \
        .examples = { { "eden " plural " show " example, "show all fields of a " singular } }, \
        .run = kind_run_show                                                                   \
    }

#define KIND_VERB_CREATE(plural, singular)                                                       \
    {                                                                                            \
        .name = "create", .help = "Create " plural " from files.", .options = kind_file_options, \
        .examples = { { "eden " plural " create -f " singular ".yaml", "create a " singular } }, \
        .run = kind_run_create                                                                   \
    }

#define KIND_VERB_APPLY(plural, singular, arg)                                                    \
    {                                                                                             \
        .name = "apply", .help = "Create " plural " from files, or replace existing ones.",       \
        .text = "To change a " singular ", run 'eden " plural " show " arg " > FILE', edit\n"     \
                "FILE, and run 'eden " plural " apply -f FILE'. If it has been modified in the\n" \
                "meantime, nothing is changed and the exit code is 5.",                           \
        .options = kind_file_options,                                                             \
        .examples = { { "eden " plural " apply -f " singular ".yaml",                             \
                        "create or replace a " singular } },                                      \
        .run = kind_run_apply                                                                     \
    }

#define KIND_VERB_DELETE(plural, singular, arg, word, example)                           \
    {                                                                                    \
        .name = "delete", .args = { { arg "...", word } }, .help = "Delete " plural ".", \
        .examples = { { "eden " plural " delete " example, "delete a " singular } },     \
        .run = kind_run_delete                                                           \
    }

/* Building blocks of such verbs. If there are no objects, `none` is printed. */
typedef void KindTable(const Invocation *invocation, const Kind *kind, const List *items);
int kind_list_as(Invocation *invocation, KindTable *table, const char *none);
/* Lists the first `max` objects whose status has this value in the field; `value` NULL: any. */
int kind_list_part(Invocation *invocation, KindTable *table, const char *field, const char *value,
                   int64_t max);
int kind_show(Invocation *invocation, Str name);
/* Arguments are FIELD=VALUE of the spec, FIELD:=JSON for values that are not strings, FIELD- to
 * unset. Creates the object if it does not exist. */
int kind_set(Invocation *invocation, Str name);
