/* /v1/pki */
#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/json_out.h"
#include "membership/revoke.h"
#include "membership/trust_listing.h"
#include "pki/ca.h"

/* --- As JSON --------------------------------------------------------------------------------- */

static void put_pin(Buf *out, const char *name, const Pin *pin)
{
    char text[PIN_TEXT + 1];
    pin_text(pin, text);
    json_out_text(out, name, str_from_c(text));
}

static void put_waits(Buf *out, const Authority *authority)
{
    uint32_t count;
    const RotationWait *waits = authority_waits(authority, &count);
    json_out_open(out, "waits", '[');
    for (uint32_t i = 0; i < count; i++) {
        json_out_open(out, NULL, '{');
        json_out_text(out, "node", waits[i].node);
        json_out_text(out, "what", waits[i].what);
        json_out_bool(out, "silent", waits[i].silent);
        json_out_time(out, "seen", waits[i].reported_ms);
        json_out_close(out, '}');
    }
    json_out_close(out, ']');
}

static void put_rotation(Buf *out, const Authority *authority)
{
    const Rotation *rotation = authority_rotation(authority);
    bool is_steady = rotation->state == ROTATION_STEADY;
    json_out_open(out, "rotation", '{');
    json_out_text(out, "state", str_from_c(rotation_state_name(rotation->state)));
    put_pin(out, "present", &rotation->present);
    if (is_steady) {
        json_out_null(out, "next");
    } else {
        put_pin(out, "next", &rotation->next);
    }
    /* 0: the CA was never rotated. */
    if (rotation->since_ms == 0) {
        json_out_null(out, "since");
    } else {
        json_out_time(out, "since", rotation->since_ms);
    }
    put_waits(out, authority);
    if (authority_unreadable(authority) != NULL) {
        json_out_text(out, "error", str_from_c(authority_unreadable(authority)));
    }
    json_out_close(out, '}');
}

/* Report the CA as due early: a rotation takes time, and everything fails when the CA expires. */
#define CA_DUE_MS (365 * PKI_DAY_MS)

static const char *ca_state(const Certificate *ca, int64_t now_ms)
{
    return now_ms >= ca->not_after_ms               ? "expired"
           : now_ms >= ca->not_after_ms - CA_DUE_MS ? "due"
                                                    : "good";
}

static void put_cas(Buf *out, const Authority *authority, int64_t now_ms)
{
    const CaSet *cas = authority_cas(authority);
    const Pin *issuer = &cas->issuer->chain.items[0].pin;
    json_out_open(out, "cas", '[');
    for (uint32_t i = 0; i < cas->trusted.count; i++) {
        const Certificate *node = &cas->trusted.items[i];
        json_out_open(out, NULL, '{');
        put_pin(out, "key", &node->pin);
        json_out_text(out, "serial", str_from_c(node->serial));
        json_out_time(out, "expires", node->not_after_ms);
        json_out_bool(out, "signs", pin_equal(&node->pin, issuer));
        json_out_text(out, "state", str_from_c(ca_state(node, now_ms)));
        json_out_close(out, '}');
    }
    json_out_close(out, ']');
}

static void put_issuer(Buf *out, const Certificate *certificate, CertificateSet cas)
{
    for (uint32_t i = 0; i < cas.count; i++) {
        if (certificate_names_issuer(certificate, &cas.items[i].pin)) {
            put_pin(out, "issuer", &cas.items[i].pin);
            return;
        }
    }
    json_out_null(out, "issuer");
}

static const char *state_name(RenewalState state)
{
    static const char *const names[] = { [RENEWAL_WAIT] = "good",
                                         [RENEWAL_DUE] = "due",
                                         [RENEWAL_EXPIRED] = "expired",
                                         [RENEWAL_EARLY] = "early" };
    return names[state];
}

static void put_server_certificate(Buf *out, const char *name, const ApiSettings *settings,
                                   OwnCertificateKind kind)
{
    const Certificate *certificate =
        &own_certificates_credential(settings->own, kind)->chain.items[0];
    RenewalPlan plan = own_certificates_plan(settings->own, kind);
    json_out_open(out, name, '{');
    json_out_text(out, "serial", str_from_c(certificate->serial));
    put_issuer(out, certificate, authority_cas(settings->authority)->trusted);
    json_out_time(out, "expires", certificate->not_after_ms);
    json_out_time(out, "renews", plan.due_ms);
    json_out_text(out, "state", str_from_c(state_name(plan.state)));
    json_out_close(out, '}');
}

/* A node that missed a rotation may still use a certificate of an old CA. */
static bool has_untrusted_issuer(const NodeTrust *node, CertificateSet cas)
{
    if (!node->has_report || !node->report.has_issuer) {
        return false;
    }
    for (uint32_t i = 0; i < cas.count; i++) {
        if (pin_equal(&cas.items[i].pin, &node->report.issuer)) {
            return false;
        }
    }
    return true;
}

/* Nodes renew their certificates between two thirds and three quarters of their lifetime. A
 * certificate older than that is due, since something prevents its renewal. */
