#include "base/arena.h"

#include "unit.h"

static void blocks_are_aligned_and_do_not_overlap(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char *blocks[2000];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        size_t size = i % 97;
        blocks[i] = arena_alloc(&arena, size);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i & 0x7f), size);
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        for (size_t j = 0; j < i % 97; j++) {
            assert_int_equal(blocks[i][j], i & 0x7f);
        }
    }
    assert_false(arena_exceeded(&arena));
}

static void zero_and_large_sizes_can_be_allocated(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_non_null(arena_alloc(&arena, 0)); /* before there is any chunk */
    assert_non_null(arena_alloc_zero(&arena, 0));
    assert_int_equal(arena.chunk_bytes, 0);
    char *large = arena_alloc_zero(&arena, 5 << 20); /* larger than any chunk */
    assert_int_equal(large[0] | large[(5 << 20) - 1], 0);
    assert_non_null(arena_alloc(&arena, 1));
    uint64_t *array = ARENA_ARRAY(&arena, uint64_t, 1000);
    memset(array, 1, 1000 * sizeof *array);
}

static void exceeding_the_budget_is_detected(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 100000);
    size_t handed_out = 0;
    while (!arena_exceeded(&arena)) {
        memset(arena_alloc(&arena, 160), 0, 160);
        handed_out += 160;
        assert_true(handed_out < 110000);
    }
    assert_true(handed_out > 90000); /* and not long before */
    arena_clear(&arena);
    assert_false(arena_exceeded(&arena));
    assert_int_equal(arena_used(&arena), 0);
    assert_non_null(arena_alloc(&arena, 10));
}

static void try_alloc_stays_within_the_budget(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 10000);
    assert_non_null(arena_alloc(&arena, 3000));
    assert_non_null(arena_try_alloc(&arena, 5000)); /* a new chunk that fits */
    assert_false(arena_exceeded(&arena));
    assert_null(arena_try_alloc(&arena, 5000));
    assert_true(arena_exceeded(&arena));
    assert_true(arena.chunk_bytes <= 10000);

    arena_clear(&arena);
    assert_null(arena_try_alloc(&arena, SIZE_MAX));
    assert_null(arena_try_alloc(&arena, SIZE_MAX - 20));
    assert_null(arena_try_alloc(&arena, 10000));
    assert_non_null(arena_try_alloc(&arena, 9000));

    AUTO_CLEAR(Arena) none;
    arena_init(&none, 0);
    assert_null(arena_try_alloc(&none, 1));
    assert_non_null(arena_alloc(&none, 1)); /* small allocations always succeed */
    assert_true(arena_exceeded(&none));
}

/* Every size near a chunk's end, so that no allocation is reported to fit and then exceeds it. */
static void try_alloc_is_exact_at_the_limit(void **state)
{
    for (size_t budget = 4000; budget < 4200; budget++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, budget);
        for (size_t size = 1; arena_try_alloc(&arena, size) != NULL; size += 37) {
            assert_false(arena_exceeded(&arena));
        }
        assert_true(arena.chunk_bytes <= budget);
    }
}

static void a_mark_releases_everything_after_it(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    ArenaMark empty = arena_mark(&arena);
    Str kept = arena_copy(&arena, STR("kept"));
    ArenaMark mark = arena_mark(&arena);
    size_t used = arena_used(&arena);
    char *first = arena_alloc(&arena, 100);
    for (int i = 0; i < 1000; i++) {
        arena_alloc(&arena, 1000); /* many chunks */
    }
    arena_release(&arena, mark);
    assert_int_equal(arena_used(&arena), used);
    assert_str(kept, "kept");
    assert_ptr_equal(arena_alloc(&arena, 100), first); /* the same memory again */
    arena_release(&arena, empty);
    assert_int_equal(arena.chunk_bytes, 0);
    assert_non_null(arena_alloc(&arena, 0));
    assert_non_null(arena_alloc(&arena, 50));
}

static void growing_preserves_the_content(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char *block = arena_grow(&arena, NULL, 0, 10);
    memcpy(block, "0123456789", 10);
    assert_ptr_equal(arena_grow(&arena, block, 10, 500), block); /* the newest grows in place */
    arena_alloc(&arena, 1);
    char *moved = arena_grow(&arena, block, 500, 600);
    assert_ptr_not_equal(moved, block);
    assert_memory_equal(moved, "0123456789", 10);
    char *huge = arena_grow(&arena, moved, 600, 3 << 20); /* past the chunk */
    assert_memory_equal(huge, "0123456789", 10);
    memset(huge, 0, 3 << 20);
}

static void a_large_block_grows_in_place(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str before = arena_copy(&arena, STR("before"));
    ArenaMark mark = arena_mark(&arena);
    size_t size = 100000;
    char *block = arena_regrow(&arena, NULL, 0, size);
    memset(block, 'x', size);
    for (; size < 50 << 20; size *= 2) {
        block = arena_regrow(&arena, block, size, size * 2);
        assert_int_equal(block[0], 'x');
        assert_int_equal(block[size - 1], 'x');
        memset(block, 'x', size * 2);
        assert_true(arena.chunk_bytes < size * 2 + 10000);
    }
    char *next = arena_alloc(&arena, 10); /* now it is not the newest any more */
    memset(next, 'y', 10);
    char *moved = arena_regrow(&arena, block, size, size + 1);
    assert_ptr_not_equal(moved, block);
    assert_int_equal(moved[size - 1], 'x');
    assert_int_equal(next[9], 'y');
    arena_release(&arena, mark);
    assert_str(before, "before");
    assert_int_equal(arena.chunk_bytes, 4096);
}

