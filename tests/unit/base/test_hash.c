#include "base/hash.h"

#include <stdlib.h>

#include "unit.h"

/* Memory of exactly each length, so that AddressSanitizer detects any read past the end. */
static void every_length_reads_its_bytes_only(void **state)
{
    for (size_t len = 0; len < 100; len++) {
        char *bytes = malloc(len == 0 ? 1 : len);
        memset(bytes, 'x', len);
        uint64_t hash = hash_bytes(bytes, len);
        assert_true(hash == hash_bytes(bytes, len));
        for (size_t i = 0; i < len; i++) {
            bytes[i] ^= 1; /* every byte counts */
            assert_true(hash_bytes(bytes, len) != hash);
            bytes[i] ^= 1;
        }
        free(bytes);
    }
    assert_true(hash_str((Str){ NULL, 0 }) == hash_str(STR_EMPTY));
}

static void equal_bytes_with_different_lengths_differ(void **state)
{
    static const char zeros[64];
    for (size_t a = 0; a < sizeof zeros; a++) {
        for (size_t b = 0; b < a; b++) {
            assert_true(hash_bytes(zeros, a) != hash_bytes(zeros, b));
        }
    }
}

/* Tables use the low bits as slot: names that differ in a number must be spread over them. */
static void numbered_names_spread_over_the_slots(void **state)
{
    enum {
        NAMES = 4096,
        SLOTS = 8192
    };
    static unsigned char text_hits[SLOTS];
    static unsigned char number_hits[SLOTS];
    unsigned text_worst = 0;
    unsigned number_worst = 0;
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "node-%d", i);
        unsigned hits = ++text_hits[hash_str(str_from_c(name)) % SLOTS];
        text_worst = hits > text_worst ? hits : text_worst;
        hits = ++number_hits[hash_u64((uint64_t)i * 4096) % SLOTS];
        number_worst = hits > number_worst ? hits : number_worst;
    }
    /* A random distribution has 6 or 7 in its fullest slot. */
    assert_true(text_worst <= 10);
    assert_true(number_worst <= 10);
}

/* With plain products, a zero factor would cancel the other one: a block chosen to cancel the state
 * would make the next eight bytes irrelevant. */
static void no_operand_is_ignored(void **state)
{
    for (uint64_t i = 1; i < 1000; i++) {
        assert_true(hash_mix(i, 0) != hash_mix(i - 1, 0));
        assert_true(hash_mix(0, i) != hash_mix(0, i - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_reads_its_bytes_only),
        cmocka_unit_test(equal_bytes_with_different_lengths_differ),
        cmocka_unit_test(numbered_names_spread_over_the_slots),
        cmocka_unit_test(no_operand_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
