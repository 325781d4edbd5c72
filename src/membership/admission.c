/* Processing of join requests.
 *
 * Each request is one Change: everything that the decision needs (nonce, node, pending machines,
 * revocations, token) is read in one transaction, join_decide() of pki/join.h decides, and the
 * outcome is written if nothing has changed since. A machine that is about to become a new member
 * goes through this twice: the first pass writes nothing and leads to an audit entry, the second
 * one, once that entry is on disk, writes the node. Rejected requests write nothing at all, so
 * unauthenticated clients cannot fill the store. */
#include "membership/admission.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/refusal_log.h"
#include "cluster/state.h"
#include "membership/pending_limits.h"
#include "pki/ca.h"
#include "pki/revocation.h"

enum {
    SWEEP_MS = 10 * 60 * 1000, /* interval between two sweeps of expired requests */
    /* Limits the certificates that a machine gets when it repeats its request because the response
     * was lost. */
    REPEAT_BURST = 30,
    REPEAT_EVERY_S = 6,
};

typedef struct Attempt Attempt;

struct Admission {
    AdmissionSettings settings;
    Attempt *attempts;
    PendingLimits *pending_limits;
    AdmissionCounts counts;
    RateTable is_repeated; /* rate limits of repeated certificates, by name */
    RefusalLog refusals;
    LoopTimer sweep_timer;
    const StoreCompare *fence; /* NULL: another server leads */
};

/* Indexes of the keys that are read. */
typedef enum InputKey {
    READ_NONCE,
    READ_NODE,
    READ_JOINING,
    READ_REVOCATIONS,
    READ_REMOVED,
    READ_OTHER, /* last, because it is optional: the token, or the machine to be replaced */
    READ_COUNT
} InputKey;

/* A join request in progress. */
struct Attempt {
    Admission *admission;
    Attempt *next, *previous;
    Arena arena;
    JoinRequest request;
    char address[ADDRESS_TEXT_SIZE];
    WaitingVerdict verdict; /* the decision on a request without a token to wait for approval */
    WaitingRow evicted;     /* the row that it replaces, if it replaces one */
    bool is_new;            /* decision of the last attempt: the machine was not a member */
    bool is_recorded;       /* the audit log has it, so the change may be written */
    bool is_recording;      /* a call to the audit log is pending */
    Change *change;         /* NULL: no change is in progress */
    JoinReply reply;
    AdmissionDone *done;
    void *context;
};

static void attempt_free(Attempt *attempt)
{
    if (attempt->previous != NULL) {
        attempt->previous->next = attempt->next;
    } else {
        attempt->admission->attempts = attempt->next;
    }
    if (attempt->next != NULL) {
        attempt->next->previous = attempt->previous;
    }
    arena_clear(&attempt->arena);
    free(attempt);
}

/* --- Decision -------------------------------------------------------------------------------- */

typedef struct JoinInputs {
    TokenRecord token;
    NodeRecord node;
    PendingRecord joining;
    const PendingMachine *own; /* this machine's row; NULL on its first request */
    bool has_revocations;      /* the revocation list was read, so `is_revoked` is valid */
    RevocationList revoked;
    Pin cas[CERTIFICATES_MAX];
    JoinFacts facts;
} JoinInputs;

/* Only machines that may be admitted are looked up in the revocation list, which may be long: all
 * others may send any number of requests. */
static bool may_be_admitted(const Attempt *attempt, const JoinInputs *inputs)
{
    const JoinFacts *facts = &inputs->facts;
    return facts->token != NULL || facts->approved != NULL ||
           (facts->enrolled != NULL && pin_equal(facts->enrolled, &attempt->request.key_pin));
}

static bool read_revocations(const Attempt *attempt, Change *change, JoinInputs *inputs, Error *err)
{
    JoinFacts *facts = &inputs->facts;
    Error why;
    if (!may_be_admitted(attempt, inputs)) {
        return true;
    }
    if (change_has(change, READ_REVOCATIONS) &&
        !revocation_read(change_arena(change), change_value(change, READ_REVOCATIONS),
                         &inputs->revoked, err)) {
        return false;
    }
    inputs->has_revocations = true;
    if (facts->enrolled != NULL && revocation_check(&inputs->revoked, str_from_c(inputs->node.name),
                                                    str_from_c(inputs->node.serial), &why)) {
        facts->enrolled_token = str_from_c(inputs->node.token);
        facts->enrolled_is_valid = inputs->node.token[0] == '\0' && !inputs->node.is_server &&
                                   inputs->node.not_after_ms > facts->now_ms;
    }
    return true;
}

