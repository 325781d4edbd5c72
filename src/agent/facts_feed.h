/* Sends the facts of this machine (facts/facts.h) to the servers, at startup and when they have
 * changed, and only if they differ from what was sent last, even across restarts. Loop thread; a
 * worker thread collects them.
 *
 * Facts are collected on request, when the files or the network that they depend on change, and
 * periodically for everything else. */
#pragma once

#include "base/error.h"
#include "sys/directory.h"
#include "sys/loop.h"

typedef struct FactsFeed FactsFeed;

enum {
    FACTS_SETTLE_MS = 1000,            /* changes within this time are handled together */
    FACTS_COLLECT_MS = 10 * 60 * 1000, /* interval of periodic collection */
};

typedef struct FactsFeedOptions {
    Loop *loop;
    const char *root;           /* borrowed: "/" */
    const Directory *directory; /* borrowed: where the digest is stored */
    /* Sends facts; `*sequence` identifies them for facts_feed_stored(). ERROR_LIMIT: no space at
     * present; call facts_feed_check() when there is. */
    bool (*send)(void *context, Str facts, uint64_t *sequence, Error *err);
    void *context;
} FactsFeedOptions;

/* Starts collecting. Sources that cannot be watched are logged and only checked periodically. */
FactsFeed *facts_feed_new(const FactsFeedOptions *options);
/* Waits for the worker thread. NULL is allowed. */
void facts_feed_free(FactsFeed *feed);
DEFINE_AUTO(FactsFeed, facts_feed_free)

/* Called when facts may have changed. */
void facts_feed_check(FactsFeed *feed);
/* Called when the server may have lost the facts: sends them again. */
void facts_feed_resend(FactsFeed *feed);
/* Called when records up to this sequence number are durable. */
void facts_feed_stored(FactsFeed *feed, uint64_t sequence);

typedef struct FactsFeedStatus {
    int64_t collected_ms; /* Unix time of the last collection; 0: none yet */
    int64_t sent_ms;      /* Unix time of the last send in this process; 0: none */
} FactsFeedStatus;
FactsFeedStatus facts_feed_status(const FactsFeed *feed);
