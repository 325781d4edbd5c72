/* Lines to and from another process, over a socket. Loop thread. Internal to this directory. */
#pragma once

#include "base/own.h"
#include "base/str.h"
#include "sys/loop.h"

typedef struct DevTalk DevTalk;

typedef struct DevTalkOptions {
    Loop *loop;
    void (*line)(void *context, Str line); /* without its end; may close nothing */
    void (*ended)(void *context);          /* once; the other side is gone */
    void *context;
} DevTalkOptions;

/* Takes the descriptor. */
DevTalk *dev_talk_open(const DevTalkOptions *options, int descriptor);
void dev_talk_close(DevTalk *talk); /* NULL is allowed */
DEFINE_AUTO(DevTalk, dev_talk_close)

/* One line; nothing happens when the other side is gone. */
PRINTF_LIKE(2, 3) void dev_talk_say(DevTalk *talk, const char *format, ...);
