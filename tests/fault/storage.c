/* Simulates faults of a program and its storage, when loaded with LD_PRELOAD.
 *
 *     EDEN_STORAGE_KILL=N            SIGKILL at the Nth call that changes or sends something; for a
 *                                    write, after half of it
 *     EDEN_STORAGE_COUNT=FILE        the number of such calls is written there when the program
 *                                    exits
 *     EDEN_STORAGE_FAIL=CALL:N:HOW[:NAME]
 *                                    the Nth call named CALL (write, fsync, fdatasync, rename,
 *                                    truncate) fails as specified by HOW: ENOSPC, EIO, or "short"
 *                                    for a write of half of the bytes; "N+" means all from the Nth
 *                                    on. With NAME only calls for files whose path contains it are
 *                                    counted, or with NAME$ ends with it
 *     EDEN_STORAGE_TROUBLE=FILE:NAME while FILE exists, writes and syncs of files whose path
 *                                    contains NAME misbehave as specified by its content: "hang"
 *                                    until it is removed or changed, "slow MS" each takes so much
 *                                    longer, EROFS, EIO or ENOSPC they fail
 *     EDEN_STORAGE_RECORD=FILE       all changes of files and directories are recorded there, and
 *                                    the standard output: power.py creates the disks from it that a
 *                                    power cut could leave
 *     EDEN_STORAGE_BOOT=FILE         contains the boot id, instead of the kernel's
 *     EDEN_STORAGE_UNSYNCED=1        syncs do nothing, which is faster; also while recording
 *
 * If the recording file is not found, /storage.record is used if it exists: this way recording
 * continues in programs in another root, where /etc/ld.so.preload loads this library. Otherwise
 * the commands that the program starts do not load it.
 *
 * Each record is a line, "LETTER NUMBERS [NAME]", followed by bytes where it has a size:
 *     W inode offset size, bytes         T inode size           M inode mode
 *     C directory inode mode name        L directory inode name (another link)
 *     R from to old/new (names)          U directory name       D directory inode mode name (mkdir)
 *     Y directory inode size name, bytes (symlink)
 *     S inode (fsync)  F inode (fdatasync)  A (syncfs, sync)
 *     P size, bytes (standard output) */
/* Both names of a function are defined here, because either may be used. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
    MAGIC_XFS = 0x58465342, /* a file system that guarantees nothing except what is synced */
    HEAD_MAX = 2 * PATH_MAX + 200,
};

static long (*call)(long number, ...);
static pid_t own;
static long kill_at = -1;
static atomic_long calls;
static const char *count_file, *boot_file;
static char fail_call[16], fail_how[16], fail_name[64];
static long fail_at;
static bool fail_on; /* all later calls fail too */
static atomic_long fail_count;
static bool is_unsynced;
static char fault_file[PATH_MAX], fault_name[64];
static int record = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void prepare(void)
{
    *(void **)&call = dlsym(RTLD_NEXT, "syscall");
    own = getpid();
    const char *at = getenv("EDEN_STORAGE_KILL"), *fault = getenv("EDEN_STORAGE_FAIL");
    kill_at = at != NULL ? atol(at) : -1;
    count_file = getenv("EDEN_STORAGE_COUNT");
    boot_file = getenv("EDEN_STORAGE_BOOT");
    is_unsynced = getenv("EDEN_STORAGE_UNSYNCED") != NULL;
    char number[16] = "";
    if (fault != NULL && sscanf(fault, "%15[^:]:%15[^:]:%15[^:]:%63s", fail_call, number, fail_how,
                                fail_name) >= 3) {
        fail_at = atol(number);
        fail_on = strchr(number, '+') != NULL;
    }
    const char *disk_fault = getenv("EDEN_STORAGE_TROUBLE");
    if (disk_fault != NULL) {
        sscanf(disk_fault, "%4095[^:]:%63s", fault_file, fault_name);
    }
    const char *path = getenv("EDEN_STORAGE_RECORD");
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC;
    record = path != NULL ? (int)call(SYS_openat, AT_FDCWD, path, flags, 0) : -1;
    if (record < 0) {
        record = (int)call(SYS_openat, AT_FDCWD, "/storage.record", flags, 0);
    }
    if (record >= 0) { /* out of the range of descriptors that the program expects */
        int high = (int)call(SYS_fcntl, record, F_DUPFD_CLOEXEC, 900);
        call(SYS_close, record);
        record = high;
    }
    unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void write_count(void)
{
    FILE *file = count_file != NULL ? fopen(count_file, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "%ld\n", atomic_load(&calls));
        fclose(file);
    }
}

/* --- Kills and failures ---------------------------------------------------------------------- */

