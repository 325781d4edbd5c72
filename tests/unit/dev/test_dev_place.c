#include "dev/dev_place.h"
#include "dev/dev_plan.h"

#include "sys/file.h"
#include "sys/privilege.h"
#include "unit.h"

static int set_up(void **state)
{
    static Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    *state = &arena;
    return 0;
}

static int tear_down(void **state)
{
    arena_clear(*state);
    return 0;
}

static DevPlace make(Arena *arena)
{
    DevPlace place;
    Error err;
    if (!dev_place_make(arena, 2, &place, &err)) {
        fail_msg("%s", err.text);
    }
    return place;
}

static bool has(Arena *arena, const DevPlace *place, const char *name)
{
    return file_exists(arena_format(arena, "%s/%s", place->folder, name).data);
}

static void it_has_what_each_node_needs_until_it_is_removed(void **state)
{
    DevPlace place = make(*state);
    assert_true(has(*state, &place, "node1/run"));
    assert_true(has(*state, &place, "node2/space"));
    assert_false(has(*state, &place, "node3"));
    dev_place_remove(&place);
    assert_false(file_exists(place.folder));
}

static void one_in_which_somebody_lives_stays(void **state)
{
    DevPlace one = make(*state), other = make(*state);
    assert_true(has(*state, &one, "node1"));
    dev_place_remove(&one);
    dev_place_remove(&other);
}

static void one_that_was_left_goes_when_the_next_is_made(void **state)
{
    DevPlace left = make(*state);
    file_lock_release(&left.lock); /* as the end of its process does */
    DevPlace next = make(*state);
    assert_false(file_exists(left.folder));
    dev_place_remove(&next);
}

static void others_find_it_once_it_is_described(void **state)
{
    Arena *arena = *state;
    DevPlace place = make(arena);
    const int64_t processes[] = { 7 };
    Value known = dev_describe(
        arena,
        &(DevCard){ .folder = place.folder, .port = 1338, .count = 1, .processes = processes });
    Value card;
    Error err;
    assert_false(dev_place_find(arena, place.folder, &card, &err));
    assert_true(dev_place_describe(&place, arena, known, &err));
    assert_true(dev_place_find(arena, place.folder, &card, &err));
    assert_str(value_str(map_find_str(card.map, STR("api"))->value), "https://127.0.0.1:1338");
    file_lock_release(&place.lock);
    assert_false(dev_place_find(arena, place.folder, &card, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    dev_place_remove(&place);
}

static void what_is_no_description_is_not_believed(void **state)
{
    Arena *arena = *state;
    DevPlace place = make(arena);
    static const int64_t processes[] = { 0 }; /* which would be the group of who asks */
    DevCard bad = { .folder = place.folder, .port = 1338, .count = 1, .processes = processes };
    Value other = dev_describe(arena, &(DevCard){ .folder = place.folder, .port = 1338 });
    Value card = value_missing();
    Error err;
    map_set_str(arena, other.map, STR("format"), value_string(STR("eden.dev/2")));
    assert_true(dev_place_describe(&place, arena, other, &err));
    assert_false(dev_place_find(arena, place.folder, &card, &err));
    assert_non_null(strstr(err.text, "format 'eden.dev/2' is not supported"));
    assert_true(dev_place_describe(&place, arena, dev_describe(arena, &bad), &err));
    assert_false(dev_place_find(arena, place.folder, &card, &err));
    assert_non_null(strstr(err.text, "process"));
    dev_place_remove(&place);
}

static void that_of_another_user_is_not_believed(void **state)
{
    enum {
        NOBODY = 65534
    };
    Arena *arena = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    DevPlace place = make(arena);
    const char *folder = "/"; /* of root, for who is not */
    Value known = dev_describe(arena, &(DevCard){ .folder = place.folder, .port = 1338 });
    Value card;
    Error err;
    assert_true(dev_place_describe(&place, arena, known, &err));
    assert_true(dev_place_find(arena, place.folder, &card, &err));
    if (privileges_are_root()) {
        folder = place.folder;
        assert_true(directory_open(folder, &directory, &err));
        assert_true(directory_give(&directory, NOBODY, NOBODY, &err));
    }
    assert_false(dev_place_find(arena, folder, &card, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    dev_place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_has_what_each_node_needs_until_it_is_removed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_in_which_somebody_lives_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_was_left_goes_when_the_next_is_made, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(others_find_it_once_it_is_described, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_description_is_not_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(that_of_another_user_is_not_believed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
