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

/* Each byte is converted independently, so the last chunk may overlap the one before. */
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

/* -1 in the bytes that end a word. `[` and `{` differ in one bit. Whitespace as in Python,
 * including the information separators. */
static inline Chunk ends_word(Chunk chunk)
{
    return (chunk == chunk_all('-')) | (chunk == chunk_all('(')) | (chunk == chunk_all('<')) |
           ((chunk | chunk_all(0x20)) == chunk_all('{')) | within(chunk, '\t', '\r') |
           within(chunk, 0x1c, ' ');
}

/* `starts`: -1 in the bytes that start a word. */
static inline Chunk title(Chunk chunk, Chunk starts)
{
    Chunk letters = within(chunk | chunk_all(0x20), 'a', 'z') & chunk_all(0x20);
    return (chunk | letters) ^ (letters & starts);
}

/* The previous byte determines whether a word starts, so the last chunk may overlap here too. */
static inline Chunk title_at(const char *p)
{
    return title(chunk_load(p), ends_word(chunk_load(p - 1)));
}

bool ascii_copy_title(Str text, char *out)
{
    if (text.len == 0) {
        return true;
    }
    bool short_text = text.len < CHUNK_BYTES;
    Chunk seen = short_text ? chunk_load_part(text.data, text.len) : chunk_load(text.data);
    chunk_store(out, title(seen, chunk_move_up(ends_word(seen), -1)));
    if (text.len > CHUNK_BYTES) {
        size_t last = text.len - CHUNK_BYTES;
        for (size_t at = CHUNK_BYTES; at < last; at += CHUNK_BYTES) {
            seen |= chunk_load(text.data + at);
            chunk_store(out + at, title_at(text.data + at));
        }
        seen |= chunk_load(text.data + last);
        chunk_store(out + last, title_at(text.data + last));
    }
    return chunk_is_ascii(seen);
}