static bool read_inputs(const Attempt *attempt, Change *change, JoinInputs *inputs, Error *err)
{
    const AdmissionSettings *settings = &attempt->admission->settings;
    Arena *arena = change_arena(change);
    JoinFacts *facts = &inputs->facts;
    CertificateSet cas = settings->certify.cas->trusted;
    Error ignored;
    facts->now_ms = loop_wall_ms(settings->certify.cluster_store.loop);
    facts->nonce_seen = change_has(change, READ_NONCE);
    facts->cas = inputs->cas;
    for (uint32_t i = 0; i < cas.count && i < CERTIFICATES_MAX; i++) {
        inputs->cas[facts->ca_count++] = cas.items[i].pin;
    }
    if (attempt->request.has_token && change_has(change, READ_OTHER)) {
        if (!token_record_read(arena, change_value(change, READ_OTHER), &inputs->token, err)) {
            return false;
        }
        facts->token = &inputs->token;
    }
    if (change_has(change, READ_NODE)) {
        if (!node_record_read(arena, change_value(change, READ_NODE), &inputs->node, err)) {
            return false;
        }
        facts->enrolled = &inputs->node.key;
    }
    /* An unreadable record approves nothing and is replaced. */
    if (!change_has(change, READ_JOINING) ||
        !pending_record_read(arena, change_value(change, READ_JOINING), &inputs->joining,
                             &ignored)) {
        inputs->joining = (PendingRecord){ 0 };
    }
    pending_record_prune(&inputs->joining, facts->now_ms);
    inputs->own = pending_record_find(&inputs->joining, &attempt->request.key_pin);
    facts->approved = inputs->own != NULL && inputs->own->is_approved ? &inputs->own->key : NULL;
    return read_revocations(attempt, change, inputs, err);
}

/* --- Outcome --------------------------------------------------------------------------------- */

static bool issue(const Attempt *attempt, Arena *arena, JoinInputs *inputs, bool is_repeated,
                  NodeRecord *node, Certified *out, Error *err)
{
    const JoinRequest *request = &attempt->request;
    if (is_repeated) {
        *node = inputs->node;
    } else {
        /* A new node with this name inherits nothing from an earlier one. */
        *node = (NodeRecord){ .joined_ms = inputs->facts.now_ms, .labels = value_missing() };
        snprintf(node->name, sizeof node->name, "%s", request->name);
        if (!enrollment_make(node->enrollment, err)) {
            return false;
        }
        if (request->has_token) {
            snprintf(node->token, sizeof node->token, "%s", request->token_id);
        }
    }
    snprintf(node->address, sizeof node->address, "%s", attempt->address);
    return certify_issue(arena, &attempt->admission->settings.certify, &request->key,
                         inputs->facts.now_ms, node, out, err);
}

static bool admit(Attempt *attempt, Change *change, JoinInputs *inputs, const JoinVerdict *verdict,
                  Error *err)
{
    const CertifySettings *settings = &attempt->admission->settings.certify;
    Arena *arena = change_arena(change);
    NodeRecord node;
    Certified certified;
    BUG_IF(!inputs->has_revocations);
    if (!issue(attempt, arena, inputs, verdict->is_repeated, &node, &certified, err)) {
        return false;
    }
    certify_write(change, settings, &node, &certified, inputs->facts.now_ms);
    if (!verdict->is_repeated &&
        !certify_claim_name(change, &inputs->revoked, change_key(change, READ_REVOCATIONS),
                            change_has(change, READ_NODE), &node, inputs->node.not_after_ms,
                            inputs->facts.now_ms, err)) {
        return false;
    }
    if (attempt->request.has_token && !verdict->is_repeated) {
        Buf counted = buf_make_in(arena, BUF_UNLIMITED);
        inputs->token.uses++;
        token_record_print(&inputs->token, &counted);
        change_put(change, change_key(change, READ_OTHER), buf_str(&counted), 0);
    }
    if (change_has(change, READ_JOINING)) {
        change_delete(change, change_key(change, READ_JOINING));
    }
    attempt->reply.cluster = settings->cluster;
    attempt->reply.certificate = certified.certificate;
    attempt->reply.bundle = certified.bundle;
    attempt->reply.rpc_port = attempt->admission->settings.rpc_port;
    snprintf(attempt->reply.server, sizeof attempt->reply.server, "%" STR_FMT,
             STR_ARG(attempt->admission->settings.server));
    return true;
}

