#include "sys/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "sys/file_io.h"

enum {
    HOLDER_MAX = 4096,
    TRIES = 50,
    TRY_NS = 5000000
};

/* An open file description lock: it belongs to the open file, so other threads and children of this
 * process cannot release it by accident. */
static int lock_command(int descriptor, int command, struct flock *lock)
{
    *lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(descriptor, command, lock);
}

/* A forked child holds the open file until it calls exec. If its parent was killed, the lock is
 * released only then; retrying avoids reporting a holder that is gone. */
static bool take(int descriptor)
{
    struct flock lock;
    for (int i = 0; i < TRIES; i++) {
        if (lock_command(descriptor, F_OFD_SETLK, &lock) == 0) {
            return true;
        }
        if (errno != EAGAIN && errno != EACCES) {
            return false;
        }
        nanosleep(&(struct timespec){ .tv_nsec = TRY_NS }, NULL);
    }
    errno = EAGAIN;
    return false;
}

static Str read_holder(int descriptor, Arena *arena)
{
    char text[HOLDER_MAX];
    ssize_t len = pread(descriptor, text, sizeof text, 0);
    return len > 0 ? arena_copy(arena, str_from(text, (size_t)len)) : STR_EMPTY;
}

bool file_lock_take(const Directory *directory, const char *name, Str holder, Arena *arena,
                    FileLock *out, Str *found, Error *err)
{
    out->descriptor = -1;
    *found = STR_EMPTY;
    int descriptor =
        openat(directory->descriptor, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        return directory_error(err, errno, directory, name);
    }
    if (!take(descriptor)) {
        int number = errno;
        bool held = number == EAGAIN;
        if (held) {
            *found = read_holder(descriptor, arena);
        }
        close(descriptor);
        return held ? error_set(err, ERROR_CONFLICT, "%s/%s is locked by another process",
                                directory->path, name)
                    : directory_error(err, number, directory, name);
    }
    /* The description is only informational: a full disk must not prevent locking. */
    (void)!ftruncate(descriptor, 0);
    (void)!pwrite(descriptor, holder.data, holder.len, 0);
    out->descriptor = descriptor;
    return true;
}

bool file_lock_is_held(const Directory *directory, const char *name)
{
    /* A pipe of that name must not block. */
    int descriptor =
        openat(directory->descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        return false;
    }
    struct flock lock;
    bool held = lock_command(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(descriptor);
    return held;
}

void file_lock_release(FileLock *lock)
{
    if (lock->descriptor >= 0) {
        (void)!ftruncate(lock->descriptor, 0);
        close(lock->descriptor);
    }
    lock->descriptor = -1;
}
