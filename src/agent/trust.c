/* Renewal is driven by one timer and by notices from the server. Only one request is in progress at
 * a time; callers that require a renewal are completed with its result. */
#include "agent/trust.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "membership/node_state.h"
#include "pki/csr.h"
#include "pki/trust_notice.h"
#include "rpc/methods.h"
#include "service/pki_message.h"

enum {
    POLL_MAX_MS = 10 * 60 * 1000, /* the clock may be set in the meantime */
    /* interval between checks while disconnected; trust_connected usually comes first */
    UNCONNECTED_MS = 60 * 1000,
    RETRY_MS = 5000, /* delay after the disk or the outbox failed */
    CALL_MS = 30000,
};

/* A request for the next certificate, which is always completed; the trust may be freed before
 * that. */
typedef struct RenewalCall {
    Trust *trust; /* NULL once the trust is freed */
    P256Private *key;
    TrustDone *done; /* NULL: no caller is waiting */
    void *context;
} RenewalCall;

struct Trust {
    TrustOptions options;
    TlsContext *tls;
    Arena credential_arena;
    Credential credential;
    Arena bundle_arena;
    Str bundle_text;
    CertificateSet bundle;
    bool has_rules; /* the following fields are from a notice */
    Pin issuer;
    int64_t since_ms, spread_ms;
    Buf notice; /* a notice that has not been applied yet */
    LoopTimer timer, report_timer, notice_timer;
    RenewalCall *renewing;
    uint32_t failures;
    Error why;
    int64_t retry_ms; /* loop time; 0: no failure */
};

static RenewalPlan plan_of(const Trust *trust)
{
    RenewalRules rules = { .issuer = trust->has_rules ? &trust->issuer : NULL,
                           .since_ms = trust->since_ms,
                           .spread_ms = trust->spread_ms };
    return renewal_plan(&trust->credential.chain.items[0], &rules,
                        loop_wall_ms(trust->options.loop));
}

/* --- Reports --------------------------------------------------------------------------------- */

static void report_timer_expired(void *context)
{
    Trust *trust = context;
    TrustReport report;
    Error err;
    AUTO_CLEAR(Buf) text = buf_make(TRUST_REPORT_MAX);
    trust_report_make(&trust->credential.chain.items[0], trust->bundle,
                      loop_wall_ms(trust->options.loop), &report);
    trust_report_print(&report, &text);
    if (!trust->options.report(trust->options.context, buf_str(&text), &err)) {
        loop_timer_start(&trust->report_timer, RETRY_MS);
    }
}

static void report_soon(Trust *trust)
{
    loop_timer_start(&trust->report_timer, 0);
}

/* --- Files and TLS --------------------------------------------------------------------------- */

static bool make_tls(Trust *trust, const Credential *credential, Str bundle, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(KeyText) key = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    if (!p256_private_text(credential->key, &key, err)) {
        return false;
    }
    Buf chain = buf_make_in(&arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < credential->chain.count; i++) {
        buf_put(&chain, certificate_pem(&arena, &credential->chain.items[i]));
    }
    TlsMaterial material = { .certificate = buf_str(&chain),
                             .key = str_from(key.text, key.len),
                             .ca = bundle };
    if (trust->tls != NULL) {
        return tls_context_reload(trust->tls, &material, err);
    }
    TlsOptions options = { .role = TLS_CLIENT,
                           .protocol = "h2",
                           .verify = trust->options.verify,
                           .verify_context = trust->options.verify_context };
    return tls_context_new(trust->options.loop, &options, &material, &trust->tls, err);
}

static bool read_bundle(Arena *arena, Str text, CertificateSet *out, Error *err)
{
    Certificate *cas;
    if (!certificates_from_pem(arena, text, &cas, &out->count, err)) {
        return false;
    }
    out->items = cas;
    for (uint32_t i = 0; i < out->count; i++) {
        if (!cas[i].is_ca) {
            return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a CA",
                             STR_ARG(cas[i].subject));
        }
    }
    return true;
}

/* Replaces the trusted CAs. */
static bool apply_bundle(Trust *trust, Str text, Error *err)
{
    if (str_eq(text, trust->bundle_text)) {
        return true;
    }
    Arena arena;
    CertificateSet bundle;
    arena_init(&arena, ARENA_UNLIMITED);
    Str copy = arena_copy(&arena, text);
    if (!read_bundle(&arena, copy, &bundle, err) ||
        !directory_write(trust->options.directory, AGENT_BUNDLE, copy, true, err) ||
        !make_tls(trust, &trust->credential, copy, err)) {
        arena_clear(&arena);
        return false;
    }
    arena_clear(&trust->bundle_arena);
    trust->bundle_arena = arena;
    trust->bundle_text = copy;
    trust->bundle = bundle;
    log_info("trusted CAs changed", LOG_INT("count", bundle.count));
    report_soon(trust);
    return true;
}

/* The response must match the request: this
 * name, this key, valid now, from a trusted CA. */
