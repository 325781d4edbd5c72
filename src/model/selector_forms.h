/* The forms of a selector, one row each, for `eden help selectors` and the reference. */
#pragma once

#include <stdbool.h>

typedef struct SelectorForm {
    const char *text;   /* "role=web"; NULL ends the table */
    const char *help;   /* one line */
    bool is_expression; /* only in sites: elsewhere the node cannot be queried */
} SelectorForm;

extern const SelectorForm selector_forms[];
