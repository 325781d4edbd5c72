/* One watched range on its way from the store to a node: everything there is, in pages of one
 * revision, and then every change, as fast as the node takes them. Loop thread.
 *
 * At any time at most one message is on its way, and for what follows nothing is kept: it is read
 * when the node has taken that one. When the log does not reach back far enough, everything is told
 * again, marked so. While the store is unavailable nothing is told, and it is tried again. */
#pragma once

#include "cluster/state.h"
#include "rpc/session_message.h"
#include "service/session_range.h"
#include "store/store.h"

typedef struct SessionFeed SessionFeed;

enum {
    FEED_PAGE_KEYS = 64,
    FEED_PAGE_BYTES = 1024 * 1024,
    FEED_NOTE_REVISIONS =
        1000, /* so far behind, a range without changes is told that it is fresh */
};

typedef struct SessionFeedOptions {
    Loop *loop;
    Store *store;
    const State *state; /* tells what there is of a range that it knows; NULL: the store does */
    SessionRange range; /* copied */
    uint32_t watch;     /* its number in messages */
    bool reset;         /* begin with everything */
    int64_t revision;   /* else with what is after this one */
    /* The changes are borrowed for the call. The next follow after session_feed_taken. */
    void (*tell)(void *context, const Changes *changes);
    void *context;
} SessionFeedOptions;

/* Fails, like store_watch, without calling anything. Nothing is told from within. */
MUST_CHECK bool session_feed_new(const SessionFeedOptions *options, SessionFeed **out, Error *err);
void session_feed_free(SessionFeed *feed); /* NULL is allowed */
DEFINE_AUTO(SessionFeed, session_feed_free)

/* The node has dealt with what was told last. */
void session_feed_taken(SessionFeed *feed);
