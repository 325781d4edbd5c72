#include "sys/slot_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/crc32c.h"
#include "sys/file_io.h"

enum {
    SLOTS = 2,
    SLOT_STRIDE = 4096,    /* bytes per slot: one page */
    SLOT_HEAD = 4 + 8 + 4, /* checksum of the following, sequence number, length of the record */
    SLOT_SIZE = SLOT_HEAD + SLOT_RECORD_MAX,
};

static void put_number(char *out, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        out[i] = (char)(number >> (8 * i));
    }
}

static uint64_t number_at(const char *text, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++) {
        number |= (uint64_t)(unsigned char)text[i] << (8 * i);
    }
    return number;
}

/* Writes all of it, or sets errno. */
static bool write_at(int descriptor, Str text, int64_t at)
{
    errno = ENOSPC; /* for a short write */
    return pwrite(descriptor, text.data, text.len, (off_t)at) == (ssize_t)text.len;
}

static bool open_with(const Directory *directory, const char *name, int flags, SlotFile *out,
                      int64_t *size, Error *err)
{
    struct stat status;
    *out = (SlotFile){ .is_synced = true };
    snprintf(out->name, sizeof out->name, "%s/%s", directory->path, name);
    out->descriptor =
        openat(directory->descriptor, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (out->descriptor < 0 || fstat(out->descriptor, &status) != 0) {
        int number = errno;
        slot_file_close(out);
        return directory_error(err, number, directory, name);
    }
    if (!S_ISREG(status.st_mode)) {
        slot_file_close(out);
        return error_set(err, ERROR_INVALID, "%s/%s: not a regular file", directory->path, name);
    }
    *size = status.st_size;
    return true;
}

bool slot_file_open(const Directory *directory, const char *name, SlotFile *out, Error *err)
{
    /* Writing zeros allocates space even if fallocate is not supported. */
    static const char zeros[SLOTS * SLOT_STRIDE];
    int64_t size;
    if (!open_with(directory, name, O_RDWR | O_CREAT, out, &size, err)) {
        return false;
    }
    if (size < (int64_t)sizeof zeros &&
        !write_at(out->descriptor, str_from(zeros + size, sizeof zeros - (size_t)size), size)) {
        int number = errno;
        slot_file_close(out);
        return directory_error(err, number, directory, name);
    }
    return true;
}

bool slot_file_open_reading(const Directory *directory, const char *name, SlotFile *out, Error *err)
{
    int64_t size;
    return open_with(directory, name, O_RDONLY, out, &size, err);
}

void slot_file_close(SlotFile *file)
{
    if (file->descriptor >= 0) {
        close(file->descriptor);
    }
    file->descriptor = -1;
}

bool slot_file_read(SlotFile *file, Arena *arena, Str *out, Error *err)
{
    *out = STR_EMPTY;
    file->sequence = 0;
    for (int i = 0; i < SLOTS; i++) {
        char slot[SLOT_SIZE];
        ssize_t got = pread(file->descriptor, slot, sizeof slot, (off_t)i * SLOT_STRIDE);
        if (got < 0) {
            return file_error(err, errno, file->name);
        }
        uint64_t number = got >= SLOT_HEAD ? number_at(slot + 4, 8) : 0;
        uint64_t len = got >= SLOT_HEAD ? number_at(slot + 12, 4) : 0;
        if (number <= file->sequence || len > (uint64_t)got - SLOT_HEAD ||
            crc32c(str_from(slot + 4, SLOT_HEAD - 4 + len)) != number_at(slot, 4)) {
            continue;
        }
        file->sequence = number;
        *out = arena_copy(arena, str_from(slot + SLOT_HEAD, len));
    }
    return true;
}

bool slot_file_write(SlotFile *file, Str record, Error *err)
{
    char slot[SLOT_SIZE];
    BUG_IF(record.len > SLOT_RECORD_MAX);
    uint64_t number = file->sequence + 1;
    size_t size = SLOT_HEAD + record.len;
    put_number(slot + 4, number, 8);
    put_number(slot + 12, record.len, 4);
    memcpy(slot + SLOT_HEAD, record.data, record.len);
    put_number(slot, crc32c(str_from(slot + 4, size - 4)), 4);
    if (!write_at(file->descriptor, str_from(slot, size),
                  (int64_t)(number % SLOTS) * SLOT_STRIDE)) {
        return file_error(err, errno, file->name);
    }
    file->sequence = number;
    file->is_synced = false;
    return true;
}

bool slot_file_sync(SlotFile *file, Error *err)
{
    /* Set first: a concurrent write may not be covered by this sync. */
    if (atomic_exchange(&file->is_synced, true) || fdatasync(file->descriptor) == 0) {
        return true;
    }
    file->is_synced = false;
    return file_error(err, errno, file->name);
}
