#include "base/ascii_case.h"

/* -1 in the bytes from `first` to `last`. */
static inline Chunk bytes_in_range(Chunk chunk, char first, char last)
{
    return (chunk > chunk_splat((int8_t)(first - 1))) & (chunk < chunk_splat((int8_t)(last + 1)));
}

static inline Chunk lower_chunk(Chunk chunk)
{
    return chunk ^ (bytes_in_range(chunk, 'A', 'Z') & chunk_splat(0x20));
}

static inline Chunk upper_chunk(Chunk chunk)
{
    return chunk ^ (bytes_in_range(chunk, 'a', 'z') & chunk_splat(0x20));
}

/* Each byte is converted independently, so the last chunk may overlap the one before. */
static inline __attribute__((always_inline)) bool convert(Chunk (*function)(Chunk), Str text,
                                                          char *out)
{
    if (text.len == 0) {
        return true;
    }
    if (text.len < CHUNK_BYTES) {
        Chunk chunk = chunk_load_part(text.data, text.len);
        chunk_store(out, function(chunk));
        return chunk_is_ascii(chunk);
    }
    size_t last = text.len - CHUNK_BYTES;
    Chunk all_bytes = chunk_load(text.data + last);
    chunk_store(out + last, function(all_bytes));
    for (size_t pos = 0; pos < last; pos += CHUNK_BYTES) {
        Chunk chunk = chunk_load(text.data + pos);
        all_bytes |= chunk;
        chunk_store(out + pos, function(chunk));
    }
    return chunk_is_ascii(all_bytes);
}

bool ascii_copy_lower(Str text, char *out)
{
    return convert(lower_chunk, text, out);
}

bool ascii_copy_upper(Str text, char *out)
{
    return convert(upper_chunk, text, out);
}

/* -1 in the bytes that end a word. `[` and `{` differ in one bit. Whitespace as in Python,
 * including the information separators. */
static inline Chunk word_ends(Chunk chunk)
{
    return (chunk == chunk_splat('-')) | (chunk == chunk_splat('(')) | (chunk == chunk_splat('<')) |
           ((chunk | chunk_splat(0x20)) == chunk_splat('{')) | bytes_in_range(chunk, '\t', '\r') |
           bytes_in_range(chunk, 0x1c, ' ');
}

/* `word_starts`: -1 in the bytes that start a word. */
static inline Chunk title_chunk(Chunk chunk, Chunk word_starts)
{
    Chunk letters = bytes_in_range(chunk | chunk_splat(0x20), 'a', 'z') & chunk_splat(0x20);
    return (chunk | letters) ^ (letters & word_starts);
}

/* The previous byte determines whether a word starts, so the last chunk may overlap here too. */
static inline Chunk load_title_chunk(const char *p)
{
    return title_chunk(chunk_load(p), word_ends(chunk_load(p - 1)));
}

bool ascii_copy_title(Str text, char *out)
{
    if (text.len == 0) {
        return true;
    }
    bool short_text = text.len < CHUNK_BYTES;
    Chunk all_bytes = short_text ? chunk_load_part(text.data, text.len) : chunk_load(text.data);
    chunk_store(out, title_chunk(all_bytes, chunk_shift_up(word_ends(all_bytes), -1)));
    if (text.len > CHUNK_BYTES) {
        size_t last = text.len - CHUNK_BYTES;
        for (size_t pos = CHUNK_BYTES; pos < last; pos += CHUNK_BYTES) {
            all_bytes |= chunk_load(text.data + pos);
            chunk_store(out + pos, load_title_chunk(text.data + pos));
        }
        all_bytes |= chunk_load(text.data + last);
        chunk_store(out + last, load_title_chunk(text.data + last));
    }
    return chunk_is_ascii(all_bytes);
}
