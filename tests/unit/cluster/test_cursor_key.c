#include "cluster/cursor_key.h"

#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    uint32_t calls;
    SealKey key;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    world_close(&f->world);
    free(f);
    return 0;
}

static void known(void *context, const SealKey *key, const Error *err)
{
    Fixture *f = context;
    assert_true(key != NULL && err == NULL);
    f->calls++;
    f->key = *key;
}

/* Like a server that has just started. */
static SealKey key_of_new_server(Fixture *f)
{
    CursorKey *key = cursor_key_new(&f->world.cluster_store);
    f->calls = 0;
    cursor_key_get(key, known, f);
    cursor_key_get(key, known, f);
    assert_int_equal(f->calls, 0);
    world_pass(&f->world);
    assert_int_equal(f->calls, 2);
    cursor_key_get(key, known, f);
    assert_int_equal(f->calls, 3);
    cursor_key_free(key);
    return f->key;
}

static void all_servers_have_the_same_key(void **state)
{
    Fixture *f = *state;
    SealKey first = key_of_new_server(f), second = key_of_new_server(f);
    assert_memory_equal(first.bytes, second.bytes, SEAL_KEY);
}

static void an_unreadable_key_is_replaced(void **state)
{
    static const char *const records[] = { "", "{}",
                                           "{\"format\":\"eden.cursor-key/1\",\"secret\":\"00\"}",
                                           "{\"format\":\"eden.cursor-key/2\",\"secret\":\"00\"}" };
    Fixture *f = *state;
    Str place = cluster_key_cursor_key(&f->world.arena, PREFIX);
    for (size_t i = 0; i < COUNT_OF(records); i++) {
        world_put(&f->world, place, str_from_c(records[i]));
        SealKey first = key_of_new_server(f), second = key_of_new_server(f);
        assert_memory_equal(first.bytes, second.bytes, SEAL_KEY);
    }
}

static void concurrent_creators_agree(void **state)
{
    Fixture *f = *state;
    Fixture other = { 0 };
    CursorKey *one = cursor_key_new(&f->world.cluster_store),
              *two = cursor_key_new(&f->world.cluster_store);
    cursor_key_get(one, known, f);
    cursor_key_get(two, known, &other);
    world_pass(&f->world);
    assert_int_equal(f->calls + other.calls, 2);
    assert_memory_equal(f->key.bytes, other.key.bytes, SEAL_KEY);
    cursor_key_free(one);
    cursor_key_free(two);
}

static void waiters_are_called_when_it_is_freed(void **state)
{
    Fixture *f = *state;
    CursorKey *key = cursor_key_new(&f->world.cluster_store);
    cursor_key_get(key, known, f);
    cursor_key_free(key);
    assert_int_equal(f->calls, 0);
    world_pass(&f->world);
    assert_int_equal(f->calls, 1);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(all_servers_have_the_same_key),
        ROW(an_unreadable_key_is_replaced),
        ROW(concurrent_creators_agree),
        ROW(waiters_are_called_when_it_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