static const char *node_state(const NodeTrust *node, CertificateSet cas, int64_t lifetime_ms,
                              int64_t now_ms)
{
    const NodeRecord *record = &node->node->record;
    return node->node->error.len > 0                          ? "unreadable"
           : node->is_revoked                                 ? "revoked"
           : has_untrusted_issuer(node, cas)                  ? "untrusted"
           : now_ms >= record->not_after_ms                   ? "expired"
           : now_ms >= record->not_after_ms - lifetime_ms / 4 ? "due"
                                                              : "good";
}

static void put_node(Buf *out, const NodeTrust *node, CertificateSet cas, int64_t lifetime_ms,
                     int64_t now_ms)
{
    const NodeRecord *record = &node->node->record;
    json_out_open(out, NULL, '{');
    json_out_text(out, "name", str_from_c(record->name));
    json_out_bool(out, "server", record->is_server);
    json_out_bool(out, "alive", node->node->is_alive);
    bool is_readable = node->node->error.len == 0;
    if (is_readable) {
        json_out_text(out, "serial", str_from_c(record->serial));
    } else {
        json_out_null(out, "serial");
    }
    if (node->has_report && node->report.has_issuer) {
        put_pin(out, "issuer", &node->report.issuer);
    } else {
        json_out_null(out, "issuer");
    }
    if (is_readable) {
        json_out_time(out, "expires", record->not_after_ms);
    } else {
        json_out_null(out, "expires");
        json_out_text(out, "error", node->node->error);
    }
    json_out_text(out, "state", str_from_c(node_state(node, cas, lifetime_ms, now_ms)));
    json_out_bool(out, "left_behind", node->is_excluded);
    json_out_close(out, '}');
}

static void respond_pki(ApiCall *call, const TrustListing *listing)
{
    const ApiSettings *settings = call_settings(call);
    int64_t now_ms = loop_wall_ms(settings->cluster_store.loop);
    int64_t lifetime_ms = settings->certify->node_lifetime_ms == 0
                              ? NODE_LIFETIME_MS
                              : settings->certify->node_lifetime_ms;
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.pki/1");
    put_rotation(&json, settings->authority);
    put_cas(&json, settings->authority, now_ms);
    put_server_certificate(&json, "serving", settings, OWN_KIND_SERVING);
    put_server_certificate(&json, "server", settings, OWN_KIND_NODE);
    json_out_open(&json, "nodes", '[');
    for (uint32_t i = 0; i < listing->count; i++) {
        put_node(&json, &listing->nodes[i], authority_cas(settings->authority)->trusted,
                 lifetime_ms, now_ms);
    }
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

/* --- Handlers -------------------------------------------------------------------------------- */

/* Returns false after responding. */
static bool has_pki(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    if (settings->authority == NULL || settings->own == NULL || settings->certify == NULL) {
        call_refuse(call, 503, "this server currently has no CA");
        return false;
    }
    return true;
}

void pki_get(ApiCall *call)
{
    TrustListing listing;
    Error err;
    if (!has_pki(call)) {
        return;
    }
    if (trust_list(&call->arena, call_store(call), &listing, &err)) {
        respond_pki(call, &listing);
    } else {
        call_fail(call, &err);
    }
}

static void on_issued(void *context, const Certified *certified, const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.certificate/1");
    json_out_text(&json, "cluster", str_from_c(certified->leaf->identity.cluster));
    json_out_text(&json, "name", str_from_c(certified->leaf->identity.node));
    json_out_text(&json, "serial", str_from_c(certified->leaf->serial));
    json_out_time(&json, "expires", certified->leaf->not_after_ms);
    json_out_text(&json, "certificate", certified->certificate);
    json_out_text(&json, "bundle", certified->bundle);
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

void pki_issue(ApiCall *call)
{
    Str name, csr;
    Error err;
    if (!has_pki(call)) {
        return;
    }
    if (!issue_body_read(&call->arena, call_body(call), &name, &csr, &err)) {
        call_fail_body(call, &err);
        return;
    }
    certify_admit(call_settings(call)->certify, name, csr, on_issued, call);
}

void pki_revoke(ApiCall *call)
{
    Str node, serial;
    Error err;
    if (!revoke_body_read(&call->arena, call_body(call), &node, &serial, &err)) {
        call_fail_body(call, &err);
        return;
    }
    if (node.len > 0) {
        revoke_node(call_store(call), node, call_done, call);
    } else {
        revoke_serial(call_store(call), serial, call_done, call);
    }
}

void pki_renew(ApiCall *call)
{
    OwnCertificateKind kind;
    Error err;
    if (!has_pki(call)) {
        return;
    }
    if (!renew_body_read(&call->arena, call_body(call), &kind, &err) ||
        !own_certificates_renew(call_settings(call)->own, kind, &err)) {
        call_fail(call, &err);
        return;
    }
    call_done(call, NULL);
}

void pki_rotate(ApiCall *call)
{
    RotateAction action;
    Str node;
    Error err;
    if (!has_pki(call)) {
        return;
    }
    if (!rotate_body_read(&call->arena, call_body(call), &action, &node, &err)) {
        call_fail_body(call, &err);
        return;
    }
    Authority *authority = call_settings(call)->authority;
    switch (action) {
    case ROTATE_BEGIN: authority_begin(authority, call_done, call); break;
    case ROTATE_ABORT: authority_revert(authority, call_done, call); break;
    case ROTATE_SKIP_NODE: authority_exclude(authority, node, call_done, call); break;
    }
}
