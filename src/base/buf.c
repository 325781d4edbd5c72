#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/decimal.h"
#include "base/memory.h"

enum {
    FIRST_CAPACITY = 256
};

void buf_clear(Buf *buf)
{
    if (buf->arena == NULL) {
        free(buf->data);
    }
    *buf = buf_make_in(buf->arena, buf->max);
}

/* The table of decimal.h, whose main user is buf_put_i64(). */
const char decimal_pairs[200] = { "00010203040506070809101112131415161718192021222324"
                                  "25262728293031323334353637383940414243444546474849"
                                  "50515253545556575859606162636465666768697071727374"
                                  "75767778798081828384858687888990919293949596979899" };

/* The next capacity of a buffer in an arena: `preferred`, or a smaller one within the budget, or 0.
 * It still grows by a fraction of its size, so that filling it takes linear time. */
static size_t capacity_within_budget(const Buf *buf, size_t wanted, size_t preferred)
{
    size_t old_size = buf->data == NULL ? 0 : buf->cap + BUF_SLACK;
    size_t min_growth = buf->cap + buf->cap / 8;
    const size_t sizes[] = { preferred, min_growth > wanted ? min_growth : wanted };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        if (sizes[i] <= preferred &&
            arena_can_grow(buf->arena, buf->data, old_size, sizes[i] + BUF_SLACK)) {
            return sizes[i];
        }
    }
    return 0;
}

bool buf_reserve_slow(Buf *buf, size_t extra)
{
    if (buf->overflow || extra > buf->max || buf->len > buf->max - extra) {
        return buf_overflow(buf);
    }
    size_t wanted = buf->len + extra;
    size_t cap = buf->cap == 0 ? FIRST_CAPACITY : buf->cap;
    while (cap < wanted) {
        cap = cap > SIZE_MAX / 2 ? SIZE_MAX : cap * 2;
    }
    if (cap > buf->max) {
        cap = buf->max;
    }
    if (cap > SIZE_MAX - BUF_SLACK) {
        memory_exhausted(cap);
    }
    if (buf->arena != NULL && buf->max < BUF_UNLIMITED) {
        cap = capacity_within_budget(buf, wanted, cap);
        if (cap == 0) {
            return buf_overflow(buf);
        }
    }
    if (buf->arena != NULL) {
        size_t old_size = buf->data == NULL ? 0 : buf->cap + BUF_SLACK;
        buf->data = arena_regrow(buf->arena, buf->data, old_size, cap + BUF_SLACK);
    } else {
        char *data = realloc(buf->data, cap + BUF_SLACK);
        if (data == NULL) {
            memory_exhausted(cap);
        }
        buf->data = data;
    }
    buf->cap = cap;
    return true;
}

void buf_put_repeat(Buf *buf, char c, size_t count)
{
    if (count > 0 && buf_reserve(buf, count)) {
        memset(buf->data + buf->len, c, count);
        buf->len += count;
    }
}

static COLD bool put_digits(Buf *buf, int64_t number)
{
    char digits[24];
    char *end = digits + sizeof digits;
    char *start = decimal_write_before(end, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
    if (number < 0) {
        *--start = '-';
    }
    return buf_put_short(buf, str_from(start, (size_t)(end - start)));
}

bool buf_put_i64(Buf *buf, int64_t number)
{
    /* Most numbers are small: write four digits and drop leading zeros. */
    if (UNLIKELY((uint64_t)number >= 10000 || buf->cap - buf->len < 4)) {
        return put_digits(buf, number);
    }
    uint32_t small = (uint32_t)number;
    uint32_t digits = decimal_pair(small / 100) | decimal_pair(small % 100) << 16;
    uint32_t dropped = (small < 10) + (small < 100) + (small < 1000);
    digits >>= 8 * dropped;
    memcpy(buf->data + buf->len, &digits, 4);
    buf->len += 4 - dropped;
    return true;
}

void buf_put_format_v(Buf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    /* Usually there is space; otherwise the first pass only measures. The NUL goes into the
     * slack. */
    size_t available = buf->cap - buf->len;
    int length = buf->data == NULL ? vsnprintf(NULL, 0, format, args)
                                   : vsnprintf(buf->data + buf->len, available + 1, format, args);
    BUG_IF(length < 0);
    if (length > 0 && buf_reserve(buf, (size_t)length)) {
        if ((size_t)length > available) {
            vsnprintf(buf->data + buf->len, (size_t)length + 1, format, again);
        }
        buf->len += (size_t)length;
    }
    va_end(again);
}

void buf_put_format(Buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_put_format_v(buf, format, args);
    va_end(args);
}

const char *buf_c(Buf *buf)
{
    if (buf->overflow) {
        return NULL;
    }
    if (buf->data == NULL) {
        return "";
    }
    buf->data[buf->len] = '\0';
    return buf->data;
}
