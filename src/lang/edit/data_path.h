/* The path of a value in a document, in one of the forms that users write: `server.port`,
 * `/server/port` or `[server, port]`. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "lang/value.h"

typedef struct DataSegment {
    Value key;         /* string or integer */
    bool is_ambiguous; /* parsed from a string: digits may be a key or a list index */
} DataSegment;

typedef struct DataPath {
    DataSegment *segments;
    uint32_t len; /* 0: the entire document */
} DataPath;

enum {
    DATA_PATH_MAX = 64
};

/* A string that starts with '/' is a JSON pointer (RFC 6901), other strings are separated by dots;
 * a list has one segment per item. Fails with ERROR_INVALID. */
MUST_CHECK bool data_path_parse(Arena *arena, Value path_value, DataPath *out, Error *err);
/* The first `len` segments for a message: `servers[0].name`; "the document" if none. */
Str data_path_text(Arena *arena, const DataPath *path, uint32_t len);

/* "-": the end of a list. */
bool data_segment_is_end(const DataSegment *segment);
/* The list index that the segment may denote; returns false if there is none. */
bool data_segment_index(const DataSegment *segment, uint32_t *out);
