#include "base/source.h"

/* Start of the line after the line end at `at`, or `at` itself when there is none. */
static size_t after_line_end(Str text, size_t at)
{
    if (text.data[at] == '\r') {
        return at + 1 < text.len && text.data[at + 1] == '\n' ? at + 2 : at + 1;
    }
    return text.data[at] == '\n' ? at + 1 : at;
}

Place source_place(const Source *source, uint32_t offset)
{
    Str text = source->text;
    size_t end = offset < text.len ? offset : text.len;
    Place place = { .line = source->first_line, .column = 1 };
    for (size_t at = 0; at < end;) {
        size_t next = after_line_end(text, at);
        if (next > at) {
            if (next > end) {
                break; /* between the two bytes of CRLF */
            }
            place.line++;
            place.column = 1;
            at = next;
            continue;
        }
        at++;
        while (at < end && ((unsigned char)text.data[at] & 0xc0) == 0x80) {
            at++;
        }
        place.column++;
    }
    return place;
}

Str source_line_at(const Source *source, uint32_t offset)
{
    Str text = source->text;
    size_t at = offset < text.len ? offset : text.len;
    size_t start = at;
    while (start > 0 && text.data[start - 1] != '\n' &&
           (text.data[start - 1] != '\r' || (start < text.len && text.data[start] == '\n'))) {
        start--;
    }
    size_t end = at;
    while (end < text.len && text.data[end] != '\n' && text.data[end] != '\r') {
        end++;
    }
    return str_slice(text, start, end);
}

void sources_init(Sources *sources, Arena *arena)
{
    *sources = (Sources){ .arena = arena };
}

uint16_t sources_add(Sources *sources, Str name, Str text)
{
    if (sources->count >= SOURCES_MAX) {
        return SOURCE_NONE;
    }
    if (sources->count == sources->cap) {
        uint32_t cap = sources->cap == 0 ? 16 : sources->cap * 2;
        sources->items = arena_grow(sources->arena, sources->items, sources->cap * sizeof(Source *),
                                    cap * sizeof(Source *));
        sources->cap = cap;
    }
    Source *source = ARENA_NEW(sources->arena, Source);
    *source = (Source){ .name = name, .text = text, .first_line = 1 };
    sources->items[sources->count++] = source;
    return (uint16_t)sources->count;
}

const Source *sources_get(const Sources *sources, uint16_t id)
{
    return id == SOURCE_NONE || id > sources->count ? NULL : sources->items[id - 1];
}
