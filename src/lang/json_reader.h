/* The inside of the JSON reader: containers in json_parse.c, leaves in json_scalar.c, messages
 * in json_fault.c. Nobody else includes this.
 *
 * Functions that read return the place behind what they read, or NULL after reporting a fault. */
#pragma once

#include "base/problems.h"
#include "base/source.h"
#include "lang/json.h"

/* What the reader was looking for. */
typedef enum JsonExpected {
    JSON_VALUE,      /* at the top, behind a colon, or the first of a list */
    JSON_NEXT_VALUE, /* behind a comma */
    JSON_FIRST_KEY,  /* behind '{', where '}' is fine too */
    JSON_NEXT_KEY,   /* behind a comma */
    JSON_COLON,
    JSON_LIST_GOES_ON, /* a comma or ']' */
    JSON_MAP_GOES_ON,  /* a comma or '}' */
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
    Value *limit; /* one past the stack */
    Value *top;   /* first free place */
    Value *frame; /* of the innermost open container */
    uint32_t depth;
    uint32_t nodes;
    uint32_t failures; /* faults that do not end the reading, as a duplicate key */
    uint16_t source;
    bool on_heap; /* the stack outgrew its first room */
} JsonReader;

/* Each failure costs a walk over the text to find its line, so there is an end to them. */
enum {
    JSON_FAILURES_MAX = 20
};

static inline uint32_t json_reader_offset(const JsonReader *reader, const char *at)
{
    return (uint32_t)(at - reader->text);
}

/* The string whose opening quote is at `start`. */
const char *json_read_string(JsonReader *reader, const char *start, Value *out);
/* Any other leaf. `expected` and `open` (see below) are for the message when there is none. */
const char *json_read_scalar(JsonReader *reader, const char *start, JsonExpected expected,
                             const char *open, Value *out);

/* --- Faults: off the fast path; they return NULL so that a reading function can end with one. */

/* The code E0150 to E0158, the bytes at fault, a message and a hint ("" for none). */
PRINTF_LIKE(6, 7)
const char *json_fault(const JsonFaults *faults, const char *code, const char *at, size_t length,
                       const char *hint, const char *format, ...);

/* As much of it as belongs into a message. */
Str json_fault_brief(Str s);

/* `at` does not hold what was expected. `open` is the bracket of the innermost container, NULL at
 * the top. */
const char *json_fault_unexpected(const JsonFaults *faults, JsonExpected expected, const char *at,
                                  const char *open);
/* A string that started at `start` cannot go on at `at`: a control character or the end. */
const char *json_fault_in_string(const JsonFaults *faults, const char *start, const char *at);
/* A number that started at `start` cannot go on at `at`. */
const char *json_fault_in_number(const JsonFaults *faults, const char *start, const char *at);
