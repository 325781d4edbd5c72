#include "sys/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sys/clock.h"

enum {
    RACE_TRIES = 64,
    NAME_TRIES = 16,
    READ_PIECE = 4096, /* most files of unknown size, as in /proc, contain only a few bytes */
};

bool file_error(Error *err, int number, const char *path)
{
    ErrorKind kind = number == ENOENT || number == ENOTDIR ? ERROR_NOT_FOUND
                     : number == EACCES || number == EPERM ? ERROR_DENIED
                                                           : ERROR_OS;
    return error_set(err, kind, "%s: %s", path, strerror(number));
}

bool file_read_error(Error *err, int number, const char *path, size_t max)
{
    if (number != EFBIG) {
        return file_error(err, number, path);
    }
    return max >> 20 << 20 == max && max > 0
               ? error_set(err, ERROR_LIMIT, "%s: larger than %zu MiB", path, max >> 20)
               : error_set(err, ERROR_LIMIT, "%s: larger than %zu bytes", path, max);
}

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

/* --- Reading --------------------------------------------------------------------------------- */

/* Asks for one byte more than expected: a file that has exactly the expected size then takes one
 * call, because the read is short at its end. */
bool read_to_end(int descriptor, Arena *arena, int64_t size, size_t max, Str *out)
{
    errno = EFBIG;
    if (size > 0 && (uint64_t)size > max) {
        return false;
    }
    size_t piece = size > 0 ? (size_t)size + 1 : READ_PIECE;
    Buf text = buf_make_in(arena, size > 0 ? piece : max + 1); /* at first no more than expected */
    for (;;) {
        size_t room = max + 1 - text.len;
        piece = room < piece ? room : piece;
        if (piece == 0 || !buf_reserve(&text, piece)) {
            errno = EFBIG;
            return false;
        }
        text.max = max + 1;
        ssize_t got = read(descriptor, text.data + text.len, piece);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return false;
        }
        text.len += (size_t)got;
        if (got == 0 || (size > 0 && text.len == (size_t)size)) {
            break;
        }
        piece = text.cap > text.len ? text.cap - text.len : text.cap;
    }
    if (text.len > max) {
        errno = EFBIG;
        return false;
    }
    arena_shrink(arena, text.data, text.cap + BUF_SLACK, text.len + BUF_SLACK);
    *out = buf_str(&text);
    return true;
}

bool read_at(int descriptor, int64_t offset, char *buffer, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        ssize_t count =
            pread(descriptor, buffer + *got, size - *got, (off_t)(offset + (int64_t)*got));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return false;
        }
        if (count == 0) {
            break;
        }
        *got += (size_t)count;
    }
    return true;
}

/* --- Replacing ------------------------------------------------------------------------------- */

bool new_file_name(const char *name, char out[NAME_MAX + 1])
{
    errno = ENAMETOOLONG;
    return snprintf(out, NAME_MAX + 1, "%s.%016llx.new", name, (unsigned long long)random_seed()) <=
           NAME_MAX;
}

bool new_file_open(int directory, const char *name, mode_t mode, NewFile *out)
{
    *out = (NewFile){ .directory = directory, .name = name, .descriptor = -1 };
    for (int i = 0; i < NAME_TRIES && new_file_name(name, out->temporary); i++) {
        out->descriptor = openat(directory, out->temporary,
                                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (out->descriptor >= 0 || errno != EEXIST) {
            break;
        }
    }
    return out->descriptor >= 0;
}

void sync_directory(int directory)
{
    int descriptor = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)!fsync(descriptor);
        close(descriptor);
    }
}

/* linkat, unlike renameat, fails if the name exists. */
static bool give_name(const NewFile *file, unsigned flags)
{
    return (flags & NEW_FILE_EXCLUSIVE) != 0
               ? linkat(file->directory, file->temporary, file->directory, file->name, 0) == 0
               : renameat(file->directory, file->temporary, file->directory, file->name) == 0;
}

bool new_file_publish(NewFile *file, unsigned flags)
{
    bool syncs = (flags & NEW_FILE_SYNC) != 0;
    int descriptor = file->descriptor;
    file->descriptor = -1;
    bool ok = !syncs || fsync(descriptor) == 0;
    int number = errno;
    if (close(descriptor) != 0 && ok) {
        ok = false;
        number = errno;
    }
    if (!ok) {
        errno = number;
        return false;
    }
    if (!give_name(file, flags)) {
        return false;
    }
    if ((flags & NEW_FILE_EXCLUSIVE) != 0) {
        unlinkat(file->directory, file->temporary, 0);
    }
    file->temporary[0] = '\0';
    if (syncs) {
        sync_directory(file->directory);
    }
    return true;
}

void new_file_discard(NewFile *file)
{
    if (file->descriptor >= 0) {
        close(file->descriptor);
        file->descriptor = -1;
    }
    if (file->temporary[0] != '\0') {
        unlinkat(file->directory, file->temporary, 0);
        file->temporary[0] = '\0';
    }
}

bool rename_durably(const char *from, const char *to)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s", to) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (rename(from, to) != 0) {
        return false;
    }
    int directory = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        return false;
    }
    bool ok = fsync(directory) == 0;
    int number = errno;
    close(directory);
    errno = number;
    return ok;
}

/* --- Listing --------------------------------------------------------------------------------- */

DIR *entries_open(int descriptor)
{
    DIR *entries = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (entries == NULL && descriptor >= 0) {
        int number = errno;
        close(descriptor);
        errno = number;
    }
    return entries;
}

DIR *entries_open_at(int directory)
{
    return entries_open(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

const char *entries_next(DIR *entries)
{
    const struct dirent *entry;
    do {
        entry = readdir(entries);
    } while (entry != NULL &&
             (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry == NULL ? NULL : entry->d_name;
}

void entries_close(DIR *entries)
{
    if (entries != NULL) {
        closedir(entries);
    }
}

static int compare_names(const void *a, const void *b)
{
    return str_compare(*(const Str *)a, *(const Str *)b);
}

bool entries_names(int descriptor, Arena *arena, uint32_t max, Str **names, uint32_t *count)
{
    DIR *entries = entries_open(descriptor);
    if (entries == NULL) {
        return false;
    }
    VEC(Str) found = { 0 };
    const char *name;
    while ((name = entries_next(entries)) != NULL && found.len < max) {
        VEC_PUSH(arena, &found, arena_copy(arena, str_from_c(name)));
    }
    entries_close(entries);
    if (name != NULL) {
        errno = EOVERFLOW;
        return false;
    }
    if (found.len > 1) {
        qsort(found.items, found.len, sizeof(Str), compare_names);
    }
    *names = found.items;
    *count = found.len;
    return true;
}
