/* Parses JSON in a single pass, without recursion. Values are built on a stack; an open container
 * is a frame on it, below its items. When it closes, its items move to the arena in one block of
 * exact size, and the frame becomes the finished value.
 *
 * The bottom of the stack is a sentinel frame, so that there is always a current frame. The frame
 * of an open container stores the distance to its parent frame in `span`. */
#include <stdio.h>
#include <stdlib.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/memory.h"
#include "lang/json_reader.h"

enum {
    INITIAL_STACK = 128,      /* values that fit without heap allocation */
    LARGE_BLOCK = 256 * 1024, /* blocks of this size are checked against the budget first */
    /* Maps up to this size are not indexed until an entry is added: a linear search costs no more
     * than hashing, and building the index costs as much as parsing. */
    UNINDEXED_MAP_MAX = 16,
    LIST_HEADER = (sizeof(List) + 15) & ~15u, /* items and entries follow in the same block */
    MAP_HEADER = (sizeof(Map) + 15) & ~15u,
};

const JsonOptions json_options_default = {
    .limits = { .size = 256u << 20, .depth = VALUE_DEPTH_MAX, .nodes = 20000000 },
};

static const char *skip_space_slow(const char *p, const char *end)
{
    for (;;) {
#ifdef __SSE2__
        /* Indented input has newlines and many spaces. */
        while (end - p >= 16) {
            __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
            unsigned other =
                0xffffu ^ (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8(' ')));
            if (other != 0) {
                p += __builtin_ctz(other);
                break;
            }
            p += 16;
        }
#endif
        if (p == end || (*p != ' ' && *p != '\n' && *p != '\t' && *p != '\r')) {
            return p;
        }
        p++;
    }
}

static inline const char *skip_space(const char *p, const char *end)
{
    if (LIKELY(p < end && (unsigned char)*p > ' ')) {
        return p;
    }
    /* The next most common case is a single space after a comma or colon. */
    if (LIKELY(end - p >= 2 && *p == ' ' && (unsigned char)p[1] > ' ')) {
        return p + 1;
    }
    return skip_space_slow(p, end);
}

/* The bracket of the innermost open container, or NULL at the top. */
static const char *open_bracket(const JsonReader *reader)
{
    return reader->depth == 0 ? NULL : reader->text + reader->frame->start;
}

static const char *unexpected(const JsonReader *reader, JsonExpected expected, const char *pos)
{
    return json_fault_unexpected(&reader->faults, expected, pos, open_bracket(reader));
}

/* Allocates a closed container and its items; returns NULL if that exceeds the budget. */
static void *allocate(JsonReader *reader, size_t size)
{
    if (UNLIKELY(size >= LARGE_BLOCK)) {
        return arena_try_alloc(reader->arena, size);
    }
    void *memory = arena_alloc(reader->arena, size);
    return UNLIKELY(arena_exceeded(reader->arena)) ? NULL : memory;
}

static bool close_list(JsonReader *reader, Value *frame, uint32_t count)
{
    List *list = allocate(reader, LIST_HEADER + count * sizeof(Value));
    if (list == NULL) {
        return false;
    }
    *list = (List){ .len = count, .cap = count };
    if (count > 0) {
        list->items = (Value *)(void *)((char *)list + LIST_HEADER);
        memcpy(list->items, frame + 1, count * sizeof(Value));
    }
    frame->list = list;
    return true;
}

/* Returns the index of the first entry whose key occurred before, or `len` if there is none, as
 * map_index() does for large maps. A bitmap of hashes rules out most keys. */
static uint32_t find_duplicate(const Map *map)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < map->len; i++) {
        const Value *key = &map->entries[i].key;
        unsigned hash = 0;
        if (key->len > 0) {
            hash = (unsigned char)key->text[0] * 5u + (unsigned char)key->text[key->len - 1];
        }
        uint64_t bit = (uint64_t)1 << ((hash + key->len) & 63);
        for (uint32_t j = 0; (seen & bit) != 0 && j < i; j++) {
            const Value *earlier = &map->entries[j].key;
            if (earlier->len == key->len && memcmp(earlier->text, key->text, key->len) == 0) {
                return i;
            }
        }
        seen |= bit;
    }
    return map->len;
}

/* Later values replace earlier ones, at the position of the first. */
static void merge_duplicates(JsonReader *reader, Map *map)
{
    Map *merged = map_new(reader->arena, map->len);
    for (uint32_t i = 0; i < map->len; i++) {
        map_set(reader->arena, merged, map->entries[i].key, map->entries[i].value);
    }
    *map = *merged;
}

static void report_duplicate(JsonReader *reader, const Map *map, uint32_t position)
{
    Value key = map->entries[position].key;
    uint32_t first = 0;
    while (!value_key_equal(map->entries[first].key, key)) {
        first++;
    }
    LineColumn location = source_location(reader->faults.source, map->entries[first].key.start);
    char hint[64];
    snprintf(hint, sizeof hint, "first at line %u, column %u", location.line, location.column);
    Str spelling = json_fault_brief(str_from(reader->text + key.start + 1, key.span - 2));
    json_fault(&reader->faults, "E0154", reader->text + key.start, key.span, hint,
               "duplicate key '%" STR_FMT "'", STR_ARG(spelling));
    reader->failures++;
}

