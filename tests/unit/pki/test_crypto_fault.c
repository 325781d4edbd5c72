#include "pki/crypto_fault.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "unit.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reason_of_libcrypto_is_shown),
        cmocka_unit_test(without_a_reason_the_message_stands_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
