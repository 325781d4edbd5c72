#include "server/admission.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "pki/ca.h"
#include "pki/revocation.h"
#include "server/node_record.h"
#include "server/server_keys.h"

enum {
    TRIES_MAX = 20, /* others may change the same keys; each of them got on with it */
    OPS_MAX = 8,
    PENDING_MAX = 1000,          /* machines that wait for approval */
    PENDING_TTL_S = 24 * 60 * 60 /* those that do not ask any more are forgotten */
};

typedef struct Attempt Attempt;

struct Admission {
    AdmissionSettings settings;
    Attempt *attempts;
};

/* What was read under one key. */
typedef struct Seen {
    Str key;
    int64_t revision; /* 0: it is not there */
    Str value;        /* in the try's arena */
} Seen;

typedef enum SeenKind {
    SEEN_NONCE,
    SEEN_NODE,
    SEEN_JOINING,
    SEEN_REVOCATIONS,
    SEEN_TOKEN, /* last, as there may be none */
    SEEN_COUNT
} SeenKind;

/* One request on its way. */
struct Attempt {
    Admission *admission;
    Attempt *next, *previous;
    Arena arena;    /* of the request */
    Arena decision; /* of one try */
    JoinRequest request;
    char address[ADDRESS_TEXT_SIZE];
    Seen seen[SEEN_COUNT];
    uint32_t seen_count;
    uint32_t tries;
    int64_t pending; /* how many wait for approval */
    int64_t lease;   /* of the nonce, or of the record of one that waits; 0: none yet */
    JoinReply reply;
    AdmissionDone *done;
    void *context;
};

/* --- A request's life ------------------------------------------------------------------------ */

static void attempt_free(Attempt *attempt)
{
    if (attempt->previous != NULL) {
        attempt->previous->next = attempt->next;
    } else if (attempt->admission != NULL) {
        attempt->admission->attempts = attempt->next;
    }
    if (attempt->next != NULL) {
        attempt->next->previous = attempt->previous;
    }
    arena_clear(&attempt->arena);
    arena_clear(&attempt->decision);
    free(attempt);
}

static void end(Attempt *attempt, const JoinReply *reply, const Error *err)
{
    if (attempt->admission != NULL) {
        attempt->done(attempt->context, reply, err);
    }
    attempt_free(attempt);
}

static void fail(Attempt *attempt, const Error *err)
{
    end(attempt, NULL, err);
}

/* Whether the store answered, and somebody still wants to know. */
static bool goes_on(Attempt *attempt, const Error *err)
{
    if (err != NULL || attempt->admission == NULL) {
        fail(attempt, err);
        return false;
    }
    return true;
}

/* --- Deciding -------------------------------------------------------------------------------- */

typedef struct Known {
    TokenRecord token;
    NodeRecord node;
    JoiningRecord joining;
    RevocationList revoked;
    Pin cas[CERTIFICATES_MAX];
    JoinFacts facts;
} Known;

static bool is_there(const Attempt *attempt, SeenKind kind)
{
    return kind < attempt->seen_count && attempt->seen[kind].revision > 0;
}

static bool read_known(Attempt *attempt, Known *known, Error *err)
{
    const AdmissionSettings *settings = &attempt->admission->settings;
    Arena *arena = &attempt->decision;
    const Seen *seen = attempt->seen;
    JoinFacts *facts = &known->facts;
    facts->now_ms = loop_wall_ms(settings->loop);
    facts->nonce_seen = is_there(attempt, SEEN_NONCE);
    facts->cas = known->cas;
    for (uint32_t i = 0; i < settings->bundle.count && i < CERTIFICATES_MAX; i++) {
        known->cas[facts->ca_count++] = settings->bundle.items[i].pin;
    }
    if (is_there(attempt, SEEN_REVOCATIONS) &&
        !revocation_read(arena, seen[SEEN_REVOCATIONS].value, &known->revoked, err)) {
        return false;
    }
    if (is_there(attempt, SEEN_TOKEN)) {
        if (!token_record_read(arena, seen[SEEN_TOKEN].value, &known->token, err)) {
            return false;
        }
        facts->token = &known->token;
    }
    if (is_there(attempt, SEEN_NODE)) {
        if (!node_record_read(arena, seen[SEEN_NODE].value, &known->node, err)) {
            return false;
        }
        Error why;
        bool trusted = revocation_check(&known->revoked, str_from_c(known->node.name),
                                        str_from_c(known->node.serial), &why);
        facts->enrolled = &known->node.key;
        facts->enrolled_token = trusted ? str_from_c(known->node.token) : STR_EMPTY;
    }
    if (is_there(attempt, SEEN_JOINING)) {
        if (!joining_record_read(arena, seen[SEEN_JOINING].value, &known->joining, err)) {
            return false;
        }
        facts->approved = known->joining.is_approved ? &known->joining.key : NULL;
    }
    return true;
}

