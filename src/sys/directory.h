/* An open state directory of eden, such as /var/lib/eden, and the files directly in it. Names
 * contain no "/". Files are created with mode 0600. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct Directory Directory;
struct Directory {
    int descriptor; /* -1: closed */
    char path[256]; /* for messages, truncated if longer */
};

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS; the directory is closed then. */
MUST_CHECK bool directory_open(const char *path, Directory *out, Error *err);
/* The same, but creates the directory (0700) and its parents if they do not exist. */
MUST_CHECK bool directory_make(const char *path, Directory *out, Error *err);
MUST_CHECK bool directory_open_child(const Directory *directory, const char *name, Directory *out,
                                     Error *err);
MUST_CHECK bool directory_make_child(const Directory *directory, const char *name, Directory *out,
                                     Error *err);
/* These apply to the directory itself. */
MUST_CHECK bool directory_set_mode(const Directory *directory, unsigned mode, Error *err);
MUST_CHECK bool directory_mode(const Directory *directory, unsigned *mode, Error *err);
MUST_CHECK bool directory_give(const Directory *directory, uid_t user, gid_t group, Error *err);
MUST_CHECK bool directory_owner(const Directory *directory, uid_t *user, gid_t *group, Error *err);
void directory_close(Directory *directory); /* may be closed already */
DEFINE_AUTO_CLEAR(Directory, directory_close)

/* The whole file. Fails with ERROR_NOT_FOUND, ERROR_LIMIT or ERROR_OS. Symbolic links are not
 * followed. */
MUST_CHECK bool directory_read(const Directory *directory, Arena *arena, const char *name,
                               size_t max, Str *out, Error *err);
/* The same for a secret: it is read only into `out`, which the caller wipes. Fails with
 * ERROR_DENIED if the file is readable by other users, because the secret is compromised then. */
MUST_CHECK bool directory_read_private(const Directory *directory, const char *name, char *out,
                                       size_t max, size_t *len, Error *err);
/* Whether other users can read the file; false if it does not exist. */
bool directory_is_exposed(const Directory *directory, const char *name);
/* Replaces the content atomically. With `sync` it is durable on return; without, a power failure
 * may leave the old content, the new one or, on some file systems, an empty file. */
MUST_CHECK bool directory_write(const Directory *directory, const char *name, Str text, bool sync,
                                Error *err);
/* Lets all users read the file, until it is written again. */
MUST_CHECK bool directory_share(const Directory *directory, const char *name, Error *err);
MUST_CHECK bool directory_remove(const Directory *directory, const char *name, Error *err);
/* Removes the file if it was last changed or touched before `before_ns`; false if it was not
 * removed. */
MUST_CHECK bool directory_remove_older(const Directory *directory, const char *name,
                                       int64_t before_ns, bool *removed, Error *err);
/* Removes a subdirectory recursively, as far as possible, without following links. Does nothing if
 * it does not exist. */
void directory_remove_child(const Directory *directory, const char *name);
/* Renames a file or directory, possibly into another directory of the same file system. Atomic and
 * durable. */
MUST_CHECK bool directory_move(const Directory *directory, const char *name, const Directory *to,
                               const char *new_name, Error *err);
/* Removes temporary files of writers that were killed. There must be no active writers. */
void directory_remove_temporaries(const Directory *directory);
/* Size of its file system, in bytes; INT64_MAX if unknown. */
int64_t directory_disk_size(const Directory *directory);
/* Bytes available to this user; 0 if unknown. */
int64_t directory_disk_free(const Directory *directory);
/* Bytes available for data that is not essential. On the disk of a server, 64 MiB (1/16 of a small
 * disk) and 1,000 files (or 1/16 of them) are reserved for the store. Negative: the reserve is in
 * use. */
int64_t directory_disk_unreserved(const Directory *directory);
/* Creates, or resizes, a file that occupies `bytes` of disk space, to be removed when the space is
 * needed. False if there is not enough space. */
bool directory_reserve(const Directory *directory, const char *name, int64_t bytes);
bool directory_has(const Directory *directory, const char *name);
/* Creates a hard link `second`, replacing an existing file; false if the file system does not
 * support links or the file does not exist. */
bool directory_link(const Directory *directory, const char *name, const char *second);
/* Makes created and renamed entries durable; best effort. */
void directory_sync(const Directory *directory);
/* Sets the modification time to now; false if the file does not exist. */
bool directory_touch(const Directory *directory, const char *name);

typedef struct DirectoryEntry {
    Str name; /* NUL-terminated */
    int64_t size;
    int64_t mtime_ns;
} DirectoryEntry;

/* The regular files in it, sorted by name, at most `max` (more: ERROR_LIMIT). */
MUST_CHECK bool directory_list(const Directory *directory, Arena *arena, uint32_t max,
                               DirectoryEntry **out, uint32_t *count, Error *err);
