/* The forms that a selector can have, a row each: what `eden help selectors` and the reference show. */
#pragma once

#include <stdbool.h>

typedef struct SelectorForm {
    const char *text;   /* "role=web"; NULL ends the table */
    const char *help;   /* one line */
    bool is_expression; /* only in sites: elsewhere nobody can ask the node */
} SelectorForm;

extern const SelectorForm selector_forms[];
