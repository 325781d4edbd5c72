/* Leader election.
 *
 * All transitions are decided in one place, from the current state: update() runs after every
 * response from the store, when the timer fires, and when the key has changed. Only one request is
 * pending at a time; everything else waits for its response, except being deposed, which is
 * immediate. */
#include "cluster/leader.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "lang/record.h"

enum {
    RENEW_MS = LEADER_LEASE_S * 1000 / 3,
    RETRY_MS = 1000, /* delay after a store failure and after losing leadership */
    /* maximum time for the store to revoke the lease, which also expires by itself */
    RESIGN_MS = 2000,
    RECORD_MAX = 4096,
};

struct Leader {
    LeaderOptions options;
    Arena arena;
    Str key;
    StateView view;
    LoopTimer timer;
    StoreCompare fence;

    bool is_leader;
    int64_t lease;      /* 0: none. A lease without leadership is revoked */
    int64_t sent_ms;    /* when the current request was sent */
    int64_t expires_ms; /* time at which it considers itself deposed */
    int64_t due_ms;     /* time of the next renewal or attempt */
    bool is_pending;    /* a request to the store is pending */
    bool is_resigning, freed;
    int64_t resign_deadline_ms; /* latest time for calling `resigned` */
    LoopRun *resigned;          /* NULL if already called, or not resigning */
    void *resigned_context;
};

/* --- Record ---------------------------------------------------------------------------------- */

static const RecordField leader_fields[] = {
    { "server", RECORD_TEXT, RECORD_CHARS_AT(LeaderRecord, server), .is_required = true,
      .check_text = node_name_check, .help = "name of the leader" },
    { "since_ms", RECORD_INT, RECORD_INT_AT(LeaderRecord, since_ms), .is_required = true,
      .help = "when it became the leader" },
    { RECORD_UNKNOWN_AT(LeaderRecord, unknown) },
    { 0 },
};

static const RecordFormat leader_format = {
    .format = "eden.leader/1",
    .what = "the record of the leader",
    .fields = leader_fields,
    .size = sizeof(LeaderRecord),
    .text_max = RECORD_MAX,
};

static bool read_entry(Arena *arena, const StateEntry *entry, LeaderRecord *out)
{
    Error ignored;
    return entry != NULL &&
           record_read(&leader_format, arena, entry->value, RECORD_STORED, out, &ignored);
}

bool leader_find(Arena *arena, const State *state, Str prefix, LeaderRecord *out)
{
    return read_entry(arena, state_find(state, cluster_key_leader(arena, prefix)), out);
}

/* --- State ----------------------------------------------------------------------------------- */

static int64_t now_of(const Leader *leader)
{
    return loop_now_ms(leader->options.cluster_store.loop);
}

static const StateEntry *entry_of(const Leader *leader)
{
    return state_find(leader->options.cluster_store.state, leader->key);
}

/* Why this server no longer leads; NULL if it leads. */
static const char *lost_reason(const Leader *leader)
{
    const StateEntry *entry = entry_of(leader);
    StateAge age = state_age(leader->options.cluster_store.state);
    bool is_seen = age.revision >= leader->fence.number;
    if (now_of(leader) >= leader->expires_ms) {
        return "the lease was not renewed in time";
    }
    if (age.stale_since_ms != 0) {
        return "the store is unavailable";
    }
    return is_seen && (entry == NULL || entry->create_revision != leader->fence.number)
               ? "the lease has expired"
               : NULL;
}

/* --- Requests to the store ------------------------------------------------------------------- */

static void update(Leader *leader);

static void leader_destroy(Leader *leader)
{
    arena_clear(&leader->arena);
    free(leader);
}

/* Returns false if a callback has freed the leader. */
static bool response_received(Leader *leader)
{
    leader->is_pending = false;
    if (leader->freed) {
        leader_destroy(leader);
        return false;
    }
    return true;
}

static void retry_later(Leader *leader)
{
    leader->due_ms = now_of(leader) + RETRY_MS;
}

/* Called after a request was sent, or rejected immediately by the store. */
static void sent(Leader *leader, bool started, const Error *err)
{
    leader->is_pending = started;
    if (!started) {
        log_debug("cannot query the store for the leader", LOG_C("error", err->text));
        retry_later(leader);
    }
}

