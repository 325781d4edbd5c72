/* With a private bus: a dbus-daemon started by the test. */
#include "sys/bus.h"

#include "bus_daemon.h"
#include "sys/process.h"

#define DAEMON "org.freedesktop.DBus"
#define NAME   "org.example.Quiet"

typedef struct Fixture {
    Scratch *scratch;
    Arena *arena;
    pid_t daemon;
    Bus *bus;
    Error err;
} Fixture;

static const BusTimeout timeout = { 0 };

#ifndef EDEN_STATIC

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    void *scratch;
    int failed = scratch_set_up(&scratch);
    fixture->scratch = scratch;
    fixture->arena = &fixture->scratch->arena;
    *state = fixture;
    return failed != 0 || !bus_daemon_start(fixture->scratch, &fixture->daemon) ||
           !bus_open(BUS_SYSTEM, &fixture->bus, &fixture->err);
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    bus_close(fixture->bus);
    bus_daemon_end(&fixture->daemon);
    void *scratch = fixture->scratch;
    free(fixture);
    return scratch_tear_down(&scratch);
}

static BusCall daemon_call(const char *member)
{
    return (BusCall){ .service = DAEMON,
                      .path = STR("/org/freedesktop/DBus"),
                      .interface = DAEMON,
                      .member = member };
}

static bool ask(Fixture *fixture, Bus *bus, const char *member, const BusValue *args,
                uint32_t count, BusValue *reply)
{
    BusCall call = daemon_call(member);
    call.args = args;
    call.arg_count = count;
    return bus_call(bus, &call, timeout, fixture->arena, reply, &fixture->err);
}

static void own(Fixture *fixture, Bus *bus, const char *name)
{
    const BusValue args[] = { bus_string(str_from_c(name)), bus_u32(0) };
    BusValue reply;
    assert_true(ask(fixture, bus, "RequestName", args, 2, &reply));
    assert_int_equal(bus_integer(bus_item(&reply, 0)), 1);
}

static void a_call_returns_values(void **state)
{
    Fixture *fixture = *state;
    BusValue reply;
    own(fixture, fixture->bus, NAME);
    assert_true(ask(fixture, fixture->bus, "ListNames", NULL, 0, &reply));
    assert_int_equal(reply.count, 1);
    const BusValue *names = bus_item(&reply, 0);
    assert_int_equal(names->type, 'a');
    bool found = false;
    for (uint32_t i = 0; i < names->count; i++) {
        found = found || str_eq_c(bus_text(bus_item(names, i)), NAME);
    }
    assert_true(found);
    const BusValue args[] = { bus_string(STR(NAME)) };
    assert_true(ask(fixture, fixture->bus, "NameHasOwner", args, 1, &reply));
    assert_true(bus_boolean(bus_item(&reply, 0)));
    assert_true(ask(fixture, fixture->bus, "GetConnectionUnixUser", args, 1, &reply));
    assert_int_equal(bus_integer(bus_item(&reply, 0)), geteuid());
    assert_str(bus_error_name(fixture->bus), "");
}

