/* Objects that the store keeps just as their authors want them, under objects/<kind>/<name>. Pure. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "lang/value.h"

enum {
    STORED_OBJECT_MAX = 256 << 10, /* bytes of one */
    STORED_UUID_MAX = 36
};

typedef struct StoredObject {
    char uuid[STORED_UUID_MAX + 1];
    int64_t created_ms;
    Value labels, annotations, spec; /* maps; of the first two every value is a text */
    Value unknown;                   /* what a newer server wrote */
} StoredObject;

void stored_object_print(const StoredObject *object, Buf *out);
/* All of it is in the arena, the text not needed any more. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool stored_object_read(Arena *arena, Str text, StoredObject *out, Error *err);
