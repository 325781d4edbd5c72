#include "run/provisions.h"

#include <stdlib.h>

#include "unit.h"

enum {
    STEPS = 4
};

/* A graph of four steps in file order, each with claims. */
typedef struct Fixture {
    Arena arena;
    Graph graph;
    Step steps[STEPS];
    StepSpec spec;
    Action action;
    Module module;
    ParamSpec params[1];
    uint32_t position[STEPS];
    Provisions *provisions;
} Fixture;

static int set_up(void **state)
{
    static const char *const ids[] = { "web#one", "web#two", "web#three", "web#four" };
    Fixture *f = calloc(1, sizeof *f);
    arena_init(&f->arena, ARENA_UNLIMITED);
    f->action = (Action){ .name = "act", .params = f->params };
    f->module = (Module){ .name = "test", .actions = &f->action };
    f->spec = (StepSpec){ .module = &f->module, .action = &f->action };
    for (uint32_t i = 0; i < STEPS; i++) {
        f->steps[i] = (Step){ .index = i, .spec = &f->spec, .id = str_from_c(ids[i]) };
        f->position[i] = i;
    }
    f->graph = (Graph){ .steps = { .items = f->steps, .count = STEPS }, .position = f->position };
    f->provisions = provisions_new(&f->graph);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    provisions_free(f->provisions);
    arena_clear(&f->arena);
    free(f);
    return 0;
}

static void claim(Fixture *f, uint32_t step, const char *text)
{
    if (f->steps[step].claims == NULL) {
        f->steps[step].claims = list_new(&f->arena, 2);
    }
    list_push(&f->arena, f->steps[step].claims, value_string(str_from_c(text)));
}

/* The message about step four; "": nothing provides it. */
static Str ask(Fixture *f, const char *class, const char *name)
{
    Str why = STR_EMPTY;
    (void)!provisions_find(f->provisions, 3, class, str_from_c(name), &f->arena, &why);
    return why;
}

static void managed_resources_are_provided(void **state)
{
    static const struct {
        const char *claim, *class, *name, *why;
    } rows[] = {
        { "user:app", "user", "app", "user 'app' is provided by step 'web#one'" },
        { "user:app", "user", "web", "" },
        { "user:app", "group", "app", "" },
        { "needs:user:app", "user", "app", "" },
        { "path:/srv/a", "path", "/srv/a", "'/srv/a' is provided by step 'web#one'" },
        { "path:/srv/a", "path", "/srv/ab", "" },
        { "path:/srv/a", "path", "/srv/a/b", "" },
        { "path:/srv/a/b", "path", "/srv/a/", "'/srv/a' may be provided by step 'web#one'" },
        { "fills:/srv/a", "path", "/srv/a/b", "'/srv/a/b' may be provided by step 'web#one'" },
        { "fills:/srv/a", "path", "/srv/ab", "" },
        { "path:/opt/bin/git", "program", "git", "program 'git' is provided by step 'web#one'" },
        { "path:/sbin/mount.nfs", "filesystem", "nfs",
          "file system type 'nfs' is provided by step 'web#one'" },
        { "path:/srv/nfs", "filesystem", "nfs", "" },
        { "path:/etc/systemd/system/a.service", "unit", "a.service",
          "unit 'a.service' is provided by step 'web#one'" },
        { "path:/etc/apt/sources.list.d/a.list", "package", "vim",
          "package 'vim' may be provided by step 'web#one'" },
        { "drops:pkg:vim", "removal", "vim", "package 'vim' is removed by step 'web#one'" },
        { "drops:path:/srv/a", "path", "/srv/a", "" },
        { "provides:*", "sysctl", "vm.x",
          "kernel setting 'vm.x' may be provided by step 'web#one'" },
        { "provides:sysctl", "sysctl", "vm.x",
          "kernel setting 'vm.x' may be provided by step 'web#one'" },
        { "provides:sysctl", "kmod", "x", "" },
        { "provides:path:/mnt/", "path", "/mnt/a", "'/mnt/a' may be provided by step 'web#one'" },
        { "provides:path:/mnt/", "path", "/mntx", "" },
        { "provides:path:/home/a", "path", "/home/a", "'/home/a' is provided by step 'web#one'" },
    };
    Fixture *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f->steps[0].claims = NULL;
        claim(f, 0, rows[i].claim);
        assert_str(ask(f, rows[i].class, rows[i].name), rows[i].why);
    }
}

static void only_earlier_steps_that_change_something_count(void **state)
{
    static const struct {
        StepResult result;
        bool provides;
    } rows[] = {
        { RESULT_PENDING, true },  { RESULT_CHANGED, true },  { RESULT_UNKNOWN, true },
        { RESULT_WAITING, true },  { RESULT_OK, false },      { RESULT_FAILED, false },
        { RESULT_SKIPPED, false }, { RESULT_BLOCKED, false },
    };
    Fixture *f = *state;
    claim(f, 0, "user:app");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        provisions_settle(f->provisions, 0, rows[i].result);
        assert_int_equal(ask(f, "user", "app").len > 0, rows[i].provides);
    }
    provisions_settle(f->provisions, 0, RESULT_CHANGED);
    f->position[0] = 9; /* it runs after the one that needs it */
    assert_str(ask(f, "user", "app"), "");
}

static void a_certain_provider_is_named_first_and_the_last_of_those(void **state)
{
    Fixture *f = *state;
    claim(f, 0, "user:app");
    claim(f, 1, "user:app");
    claim(f, 2, "provides:*");
    assert_str(ask(f, "user", "app"), "user 'app' is provided by step 'web#two'");
    assert_str(ask(f, "user", "web"), "user 'web' may be provided by step 'web#three'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(managed_resources_are_provided, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_earlier_steps_that_change_something_count, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_certain_provider_is_named_first_and_the_last_of_those,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
