#include "sys/seal.h"

#include "base/hex.h"
#include "scratch.h"

static Str from_hex(Arena *arena, const char *digits)
{
    size_t count = strlen(digits) / 2;
    unsigned char *bytes = arena_alloc(arena, count);
    hex_decode(digits, count, bytes);
    return str_from((const char *)bytes, count);
}

/* RFC 5297, A.1. */
static void it_matches_the_standard(void **state)
{
    Scratch *scratch = *state;
    SealKey key;
    Str opened;
    hex_decode("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", SEAL_KEY,
               key.bytes);
    Str bound = from_hex(&scratch->arena, "101112131415161718191a1b1c1d1e1f2021222324252627");
    Str plain = from_hex(&scratch->arena, "112233445566778899aabbccddee");
    Str wanted =
        from_hex(&scratch->arena, "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c");
    Str sealed = seal_encrypt(&scratch->arena, &key, bound, plain);
    assert_true(str_eq(sealed, wanted));
    assert_true(seal_decrypt(&scratch->arena, &key, bound, sealed, &opened));
    assert_true(str_eq(opened, plain));
}

static void other_inputs_cannot_be_opened(void **state)
{
    Scratch *scratch = *state;
    SealKey key, other;
    Str opened;
    Error err;
    assert_true(seal_key_make(&key, &err));
    assert_true(seal_key_make(&other, &err));
    Str sealed = seal_encrypt(&scratch->arena, &key, STR("here"), STR("web1"));
    assert_false(seal_decrypt(&scratch->arena, &other, STR("here"), sealed, &opened));
    assert_false(seal_decrypt(&scratch->arena, &key, STR("there"), sealed, &opened));
    assert_int_equal(opened.len, 0);
    for (size_t i = 0; i < sealed.len; i++) {
        char *changed = arena_copy_c(&scratch->arena, sealed);
        changed[i] = (char)(changed[i] ^ 1);
        assert_false(seal_decrypt(&scratch->arena, &key, STR("here"), str_from(changed, sealed.len),
                                  &opened));
        assert_false(
            seal_decrypt(&scratch->arena, &key, STR("here"), str_slice(sealed, 0, i), &opened));
    }
    assert_true(seal_decrypt(&scratch->arena, &key, STR("here"), sealed, &opened));
    assert_str(opened, "web1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_matches_the_standard, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(other_inputs_cannot_be_opened, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
