/* Files of a host that are too large to be held in memory: read and written piece by piece, and
 * moved. */
#pragma once

#include "sys/host.h"

/* --- Reading ------------------------------------------------------------------------------- */

typedef struct HostReader HostReader;

/* A link is followed, as by host_read. What is no file is ERROR_INVALID. Plans are not looked at:
 * this is what stands there now. */
MUST_CHECK bool host_reader_open(Host *host, Str path, HostReader **out, Error *err);
void host_reader_close(HostReader *reader); /* NULL is fine */
DEFINE_AUTO(HostReader, host_reader_close)

const FileInfo *host_reader_info(const HostReader *reader); /* as it was opened */
/* Fills `buffer` with what stands at `offset`; `*got` is less than `size` only at the end. */
MUST_CHECK bool host_reader_get(HostReader *reader, uint64_t offset, char *buffer, size_t size,
                                size_t *got, Error *err);
/* For ProcessSpec.input_file; stays the reader's. */
int host_reader_descriptor(const HostReader *reader);

/* --- Writing ------------------------------------------------------------------------------- */

typedef struct HostWriter HostWriter;

/* A new file for its owner alone; what is there already is ERROR_CONFLICT. It is there from now on,
 * so this is for a directory that nobody looks into yet. */
MUST_CHECK bool host_writer_open(Host *host, Str path, HostWriter **out, Error *err);
MUST_CHECK bool host_writer_put(HostWriter *writer, Str piece, Error *err);
/* Owner and group (HOST_KEEP_ID: the process's), mode, when it changed last. It may not be on the
 * disk before host_sync: whoever moves it to where it counts, calls that first. */
MUST_CHECK bool host_writer_finish(HostWriter *writer, uid_t uid, gid_t gid, mode_t mode,
                                   int64_t mtime_s, Error *err);
void host_writer_close(HostWriter *writer); /* NULL is fine */
DEFINE_AUTO(HostWriter, host_writer_close)

/* --- Names --------------------------------------------------------------------------------- */

/* What is at `from` gets the name `to`, at one moment. It replaces a file or link; a directory in
 * its place is an error, and so are two file systems. The hosts may be the same. */
MUST_CHECK bool host_move(Host *host, Str from, Host *to_host, Str to, Error *err);
/* One more name for a file. */
MUST_CHECK bool host_make_hard_link(Host *host, Str path, Str file, Error *err);
/* A path beside `path` for what is not ready to be seen; always the same, so that what a killed
 * process left is found again. */
Str host_draft_path(Arena *arena, Str path);
