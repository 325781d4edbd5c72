#include "sys/host_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "sys/file.h"
#include "sys/file_io.h"
#include "sys/host_inner.h"

/* Both keep their path for messages. */
struct HostReader {
    int descriptor;
    FileInfo info;
    char path[PATH_MAX];
};

struct HostWriter {
    Host *host;
    int descriptor;
    char path[PATH_MAX];
};

/* --- Reading ------------------------------------------------------------------------------- */

bool host_reader_open(Host *host, Str path, HostReader **out, Error *err)
{
    HostReader *reader = memory_new(sizeof *reader);
    struct stat status;
    reader->descriptor = -1;
    bool ok = host_path(path, reader->path, err);
    if (ok) {
        reader->descriptor = host_open_path(host, reader->path, O_RDONLY | O_NONBLOCK);
        ok = (reader->descriptor >= 0 && fstat(reader->descriptor, &status) == 0) ||
             host_open_error(host, err, errno, path);
    }
    if (ok && !S_ISREG(status.st_mode)) {
        ok = error_set(err, ERROR_INVALID, "%" STR_FMT " is not a regular file", STR_ARG(path));
    }
    if (!ok) {
        host_reader_close(reader);
        return false;
    }
    reader->info = host_info_from(&status);
    *out = reader;
    return true;
}

void host_reader_close(HostReader *reader)
{
    if (reader != NULL && reader->descriptor >= 0) {
        close(reader->descriptor);
    }
    free(reader);
}

const FileInfo *host_reader_info(const HostReader *reader)
{
    return &reader->info;
}

int host_reader_descriptor(const HostReader *reader)
{
    return reader->descriptor;
}

bool host_reader_get(HostReader *reader, uint64_t offset, char *buffer, size_t size, size_t *got,
                     Error *err)
{
    if (offset > INT64_MAX - size) {
        size = offset <= INT64_MAX ? (size_t)(INT64_MAX - offset) : 0;
        offset = offset <= INT64_MAX ? offset : 0;
    }
    return read_at(reader->descriptor, (int64_t)offset, buffer, size, got) ||
           host_error(err, errno, str_from_c(reader->path));
}

/* --- Writing ------------------------------------------------------------------------------- */

bool host_writer_open(Host *host, Str path, HostWriter **out, Error *err)
{
    HostEntry entry;
    HostWriter *writer = memory_new(sizeof *writer);
    *writer = (HostWriter){ .host = host, .descriptor = -1 };
    bool ok = host_path(path, writer->path, err) && host_open_entry(host, path, &entry, err);
    if (ok) {
        writer->descriptor = openat(entry.directory, entry.name,
                                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        int number = errno;
        if (writer->descriptor >= 0) {
            host_drop_inherited_acl(host, entry.directory, writer->descriptor);
        }
        host_entry_close(&entry);
        ok = writer->descriptor >= 0 || host_error(err, number, path);
    }
    if (!ok) {
        free(writer);
        return false;
    }
    *out = writer;
    return true;
}

bool host_writer_put(HostWriter *writer, Str piece, Error *err)
{
    return file_write_all(writer->descriptor, piece, err) || error_wrap(err, "%s", writer->path);
}

bool host_writer_finish(HostWriter *writer, uid_t uid, gid_t gid, mode_t mode, int64_t mtime_s,
                        Error *err)
{
    Str path = str_from_c(writer->path);
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = mtime_s } };
    bool owned = uid == HOST_KEEP_ID && gid == HOST_KEEP_ID;
    /* The owner first: changing it clears the set-id bits. */
    bool ok = (owned || fchown(writer->descriptor, uid, gid) == 0) &&
              fchmod(writer->descriptor, mode) == 0 && futimens(writer->descriptor, times) == 0 &&
              host_flush_directory(writer->host, writer->descriptor);
    return ok || host_error(err, errno, path);
}

void host_writer_close(HostWriter *writer)
{
    if (writer != NULL) {
        close(writer->descriptor);
    }
    free(writer);
}

/* --- Names --------------------------------------------------------------------------------- */

typedef int (*NameChange)(const HostEntry *from, const HostEntry *to);

static int rename_file(const HostEntry *from, const HostEntry *to)
{
    return renameat(from->directory, from->name, to->directory, to->name);
}

static int link_file(const HostEntry *from, const HostEntry *to)
{
    return linkat(from->directory, from->name, to->directory, to->name, 0);
}

static bool change_name(Host *host, Str from, Host *to_host, Str to, NameChange change, Error *err)
{
    HostEntry old, new;
    if (!host_open_entry(host, from, &old, err)) {
        return false;
    }
    if (!host_open_entry(to_host, to, &new, err)) {
        host_entry_close(&old);
        return false;
    }
    bool ok = (change(&old, &new) == 0 && host_flush_directory(to_host, new.directory)) ||
              host_error(err, errno, to);
    host_entry_close(&old);
    host_entry_close(&new);
    return ok;
}

bool host_move(Host *host, Str from, Host *to_host, Str to, Error *err)
{
    return change_name(host, from, to_host, to, rename_file, err);
}

bool host_make_hard_link(Host *host, Str path, Str file, Error *err)
{
    return change_name(host, file, host, path, link_file, err);
}

Str host_draft_path(Arena *arena, Str path)
{
    char name[HOST_TEMP_NAME];
    size_t slash = str_find_last(path, STR("/"));
    host_temp_name(arena_copy_c(arena, str_from_offset(path, slash + 1)), name);
    return arena_join(arena, str_slice(path, 0, slash + 1), str_from_c(name), STR_EMPTY);
}