static bool close_map(JsonReader *reader, Value *frame, uint32_t count)
{
    Map *map = allocate(reader, MAP_HEADER + count * sizeof(MapEntry));
    if (map == NULL) {
        return false;
    }
    *map = (Map){ .len = count, .cap = count };
    frame->map = map;
    if (count == 0) {
        return true;
    }
    map->entries = (MapEntry *)(void *)((char *)map + MAP_HEADER);
    memcpy(map->entries, frame + 1, count * sizeof(MapEntry));
    uint32_t duplicate =
        count <= UNINDEXED_MAP_MAX ? find_duplicate(map) : map_index(reader->arena, map);
    if (UNLIKELY(duplicate < count)) {
        if (reader->options->allow_duplicates) {
            merge_duplicates(reader, map);
        } else {
            report_duplicate(reader, map, duplicate);
        }
    }
    return !arena_exceeded(reader->arena);
}

/* Closes the innermost container, whose closing bracket is before `p`. */
static const char *close_container(JsonReader *reader, const char *p)
{
    Value *frame = reader->frame;
    uint32_t count = (uint32_t)(reader->top - frame - 1);
    uint32_t outer = frame->span;
    frame->span = json_reader_offset(reader, p) - frame->start;
    reader->nodes += count;
    if (UNLIKELY(reader->nodes > reader->options->limits.nodes)) {
        return json_fault(&reader->faults, "E0156", p - 1, 1, "",
                          "the JSON text has too many values");
    }
    bool closed = frame->kind == VALUE_MAP ? close_map(reader, frame, count / 2)
                                           : close_list(reader, frame, count);
    if (UNLIKELY(reader->failures >= JSON_FAILURES_MAX)) {
        return NULL;
    }
    if (UNLIKELY(!closed)) {
        return json_fault(&reader->faults, "E0156", p - 1, 1, "",
                          "the JSON text needs too much memory");
    }
    reader->top = frame + 1;
    reader->frame = frame - outer;
    reader->depth--;
    return p;
}

static bool grow_stack(JsonReader *reader)
{
    size_t used = (size_t)(reader->top - reader->stack);
    size_t frame = (size_t)(reader->frame - reader->stack);
    size_t size = used * 2 * sizeof(Value);
    /* Values on the stack will move to the arena, so its budget applies to both. */
    if (used > reader->options->limits.nodes || size > reader->arena->budget) {
        return false;
    }
    Value *stack = realloc(reader->on_heap ? reader->stack : NULL, size);
    if (stack == NULL) {
        memory_exhausted(size);
    }
    if (!reader->on_heap) {
        memcpy(stack, reader->stack, used * sizeof(Value));
        reader->on_heap = true;
    }
    reader->stack = stack;
    reader->limit = stack + used * 2;
    reader->top = stack + used;
    reader->frame = stack + frame;
    return true;
}

/* Parses a key and its colon. */
static inline const char *read_key(JsonReader *reader, const char *p, JsonExpected expected)
{
    p = skip_space(p, reader->end);
    if (UNLIKELY(p == reader->end || *p != '"')) {
        return unexpected(reader, expected, p);
    }
    p = json_read_string(reader, p, reader->top);
    if (UNLIKELY(p == NULL)) {
        return NULL;
    }
    reader->top++;
    p = skip_space(p, reader->end);
    if (UNLIKELY(p == reader->end || *p != ':')) {
        return unexpected(reader, JSON_COLON, p);
    }
    return p + 1;
}

/* Opens the container whose bracket is at `p`; returns the position of its first value, or the one
 * after its end if it is empty. */
static const char *open_container(JsonReader *reader, const char *p)
{
    bool map = *p == '{';
    if (UNLIKELY(reader->depth == reader->options->limits.depth)) {
        return json_fault(&reader->faults, "E0156", p, 1, "", "nested deeper than %u levels",
                          reader->options->limits.depth);
    }
    reader->depth++;
    *reader->top = (Value){ .kind = map ? VALUE_MAP : VALUE_LIST,
                            .source = reader->source,
                            .start = json_reader_offset(reader, p),
                            .span = (uint32_t)(reader->top - reader->frame) };
    reader->frame = reader->top++;
    p = skip_space(p + 1, reader->end);
    if (p < reader->end && *p == (map ? '}' : ']')) {
        return close_container(reader, p + 1);
    }
    return map ? read_key(reader, p, JSON_FIRST_KEY) : p;
}

/* After a value: closes every container that ends here, and returns the position of the next value
 * or the end of the outermost container. */
static inline const char *advance(JsonReader *reader, const char *p)
{
    while (reader->depth > 0) {
        bool map = reader->frame->kind == VALUE_MAP;
        p = skip_space(p, reader->end);
        if (LIKELY(p < reader->end && *p == ',')) {
            return map ? read_key(reader, p + 1, JSON_NEXT_KEY) : p + 1;
        }
        if (UNLIKELY(p == reader->end || *p != (map ? '}' : ']'))) {
            return unexpected(reader, map ? JSON_MAP_NEXT : JSON_LIST_NEXT, p);
        }
        p = close_container(reader, p + 1);
        if (UNLIKELY(p == NULL)) {
            return NULL;
        }
    }
    return p;
}

