#include "base/ascii_case.h"

/* -1 in the bytes from `first` to `last`. */
static inline Chunk within(Chunk chunk, char first, char last)
{
    return (chunk > chunk_all((int8_t)(first - 1))) & (chunk < chunk_all((int8_t)(last + 1)));
}

static inline Chunk lower(Chunk chunk)
{
    return chunk ^ (within(chunk, 'A', 'Z') & chunk_all(0x20));
}

static inline Chunk upper(Chunk chunk)
{
    return chunk ^ (within(chunk, 'a', 'z') & chunk_all(0x20));
}

/* Each byte by itself: the last chunk of a longer text may overlap the one before. */
static inline __attribute__((always_inline)) bool copy_by(Chunk (*change)(Chunk), Str text,
                                                          char *out)
{
    if (text.len == 0) {
        return true;
    }
    if (text.len < CHUNK_BYTES) {
        Chunk chunk = chunk_load_part(text.data, text.len);
        chunk_store(out, change(chunk));
        return chunk_is_ascii(chunk);
    }
    size_t last = text.len - CHUNK_BYTES;
    Chunk seen = chunk_load(text.data + last);
    chunk_store(out + last, change(seen));
    for (size_t at = 0; at < last; at += CHUNK_BYTES) {
        Chunk chunk = chunk_load(text.data + at);
        seen |= chunk;
        chunk_store(out + at, change(chunk));
    }
    return chunk_is_ascii(seen);
}

bool ascii_copy_lower(Str text, char *out)
{
    return copy_by(lower, text, out);
}

bool ascii_copy_upper(Str text, char *out)
{
    return copy_by(upper, text, out);
}

/* -1 in the bytes that end a word. `[` and `{` differ in one bit. White space is what Python says:
 * the information separators belong to it. */
static inline Chunk ends_word(Chunk chunk)
{
    return (chunk == chunk_all('-')) | (chunk == chunk_all('(')) | (chunk == chunk_all('<')) |
           ((chunk | chunk_all(0x20)) == chunk_all('{')) | within(chunk, '\t', '\r') |
           within(chunk, 0x1c, ' ');
}

/* `ends` moved up by one byte, with `*last` in front; `*last` becomes the byte that fell out. */
static inline Chunk move_up(Chunk ends, uint64_t *last)
{
    uint64_t words[2];
    memcpy(words, &ends, sizeof words);
    Chunk starts = chunk_from_words(words[0] << 8 | *last, words[1] << 8 | words[0] >> 56);
    *last = words[1] >> 56;
    return starts;
}

static inline Chunk title(Chunk chunk, uint64_t *last)
{
    Chunk starts = move_up(ends_word(chunk), last);
    Chunk low = lower(chunk);
    return low ^ (within(low, 'a', 'z') & starts & chunk_all(0x20));
}

bool ascii_copy_title(Str text, char *out)
{
    Chunk seen = chunk_all(0);
    uint64_t last = 0xff; /* the byte before ended a word: 0xff, or did not: 0 */
    size_t at = 0;
    for (; text.len - at >= CHUNK_BYTES; at += CHUNK_BYTES) {
        Chunk chunk = chunk_load(text.data + at);
        seen |= chunk;
        chunk_store(out + at, title(chunk, &last));
    }
    if (at < text.len) {
        Chunk chunk = chunk_load_part(text.data + at, text.len - at);
        seen |= chunk;
        chunk_store(out + at, title(chunk, &last));
    }
    return chunk_is_ascii(seen);
}
