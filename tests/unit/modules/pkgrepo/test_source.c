#include "modules/pkgrepo/source.h"

#include "unit.h"

#define BEGIN "-----BEGIN PGP PUBLIC KEY BLOCK-----"
#define END   "-----END PGP PUBLIC KEY BLOCK-----"

static void keys_can_be_armored_or_base64(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    RepoKey key;
    Error err;
    assert_true(repo_key_parse(&arena, STR("\n" BEGIN "\n\nmDME\n" END "\n\n"), &key, &err));
    assert_true(key.armored);
    assert_str(key.content, BEGIN "\n\nmDME\n" END "\n");
    assert_true(repo_key_parse(&arena, STR("mDMEZVPxABYJKwYBBAHaRw8B\n AQdA"), &key, &err));
    assert_false(key.armored);
    assert_int_equal(key.content.len, 21);
    assert_memory_equal(key.content.data, "\x98\x33\x04\x65\x53\xf1\x00\x16", 8);
    assert_true(repo_key_parse(&arena, STR("xjMEZVPxABYJKwYBBAHaRw8BAQ=="), &key, &err));
    assert_int_equal(key.content.len, 19);
    Str bytes = STR("\x98\x33\x04\x65\x53\xf1\x00\x16xxxxxxxxxxxx");
    assert_true(repo_key_parse(&arena, bytes, &key, &err));
    assert_true(str_eq(key.content, bytes));
}

static void anything_but_a_public_key_is_rejected(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "the key must be an armored OpenPGP public key, or one encoded in base64" },
        { "hello", "the key must be an armored OpenPGP public key, or one encoded in base64" },
        { "aGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8=",
          "the key must be an armored OpenPGP public key, or one encoded in base64" },
        { "mDME=ZVPxABYJKwYBBAHaRw8BAQdA",
          "the key must be an armored OpenPGP public key, or one encoded in base64" },
        { BEGIN "\nmDME\n", "the key has no '" END "' line at the end" },
        { BEGIN "\nmDME\x01\n" END,
          "the key contains characters that are not allowed in ASCII armor" },
        { "-----BEGIN PGP PRIVATE KEY BLOCK-----\nx",
          "this is a private key; repositories need the public key" },
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        RepoKey key;
        Error err;
        assert_false(repo_key_parse(&arena, str_from_c(cases[i].text), &key, &err));
        assert_string_equal(err.text, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_can_be_armored_or_base64),
        cmocka_unit_test(anything_but_a_public_key_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
