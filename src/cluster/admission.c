#include "cluster/admission.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/node_record.h"
#include "pki/ca.h"
#include "pki/revocation.h"

enum {
    PENDING_MAX = 1000 /* machines that wait for approval */
};

typedef struct Attempt Attempt;

struct Admission {
    AdmissionSettings settings;
    Attempt *attempts;
};

/* What is read. */
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
    Arena arena;
    JoinRequest request;
    char address[ADDRESS_TEXT_SIZE];
    Change *change;
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
    RevocationList revoked;
    Pin cas[CERTIFICATES_MAX];
    JoinFacts facts;
} Known;

static bool read_known(const Attempt *attempt, Change *change, Known *known, Error *err)
{
    const AdmissionSettings *settings = &attempt->admission->settings;
    Arena *arena = change_arena(change);
    JoinFacts *facts = &known->facts;
    CertificateSet cas = settings->certify.cas->trusted;
    facts->now_ms = loop_wall_ms(settings->certify.at.loop);
    facts->nonce_seen = change_has(change, SEEN_NONCE);
    facts->cas = known->cas;
    for (uint32_t i = 0; i < cas.count && i < CERTIFICATES_MAX; i++) {
        known->cas[facts->ca_count++] = cas.items[i].pin;
    }
    if (change_has(change, SEEN_REVOCATIONS) &&
        !revocation_read(arena, change_value(change, SEEN_REVOCATIONS), &known->revoked, err)) {
        return false;
    }
    if (change_has(change, SEEN_TOKEN)) {
        if (!token_record_read(arena, change_value(change, SEEN_TOKEN), &known->token, err)) {
            return false;
        }
        facts->token = &known->token;
    }
    if (change_has(change, SEEN_NODE)) {
        if (!node_record_read(arena, change_value(change, SEEN_NODE), &known->node, err)) {
            return false;
        }
        Error why;
        bool trusted = revocation_check(&known->revoked, str_from_c(known->node.name),
                                        str_from_c(known->node.serial), &why);
        facts->enrolled = &known->node.key;
        facts->enrolled_token = trusted ? str_from_c(known->node.token) : STR_EMPTY;
        facts->enrolled_stands = trusted && known->node.token[0] == '\0' &&
                                 !known->node.is_server && known->node.not_after_ms > facts->now_ms;
    }
    if (change_has(change, SEEN_JOINING)) {
        if (!joining_record_read(arena, change_value(change, SEEN_JOINING), &known->joining, err)) {
            return false;
        }
        facts->approved = known->joining.is_approved ? &known->joining.key : NULL;
    }
    return true;
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
        change_put(change, change_key(change, SEEN_TOKEN), buf_str(&counted), 0);
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

static bool let_wait(const Attempt *attempt, Change *change, const Known *known, Error *err)
{
    if (!change_has(change, SEEN_JOINING) && change_count(change, 0) >= PENDING_MAX) {
        return error_set(err, ERROR_LIMIT, "%d machines wait to be approved already", PENDING_MAX);
    }
    JoiningRecord record = { .key = attempt->request.key_pin, .asked_ms = known->facts.now_ms };
    snprintf(record.name, sizeof record.name, "%s", attempt->request.name);
    snprintf(record.address, sizeof record.address, "%s", attempt->address);
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    joining_record_print(&record, &text);
    change_put(change, change_key(change, SEEN_JOINING), buf_str(&text), JOINING_TTL_S);
    return true;
}

/* Nothing is written for those who are refused, so that nobody fills the store from outside. A nonce
 * is kept until the clock alone refuses the request. */
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
    if (verdict.result == JOIN_PENDING) {
        return let_wait(attempt, change, known, err);
    }
    if (verdict.result == JOIN_ADMITTED) {
        int64_t ttl_s = (verdict.remember_until_ms - known->facts.now_ms) / 1000 + 1;
        change_put(change, change_key(change, SEEN_NONCE), STR("1"), ttl_s);
        return admit(attempt, change, known, &verdict, err);
    }
    return true;
}

/* Those who wait ask again and again, and are told of by who lists them. */
static void tell(const Attempt *attempt)
{
    if (attempt->reply.result == JOIN_REFUSED) {
        log_warning("a machine is refused", LOG_C("node", attempt->request.name),
                    LOG_C("at", attempt->address), LOG_C("why", attempt->reply.text));
    } else if (attempt->reply.result == JOIN_ADMITTED) {
        log_info("a machine has joined", LOG_C("node", attempt->request.name),
                 LOG_C("at", attempt->address));
    }
}

static void decided(void *context, Change *change, const Error *err)
{
    Attempt *attempt = context;
    if (err == NULL) {
        tell(attempt);
    }
    attempt->done(attempt->context, err == NULL ? &attempt->reply : NULL, err);
    attempt_free(attempt);
}

static void begin(Attempt *attempt)
{
    const CertifySettings *settings = &attempt->admission->settings.certify;
    Arena *arena = &attempt->arena;
    Str prefix = settings->at.prefix, name = str_from_c(attempt->request.name);
    Str keys[SEEN_COUNT] = {
        [SEEN_NONCE] = cluster_key_nonce(arena, prefix, str_from_c(attempt->request.nonce)),
        [SEEN_NODE] = cluster_key_node(arena, prefix, name),
        [SEEN_JOINING] = cluster_key_joining(arena, prefix, name),
        [SEEN_REVOCATIONS] = cluster_key_revocations(arena, prefix),
    };
    if (attempt->request.has_token) {
        keys[SEEN_TOKEN] = cluster_key_token(arena, prefix, str_from_c(attempt->request.token_id));
    }
    change_start(&(ChangeSpec){ .store = settings->at.store,
                                .keys = keys,
                                .key_count = attempt->request.has_token ? SEEN_COUNT : SEEN_TOKEN,
                                .counted = { cluster_key_joining_all(arena, prefix) },
                                .decide = decide,
                                .done = decided,
                                .context = attempt },
                 &attempt->change);
}

void admission_decide(Admission *admission, Str text, const char *address, AdmissionDone *done,
                      void *context)
{
    Attempt *attempt = calloc(1, sizeof *attempt);
    Error err;
    if (attempt == NULL) {
        memory_exhausted(sizeof *attempt);
    }
    arena_init(&attempt->arena, ARENA_UNLIMITED);
    if (!join_request_read(&attempt->arena, text, &attempt->request, &err)) {
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
    begin(attempt);
}

Admission *admission_new(const AdmissionSettings *settings)
{
    Admission *admission = memory_new(sizeof *admission);
    admission->settings = *settings;
    return admission;
}

void admission_free(Admission *admission)
{
    if (admission == NULL) {
        return;
    }
    while (admission->attempts != NULL) {
        change_abandon(admission->attempts->change);
        attempt_free(admission->attempts);
    }
    free(admission);
}
