#include "lang/template/wordwrap.h"

#include "base/utf8.h"
#include "lang/template/filter.h"
#include "lang/unicode.h"

/* A piece of text that stays together: a word, a part of a hyphenated one, or white space. */
typedef struct Chunk {
    Str text;
    int64_t width;     /* characters */
    const char *solid; /* the end of the last character that is no white space */
} Chunk;

static bool is_blank(const Chunk *chunk)
{
    return chunk->solid <= chunk->text.data;
}

typedef struct Chunks {
    Chunk *items;
    size_t count, cap;
} Chunks;

static bool push_chunk(Render *r, Chunks *chunks, Str text)
{
    if (chunks->count == chunks->cap) {
        size_t cap = chunks->cap == 0 ? 16 : chunks->cap * 2;
        if (!charge_items(r, cap, sizeof(Chunk))) {
            return false;
        }
        chunks->items =
            arena_grow(r->arena, chunks->items, chunks->cap * sizeof(Chunk), cap * sizeof(Chunk));
        chunks->cap = cap;
    }
    Str solid = text_strip(text);
    chunks->items[chunks->count++] =
        (Chunk){ .text = text,
                 .width = (int64_t)utf8_count(text),
                 .solid = solid.len == 0 ? text.data : solid.data + solid.len };
    return true;
}

static uint32_t code_at(Str text, size_t at)
{
    return at < text.len ? utf8_next(text, &at) : 0;
}

static uint32_t code_before(Str text, size_t at)
{
    return at > 0 ? utf8_previous(text, &at) : 0;
}

/* Underscores count as letters here. */
static bool is_letter(uint32_t code)
{
    return code_is_word(code) && !unicode_is(code, UNICODE_DECIMAL);
}

/* What may stand before a dash between words. */
static bool is_word_or_mark(uint32_t code)
{
    return (code != 0 && code < 0x80 && strchr("!\"'&.,?", (int)code) != NULL) ||
           code_is_word(code);
}

/* Two or more hyphens at `at`, and a word behind them: where they end, else 0. */
static size_t dash_end(Str text, size_t at)
{
    size_t end = at;
    while (end < text.len && text.data[end] == '-') {
        end++;
    }
    return end >= at + 2 && code_is_word(code_at(text, end)) ? end : 0;
}

/* Whether a word may be broken behind the hyphen at `at`: letters on both sides, two of them
 * each, of which the second may stand behind another hyphen. */
static bool breaks_after_hyphen(Str text, size_t at)
{
    size_t before = at;
    if (before == 0) {
        return false;
    }
    uint32_t last = utf8_previous(text, &before);
    size_t first = before;
    if (first == 0) {
        return false;
    }
    uint32_t second = utf8_previous(text, &first);
    bool left = is_letter(last) && is_letter(second);
    if (!left && second == '-' && first > 0) {
        left = is_letter(last) && is_letter(code_before(text, first));
    }
    if (!left) {
        return false;
    }
    size_t next = at + 1;
    if (next >= text.len || !is_letter(utf8_next(text, &next))) {
        return false;
    }
    if (next < text.len && text.data[next] == '-') {
        next++;
    }
    return next < text.len && is_letter(code_at(text, next));
}

/* Where the chunk that begins at `at` with something else than white space ends. */
static size_t word_end(Str text, size_t at, bool hyphens)
{
    if (!hyphens) {
        while (at < text.len && !ascii_is_space(text.data[at])) {
            at++;
        }
        return at;
    }
    if (is_word_or_mark(code_before(text, at))) {
        size_t end = dash_end(text, at);
        if (end > 0) {
            return end;
        }
    }
    while (at < text.len) {
        utf8_next(text, &at); /* a word has at least one character */
        if (at == text.len || ascii_is_space(text.data[at])) {
            return at;
        }
        if (text.data[at] != '-') {
            continue;
        }
        if (is_word_or_mark(code_before(text, at)) && dash_end(text, at) > 0) {
            return at;
        }
        if (breaks_after_hyphen(text, at)) {
            return at + 1;
        }
    }
    return at;
}

