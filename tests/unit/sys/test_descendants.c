#include "sys/descendants.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* Runs forever, in a separate session, as the child of one that exits; its pid is sent through the
 * pipe. */
static void leave_process(int to, bool ignores_sigterm)
{
    pid_t between = fork();
    if (between == 0) {
        if (fork() == 0) {
            pid_t own = getpid();
            setsid();
            if (ignores_sigterm) {
                signal(SIGTERM, SIG_IGN);
            }
            if (write(to, &own, sizeof own) != sizeof own) {
                _exit(1);
            }
            for (;;) {
                pause();
            }
        }
        _exit(0);
    }
    assert_int_equal(waitpid(between, NULL, 0), between);
}

static void leftover_processes_are_terminated(bool ignores_sigterm)
{
    int ends[2];
    pid_t left;
    assert_int_equal(pipe(ends), 0);
    descendants_adopt();
    leave_process(ends[1], ignores_sigterm);
    assert_int_equal(read(ends[0], &left, sizeof left), sizeof left);
    assert_int_equal(kill(left, 0), 0);
    assert_true(descendants_end());
    assert_int_equal(kill(left, 0), -1);
    assert_int_equal(errno, ESRCH);
    close(ends[0]);
    close(ends[1]);
}

static void a_detached_process_is_terminated(void **state)
{
    leftover_processes_are_terminated(false);
}

static void a_process_that_ignores_sigterm_is_killed(void **state)
{
    leftover_processes_are_terminated(true);
}

static void without_children_there_is_nothing_to_do(void **state)
{
    assert_true(descendants_end());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_children_there_is_nothing_to_do),
        cmocka_unit_test(a_detached_process_is_terminated),
        cmocka_unit_test(a_process_that_ignores_sigterm_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
