#include "dev/dev_channel.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/memory.h"
#include "net/connection.h"

enum {
    LINE_MAX_BYTES = 8192, /* longer ones are dropped */
    OPEN_MS = 10 * 1000
};

struct DevChannel {
    DevChannelOptions options;
    Connection *connection; /* NULL: the peer is gone */
    Buf unsaid;             /* until the connection is established */
    Buf unread;
};

static void ready(void *context)
{
    DevChannel *talk = context;
    connection_write(talk->connection, buf_str(&talk->unsaid));
    buf_clear(&talk->unsaid);
}

static void received(void *context, Str bytes)
{
    DevChannel *talk = context;
    buf_put(&talk->unread, bytes);
    Str rest = buf_str(&talk->unread);
    for (size_t end; (end = str_find(rest, STR("\n"), 0)) != STR_NOT_FOUND;) {
        talk->options.line(talk->options.context, str_slice(rest, 0, end));
        rest = str_from_offset(rest, end + 1);
    }
    Buf left = buf_make(BUF_UNLIMITED);
    buf_put(&left, rest.len > LINE_MAX_BYTES ? STR_EMPTY : rest);
    buf_clear(&talk->unread);
    talk->unread = left;
}

static void drained(void *context)
{
}

static void closed(void *context, const Error *why)
{
    DevChannel *talk = context;
    connection_free(talk->connection);
    talk->connection = NULL;
    talk->options.ended(talk->options.context);
}

DevChannel *dev_channel_open(const DevChannelOptions *options, int descriptor)
{
    static const ConnectionEvents events = {
        .ready = ready, .received = received, .drained = drained, .closed = closed
    };
    DevChannel *talk = memory_new(sizeof *talk);
    talk->options = *options;
    talk->unsaid = buf_make(BUF_UNLIMITED);
    talk->unread = buf_make(BUF_UNLIMITED);
    ConnectionOptions connection = {
        .loop = options->loop, .open_timeout_ms = OPEN_MS, .events = &events, .context = talk
    };
    talk->connection = connection_adopt(&connection, descriptor);
    return talk;
}

void dev_channel_close(DevChannel *talk)
{
    if (talk != NULL) {
        connection_free(talk->connection);
        buf_clear(&talk->unsaid);
        buf_clear(&talk->unread);
        free(talk);
    }
}

void dev_channel_send(DevChannel *talk, const char *format, ...)
{
    if (talk->connection == NULL) {
        return;
    }
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    va_list arguments;
    va_start(arguments, format);
    buf_put_format_v(&line, format, arguments);
    va_end(arguments);
    buf_put_char(&line, '\n');
    if (connection_is_ready(talk->connection)) {
        connection_write(talk->connection, buf_str(&line));
    } else {
        buf_put(&talk->unsaid, buf_str(&line));
    }
}
