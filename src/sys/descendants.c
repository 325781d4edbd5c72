#include "sys/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bug.h"
#include "sys/file_io.h"

enum {
    POLL_MS = 10,
    TERM_ROUNDS = 20, /* rounds between signals, for processes forked in the meantime */
    KILL_AFTER_ROUNDS = 1000 / POLL_MS,
    ROUNDS_MAX = 5000 / POLL_MS,
    LIST_MAX = 64 << 10, /* bytes of the list of children of a thread */
};

void descendants_adopt(void)
{
    int result = prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
    BUG_IF(result != 0); /* requires no privilege */
}

/* Parses "12 345 "; PIDs that do not fit are found in a later round. */
static void signal_listed(const char *path, int number)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    char *text = calloc(1, LIST_MAX);
    ssize_t len = descriptor < 0 || text == NULL ? -1 : read(descriptor, text, LIST_MAX - 1);
    char *at = text;
    while (len > 0) {
        char *end;
        long process = strtol(at, &end, 10);
        if (end == at || *end != ' ') {
            break;
        }
        kill((pid_t)process, number); /* not reaped yet, so the PID cannot have been reused */
        at = end;
    }
    free(text);
    if (descriptor >= 0) {
        close(descriptor);
    }
}

/* A child is listed under the thread that created it. */
static void signal_children(int number)
{
    DIR *threads = opendir("/proc/self/task");
    for (const char *thread; threads != NULL && (thread = entries_next(threads)) != NULL;) {
        char path[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/children", thread);
        signal_listed(path, number);
    }
    entries_close(threads);
}

static bool is_childless(void)
{
    pid_t ended;
    do {
        ended = waitpid(-1, NULL, WNOHANG);
    } while (ended > 0 || (ended < 0 && errno == EINTR));
    return ended < 0;
}

bool descendants_end(void)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        if (is_childless()) {
            return true;
        }
        if (round >= KILL_AFTER_ROUNDS) {
            signal_children(SIGKILL);
        } else if (round % TERM_ROUNDS == 0) {
            signal_children(SIGTERM);
        }
        nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
    }
    return is_childless();
}
