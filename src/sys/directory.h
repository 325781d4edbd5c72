/* An open directory of our own, such as /var/lib/eden, and the files right in it. Names hold no
 * "/". Files are for their owner alone (0600). */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct Directory Directory;
struct Directory {
    int descriptor; /* -1: closed */
    char path[256]; /* for messages, cut when longer */
};

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS; the directory is then closed. */
MUST_CHECK bool directory_open(const char *path, Directory *out, Error *err);
/* The same, made when it is not there, with its parents; for the owner alone (0700). */
MUST_CHECK bool directory_make(const char *path, Directory *out, Error *err);
MUST_CHECK bool directory_open_child(const Directory *directory, const char *name, Directory *out,
                                     Error *err);
MUST_CHECK bool directory_make_child(const Directory *directory, const char *name, Directory *out,
                                     Error *err);
/* Of the directory itself. */
MUST_CHECK bool directory_set_mode(const Directory *directory, unsigned mode, Error *err);
MUST_CHECK bool directory_mode(const Directory *directory, unsigned *mode, Error *err);
MUST_CHECK bool directory_give(const Directory *directory, uid_t user, gid_t group, Error *err);
MUST_CHECK bool directory_owner(const Directory *directory, uid_t *user, gid_t *group, Error *err);
void directory_close(Directory *directory); /* a closed one is fine */
DEFINE_AUTO_CLEAR(Directory, directory_close)

/* The whole file. Fails with ERROR_NOT_FOUND, ERROR_LIMIT ... A link is not followed. */
MUST_CHECK bool directory_read(const Directory *directory, Arena *arena, const char *name,
                               size_t max, Str *out, Error *err);
/* The same for a secret: it goes to `out`, which the caller wipes, and nowhere else. A file that
 * others than its owner can read is ERROR_DENIED, since its secret is none. */
MUST_CHECK bool directory_read_private(const Directory *directory, const char *name, char *out,
                                       size_t max, size_t *len, Error *err);
/* Whether others than the owner can read the file; false also when it is not there. */
bool directory_is_exposed(const Directory *directory, const char *name);
/* The new content at one moment, in place of the old. With `sync` it is on the disk afterwards;
 * without, a power failure may leave either content, or on some file systems none. */
MUST_CHECK bool directory_write(const Directory *directory, const char *name, Str text, bool sync,
                                Error *err);
MUST_CHECK bool directory_remove(const Directory *directory, const char *name, Error *err);
/* A directory in it, with all that is in that; as well as can be, and links are not followed. Fine
 * when it is not there. */
void directory_remove_child(const Directory *directory, const char *name);
/* A file or directory gets another name in another directory of the same file system, at one
 * moment. */
MUST_CHECK bool directory_move(const Directory *directory, const char *name, const Directory *to,
                               const char *new_name, Error *err);
/* Takes away what writers left that were killed. Nobody may be writing there. */
void directory_drop_drafts(const Directory *directory);
/* Bytes of the whole file system that it is on; INT64_MAX when that cannot be told. */
int64_t directory_disk_size(const Directory *directory);
/* What is left of it for who runs this; 0 when that cannot be told. */
int64_t directory_disk_free(const Directory *directory);
/* A file that takes so many bytes of the disk, to be removed when they are needed; it may be there already,
 * and gets that size. False when there is no room for it. */
bool directory_reserve(const Directory *directory, const char *name, int64_t bytes);
bool directory_has(const Directory *directory, const char *name);
/* Gives the file a second name, taking it from another file; false where the file system has no
 * links or there is no such file. */
bool directory_link(const Directory *directory, const char *name, const char *second);
/* Makes names that were added or changed last; as well as the file system can. */
void directory_sync(const Directory *directory);
/* Sets the time of the file to now; false when it is not there. */
bool directory_touch(const Directory *directory, const char *name);

typedef struct DirectoryEntry {
    Str name; /* with a NUL behind it */
    int64_t size;
    int64_t mtime_ns;
} DirectoryEntry;

/* The regular files in it, by name, at most `max` (more: ERROR_LIMIT). */
MUST_CHECK bool directory_list(const Directory *directory, Arena *arena, uint32_t max,
                               DirectoryEntry **out, uint32_t *count, Error *err);
