/* Renewal of a server's own certificates. A timer fires when the first one is due; the clock is
 * checked again every few minutes, because it may be set. */
#include "membership/own_certificates.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "pki/ca.h"

enum {
    CHECK_MAX_MS =
        10 * 60 * 1000, /* maximum interval, because the clock may be changed at any time */
};

typedef struct OwnCertificate {
    Arena arena;
    Credential credential;
    uint32_t failures;
    int64_t retry_ms; /* loop time of the next attempt after a failure; 0: there was none */
} OwnCertificate;

struct OwnCertificates {
    OwnCertificatesOptions options;
    OwnCertificate items[OWN_KINDS];
    LoopTimer timer;
};

static const char *const file_names[OWN_KINDS] = { OWN_NODE, OWN_SERVING };

const Credential *own_certificates_credential(const OwnCertificates *own, OwnCertificateKind kind)
{
    return &own->items[kind].credential;
}

static const Certificate *certificate_of(const OwnCertificates *own, OwnCertificateKind kind)
{
    return &own->items[kind].credential.chain.items[0];
}

RenewalPlan own_certificates_plan(const OwnCertificates *own, OwnCertificateKind kind)
{
    RenewalRules rules = { .issuer = &own->options.cas->issuer->chain.items[0].pin };
    return renewal_plan(certificate_of(own, kind), &rules, loop_wall_ms(own->options.loop));
}

bool own_certificates_are_from(const OwnCertificates *own, const Pin *ca)
{
    return certificate_names_issuer(certificate_of(own, OWN_KIND_NODE), ca) &&
           certificate_names_issuer(certificate_of(own, OWN_KIND_SERVING), ca);
}

/* --- Renewal --------------------------------------------------------------------------------- */

static bool issue(const OwnCertificates *own, OwnCertificateKind kind, Arena *arena,
                  const P256Public *key, Certificate *out, Error *err)
{
    const OwnCertificatesOptions *options = &own->options;
    const Credential *ca = options->cas->issuer;
    int64_t now_ms = loop_wall_ms(options->loop);
    if (kind == OWN_KIND_SERVING) {
        ServingCertificateSpec grant = { .names = options->names,
                                         .name_count = options->name_count,
                                         .key = *key,
                                         .now_ms = now_ms,
                                         .lifetime_ms = options->serving_lifetime_ms };
        return ca_issue_serving(arena, ca, &grant, out, err);
    }
    const Certificate *present = certificate_of(own, kind);
    NodeCertificateSpec grant = { .identity = present->identity,
                                  .enrollment = str_from_c(present->enrollment),
                                  .key = *key,
                                  .now_ms = now_ms,
                                  .lifetime_ms = options->node_lifetime_ms };
    return ca_issue_node(arena, ca, &grant, out, err);
}

/* Saved before it is used, so that a certificate that peers have seen still exists after a
 * crash. */
static bool renew(OwnCertificates *own, OwnCertificateKind kind, Error *err)
{
    OwnCertificate *item = &own->items[kind];
    AUTO(P256Private) *key = NULL;
    P256Public public;
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Certificate *issued = ARENA_NEW(&arena, Certificate);
    if (!p256_private_make(&key, err) || !p256_public_of(key, &public, err) ||
        !issue(own, kind, &arena, &public, issued, err) ||
        !credential_save(own->options.directory, file_names[kind], key,
                         (CertificateSet){ issued, 1 }, err)) {
        arena_clear(&arena);
        return false;
    }
    credential_clear(&item->credential);
    arena_clear(&item->arena);
    item->arena = arena;
    item->credential = (Credential){ .key = TAKE(key), .chain = { issued, 1 } };
    item->failures = 0;
    item->retry_ms = 0;
    log_info("server certificate renewed", LOG_C("file", file_names[kind]),
             LOG_C("serial", issued->serial));
    return true;
}

/* Milliseconds until this certificate must be checked again. */
static int64_t check_one(OwnCertificates *own, OwnCertificateKind kind)
{
    OwnCertificate *item = &own->items[kind];
    RenewalPlan plan = own_certificates_plan(own, kind);
    int64_t now_ms = loop_wall_ms(own->options.loop);
    Error err;
    if (plan.state == RENEWAL_WAIT) {
        return plan.due_ms - now_ms;
    }
    /* Not valid yet: the clock was ahead when it was created. A new one is valid immediately. */
    if (item->retry_ms > loop_now_ms(own->options.loop)) {
        return item->retry_ms - loop_now_ms(own->options.loop);
    }
    if (renew(own, kind, &err)) {
        own->options.changed(own->options.context, kind);
        return own_certificates_plan(own, kind).due_ms - now_ms;
    }
    int64_t wait_ms = renewal_retry_ms(certificate_of(own, kind), item->failures++, now_ms,
                                       loop_random(own->options.loop));
    item->retry_ms = loop_now_ms(own->options.loop) + wait_ms;
    log_warning("cannot renew a server certificate", LOG_C("file", file_names[kind]),
                LOG_C("error", err.text));
    return wait_ms;
}

static void timer_expired(void *context)
{
    OwnCertificates *own = context;
    int64_t wait_ms = CHECK_MAX_MS;
    for (OwnCertificateKind kind = 0; kind < OWN_KINDS; kind++) {
        int64_t check_ms = check_one(own, kind);
        wait_ms = check_ms < wait_ms ? check_ms : wait_ms;
    }
    loop_timer_start(&own->timer, wait_ms > 0 ? wait_ms : 1);
}

void own_certificates_check(OwnCertificates *own)
{
    loop_timer_start(&own->timer, 0);
}

bool own_certificates_renew(OwnCertificates *own, OwnCertificateKind kind, Error *err)
{
    if (!renew(own, kind, err)) {
        return false;
    }
    own->options.changed(own->options.context, kind);
    own_certificates_check(own);
    return true;
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

/* The CA is here, so lost keys can be replaced. */
static bool add_hint(Error *err)
{
    char what[sizeof err->text];
    memcpy(what, err->text, sizeof what);
    return error_set(err, err->kind,
                     "%.380s; remove it; the server creates a new one when it starts", what);
}

bool own_certificates_open(const OwnCertificatesOptions *options, OwnCertificates **out, Error *err)
{
    OwnCertificates *own = memory_new(sizeof *own);
    bool ok = true;
    own->options = *options;
    loop_timer_init(&own->timer, options->loop, timer_expired, own);
    for (OwnCertificateKind kind = 0; kind < OWN_KINDS; kind++) {
        arena_init(&own->items[kind].arena, ARENA_UNLIMITED);
    }
    for (OwnCertificateKind kind = 0; kind < OWN_KINDS && ok; kind++) {
        OwnCertificate *item = &own->items[kind];
        ok = credential_load(options->directory, file_names[kind], &item->arena, &item->credential,
                             err) ||
             add_hint(err);
    }
    if (ok && !certificate_of(own, OWN_KIND_NODE)->has_identity) {
        ok = error_set(err, ERROR_INVALID, "%s/" OWN_NODE " is not a node certificate",
                       options->directory->path);
    }
    if (!ok) {
        own_certificates_free(own);
        return false;
    }
    *out = own;
    return true;
}

void own_certificates_free(OwnCertificates *own)
{
    if (own == NULL) {
        return;
    }
    loop_timer_stop(&own->timer);
    for (OwnCertificateKind kind = 0; kind < OWN_KINDS; kind++) {
        credential_clear(&own->items[kind].credential);
        arena_clear(&own->items[kind].arena);
    }
    free(own);
}
