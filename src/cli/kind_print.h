/* Prints API objects as tables or values, from the row of their kind. */
#pragma once

#include "api/kind.h"
#include "cli/cluster_client.h"

#define KIND_FORMATS "table|wide|json|yaml|name|jsonpath=EXPR"

/* Option of verbs that list objects. */
#define SELECTOR_OPTION                                                                     \
    {                                                                                       \
        .name = "selector", .letter = 'l', .argument = "SELECTOR",                          \
        .help = "list only objects that match, such as role=web; see 'eden help selectors'" \
    }

/* Fetches all pages into one list object; `selector` may be NULL. Returns the exit code of
 * cluster_call(). */
int kind_fetch(Invocation *invocation, const Kind *kind, const char *selector, Value *list);

/* Prints a list or an object as a value or by name if `-o` requests that. Otherwise returns false,
 * and the caller must print it. */
bool kind_print_value(const Invocation *invocation, Value value, int *code);
/* Prints a row for each object, with more columns for -o wide. */
void kind_print_table(const Invocation *invocation, const Kind *kind, const List *items);
/* Returns the cells of one object as a line that starts with `before`, which may be empty; for
 * objects that arrive one at a time. */
Str kind_line(const Invocation *invocation, Arena *arena, const Kind *kind, Str before,
              Value object);
/* The value at "status.memory.total", on one line; `none` if it is missing. */
Str kind_cell(Arena *arena, Value object, const char *path, const char *none);

/* Parts of an object. */
Str object_name(Value object);
Value object_status(Value object);
const List *object_items(Value list);