static void put_joining(Change *change, InputKey which, const PendingRecord *pending)
{
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    if (pending->count == 0) {
        change_delete(change, change_key(change, which));
        return;
    }
    pending_record_print(pending, &text);
    change_put(change, change_key(change, which), buf_str(&text), 0);
}

/* Deletes the row of another machine, unless it is approved. */
static void evict_waiting(const Attempt *attempt, Change *change, JoinInputs *inputs)
{
    Arena *arena = change_arena(change);
    bool is_here = strcmp(attempt->evicted.name, attempt->request.name) == 0;
    PendingRecord *pending = is_here ? &inputs->joining : ARENA_NEW(arena, PendingRecord);
    Error ignored;
    if (!is_here &&
        (!change_has(change, READ_OTHER) ||
         !pending_record_read(arena, change_value(change, READ_OTHER), pending, &ignored))) {
        return;
    }
    const PendingMachine *machine = pending_record_find(pending, &attempt->evicted.key);
    if (machine != NULL && !machine->is_approved) {
        pending_record_drop(pending, &attempt->evicted.key);
        if (!is_here) {
            put_joining(change, READ_OTHER, pending);
        }
    }
}

/* A waiting machine repeats its request. Its row is written when it is new and then every few
 * minutes, so most requests write nothing. */
static bool keep_pending(const Attempt *attempt, Change *change, JoinInputs *inputs, Error *err)
{
    int64_t now = inputs->facts.now_ms;
    if (inputs->own != NULL && now - inputs->own->requested_ms < WAITING_REFRESH_MS) {
        return true;
    }
    if (inputs->own == NULL && attempt->verdict == WAITING_REFUSED) {
        return error_set(err, ERROR_LIMIT,
                         "too many machines are waiting for approval; try again later");
    }
    if (inputs->own == NULL && attempt->verdict == WAITING_REPLACES) {
        evict_waiting(attempt, change, inputs);
    }
    snprintf(inputs->joining.name, sizeof inputs->joining.name, "%s", attempt->request.name);
    pending_record_add(&inputs->joining, &attempt->request.key_pin, attempt->address, now);
    put_joining(change, READ_JOINING, &inputs->joining);
    return true;
}

/* Each costs a signature, a write and a lease, so members must not get them without limit. */
static bool may_rejoin(Admission *admission, const char *node, Error *err)
{
    const RateLimit limit = { .per_second = 1, .burst = REPEAT_BURST };
    int64_t now = loop_now_ms(admission->settings.certify.cluster_store.loop) / REPEAT_EVERY_S;
    return rate_table_take(&admission->is_repeated, hash_str(str_from_c(node)), limit, now, 1) ||
           error_set(err, ERROR_LIMIT, "'%s' has joined %d times; try again later", node,
                     REPEAT_BURST);
}

/* Rejected requests write nothing, so that unauthenticated clients cannot fill the store. A nonce
 * is stored until the time check alone rejects the request. An admitted machine is written only
 * after the audit log has recorded it. */
