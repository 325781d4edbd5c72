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
#include "membership/waiting_room.h"
#include "pki/ca.h"
#include "pki/revocation.h"

enum {
    SWEEP_MS = 10 * 60 * 1000, /* between two looks at who waits for too long */
    /* A machine whose answer got lost asks again, a few times. */
    AGAIN_BURST = 30,
    AGAIN_EVERY_S = 6,
};

typedef struct Attempt Attempt;

struct Admission {
    AdmissionSettings settings;
    Attempt *attempts;
    WaitingRoom *room;
    AdmissionCounts counts;
    RateTable again; /* certificates for machines that have one, by name */
    RefusalLog refusals;
    LoopTimer sweep_timer;
    const StoreCompare *fence; /* NULL: another server leads */
};

/* What is read. */
typedef enum SeenKind {
    SEEN_NONCE,
    SEEN_NODE,
    SEEN_JOINING,
    SEEN_REVOCATIONS,
    SEEN_REMOVED,
    SEEN_OTHER, /* last, as there may be none: the token, or the machine that gives way */
    SEEN_COUNT
} SeenKind;

/* One request on its way. */
struct Attempt {
    Admission *admission;
    Attempt *next, *previous;
    Arena arena;
    JoinRequest request;
    char address[ADDRESS_TEXT_SIZE];
    WaitingPlace place; /* of a request without a token */
    WaitingRow victim;  /* if it replaces that */
    bool is_new;        /* the verdict of the last try: a machine that was no member */
    bool is_recorded;   /* in the audit log: it may be written */
    bool is_recording;  /* the audit log has still to answer */
    Change *change;     /* NULL: none is under way */
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

/* --- Deciding -------------------------------------------------------------------------------- */

typedef struct Known {
    TokenRecord token;
    NodeRecord node;
    JoiningRecord joining;
    const JoiningMachine *own; /* in it: this machine; NULL: it did not ask yet */
    bool knows_revoked;        /* and so: */
    RevocationList revoked;
    Pin cas[CERTIFICATES_MAX];
    JoinFacts facts;
} Known;

/* Who may come in, perhaps again, is looked up in the list of revocations. All others may ask as often as
 * they like, and it may be long. */
static bool may_come_in(const Attempt *attempt, const Known *known)
{
    const JoinFacts *facts = &known->facts;
    return facts->token != NULL || facts->approved != NULL ||
           (facts->enrolled != NULL && pin_equal(facts->enrolled, &attempt->request.key_pin));
}

static bool read_revocations(const Attempt *attempt, Change *change, Known *known, Error *err)
{
    JoinFacts *facts = &known->facts;
    Error why;
    if (!may_come_in(attempt, known)) {
        return true;
    }
    if (change_has(change, SEEN_REVOCATIONS) &&
        !revocation_read(change_arena(change), change_value(change, SEEN_REVOCATIONS),
                         &known->revoked, err)) {
        return false;
    }
    known->knows_revoked = true;
    if (facts->enrolled != NULL && revocation_check(&known->revoked, str_from_c(known->node.name),
                                                    str_from_c(known->node.serial), &why)) {
        facts->enrolled_token = str_from_c(known->node.token);
        facts->enrolled_stands = known->node.token[0] == '\0' && !known->node.is_server &&
                                 known->node.not_after_ms > facts->now_ms;
    }
    return true;
}

static bool read_known(const Attempt *attempt, Change *change, Known *known, Error *err)
{
    const AdmissionSettings *settings = &attempt->admission->settings;
    Arena *arena = change_arena(change);
    JoinFacts *facts = &known->facts;
    CertificateSet cas = settings->certify.cas->trusted;
    Error ignored;
    facts->now_ms = loop_wall_ms(settings->certify.at.loop);
    facts->nonce_seen = change_has(change, SEEN_NONCE);
    facts->cas = known->cas;
    for (uint32_t i = 0; i < cas.count && i < CERTIFICATES_MAX; i++) {
        known->cas[facts->ca_count++] = cas.items[i].pin;
    }
    if (attempt->request.has_token && change_has(change, SEEN_OTHER)) {
        if (!token_record_read(arena, change_value(change, SEEN_OTHER), &known->token, err)) {
            return false;
        }
        facts->token = &known->token;
    }
    if (change_has(change, SEEN_NODE)) {
        if (!node_record_read(arena, change_value(change, SEEN_NODE), &known->node, err)) {
            return false;
        }
        facts->enrolled = &known->node.key;
    }
    /* Nothing in a record that cannot be read is approved; who asks begins another one. */
    if (!change_has(change, SEEN_JOINING) ||
        !joining_record_read(arena, change_value(change, SEEN_JOINING), &known->joining,
                             &ignored)) {
        known->joining = (JoiningRecord){ 0 };
    }
    joining_record_prune(&known->joining, facts->now_ms);
    known->own = joining_record_find(&known->joining, &attempt->request.key_pin);
    facts->approved = known->own != NULL && known->own->is_approved ? &known->own->key : NULL;
    return read_revocations(attempt, change, known, err);
}

/* --- What follows ---------------------------------------------------------------------------- */

static bool issue(const Attempt *attempt, Arena *arena, Known *known, bool again, NodeRecord *node,
                  Certified *out, Error *err)
{
    const JoinRequest *request = &attempt->request;
    if (again) {
        *node = known->node;
    } else {
        /* A name that somebody else had brings nothing of theirs. */
        *node = (NodeRecord){ .joined_ms = known->facts.now_ms, .labels = value_missing() };
        snprintf(node->name, sizeof node->name, "%s", request->name);
        if (!enrolment_make(node->enrolment, err)) {
            return false;
        }
        if (request->has_token) {
            snprintf(node->token, sizeof node->token, "%s", request->token_id);
        }
    }
    snprintf(node->address, sizeof node->address, "%s", attempt->address);
    return certify_issue(arena, &attempt->admission->settings.certify, &request->key,
                         known->facts.now_ms, node, out, err);
}

static bool admit(Attempt *attempt, Change *change, Known *known, const JoinVerdict *verdict,
                  Error *err)
{
    const CertifySettings *settings = &attempt->admission->settings.certify;
    Arena *arena = change_arena(change);
    NodeRecord node;
    Certified certified;
    BUG_IF(!known->knows_revoked);
    if (!issue(attempt, arena, known, verdict->again, &node, &certified, err)) {
        return false;
    }
    certify_write(change, settings, &node, &certified, known->facts.now_ms);
    if (!verdict->again &&
        !certify_claim_name(change, &known->revoked, change_key(change, SEEN_REVOCATIONS),
                            change_has(change, SEEN_NODE), &node, known->node.not_after_ms,
                            known->facts.now_ms, err)) {
        return false;
    }
    if (attempt->request.has_token && !verdict->again) {
        Buf counted = buf_make_in(arena, BUF_UNLIMITED);
        known->token.uses++;
        token_record_print(&known->token, &counted);
        change_put(change, change_key(change, SEEN_OTHER), buf_str(&counted), 0);
    }
    if (change_has(change, SEEN_JOINING)) {
        change_delete(change, change_key(change, SEEN_JOINING));
    }
    attempt->reply.cluster = settings->cluster;
    attempt->reply.certificate = certified.certificate;
    attempt->reply.bundle = certified.bundle;
    attempt->reply.rpc_port = attempt->admission->settings.rpc_port;
    snprintf(attempt->reply.server, sizeof attempt->reply.server, "%" STR_FMT,
             STR_ARG(attempt->admission->settings.server));
    return true;
}

static void put_joining(Change *change, SeenKind which, const JoiningRecord *record)
{
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    if (record->count == 0) {
        change_delete(change, change_key(change, which));
        return;
    }
    joining_record_print(record, &text);
    change_put(change, change_key(change, which), buf_str(&text), 0);
}

/* Takes the row of another machine away, unless somebody has approved it. */
static void make_room(const Attempt *attempt, Change *change, Known *known)
{
    Arena *arena = change_arena(change);
    bool is_here = strcmp(attempt->victim.name, attempt->request.name) == 0;
    JoiningRecord *record = is_here ? &known->joining : ARENA_NEW(arena, JoiningRecord);
    Error ignored;
    if (!is_here &&
        (!change_has(change, SEEN_OTHER) ||
         !joining_record_read(arena, change_value(change, SEEN_OTHER), record, &ignored))) {
        return;
    }
    const JoiningMachine *machine = joining_record_find(record, &attempt->victim.key);
    if (machine != NULL && !machine->is_approved) {
        joining_record_drop(record, &attempt->victim.key);
        if (!is_here) {
            put_joining(change, SEEN_OTHER, record);
        }
    }
}

/* A machine that waits asks again and again: its row is written when that is new, and then every few
 * minutes. So a request that is repeated changes nothing. */
static bool let_wait(const Attempt *attempt, Change *change, Known *known, Error *err)
{
    int64_t now = known->facts.now_ms;
    if (known->own != NULL && now - known->own->asked_ms < WAITING_REFRESH_MS) {
        return true;
    }
    if (known->own == NULL && attempt->place == WAITING_REFUSED) {
        return error_set(err, ERROR_LIMIT,
                         "too many machines are waiting for approval; try again later");
    }
    if (known->own == NULL && attempt->place == WAITING_REPLACES) {
        make_room(attempt, change, known);
    }
    snprintf(known->joining.name, sizeof known->joining.name, "%s", attempt->request.name);
    joining_record_ask(&known->joining, &attempt->request.key_pin, attempt->address, now);
    put_joining(change, SEEN_JOINING, &known->joining);
    return true;
}

/* Each is a signature, a write and a lease, which members must not have without end. */
static bool may_ask_again(Admission *admission, const char *node, Error *err)
{
    const RateLimit limit = { .per_second = 1, .burst = AGAIN_BURST };
    int64_t now = loop_now_ms(admission->settings.certify.at.loop) / AGAIN_EVERY_S;
    return rate_table_take(&admission->again, hash_str(str_from_c(node)), limit, now, 1) ||
           error_set(err, ERROR_LIMIT, "'%s' has joined %d times; try again later", node,
                     AGAIN_BURST);
}

/* Nothing is written for those who are refused, so that nobody fills the store from outside. A nonce
 * is kept until the clock alone refuses the request. Of a machine that comes in, nothing is written
 * before the audit log has it. */
static bool decide(void *context, Change *change, Error *err)
{
    Attempt *attempt = context;
    Known *known = ARENA_NEW(change_arena(change), Known);
    JoinVerdict verdict;
    if (!read_known(attempt, change, known, err)) {
        return false;
    }
    join_decide(&attempt->request, &known->facts, &verdict);
    join_reply_make(&attempt->request, &verdict, known->facts.now_ms, &attempt->reply);
    attempt->is_new = verdict.result == JOIN_ADMITTED && !verdict.again;
    if (attempt->is_new && change_has(change, SEEN_REMOVED)) {
        return certify_refuse_removed(attempt->request.name, err);
    }
    if (verdict.result == JOIN_ADMITTED && verdict.again &&
        !may_ask_again(attempt->admission, attempt->request.name, err)) {
        return false;
    }
    if (verdict.result == JOIN_PENDING) {
        return let_wait(attempt, change, known, err);
    }
    if (verdict.result == JOIN_ADMITTED &&
        (!attempt->is_new || attempt->is_recorded || attempt->admission->settings.audit == NULL)) {
        int64_t ttl_s = (verdict.remember_until_ms - known->facts.now_ms) / 1000 + 1;
        change_put(change, change_key(change, SEEN_NONCE), STR("1"), ttl_s);
        return admit(attempt, change, known, &verdict, err);
    }
    return true;
}

/* --- Requests -------------------------------------------------------------------------------- */

/* Those who wait ask again and again, and are shown by who lists them. */
static void log_refused(Admission *admission, const char *node, const char *address,
                        const char *why)
{
    int64_t now = loop_now_ms(admission->settings.certify.at.loop);
    int64_t suppressed;
    if (refusal_log_take(&admission->refusals, joining_origin(address), now, &suppressed)) {
        log_warning("join request rejected", LOG_C("node", node), LOG_C("address", address),
                    LOG_C("why", why), LOG_INT("suppressed", suppressed));
    }
}

static WaitingRow row_of(const Attempt *attempt)
{
    WaitingRow row = { .key = attempt->request.key_pin,
                       .origin = joining_origin(attempt->address),
                       .asked_ms = loop_wall_ms(attempt->admission->settings.certify.at.loop) };
    snprintf(row.name, sizeof row.name, "%s", attempt->request.name);
    return row;
}

static void note(Attempt *attempt)
{
    Admission *admission = attempt->admission;
    WaitingRow row = row_of(attempt);
    switch (attempt->reply.result) {
    case JOIN_ADMITTED:
        admission->counts.admitted++;
        waiting_room_forget(admission->room, row.name, &row.key);
        log_info("node joined", LOG_C("node", row.name), LOG_C("address", attempt->address));
        break;
    case JOIN_PENDING:
        admission->counts.pending++;
        if (attempt->place == WAITING_REPLACES) {
            waiting_room_forget(admission->room, attempt->victim.name, &attempt->victim.key);
        }
        waiting_room_note(admission->room, &row);
        break;
    case JOIN_REFUSED:
        admission->counts.refused++;
        log_refused(admission, row.name, attempt->address, attempt->reply.text);
        break;
    }
}

static void record(Attempt *attempt, AuditOutcome outcome, Str detail, AuditDone *done)
{
    char pin[PIN_TEXT + 1];
    const JoinRequest *request = &attempt->request;
    pin_text(&request->key_pin, pin);
    AuditEntry entry = { .who = request->has_token
                                    ? arena_format(&attempt->arena, "join:token %s, key %s",
                                                   request->token_id, pin)
                                    : arena_format(&attempt->arena, "join:approved key %s", pin),
                         .by = PRINCIPAL_JOIN,
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
        record(attempt, ok ? AUDIT_DONE : AUDIT_FAILED,
               str_from_c(err != NULL ? err->text
                          : ok        ? ""
                                      : attempt->reply.text),
               NULL);
    }
    if (err == NULL) {
        note(attempt);
    } else if (err->kind == ERROR_LIMIT) {
        attempt->admission->counts.limited++;
        log_refused(attempt->admission, attempt->request.name, attempt->address, err->text);
    }
    attempt->done(attempt->context, err == NULL ? &attempt->reply : NULL, err);
    attempt_free(attempt);
}

static void begin(Attempt *attempt);

static void recorded(void *context, uint64_t sequence, const Error *err)
{
    Attempt *attempt = context;
    if (attempt->admission == NULL) {
        arena_clear(&attempt->arena); /* the admission went first */
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
    bool is_owed = err == NULL && attempt->is_new && !attempt->is_recorded &&
                   attempt->admission->settings.audit != NULL;
    if (is_owed) {
        attempt->is_recording = true;
        record(attempt, AUDIT_ASKED, STR_EMPTY, recorded);
    } else {
        finish(attempt, err);
    }
}

static void begin(Attempt *attempt)
{
    const CertifySettings *settings = &attempt->admission->settings.certify;
    Arena *arena = &attempt->arena;
    const JoinRequest *request = &attempt->request;
    Str prefix = settings->at.prefix, name = str_from_c(request->name);
    Str keys[SEEN_COUNT] = {
        [SEEN_NONCE] = cluster_key_nonce(arena, prefix, str_from_c(request->nonce)),
        [SEEN_NODE] = cluster_key_node(arena, prefix, name),
        [SEEN_JOINING] = cluster_key_joining(arena, prefix, name),
        [SEEN_REVOCATIONS] = cluster_key_revocations(arena, prefix),
        [SEEN_REMOVED] = cluster_key_removed(arena, prefix, name),
    };
    bool has_other = true;
    if (request->has_token) {
        keys[SEEN_OTHER] = cluster_key_token(arena, prefix, str_from_c(request->token_id));
    } else if (attempt->place == WAITING_REPLACES &&
               strcmp(attempt->victim.name, request->name) != 0) {
        keys[SEEN_OTHER] = cluster_key_joining(arena, prefix, str_from_c(attempt->victim.name));
    } else {
        has_other = false;
    }
    change_start(&(ChangeSpec){ .at = settings->at,
                                .keys = keys,
                                .key_count = has_other ? SEEN_COUNT : SEEN_OTHER,
                                .decide = decide,
                                .done = decided,
                                .context = attempt },
                 &attempt->change);
}

void admission_decide(Admission *admission, Str text, const char *address, AdmissionDone *done,
                      void *context)
{
    Error err;
    int64_t now = loop_now_ms(admission->settings.certify.at.loop);
    if (!waiting_room_may_ask(admission->room, joining_origin(address), now)) {
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
        attempt->place = waiting_room_place(admission->room, &row, now, &attempt->victim);
    }
    begin(attempt);
}

/* --- Those who wait for too long ------------------------------------------------------------- */

static bool decide_prune(void *context, Change *change, Error *err)
{
    const int64_t *now = context;
    JoiningRecord *record = ARENA_NEW(change_arena(change), JoiningRecord);
    if (change_has(change, 0) &&
        joining_record_read(change_arena(change), change_value(change, 0), record, err) &&
        joining_record_prune(record, *now)) {
        put_joining(change, 0, record);
    }
    return true;
}

static void pruned(void *context, Change *change, const Error *err)
{
    free(context);
}

static void prune(const Admission *admission, Str key)
{
    const ClusterStore *at = &admission->settings.certify.at;
    Change *change;
    int64_t *now = memory_new(sizeof *now);
    *now = loop_wall_ms(at->loop);
    change_start(&(ChangeSpec){ .at = *at,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide_prune,
                                .done = pruned,
                                .context = now,
                                .fence = admission->fence },
                 &change);
}

static void note_record(Admission *admission, const JoiningRecord *record)
{
    for (uint32_t i = 0; i < record->count; i++) {
        const JoiningMachine *machine = &record->machines[i];
        WaitingRow row = { .key = machine->key,
                           .origin = joining_origin(machine->address),
                           .asked_ms = machine->asked_ms };
        memcpy(row.name, record->name, sizeof row.name);
        if (!machine->is_approved) {
            waiting_room_note(admission->room, &row);
        }
    }
}

/* A look at all records: what is over goes, if this server leads; the rest is what the room knows. */
static void sweep_runs(void *context)
{
    Admission *admission = context;
    const ClusterStore *at = &admission->settings.certify.at;
    int64_t now = loop_wall_ms(at->loop);
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Arena) record_arena;
    arena_init(&arena, ARENA_UNLIMITED);
    arena_init(&record_arena, ARENA_UNLIMITED);
    loop_timer_start(&admission->sweep_timer, SWEEP_MS);
    if (state_age(at->state).is_behind) {
        return; /* it may not know who has asked since */
    }
    StateRange range =
        state_range(at->state, cluster_key_joining_all(&arena, at->prefix), STR_EMPTY);
    waiting_room_begin(admission->room);
    for (const StateEntry *entry; (entry = state_next(&range)) != NULL;) {
        arena_reset(&record_arena);
        JoiningRecord *record = ARENA_NEW(&record_arena, JoiningRecord);
        Error ignored;
        if (!joining_record_read(&record_arena, entry->value, record, &ignored)) {
            continue; /* listed as damaged */
        }
        if (joining_record_prune(record, now) && admission->fence != NULL) {
            prune(admission, entry->key);
        }
        note_record(admission, record);
    }
    waiting_room_end(admission->room);
}

/* --- Life ------------------------------------------------------------------------------------ */

Admission *admission_new(const AdmissionSettings *settings)
{
    Admission *admission = memory_new(sizeof *admission);
    admission->settings = *settings;
    admission->room = waiting_room_new();
    loop_timer_init(&admission->sweep_timer, settings->certify.at.loop, sweep_runs, admission);
    sweep_runs(admission);
    return admission;
}

/* What was seen before it led is looked at again in time. */
void admission_lead(Admission *admission, const StoreCompare *fence)
{
    admission->fence = fence;
    if (fence != NULL) {
        loop_timer_start(&admission->sweep_timer, 0);
    }
}

AdmissionCounts admission_counts(const Admission *admission)
{
    AdmissionCounts counts = admission->counts;
    counts.waiting = waiting_room_count(admission->room);
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
    waiting_room_free(admission->room);
    free(admission);
}
