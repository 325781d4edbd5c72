/* Objects of the API as people and programs see them, by the row of their kind. */
#pragma once

#include "api/kind.h"
#include "cli/cluster_client.h"

#define KIND_FORMATS "table|wide|json|yaml|name|jsonpath=EXPR"

/* Of verbs that list. */
#define SELECTOR_OPTION                                                                       \
    {                                                                                         \
        .name = "selector", .letter = 'l', .argument = "SELECTOR",                            \
        .help = "only those with these names or labels (role=web); see 'eden help selectors'" \
    }

/* All pages as one list object, as the API tells them; `selector` may be NULL. The exit code, as of
 * cluster_call. */
int kind_fetch(Invocation *invocation, const Kind *kind, const char *selector, Value *list);

/* A list or an object, when `-o` wants it as a value or by name; false: somebody else prints it. */
bool kind_print_value(const Invocation *invocation, Value value, int *code);
/* A row each, wide when `-o` says so. */
void kind_print_table(const Invocation *invocation, const Kind *kind, const List *items);
/* The cells of such a row, on a line behind `before`, which may be empty: for objects that come one
 * by one. */
void kind_print_line(const Invocation *invocation, const Kind *kind, Str before, Value object);
/* What stands at "status.memory.total", on one line; `none` when there is nothing. */
Str kind_cell(Arena *arena, Value object, const char *path, const char *none);

/* Parts of an object. */
Str object_name(Value object);
Value object_status(Value object);
const List *object_items(Value list);
