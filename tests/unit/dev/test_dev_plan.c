#include "dev/dev_plan.h"

#include "lang/json.h"
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

static bool has_words(const char *const *words, const char *option, const char *value)
{
    for (; words[0] != NULL && words[1] != NULL; words++) {
        if (strcmp(words[0], option) == 0 && strcmp(words[1], value) == 0) {
            return true;
        }
    }
    return false;
}

static void nodes_have_names_and_addresses(void **state)
{
    Arena *arena = *state;
    assert_string_equal(dev_node_name(arena, 0), "node1");
    assert_string_equal(dev_node_address(arena, 0), "10.13.37.1");
    assert_string_equal(dev_node_name(arena, 99), "node100");
    assert_string_equal(dev_node_address(arena, 99), "10.13.37.100");
    assert_true(DEV_NODES_MAX < DEV_HUB_ADDRESS);
}

static void each_node_has_the_addresses_of_the_others(void **state)
{
    assert_str(dev_hosts(*state, 2),
               "127.0.0.1 localhost\n::1 localhost\n10.13.37.1 node1\n10.13.37.2 node2\n");
}

static void the_server_is_reachable_inside_and_outside(void **state)
{
    const char *const *words = dev_init_argv(*state, 4711);
    assert_string_equal(words[1], "init");
    assert_true(has_words(words, "--name", "node1"));
    assert_true(has_words(words, "--api", "0.0.0.0:4711"));
    assert_true(has_words(words, "--address", "10.13.37.1"));
    assert_true(has_words(words, "--address", "127.0.0.1"));
    assert_true(has_words(words, "--address", "localhost"));
}

/* All users can see the arguments of a process. */
static void a_token_is_not_an_argument(void **state)
{
    const char *const *words = dev_join_argv(*state, 4711, 2, "sha256:00");
    assert_string_equal(words[1], "join");
    assert_true(has_words(words, "--server", "10.13.37.1:4711"));
    assert_true(has_words(words, "--token", "-"));
    assert_true(has_words(words, "--ca-pin", "sha256:00"));
    assert_true(has_words(words, "--name", "node3"));
}

static void other_processes_learn_its_location(void **state)
{
    Arena *arena = *state;
    const int64_t processes[] = { 11, 12 };
    DevDescription description = { .path = "/tmp/x",
                                   .port = 4711,
                                   .count = 2,
                                   .processes = processes,
                                   .ca_pin = STR("sha256:00"),
                                   .token = STR("eden_x") };
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    assert_true(json_print(&text, dev_describe(arena, &description), NULL, &err));
    assert_str(buf_str(&text),
               "{\"format\":\"eden.dev/1\",\"directory\":\"/tmp/x\","
               "\"api\":\"https://127.0.0.1:4711\",\"run_dir\":\"/tmp/x/node1/run\","
               "\"ca_pin\":\"sha256:00\",\"token\":\"eden_x\",\"nodes\":["
               "{\"name\":\"node1\",\"address\":\"10.13.37.1\",\"run_dir\":\"/tmp/x/node1/run\","
               "\"process\":11},"
               "{\"name\":\"node2\",\"address\":\"10.13.37.2\",\"run_dir\":\"/tmp/x/node2/run\","
               "\"process\":12}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_have_names_and_addresses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_node_has_the_addresses_of_the_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_server_is_reachable_inside_and_outside, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_token_is_not_an_argument, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_processes_learn_its_location, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