/* --- What follows ---------------------------------------------------------------------------- */

typedef struct Changes {
    StoreOp ops[OPS_MAX];
    uint32_t count;
} Changes;

static void put(Changes *changes, Str key, Str value, int64_t lease)
{
    BUG_IF(changes->count == OPS_MAX);
    changes->ops[changes->count++] =
        (StoreOp){ .kind = STORE_PUT, .key = key, .value = value, .lease = lease };
}

static void drop(Changes *changes, Str key)
{
    BUG_IF(changes->count == OPS_MAX);
    changes->ops[changes->count++] = (StoreOp){ .kind = STORE_DELETE, .key = key };
}

static bool was_given_before(const Attempt *attempt, const Known *known)
{
    bool given = is_there(attempt, SEEN_NODE);
    for (uint32_t i = 0; i < known->revoked.name_count; i++) {
        given = given || strcmp(known->revoked.names[i].node, attempt->request.name) == 0;
    }
    return given;
}

/* Of a name that was given before only this enrolment counts. */
static bool renew_name(Attempt *attempt, Known *known, const NodeRecord *node, Changes *changes,
                       Error *err)
{
    Arena *arena = &attempt->decision;
    if (!was_given_before(attempt, known)) {
        return true;
    }
    int64_t until_ms = node->not_after_ms > known->node.not_after_ms ? node->not_after_ms
                                                                     : known->node.not_after_ms;
    revocation_prune(&known->revoked, known->facts.now_ms);
    if (!revocation_set_name(arena, &known->revoked, str_from_c(node->name),
                             str_from_c(node->enrolment), until_ms, err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    revocation_print(&known->revoked, &text);
    put(changes, attempt->seen[SEEN_REVOCATIONS].key, buf_str(&text), 0);
    return true;
}

static bool issue(Attempt *attempt, Known *known, bool again, NodeRecord *node,
                  Certificate *certificate, Error *err)
{
    const AdmissionSettings *settings = &attempt->admission->settings;
    const JoinRequest *request = &attempt->request;
    NodeGrant grant = { .key = request->key,
                        .now_ms = known->facts.now_ms,
                        .life_ms = settings->node_life_ms };
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
    node->key = request->key_pin;
    snprintf(node->address, sizeof node->address, "%s", attempt->address);
    grant.enrolment = str_from_c(node->enrolment);
    if (!identity_make(settings->cluster, str_from_c(request->name), &grant.identity, err) ||
        !ca_issue_node(&attempt->decision, settings->ca, &grant, certificate, err)) {
        return false;
    }
    snprintf(node->serial, sizeof node->serial, "%s", certificate->serial);
    node->not_after_ms = certificate->not_after_ms;
    return true;
}

static Str chain_pem(Attempt *attempt, const Certificate *certificate)
{
    const AdmissionSettings *settings = &attempt->admission->settings;
    Buf text = buf_make_in(&attempt->decision, BUF_UNLIMITED);
    buf_put(&text, certificate_pem(&attempt->decision, certificate));
    for (uint32_t i = 1; i < settings->ca->chain.count; i++) {
        buf_put(&text, certificate_pem(&attempt->decision, &settings->ca->chain.items[i]));
    }
    return buf_str(&text);
}

static Str bundle_pem(Attempt *attempt)
{
    CertificateSet bundle = attempt->admission->settings.bundle;
    Buf text = buf_make_in(&attempt->decision, BUF_UNLIMITED);
    for (uint32_t i = 0; i < bundle.count; i++) {
        buf_put(&text, certificate_pem(&attempt->decision, &bundle.items[i]));
    }
    return buf_str(&text);
}

static bool admit(Attempt *attempt, Known *known, const JoinVerdict *verdict, Changes *changes,
                  Error *err)
{
    Arena *arena = &attempt->decision;
    NodeRecord node;
    Certificate certificate;
    if (!issue(attempt, known, verdict->again, &node, &certificate, err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    node_record_print(&node, &text);
    put(changes, attempt->seen[SEEN_NODE].key, buf_str(&text), 0);
    if (!verdict->again && !renew_name(attempt, known, &node, changes, err)) {
        return false;
    }
    if (attempt->request.has_token && !verdict->again) {
        Buf counted = buf_make_in(arena, BUF_UNLIMITED);
        known->token.uses++;
        token_record_print(&known->token, &counted);
        put(changes, attempt->seen[SEEN_TOKEN].key, buf_str(&counted), 0);
    }
    if (is_there(attempt, SEEN_JOINING)) {
        drop(changes, attempt->seen[SEEN_JOINING].key);
    }
    attempt->reply.cluster = attempt->admission->settings.cluster;
    attempt->reply.certificate = chain_pem(attempt, &certificate);
    attempt->reply.bundle = bundle_pem(attempt);
    return true;
}

static bool let_wait(Attempt *attempt, Known *known, Changes *changes, Error *err)
{
    if (!is_there(attempt, SEEN_JOINING) && attempt->pending >= PENDING_MAX) {
        return error_set(err, ERROR_LIMIT, "%d machines wait to be approved already", PENDING_MAX);
    }
    JoiningRecord record = { .key = attempt->request.key_pin, .asked_ms = known->facts.now_ms };
    snprintf(record.name, sizeof record.name, "%s", attempt->request.name);
    snprintf(record.address, sizeof record.address, "%s", attempt->address);
    Buf text = buf_make_in(&attempt->decision, BUF_UNLIMITED);
    joining_record_print(&record, &text);
    put(changes, attempt->seen[SEEN_JOINING].key, buf_str(&text), attempt->lease);
    return true;
}

/* --- Steps ----------------------------------------------------------------------------------- */

static void look(Attempt *attempt);

static void written(void *context, const StoreReply *reply, const Error *err)
{
    Attempt *attempt = context;
    if (!goes_on(attempt, err)) {
        return;
    }
    if (reply->succeeded) {
        end(attempt, &attempt->reply, NULL);
        return;
    }
    Error late;
    error_set(&late, ERROR_UNAVAILABLE, "too many machines are joining; try again");
    if (attempt->tries == TRIES_MAX) {
        fail(attempt, &late);
    } else {
        look(attempt);
    }
}

static bool write_changes(Attempt *attempt, const Changes *changes, Error *err)
{
    StoreCompare compares[SEEN_COUNT];
    for (uint32_t i = 0; i < attempt->seen_count; i++) {
        compares[i] = (StoreCompare){ .target = STORE_MOD_REVISION,
                                      .relation = STORE_EQUAL,
                                      .key = attempt->seen[i].key,
                                      .number = attempt->seen[i].revision };
    }
    StoreTxn txn = { .compares = compares,
                     .compare_count = attempt->seen_count,
                     .success = changes->ops,
                     .success_count = changes->count };
    return store_txn(attempt->admission->settings.store, &txn, written, attempt, err);
}

static void granted(void *context, const StoreLease *lease, const Error *err);

/* A nonce is kept until the clock alone refuses the request. Nothing is written for those who are
 * refused, so that nobody fills the store from outside. */
static void decide(Attempt *attempt)
{
    Known *known = ARENA_NEW(&attempt->decision, Known);
    Changes changes = { 0 };
    JoinVerdict verdict;
    Error err;
    bool ok = read_known(attempt, known, &err);
    if (ok) {
        join_decide(&attempt->request, &known->facts, &verdict);
        join_reply_make(&attempt->request, &verdict, known->facts.now_ms, &attempt->reply);
    }
    if (ok && verdict.result == JOIN_REFUSED) {
        end(attempt, &attempt->reply, NULL);
        return;
    }
    if (ok && attempt->lease == 0) {
        int64_t nonce_s = (verdict.remember_until_ms - known->facts.now_ms) / 1000 + 1;
        ok = store_lease_grant(attempt->admission->settings.store,
                               verdict.result == JOIN_PENDING ? PENDING_TTL_S : nonce_s, 0, granted,
                               attempt, &err);
    } else if (ok && verdict.result == JOIN_PENDING) {
        ok = let_wait(attempt, known, &changes, &err) && write_changes(attempt, &changes, &err);
    } else if (ok) {
        put(&changes, attempt->seen[SEEN_NONCE].key, STR("1"), attempt->lease);
        ok = admit(attempt, known, &verdict, &changes, &err) &&
             write_changes(attempt, &changes, &err);
    }
    if (!ok) {
        fail(attempt, &err);
    }
}

static void granted(void *context, const StoreLease *lease, const Error *err)
{
    Attempt *attempt = context;
    if (goes_on(attempt, err)) {
        attempt->lease = lease->id;
        decide(attempt);
    }
}

static void looked(void *context, const StoreReply *reply, const Error *err)
{
    Attempt *attempt = context;
    if (!goes_on(attempt, err)) {
        return;
    }
    arena_reset(&attempt->decision);
    for (uint32_t i = 0; i < attempt->seen_count; i++) {
        const StoreOpReply *op = &reply->ops[i];
        attempt->seen[i].revision = op->kv_count > 0 ? op->kvs[0].mod_revision : 0;
        attempt->seen[i].value =
            op->kv_count > 0 ? arena_copy(&attempt->decision, op->kvs[0].value) : STR_EMPTY;
    }
    attempt->pending = reply->ops[attempt->seen_count].count;
    decide(attempt);
}

static void look(Attempt *attempt)
{
    Str waiting = server_key_joining_all(&attempt->decision, attempt->admission->settings.prefix);
    StoreOp ops[SEEN_COUNT + 1];
    Error err;
    attempt->tries++;
    for (uint32_t i = 0; i < attempt->seen_count; i++) {
        ops[i] = (StoreOp){ .kind = STORE_RANGE, .key = attempt->seen[i].key };
    }
    ops[attempt->seen_count] = (StoreOp){ .kind = STORE_RANGE,
                                          .key = waiting,
                                          .end = store_prefix_end(&attempt->decision, waiting),
                                          .count_only = true };
    StoreTxn txn = { .success = ops, .success_count = attempt->seen_count + 1 };
    if (!store_txn(attempt->admission->settings.store, &txn, looked, attempt, &err)) {
        fail(attempt, &err);
    }
}

static void begin(Attempt *attempt)
{
    const AdmissionSettings *settings = &attempt->admission->settings;
    Arena *arena = &attempt->arena;
    Str name = str_from_c(attempt->request.name);
    attempt->seen[SEEN_NONCE].key =
        server_key_nonce(arena, settings->prefix, str_from_c(attempt->request.nonce));
    attempt->seen[SEEN_NODE].key = server_key_node(arena, settings->prefix, name);
    attempt->seen[SEEN_JOINING].key = server_key_joining(arena, settings->prefix, name);
    attempt->seen[SEEN_REVOCATIONS].key = server_key_revocations(arena, settings->prefix);
    attempt->seen_count = SEEN_TOKEN;
    if (attempt->request.has_token) {
        attempt->seen[SEEN_TOKEN].key =
            server_key_token(arena, settings->prefix, str_from_c(attempt->request.token_id));
        attempt->seen_count = SEEN_COUNT;
    }
    look(attempt);
}

void admission_decide(Admission *admission, Str text, const char *address, AdmissionDone *done,
                      void *context)
{
    Attempt *attempt = calloc(1, sizeof *attempt);
    Error err;
    if (attempt == NULL) {
        memory_exhausted(sizeof *attempt);
    }
    attempt->admission = admission;
    attempt->next = admission->attempts;
    if (admission->attempts != NULL) {
        admission->attempts->previous = attempt;
    }
    admission->attempts = attempt;
    arena_init(&attempt->arena, ARENA_UNLIMITED);
    arena_init(&attempt->decision, ARENA_UNLIMITED);
    snprintf(attempt->address, sizeof attempt->address, "%s", address);
    attempt->done = done;
    attempt->context = context;
    if (join_request_read(&attempt->arena, text, &attempt->request, &err)) {
        begin(attempt);
    } else {
        fail(attempt, &err);
    }
}

Admission *admission_new(const AdmissionSettings *settings)
{
    Admission *admission = calloc(1, sizeof *admission);
    if (admission == NULL) {
        memory_exhausted(sizeof *admission);
    }
    admission->settings = *settings;
    return admission;
}

/* The store still holds those under way: they end with its answer. */
void admission_free(Admission *admission)
{
    if (admission == NULL) {
        return;
    }
    for (Attempt *attempt = admission->attempts; attempt != NULL; attempt = attempt->next) {
        attempt->admission = NULL;
    }
    free(admission);
}
