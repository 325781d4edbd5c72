#include "sys/fork_child.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "unit.h"

static char read_one(int channel)
{
    char byte = '\0';
    while (read(channel, &byte, 1) < 0 && errno == EINTR) {
    }
    return byte;
}

static int answer(void *context, int channel)
{
    char byte = (char)(read_one(channel) + 1);
    return write(channel, &byte, 1) == 1 ? 0 : 1;
}

/* Runs until the other side is gone. */
static int stay(void *context, int channel)
{
    (void)read_one(channel);
    return 0;
}

static int count_descriptors(void *context, int channel)
{
    char count = 0;
    for (int i = 0; i < 1024; i++) {
        count = (char)(count + (fcntl(i, F_GETFD) >= 0 ? 1 : 0));
    }
    return write(channel, &count, 1) == 1 ? 0 : 1;
}

static pid_t start(ForkChildRun *run, bool is_apart, int *channel)
{
    pid_t process;
    Error err;
    ForkChildOptions options = { .new_namespaces = is_apart, .run = run };
    if (!fork_child_start(&options, &process, channel, &err)) {
        fail_msg("%s", err.text);
    }
    return process;
}

static void it_runs_a_function(void **state)
{
    int channel;
    pid_t process = start(answer, false, &channel);
    assert_int_equal(write(channel, "a", 1), 1);
    assert_int_equal(read_one(channel), 'b');
    fork_child_wait(process);
    close(channel);
}

static void it_stops_on_request(void **state)
{
    int channel;
    pid_t process = start(stay, false, &channel);
    fork_child_kill(process);
    fork_child_wait(process);
    assert_int_equal(kill(process, 0), -1);
    assert_int_equal(errno, ESRCH);
    close(channel);
}

static void it_has_only_its_own_descriptors(void **state)
{
    int channel, others = dup(STDOUT_FILENO);
    pid_t process = start(count_descriptors, false, &channel);
    assert_int_equal(read_one(channel), 4);
    fork_child_wait(process);
    close(others);
    close(channel);
}

/* It does not check the channel. */
static int sleep_on(void *context, int channel)
{
    pause();
    return 0;
}

static void it_exits_with_its_parent(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        int channel;
        ForkChildOptions options = { .run = sleep_on };
        pid_t process;
        Error err;
        bool ok = fork_child_start(&options, &process, &channel, &err) &&
                  write(ends[1], &process, sizeof process) == sizeof process;
        pause();
        _exit(ok ? 0 : 1);
    }
    pid_t process;
    assert_int_equal(read(ends[0], &process, sizeof process), sizeof process);
    struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, process, 0), .events = POLLIN };
    assert_true(end.fd >= 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    assert_int_equal(poll(&end, 1, 20000), 1);
    close(end.fd);
    close(ends[0]);
    close(ends[1]);
}

static int tell_number(void *context, int channel)
{
    char number = (char)getpid();
    return write(channel, &number, 1) == 1 ? 0 : 1;
}

/* Requires root privileges: without them it fails and says so. */
static void in_its_own_namespace_it_is_the_first_process(void **state)
{
    int channel;
    pid_t process = start(tell_number, true, &channel);
    assert_int_equal(read_one(channel), 1);
    fork_child_wait(process);
    close(channel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_a_function),
        cmocka_unit_test(it_stops_on_request),
        cmocka_unit_test(it_has_only_its_own_descriptors),
        cmocka_unit_test(it_exits_with_its_parent),
        cmocka_unit_test(in_its_own_namespace_it_is_the_first_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
