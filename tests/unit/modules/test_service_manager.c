/* An unresponsive systemd: the connection exists, and each call fails. */
#include "modules/service/manager.h"

#include "bus_daemon.h"

#ifndef EDEN_STATIC

typedef struct Fixture {
    Scratch *scratch;
    pid_t daemon;
    Call call;
    Manager manager;
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    void *scratch;
    int failed = scratch_set_up(&scratch);
    fixture->scratch = scratch;
    fixture->call.arena = &fixture->scratch->arena;
    fixture->manager.call = &fixture->call;
    *state = fixture;
    return failed != 0 || !bus_daemon_start(fixture->scratch, &fixture->daemon) ||
           !bus_open(BUS_SYSTEM, &fixture->manager.bus, &fixture->err);
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    bus_close(fixture->manager.bus);
    bus_daemon_end(&fixture->daemon);
    void *scratch = fixture->scratch;
    free(fixture);
    return scratch_tear_down(&scratch);
}

static void assert_reported(Fixture *fixture)
{
    assert_non_null(strstr(fixture->err.text, SYSTEMD));
    fixture->err = (Error){ 0 };
}

static void units_are_neither_listed_nor_loaded(void **state)
{
    Fixture *fixture = *state;
    Manager *manager = &fixture->manager;
    Error *err = &fixture->err;
    BusValue units, properties;
    UnitStatus status = { .name = STR("a.service"), .path = STR("/a") };
    Str file_state;
    assert_false(manager_list(manager, STR("a@*.service"), &units, err));
    assert_reported(fixture);
    assert_false(manager_get_unit(manager, STR("a.service"), &status, err));
    assert_reported(fixture);
    status = (UnitStatus){ .name = STR("a.service"), .path = STR("/a") };
    assert_false(manager_get_properties(manager, &status, &properties, err));
    assert_reported(fixture);
    assert_false(manager_file_state(manager, STR("a.service"), &file_state, err));
    assert_reported(fixture);
    assert_str(manager_suggest(manager, STR("a.service")), "");
}

static void files_are_neither_changed_nor_read_again(void **state)
{
    Fixture *fixture = *state;
    Manager *manager = &fixture->manager;
    for (UnitFileChange change = UNIT_ENABLE; change <= UNIT_UNMASK_RUNTIME; change++) {
        assert_false(manager_change_file(manager, STR("a.service"), change, &fixture->err));
        assert_reported(fixture);
    }
    assert_false(manager_reload(manager, &fixture->err));
    assert_true(str_starts(str_from_c(fixture->err.text), STR("daemon-reload: ")));
    assert_reported(fixture);
}

#endif

int main(void)
{
#ifdef EDEN_STATIC
    return 0; /* without a bus: see test_bus.c */
#else
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(units_are_neither_listed_nor_loaded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_are_neither_changed_nor_read_again, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