static void depose(Leader *leader, const char *why)
{
    leader->is_leader = false;
    retry_later(leader);
    log_info("this server is no longer the leader", LOG_C("reason", why));
    leader->options.deposed(leader->options.context);
}

static void renewed(void *context, const StoreLease *lease, const Error *err)
{
    Leader *leader = context;
    if (!response_received(leader)) {
        return;
    }
    if (err == NULL) {
        leader->expires_ms = leader->sent_ms + LEADER_LEASE_S * 1000 - LEADER_MARGIN_MS;
        leader->due_ms = leader->sent_ms + RENEW_MS;
    } else if (err->kind == ERROR_NOT_FOUND) {
        leader->lease = 0;
        leader->expires_ms = leader->sent_ms; /* the lease has expired */
    } else {
        retry_later(leader);
    }
    update(leader);
}

/* The result is ignored: a lease that cannot be revoked expires by itself. */
static void revoked(void *context, const StoreLease *lease, const Error *err)
{
    Leader *leader = context;
    if (response_received(leader)) {
        leader->lease = 0;
        update(leader);
    }
}

static void put_done(void *context, const StoreReply *reply, const Error *err)
{
    Leader *leader = context;
    if (!response_received(leader)) {
        return;
    }
    retry_later(leader);
    if (err == NULL && reply->succeeded && now_of(leader) < leader->expires_ms &&
        !leader->is_resigning) {
        leader->is_leader = true;
        leader->fence.number = reply->revision;
        leader->due_ms = leader->sent_ms + RENEW_MS;
        log_info("this server is now the leader");
        leader->options.elected(leader->options.context);
    }
    update(leader); /* on failure, revokes the lease, and with it the key if it exists */
}

/* Urgent, because on a full disk the leader is needed to delete data. */
static void put_key(Leader *leader)
{
    LeaderRecord record = { .since_ms = loop_wall_ms(leader->options.cluster_store.loop) };
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Error err;
    memcpy(record.server, leader->options.server.data, leader->options.server.len);
    record_print(&leader_format, &record, &text);
    StoreCompare absent = { .target = STORE_CREATE_REVISION,
                            .relation = STORE_EQUAL,
                            .key = leader->key };
    StoreOp put = {
        .kind = STORE_PUT, .key = leader->key, .value = buf_str(&text), .lease = leader->lease
    };
    StoreTxn txn = {
        .compares = &absent, .compare_count = 1, .success = &put, .success_count = 1, .urgent = true
    };
    sent(leader, store_txn(leader->options.cluster_store.store, &txn, put_done, leader, &err),
         &err);
}

static void granted(void *context, const StoreLease *lease, const Error *err)
{
    Leader *leader = context;
    if (!response_received(leader)) {
        return;
    }
    retry_later(leader);
    leader->expires_ms = leader->sent_ms + LEADER_LEASE_S * 1000 - LEADER_MARGIN_MS;
    leader->lease = err == NULL ? lease->id : 0;
    if (err == NULL && !leader->is_resigning) {
        put_key(leader);
    }
    update(leader);
}

/* The state reports changes of the leader key. */
static bool may_campaign(const Leader *leader)
{
    return !leader->is_leader && !leader->is_resigning && entry_of(leader) == NULL &&
           state_age(leader->options.cluster_store.state).stale_since_ms == 0;
}

static void send_request(Leader *leader)
{
    Store *store = leader->options.cluster_store.store;
    bool is_due = now_of(leader) >= leader->due_ms;
    Error err;
    if (leader->is_leader && is_due) {
        leader->sent_ms = now_of(leader);
        sent(leader, store_lease_keep_alive(store, leader->lease, renewed, leader, &err), &err);
    } else if (!leader->is_leader && leader->lease != 0) {
        sent(leader, store_lease_revoke(store, leader->lease, revoked, leader, &err), &err);
        leader->lease = leader->is_pending ? leader->lease : 0;
    } else if (is_due && may_campaign(leader)) {
        leader->sent_ms = now_of(leader);
        sent(leader, store_lease_grant_reserved(store, LEADER_LEASE_S, granted, leader, &err),
             &err);
    }
}

