#include "lang/matcher.h"

#include "unit.h"

/* Length of the longest needle that ends at `end`, computed the obvious way. */
static size_t longest_ending(Str text, size_t end, const Str *needles, size_t count)
{
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        if (needles[i].len > longest && str_ends(str_slice(text, 0, end), needles[i])) {
            longest = needles[i].len;
        }
    }
    return longest;
}

static void it_matches_a_naive_search(void **state)
{
    uint32_t random = 1;
    for (int round = 0; round < 300; round++) {
        /* Few letters, so that needles contain and overlap each other. */
        char bytes[400];
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = (char)('a' + (random >> 24) % (round % 3 + 1));
        }
        Str needles[20];
        size_t count = (size_t)round % COUNT_OF(needles);
        for (size_t i = 0; i < count; i++) {
            random = random * 1664525 + 1013904223;
            size_t start = (random >> 16) % 300;
            needles[i] = str_from(bytes + start, (random >> 8) % 12);
        }
        AUTO(Matcher) *matcher = matcher_new(needles, count);
        uint32_t at_state = MATCHER_START;
        for (size_t at = 0; at < sizeof bytes; at++) {
            at_state = matcher_step(matcher, at_state, (unsigned char)bytes[at]);
            assert_int_equal(matcher_match(matcher, at_state),
                             longest_ending(str_from(bytes, sizeof bytes), at + 1, needles, count));
        }
    }
}

static void all_bytes_can_be_in_needles(void **state)
{
    char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)i;
    }
    Str needle = str_from(bytes, sizeof bytes);
    AUTO(Matcher) *matcher = matcher_new(&needle, 1);
    assert_int_equal(matcher_longest(matcher), 256);
    uint32_t at_state = MATCHER_START;
    for (size_t i = 0; i < sizeof bytes; i++) {
        assert_int_equal(matcher_match(matcher, at_state), 0);
        at_state = matcher_step(matcher, at_state, (unsigned char)i);
    }
    assert_int_equal(matcher_match(matcher, at_state), 256);
    assert_int_equal(matcher_first(matcher)[1], MATCHER_START);
    assert_int_not_equal(matcher_first(matcher)[0], MATCHER_START);
}

static void without_needles_nothing_matches(void **state)
{
    AUTO(Matcher) *matcher = matcher_new(NULL, 0);
    assert_int_equal(matcher_longest(matcher), 0);
    assert_int_equal(matcher_step(matcher, MATCHER_START, 'a'), MATCHER_START);
    assert_int_equal(matcher_match(matcher, MATCHER_START), 0);
    Str empty = STR_EMPTY;
    AUTO(Matcher) *nothing = matcher_new(&empty, 1);
    assert_int_equal(matcher_match(nothing, matcher_step(nothing, MATCHER_START, 'a')), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_matches_a_naive_search),
        cmocka_unit_test(all_bytes_can_be_in_needles),
        cmocka_unit_test(without_needles_nothing_matches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