static bool check_certificate(const Trust *trust, const P256Private *key, CertificateSet chain,
                              Error *err)
{
    const Certificate *credential = &trust->credential.chain.items[0], *next = &chain.items[0];
    P256Public public;
    if (!p256_public_of(key, &public, err)) {
        return false;
    }
    if (!next->has_identity || strcmp(next->identity.cluster, credential->identity.cluster) != 0 ||
        strcmp(next->identity.node, credential->identity.node) != 0 ||
        !p256_public_equal(&public, &next->key)) {
        return error_set(err, ERROR_DENIED,
                         "the server answered with a certificate for a different node");
    }
    return certificate_verify(chain, trust->bundle, USE_CLIENT, loop_wall_ms(trust->options.loop),
                              err);
}

static bool apply_certificate(Trust *trust, P256Private **key, Str text, Error *err)
{
    Arena arena;
    Certificate *items;
    CertificateSet chain = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    bool ok = certificates_from_pem(&arena, arena_copy(&arena, text), &items, &chain.count, err);
    if (ok) {
        chain.items = items;
        ok = check_certificate(trust, *key, chain, err) &&
             credential_save(trust->options.directory, AGENT_CREDENTIAL, *key, chain, err);
    }
    Credential next = { .key = *key, .chain = chain };
    if (!ok || !make_tls(trust, &next, trust->bundle_text, err)) {
        arena_clear(&arena);
        return false;
    }
    (void)TAKE(*key);
    credential_clear(&trust->credential);
    arena_clear(&trust->credential_arena);
    trust->credential = next;
    trust->credential_arena = arena;
    log_info("certificate renewed", LOG_C("serial", chain.items[0].serial));
    report_soon(trust);
    return true;
}

/* --- Renewing -------------------------------------------------------------------------------- */

static void check(Trust *trust);

static void renewal_end(RenewalCall *renewing, const Error *err)
{
    if (renewing->done != NULL && renewing->trust != NULL) {
        renewing->done(renewing->context, err);
    }
    p256_private_free(renewing->key);
    free(renewing);
}

static void renew_failed(Trust *trust, const Error *err)
{
    const Certificate *credential = &trust->credential.chain.items[0];
    Loop *loop = trust->options.loop;
    trust->why = *err;
    int64_t wait_ms =
        renewal_retry_ms(credential, trust->failures++, loop_wall_ms(loop), loop_random(loop));
    trust->retry_ms = loop_now_ms(loop) + wait_ms;
    log_warning("cannot renew the certificate", LOG_C("error", err->text),
                LOG_INT("retry_in_ms", wait_ms));
}

static bool apply_reply(Trust *trust, RenewalCall *renewing, Str response, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    RenewReply reply;
    return renew_reply_decode(&arena, response, &reply, err) &&
           apply_bundle(trust, reply.bundle, err) &&
           apply_certificate(trust, &renewing->key, reply.certificate, err);
}

static void response_received(void *context, GrpcStatus status, Str text, Str response)
{
    RenewalCall *renewing = context;
    Trust *trust = renewing->trust;
    Error err;
    if (trust == NULL) {
        renewal_end(renewing, NULL);
        return;
    }
    trust->renewing = NULL;
    bool ok = status == GRPC_OK
                  ? apply_reply(trust, renewing, response, &err)
                  : error_set(&err, grpc_status_kind(status), "%" STR_FMT, STR_ARG(text));
    if (ok) {
        trust->failures = 0;
        trust->retry_ms = 0;
    } else {
        renew_failed(trust, &err);
    }
    check(trust);
    renewal_end(renewing, ok ? NULL : &err);
}

static bool start_renewal(Trust *trust, GrpcClient *client, TrustDone *done, void *context,
                          Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO(P256Private) *key = NULL;
    Str csr;
    if (!p256_private_make(&key, err) || !csr_make(&arena, key, &csr, err)) {
        return false;
    }
    Buf request = buf_make_in(&arena, BUF_UNLIMITED);
    renew_request_encode(csr, &request);
    RenewalCall *renewing = memory_new(sizeof *renewing);
    *renewing = (RenewalCall){ trust, TAKE(key), done, context };
    if (!grpc_client_unary(client, method_rows[METHOD_PKI_RENEW].path, buf_str(&request), CALL_MS,
                           response_received, renewing, err)) {
        p256_private_free(renewing->key);
        free(renewing);
        return false;
    }
    trust->renewing = renewing;
    return true;
}

static int64_t min_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Renews if due, and schedules the next check. */
static void check(Trust *trust)
{
    Loop *loop = trust->options.loop;
    RenewalPlan plan = plan_of(trust);
    Error err;
    if (trust->renewing != NULL) {
        return; /* the response checks again */
    }
    if (plan.state == RENEWAL_WAIT) {
        int64_t remaining_ms = plan.due_ms - loop_wall_ms(loop);
        loop_timer_start(&trust->timer, min_ms(remaining_ms > 0 ? remaining_ms : 1, POLL_MAX_MS));
        return;
    }
    if (trust->retry_ms > loop_now_ms(loop)) {
        loop_timer_start(&trust->timer, trust->retry_ms - loop_now_ms(loop));
        return;
    }
    GrpcClient *client = trust->options.client(trust->options.context);
    if (client == NULL) {
        loop_timer_start(&trust->timer, UNCONNECTED_MS);
    } else if (!start_renewal(trust, client, NULL, NULL, &err)) {
        renew_failed(trust, &err);
        loop_timer_start(&trust->timer, trust->retry_ms - loop_now_ms(loop));
    }
}

