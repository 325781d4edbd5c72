/* Steps that request a reboot or power-off. */
#include "run/shutdown.h"

#include "modules/call.h"
#include "run/test_dir.h"

enum {
    STEPS = 3
};

typedef struct World {
    Step steps[STEPS];
    StepReport reports[STEPS];
    Graph graph;
    Directory state;
    Run run;
} World;

static void prepare(World *world, TestDir *dir)
{
    static const char *const ids[STEPS] = { "job#first", "job#between", "job#last" };
    Error err;
    *world = (World){ .state = { .descriptor = -1 } };
    Map *facts = map_new(&dir->arena, 1);
    map_set_str(&dir->arena, facts, STR("boot_id"), value_string(STR("boot-1")));
    for (uint32_t i = 0; i < STEPS; i++) {
        world->steps[i].id = str_from_c(ids[i]);
    }
    world->graph.steps = (Steps){ .items = world->steps, .count = STEPS };
    const char *state = test_dir_path(dir, "state");
    world->run = (Run){
        .arena = &dir->arena,
        .problems = &dir->problems,
        .facts = value_map(facts),
        .steps = world->graph.steps,
        .graph = &world->graph,
        .home = STR("/srv/site"),
        .now.report = { .items = world->reports },
        .config = { .path = "/nowhere/site", .root = "/", .state = state, .etc = "/nowhere/etc" }
    };
    assert_int_equal(mkdir(state, 0700), 0);
    assert_true(directory_open(state, &world->state, &err));
    assert_true(host_open(dir->path, &world->run.host, &err));
    run_shutdown_load(&world->run);
}

static void finish(World *world, TestDir *dir)
{
    host_close(world->run.host);
    directory_close(&world->state);
    nftw(test_dir_path(dir, "state"), test_dir_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A power-off takes precedence over a reboot; and a reboot into the firmware was requested for a
 * reason. */
static void the_strongest_request_counts(void **state)
{
    TestDir *dir = *state;
    for (int first = SHUTDOWN_KEXEC; first <= SHUTDOWN_POWEROFF; first++) {
        for (int last = SHUTDOWN_KEXEC; last <= SHUTDOWN_POWEROFF; last++) {
            World world;
            Error err;
            prepare(&world, dir);
            ShutdownRequest requests[] = {
                { .kind = (ShutdownKind)first, .resumes = first == SHUTDOWN_REBOOT },
                { .kind = (ShutdownKind)last, .resumes = last == SHUTDOWN_REBOOT }
            };
            world.reports[0].shutdown = &requests[0];
            world.reports[2].shutdown = &requests[1];
            run_shutdown_prepare(&world.run, &world.state);
            bool resumes = first == SHUTDOWN_REBOOT || last == SHUTDOWN_REBOOT;
            assert_int_equal(run_shutdown_ready(&world.run, &err), !resumes);
            assert_int_equal(world.run.now.shutdown->kind, first > last ? first : last);
            /* Of two equally strong requests, the first one determines the delay and the
             * message. */
            assert_ptr_equal(world.run.now.shutdown, first >= last ? &requests[0] : &requests[1]);
            Resume recorded;
            assert_int_equal(resume_load(world.run.config.state, &dir->arena, STR_EMPTY,
                                         STR("/srv/site"), &recorded),
                             !resumes);
            if (resumes) { /* the directory is in /tmp, where other users could put another note */
                assert_non_null(strstr(err.text, "the directory '/tmp'"));
            } else {
                assert_false(recorded.resumes);
                assert_int_equal(recorded.step_count, 2);
                assert_non_null(resume_find(&recorded, STR("job#first")));
                assert_null(resume_find(&recorded, STR("job#between")));
                assert_str(resume_find(&recorded, STR("job#last"))->boot, "boot-1");
            }
            finish(&world, dir);
        }
    }
}

static void without_a_request_the_machine_stays_up(void **state)
{
    TestDir *dir = *state;
    World world;
    prepare(&world, dir);
    run_shutdown_prepare(&world.run, &world.state);
    assert_null(world.run.now.shutdown);
    assert_null(run_shutdown_name(&world.run));
    ShutdownRequest request = { .kind = SHUTDOWN_REBOOT };
    world.reports[1].shutdown = &request;
    world.run.now.report.interrupted = true; /* a user who interrupts a run wants to check first */
    run_shutdown_prepare(&world.run, &world.state);
    assert_null(world.run.now.shutdown);
    finish(&world, dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIR(the_strongest_request_counts),
        TEST_IN_DIR(without_a_request_the_machine_stays_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
