/* When changes reach the disk.
 *
 * A file that is written and then renamed can be empty after a power failure, unless its data
 * reached the disk before the rename did. fsync guarantees that, at the cost of a flush per file.
 * ext4 in its default mode (data=ordered) writes the data of allocated blocks before it commits the
 * rename, so there it is enough to have the blocks allocated, which starting the writeback does
 * without waiting. Without a journal, or with data=writeback, that does not hold; ext2 has the same
 * magic number and never guarantees it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sys/host_inner.h"

enum {
    MAGIC_EXT4 = 0xef53,
    MAGIC_TMPFS = 0x01021994,
    MAGIC_RAMFS = 0x858458f6,
};

void host_set_sync(Host *host, SyncPolicy policy)
{
    host->sync = policy;
}

static HostDevice *find_device(Host *host, dev_t number)
{
    for (uint32_t i = 0; i < host->device_count; i++) {
        if (host->devices[i].number == number) {
            return &host->devices[i];
        }
    }
    return NULL;
}

bool host_ext4_is_ordered(Str options)
{
    Str line;
    while (str_split_next(&options, '\n', &line)) {
        if (str_eq(line, STR("data=ordered")) || str_eq(line, STR("data=journal"))) {
            return true;
        }
    }
    return false;
}

/* If in doubt, the data is not considered ordered. */
static bool is_ordered(dev_t number)
{
    char link[64], target[PATH_MAX], path[PATH_MAX], options[4096];
    snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(number), minor(number));
    ssize_t len = readlink(link, target, sizeof target);
    if (len < 0) {
        return false;
    }
    Str name = str_from(target, (size_t)len);
    name = str_from_offset(name, str_find_last(name, STR("/")) + 1);
    snprintf(path, sizeof path, "/proc/fs/ext4/%" STR_FMT "/options", STR_ARG(name));
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return false;
    }
    len = read(descriptor, options, sizeof options);
    close(descriptor);
    return len > 0 && host_ext4_is_ordered(str_from(options, (size_t)len));
}

/* `descriptor` may be a file or an O_PATH directory. syncfs needs an open descriptor, so one
 * descriptor is kept open for each file system. NULL if none can be opened: syncfs rejects
 * O_PATH, and links and unreadable files cannot be opened otherwise. */
static HostDevice *add_device(Host *host, dev_t number, int descriptor)
{
    struct statfs status;
    if (host->device_count == HOST_DEVICES_MAX || fstatfs(descriptor, &status) != 0) {
        return NULL;
    }
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int own = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (own < 0 && (fcntl(descriptor, F_GETFL) & O_PATH) == 0) {
        own = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    }
    if (own < 0) {
        return NULL;
    }
    uint32_t magic = (uint32_t)status.f_type;
    HostDevice *device = &host->devices[host->device_count++];
    *device = (HostDevice){ .number = number,
                            .descriptor = own,
                            .ordered = magic == MAGIC_EXT4 && is_ordered(number),
                            .in_memory = magic == MAGIC_TMPFS || magic == (uint32_t)MAGIC_RAMFS };
    return device;
}

typedef enum Flush {
    FLUSH_NONE,
    FLUSH_START,
    FLUSH_WAIT
} Flush;

/* Marks the file system as changed, and returns how its data must be flushed. */
static Flush note_change(Host *host, int descriptor, dev_t number)
{
    host = host->parent != NULL ? host->parent : host;
    pthread_mutex_lock(&host->lock);
    HostDevice *device = find_device(host, number);
    if (device == NULL) {
        device = add_device(host, number, descriptor);
    }
    Flush flush = FLUSH_WAIT;
    if (device != NULL) {
        device->dirty = !device->in_memory;
        flush = device->in_memory ? FLUSH_NONE : device->ordered ? FLUSH_START : FLUSH_WAIT;
    }
    pthread_mutex_unlock(&host->lock);
    return flush;
}

bool host_flush_file(Host *host, int descriptor, dev_t device)
{
    if (host->sync == SYNC_EACH) {
        return fsync(descriptor) == 0;
    }
    switch (note_change(host, descriptor, device)) {
    case FLUSH_NONE: return true;
    case FLUSH_START: return sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE) == 0;
    case FLUSH_WAIT: return fsync(descriptor) == 0;
    }
    return true;
}

bool host_flush_directory(Host *host, int directory)
{
    if (host->sync == SYNC_EACH) {
        /* Does nothing for O_PATH descriptors and file systems that do not support it. */
        return fsync(directory) == 0 || errno == EBADF || errno == EINVAL || errno == EROFS;
    }
    struct stat status;
    if (fstat(directory, &status) == 0) {
        note_change(host, directory, status.st_dev);
    }
    return true;
}

void host_note_change(Host *host)
{
    if (host->sync == SYNC_LATER) {
        host_flush_directory(host, host->root_descriptor);
    }
}

bool host_sync(Host *host, Error *err)
{
    bool ok = true;
    pthread_mutex_lock(&host->lock);
    uint32_t count = host->device_count;
    pthread_mutex_unlock(&host->lock);
    for (uint32_t i = 0; i < count; i++) {
        /* The list only grows, and other threads may add to it in the meantime. */
        pthread_mutex_lock(&host->lock);
        HostDevice device = host->devices[i];
        host->devices[i].dirty = false;
        pthread_mutex_unlock(&host->lock);
        if (device.dirty && syncfs(device.descriptor) != 0) {
            ok = error_set(err, ERROR_OS, "cannot sync changes to disk: %s", strerror(errno));
        }
    }
    return ok;
}
