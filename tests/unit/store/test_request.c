#include "store/request.h"

#include "unit.h"

/* A caller may reuse its memory while the store still executes the transaction. */
static void a_copied_transaction_shares_nothing(void **state)
{
    AUTO_CLEAR(Arena) arena;
    char texts[] = "abcdefgh";
    arena_init(&arena, ARENA_UNLIMITED);
    StoreCompare compare = { .target = STORE_VALUE,
                             .key = { texts, 1 },
                             .value = { texts + 1, 1 } };
    StoreOp put = { .kind = STORE_PUT, .key = { texts + 2, 1 }, .value = { texts + 3, 1 } };
    StoreOp range = { .kind = STORE_RANGE, .key = { texts + 4, 1 }, .end = { texts + 5, 1 } };
    StoreTxn txn = { .compares = &compare,
                     .compare_count = 1,
                     .success = &put,
                     .success_count = 1,
                     .failure = &range,
                     .failure_count = 1 };
    StoreTxn copy = request_copy_txn(&arena, &txn);
    memset(texts, 'x', sizeof texts - 1);
    memset(&compare, 0, sizeof compare);
    memset(&put, 0, sizeof put);
    memset(&range, 0, sizeof range);
    assert_int_equal(copy.compares[0].target, STORE_VALUE);
    assert_str(copy.compares[0].key, "a");
    assert_str(copy.compares[0].value, "b");
    assert_int_equal(copy.success[0].kind, STORE_PUT);
    assert_str(copy.success[0].key, "c");
    assert_str(copy.success[0].value, "d");
    assert_int_equal(copy.failure[0].kind, STORE_RANGE);
    assert_str(copy.failure[0].key, "e");
    assert_str(copy.failure[0].end, "f");
}

static void the_end_of_a_prefix_follows_all_its_keys(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char beyond[] = "\xff\xff\xff";
    assert_str(store_prefix_end(&arena, STR("a")), "b");
    assert_str(store_prefix_end(&arena, STR("a\xff\xff")), "b");
    Str all = store_prefix_end(&arena, STR_EMPTY);
    /* What precedes the prefix in memory does not matter. */
    assert_true(str_eq(store_prefix_end(&arena, (Str){ beyond + 1, 2 }), all));
    assert_true(str_eq(store_prefix_end(&arena, (Str){ beyond + 1, 0 }), all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copied_transaction_shares_nothing),
        cmocka_unit_test(the_end_of_a_prefix_follows_all_its_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
