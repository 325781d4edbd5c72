#include "sys/sha256.h"

#include "unit.h"

/* The examples of FIPS 180-4, and one of several blocks. */
static void content_names_are_their_sha_256(void **state)
{
    static const struct {
        const char *text, *hex;
    } rows[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };
    char hex[SHA256_HEX + 1];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        sha256_hex(str_from_c(rows[i].text), hex);
        assert_string_equal(hex, rows[i].hex);
    }
    static char many[1000000];
    memset(many, 'a', sizeof many);
    sha256_hex(str_from(many, sizeof many), hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void chunks_are_hashed_as_one_text(void **state)
{
    char hex[SHA256_HEX + 1];
    Sha256 sha;
    sha256_start(&sha);
    sha256_add(&sha, STR("a"));
    sha256_add(&sha, STR_EMPTY);
    sha256_add(&sha, STR("bc"));
    sha256_finish(&sha, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* RFC 4231, and the example of GitHub's documentation of webhooks. */
static void hmacs_are_those_of_the_specification(void **state)
{
    static const struct {
        Str key, text;
        const char *hex;
    } rows[] = {
        { { "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b",
            20 },
          { "Hi There", 8 },
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
        { { "Jefe", 4 },
          { "what do ya want for nothing?", 28 },
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
        { { "It's a Secret to Everybody", 26 },
          { "Hello, World!", 13 },
          "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" },
        { { "", 0 },
          { "", 0 },
          "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad" },
    };
    char hex[SHA256_HEX + 1], key[131];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        sha256_hmac_hex(rows[i].key, rows[i].text, hex);
        assert_string_equal(hex, rows[i].hex);
    }
    memset(key, 0xaa, sizeof key);
    sha256_hmac_hex(str_from(key, sizeof key),
                    STR("Test Using Larger Than Block-Size Key - Hash Key First"), hex);
    assert_string_equal(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_names_are_their_sha_256),
        cmocka_unit_test(chunks_are_hashed_as_one_text),
        cmocka_unit_test(hmacs_are_those_of_the_specification),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
