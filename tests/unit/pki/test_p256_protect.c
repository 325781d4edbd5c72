/* The protected memory has room for the keys of all connections. A program of its own: it must be
 * set up before libcrypto is used. */
#include "pki/p256_private.h"

#include <openssl/evp.h>

#include "unit.h"

enum {
    CONNECTIONS = 10000,
};

static void each_connection_can_have_a_key(void **state)
{
    static EVP_PKEY *keys[CONNECTIONS];
    for (int i = 0; i < CONNECTIONS; i++) {
        keys[i] = EVP_PKEY_Q_keygen(NULL, NULL, "X25519"); /* which a TLS connection keeps */
        if (keys[i] == NULL) {
            fail_msg("no memory for the key of connection %d", i);
        }
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        EVP_PKEY_free(keys[i]);
    }
}

int main(void)
{
    p256_private_protect(CONNECTIONS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_connection_can_have_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
