/* Lines to and from another process, over a socket. Loop thread only. Internal to this
 * directory. */
#pragma once

#include "base/own.h"
#include "base/str.h"
#include "sys/loop.h"

typedef struct DevChannel DevChannel;

typedef struct DevChannelOptions {
    Loop *loop;
    void (*on_line)(void *context, Str line); /* without the newline; must not close the channel */
    /* called once, when the peer has closed the connection */
    void (*on_closed)(void *context);
    void *context;
} DevChannelOptions;

/* Takes ownership of the descriptor. */
DevChannel *dev_channel_open(const DevChannelOptions *options, int descriptor);
void dev_channel_close(DevChannel *channel); /* NULL is allowed */
DEFINE_AUTO(DevChannel, dev_channel_close)

/* Sends one line; no effect if the connection is closed. */
PRINTF_LIKE(2, 3) void dev_channel_send(DevChannel *channel, const char *format, ...);