/* Other threads may count at the same time; exactly one of them is the Nth. */
static bool is_kill_point(void)
{
    return atomic_fetch_add(&calls, 1) + 1 == kill_at;
}

static void end(void)
{
    for (;;) {
        call(SYS_kill, own, SIGKILL);
    }
}

static void pass(void)
{
    if (is_kill_point()) {
        end();
    }
}

static bool is_file(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_selected(int descriptor, const char *selected)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t len = readlink(link, path, sizeof path - 1);
    path[len < 0 ? 0 : len] = '\0';
    size_t size = strlen(selected), end = strlen(path);
    if (size > 0 && selected[size - 1] == '$') {
        return end >= size - 1 && strncmp(path + end - (size - 1), selected, size - 1) == 0;
    }
    return size == 0 || strstr(path, selected) != NULL;
}

static void sleep_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    call(SYS_nanosleep, &time, NULL);
}

/* Reads the fault from the file; returns false if there is none. */
static bool read_fault(char how[32])
{
    int file = (int)call(SYS_openat, AT_FDCWD, fault_file, O_RDONLY | O_CLOEXEC, 0);
    long size = file < 0 ? 0 : call(SYS_read, file, how, 31);
    if (file >= 0) {
        call(SYS_close, file);
    }
    how[size > 0 ? size : 0] = '\0';
    return size > 0;
}

/* Whether this call has to fail; if so, errno is set. May block for a while. */
static bool is_troubled(int descriptor)
{
    char how[32];
    if (fault_file[0] == '\0' || !is_selected(descriptor, fault_name)) {
        return false;
    }
    while (read_fault(how)) {
        if (strncmp(how, "slow ", 5) == 0) {
            sleep_ms(atol(how + 5));
            return false;
        }
        if (strncmp(how, "hang", 4) != 0) {
            errno = strncmp(how, "EROFS", 5) == 0    ? EROFS
                    : strncmp(how, "ENOSPC", 6) == 0 ? ENOSPC
                                                     : EIO;
            return true;
        }
        sleep_ms(20);
    }
    return false;
}

/* Whether this call has to fail; if so, errno is set. */
static bool fails(const char *name, int descriptor)
{
    if (is_troubled(descriptor)) {
        return true;
    }
    if (fail_at == 0 || strcmp(fail_call, name) != 0 || !is_selected(descriptor, fail_name)) {
        return false;
    }
    long number = atomic_fetch_add(&fail_count, 1) + 1;
    errno = strcmp(fail_how, "ENOSPC") == 0 ? ENOSPC : EIO;
    return number == fail_at || (fail_on && number > fail_at);
}

/* --- Recording ------------------------------------------------------------------------------- */

/* Held so that no other thread changes anything in between: records are in the order of the
 * events. */
static void record_lock(void)
{
    if (record >= 0) {
        pthread_mutex_lock(&mutex);
        call(SYS_flock, record, LOCK_EX);
    }
}

static long record_unlock(long result)
{
    if (record >= 0) {
        int number = errno;
        call(SYS_flock, record, LOCK_UN);
        pthread_mutex_unlock(&mutex);
        errno = number;
    }
    return result;
}

static void record_bytes(const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        long put = call(SYS_write, record, (const char *)data + done, size - done);
        done += put > 0 ? (size_t)put : 0;
    }
}

__attribute__((format(printf, 1, 2))) static void record_line(const char *format, ...)
{
    char line[HEAD_MAX];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (record >= 0) {
        int number = errno;
        record_bytes(line, (size_t)len);
        errno = number;
    }
}

