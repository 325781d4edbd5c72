/* A growable byte buffer with a maximum size.
 *
 * Invariants: `len <= cap <= max`, and BUF_SLACK bytes beyond `cap` are allocated, so that there is
 * always space for a NUL and for copying a short piece without checking its length. Appended data
 * must not be in the buffer itself. An append that would exceed `max` leaves the contents unchanged
 * and sets `overflow`; later appends are ignored (`cap` is set to `len`, so that nothing fits), so
 * writers check once, at the end. A buffer created by buf_make_in grows inside an arena and need
 * not be cleared; unless it is BUF_UNLIMITED, exceeding the budget of the arena is an overflow as
 * well. */
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
void buf_clear(Buf *buf); /* frees the memory; the buffer can be reused */
DEFINE_AUTO_CLEAR(Buf, buf_clear)

static inline Str buf_str(const Buf *buf)
{
    return str_from(buf->data == NULL ? "" : buf->data, buf->len);
}

/* Empties it but keeps the memory for reuse. */
static inline void buf_reset(Buf *buf)
{
    buf->len = 0;
    buf->overflow = false;
}

/* For a writer that already knows that its output is too large. Always returns false. */
static inline bool buf_overflow(Buf *buf)
{
    buf->overflow = true;
    buf->cap = buf->len;
    return false;
}

/* Reserves space for `extra` more bytes; returns false and sets overflow if that exceeds the
 * maximum. */
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

/* The same without a call for short pieces, which are the common case. Returns false after an
 * overflow. */
static ALWAYS_INLINE bool buf_put_short(Buf *buf, Str s)
{
    if (UNLIKELY(!buf_reserve(buf, s.len))) {
        return false;
    }
    size_t pos = buf->len;
    buf->len = pos + s.len;
    bytes_copy(buf->data + pos, s.data, s.len);
    return true;
}

/* The same for a piece followed by BUF_SLACK readable bytes. */
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

/* The contents with a terminating NUL, which is not included in `len`. NULL after an overflow. */
const char *buf_c(Buf *buf);
