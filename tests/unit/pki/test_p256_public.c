#include "pki/p256_public.h"

#include <openssl/sha.h>
#include <openssl/x509.h>

#include "authority.h"

static void pins_match_the_key_in_certificates(void **state)
{
    Authority *authority = *state;
    const Certificate *ca = &authority->ca.chain.items[0];
    const unsigned char *at = (const unsigned char *)ca->der.data;
    X509 *x = d2i_X509(NULL, &at, (long)ca->der.len);
    unsigned char *der = NULL, digest[PIN_BYTES];
    int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x), &der);
    assert_true(len > 0);
    SHA256(der, (size_t)len, digest);
    assert_memory_equal(digest, ca->pin.bytes, PIN_BYTES);
    OPENSSL_free(der);
    X509_free(x);
}

static void pins_survive_a_round_trip(void **state)
{
    Authority *authority = *state;
    Pin pin, read, other;
    char text[PIN_TEXT + 1];
    p256_public_pin(&authority->public_key, &pin);
    pin_text(&pin, text);
    assert_int_equal(strlen(text), PIN_TEXT);
    assert_true(str_starts(str_from_c(text), STR("sha256:")));
    assert_succeeds(pin_parse(str_from_c(text), &read, &err));
    assert_true(pin_equal(&pin, &read));
    other = authority->ca.chain.items[0].pin;
    assert_false(pin_equal(&pin, &other));
}

static void other_texts_are_not_pins(void **state)
{
    Pin pin;
    char text[] = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    assert_succeeds(pin_parse(str_from_c(text), &pin, &err));
    assert_fails(pin_parse(str_from(text, PIN_TEXT - 1), &pin, &err), ERROR_INVALID,
                 "must be 'sha256:'");
    assert_fails(pin_parse(str_from(text, PIN_TEXT + 1), &pin, &err), ERROR_INVALID,
                 "must be 'sha256:'");
    assert_fails(pin_parse(STR(""), &pin, &err), ERROR_INVALID, "must be 'sha256:'");
    text[30] = 'A';
    assert_fails(pin_parse(str_from_c(text), &pin, &err), ERROR_INVALID,
                 "must consist of hexadecimal digits");
    text[30] = '\0';
    assert_fails(pin_parse(str_from(text, PIN_TEXT), &pin, &err), ERROR_INVALID,
                 "must consist of hexadecimal digits");
    text[30] = 'a';
    text[3] = '5';
    assert_fails(pin_parse(str_from_c(text), &pin, &err), ERROR_INVALID, "must be 'sha256:'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(pins_match_the_key_in_certificates),
        authority_test(pins_survive_a_round_trip),
        authority_test(other_texts_are_not_pins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
