#include "server/own_files.h"

#include "membership/lost_settings.h"
#include "scratch.h"
#include "server/cluster_setup.h"

#define NOW_MS 1800000000000

/* While a cluster is being created or restored, no file of the previous one is added. */
static void files_missing_in_another_cluster_are_left_to_it(void **state)
{
    Scratch *scratch = *state;
    const Str names[] = { STR("s1") };
    ClusterSpec founding = { .state_dir = scratch_place(scratch, "state"),
                             .settings = { .cluster = "blue",
                                           .node = "s1",
                                           .rpc = STR("0.0.0.0:1337"),
                                           .api = STR("[::]:1338"),
                                           .names = names,
                                           .name_count = COUNT_OF(names) },
                             .now_ms = NOW_MS };
    AUTO_CLEAR(Directory) server = { .descriptor = -1 };
    Pin ca;
    Error err;
    assert_true(cluster_create(&founding, &ca, &err));
    assert_true(directory_open(scratch_place(scratch, "state/server"), &server, &err));
    assert_true(directory_write(&server, CREATE_UNFINISHED, STR_EMPTY, false, &err));
    assert_true(directory_remove(&server, SERVER_NODE, &err));
    assert_true(directory_remove(&server, SERVER_CA, &err));
    OwnFiles files = { .state_dir = founding.state_dir,
                       .directory = &server,
                       .settings = &founding.settings };
    assert_false(own_files_restore(&files));
    assert_false(directory_has(&server, SERVER_NODE));
    assert_false(directory_has(&server, SERVER_CA));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_missing_in_another_cluster_are_left_to_it,
                                        scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
