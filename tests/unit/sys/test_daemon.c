/* Signals to a daemon, and its notifications to systemd. */
#include "sys/daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "scratch.h"

typedef struct Fixture {
    Scratch *scratch;
    Loop *loop;
    Daemon *daemon;
    int notes;
    int stops, reloads;
    LoopTimer look;
} Fixture;

static void stop(void *context)
{
    Fixture *f = context;
    f->stops++;
    loop_stop(f->loop);
}

static void reload(void *context)
{
    Fixture *f = context;
    f->reloads++;
    loop_stop(f->loop);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", scratch_place(f->scratch, "notify"));
    f->notes = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->notes, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    f->loop = loop_new();
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    daemon_free(f->daemon);
    loop_free(f->loop);
    close(f->notes);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

static void open_daemon(Fixture *f)
{
    f->daemon =
        daemon_new(f->loop, &(DaemonEvents){ .stop = stop, .reload = reload, .context = f });
}

static const char *next_note(Fixture *f)
{
    char *note = ARENA_ARRAY(&f->scratch->arena, char, 512);
    ssize_t len = recv(f->notes, note, 511, 0);
    assert_true(len > 0);
    note[len] = '\0';
    return note;
}

static void signals_are_reported(void **state)
{
    Fixture *f = *state;
    open_daemon(f);
    raise(SIGTERM);
    loop_run(f->loop);
    assert_int_equal(f->stops, 1);
    raise(SIGHUP);
    loop_run(f->loop);
    assert_int_equal(f->reloads, 1);
    raise(SIGINT);
    loop_run(f->loop);
    assert_int_equal(f->stops, 2);
}

static void systemd_is_notified(void **state)
{
    Fixture *f = *state;
    open_daemon(f);
    daemon_status(f->daemon, "listens\non %d", 5);
    daemon_ready(f->daemon);
    daemon_reloading(f->daemon);
    daemon_stopping(f->daemon);
    assert_string_equal(next_note(f), "STATUS=listens on 5");
    assert_string_equal(next_note(f), "READY=1");
    assert_non_null(strstr(next_note(f), "RELOADING=1\nMONOTONIC_USEC="));
    assert_string_equal(next_note(f), "STOPPING=1");
}

/* Polls until one has arrived. */
static void look_for_note(void *context)
{
    Fixture *f = context;
    char byte;
    if (recv(f->notes, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
        loop_stop(f->loop);
    } else {
        loop_timer_start(&f->look, 1);
    }
}

static void the_watchdog_is_fed(void **state)
{
    Fixture *f = *state;
    setenv("WATCHDOG_USEC", "4000", 1);
    open_daemon(f);
    loop_timer_init(&f->look, f->loop, look_for_note, f);
    for (int i = 0; i < 2; i++) {
        loop_timer_start(&f->look, 0);
        loop_run(f->loop);
        assert_string_equal(next_note(f), "WATCHDOG=1");
    }
}

/* It is the watchdog of the parent, which passed on its environment. */
static void the_watchdog_of_another_process_is_ignored(void **state)
{
    Fixture *f = *state;
    LoopTimer end;
    setenv("WATCHDOG_USEC", "4000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    open_daemon(f);
    loop_timer_init(&end, f->loop, stop, f);
    loop_timer_start(&end, 20);
    loop_run(f->loop);
    daemon_ready(f->daemon);
    assert_string_equal(next_note(f), "READY=1");
}

static void without_systemd_nothing_is_sent(void **state)
{
    Fixture *f = *state;
    setenv("NOTIFY_SOCKET", "relative", 1);
    open_daemon(f);
    daemon_ready(f->daemon);
    char byte;
    assert_true(recv(f->notes, &byte, 1, MSG_DONTWAIT) < 0);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    /* They may be ignored if the tests were started in the background. */
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    const struct CMUnitTest tests[] = {
        ROW(signals_are_reported),
        ROW(systemd_is_notified),
        ROW(the_watchdog_is_fed),
        ROW(the_watchdog_of_another_process_is_ignored),
        ROW(without_systemd_nothing_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