static bool split_line(Render *r, Str line, bool hyphens, Chunks *chunks)
{
    chunks->count = 0;
    for (size_t at = 0; at < line.len;) {
        size_t end = at;
        while (end < line.len && ascii_is_space(line.data[end])) {
            end++;
        }
        if (end == at) {
            end = word_end(line, at, hyphens);
        }
        if (!push_chunk(r, chunks, str_slice(line, at, end))) {
            return false;
        }
        at = end;
    }
    return true;
}

/* Cuts the beginning of a chunk that no line can hold; returns it and leaves the rest. */
static Str cut_chunk(Chunk *chunk, int64_t space, const WrapRules *rules)
{
    size_t end = utf8_index_to_offset(chunk->text, (size_t)space);
    if (rules->break_on_hyphens && chunk->width > space) {
        size_t hyphen = str_find_last(str_slice(chunk->text, 0, end), STR("-"));
        bool other = false;
        for (size_t i = 0; hyphen != STR_NOT_FOUND && i < hyphen; i++) {
            other = other || chunk->text.data[i] != '-';
        }
        if (other) {
            end = hyphen + 1;
        }
    }
    Str cut = str_slice(chunk->text, 0, end);
    chunk->text = str_from_offset(chunk->text, end);
    chunk->width -= (int64_t)utf8_count(cut); /* counting the rest would take the square of it */
    return cut;
}

/* As many chunks as fit on one line, from `*at` on. White space at its end is left out, even when
 * it is all there is. */
static void put_line(Chunks *chunks, size_t *at, const WrapRules *rules, Buf *out)
{
    size_t start = *at;
    int64_t width = 0;
    while (*at < chunks->count && chunks->items[*at].width <= rules->width - width) {
        width += chunks->items[(*at)++].width;
    }
    size_t end = *at;
    Str cut = STR_EMPTY;
    bool breaks = false;
    if (*at < chunks->count && chunks->items[*at].width > rules->width) {
        breaks = rules->break_long_words;
        if (breaks) {
            cut = cut_chunk(&chunks->items[*at], rules->width - width, rules);
        } else if (end == start) {
            end = ++*at;
        }
    }
    if (breaks) {
        cut = text_strip(cut).len == 0 ? STR_EMPTY : cut;
    } else if (end > start && is_blank(&chunks->items[end - 1])) {
        end--;
    }
    for (size_t i = start; i < end; i++) {
        buf_put(out, chunks->items[i].text);
    }
    buf_put(out, cut);
}

static bool wrap_line(Render *r, Chunks *chunks, const WrapRules *rules, Buf *out)
{
    bool later = false;
    for (size_t at = 0; at < chunks->count && !out->overflow;) {
        if (!render_charge(r, 1)) {
            return false;
        }
        if (later && is_blank(&chunks->items[at])) {
            at++; /* no white space at the beginning of a wrapped line */
        }
        size_t before = out->len;
        if (later) {
            buf_put(out, rules->between);
        }
        size_t begin = out->len;
        put_line(chunks, &at, rules, out);
        if (out->len == begin) {
            out->len = before; /* nothing was left of it */
        } else {
            later = true;
        }
    }
    return true;
}

bool wordwrap(Render *r, Str text, const WrapRules *rules, Buf *out)
{
    Chunks chunks = { 0 };
    Str line;
    bool first = true;
    for (size_t at = 0; text_next_line(text, &at, &line, NULL) && !out->overflow;) {
        if (!first) {
            buf_put(out, rules->between);
        }
        first = false;
        if (!split_line(r, line, rules->break_on_hyphens, &chunks) ||
            !wrap_line(r, &chunks, rules, out)) {
            return false;
        }
    }
    return true;
}
