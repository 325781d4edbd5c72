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

/* Keys, ends and values of both branches, and of comparisons. */
static void all_bytes_of_a_transaction_count(void **state)
{
    enum {
        MANY = 4
    };
    static char text[STORE_VALUE_MAX];
    Str key = { text, 100 }, end = { text, 90 }, value = { text, 1000 };
    StoreCompare compares[MANY];
    StoreOp gets[MANY], deletes[MANY], put = { .kind = STORE_PUT, .key = STR("x"), .value = value };
    StoreTxn txn = { .compares = compares,
                     .compare_count = MANY,
                     .success = gets,
                     .success_count = MANY,
                     .failure = deletes,
                     .failure_count = MANY };
    size_t bytes;
    Error err;
    memset(text, 'k', sizeof text);
    for (int i = 0; i < MANY; i++) {
        compares[i] = (StoreCompare){ STORE_VALUE, STORE_EQUAL, key, .value = value };
        gets[i] = (StoreOp){ .kind = STORE_RANGE, .key = end, .end = key };
        deletes[i] = (StoreOp){ .kind = STORE_DELETE, .key = (Str){ text, 100 + (size_t)i } };
    }
    assert_true(request_check_txn(&txn, &bytes, &err));
    assert_int_equal(bytes, MANY * (100 + 1000) + MANY * (90 + 100) + MANY * 100 + 6);
    deletes[0] = put;
    assert_true(request_check_txn(&txn, &bytes, &err));
    assert_int_equal(bytes, MANY * (100 + 1000) + MANY * (90 + 100) + MANY * 100 + 6 - 100 + 1001);
}

static void a_transaction_has_a_limit(void **state)
{
    static char text[STORE_VALUE_MAX];
    StoreOp puts[2] = { { .kind = STORE_PUT, .key = STR("a") },
                        { .kind = STORE_PUT, .key = STR("b") } };
    StoreTxn txn = { .success = puts, .success_count = 2 };
    size_t bytes;
    Error err;
    memset(text, 'v', sizeof text);
    puts[0].value = (Str){ text, STORE_VALUE_MAX };
    puts[1].value = (Str){ text, STORE_REQUEST_MAX - STORE_VALUE_MAX - 2 };
    assert_true(request_check_txn(&txn, &bytes, &err));
    assert_int_equal(bytes, STORE_REQUEST_MAX);
    puts[1].key = STR("bb");
    assert_false(request_check_txn(&txn, &bytes, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
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
        cmocka_unit_test(all_bytes_of_a_transaction_count),
        cmocka_unit_test(a_transaction_has_a_limit),
        cmocka_unit_test(the_end_of_a_prefix_follows_all_its_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