static void timer_expired(void *context)
{
    check(context);
}

void trust_resend_report(Trust *trust)
{
    report_soon(trust);
}

void trust_connected(Trust *trust)
{
    loop_timer_start(&trust->timer, 0);
}

void trust_renew(Trust *trust, TrustDone *done, void *context)
{
    GrpcClient *client = trust->options.client(trust->options.context);
    Error err;
    if (trust->renewing != NULL) {
        error_set(&err, ERROR_CONFLICT, "the certificate is already being renewed");
        done(context, &err);
    } else if (client == NULL) {
        error_set(&err, ERROR_UNAVAILABLE, "not connected to a server");
        done(context, &err);
    } else if (!start_renewal(trust, client, done, context, &err)) {
        done(context, &err);
    }
}

/* The disk may have space later. */
static void retry_later(Trust *trust, Str value, const Error *err)
{
    log_warning("cannot use the CAs that the server sent", LOG_C("error", err->text));
    if (err->kind != ERROR_INVALID && err->kind != ERROR_LIMIT) {
        buf_reset(&trust->notice);
        buf_put(&trust->notice, value);
        loop_timer_start(&trust->notice_timer, RETRY_MS);
    }
}

static void apply_pending_notice(void *context)
{
    Trust *trust = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    trust_notice(trust, arena_copy(&arena, buf_str(&trust->notice)));
}

void trust_notice(Trust *trust, Str value)
{
    loop_timer_stop(&trust->notice_timer);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    TrustNotice notice;
    CertificateSet bundle;
    Error err;
    if (!trust_notice_read(&arena, value, &notice, &bundle, &err) ||
        !apply_bundle(trust, notice.bundle, &err)) {
        retry_later(trust, value, &err);
        return;
    }
    trust->has_rules = true;
    trust->issuer = notice.issuer;
    trust->since_ms = notice.since_ms;
    trust->spread_ms = notice.spread_ms;
    check(trust);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static bool read_files(Trust *trust, Error *err)
{
    const Directory *directory = trust->options.directory;
    if (!credential_load(directory, AGENT_CREDENTIAL, &trust->credential_arena, &trust->credential,
                         err) ||
        !directory_read(directory, &trust->bundle_arena, AGENT_BUNDLE, AGENT_BUNDLE_MAX,
                        &trust->bundle_text, err)) {
        return false;
    }
    if (!trust->credential.chain.items[0].has_identity) {
        return error_set(err, ERROR_INVALID, "%s/" AGENT_CREDENTIAL " is not a node certificate",
                         directory->path);
    }
    return read_bundle(&trust->bundle_arena, trust->bundle_text, &trust->bundle, err) ||
           error_wrap(err, "%s/" AGENT_BUNDLE, directory->path);
}

bool trust_open(const TrustOptions *options, Trust **out, Error *err)
{
    Trust *trust = memory_new(sizeof *trust);
    trust->options = *options;
    arena_init(&trust->credential_arena, ARENA_UNLIMITED);
    arena_init(&trust->bundle_arena, ARENA_UNLIMITED);
    loop_timer_init(&trust->timer, options->loop, timer_expired, trust);
    loop_timer_init(&trust->report_timer, options->loop, report_timer_expired, trust);
    loop_timer_init(&trust->notice_timer, options->loop, apply_pending_notice, trust);
    trust->notice = buf_make(TRUST_NOTICE_MAX);
    if (!read_files(trust, err) || !make_tls(trust, &trust->credential, trust->bundle_text, err)) {
        trust_free(trust);
        return false;
    }
    report_soon(trust);
    loop_timer_start(&trust->timer, 0);
    *out = trust;
    return true;
}

void trust_free(Trust *trust)
{
    if (trust == NULL) {
        return;
    }
    if (trust->renewing != NULL) {
        trust->renewing->trust = NULL;
    }
    loop_timer_stop(&trust->timer);
    loop_timer_stop(&trust->report_timer);
    loop_timer_stop(&trust->notice_timer);
    buf_clear(&trust->notice);
    tls_context_free(trust->tls);
    credential_clear(&trust->credential);
    arena_clear(&trust->credential_arena);
    arena_clear(&trust->bundle_arena);
    free(trust);
}

TlsContext *trust_tls(const Trust *trust)
{
    return trust->tls;
}

TrustStatus trust_status(const Trust *trust)
{
    return (TrustStatus){ .certificate = &trust->credential.chain.items[0],
                          .bundle = trust->bundle,
                          .plan = plan_of(trust),
                          .renewing = trust->renewing != NULL,
                          .failures = trust->failures,
                          .why = trust->failures > 0 ? &trust->why : NULL };
}
