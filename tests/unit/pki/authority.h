/* A cluster called "home" at a fixed time: its CA, and certificates issued by it. */
#pragma once

#include <stdlib.h>

#include <openssl/err.h>

#include "pki/ca.h"
#include "pki/csr.h"
#include "unit.h"

#define NOW_MS ((int64_t)1800000000 * 1000) /* 2027-01-15T08:00:00Z */

typedef struct Authority {
    Arena arena;
    Credential ca;
    P256Private *key; /* of some node */
    P256Public public_key;
} Authority;

static inline int authority_set_up(void **state)
{
    Authority *authority = calloc(1, sizeof *authority);
    Error err = { 0 };
    arena_init(&authority->arena, ARENA_UNLIMITED);
    *state = authority;
    bool ok = ca_make(&authority->arena, STR("home"), NOW_MS, &authority->ca, &err) &&
              p256_private_make(&authority->key, &err) &&
              p256_public_of(authority->key, &authority->public_key, &err);
    if (!ok) {
        print_error("%s\n", err.text);
    }
    return ok ? 0 : -1;
}

/* Errors left by a test in libcrypto's queue would be mistaken for the reason of another
 * failure. */
static inline int authority_tear_down(void **state)
{
    Authority *authority = *state;
    bool drained = ERR_peek_error() == 0;
    p256_private_free(authority->key);
    credential_clear(&authority->ca);
    arena_clear(&authority->arena);
    free(authority);
    return drained ? 0 : -1;
}

#define authority_test(function) \
    cmocka_unit_test_setup_teardown(function, authority_set_up, authority_tear_down)

static const char first_enrollment[] = "4011223344556677";

static inline NodeCertificateSpec node_grant(const Authority *authority, const char *node)
{
    NodeCertificateSpec grant = {
        .enrollment = str_from_c(first_enrollment),
        .key = authority->public_key,
        .now_ms = NOW_MS,
    };
    Error err = { 0 };
    if (!identity_make(STR("home"), str_from_c(node), &grant.identity, &err)) {
        fail_msg("%s", err.text);
    }
    return grant;
}

static inline Certificate issue_node(Authority *authority, const NodeCertificateSpec *grant)
{
    Certificate made;
    Error err = { 0 };
    if (!ca_issue_node(&authority->arena, &authority->ca, grant, &made, &err)) {
        fail_msg("%s", err.text);
    }
    return made;
}

static inline CertificateSet one(const Certificate *certificate)
{
    return (CertificateSet){ certificate, 1 };
}

/* Asserts that the call, which uses `err`, fails with this kind and a text that contains `part`. */
#define assert_fails(call, wanted, part)                                                          \
    do {                                                                                          \
        Error err = { 0 };                                                                        \
        bool went_ = (call);                                                                      \
        if (went_ || err.kind != (wanted) || strstr(err.text, (part)) == NULL) {                  \
            fail_msg("%s: %s %s", #call, went_ ? "went well" : "failed:", went_ ? "" : err.text); \
        }                                                                                         \
    } while (0)

#define assert_succeeds(call)                    \
    do {                                         \
        Error err = { 0 };                       \
        if (!(call)) {                           \
            fail_msg("%s: %s", #call, err.text); \
        }                                        \
    } while (0)
