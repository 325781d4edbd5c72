#include "sys/open_within.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    RACE_TRIES = 64
};

int open_within(int directory, const char *path, uint64_t flags, uint64_t resolve)
{
    struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };
    for (int i = 0;; i++) {
        int descriptor = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
        if (descriptor >= 0 || (errno != EAGAIN && errno != EINTR) || i == RACE_TRIES) {
            return descriptor;
        }
    }
}
