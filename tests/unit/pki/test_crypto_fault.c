#include "pki/crypto_fault.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "pki/csr.h"
#include "pki/p256_private.h"
#include "unit.h"

/* Replace those of libcrypto, for this program only. */
static bool signs, generates;

int X509_REQ_sign(X509_REQ *x, EVP_PKEY *pkey, const EVP_MD *md)
{
    int (*real)(X509_REQ *, EVP_PKEY *, const EVP_MD *) = dlsym(RTLD_NEXT, "X509_REQ_sign");
    return signs ? real(x, pkey, md) : 0;
}

EVP_PKEY *EVP_PKEY_Q_keygen(OSSL_LIB_CTX *libctx, const char *propq, const char *type, ...)
{
    if (!generates) {
        return NULL;
    }
    EVP_PKEY *(*real)(OSSL_LIB_CTX *, const char *, const char *, ...) =
        dlsym(RTLD_NEXT, "EVP_PKEY_Q_keygen");
    return real(libctx, propq, type, "P-256");
}

/* The first one: what its callers add is less specific. */
static void the_reason_of_libcrypto_is_shown(void **state)
{
    Error err;
    crypto_begin();
    ERR_raise(ERR_LIB_PEM, PEM_R_BAD_BASE64_DECODE);
    ERR_raise(ERR_LIB_PEM, PEM_R_NO_START_LINE);
    assert_false(crypto_fail(&err, ERROR_INVALID, "key %d", 7));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "key 7: bad base64 decode");
    assert_int_equal(ERR_peek_error(), 0);
}

static void without_a_reason_the_message_stands_alone(void **state)
{
    Error err;
    ERR_raise(ERR_LIB_PEM, PEM_R_NO_START_LINE);
    crypto_begin(); /* forgets what an earlier call left */
    assert_false(crypto_fail(&err, ERROR_OS, "key %d", 7));
    assert_string_equal(err.text, "key 7");
    ERR_raise(ERR_LIB_PEM, PEM_R_NO_START_LINE);
    assert_true(crypto_done());
    assert_int_equal(ERR_peek_error(), 0);
}

static void failures_to_generate_and_sign_are_errors(void **state)
{
    AUTO_CLEAR(Arena) arena;
    P256Private *key = NULL;
    Str request;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_false(p256_private_make(&key, &err));
    assert_int_equal(err.kind, ERROR_OS);
    assert_non_null(strstr(err.text, "cannot generate a P-256 key"));
    generates = true;
    assert_true(p256_private_make(&key, &err));
    assert_false(csr_make(&arena, key, &request, &err));
    assert_int_equal(err.kind, ERROR_OS);
    assert_non_null(strstr(err.text, "cannot create a certificate request"));
    signs = true;
    assert_true(csr_make(&arena, key, &request, &err));
    p256_private_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reason_of_libcrypto_is_shown),
        cmocka_unit_test(without_a_reason_the_message_stands_alone),
        cmocka_unit_test(failures_to_generate_and_sign_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