/* Parses the value at `p` into the slot above the bottom of the stack. */
static const char *read_value(JsonReader *reader, const char *p)
{
    do {
        p = skip_space(p, reader->end);
        /* Only in a list can the previous token be a comma. */
        bool next = reader->frame->kind == VALUE_LIST && reader->top > reader->frame + 1;
        JsonExpected expected = next ? JSON_NEXT_VALUE : JSON_VALUE;
        if (UNLIKELY(p == reader->end)) {
            return unexpected(reader, expected, p);
        }
        /* Space for this value or bracket and for the key that may follow. */
        if (UNLIKELY(reader->limit - reader->top < 2) && !grow_stack(reader)) {
            return json_fault(&reader->faults, "E0156", p, 1, "",
                              "the JSON text has too many values");
        }
        if (*p == '"') {
            p = json_read_string(reader, p, reader->top);
            reader->top++;
        } else if (*p == '{' || *p == '[') {
            const Value *slot = reader->top;
            p = open_container(reader, p);
            if (reader->frame == slot) {
                continue;
            }
        } else {
            p = json_read_scalar(reader, p, expected, open_bracket(reader), reader->top);
            reader->top++;
        }
        if (LIKELY(p != NULL)) {
            p = advance(reader, p);
        }
    } while (p != NULL && reader->depth > 0);
    return p;
}

/* Parses the value at `*offset` of the source and moves the offset past it. */
static bool parse_at(Arena *arena, const Source *source, uint16_t id, size_t *offset,
                     const JsonOptions *options, Value *out, Problems *problems)
{
    if (options == NULL) {
        options = &json_options_default;
    }
    Value initial_stack[INITIAL_STACK];
    initial_stack[0] = value_null();
    const char *text = source->text.len == 0 ? "" : source->text.data;
    JsonReader reader = {
        .arena = arena,
        .text = text,
        .end = text + source->text.len,
        .options = options,
        .faults = { source, problems },
        .stack = initial_stack,
        .limit = initial_stack + INITIAL_STACK,
        .top = initial_stack + 1,
        .frame = initial_stack,
        .source = id,
    };
    *out = value_null();
    if (source->text.len > options->limits.size) {
        json_fault(&reader.faults, "E0156", text, 0, "", "the JSON text is larger than %u bytes",
                   options->limits.size);
        return false;
    }
    const char *end = read_value(&reader, text + *offset);
    bool complete = end != NULL && reader.failures == 0;
    if (end != NULL) {
        *offset = (size_t)(end - text);
    }
    if (complete) {
        *out = reader.stack[1];
    }
    if (reader.on_heap) {
        free(reader.stack);
    }
    return complete;
}

static bool parse_document(Arena *arena, const Source *source, uint16_t id,
                           const JsonOptions *options, Value *out, Problems *problems)
{
    size_t pos = str_starts(source->text, STR("\xef\xbb\xbf")) ? 3 : 0;
    if (!parse_at(arena, source, id, &pos, options, out, problems)) {
        return false;
    }
    pos = json_skip_space(source->text, pos);
    if (pos < source->text.len) {
        JsonFaults faults = { source, problems };
        json_fault_unexpected(&faults, JSON_END, source->text.data + pos, NULL);
        *out = value_null();
        return false;
    }
    return true;
}

bool json_parse(Arena *arena, const Sources *sources, uint16_t source, const JsonOptions *options,
                Value *out, Problems *problems)
{
    return parse_document(arena, sources_get(sources, source), source, options, out, problems);
}

bool json_parse_next(Arena *arena, const Sources *sources, uint16_t source, size_t *offset,
                     const JsonOptions *options, Value *out, Problems *problems)
{
    return parse_at(arena, sources_get(sources, source), source, offset, options, out, problems);
}

size_t json_skip_space(Str text, size_t offset)
{
    if (offset >= text.len) {
        return text.len;
    }
    return (size_t)(skip_space(text.data + offset, text.data + text.len) - text.data);
}

bool json_parse_text(Arena *arena, Str text, const JsonOptions *options, Value *out, Error *err)
{
    Source source = { .name = STR_EMPTY, .text = text, .first_line = 1 };
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Problems problems;
    problems_init(&problems, &scratch);
    if (parse_document(arena, &source, SOURCE_NONE, options, out, &problems)) {
        return true;
    }
    const Problem *problem = &problems.items[0];
    bool limit = str_eq_c(problem->code, "E0156");
    bool hinted = problem->hint.len > 0;
    return error_set(err, limit ? ERROR_LIMIT : ERROR_INVALID,
                     "line %u, column %u: %" STR_FMT "%s%" STR_FMT "%s", problem->line,
                     problem->column, STR_ARG(problem->message), hinted ? " (" : "",
                     STR_ARG(problem->hint), hinted ? ")" : "");
}