static bool decide(void *context, Change *change, Error *err)
{
    Attempt *attempt = context;
    JoinInputs *inputs = ARENA_NEW(change_arena(change), JoinInputs);
    JoinVerdict verdict;
    if (!read_inputs(attempt, change, inputs, err)) {
        return false;
    }
    join_decide(&attempt->request, &inputs->facts, &verdict);
    join_reply_make(&attempt->request, &verdict, inputs->facts.now_ms, &attempt->reply);
    attempt->is_new = verdict.result == JOIN_ADMITTED && !verdict.is_repeated;
    if (attempt->is_new && change_has(change, READ_REMOVED)) {
        return certify_refuse_removed(attempt->request.name, err);
    }
    if (verdict.result == JOIN_ADMITTED && verdict.is_repeated &&
        !may_rejoin(attempt->admission, attempt->request.name, err)) {
        return false;
    }
    if (verdict.result == JOIN_PENDING) {
        return keep_pending(attempt, change, inputs, err);
    }
    if (verdict.result == JOIN_ADMITTED &&
        (!attempt->is_new || attempt->is_recorded || attempt->admission->settings.audit == NULL)) {
        int64_t ttl_s = (verdict.remember_until_ms - inputs->facts.now_ms) / 1000 + 1;
        change_put(change, change_key(change, READ_NONCE), STR("1"), ttl_s);
        return admit(attempt, change, inputs, &verdict, err);
    }
    return true;
}

/* --- Requests -------------------------------------------------------------------------------- */

/* Waiting machines repeat their requests, and appear in the list of nodes. */
static void log_refused(Admission *admission, const char *node, const char *address,
                        const char *why)
{
    int64_t now = loop_now_ms(admission->settings.certify.cluster_store.loop);
    int64_t suppressed;
    if (refusal_log_allows(&admission->refusals, pending_origin(address), now, &suppressed)) {
        log_warning("join request rejected", LOG_C("node", node), LOG_C("address", address),
                    LOG_C("reason", why), LOG_INT("suppressed", suppressed));
    }
}

static WaitingRow row_of(const Attempt *attempt)
{
    WaitingRow row = { .key = attempt->request.key_pin,
                       .origin = pending_origin(attempt->address),
                       .requested_ms =
                           loop_wall_ms(attempt->admission->settings.certify.cluster_store.loop) };
    snprintf(row.name, sizeof row.name, "%s", attempt->request.name);
    return row;
}

static void record_waiting(Attempt *attempt)
{
    Admission *admission = attempt->admission;
    WaitingRow row = row_of(attempt);
    switch (attempt->reply.result) {
    case JOIN_ADMITTED:
        admission->counts.admitted++;
        pending_limits_forget(admission->pending_limits, row.name, &row.key);
        log_info("node joined", LOG_C("node", row.name), LOG_C("address", attempt->address));
        break;
    case JOIN_PENDING:
        admission->counts.pending++;
        if (attempt->verdict == WAITING_REPLACES) {
            pending_limits_forget(admission->pending_limits, attempt->evicted.name,
                                  &attempt->evicted.key);
        }
        pending_limits_record(admission->pending_limits, &row);
        break;
    case JOIN_REFUSED:
        admission->counts.refused++;
        log_refused(admission, row.name, attempt->address, attempt->reply.text);
        break;
    }
}

static void append_audit(Attempt *attempt, AuditOutcome outcome, Str detail, AuditDone *done)
{
    char pin[PIN_TEXT + 1];
    const JoinRequest *request = &attempt->request;
    pin_text(&request->key_pin, pin);
    AuditEntry entry = { .who = request->has_token
                                    ? arena_format(&attempt->arena, "join:token %s, key %s",
                                                   request->token_id, pin)
                                    : arena_format(&attempt->arena, "join:approved key %s", pin),
                         .principal_kind = PRINCIPAL_JOIN,
                         .address = str_from_c(attempt->address),
                         .verb = STR("join"),
                         .kind = STR("Node"),
                         .name = str_from_c(request->name),
                         .request = str_from_c(request->nonce),
                         .outcome = outcome,
                         .detail = detail };
    audit_append(attempt->admission->settings.audit, &entry, done, attempt);
}

static void finish(Attempt *attempt, const Error *err)
{
    if (attempt->is_recorded) {
        bool ok = err == NULL && attempt->reply.result == JOIN_ADMITTED;
        append_audit(attempt, ok ? AUDIT_DONE : AUDIT_FAILED,
                     str_from_c(err != NULL ? err->text
                                : ok        ? ""
                                            : attempt->reply.text),
                     NULL);
    }
    if (err == NULL) {
        record_waiting(attempt);
    } else if (err->kind == ERROR_LIMIT) {
        attempt->admission->counts.limited++;
        log_refused(attempt->admission, attempt->request.name, attempt->address, err->text);
    }
    attempt->done(attempt->context, err == NULL ? &attempt->reply : NULL, err);
    attempt_free(attempt);
}

