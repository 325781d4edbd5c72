#include "sys/lock_holder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "sys/file_io.h"
#include "sys/host_inner.h"

enum {
    COMMAND_MAX = 100, /* bytes of the command line that are shown */
    NUMBER_MAX = 32,
};

/* Arguments in /proc are separated by NUL. Control characters are left out. */
static Str read_command(Arena *arena, pid_t pid)
{
    char path[64], text[COMMAND_MAX + 1];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return STR_EMPTY;
    }
    ssize_t len = read(descriptor, text, sizeof text);
    close(descriptor);
    if (len <= 0) {
        return STR_EMPTY;
    }
    bool cut = len > COMMAND_MAX;
    for (ssize_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        text[i] = c < ' ' || c >= 0x7f ? ' ' : text[i];
    }
    Str command = str_trim(str_from(text, cut ? COMMAND_MAX : (size_t)len));
    return arena_format(arena, "%" STR_FMT "%s", STR_ARG(command), cut ? "..." : "");
}

static bool fill(Arena *arena, pid_t pid, LockHolder *out)
{
    *out = (LockHolder){ .pid = pid > 0 ? pid : 0 };
    out->command = pid > 0 ? read_command(arena, pid) : STR_EMPTY;
    return true;
}

static int open_file(Host *host, Str path, int flags)
{
    char name[PATH_MAX];
    Error err;
    return host_path(path, name, &err) ? host_open_path(host, name, (uint64_t)flags) : -1;
}

bool lock_holder_find(Host *host, Arena *arena, Str path, LockHolder *out)
{
    int descriptor = open_file(host, path, O_RDONLY | O_NONBLOCK);
    if (descriptor < 0) {
        return false;
    }
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    bool held = fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(descriptor);
    return held && fill(arena, lock.l_pid, out);
}

static bool has_open(int process, const struct stat *wanted)
{
    DIR *entries = entries_open(openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bool found = false;
    for (const char *name; entries != NULL && !found && (name = entries_next(entries)) != NULL;) {
        struct stat status;
        found = fstatat(dirfd(entries), name, &status, 0) == 0 && status.st_ino == wanted->st_ino &&
                status.st_dev == wanted->st_dev;
    }
    entries_close(entries);
    return found;
}

bool lock_holder_find_user(Host *host, Arena *arena, Str path, LockHolder *out)
{
    struct stat wanted;
    int descriptor = open_file(host, path, O_PATH);
    bool ok = descriptor >= 0 && fstat(descriptor, &wanted) == 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    DIR *processes = ok ? opendir("/proc") : NULL;
    bool found = false;
    for (const char *name;
         processes != NULL && !found && (name = entries_next(processes)) != NULL;) {
        int64_t pid;
        if (!str_to_i64(str_from_c(name), &pid) || pid == getpid()) {
            continue;
        }
        int process = openat(dirfd(processes), name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (process >= 0) {
            found = has_open(process, &wanted) && fill(arena, (pid_t)pid, out);
            close(process);
        }
    }
    entries_close(processes);
    return found;
}

bool lock_holder_read(Host *host, Arena *arena, Str path, LockHolder *out)
{
    Str text;
    Error err;
    int64_t pid;
    return host_read(host, arena, path, NUMBER_MAX, &text, &err) &&
           str_to_i64(str_trim(text), &pid) && pid > 0 && pid <= INT32_MAX &&
           kill((pid_t)pid, 0) == 0 && fill(arena, (pid_t)pid, out);
}