static void growth_respects_the_budget(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 1 << 20);
    assert_true(arena_can_grow(&arena, NULL, 0, 1000000));
    assert_false(arena_can_grow(&arena, NULL, 0, 1 << 20)); /* the chunk needs some bytes too */
    assert_false(arena_can_grow(&arena, NULL, 0, SIZE_MAX));
    char *block = arena_regrow(&arena, NULL, 0, 600000);
    assert_true(arena_can_grow(&arena, block, 600000, 1000000));
    char *other = arena_alloc(&arena, 100);
    assert_false(arena_can_grow(&arena, block, 600000, 1000000)); /* both would be kept */
    assert_true(arena_can_grow(&arena, other, 100, 4000));
    assert_false(arena_exceeded(&arena));
    arena_regrow(&arena, other, 100, 500000);
    assert_true(arena_exceeded(&arena));
    assert_true(arena_can_grow(&arena, NULL, 0, 4000)); /* such as a message */
}

static void shrinking_releases_the_tail(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char *block = arena_alloc(&arena, 1000);
    arena_shrink(&arena, block, 1000, 100);
    assert_ptr_equal((char *)arena_alloc(&arena, 1), block + 112);
    arena_shrink(&arena, block, 100, 10); /* not the newest any more: no effect */
    assert_ptr_equal((char *)arena_alloc(&arena, 1), block + 128);
}

static void impossible_sizes_are_rejected(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    arena_alloc(&arena, 100);
    volatile size_t huge = SIZE_MAX;
    assert_bug(arena_alloc(&arena, huge));
    assert_bug(arena_alloc(&arena, huge - 20));
    assert_bug((void)ARENA_ARRAY(&arena, uint64_t, huge / 8 + 2)); /* wraps around to 8 bytes */
    assert_bug(arena_grow(&arena, arena_alloc(&arena, 100), 100, 50));
}

static void strings_are_copied_and_formatted(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char bytes[] = "text";
    Str copy = arena_copy(&arena, str_from(bytes, 4));
    char *terminated = arena_copy_c(&arena, str_from(bytes, 2));
    bytes[0] = 'X';
    assert_str(copy, "text");
    assert_string_equal(terminated, "te");
    assert_string_equal(arena_copy_c(&arena, (Str){ NULL, 0 }), "");
    assert_str(arena_copy(&arena, (Str){ NULL, 0 }), "");
    assert_str(arena_join(&arena, STR("job"), STR("#"), STR("step")), "job#step");
    assert_str(arena_join(&arena, STR("path:"), STR("/"), STR_EMPTY), "path:/");
    assert_str(arena_join(&arena, STR_EMPTY, (Str){ NULL, 0 }, STR_EMPTY), "");
    assert_str(arena_format(&arena, "%s-%d", "a", 7), "a-7");
    assert_str(arena_format(&arena, "%s", ""), "");
    for (int len = 250; len < 262; len++) {
        char wanted[300];
        memset(wanted, 'a', sizeof wanted);
        wanted[len] = '\0';
        Str text = arena_format(&arena, "%s", wanted);
        assert_str(text, wanted);
        assert_int_equal(text.data[len], '\0');
    }
}

#ifdef POISON_WORKS
/* Only AddressSanitizer can detect it; make test runs the unit tests with it as well. */
static void unallocated_bytes_are_poisoned(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char *first = arena_alloc(&arena, 20);
    assert_null(__asan_region_is_poisoned(first, 20));
    assert_true(__asan_address_is_poisoned(first + 20));

    ArenaMark mark = arena_mark(&arena);
    char *second = arena_alloc(&arena, 40);
    assert_ptr_equal(arena_grow(&arena, second, 40, 50), second);
    assert_null(__asan_region_is_poisoned(second, 50));
    assert_true(__asan_address_is_poisoned(second + 50));
    arena_shrink(&arena, second, 50, 10);
    assert_true(__asan_address_is_poisoned(second + 10));
    arena_release(&arena, mark);
    assert_true(__asan_address_is_poisoned(second));

    char *large = arena_alloc(&arena, 1 << 20);
    assert_null(__asan_region_is_poisoned(large, 1 << 20));
    arena_release(&arena, mark);
    assert_true(__asan_address_is_poisoned(second));
    arena_reset(&arena);
    assert_true(__asan_address_is_poisoned(first));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_do_not_overlap),
        cmocka_unit_test(zero_and_large_sizes_can_be_allocated),
        cmocka_unit_test(exceeding_the_budget_is_detected),
        cmocka_unit_test(try_alloc_stays_within_the_budget),
        cmocka_unit_test(try_alloc_is_exact_at_the_limit),
        cmocka_unit_test(a_mark_releases_everything_after_it),
        cmocka_unit_test(growing_preserves_the_content),
        cmocka_unit_test(a_large_block_grows_in_place),
        cmocka_unit_test(growth_respects_the_budget),
        cmocka_unit_test(shrinking_releases_the_tail),
        cmocka_unit_test(impossible_sizes_are_rejected),
        cmocka_unit_test(strings_are_copied_and_formatted),
#ifdef POISON_WORKS
        cmocka_unit_test(unallocated_bytes_are_poisoned),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
