/* A text that somebody wrote (a file, an argument, a template in a string) and places in it.
 *
 * Values and tokens carry byte offsets; lines and columns are computed only when a person or a
 * report wants them. Lines and columns count from 1; columns count code points. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct Source {
    Str name; /* path as the user would write it, or "<argument>", "<stdin>" */
    Str text;
    uint32_t first_line; /* line number of the first line; 1 for whole files */
} Source;

typedef struct Place {
    uint32_t line;
    uint32_t column;
} Place;

/* Offsets past the end give the place just behind the last character. LF, CRLF and a lone CR
 * each end a line. */
Place source_place(const Source *source, uint32_t offset);
/* The text of the line that holds `offset`, without its line end. */
Str source_line_at(const Source *source, uint32_t offset);

/* False: none of these eight bytes ends a line. True: one is below 16, a line end or another
 * control. */
static inline bool source_may_end_line(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    const uint64_t ones = 0x0101010101010101u;
    return ((word - ones * 16) & ~word & (ones * 0x80)) != 0;
}

/* Where lines start, for whoever asks for many places of one text. */
typedef struct SourceLines {
    const uint32_t *starts; /* of the second line and those behind it */
    uint32_t count;
    uint32_t first_line;
} SourceLines;

SourceLines source_lines(Arena *arena, const Source *source);
/* The line of source_place(). */
uint32_t source_lines_at(const SourceLines *lines, uint32_t offset);

/* All texts of one load, so that a Value can name its source in 16 bits. Index 0 is "nowhere". */
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
/* Keeps `name` and `text` by reference. Returns SOURCE_NONE when the table is full. */
uint16_t sources_add(Sources *sources, Str name, Str text);
const Source *sources_get(const Sources *sources, uint16_t id); /* NULL for SOURCE_NONE */