static void properties_are_found(void **state)
{
    Fixture *fixture = *state;
    BusValue value;
    BusCall of = daemon_call(NULL);
    assert_true(
        bus_get(fixture->bus, &of, "Features", timeout, fixture->arena, &value, &fixture->err));
    assert_int_equal(value.type, 'a');
    assert_true(bus_get_all(fixture->bus, &of, timeout, fixture->arena, &value, &fixture->err));
    assert_int_equal(bus_find(&value, "Features")->type, 'a');
    assert_int_equal(bus_find(&value, "Nothing")->type, 0);
    assert_false(
        bus_get(fixture->bus, &of, "Nothing", timeout, fixture->arena, &value, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
}

static void maps_and_lists_are_sent(void **state)
{
    Fixture *fixture = *state;
    const BusValue pair[] = { bus_string(STR("COLOR")), bus_string(STR("blue")) };
    const BusValue entries[] = { { .type = 'e', .count = 2, .items = pair, .of = "ss" } };
    const BusValue map = { .type = 'a', .count = 1, .items = entries, .of = "{ss}" };
    assert_true(ask(fixture, fixture->bus, "UpdateActivationEnvironment", &map, 1, NULL));
    /* The daemon has no such method for a list, but the message must arrive complete. */
    const Str texts[] = { STR("a"), STR("b") };
    BusValue list = bus_strings(fixture->arena, texts, 2);
    assert_false(ask(fixture, fixture->bus, "UpdateActivationEnvironment", &list, 1, NULL));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
    BusValue none = bus_strings(fixture->arena, NULL, 0);
    assert_false(ask(fixture, fixture->bus, "UpdateActivationEnvironment", &none, 1, NULL));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
}

static void wrong_values_are_not_sent(void **state)
{
    Fixture *fixture = *state;
    const BusValue wrong[] = {
        bus_string(STR("a\0b")),
        bus_string(STR("\xff\xfe")),
        bus_path(STR("no path")),
        { .type = 'a', .of = "nonsense" },
        { .type = 0 },
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_false(ask(fixture, fixture->bus, "NameHasOwner", &wrong[i], 1, NULL));
        assert_int_equal(fixture->err.kind, ERROR_INVALID);
    }
    const BusValue fine[] = { bus_string(STR(NAME)) };
    assert_true(ask(fixture, fixture->bus, "NameHasOwner", fine, 1, NULL));
}

static void errors_have_kinds(void **state)
{
    Fixture *fixture = *state;
    const BusValue unknown[] = { bus_string(STR("org.example.Nobody")) };
    assert_false(ask(fixture, fixture->bus, "GetNameOwner", unknown, 1, NULL));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    assert_str(bus_error_name(fixture->bus), DAEMON ".Error.NameHasNoOwner");
    assert_false(ask(fixture, fixture->bus, "NoSuchThing", NULL, 0, NULL));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
    const BusValue forbidden[] = { bus_string(STR("org.example.Forbidden")), bus_u32(0) };
    assert_false(ask(fixture, fixture->bus, "RequestName", forbidden, 2, NULL));
    assert_int_equal(fixture->err.kind, ERROR_DENIED);
    BusCall nobody = { .service = "org.example.Nobody",
                       .path = STR("/"),
                       .interface = "org.example.Nobody",
                       .member = "Do" };
    assert_false(bus_call(fixture->bus, &nobody, timeout, fixture->arena, NULL, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    nobody.path = STR("not a path");
    assert_false(bus_call(fixture->bus, &nobody, timeout, fixture->arena, NULL, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
}

/* Its owner never reads what it receives. */
static BusCall quiet_call(void)
{
    return (BusCall){
        .service = NAME, .path = STR("/"), .interface = "org.example.Quiet", .member = "Do"
    };
}

static void an_unresponsive_peer_times_out(void **state)
{
    Fixture *fixture = *state;
    AUTO(Bus) *quiet = NULL;
    assert_true(bus_open(BUS_SYSTEM, &quiet, &fixture->err));
    own(fixture, quiet, NAME);
    BusCall call = quiet_call();
    assert_false(bus_call(fixture->bus, &call, (BusTimeout){ .timeout_ms = 20 }, fixture->arena,
                          NULL, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_TIMEOUT);
    atomic_bool canceled = true;
    assert_false(bus_call(fixture->bus, &call,
                          (BusTimeout){ .timeout_ms = -1, .canceled = &canceled }, fixture->arena,
                          NULL, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(fixture->err.text, "canceled"));
    /* The connection is still usable. */
    assert_true(ask(fixture, fixture->bus, "ListNames", NULL, 0, NULL));
}

static const BusMatch acquired = { .service = DAEMON,
                                   .path = { "/org/freedesktop/DBus", 21 },
                                   .interface = DAEMON,
                                   .member = "NameAcquired" };

static void signals_arrive_in_order(void **state)
{
    Fixture *fixture = *state;
    BusSignal signal;
    assert_true(bus_subscribe(fixture->bus, &acquired, timeout, &fixture->err));
    own(fixture, fixture->bus, "org.example.First");
    own(fixture, fixture->bus, "org.example.Second");
    assert_true(bus_wait(fixture->bus, timeout, fixture->arena, &signal, &fixture->err));
    assert_false(signal.is_service_lost);
    assert_str(signal.service, DAEMON);
    assert_str(signal.member, "NameAcquired");
    /* Its own unique name may come first, if the connection is that new. */
    if (str_starts(bus_text(bus_item(&signal.args, 0)), STR(":"))) {
        assert_true(bus_wait(fixture->bus, timeout, fixture->arena, &signal, &fixture->err));
    }
    assert_str(bus_text(bus_item(&signal.args, 0)), "org.example.First");
    assert_true(bus_wait(fixture->bus, timeout, fixture->arena, &signal, &fixture->err));
    assert_str(bus_text(bus_item(&signal.args, 0)), "org.example.Second");
    assert_false(bus_wait(fixture->bus, (BusTimeout){ .timeout_ms = 10 }, fixture->arena, &signal,
                          &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_TIMEOUT);
}

static void unsubscribed_signals_do_not_arrive(void **state)
{
    Fixture *fixture = *state;
    BusSignal signal;
    assert_true(bus_subscribe(fixture->bus, &acquired, timeout, &fixture->err));
    own(fixture, fixture->bus, "org.example.First");
    bus_unsubscribe_all(fixture->bus);
    own(fixture, fixture->bus, "org.example.Second");
    assert_false(bus_wait(fixture->bus, (BusTimeout){ .timeout_ms = 10 }, fixture->arena, &signal,
                          &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_TIMEOUT);
}

/* Any client can send a signal to any other. */
static void a_forged_signal_does_not_count(void **state)
{
    Fixture *fixture = *state;
    BusSignal signal;
    BusValue reply;
    own(fixture, fixture->bus, NAME);
    const BusValue args[] = { bus_string(STR(NAME)) };
    assert_true(ask(fixture, fixture->bus, "GetNameOwner", args, 1, &reply));
    Str own_name = bus_text(bus_item(&reply, 0));
    assert_true(bus_subscribe(fixture->bus, &acquired, timeout, &fixture->err));
    const char *const argv[] = {
        "dbus-send",
        "--system",
        "--type=signal",
        arena_format(fixture->arena, "--dest=%.*s%c", STR_ARG(own_name), '\0').data,
        "/org/freedesktop/DBus",
        (DAEMON ".NameAcquired"),
        "string:org.example.Forged",
        NULL,
    };
    ProcessSpec spec = { .argv = argv, .output_max = 1000 };
    ProcessResult result;
    assert_true(process_run(fixture->arena, &spec, &result, &fixture->err));
    assert_int_equal(result.exit_code, 0);
    own(fixture, fixture->bus, "org.example.Genuine");
    do {
        assert_true(bus_wait(fixture->bus, timeout, fixture->arena, &signal, &fixture->err));
        assert_false(str_eq_c(bus_text(bus_item(&signal.args, 0)), "org.example.Forged"));
    } while (!str_eq_c(bus_text(bus_item(&signal.args, 0)), "org.example.Genuine"));
}

static void a_disappearing_service_is_reported(void **state)
{
    Fixture *fixture = *state;
    Bus *other = NULL;
    BusSignal signal;
    BusMatch match = { .service = NAME, .interface = "org.example.Quiet" };
    assert_true(bus_subscribe(fixture->bus, &match, timeout, &fixture->err));
    assert_true(bus_open(BUS_SYSTEM, &other, &fixture->err));
    own(fixture, other, NAME); /* it arrives: no error */
    bus_close(other);
    assert_true(bus_wait(fixture->bus, timeout, fixture->arena, &signal, &fixture->err));
    assert_true(signal.is_service_lost);
    assert_str(signal.service, NAME);
}

static void idle_connections_are_used_again(void **state)
{
    Fixture *fixture = *state;
    AUTO(Shared) *shared = shared_new();
    Bus *first, *second, *third;
    assert_true(bus_acquire(shared, BUS_SYSTEM, &first, &fixture->err));
    assert_true(bus_acquire(shared, BUS_SYSTEM, &second, &fixture->err));
    assert_ptr_not_equal(first, second);
    assert_true(bus_subscribe(first, &acquired, timeout, &fixture->err));
    bus_release(shared, first);
    assert_true(bus_acquire(shared, BUS_SYSTEM, &third, &fixture->err));
    assert_ptr_equal(first, third);
    BusSignal signal;
    own(fixture, third, NAME);
    assert_false(
        bus_wait(third, (BusTimeout){ .timeout_ms = 10 }, fixture->arena, &signal, &fixture->err));
    bus_release(shared, second);
    bus_release(shared, third);
    bus_release(shared, NULL);
}

static void a_lost_connection_is_reported_and_dropped(void **state)
{
    Fixture *fixture = *state;
    AUTO(Shared) *shared = shared_new();
    Bus *bus;
    assert_true(bus_acquire(shared, BUS_SYSTEM, &bus, &fixture->err));
    assert_true(ask(fixture, bus, "ListNames", NULL, 0, NULL));
    bus_release(shared, bus);
    bus_daemon_end(&fixture->daemon);
    assert_false(ask(fixture, fixture->bus, "ListNames", NULL, 0, NULL));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    BusSignal signal;
    assert_false(bus_wait(fixture->bus, timeout, fixture->arena, &signal, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    /* Not the dead one, and there is no other. */
    assert_false(bus_acquire(shared, BUS_SYSTEM, &bus, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
}

static void a_missing_bus_is_reported(void **state)
{
    Fixture *fixture = *state;
    Bus *bus;
    setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
    assert_false(bus_open(BUS_SYSTEM, &bus, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(fixture->err.text, "system bus"));
}

#endif

static void missing_values_are_empty(void **state)
{
    const BusValue inner[] = { bus_u64(UINT64_MAX) };
    const BusValue variant = { .type = 'v', .count = 1, .items = inner };
    assert_int_equal(bus_integer(&variant), INT64_MAX);
    BusValue text = bus_string(STR("text"));
    assert_int_equal(bus_integer(&text), 0);
    assert_false(bus_boolean(&text));
    assert_int_equal(bus_item(&text, 0)->type, 0);
    assert_int_equal(bus_find(&text, "x")->type, 0);
    assert_str(bus_text(bus_item(bus_item(&variant, 1), 7)), "");
    assert_int_equal(bus_integer(&(BusValue){ .type = 'i', .integer = -3 }), -3);
}

#ifdef EDEN_STATIC
static void a_static_binary_has_no_bus(void **state)
{
    Bus *bus;
    Error err;
    assert_false(bus_open(BUS_SYSTEM, &bus, &err));
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "statically"));
}
#endif

#define WITH_DAEMON(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_values_are_empty),
#ifdef EDEN_STATIC
        cmocka_unit_test(a_static_binary_has_no_bus),
#else
        WITH_DAEMON(a_call_returns_values),
        WITH_DAEMON(properties_are_found),
        WITH_DAEMON(maps_and_lists_are_sent),
        WITH_DAEMON(wrong_values_are_not_sent),
        WITH_DAEMON(errors_have_kinds),
        WITH_DAEMON(an_unresponsive_peer_times_out),
        WITH_DAEMON(signals_arrive_in_order),
        WITH_DAEMON(unsubscribed_signals_do_not_arrive),
        WITH_DAEMON(a_forged_signal_does_not_count),
        WITH_DAEMON(a_disappearing_service_is_reported),
        WITH_DAEMON(idle_connections_are_used_again),
        WITH_DAEMON(a_lost_connection_is_reported_and_dropped),
        WITH_DAEMON(a_missing_bus_is_reported),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
