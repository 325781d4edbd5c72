/* Authentication with an in-memory store, and helpers to create and use credentials. */
#pragma once

#include "access/browser_sessions.h"
#include "access/credentials.h"
#include "access/tokens.h"
#include "access/user_certificates.h"
#include "pki/ca.h"
#include "pki/csr.h"
#include "ready_state.h"
#include "scratch.h"
#include "store_world.h"

#define NOW_MS  ((int64_t)1800000000000)
#define HOUR_MS ((int64_t)3600 * 1000)

typedef struct Fixture {
    StoreWorld world;
    State *state;
    Credentials *credentials;
    uint32_t changed, stale;
    Credential ca;
    CaSet cas;
    CertifySettings certify;
    Str csr;
    /* Created last: */
    char token[TOKEN_TEXT_MAX + 1];
    char id[TOKEN_ID_TEXT + 1];
    BrowserSecret secret;
    Certificate certificate;
    Principal principal;
    uint32_t listed, unreadable;
} Fixture;

static inline void changed(void *context)
{
    ((Fixture *)context)->changed++;
}

static inline void open_credentials(Fixture *f)
{
    f->world.cluster_store.state = f->state = ready_state(&f->world.cluster_store, &f->stale);
    f->credentials = credentials_new(&f->world.cluster_store, f->state, STR("home"),
                                     &(CredentialsEvents){ .changed = changed, .context = f });
}

static inline void close_credentials(Fixture *f)
{
    credentials_free(TAKE(f->credentials));
    state_free(TAKE(f->state));
    f->world.cluster_store.state = NULL;
}

static inline int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    AUTO(P256Private) *key = NULL;
    Error err;
    world_open(&f->world);
    *state = f;
    if (!ca_make(&f->world.arena, STR("home"), NOW_MS, &f->ca, &err) ||
        !p256_private_make(&key, &err) || !csr_make(&f->world.arena, key, &f->csr, &err)) {
        return -1;
    }
    f->cas = (CaSet){ .issuer = &f->ca, .trusted = f->ca.chain };
    f->certify = (CertifySettings){ .cluster_store = f->world.cluster_store,
                                    .cluster = STR("home"),
                                    .cas = &f->cas };
    open_credentials(f);
    return 0;
}

static inline int tear_down(void **state)
{
    Fixture *f = *state;
    close_credentials(f);
    credential_clear(&f->ca);
    world_close(&f->world);
    free(f);
    return 0;
}

static inline int64_t now(const Fixture *f)
{
    return loop_wall_ms(f->world.cluster_store.loop);
}

/* --- Creating -------------------------------------------------------------------------------- */

static inline void token_made(void *context, const Token *token, const CredentialEntry *entry,
                              const Error *err)
{
    Fixture *f = context;
    if (err == NULL) {
        token_text(token, f->token);
        memcpy(f->id, token->id, sizeof f->id);
        assert_str(entry->id, token->id);
        assert_int_equal(entry->revision, store_status(f->world.cluster_store.store).revision);
    }
    world_done(&f->world, err);
}

static inline void ask_token(Fixture *f, const char *role, int64_t lifetime_ms)
{
    Str name = str_from_c(role);
    tokens_create(&f->world.cluster_store,
                  &(TokenRequest){ .kind = TOKEN_API,
                                   .label = STR("ci"),
                                   .roles = &name,
                                   .role_count = 1,
                                   .lifetime_ms = lifetime_ms,
                                   .created_by = STR("root (uid 0)") },
                  token_made, f);
}

static inline void make_token(Fixture *f, const char *role)
{
    ask_token(f, role, HOUR_MS);
    world_expect(&f->world, ERROR_NONE, NULL);
}

static inline void session_made(void *context, const BrowserSecret *secret,
                                const BrowserRecord *record, const Error *err)
{
    Fixture *f = context;
    if (err == NULL) {
        f->secret = *secret;
        assert_true(record->expires_ms > record->created_ms);
    }
    world_done(&f->world, err);
}

