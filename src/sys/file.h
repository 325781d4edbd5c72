/* Whole files: read with a size limit, opened beneath a root, replaced atomically so that a reader
 * sees either the old or the new content. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* "-" reads standard input. Fails with ERROR_NOT_FOUND, ERROR_DENIED, ERROR_LIMIT or ERROR_OS. */
MUST_CHECK bool file_read(Arena *arena, const char *path, size_t max, Str *out, Error *err);
/* Reads a file that contains a secret: ERROR_DENIED, with a hint, if its group or others may read
 * it. Pipes and standard input are not checked. */
MUST_CHECK bool file_read_secret(Arena *arena, const char *path, size_t max, Str *out, Error *err);

/* Reads a file whose content is trusted: ERROR_DENIED if users other than root and the current user
 * can write it. */
MUST_CHECK bool file_read_trusted(Arena *arena, const char *path, size_t max, Str *out, Error *err);

/* At most `max` bytes from the start of a file, to detect its type. Reads from a pipe only what is
 * available. */
MUST_CHECK bool file_read_head(Arena *arena, const char *path, size_t max, Str *out, Error *err);

/* Reads `path` inside the directory `root`: neither ".." nor a link can escape it. Anything but a
 * regular file, such as a pipe, is ERROR_INVALID. */
MUST_CHECK bool file_read_beneath(Arena *arena, const char *root, Str path, size_t max, Str *out,
                                  Error *err);

/* Writes all of `text` to a descriptor; retries partial writes. */
MUST_CHECK bool file_write_all(int descriptor, Str text, Error *err);

/* Creates or replaces the file `path` durably: temporary file in the same directory, fsync, rename,
 * fsync of the directory. On failure the old file is unchanged and the temporary file is removed.
 * Fails with ERROR_NOT_FOUND (no such directory), ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool file_write_atomic(const char *path, Str text, Error *err);
/* The same with mode 0600, even if the old file was readable by others. */
MUST_CHECK bool file_write_private(const char *path, Str text, Error *err);
/* The same, but fails with ERROR_CONFLICT if the file exists. */
MUST_CHECK bool file_write_new_private(const char *path, Str text, Error *err);

/* The absolute path, without "." and empty components. Symbolic links are kept, so that a path
 * stays valid when its link is replaced; they are resolved only before "..". A path that does not
 * exist is returned unchanged. */
Str file_absolute(Arena *arena, const char *path);

bool file_exists(const char *path);
/* Whether the file is on a tmpfs and is lost when the machine restarts. */
bool file_is_on_tmpfs(const char *path);
/* Checks that only root and its owner could create another file at this path after it is removed;
 * in /tmp, for example, any user could after a restart. The file need not exist. */
MUST_CHECK bool file_check_path_protected(Arena *arena, const char *path, Error *err);
bool file_is_directory(const char *path);
/* Whether it is a regular file that this process may execute. */
bool file_is_executable(const char *path);
/* Whether it can be read again later: neither a pipe nor "-", standard input. */
bool file_is_rereadable(const char *path);
/* Whether users other than root and the current user can write it: its owner, its group or all. */
bool file_is_writable_by_others(const char *path);

/* The regular files under `root` whose names end in one of `suffixes` (NULL ends the list), as
 * paths that start with `root`, sorted, at most `max` of them (more: ERROR_LIMIT). Hidden files and
 * directories are skipped; links to directories are not followed. */
typedef struct FileList {
    Str *paths;
    uint32_t count;
} FileList;
MUST_CHECK bool file_list(Arena *arena, const char *root, const char *const *suffixes, uint32_t max,
                          FileList *out, Error *err);
