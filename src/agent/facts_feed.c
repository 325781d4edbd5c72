/* Collects facts on a worker thread and compares their digest with that of the facts that were sent
 * last. */
#include "agent/facts_feed.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "facts/facts.h"
#include "lang/json.h"
#include "rpc/session_message.h"
#include "sys/machine.h"
#include "sys/network.h"
#include "sys/path_watch.h"
#include "sys/sha256.h"
#include "sys/worker.h"

#define DIGEST_FILE "facts-sent" /* digest of the facts sent last */

struct FactsFeed {
    FactsFeedOptions options;
    LoopTimer timer; /* until the next collection */
    PathWatch *files;
    NetworkWatch *network;
    /* digest of the facts that the outbox has stored; "": none, or unknown */
    char stored[SHA256_HEX + 1];
    char sent[SHA256_HEX + 1]; /* digest of facts sent but not stored yet; "": none */
    uint64_t sequence;         /* sequence number of the sent facts */
    FactsFeedStatus status;

    /* One collection. Owned by the worker thread from its start until `done_task` runs. */
    Worker *worker; /* NULL: none in progress */
    LoopTask done_task;
    Buf facts;
    char digest[SHA256_HEX + 1];
    bool is_complete;
    Error why; /* why it failed */
    bool is_collection_pending;
};

/* --- Worker thread --------------------------------------------------------------------------- */

static bool gather(FactsFeed *feed, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(FactSources)
    sources = { .root = { .descriptor = -1 }, .kernel = { .descriptor = -1 } };
    Problems ignored; /* an unreadable fact is null, which is sufficient */
    arena_init(&arena, ARENA_UNLIMITED);
    problems_init(&ignored, &arena);
    if (!fact_sources_open(feed->options.root, &sources, err)) {
        return false;
    }
    Value all = facts_collect(&sources, &arena, NULL, 0, &ignored);
    return json_print(&feed->facts, all, NULL, err);
}

static void work(void *context)
{
    FactsFeed *feed = context;
    feed->is_complete = gather(feed, &feed->why);
    sha256_hex(buf_str(&feed->facts), feed->digest);
    loop_post(feed->options.loop, &feed->done_task);
}

/* --- Sending --------------------------------------------------------------------------------- */

static void send_facts(FactsFeed *feed)
{
    Error err;
    if (strcmp(feed->digest, feed->sent) == 0 ||
        (feed->sent[0] == '\0' && strcmp(feed->digest, feed->stored) == 0)) {
        return;
    }
    if (!feed->options.send(feed->options.context, buf_str(&feed->facts), &feed->sequence, &err)) {
        log_warning("cannot send facts now", LOG_C("error", err.text));
        return;
    }
    memcpy(feed->sent, feed->digest, sizeof feed->sent);
    feed->status.sent_ms = loop_wall_ms(feed->options.loop);
    log_info("facts sent", LOG_INT("bytes", (int64_t)feed->facts.len));
}

static void collection_done(void *context)
{
    FactsFeed *feed = context;
    worker_free(TAKE(feed->worker));
    feed->status.collected_ms = loop_wall_ms(feed->options.loop);
    if (feed->is_complete) {
        send_facts(feed);
    } else {
        log_warning("cannot collect facts", LOG_C("error", feed->why.text));
    }
    buf_clear(&feed->facts);
    machine_return_memory();
    loop_timer_start(&feed->timer,
                     feed->is_collection_pending ? FACTS_SETTLE_MS : FACTS_COLLECT_MS);
    feed->is_collection_pending = false;
}

static void collect_now(void *context)
{
    FactsFeed *feed = context;
    feed->facts = buf_make(SESSION_RECORD_MAX);
    feed->worker = worker_new(work, feed);
    worker_wake(feed->worker);
}

void facts_feed_check(FactsFeed *feed)
{
    if (feed->worker != NULL) {
        feed->is_collection_pending = true; /* the running collection may have missed the change */
    } else if (!loop_timer_started(&feed->timer) ||
               feed->timer.due_ms > loop_now_ms(feed->options.loop) + FACTS_SETTLE_MS) {
        loop_timer_start(&feed->timer, FACTS_SETTLE_MS);
    }
}

/* Facts are also sent again after a restart at this point. */
void facts_feed_resend(FactsFeed *feed)
{
    Error err;
    feed->stored[0] = feed->sent[0] = '\0';
    if (directory_has(feed->options.directory, DIGEST_FILE) &&
        !directory_remove(feed->options.directory, DIGEST_FILE, &err)) {
        log_warning("facts might not be sent again after a restart", LOG_C("error", err.text));
    }
    facts_feed_check(feed);
}

void facts_feed_stored(FactsFeed *feed, uint64_t sequence)
{
    Error err;
    if (feed->sent[0] == '\0' || sequence < feed->sequence) {
        return;
    }
    memcpy(feed->stored, feed->sent, sizeof feed->stored);
    feed->sent[0] = '\0';
    if (!directory_write(feed->options.directory, DIGEST_FILE, str_from_c(feed->stored), false,
                         &err)) {
        log_warning("facts will be sent again after a restart", LOG_C("error", err.text));
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

/* Files in /etc that facts are read from. */
static void file_changed(void *context, const char *name)
{
    static const char *const names[] = { "hostname",  "hosts",    "machine-id", "os-release",
                                         "localtime", "timezone", "passwd",     "group" };
    bool is_source = name == NULL;
    for (size_t i = 0; !is_source && i < COUNT_OF(names); i++) {
        is_source = strcmp(name, names[i]) == 0;
    }
    if (is_source) {
        facts_feed_check(context);
    }
}

static void network_changed(void *context)
{
    facts_feed_check(context);
}

static void watch_sources(FactsFeed *feed)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    const char *etc = arena_copy_c(&arena, arena_format(&arena, "%s/etc", feed->options.root));
    if (!path_watch_new(feed->options.loop, etc, file_changed, feed, &feed->files, &err)) {
        log_warning("cannot watch the files that facts are read from", LOG_C("error", err.text));
    }
    if (!network_watch_new(feed->options.loop, network_changed, feed, &feed->network, &err)) {
        log_warning("cannot watch the network", LOG_C("error", err.text));
    }
}

static void read_digest(FactsFeed *feed)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text;
    Error err;
    if (directory_read(feed->options.directory, &arena, DIGEST_FILE, SHA256_HEX, &text, &err) &&
        text.len == SHA256_HEX) {
        memcpy(feed->stored, text.data, SHA256_HEX);
    }
}

FactsFeed *facts_feed_new(const FactsFeedOptions *options)
{
    FactsFeed *feed = memory_new(sizeof *feed);
    feed->options = *options;
    loop_timer_init(&feed->timer, options->loop, collect_now, feed);
    loop_task_init(&feed->done_task, collection_done, feed);
    read_digest(feed);
    watch_sources(feed);
    loop_timer_start(&feed->timer, 0);
    return feed;
}

void facts_feed_free(FactsFeed *feed)
{
    if (feed == NULL) {
        return;
    }
    loop_timer_stop(&feed->timer);
    worker_free(feed->worker);
    loop_task_stop(feed->options.loop, &feed->done_task);
    path_watch_free(feed->files);
    network_watch_free(feed->network);
    buf_clear(&feed->facts);
    free(feed);
}

FactsFeedStatus facts_feed_status(const FactsFeed *feed)
{
    return feed->status;
}
