/* A growing byte buffer with a maximum.
 *
 * Invariants: `len <= cap <= max`, and BUF_SLACK bytes more than `cap` are allocated, so that there
 * is always room for a NUL and for writing a short piece without looking at its length. What is appended must not
 * lie in the buffer itself. An append that would pass `max` leaves the bytes as they are and sets
 * `overflow`; later appends are ignored (`cap` falls to `len`, so that none has room), and a writer
 * checks once, at the end. A buffer made with buf_make_in grows inside an arena and needs no
 * clearing; unless it is BUF_UNLIMITED, passing the arena's budget is an overflow as well. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/own.h"
#include "base/str.h"

typedef struct Buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max;
    bool overflow;
    Arena *arena; /* NULL: on the heap */
} Buf;

#define BUF_UNLIMITED ((size_t)1 << 62)

enum {
    BUF_SLACK = 32
};

static inline Buf buf_make(size_t max)
{
    return (Buf){ .max = max };
}
static inline Buf buf_make_in(Arena *arena, size_t max)
{
    return (Buf){ .max = max, .arena = arena };
}
void buf_clear(Buf *buf); /* frees the memory; the buffer can be used again */
DEFINE_AUTO_CLEAR(Buf, buf_clear)

static inline Str buf_str(const Buf *buf)
{
    return str_from(buf->data == NULL ? "" : buf->data, buf->len);
}

/* Empties it but keeps the memory for the next use. */
static inline void buf_reset(Buf *buf)
{
    buf->len = 0;
    buf->overflow = false;
}

/* For a writer that knows that its text is too large. Always false. */
static inline bool buf_overflow(Buf *buf)
{
    buf->overflow = true;
    buf->cap = buf->len;
    return false;
}

/* Room for `extra` more bytes, or false (and overflow) when the maximum forbids it. */
bool buf_reserve_slow(Buf *buf, size_t extra);
static inline bool buf_reserve(Buf *buf, size_t extra)
{
    return LIKELY(extra <= buf->cap - buf->len) || buf_reserve_slow(buf, extra);
}

static inline void buf_put(Buf *buf, Str s)
{
    if (LIKELY(s.len > 0 && buf_reserve(buf, s.len))) {
        memcpy(buf->data + buf->len, s.data, s.len);
        buf->len += s.len;
    }
}

/* The same without a call when the piece is short, as it mostly is where this is used. False after
 * an overflow. */
static ALWAYS_INLINE bool buf_put_short(Buf *buf, Str s)
{
    if (UNLIKELY(!buf_reserve(buf, s.len))) {
        return false;
    }
    size_t at = buf->len;
    buf->len = at + s.len;
    bytes_copy(buf->data + at, s.data, s.len);
    return true;
}

/* The same for a piece behind which BUF_SLACK more bytes can be read. */
static inline bool buf_put_padded(Buf *buf, const char *piece, size_t len)
{
    if (UNLIKELY(!buf_reserve(buf, len))) {
        return false;
    }
    char *to = buf->data + buf->len;
    buf->len += len;
    bytes_copy_16(to, piece);
    bytes_copy_16(to + 16, piece + 16);
    if (UNLIKELY(len > BUF_SLACK)) {
        memcpy(to + BUF_SLACK, piece + BUF_SLACK, len - BUF_SLACK);
    }
    return true;
}

static inline void buf_put_char(Buf *buf, char c)
{
    if (LIKELY(buf_reserve(buf, 1))) {
        buf->data[buf->len++] = c;
    }
}

static inline void buf_put_c(Buf *buf, const char *text)
{
    buf_put(buf, str_from_c(text));
}

void buf_put_repeat(Buf *buf, char c, size_t count);
bool buf_put_i64(Buf *buf, int64_t number); /* false after an overflow */
PRINTF_LIKE(2, 3) void buf_put_format(Buf *buf, const char *format, ...);
PRINTF_LIKE(2, 0) void buf_put_format_v(Buf *buf, const char *format, va_list args);

/* The text with a NUL behind it, which does not count into `len`. NULL after an overflow. */
const char *buf_c(Buf *buf);
