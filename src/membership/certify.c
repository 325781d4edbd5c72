/* Issuing node certificates outside of joining, and the steps that joining shares with it. A
 * certificate is signed while deciding, but only sent once the transaction with its serial number
 * has succeeded. */
#include "membership/certify.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "pki/ca.h"
#include "pki/csr.h"
#include "pki/revocation.h"
#include "pki/trust_notice.h"

/* --- Shared with joining --------------------------------------------------------------------- */

bool certify_refuse_removed(const char *name, Error *err)
{
    return error_set(err, ERROR_UNAVAILABLE,
                     "the data of the removed node '%s' is still being deleted; try again", name);
}

bool certify_issue(Arena *arena, const CertifySettings *settings, const P256Public *key,
                   int64_t now_ms, NodeRecord *node, Certified *out, Error *err)
{
    Certificate *issued = ARENA_NEW(arena, Certificate);
    NodeCertificateSpec grant = { .enrollment = str_from_c(node->enrollment),
                                  .key = *key,
                                  .now_ms = now_ms,
                                  .lifetime_ms = settings->node_lifetime_ms };
    if (!identity_make(settings->cluster, str_from_c(node->name), &grant.identity, err) ||
        !ca_issue_node(arena, settings->cas->issuer, &grant, issued, err)) {
        return false;
    }
    p256_public_pin(key, &node->key);
    snprintf(node->serial, sizeof node->serial, "%s", issued->serial);
    node->not_after_ms = issued->not_after_ms;
    *out = (Certified){ .certificate = certificate_pem(arena, issued),
                        .bundle = certificates_pem(arena, settings->cas->trusted),
                        .leaf = issued };
    return true;
}

void certify_write(Change *change, const CertifySettings *settings, const NodeRecord *node,
                   const Certified *certified, int64_t now_ms)
{
    Arena *arena = change_arena(change);
    Str prefix = settings->cluster_store.prefix, name = str_from_c(node->name);
    TrustReport report;
    Buf record = buf_make_in(arena, BUF_UNLIMITED), report_text = buf_make_in(arena, BUF_UNLIMITED);
    node_record_print(node, &record);
    change_put(change, cluster_key_node(arena, prefix, name), buf_str(&record), 0);
    trust_report_make(certified->leaf, settings->cas->trusted, now_ms, &report);
    trust_report_print(&report, &report_text);
    change_put(change, cluster_key_trust_of(arena, prefix, name), buf_str(&report_text), 0);
    change_delete(change, cluster_key_rotation_excluded(arena, prefix, name));
}

