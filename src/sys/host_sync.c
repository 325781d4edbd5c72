/* When changes are on the disk.
 *
 * A file that is written and then named can be found empty after a power cut, unless its data
 * reached the disk before the name did. fsync makes sure, at the price of a flush for each file.
 * ext4 in its ordinary mode writes data of allocated blocks before it commits the name, so there it
 * suffices to have the blocks allocated, which starting the write-out does without waiting. Without
 * a journal, or with data=writeback, it does not; ext2 has the same magic number and never does. */
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

/* What cannot be found out is not ordered. */
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

/* `descriptor` may be a file or an O_PATH directory; syncfs wants neither of those kept open for
 * long, so the file system is remembered by a descriptor of its own. A link or what may not be read
 * cannot be opened for that, and what was opened with O_PATH is of no use to syncfs: NULL. */
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
                            .volatile_ = magic == MAGIC_TMPFS || magic == (uint32_t)MAGIC_RAMFS };
    return device;
}

typedef enum Flush {
    FLUSH_NONE,
    FLUSH_START,
    FLUSH_WAIT
} Flush;

/* Notes that there is something to sync, and says what the data needs meanwhile. */
static Flush note_change(Host *host, int descriptor, dev_t number)
{
    host = host->outer != NULL ? host->outer : host;
    pthread_mutex_lock(&host->lock);
    HostDevice *device = find_device(host, number);
    if (device == NULL) {
        device = add_device(host, number, descriptor);
    }
    Flush flush = FLUSH_WAIT;
    if (device != NULL) {
        device->dirty = !device->volatile_;
        flush = device->volatile_ ? FLUSH_NONE : device->ordered ? FLUSH_START : FLUSH_WAIT;
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
        /* One opened with O_PATH, or on a file system that cannot do this, is left as it is. */
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
        /* Entries stay where they are, and others may go on writing meanwhile. */
        pthread_mutex_lock(&host->lock);
        HostDevice device = host->devices[i];
        host->devices[i].dirty = false;
        pthread_mutex_unlock(&host->lock);
        if (device.dirty && syncfs(device.descriptor) != 0) {
            ok = error_set(err, ERROR_OS, "cannot bring changes to the disk: %s", strerror(errno));
        }
    }
    return ok;
}
