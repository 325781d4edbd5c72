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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_names_are_their_sha_256),
        cmocka_unit_test(chunks_are_hashed_as_one_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
