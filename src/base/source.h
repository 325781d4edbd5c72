/* A text from a user (a file, an argument, a template in a string) and locations in it.
 *
 * Values and tokens have byte offsets; lines and columns are computed only when they are reported.
 * Lines and columns start at 1; columns count code points. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct Source {
    Str name; /* path as the user would write it, or "<argument>", "<stdin>" */
    Str text;
    uint32_t first_line; /* line number of the first line; 1 for complete files */
} Source;

typedef struct LineColumn {
    uint32_t line;
    uint32_t column;
} LineColumn;

/* Offsets past the end yield the location after the last character. LF, CRLF and a lone CR each end
 * a line. */
LineColumn source_location(const Source *source, uint32_t offset);
/* The line that contains `offset`, without its newline. */
Str source_line_at(const Source *source, uint32_t offset);

/* False: none of these eight bytes ends a line. True: one is below 16, a newline or another control
 * character. */
static inline bool source_may_contain_line_end(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    const uint64_t ones = 0x0101010101010101u;
    return ((word - ones * 16) & ~word & (ones * 0x80)) != 0;
}

/* Index of line starts, for looking up many locations in the same text. */
typedef struct SourceLines {
    const uint32_t *starts; /* offsets of the second and later lines */
    uint32_t count;
    uint32_t first_line;
} SourceLines;

SourceLines source_lines(Arena *arena, const Source *source);
/* The line that source_location() returns. */
uint32_t source_lines_at(const SourceLines *lines, uint32_t offset);

/* All texts of one load, so that a Value can identify its source with 16 bits. Index 0 is
 * "nowhere". */
typedef struct Sources {
    Arena *arena;
    Source **items;
    uint32_t count;
    uint32_t cap;
} Sources;

enum {
    SOURCE_NONE = 0,
    SOURCES_MAX = UINT16_MAX
};

void sources_init(Sources *sources, Arena *arena);
/* Borrows `name` and `text`. Returns SOURCE_NONE if the table is full. */
uint16_t sources_add(Sources *sources, Str name, Str text);
const Source *sources_get(const Sources *sources, uint16_t id); /* NULL for SOURCE_NONE */