static inline void make_session(Fixture *f)
{
    browser_sessions_create(&f->world.cluster_store, &f->principal, session_made, f);
    world_expect(&f->world, ERROR_NONE, NULL);
}

static inline void issued(void *context, const Certified *certified, const CredentialEntry *entry,
                          const Error *err)
{
    Fixture *f = context;
    if (err == NULL) {
        f->certificate = *certified->leaf;
        assert_str(entry->id, certified->leaf->serial);
        assert_int_equal(entry->revision, store_status(f->world.cluster_store.store).revision);
        assert_true(str_starts(certified->bundle, STR("-----BEGIN CERTIFICATE")));
    }
    world_done(&f->world, err);
}

static inline void ask_certificate_with(Fixture *f, const char *user, Str role, int64_t lifetime_ms)
{
    user_certificate_issue(&f->certify,
                           &(UserCertificateRequest){ .user = str_from_c(user),
                                                      .csr = f->csr,
                                                      .roles = &role,
                                                      .role_count = 1,
                                                      .lifetime_ms = lifetime_ms,
                                                      .created_by = STR("root (uid 0)") },
                           issued, f);
}

static inline void ask_certificate(Fixture *f, const char *user, int64_t lifetime_ms)
{
    ask_certificate_with(f, user, STR("viewer"), lifetime_ms);
}

static inline void revoke_credential(Fixture *f, const CredentialRecords *row, Str id)
{
    credential_records_revoke(&f->world.cluster_store, row, id, 0, world_done, &f->world);
}

static inline void put_role(Fixture *f, const char *name, const char *text)
{
    world_put(&f->world, cluster_key_role(&f->world.arena, PREFIX, str_from_c(name)),
              str_from_c(text));
}

#define RULES(verb, kind) "{\"rules\":[{\"verbs\":[\"" verb "\"],\"kinds\":[\"" kind "\"]}]}"
#define ROLE(verb, kind)                                                    \
    "{\"format\":\"eden.object/"                                            \
    "1\",\"uuid\":\"u\",\"created_ms\":1,\"labels\":{},\"annotations\":{}," \
    "\"spec\":" RULES(verb, kind) "}"

/* --- Authenticating -------------------------------------------------------------------------- */

static inline bool by_token(Fixture *f, const char *text, const char *why)
{
    Error err = { 0 };
    if (credentials_by_token(f->credentials, str_from_c(text), now(f), &f->principal, &err)) {
        return true;
    }
    if (why != NULL && strstr(err.text, why) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", why, err.text);
    }
    assert_null(strstr(err.text, text[0] == '\0' ? "eden_" : text));
    return false;
}

static inline bool by_session(Fixture *f, const char *why)
{
    Error err = { 0 };
    if (credentials_by_session(f->credentials, &f->secret, now(f), &f->principal, &err)) {
        return true;
    }
    if (why != NULL && strstr(err.text, why) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", why, err.text);
    }
    return false;
}

static inline PresentedUser shown(const Fixture *f)
{
    return (PresentedUser){ .has_user = f->certificate.has_user,
                            .user = f->certificate.user,
                            .serial = str_from_c(f->certificate.serial),
                            .not_before_ms = f->certificate.not_before_ms,
                            .not_after_ms = f->certificate.not_after_ms };
}

static inline bool by_certificate(Fixture *f, const PresentedUser *user, const char *why)
{
    Error err = { 0 };
    if (credentials_by_certificate(f->credentials, user, now(f), &f->principal, &err)) {
        return true;
    }
    if (why != NULL && strstr(err.text, why) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", why, err.text);
    }
    return false;
}

static inline bool still_valid(Fixture *f)
{
    Error err;
    return credentials_check(f->credentials, &f->principal, now(f), &err);
}

static inline AccessVerdict decide(Fixture *f, const char *verb, const char *kind)
{
    AccessDecision decision;
    credentials_decide(f->credentials, &f->principal, str_from_c(verb), str_from_c(kind),
                       &decision);
    return decision.verdict;
}

/* For records and leases. */
static inline void advance(Fixture *f, int64_t ms)
{
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + ms);
}

static inline void stored(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}
