/* The fields of a JSON object that has a fixed shape: each of its kind, none missing, none twice,
 * none that nobody knows. For the messages and records of this folder. */
#pragma once

#include "base/error.h"
#include "lang/value.h"

typedef struct JsonField {
    const char *name;
    ValueKind kind;
    bool optional; /* then `out` is left as it is when the field is not there */
    Value *out;
} JsonField;

/* Fails with ERROR_INVALID, naming the field. */
MUST_CHECK bool json_fields_read(Value object, const JsonField *fields, size_t count, Error *err);

/* The line of the first field that nobody knows, for files that people write; 0: there is none, or it
 * is not found. `object` was read from `text`. */
uint32_t json_field_line(Str text, Value object, const JsonField *fields, size_t count);

/* The line of a name in quotes, the first one; 0: it is not there. */
uint32_t json_name_line(Str text, Str name);

/* One object out of a text, within limits that suit messages: ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool json_object_read(Arena *arena, Str text, uint32_t size_max, uint32_t nodes_max,
                                 Value *out, Error *err);

/* Whether the first field of an object says `format`. One of another version is refused with both
 * named: nobody is talked into speaking an older one. */
MUST_CHECK bool json_format_check(Value object, const char *format, Error *err);

/* Copies a string field to a fixed place with a NUL; false when it does not fit or has a NUL. */
MUST_CHECK bool json_copy(Value field, char *out, size_t size);