bool certify_claim_name(Change *change, RevocationList *list, Str key, bool name_existed,
                        const NodeRecord *node, int64_t before_ms, int64_t now_ms, Error *err)
{
    bool given = name_existed;
    for (uint32_t i = 0; i < list->name_count; i++) {
        given = given || strcmp(list->names[i].node, node->name) == 0;
    }
    if (!given) {
        return true;
    }
    Arena *arena = change_arena(change);
    int64_t until_ms = node->not_after_ms > before_ms ? node->not_after_ms : before_ms;
    revocation_prune(list, now_ms);
    if (!revocation_set_name(arena, list, str_from_c(node->name), str_from_c(node->enrollment),
                             until_ms, err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    revocation_print(list, &text);
    change_put(change, key, buf_str(&text), 0);
    return true;
}

/* --- Requests -------------------------------------------------------------------------------- */

enum {
    READ_NODE,
    READ_JOINING,
    READ_REVOCATIONS,
    READ_REMOVED,
    READ_COUNT
};

typedef struct CertifyRequest {
    const CertifySettings *settings;
    char name[NODE_NAME_MAX + 1];
    char serial[SERIAL_TEXT + 1]; /* empty for a machine that is to be admitted */
    P256Public key;
    Certified certified;
    CertifyDone *done;
    void *context;
} CertifyRequest;

static bool decide_renew(CertifyRequest *request, Change *change, const RevocationList *revoked,
                         int64_t now_ms, Error *err)
{
    Arena *arena = change_arena(change);
    NodeRecord node;
    if (!change_has(change, READ_NODE)) {
        return error_set(err, ERROR_DENIED, "'%s' is not a node of this cluster", request->name);
    }
    if (!revocation_check(revoked, str_from_c(request->name), str_from_c(request->serial), err) ||
        !node_record_read(arena, change_value(change, READ_NODE), &node, err)) {
        return false;
    }
    if (strlen(request->serial) != SERIAL_DIGITS ||
        strncmp(request->serial, node.enrollment, ENROLLMENT_TEXT) != 0) {
        return error_set(err, ERROR_DENIED,
                         "'%s' has joined again since this certificate was issued", request->name);
    }
    if (!certify_issue(arena, request->settings, &request->key, now_ms, &node, &request->certified,
                       err)) {
        return false;
    }
    /* After installing the certificate, the node reports its trusted CAs itself. */
    Buf record = buf_make_in(arena, BUF_UNLIMITED);
    node_record_print(&node, &record);
    change_put(change, change_key(change, READ_NODE), buf_str(&record), 0);
    return true;
}

static bool decide_admit(CertifyRequest *request, Change *change, RevocationList *revoked,
                         int64_t now_ms, Error *err)
{
    Arena *arena = change_arena(change);
    NodeRecord node = { .joined_ms = now_ms, .labels = value_missing() };
    if (change_has(change, READ_NODE)) {
        return error_set(err, ERROR_CONFLICT,
                         "node '%s' already exists; remove it, or choose another name",
                         request->name);
    }
    if (change_has(change, READ_REMOVED)) {
        return certify_refuse_removed(request->name, err);
    }
    snprintf(node.name, sizeof node.name, "%s", request->name);
    if (!enrollment_make(node.enrollment, err) ||
        !certify_issue(arena, request->settings, &request->key, now_ms, &node, &request->certified,
                       err)) {
        return false;
    }
    certify_write(change, request->settings, &node, &request->certified, now_ms);
    if (change_has(change, READ_JOINING)) {
        change_delete(change, change_key(change, READ_JOINING));
    }
    return certify_claim_name(change, revoked, change_key(change, READ_REVOCATIONS), false, &node,
                              0, now_ms, err);
}

static bool decide(void *context, Change *change, Error *err)
{
    CertifyRequest *request = context;
    RevocationList revoked = { 0 };
    int64_t now_ms = loop_wall_ms(request->settings->cluster_store.loop);
    if (request->settings->cas == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
    }
    if (change_has(change, READ_REVOCATIONS) &&
        !revocation_read(change_arena(change), change_value(change, READ_REVOCATIONS), &revoked,
                         err)) {
        return false;
    }
    return request->serial[0] == '\0' ? decide_admit(request, change, &revoked, now_ms, err)
                                      : decide_renew(request, change, &revoked, now_ms, err);
}

static void decided(void *context, Change *change, const Error *err)
{
    CertifyRequest *request = context;
    request->done(request->context, err == NULL ? &request->certified : NULL, err);
    free(request);
}

static void start(const CertifySettings *settings, Str name, Str serial, Str csr, CertifyDone *done,
                  void *context)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    P256Public key;
    Error err;
    if (!node_name_check(name, &err) || !csr_read(csr, &key, &err)) {
        done(context, NULL, &err);
        return;
    }
    CertifyRequest *request = memory_new(sizeof *request);
    request->settings = settings;
    request->key = key;
    request->done = done;
    request->context = context;
    snprintf(request->name, sizeof request->name, "%" STR_FMT, STR_ARG(name));
    snprintf(request->serial, sizeof request->serial, "%" STR_FMT, STR_ARG(serial));
    Str prefix = settings->cluster_store.prefix;
    Str keys[READ_COUNT] = {
        [READ_NODE] = cluster_key_node(&arena, prefix, name),
        [READ_JOINING] = cluster_key_joining(&arena, prefix, name),
        [READ_REVOCATIONS] = cluster_key_revocations(&arena, prefix),
        [READ_REMOVED] = cluster_key_removed(&arena, prefix, name),
    };
    Change *change;
    change_start(&(ChangeSpec){ .cluster_store = settings->cluster_store,
                                .keys = keys,
                                .key_count = READ_COUNT,
                                .decide = decide,
                                .done = decided,
                                .context = request },
                 &change);
}

void certify_renew(const CertifySettings *settings, Str name, Str serial, Str csr,
                   CertifyDone *done, void *context)
{
    BUG_IF(serial.len == 0);
    start(settings, name, serial, csr, done, context);
}

void certify_admit(const CertifySettings *settings, Str name, Str csr, CertifyDone *done,
                   void *context)
{
    start(settings, name, STR_EMPTY, csr, done, context);
}
