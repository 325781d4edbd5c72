#include "sys/throwaway.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/file_error.h"

bool throwaway_run(int (*function)(void *context, const char *folder), void *context, int *code,
                   Error *err)
{
    char folder[] = "/tmp/eden-try-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        return file_error(err, errno, folder);
    }
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(function(context, folder));
    }
    int number = errno, status = 0;
    bool ok = child > 0;
    while (ok && waitpid(child, &status, 0) < 0) {
        number = errno;
        ok = errno == EINTR;
    }
    (void)rmdir(folder);
    if (!ok) {
        return file_error(err, number, "a process for the try");
    }
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}
