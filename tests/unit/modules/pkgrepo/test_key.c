#include "modules/pkgrepo/key.h"

#include "unit.h"

#define BEGIN "-----BEGIN PGP PUBLIC KEY BLOCK-----"
#define END   "-----END PGP PUBLIC KEY BLOCK-----"

static void keys_come_armored_or_in_base64(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    RepoKey key;
    Error err;
    assert_true(repo_key_read(&arena, STR("\n" BEGIN "\n\nmDME\n" END "\n\n"), &key, &err));
    assert_true(key.armored);
    assert_str(key.content, BEGIN "\n\nmDME\n" END "\n");
    assert_true(repo_key_read(&arena, STR("mDMEZVPxABYJKwYBBAHaRw8B\n AQdA"), &key, &err));
    assert_false(key.armored);
    assert_int_equal(key.content.len, 21);
    assert_memory_equal(key.content.data, "\x98\x33\x04\x65\x53\xf1\x00\x16", 8);
    assert_true(repo_key_read(&arena, STR("xjMEZVPxABYJKwYBBAHaRw8BAQ=="), &key, &err));
    assert_int_equal(key.content.len, 19);
    Str bytes = STR("\x98\x33\x04\x65\x53\xf1\x00\x16xxxxxxxxxxxx");
    assert_true(repo_key_read(&arena, bytes, &key, &err));
    assert_true(str_eq(key.content, bytes));
}

static void what_is_no_public_key_is_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "the key must be an armored OpenPGP public key, or the base64 of one" },
        { "hello", "the key must be an armored OpenPGP public key, or the base64 of one" },
        { "aGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8=",
          "the key must be an armored OpenPGP public key, or the base64 of one" },
        { "mDME=ZVPxABYJKwYBBAHaRw8BAQdA",
          "the key must be an armored OpenPGP public key, or the base64 of one" },
        { BEGIN "\nmDME\n", "the key has no '" END "' at its end" },
        { BEGIN "\nmDME\x01\n" END, "the key has characters that armor has not" },
        { "-----BEGIN PGP PRIVATE KEY BLOCK-----\nx",
          "this is a private key; sources need the public one" },
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        RepoKey key;
        Error err;
        assert_false(repo_key_read(&arena, str_from_c(cases[i].text), &key, &err));
        assert_string_equal(err.text, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_come_armored_or_in_base64),
        cmocka_unit_test(what_is_no_public_key_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
