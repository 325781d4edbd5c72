/* JSON pointers (RFC 6901) into documents, such as "/spec/rules/0/verbs". Pure. */
#pragma once

#include "lang/value.h"

typedef struct JsonMatch {
    bool is_found; /* false: no value has this path */
    Value value;   /* deepest existing value */
    Value name; /* its key in the parent map; null for an item of a list or the entire document */
} JsonMatch;

/* An invalid pointer is not found. */
JsonMatch json_pointer_find(Value document, Str pointer);