static void begin(Attempt *attempt);

static void on_audited(void *context, uint64_t sequence, const Error *err)
{
    Attempt *attempt = context;
    if (attempt->admission == NULL) {
        arena_clear(&attempt->arena); /* the admission was freed first */
        free(attempt);
        return;
    }
    attempt->is_recording = false;
    if (err != NULL) {
        finish(attempt, err);
        return;
    }
    attempt->is_recorded = true;
    begin(attempt);
}

static void decided(void *context, Change *change, const Error *err)
{
    Attempt *attempt = context;
    attempt->change = NULL;
    bool must_record = err == NULL && attempt->is_new && !attempt->is_recorded &&
                       attempt->admission->settings.audit != NULL;
    if (must_record) {
        attempt->is_recording = true;
        append_audit(attempt, AUDIT_REQUESTED, STR_EMPTY, on_audited);
    } else {
        finish(attempt, err);
    }
}

static void begin(Attempt *attempt)
{
    const CertifySettings *settings = &attempt->admission->settings.certify;
    Arena *arena = &attempt->arena;
    const JoinRequest *request = &attempt->request;
    Str prefix = settings->cluster_store.prefix, name = str_from_c(request->name);
    Str keys[READ_COUNT] = {
        [READ_NONCE] = cluster_key_nonce(arena, prefix, str_from_c(request->nonce)),
        [READ_NODE] = cluster_key_node(arena, prefix, name),
        [READ_JOINING] = cluster_key_joining(arena, prefix, name),
        [READ_REVOCATIONS] = cluster_key_revocations(arena, prefix),
        [READ_REMOVED] = cluster_key_removed(arena, prefix, name),
    };
    bool has_other = true;
    if (request->has_token) {
        keys[READ_OTHER] = cluster_key_token(arena, prefix, str_from_c(request->token_id));
    } else if (attempt->verdict == WAITING_REPLACES &&
               strcmp(attempt->evicted.name, request->name) != 0) {
        keys[READ_OTHER] = cluster_key_joining(arena, prefix, str_from_c(attempt->evicted.name));
    } else {
        has_other = false;
    }
    change_start(&(ChangeSpec){ .cluster_store = settings->cluster_store,
                                .keys = keys,
                                .key_count = has_other ? READ_COUNT : READ_OTHER,
                                .decide = decide,
                                .done = decided,
                                .context = attempt },
                 &attempt->change);
}

void admission_decide(Admission *admission, Str text, const char *address, AdmissionDone *done,
                      void *context)
{
    Error err;
    int64_t now = loop_now_ms(admission->settings.certify.cluster_store.loop);
    if (!pending_limits_allows(admission->pending_limits, pending_origin(address), now)) {
        admission->counts.limited++;
        error_set(&err, ERROR_LIMIT, "too many join requests; try again later");
        log_refused(admission, "", address, err.text);
        done(context, NULL, &err);
        return;
    }
    Attempt *attempt = memory_new(sizeof *attempt);
    arena_init(&attempt->arena, ARENA_UNLIMITED);
    if (!join_request_read(&attempt->arena, text, &attempt->request, &err)) {
        admission->counts.refused++;
        done(context, NULL, &err);
        arena_clear(&attempt->arena);
        free(attempt);
        return;
    }
    attempt->admission = admission;
    attempt->next = admission->attempts;
    if (admission->attempts != NULL) {
        admission->attempts->previous = attempt;
    }
    admission->attempts = attempt;
    snprintf(attempt->address, sizeof attempt->address, "%s", address);
    attempt->done = done;
    attempt->context = context;
    if (!attempt->request.has_token) {
        WaitingRow row = row_of(attempt);
        attempt->verdict =
            pending_limits_check(admission->pending_limits, &row, now, &attempt->evicted);
    }
    begin(attempt);
}

/* --- Expired requests ------------------------------------------------------------------------ */

