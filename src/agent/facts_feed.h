/* Reports the facts of this machine (facts/facts.h) to the servers, at start
 * and when they have changed, and only if they differ from the last report,
 * even across restarts. Loop thread; facts are collected by another thread.
 *
 * Facts are collected again on request, when the files or the network that
 * they come from change, and periodically for the rest. */
#pragma once

#include "base/error.h"
#include "sys/directory.h"
#include "sys/loop.h"

typedef struct FactsFeed FactsFeed;

enum {
    FACTS_SETTLE_MS = 1000,         /* changes that come within this are looked at together */
    FACTS_LOOK_MS = 10 * 60 * 1000, /* and without any it looks so often */
};

typedef struct FactsFeedOptions {
    Loop *loop;
    const char *root;           /* borrowed: "/" */
    const Directory *directory; /* borrowed: where it remembers what it told */
    /* Hands them on; `*sequence` is by what facts_feed_stored knows them. ERROR_LIMIT: no room at
     * present, facts_feed_look when there is. */
    bool (*send)(void *context, Str facts, uint64_t *sequence, Error *err);
    void *context;
} FactsFeedOptions;

/* Begins to look. What cannot be watched is told in the log, and looked at once in a while only. */
FactsFeed *facts_feed_new(const FactsFeedOptions *options);
/* Waits for the other thread. NULL is allowed. */
void facts_feed_free(FactsFeed *feed);
DEFINE_AUTO(FactsFeed, facts_feed_free)

/* They may have changed. */
void facts_feed_look(FactsFeed *feed);
/* Nobody knows what was told: it is told again. */
void facts_feed_repeat(FactsFeed *feed);
/* What was handed on up to this number survives a crash. */
void facts_feed_stored(FactsFeed *feed, uint64_t sequence);

typedef struct FactsFeedStatus {
    int64_t looked_ms; /* since 1970, the last time; 0: not yet */
    int64_t told_ms;   /* the last time since it was made; 0: not */
} FactsFeedStatus;
FactsFeedStatus facts_feed_status(const FactsFeed *feed);
