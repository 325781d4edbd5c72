/* Files of a host that are too large for memory: read and written in pieces, renamed and linked. */
#pragma once

#include "sys/host.h"

/* --- Reading ------------------------------------------------------------------------------- */

typedef struct HostReader HostReader;

/* Follows a link, like host_read. Anything but a regular file is ERROR_INVALID. Ignores plans: this
 * is the file that exists now. */
MUST_CHECK bool host_reader_open(Host *host, Str path, HostReader **out, Error *err);
void host_reader_close(HostReader *reader); /* NULL is allowed */
DEFINE_AUTO(HostReader, host_reader_close)

const FileInfo *host_reader_info(const HostReader *reader); /* when it was opened */
/* Fills `buffer` from `offset`; `*got` is less than `size` only at the end. */
MUST_CHECK bool host_reader_get(HostReader *reader, uint64_t offset, char *buffer, size_t size,
                                size_t *got, Error *err);
/* For ProcessSpec.input_file; owned by the reader. */
int host_reader_descriptor(const HostReader *reader);

/* --- Writing ------------------------------------------------------------------------------- */

typedef struct HostWriter HostWriter;

/* A new file with mode 0600; ERROR_CONFLICT if it exists. It is visible from now on, so use it in a
 * directory that is not in use yet. */
MUST_CHECK bool host_writer_open(Host *host, Str path, HostWriter **out, Error *err);
MUST_CHECK bool host_writer_put(HostWriter *writer, Str piece, Error *err);
/* Sets owner and group (HOST_KEEP_ID: those of the process), mode and modification time. It may not
 * be durable before host_sync; call that before moving it to its final place. */
MUST_CHECK bool host_writer_finish(HostWriter *writer, uid_t uid, gid_t gid, mode_t mode,
                                   int64_t mtime_s, Error *err);
void host_writer_close(HostWriter *writer); /* NULL is allowed */
DEFINE_AUTO(HostWriter, host_writer_close)

/* --- Names --------------------------------------------------------------------------------- */

/* Renames `from` to `to` atomically. Replaces a file or link; a directory at `to` is an error, and
 * so are different file systems. The hosts may be the same. */
MUST_CHECK bool host_move(Host *host, Str from, Host *to_host, Str to, Error *err);
/* Creates a hard link. */
MUST_CHECK bool host_make_hard_link(Host *host, Str path, Str file, Error *err);
/* The temporary path for `path`; always the same, so that the leftover of a killed process is found
 * again. */
Str host_draft_path(Arena *arena, Str path);
