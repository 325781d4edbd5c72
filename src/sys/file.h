/* Files as whole texts: read within a bound, opened beneath a root, written so that a reader
 * sees the old or the new content and never a part. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* "-" is standard input. Fails with ERROR_NOT_FOUND, ERROR_DENIED, ERROR_LIMIT or ERROR_OS. */
MUST_CHECK bool file_read(Arena *arena, const char *path, size_t max, Str *out, Error *err);
/* The same of a file with a secret in it: ERROR_DENIED, with what to do, when its group or others may
 * read it. Pipes and standard input have no such thing. */
MUST_CHECK bool file_read_secret(Arena *arena, const char *path, size_t max, Str *out, Error *err);

/* The same of a file that is obeyed: ERROR_DENIED when another user than root and the one who runs this
 * may have written it. */
MUST_CHECK bool file_read_trusted(Arena *arena, const char *path, size_t max, Str *out, Error *err);

/* The first bytes of a file, at most `max`: enough to see what kind of file it is. Of a pipe, those
 * that are there already. */
MUST_CHECK bool file_read_head(Arena *arena, const char *path, size_t max, Str *out, Error *err);

/* The same as file_read for `path` inside the directory `root`: no ".." or link leads out of it, and
 * what is no file, such as a pipe, is ERROR_INVALID. */
MUST_CHECK bool file_read_beneath(Arena *arena, const char *root, Str path, size_t max, Str *out,
                                  Error *err);

/* All of `text` to a descriptor, however many calls it takes. */
MUST_CHECK bool file_write_all(int descriptor, Str text, Error *err);

/* Puts `text` into the file `path`, new or in place of the old one: written beside it, flushed to
 * the disk, then renamed. On failure the old file is as it was and nothing else is left. Fails with
 * ERROR_NOT_FOUND (no such directory), ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool file_write_atomic(const char *path, Str text, Error *err);
/* The same for what is for its owner alone (0600), also where others could read the old one. */
MUST_CHECK bool file_write_private(const char *path, Str text, Error *err);
/* The same where nothing is yet: ERROR_CONFLICT when there is. */
MUST_CHECK bool file_write_new_private(const char *path, Str text, Error *err);

/* The path from "/", without "." and empty parts. Links are left as they are, so that a place keeps
 * its name when what it leads to is exchanged; only behind ".." they are resolved. A path that
 * leads nowhere comes back as it is. */
Str file_absolute(Arena *arena, const char *path);

bool file_exists(const char *path);
/* Whether it lies in memory only, and is gone when the machine restarts. */
bool file_is_in_memory(const char *path);
/* Whether nobody but root and its owner could put something else there once it is gone, as all that lies
 * in /tmp may be after a restart. It need not be there. */
MUST_CHECK bool file_is_guarded(Arena *arena, const char *path, Error *err);
/* Whether the path names a directory. */
bool file_is_directory(const char *path);
/* Whether it can be read again later: neither a pipe nor "-", standard input. */
bool file_is_lasting(const char *path);
/* Whether somebody else than root and who runs this may write it: its owner, its group, all. */
bool file_is_open_to_others(const char *path);

/* The regular files below `root` whose name ends in one of `suffixes` (NULL ends the list), as
 * paths that start with `root`, sorted, at most `max` of them (more: ERROR_LIMIT). Hidden files and
 * directories are left out; links to directories are not followed. */
typedef struct FileList {
    Str *paths;
    uint32_t count;
    uint32_t cap;
} FileList;
MUST_CHECK bool file_list(Arena *arena, const char *root, const char *const *suffixes, uint32_t max,
                          FileList *out, Error *err);