static unsigned long long inode_of(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

static unsigned mode_of(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 ? status.st_mode & 07777 : 0;
}

/* Returns the directory of the last component of `path`, and that component. */
static unsigned long long parent_of(int directory, const char *path, const char **name)
{
    char parent[PATH_MAX];
    struct stat status;
    const char *slash = strrchr(path, '/');
    *name = slash == NULL ? path : slash + 1;
    snprintf(parent, sizeof parent, "%.*s", slash == NULL ? 1 : (int)(slash - path + 1),
             slash == NULL ? "." : path);
    return fstatat(directory, parent, &status, 0) == 0 ? status.st_ino : 0;
}

static bool is_there(int directory, const char *path, struct stat *status)
{
    return fstatat(directory, path, status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Records that the file at `path` has got this name. */
static void record_name(const char *letter, int directory, const char *path)
{
    struct stat status;
    const char *name;
    unsigned long long parent = parent_of(directory, path, &name);
    if (is_there(directory, path, &status)) {
        record_line("%s %llu %llu %u %s\n", letter, parent, (unsigned long long)status.st_ino,
                    status.st_mode & 07777, name);
    }
}

static void record_write(int descriptor, const void *data, long size, off_t offset)
{
    struct stat status;
    if (record < 0 || size <= 0 || fstat(descriptor, &status) != 0) {
        return;
    }
    if (S_ISREG(status.st_mode)) {
        off_t at = offset >= 0 ? offset : lseek(descriptor, 0, SEEK_CUR) - size;
        record_line("W %llu %lld %ld\n", (unsigned long long)status.st_ino, (long long)at, size);
        record_bytes(data, (size_t)size);
    } else if (descriptor == STDOUT_FILENO) {
        record_line("P %ld\n", size);
        record_bytes(data, (size_t)size);
    }
}

/* --- Calls ----------------------------------------------------------------------------------- */

/* A negative `offset` means the file's position. */
static ssize_t write_out(int descriptor, const void *data, size_t size, off_t offset)
{
    bool half = is_kill_point();
    if (is_file(descriptor) && fails("write", descriptor)) {
        if (strcmp(fail_how, "short") != 0) { /* otherwise, or if the fault file specifies it */
            return -1;
        }
        size = size > 1 ? size / 2 : size;
    }
    record_lock();
    size_t length = half ? size / 2 : size;
    long put = offset < 0 ? call(SYS_write, descriptor, data, length)
                          : call(SYS_pwrite64, descriptor, data, length, offset);
    record_write(descriptor, data, put, offset);
    if (half) {
        end();
    }
    return record_unlock(put);
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    return write_out(descriptor, data, size, -1);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset)
{
    return write_out(descriptor, data, size, offset);
}

/* A vectored write may be torn between its parts: callers must handle short writes. */
ssize_t writev(int descriptor, const struct iovec *chunks, int count)
{
    return count > 0 ? write_out(descriptor, chunks[0].iov_base, chunks[0].iov_len, -1) : 0;
}

ssize_t pwritev(int descriptor, const struct iovec *chunks, int count, off_t offset)
{
    return count > 0 ? write_out(descriptor, chunks[0].iov_base, chunks[0].iov_len, offset) : 0;
}

static int open_file(int directory, const char *path, int flags, mode_t mode)
{
    struct stat before;
    bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
    if ((flags & O_CREAT) == 0 && !nameless && (flags & O_TRUNC) == 0) {
        return (int)call(SYS_openat, directory, path, flags, mode);
    }
    pass();
    record_lock();
    bool there = is_there(directory, path, &before);
    int descriptor = (int)call(SYS_openat, directory, path, flags, mode);
    if (descriptor >= 0 && nameless) {
        record_line("C 0 %llu %u \n", inode_of(descriptor), mode_of(descriptor));
    } else if (descriptor >= 0 && !there) {
        record_name("C", directory, path);
    } else if (descriptor >= 0 && (flags & O_TRUNC) != 0) {
        record_line("T %llu 0\n", inode_of(descriptor));
    }
    return (int)record_unlock(descriptor);
}

static mode_t mode_given(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_given(flags, args);
    va_end(args);
    return open_file(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_given(flags, args);
    va_end(args);
    return open_file(directory, path, flags, mode);
}

/* openat2 has no wrapper in libc. */
long syscall(long number, ...)
{
    va_list args;
    va_start(args, number);
    long a = va_arg(args, long), b = va_arg(args, long), c = va_arg(args, long);
    long d = va_arg(args, long), e = va_arg(args, long), f = va_arg(args, long);
    va_end(args);
    const char *boot = "sys/kernel/random/boot_id";
    size_t len = number == SYS_openat2 ? strlen((const char *)b) : 0;
    if (boot_file != NULL && len >= strlen(boot) &&
        strcmp((const char *)b + len - strlen(boot), boot) == 0) {
        return call(SYS_openat, AT_FDCWD, boot_file, O_RDONLY | O_CLOEXEC, 0);
    }
    if (number == SYS_openat2 && record >= 0 &&
        (((struct open_how *)c)->flags & (O_CREAT | O_TRUNC)) != 0) {
        fprintf(stderr, "storage: openat2 creates %s: this is not recorded\n", (const char *)b);
        abort();
    }
    return call(number, a, b, c, d, e, f);
}

/* Makes a file system in memory count as a disk. */
int fstatfs(int descriptor, struct statfs *out)
{
    int result = (int)call(SYS_fstatfs, descriptor, out);
    if (record >= 0) {
        out->f_type = MAGIC_XFS;
    }
    return result;
}

static int sync_file(int descriptor, long number, const char *name, const char *letter)
{
    pass();
    if (fails(name, descriptor)) {
        return -1;
    }
    record_lock();
    int result = record >= 0 || is_unsynced ? 0 : (int)call(number, descriptor);
    if (result == 0) {
        record_line("%s %llu\n", letter, inode_of(descriptor));
    }
    return (int)record_unlock(result);
}

int fsync(int descriptor)
{
    return sync_file(descriptor, SYS_fsync, "fsync", "S");
}

int fdatasync(int descriptor)
{
    return sync_file(descriptor, SYS_fdatasync, "fdatasync", "F");
}

int syncfs(int descriptor)
{
    return sync_file(descriptor, SYS_syncfs, "syncfs", "A");
}

int ftruncate(int descriptor, off_t size)
{
    pass();
    if (fails("truncate", descriptor)) {
        return -1;
    }
    record_lock();
    int result = (int)call(SYS_ftruncate, descriptor, size);
    if (result == 0) {
        record_line("T %llu %lld\n", inode_of(descriptor), (long long)size);
    }
    return (int)record_unlock(result);
}

int fallocate(int descriptor, int mode, off_t offset, off_t size)
{
    pass();
    record_lock();
    int result = (int)call(SYS_fallocate, descriptor, mode, offset, size);
    struct stat status;
    if (result == 0 && mode == 0 && fstat(descriptor, &status) == 0) {
        record_line("T %llu %lld\n", (unsigned long long)status.st_ino, (long long)status.st_size);
    }
    return (int)record_unlock(result);
}

int fchmod(int descriptor, mode_t mode)
{
    pass();
    record_lock();
    int result = (int)call(SYS_fchmod, descriptor, mode);
    if (result == 0) {
        record_line("M %llu %u\n", inode_of(descriptor), mode & 07777);
    }
    return (int)record_unlock(result);
}

int fchown(int descriptor, uid_t uid, gid_t gid)
{
    pass();
    return (int)call(SYS_fchown, descriptor, uid, gid);
}

int mkdirat(int directory, const char *path, mode_t mode)
{
    pass();
    record_lock();
    int result = (int)call(SYS_mkdirat, directory, path, mode);
    if (result == 0) {
        record_name("D", directory, path);
    }
    return (int)record_unlock(result);
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

int unlinkat(int directory, const char *path, int flags)
{
    pass();
    record_lock();
    const char *name;
    unsigned long long parent = parent_of(directory, path, &name);
    int result = (int)call(SYS_unlinkat, directory, path, flags);
    if (result == 0) {
        record_line("U %llu %s\n", parent, name);
    }
    return (int)record_unlock(result);
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int linkat(int from, const char *old, int to, const char *path, int flags)
{
    pass();
    record_lock();
    int result = (int)call(SYS_linkat, from, old, to, path, flags);
    if (result == 0) {
        record_name("L", to, path);
    }
    return (int)record_unlock(result);
}

int symlinkat(const char *target, int directory, const char *path)
{
    pass();
    record_lock();
    int result = (int)call(SYS_symlinkat, target, directory, path);
    struct stat status;
    const char *name;
    unsigned long long parent = parent_of(directory, path, &name);
    if (result == 0 && record >= 0 && is_there(directory, path, &status)) {
        record_line("Y %llu %llu %zu %s\n", parent, (unsigned long long)status.st_ino,
                    strlen(target), name);
        record_bytes(target, strlen(target));
    }
    return (int)record_unlock(result);
}

int renameat(int from, const char *old, int to, const char *path)
{
    pass();
    if (fails("rename", to)) {
        return -1;
    }
    record_lock();
    const char *old_name, *new_name;
    unsigned long long old_parent = parent_of(from, old, &old_name);
    unsigned long long new_parent = parent_of(to, path, &new_name);
    struct stat moved, there;
    bool same = is_there(from, old, &moved) && is_there(to, path, &there) &&
                moved.st_ino == there.st_ino; /* two links to one file: no effect */
    int result = (int)call(SYS_renameat, from, old, to, path);
    if (result == 0 && !same) {
        record_line("R %llu %llu %s/%s\n", old_parent, new_parent, old_name, new_name);
    }
    return (int)record_unlock(result);
}

int rename(const char *old, const char *path)
{
    return renameat(AT_FDCWD, old, AT_FDCWD, path);
}

/* Intercepts requests to other processes, such as systemd. */
ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
    pass();
    return call(SYS_sendmsg, descriptor, message, flags);
}

/* The second name of these functions. */
#define ALIAS(name, other, type, ...) type other(__VA_ARGS__) __attribute__((alias(#name)));
ALIAS(open, open64, int, const char *, int, ...)
ALIAS(openat, openat64, int, int, const char *, int, ...)
ALIAS(pwrite, pwrite64, ssize_t, int, const void *, size_t, off_t)
ALIAS(pwritev, pwritev64, ssize_t, int, const struct iovec *, int, off_t)
ALIAS(ftruncate, ftruncate64, int, int, off_t)
ALIAS(fallocate, fallocate64, int, int, int, off_t, off_t)
ALIAS(fstatfs, fstatfs64, int, int, struct statfs64 *)
