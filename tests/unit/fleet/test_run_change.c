/* Creating and canceling runs, also if the store fails or its responses are lost. */
#include "fleet/run_change.h"

#include "lossy_store.h"
#include "store_world.h"

static Str targets[] = { { "a", 1 } }, command[] = { { "true", 4 } };
static const FleetRun run = { .id = "r1",
                              .kind = RUN_KIND_EXEC,
                              .requested_by = { "ann", 3 },
                              .targets = targets,
                              .target_count = 1,
                              .command = command,
                              .command_count = 1,
                              .created_ms = 1 };

typedef struct Fixture {
    StoreWorld world;
    LossyStore lossy;
    Store *real;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    f->world.cluster_store.store =
        lossy_open(&f->lossy, f->world.cluster_store.loop, f->world.cluster_store.store, NULL, 0);
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

static Str key(Fixture *f)
{
    return key_make(&f->world.arena, PREFIX, KEY_RUN, (Str[]){ STR("r1") }, 1);
}

static FleetRun stored(Fixture *f)
{
    FleetRun found;
    Error err;
    WorldValue value = world_get(&f->world, key(f));
    assert_true(value.there);
    assert_true(fleet_run_read(&f->world.arena, value.value, &found, &err));
    return found;
}

static void create(Fixture *f, ErrorKind kind)
{
    fleet_run_create(&f->world.cluster_store, &run, world_done, &f->world);
    for (int i = 0; i < 1000 && !f->world.is_done; i++) {
        world_pass(&f->world);
    }
    world_expect(&f->world, kind, NULL);
}

static void cancel_at(Fixture *f, const char *id, bool now, ErrorKind kind, const char *piece)
{
    fleet_run_cancel(&f->world.cluster_store, str_from_c(id), now, world_done, &f->world);
    for (int i = 0; i < 1000 && !f->world.is_done; i++) {
        world_pass(&f->world);
    }
    world_expect(&f->world, kind, piece);
}

static void cancel(Fixture *f, const char *id, ErrorKind kind, const char *piece)
{
    cancel_at(f, id, false, kind, piece);
}

static void a_run_is_created_once(void **state)
{
    Fixture *f = *state;
    create(f, ERROR_NONE);
    assert_str(stored(f).targets[0], "a");
    assert_int_equal(stored(f).state, RUN_PENDING);
    create(f, ERROR_CONFLICT);
}

static void a_lost_response_is_not_a_conflict(void **state)
{
    static const Fate lost[] = { FATE_ANSWER_LOST }, never[] = { FATE_REQUEST_LOST };
    Fixture *f = *state;
    lossy_set_fates(&f->lossy, lost, 1);
    create(f, ERROR_NONE);
    lossy_set_fates(&f->lossy, never, 1);
    cancel(f, "r1", ERROR_NONE, NULL);
    assert_true(stored(f).is_canceled);
}

static void a_store_that_rejects_is_an_error(void **state)
{
    static const Fate fates[] = { FATE_REFUSED };
    Fixture *f = *state;
    lossy_set_fates(&f->lossy, fates, 1);
    create(f, ERROR_UNAVAILABLE);
    assert_false(world_get(&f->world, key(f)).there);
    create(f, ERROR_NONE);
}

static void a_run_is_canceled_once(void **state)
{
    Fixture *f = *state;
    cancel(f, "r1", ERROR_NOT_FOUND, "run 'r1' not found");
    cancel(f, "../r1", ERROR_INVALID, NULL);
    create(f, ERROR_NONE);
    cancel(f, "r1", ERROR_NONE, NULL);
    assert_true(stored(f).is_canceled);
    int64_t revision = store_status(f->world.cluster_store.store).revision;
    cancel(f, "r1", ERROR_NONE, NULL);
    assert_int_equal(store_status(f->world.cluster_store.store).revision, revision);
}

static void canceling_becomes_urgent_and_stays_so(void **state)
{
    Fixture *f = *state;
    create(f, ERROR_NONE);
    cancel(f, "r1", ERROR_NONE, NULL);
    assert_false(stored(f).is_urgent);
    cancel_at(f, "r1", true, ERROR_NONE, NULL);
    assert_true(stored(f).is_canceled && stored(f).is_urgent);
    cancel(f, "r1", ERROR_NONE, NULL);
    assert_true(stored(f).is_urgent);
}

static void an_ended_run_does_not_change(void **state)
{
    Fixture *f = *state;
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    FleetRun ended = run;
    ended.state = RUN_ENDED;
    fleet_run_print(&ended, &text);
    world_put(&f->world, key(f), buf_str(&text));
    cancel(f, "r1", ERROR_CONFLICT, "has already ended");
    world_put(&f->world, key(f), STR("nonsense"));
    cancel(f, "r1", ERROR_INVALID, NULL);
    assert_str(world_get(&f->world, key(f)).value, "nonsense");
}

static void jobs_must_be_in_the_version(void **state)
{
    ManifestFile files[] = { { .path = STR("files/jobs/extra.yaml") },
                             { .path = STR("jobs/base.yaml") },
                             { .path = STR("jobs/db/main.yaml") },
                             { .path = STR("jobs/old.yml") },
                             { .path = STR("jobs/web.yaml") } };
    Str jobs[] = { STR("web"), STR("db/main"), STR("base"), STR("old"), STR("wbe"), STR("extra") };
    Manifest manifest = { files, COUNT_OF(files) };
    FleetRun many = { .version = "3f2a", .jobs = jobs, .job_count = 4 };
    uint32_t index;
    Error err;
    assert_true(fleet_run_check_jobs(&many, &manifest, &index, &err));
    many.job_count = 6;
    assert_false(fleet_run_check_jobs(&many, &manifest, &index, &err));
    assert_string_equal(err.text, "version 3f2a has no job 'wbe'; did you mean 'web'?");
    assert_int_equal(index, 4);
    jobs[4] = STR("web");
    assert_false(fleet_run_check_jobs(&many, &manifest, &index, &err));
    assert_string_equal(err.text, "version 3f2a has no job 'extra'");
    files[2] = (ManifestFile){ .path = STR("jobs/db"), .link = STR("../others") };
    assert_true(fleet_run_check_jobs(&many, &manifest, &index, &err));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_is_created_once),
        TEST(a_lost_response_is_not_a_conflict),
        TEST(a_store_that_rejects_is_an_error),
        TEST(a_run_is_canceled_once),
        TEST(canceling_becomes_urgent_and_stays_so),
        TEST(an_ended_run_does_not_change),
        cmocka_unit_test(jobs_must_be_in_the_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
