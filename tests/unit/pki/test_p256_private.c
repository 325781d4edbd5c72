#include "pki/p256_private.h"

#include "authority.h"

static void keys_survive_a_round_trip(void **state)
{
    Authority *authority = *state;
    AUTO_CLEAR(KeyText) text = { 0 };
    AUTO(P256Private) *read = NULL;
    P256Public public_key;
    assert_succeeds(p256_private_text(authority->key, &text, &err));
    assert_succeeds(p256_private_from_pem(str_from(text.text, text.len), &read, &err));
    assert_succeeds(p256_public_of(read, &public_key, &err));
    assert_true(p256_public_equal(&public_key, &authority->public_key));
}

static void key_texts_can_be_wiped(void **state)
{
    Authority *authority = *state;
    static const KeyText nothing;
    KeyText text = { 0 };
    assert_succeeds(p256_private_text(authority->key, &text, &err));
    key_text_clear(&text);
    assert_memory_equal(&text, &nothing, sizeof text);
}

static void signatures_are_of_one_key_and_message(void **state)
{
    Authority *authority = *state;
    P256Signature signature;
    P256Public other;
    assert_succeeds(p256_private_sign(authority->key, STR("message"), &signature, &err));
    assert_true(p256_public_verify(&authority->public_key, STR("message"), &signature));
    assert_false(p256_public_verify(&authority->public_key, STR("massage"), &signature));
    assert_succeeds(p256_public_of(authority->ca.key, &other, &err));
    assert_false(p256_public_verify(&other, STR("message"), &signature));
    signature.bytes[signature.len - 1] ^= 1;
    assert_false(p256_public_verify(&authority->public_key, STR("message"), &signature));
    signature.len = 0;
    assert_false(p256_public_verify(&authority->public_key, STR("message"), &signature));
    other.point[5] ^= 1; /* not a point on the curve */
    assert_false(p256_public_verify(&other, STR("message"), &signature));
}

/* CLUSTER H 15: the error about an unreadable key contains nothing of it. */
static void errors_contain_nothing_of_a_key(void **state)
{
    Authority *authority = *state;
    AUTO_CLEAR(KeyText) text = { 0 };
    P256Private *read = NULL;
    assert_succeeds(p256_private_text(authority->key, &text, &err));
    /* A digit of the secret itself is changed: the halves no longer match. */
    char *body = strchr(text.text, '\n') + 1;
    body[60] = body[60] == 'A' ? 'B' : 'A';
    Error err = { 0 };
    assert_false(p256_private_from_pem(str_from(text.text, text.len), &read, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    for (const char *at = body; at + 8 < text.text + text.len && at[7] != '-'; at++) {
        char chunk[9] = "";
        memcpy(chunk, at, 8);
        assert_null(strstr(err.text, chunk));
    }
}

static void other_keys_are_rejected(void **state)
{
    static const char ed25519[] =
        "-----BEGIN PRIVATE KEY-----\n"
        "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
        "-----END PRIVATE KEY-----\n";
    static const char nonsense[] = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    static const char older[] =
        "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
    P256Private *read = NULL;
    assert_fails(p256_private_from_pem(str_from_c(ed25519), &read, &err), ERROR_INVALID,
                 "not a P-256 key");
    assert_fails(p256_private_from_pem(str_from_c(nonsense), &read, &err), ERROR_INVALID,
                 "not PKCS #8");
    assert_fails(p256_private_from_pem(str_from_c(older), &read, &err), ERROR_INVALID,
                 "it is a 'EC PRIVATE KEY'");
    assert_fails(p256_private_from_pem(STR(""), &read, &err), ERROR_INVALID, "empty");
    assert_null(read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(keys_survive_a_round_trip),
        authority_test(key_texts_can_be_wiped),
        authority_test(signatures_are_of_one_key_and_message),
        authority_test(errors_contain_nothing_of_a_key),
        authority_test(other_keys_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
