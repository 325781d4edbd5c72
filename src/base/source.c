#include "base/source.h"

#include "base/search.h"
#include "base/utf8.h"
#include "base/vec.h"

/* The start of the character that contains `offset`; CRLF counts as one. */
static size_t character_start(Str text, size_t offset)
{
    if (offset >= text.len) {
        return text.len;
    }
    if (offset > 0 && text.data[offset] == '\n' && text.data[offset - 1] == '\r') {
        return offset - 1;
    }
    while (offset > 0 && utf8_is_continuation(text.data[offset])) {
        offset--;
    }
    return offset;
}

LineColumn source_location(const Source *source, uint32_t offset)
{
    Str text = source->text;
    size_t end = character_start(text, offset);
    uint32_t line = source->first_line;
    size_t line_start = 0;
    for (size_t pos = 0; pos < end;) {
        if (end - pos >= 8 && !source_may_contain_line_end(text.data + pos)) {
            pos += 8;
            continue;
        }
        char c = text.data[pos++];
        if (c == '\r' && pos < text.len && text.data[pos] == '\n') {
            continue; /* the second byte of CRLF ends the line */
        }
        if (c == '\n' || c == '\r') {
            line++;
            line_start = pos;
        }
    }
    size_t column = utf8_count(str_slice(text, line_start, end)) + 1;
    return (LineColumn){ .line = line,
                         .column = column > UINT32_MAX ? UINT32_MAX : (uint32_t)column };
}

SourceLines source_lines(Arena *arena, const Source *source)
{
    Str text = source->text;
    VEC(uint32_t) starts = { 0 };
    for (size_t pos = 0; pos < text.len;) {
        if (text.len - pos >= 8 && !source_may_contain_line_end(text.data + pos)) {
            pos += 8;
            continue;
        }
        char c = text.data[pos++];
        bool pair = c == '\r' && pos < text.len && text.data[pos] == '\n';
        if ((c == '\n' || c == '\r') && !pair) {
            VEC_PUSH(arena, &starts, (uint32_t)pos);
        }
    }
    return (SourceLines){ starts.items, starts.len, source->first_line };
}

uint32_t source_lines_at(const SourceLines *lines, uint32_t offset)
{
    return lines->first_line + SEARCH(lines->count, pos, lines->starts[pos] <= offset);
}

Str source_line_at(const Source *source, uint32_t offset)
{
    Str text = source->text;
    if (text.len == 0) {
        return STR_EMPTY;
    }
    size_t pos = character_start(text, offset);
    Str before = str_slice(text, 0, pos);
    Str after = str_from_offset(text, pos);
    const char line_ends[] = { '\n', '\r' };
    for (size_t i = 0; i < COUNT_OF(line_ends); i++) {
        const char *last = memrchr(before.data, line_ends[i], before.len);
        if (last != NULL) {
            before = str_from_offset(before, (size_t)(last - before.data) + 1);
        }
        const char *first = memchr(after.data, line_ends[i], after.len);
        if (first != NULL) {
            after = str_slice(after, 0, (size_t)(first - after.data));
        }
    }
    return str_slice(text, pos - before.len, pos + after.len);
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
