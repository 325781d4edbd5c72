#include "dev/dev_directory.h"
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

static DevDirectory make(Arena *arena)
{
    DevDirectory location;
    Error err;
    if (!dev_directory_create(arena, 2, &location, &err)) {
        fail_msg("%s", err.text);
    }
    return location;
}

static bool has(Arena *arena, const DevDirectory *location, const char *name)
{
    return file_exists(arena_format(arena, "%s/%s", location->path, name).data);
}

static void it_has_a_directory_for_each_node_until_removed(void **state)
{
    DevDirectory location = make(*state);
    assert_true(has(*state, &location, "node1/run"));
    assert_true(has(*state, &location, "node2/space"));
    assert_false(has(*state, &location, "node3"));
    dev_directory_remove(&location);
    assert_false(file_exists(location.path));
}

static void a_directory_in_use_is_kept(void **state)
{
    DevDirectory one = make(*state), other = make(*state);
    assert_true(has(*state, &one, "node1"));
    dev_directory_remove(&one);
    dev_directory_remove(&other);
}

static void an_abandoned_directory_is_removed_by_the_next_cluster(void **state)
{
    DevDirectory left = make(*state);
    file_lock_release(&left.lock); /* like the exit of its process does */
    DevDirectory next = make(*state);
    assert_false(file_exists(left.path));
    dev_directory_remove(&next);
}

static void other_processes_find_it_once_described(void **state)
{
    Arena *arena = *state;
    DevDirectory location = make(arena);
    const int64_t processes[] = { 7 };
    Value known = dev_describe(
        arena, &(DevDescription){
                   .path = location.path, .port = 1338, .count = 1, .processes = processes });
    Value description;
    Error err;
    assert_false(dev_directory_find(arena, location.path, &description, &err));
    assert_true(dev_directory_publish(&location, arena, known, &err));
    assert_true(dev_directory_find(arena, location.path, &description, &err));
    assert_str(value_str(map_find_str(description.map, STR("api"))->value),
               "https://127.0.0.1:1338");
    file_lock_release(&location.lock);
    assert_false(dev_directory_find(arena, location.path, &description, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    dev_directory_remove(&location);
}

static void invalid_descriptions_are_ignored(void **state)
{
    Arena *arena = *state;
    DevDirectory location = make(arena);
    static const int64_t processes[] = { 0 }; /* which would be the group of the caller */
    DevDescription bad = {
        .path = location.path, .port = 1338, .count = 1, .processes = processes
    };
    Value other = dev_describe(arena, &(DevDescription){ .path = location.path, .port = 1338 });
    Value description = value_missing();
    Error err;
    map_set_str(arena, other.map, STR("format"), value_string(STR("eden.dev/2")));
    assert_true(dev_directory_publish(&location, arena, other, &err));
    assert_false(dev_directory_find(arena, location.path, &description, &err));
    assert_non_null(strstr(err.text, "format 'eden.dev/2' is not supported"));
    assert_true(dev_directory_publish(&location, arena, dev_describe(arena, &bad), &err));
    assert_false(dev_directory_find(arena, location.path, &description, &err));
    assert_non_null(strstr(err.text, "process"));
    dev_directory_remove(&location);
}

static void descriptions_of_other_users_are_ignored(void **state)
{
    enum {
        NO_USER = 65534
    };
    Arena *arena = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    DevDirectory location = make(arena);
    const char *path = "/"; /* of root, for another user */
    Value known = dev_describe(arena, &(DevDescription){ .path = location.path, .port = 1338 });
    Value description;
    Error err;
    assert_true(dev_directory_publish(&location, arena, known, &err));
    assert_true(dev_directory_find(arena, location.path, &description, &err));
    if (running_as_root()) {
        path = location.path;
        assert_true(directory_open(path, &directory, &err));
        assert_true(directory_give(&directory, NO_USER, NO_USER, &err));
    }
    assert_false(dev_directory_find(arena, path, &description, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    dev_directory_remove(&location);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_has_a_directory_for_each_node_until_removed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_directory_in_use_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_abandoned_directory_is_removed_by_the_next_cluster,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_processes_find_it_once_described, set_up, tear_down),
        cmocka_unit_test_setup_teardown(invalid_descriptions_are_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(descriptions_of_other_users_are_ignored, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
