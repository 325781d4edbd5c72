/* Internals of the JSON parser: containers in json_parse.c, scalars in json_scalar.c, messages in
 * json_fault.c. Private to these files.
 *
 * Parsing functions return the position after the parsed text, or NULL after reporting a fault. */
#pragma once

#include "base/problems.h"
#include "base/source.h"
#include "lang/json.h"

/* The element that the parser expected. */
typedef enum JsonExpected {
    JSON_VALUE,      /* at the top, after a colon, or the first of a list */
    JSON_NEXT_VALUE, /* after a comma */
    JSON_FIRST_KEY,  /* after '{', where '}' is allowed too */
    JSON_NEXT_KEY,   /* after a comma */
    JSON_COLON,
    JSON_LIST_NEXT, /* a comma or ']' */
    JSON_MAP_NEXT,  /* a comma or '}' */
    JSON_END,
} JsonExpected;

typedef struct JsonFaults {
    const Source *source;
    Problems *problems;
} JsonFaults;

typedef struct JsonReader {
    Arena *arena;
    const char *text;
    const char *end;
    const JsonOptions *options;
    JsonFaults faults;
    Value *stack;
    Value *limit; /* one past the end of the stack */
    Value *top;   /* first free slot */
    Value *frame; /* frame of the innermost open container */
    uint32_t depth;
    uint32_t nodes;
    uint32_t failures; /* faults that do not stop parsing, such as a duplicate key */
    uint16_t source;
    bool on_heap; /* the stack outgrew its initial buffer */
} JsonReader;

/* Each failure scans the input to find its line, so their number is limited. */
enum {
    JSON_FAILURES_MAX = 20
};

static inline uint32_t json_reader_offset(const JsonReader *reader, const char *pos)
{
    return (uint32_t)(pos - reader->text);
}

/* Parses the string whose opening quote is at `start`. */
const char *json_read_string(JsonReader *reader, const char *start, Value *out);
/* Parses any other scalar. `expected` and `open` (see below) are used in the message if there is no
 * scalar. */
const char *json_read_scalar(JsonReader *reader, const char *start, JsonExpected expected,
                             const char *open, Value *out);

/* --- Faults: off the fast path. These return NULL, so a parsing function can return their result. */

/* Reports a problem: its code (E0150 to E0158), the invalid bytes, a message and a hint ("" if
 * none). */
PRINTF_LIKE(6, 7)
const char *json_fault(const JsonFaults *faults, const char *code, const char *pos, size_t length,
                       const char *hint, const char *format, ...);

/* The string, shortened for a message. */
Str json_fault_brief(Str s);

/* Reports that the text at `pos` is not what was expected. `open` is the bracket of the innermost
 * container, or NULL at the top. */
const char *json_fault_unexpected(const JsonFaults *faults, JsonExpected expected, const char *pos,
                                  const char *open);
/* Reports that the string starting at `start` cannot continue at `pos`: a control character, or the
 * end of input. */
const char *json_fault_in_string(const JsonFaults *faults, const char *start, const char *pos);
/* Reports that the number starting at `start` cannot continue at `pos`. */
const char *json_fault_in_number(const JsonFaults *faults, const char *start, const char *pos);
