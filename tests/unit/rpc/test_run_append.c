#include "rpc/run_append.h"

#include "unit.h"

static void requests_and_replies_survive_a_round_trip(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf bytes = buf_make_in(&arena, BUF_UNLIMITED);
    RunAppend in = { STR("web1"), STR("r1"), UINT64_MAX, STR("{\"n\":7}\n\0x\n") }, out;
    Error err;
    uint64_t next;
    run_append_encode(&in, &bytes);
    assert_true(run_append_decode(&arena, buf_str(&bytes), &out, &err));
    assert_true(str_eq(out.node, in.node) && str_eq(out.run, in.run) &&
                str_eq(out.lines, in.lines));
    assert_int_equal(out.from, UINT64_MAX);
    buf_reset(&bytes);
    run_append_reply_encode(8, &bytes);
    assert_true(run_append_reply_decode(buf_str(&bytes), &next, &err));
    assert_int_equal(next, 8);
}

static void damaged_and_oversized_requests_are_rejected(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf bytes = buf_make_in(&arena, BUF_UNLIMITED);
    char *lines = arena_alloc_zero(&arena, RUN_LINES_MAX + 1);
    RunAppend in = { STR("web1"), STR("r1"), 1, str_from(lines, RUN_LINES_MAX + 1) }, out;
    Error err;
    uint64_t next;
    run_append_encode(&in, &bytes);
    assert_false(run_append_decode(&arena, buf_str(&bytes), &out, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_false(run_append_decode(&arena, STR("\x0a\x05we"), &out, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_false(run_append_reply_decode(STR("\x08"), &next, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_and_replies_survive_a_round_trip),
        cmocka_unit_test(damaged_and_oversized_requests_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
