/* What a node has received from one watch of its session: keys, values and
 * the position, on disk in one file ("eden.watched/1"), so that a node that
 * starts without a server has its last state, and a session continues where
 * the last one ended. Loop thread, which waits while the file is written.
 *
 * Changes are collected until a message is complete; then all of them and
 * the new position become durable together. If the disk fails, writing is
 * retried, and the watch receives nothing more until it has succeeded. */
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
    const char *name;           /* of the watch; it is part of the file's name */
    /* A unit is durable: what was told may be acknowledged, and looked at. Also from within
     * watched_take. */
    void (*kept)(void *context, uint64_t ticket);
    void *context;
} WatchedOptions;

/* A file that cannot be read is as none, with a warning: everything is told anew then. */
Watched *watched_open(const WatchedOptions *options);
void watched_free(Watched *watched); /* NULL is allowed */
DEFINE_AUTO(Watched, watched_free)

/* One message, with the store that it is of. The one after it is given only when `kept` was called,
 * or in another connection. */
void watched_take(Watched *watched, const Changes *changes, Str store, uint64_t ticket);
/* Valid until the next change; as SessionNodeOps has it. Forgets what was told and is no whole unit,
 * and what is not durable yet. */
WatchPosition watched_position(Watched *watched);
/* The same for people, and without any effect. */
WatchPosition watched_kept(const Watched *watched);

/* The value of a key, or of the only one there is when `key` is empty; NULL when there is none. Valid
 * until the next change. */
const Str *watched_value(const Watched *watched, Str key);
