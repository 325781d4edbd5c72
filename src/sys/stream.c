#include "sys/stream.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "sys/file.h"

Stream stream_make(int descriptor)
{
    return (Stream){ .descriptor = descriptor, .buf = buf_make(BUF_UNLIMITED) };
}

void stream_clear(Stream *stream)
{
    buf_clear(&stream->buf);
}

bool stream_flush(Stream *stream)
{
    if (stream->descriptor == STREAM_MEMORY) {
        return true;
    }
    if (!stream->failed) {
        stream->failed = !file_write_all(stream->descriptor, buf_str(&stream->buf), &stream->error);
    }
    buf_reset(&stream->buf);
    return !stream->failed;
}

void stream_put(Stream *stream, Str text)
{
    if (text.len >= STREAM_PIECE && stream->descriptor != STREAM_MEMORY) {
        /* Too large to be worth buffering. */
        if (stream_flush(stream)) {
            stream->failed = !file_write_all(stream->descriptor, text, &stream->error);
        }
        return;
    }
    buf_put(&stream->buf, text);
    if (stream->buf.len >= STREAM_PIECE) {
        stream_flush(stream);
    }
}

void stream_put_format(Stream *stream, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_put_format_v(&stream->buf, format, args);
    va_end(args);
    if (stream->buf.len >= STREAM_PIECE) {
        stream_flush(stream);
    }
}

bool stream_is_terminal(const Stream *stream)
{
    return stream->descriptor != STREAM_MEMORY && isatty(stream->descriptor) != 0;
}

enum {
    COLUMNS_DEFAULT = 80,
    ROWS_DEFAULT = 24,
};

unsigned stream_columns(const Stream *stream)
{
    struct winsize size;
    return stream->descriptor != STREAM_MEMORY &&
                   ioctl(stream->descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : COLUMNS_DEFAULT;
}

unsigned stream_rows(const Stream *stream)
{
    struct winsize size;
    return stream->descriptor != STREAM_MEMORY &&
                   ioctl(stream->descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row > 0
               ? size.ws_row
               : ROWS_DEFAULT;
}
