#include "sys/line_reader.h"

#include <errno.h>
#include <unistd.h>

#include "base/bug.h"

enum {
    READ_PIECE = 64 << 10
};

LineReader line_reader_make(int descriptor, size_t max)
{
    return (
        LineReader){ .descriptor = descriptor, .max = max, .buf = buf_make(max + 1 + READ_PIECE) };
}

void line_reader_clear(LineReader *reader)
{
    buf_clear(&reader->buf);
}

/* Where the line at `start` ends, or STR_NOT_FOUND. Each byte is scanned once. */
static size_t find_end(LineReader *reader)
{
    Str text = buf_str(&reader->buf);
    const char *end = memchr(text.data + reader->scanned, '\n', text.len - reader->scanned);
    if (end == NULL) {
        reader->scanned = text.len;
        return STR_NOT_FOUND;
    }
    reader->scanned = (size_t)(end - text.data);
    return reader->scanned;
}

bool line_reader_is_ready(LineReader *reader)
{
    return reader->at_end || find_end(reader) != STR_NOT_FOUND;
}

static void drop_before(LineReader *reader, size_t start)
{
    Buf *buf = &reader->buf;
    if (start > 0) {
        memmove(buf->data, buf->data + start, buf->len - start);
        buf->len -= start;
        reader->scanned -= start;
    }
    reader->start = 0;
}

static bool read_more(LineReader *reader, Error *err)
{
    drop_before(reader, reader->start);
    Buf *buf = &reader->buf;
    BUG_IF(!buf_reserve(buf, READ_PIECE));
    for (;;) {
        ssize_t got = read(reader->descriptor, buf->data + buf->len, READ_PIECE);
        if (got >= 0) {
            buf->len += (size_t)got;
            reader->at_end = got == 0;
            return true;
        }
        if (errno != EINTR) {
            return error_set(err, ERROR_OS, "cannot read: %s", strerror(errno));
        }
    }
}

static void skip_to(LineReader *reader, size_t next)
{
    reader->start = next;
    reader->scanned = next;
}

LineOutcome line_reader_next(LineReader *reader, Str *line, Error *err)
{
    bool too_long = false;
    for (;;) {
        size_t end = find_end(reader);
        Buf *buf = &reader->buf;
        if (end == STR_NOT_FOUND && reader->at_end) {
            if (reader->start == buf->len && !too_long) {
                return LINE_END;
            }
            end = buf->len; /* the last line has no newline */
        }
        if (end != STR_NOT_FOUND) {
            *line = str_slice(buf_str(buf), reader->start, end);
            skip_to(reader, end < buf->len ? end + 1 : end);
            return too_long || line->len > reader->max ? LINE_TOO_LONG : LINE_READ;
        }
        if (buf->len - reader->start > reader->max) {
            too_long = true;
            skip_to(reader, buf->len);
        }
        if (!read_more(reader, err)) {
            return LINE_FAILED;
        }
    }
}
