/* Sends one watched range from the store to a node: all keys, in pages of one revision, and then
 * every change, as fast as the node acknowledges them. Loop thread only.
 *
 * At most one message is in flight, and nothing is buffered after it: what follows is read once it
 * is acknowledged. If the log does not reach back far enough, everything is sent again, marked as a
 * reset. While the store is unavailable nothing is sent, and it is retried. */
#pragma once

#include "cluster/state.h"
#include "rpc/session_message.h"
#include "service/session_range.h"
#include "store/store.h"

typedef struct SessionFeed SessionFeed;

enum {
    FEED_PAGE_KEYS = 64,
    FEED_PAGE_BYTES = 1024 * 1024,
    /* number of revisions after which the position in a quiet range is sent */
    FEED_NOTE_REVISIONS = 1000,
};

typedef struct SessionFeedOptions {
    Loop *loop;
    Store *store;
    const State *state; /* source of ranges that it contains; NULL: always the store */
    SessionRange range; /* copied */
    uint32_t watch;     /* its number in messages */
    bool reset;         /* start with all keys */
    int64_t revision;   /* used without `reset`: start after this revision */
    /* The changes are valid during the call. The next ones follow after session_feed_acked. */
    void (*send_changes)(void *context, const Changes *changes);
    void *context;
} SessionFeedOptions;

/* Fails like store_watch, without any callback. No callback runs during this call. */
MUST_CHECK bool session_feed_new(const SessionFeedOptions *options, SessionFeed **out, Error *err);
void session_feed_free(SessionFeed *feed); /* NULL is allowed */
DEFINE_AUTO(SessionFeed, session_feed_free)

/* The node has acknowledged the last changes. */
void session_feed_acked(SessionFeed *feed);