/* --- Transitions ----------------------------------------------------------------------------- */

static void set_timer(Leader *leader, int64_t at_ms)
{
    loop_timer_start(&leader->timer, at_ms - now_of(leader));
}

static void update(Leader *leader)
{
    const char *why = leader->is_leader ? lost_reason(leader) : NULL;
    if (why != NULL) {
        depose(leader, why);
    }
    if (!leader->is_pending) {
        send_request(leader);
    }
    loop_timer_stop(&leader->timer);
    if (leader->is_leader) {
        bool renews_first = !leader->is_pending && leader->due_ms < leader->expires_ms;
        set_timer(leader, renews_first ? leader->due_ms : leader->expires_ms);
    } else if (leader->resigned != NULL &&
               (!leader->is_pending || now_of(leader) >= leader->resign_deadline_ms)) {
        TAKE(leader->resigned)(leader->resigned_context);
    } else if (leader->resigned != NULL) {
        set_timer(leader, leader->resign_deadline_ms);
    } else if (leader->is_pending) {
        return; /* the response calls update() again */
    } else if (may_campaign(leader)) {
        set_timer(leader, leader->due_ms);
    }
}

static void timer_expired(void *context)
{
    update(context);
}

/* In a later iteration of the loop: views must not be detached while they are notified. */
static void state_age_changed(void *context)
{
    Leader *leader = context;
    loop_timer_start(&leader->timer, 0);
}

static void key_changed(void *context, const StateEntry *now, const StateEntry *before)
{
    state_age_changed(context);
}

/* --- Public API ------------------------------------------------------------------------------ */

Leader *leader_new(const LeaderOptions *options)
{
    Leader *leader = memory_new(sizeof *leader);
    LeaderRecord record;
    BUG_IF(options->server.len > NODE_NAME_MAX);
    arena_init(&leader->arena, ARENA_UNLIMITED);
    leader->options = *options;
    leader->options.cluster_store.prefix =
        arena_copy(&leader->arena, options->cluster_store.prefix);
    leader->options.server = arena_copy(&leader->arena, options->server);
    leader->key = cluster_key_leader(&leader->arena, options->cluster_store.prefix);
    leader->fence = (StoreCompare){ .target = STORE_CREATE_REVISION,
                                    .relation = STORE_EQUAL,
                                    .key = leader->key };
    const StateEntry *entry = entry_of(leader);
    if (read_entry(&leader->arena, entry, &record) && str_eq_c(options->server, record.server)) {
        leader->lease = entry->lease;
    }
    loop_timer_init(&leader->timer, options->cluster_store.loop, timer_expired, leader);
    leader->view = (StateView){ .kinds = STATE_KIND(KEY_LEADER),
                                .changed = key_changed,
                                .age_changed = state_age_changed,
                                .context = leader };
    state_attach(options->cluster_store.state, &leader->view);
    loop_timer_start(&leader->timer, 0);
    return leader;
}

void leader_resign(Leader *leader, LoopRun *done, void *context)
{
    BUG_IF(leader->is_resigning);
    leader->is_resigning = true;
    leader->resigned = done;
    leader->resigned_context = context;
    leader->resign_deadline_ms = now_of(leader) + RESIGN_MS;
    if (leader->is_leader) {
        depose(leader, "the server is stopping");
    }
    update(leader);
}

void leader_free(Leader *leader)
{
    if (leader == NULL) {
        return;
    }
    state_detach(leader->options.cluster_store.state, &leader->view);
    loop_timer_stop(&leader->timer);
    if (leader->is_pending) {
        leader->freed = true; /* a response from the store is pending */
    } else {
        leader_destroy(leader);
    }
}

bool leader_is_elected(const Leader *leader)
{
    return leader->is_leader && lost_reason(leader) == NULL;
}

const StoreCompare *leader_fence(const Leader *leader)
{
    BUG_IF(leader->fence.number == 0); /* was never elected */
    return &leader->fence;
}

bool leader_fenced_out(Error *err)
{
    return error_set(err, ERROR_CONFLICT, "this server is no longer the leader");
}