static bool decide_prune(void *context, Change *change, Error *err)
{
    const int64_t *now = context;
    PendingRecord *pending = ARENA_NEW(change_arena(change), PendingRecord);
    if (change_has(change, 0) &&
        pending_record_read(change_arena(change), change_value(change, 0), pending, err) &&
        pending_record_prune(pending, *now)) {
        put_joining(change, 0, pending);
    }
    return true;
}

static void pruned(void *context, Change *change, const Error *err)
{
    free(context);
}

static void prune(const Admission *admission, Str key)
{
    const ClusterStore *cluster_store = &admission->settings.certify.cluster_store;
    Change *change;
    int64_t *now = memory_new(sizeof *now);
    *now = loop_wall_ms(cluster_store->loop);
    change_start(&(ChangeSpec){ .cluster_store = *cluster_store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide_prune,
                                .done = pruned,
                                .context = now,
                                .fence = admission->fence },
                 &change);
}

static void record_pending(Admission *admission, const PendingRecord *pending)
{
    for (uint32_t i = 0; i < pending->count; i++) {
        const PendingMachine *machine = &pending->machines[i];
        WaitingRow row = { .key = machine->key,
                           .origin = pending_origin(machine->address),
                           .requested_ms = machine->requested_ms };
        memcpy(row.name, pending->name, sizeof row.name);
        if (!machine->is_approved) {
            pending_limits_record(admission->pending_limits, &row);
        }
    }
}

/* Reads all records: deletes expired ones, if this server is the leader, and updates the waiting
 * machines in memory. */
static void sweep_runs(void *context)
{
    Admission *admission = context;
    const ClusterStore *cluster_store = &admission->settings.certify.cluster_store;
    int64_t now = loop_wall_ms(cluster_store->loop);
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Arena) record_arena;
    arena_init(&arena, ARENA_UNLIMITED);
    arena_init(&record_arena, ARENA_UNLIMITED);
    loop_timer_start(&admission->sweep_timer, SWEEP_MS);
    if (state_age(cluster_store->state).is_behind) {
        return; /* the state may lack recent requests */
    }
    StateRange range = state_range(
        cluster_store->state, cluster_key_joining_all(&arena, cluster_store->prefix), STR_EMPTY);
    pending_limits_begin(admission->pending_limits);
    for (const StateEntry *entry; (entry = state_next(&range)) != NULL;) {
        arena_reset(&record_arena);
        PendingRecord *pending = ARENA_NEW(&record_arena, PendingRecord);
        Error ignored;
        if (!pending_record_read(&record_arena, entry->value, pending, &ignored)) {
            continue; /* reported as unreadable by the list of nodes */
        }
        if (pending_record_prune(pending, now) && admission->fence != NULL) {
            prune(admission, entry->key);
        }
        record_pending(admission, pending);
    }
    pending_limits_end(admission->pending_limits);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

Admission *admission_new(const AdmissionSettings *settings)
{
    Admission *admission = memory_new(sizeof *admission);
    admission->settings = *settings;
    admission->pending_limits = pending_limits_new();
    loop_timer_init(&admission->sweep_timer, settings->certify.cluster_store.loop, sweep_runs,
                    admission);
    sweep_runs(admission);
    return admission;
}

/* Records seen before this server led are checked again by the next sweep. */
void admission_set_leader(Admission *admission, const StoreCompare *fence)
{
    admission->fence = fence;
    if (fence != NULL) {
        loop_timer_start(&admission->sweep_timer, 0);
    }
}

AdmissionCounts admission_counts(const Admission *admission)
{
    AdmissionCounts counts = admission->counts;
    counts.waiting = pending_limits_count(admission->pending_limits);
    return counts;
}

void admission_free(Admission *admission)
{
    if (admission == NULL) {
        return;
    }
    while (admission->attempts != NULL) {
        Attempt *attempt = admission->attempts;
        change_abandon(attempt->change);
        if (attempt->is_recording) {
            admission->attempts = attempt->next;
            if (attempt->next != NULL) {
                attempt->next->previous = NULL;
            }
            attempt->admission = NULL;
        } else {
            attempt_free(attempt);
        }
    }
    loop_timer_stop(&admission->sweep_timer);
    pending_limits_free(admission->pending_limits);
    free(admission);
}
