#include "sys/ed25519.h"

#include "unit.h"

static void from_hex(const char *hex, unsigned char *out)
{
    for (size_t i = 0; hex[2 * i] != '\0'; i++) {
        out[i] =
            (unsigned char)(ascii_hex_value(hex[2 * i]) << 4 | ascii_hex_value(hex[2 * i + 1]));
    }
}

/* The first two of RFC 8032, 7.1. */
static void signatures_match_the_standard(void **state)
{
    static const struct {
        const char *private, *public, *message, *signature;
    } rows[] = {
        { "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
          "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
          ("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e397"
           "01cf9b46bd25bf5f0595bbe24655141438e7a100b") },
        { "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
          "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "\x72",
          ("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f361"
           "3d0f11d8c387b2eaeb4302aeeb00d291612bb0c00") },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Ed25519Private private;
        Ed25519Public public, wanted_public;
        Ed25519Signature signature, wanted;
        Error err;
        Str message = str_from_c(rows[i].message);
        from_hex(rows[i].private, private.bytes);
        from_hex(rows[i].public, wanted_public.bytes);
        from_hex(rows[i].signature, wanted.bytes);
        assert_true(ed25519_public(&private, &public, &err));
        assert_memory_equal(public.bytes, wanted_public.bytes, ED25519_KEY);
        assert_true(ed25519_sign(&private, message, &signature, &err));
        assert_memory_equal(signature.bytes, wanted.bytes, ED25519_SIGNATURE);
        assert_true(ed25519_verify(&public, message, &signature));
        assert_false(ed25519_verify(&public, STR("another"), &signature));
        signature.bytes[i] ^= 1;
        assert_false(ed25519_verify(&public, message, &signature));
    }
}

static void keys_differ_and_can_be_forgotten(void **state)
{
    Ed25519Private one, two;
    Error err;
    assert_true(ed25519_make(&one, &err) && ed25519_make(&two, &err));
    assert_memory_not_equal(one.bytes, two.bytes, ED25519_KEY);
    ed25519_forget(&one);
    static const unsigned char nothing[ED25519_KEY];
    assert_memory_equal(one.bytes, nothing, ED25519_KEY);
}

static void encodings_of_keys_are_unique(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    unsigned char bytes[ED25519_KEY], again[ED25519_KEY];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 37);
    }
    Str text = ed25519_text(&arena, bytes, sizeof bytes);
    assert_true(ed25519_from_text(text, again, sizeof again));
    assert_memory_equal(bytes, again, sizeof bytes);
    static const char *const wrong[] = {
        "",
        "AAAA",
        "ACVKb5S53gMoTXKXvOEGK1B1msnfDi1SXg+D1xyRRR==", /* too short, not in canonical form */
        "\nACVKb5S53gMoTXKXvOEGK1B1msnfDi1SXg+D1xyRRRA=",
        "AC!Kb5S53gMoTXKXvOEGK1B1msnfDi1SXg+D1xyRRRA=",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_false(ed25519_from_text(str_from_c(wrong[i]), again, sizeof again));
    }
    /* Bits after the last byte would give a second text for the same key. */
    char *other = arena_copy_c(&arena, text);
    other[text.len - 2] = (char)(other[text.len - 2] + 1);
    assert_false(ed25519_from_text(str_from(other, text.len), again, sizeof again));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_match_the_standard),
        cmocka_unit_test(keys_differ_and_can_be_forgotten),
        cmocka_unit_test(encodings_of_keys_are_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
