/* The data that a node has received from one watch of its session: keys, values and the position,
 * on disk in one file ("eden.watched/1"), so that a node that starts without a server has the last
 * known state, and a session resumes at the stored position. Loop thread; it blocks while the file
 * is written.
 *
 * Changes are collected until a message is complete; then all of them and the new position become
 * durable together. If the disk fails, writing is retried, and the watch accepts nothing until it
 * has succeeded. */
#pragma once

#include "membership/watched_image.h"
#include "rpc/session_message.h"
#include "sys/directory.h"
#include "sys/loop.h"

typedef struct Watched Watched;

enum {
    WATCHED_RETRY_MS = 10 * 1000,
};

typedef struct WatchedOptions {
    Loop *loop;
    const Directory *directory; /* borrowed */
    const char *name;           /* name of the watch; part of the file name */
    /* A unit is durable: it may be acknowledged and used. May be called from within
     * watched_add(). */
    void (*stored)(void *context, uint64_t ticket);
    void *context;
} WatchedOptions;

/* An unreadable file is treated as missing, with a warning: everything is then sent again. */
Watched *watched_open(const WatchedOptions *options);
void watched_free(Watched *watched); /* NULL is allowed */
DEFINE_AUTO(Watched, watched_free)

/* Processes one message, from the store with this ID. The next one may follow only after `stored`,
 * or on another connection. */
void watched_add(Watched *watched, const Changes *changes, Str store, uint64_t ticket);
/* Position as in SessionNodeOps, valid until the next change. Discards an incomplete unit and
 * changes that are not durable yet. */
WatchPosition watched_position(Watched *watched);
/* The same for status output, without side effects. */
WatchPosition watched_saved_position(const Watched *watched);

/* All keys and values; the contents change, the pointer does not. */
const WatchedImage *watched_image(const Watched *watched);
/* The value of a key, or of the only key if `key` is empty; NULL if there is none. Valid until the
 * next change. */
const Str *watched_value(const Watched *watched, Str key);

/* The last part of a key. */
Str watched_key_name(Str key);
