#include "sys/sha512.h"

#include "unit.h"

/* The examples of FIPS 180-4 in chunks. */
static void chunks_are_hashed_as_one_text(void **state)
{
    char hex[SHA512_HEX + 1];
    Sha512 sha;
    sha512_start(&sha);
    sha512_add(&sha, STR("a"));
    sha512_add(&sha, STR_EMPTY);
    sha512_add(&sha, STR("bc"));
    sha512_finish(&sha, hex);
    assert_string_equal(hex, "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                             "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
    sha512_start(&sha);
    sha512_finish(&sha, hex);
    assert_string_equal(hex, "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
                             "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_hashed_as_one_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
