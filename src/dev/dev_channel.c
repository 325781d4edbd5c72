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
    Connection *connection; /* NULL once the peer has closed */
    Buf unsent;             /* lines to send once the connection is established */
    Buf partial_line;
};

static void on_ready(void *context)
{
    DevChannel *channel = context;
    connection_write(channel->connection, buf_str(&channel->unsent));
    buf_clear(&channel->unsent);
}

static void on_received(void *context, Str bytes)
{
    DevChannel *channel = context;
    buf_put(&channel->partial_line, bytes);
    Str rest = buf_str(&channel->partial_line);
    for (size_t end; (end = str_find(rest, STR("\n"), 0)) != STR_NOT_FOUND;) {
        channel->options.on_line(channel->options.context, str_slice(rest, 0, end));
        rest = str_from_offset(rest, end + 1);
    }
    Buf left = buf_make(BUF_UNLIMITED);
    buf_put(&left, rest.len > LINE_MAX_BYTES ? STR_EMPTY : rest);
    buf_clear(&channel->partial_line);
    channel->partial_line = left;
}

static void on_drained(void *context)
{
}

static void on_closed(void *context, const Error *why)
{
    DevChannel *channel = context;
    connection_free(channel->connection);
    channel->connection = NULL;
    channel->options.on_closed(channel->options.context);
}

DevChannel *dev_channel_open(const DevChannelOptions *options, int descriptor)
{
    static const ConnectionEvents events = {
        .ready = on_ready, .received = on_received, .drained = on_drained, .closed = on_closed
    };
    DevChannel *channel = memory_new(sizeof *channel);
    channel->options = *options;
    channel->unsent = buf_make(BUF_UNLIMITED);
    channel->partial_line = buf_make(BUF_UNLIMITED);
    ConnectionOptions connection = {
        .loop = options->loop, .open_timeout_ms = OPEN_MS, .events = &events, .context = channel
    };
    channel->connection = connection_adopt(&connection, descriptor);
    return channel;
}

void dev_channel_close(DevChannel *channel)
{
    if (channel != NULL) {
        connection_free(channel->connection);
        buf_clear(&channel->unsent);
        buf_clear(&channel->partial_line);
        free(channel);
    }
}

void dev_channel_send(DevChannel *channel, const char *format, ...)
{
    if (channel->connection == NULL) {
        return;
    }
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    va_list arguments;
    va_start(arguments, format);
    buf_put_format_v(&line, format, arguments);
    va_end(arguments);
    buf_put_char(&line, '\n');
    if (connection_is_ready(channel->connection)) {
        connection_write(channel->connection, buf_str(&line));
    } else {
        buf_put(&channel->unsent, buf_str(&line));
    }
}
