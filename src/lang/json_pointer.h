/* JSON pointers (RFC 6901) into documents: what stands at "/spec/rules/0/verbs". Pure. */
#pragma once

#include "lang/value.h"

typedef struct JsonPlace {
    bool whole;  /* false: it ends before the pointer does */
    Value value; /* the deepest that is there */
    Value
        name; /* under which that stands in its map; null: it is an item of a list, or all of it */
} JsonPlace;

/* Any text is a pointer: what it does not lead to is not there. */
JsonPlace json_pointer_find(Value document, Str pointer);
