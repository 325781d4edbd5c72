/* Where a value is inside of others, as users write it: `server.port`, `/server/port`, or
 * `[server, port]`. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "lang/value.h"

typedef struct DataStep {
    Value key;    /* a string or an integer */
    bool guessed; /* it was written as text: digits may be a key or a place in a list */
} DataStep;

typedef struct DataPath {
    DataStep *steps;
    uint32_t len; /* 0: the whole document */
} DataPath;

enum {
    DATA_PATH_MAX = 64
};

/* Text that starts with '/' is a JSON pointer (RFC 6901), other text has dots between its steps; a
 * list has one step per item. Fails with ERROR_INVALID. */
MUST_CHECK bool data_path_parse(Arena *arena, Value given, DataPath *out, Error *err);
/* The first `len` steps for a message: `servers[0].name`; "the document" for none. */
Str data_path_text(Arena *arena, const DataPath *path, uint32_t len);

/* "-": the end of a list. */
bool data_step_is_end(const DataStep *step);
/* The place in a list that the step may mean; false when it means none. */
bool data_step_index(const DataStep *step, uint32_t *out);
