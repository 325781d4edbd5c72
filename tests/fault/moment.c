/* Ends the program that it is loaded into (LD_PRELOAD) by SIGKILL, at a chosen system call.
 *
 *     EDEN_KILL_AT=N       at the Nth call that changes or sends something; of a write the first half
 *                          is done
 *     EDEN_KILL_COUNT=FILE how many there were is written there when the program ends by itself
 *
 * Only what the program itself does counts: commands that it starts do not get this library. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t own;
static long kill_at;
static atomic_long calls;
static const char *count_file;

__attribute__((constructor)) static void prepare(void)
{
    const char *at = getenv("EDEN_KILL_AT");
    own = getpid();
    kill_at = at != NULL ? atol(at) : -1;
    count_file = getenv("EDEN_KILL_COUNT");
    unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void tell(void)
{
    FILE *file = count_file != NULL ? fopen(count_file, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "%ld\n", atomic_load(&calls));
        fclose(file);
    }
}

/* Others may have it counted at the same time; one of them is the Nth. */
static int is_the_moment(void)
{
    return atomic_fetch_add(&calls, 1) + 1 == kill_at;
}

static void end(void)
{
    for (;;) {
        syscall(SYS_kill, own, SIGKILL);
    }
}

static void pass(void)
{
    if (is_the_moment()) {
        end();
    }
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    if (is_the_moment()) {
        syscall(SYS_write, descriptor, data, size / 2);
        end();
    }
    return syscall(SYS_write, descriptor, data, size);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off_t offset)
{
    if (is_the_moment()) {
        syscall(SYS_pwrite64, descriptor, data, size / 2, offset);
        end();
    }
    return syscall(SYS_pwrite64, descriptor, data, size, offset);
}

int openat64(int directory, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = va_arg(args, mode_t);
    va_end(args);
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
        pass();
    }
    return (int)syscall(SYS_openat, directory, path, flags, mode);
}

/* What is asked of others, such as systemd. */
ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
    pass();
    return syscall(SYS_sendmsg, descriptor, message, flags);
}

#define PASS(name, parameters, ...)                   \
    int name parameters                               \
    {                                                 \
        pass();                                       \
        return (int)syscall(SYS_##name, __VA_ARGS__); \
    }

PASS(fchmod, (int descriptor, mode_t mode), descriptor, mode)
PASS(fchown, (int descriptor, uid_t uid, gid_t gid), descriptor, uid, gid)
PASS(fsync, (int descriptor), descriptor)
PASS(fdatasync, (int descriptor), descriptor)
PASS(syncfs, (int descriptor), descriptor)
PASS(mkdirat, (int directory, const char *path, mode_t mode), directory, path, mode)
PASS(unlinkat, (int directory, const char *path, int flags), directory, path, flags)
PASS(symlinkat, (const char *target, int directory, const char *path), target, directory, path)
PASS(linkat, (int from, const char *old, int to, const char *path, int flags), from, old, to, path,
     flags)
PASS(renameat, (int from, const char *old, int to, const char *path), from, old, to, path)

int ftruncate64(int descriptor, off_t size)
{
    pass();
    return (int)syscall(SYS_ftruncate, descriptor, size);
}

int fallocate64(int descriptor, int mode, off_t offset, off_t size)
{
    pass();
    return (int)syscall(SYS_fallocate, descriptor, mode, offset, size);
}
