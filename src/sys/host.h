/* The machine that modules act on: this one, or the tree in another root.
 *
 * Paths are absolute as seen from inside. With a root other than "/", neither links nor ".." can
 * escape it (RESOLVE_IN_ROOT). The last component of a path is not followed if it is a link, unless
 * a function says so. Root follows a link owned by another user only to a file with the same owner
 * (otherwise ERROR_DENIED). A Host is shared by all workers and is immutable. */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"
#include "sys/shared.h"

typedef struct Host Host;

/* `root` is "/" or a directory. */
MUST_CHECK bool host_open(const char *root, Host **out, Error *err);
/* A directory of `host` as a root, to work on everything in it: paths start there, and no link on
 * the way is followed, so that users who can write in it cannot redirect the work. Only file
 * functions work on it. Close it before `host`. */
MUST_CHECK bool host_open_below(Host *host, Str path, Host **out, Error *err);
void host_close(Host *host); /* NULL is allowed */
DEFINE_AUTO(Host, host_close)

bool host_is_live(const Host *host); /* the root is "/": commands and services can be used */
const char *host_root(const Host *host);
/* Cached knowledge about the machine, such as its installed packages. Other programs change the
 * machine too: validate a cached value before using it again. */
Shared *host_shared(Host *host);

/* --- Reading ------------------------------------------------------------------------------- */

typedef enum FileKind {
    FILE_ABSENT,
    FILE_REGULAR,
    FILE_DIRECTORY,
    FILE_LINK,
    FILE_OTHER,
} FileKind;
const char *file_kind_name(FileKind kind);

typedef struct FileInfo {
    FileKind kind;
    mode_t mode; /* permission bits */
    uid_t uid;
    gid_t gid;
    int64_t size;
    int64_t mtime_ns;
    uint64_t inode;      /* changes when the file is replaced */
    bool planned;        /* an earlier step of the plan would create it */
    bool has_hard_links; /* a regular file with more than one hard link */
} FileInfo;

/* FILE_ABSENT is not an error, even if a parent directory is missing. */
MUST_CHECK bool host_stat(Host *host, Str path, FileInfo *out, Error *err);
/* Both at once, to compare: the metadata of `path` and, if it is a file of at most `max` bytes, its
 * content; otherwise `content` is empty. */
MUST_CHECK bool host_inspect(Host *host, Arena *arena, Str path, size_t max, FileInfo *out,
                             Str *content, Error *err);
/* The content of a file; follows a link. More than `max` bytes is ERROR_LIMIT. */
MUST_CHECK bool host_read(Host *host, Arena *arena, Str path, size_t max, Str *out, Error *err);
/* The same, with the metadata of the file that was read. */
MUST_CHECK bool host_read_info(Host *host, Arena *arena, Str path, size_t max, FileInfo *info,
                               Str *out, Error *err);
MUST_CHECK bool host_read_link(Host *host, Arena *arena, Str path, Str *out, Error *err);
/* The real path of `path`: all links are resolved, including the last component. */
MUST_CHECK bool host_real_path(Host *host, Arena *arena, Str path, Str *out, Error *err);
/* The path of a directory, existing or to be created, for a program of root that takes paths:
 * without links, and only if no other user can replace it (ERROR_DENIED: another user owns a parent
 * directory, or everyone can write to one). Without root privileges: `path` unchanged. */
MUST_CHECK bool host_protected_path(Host *host, Arena *arena, Str path, Str *out, Error *err);
/* An open directory, for the process that is to run there; follows a link in the last component.
 * The caller closes it. */
MUST_CHECK bool host_open_directory(const Host *host, Str path, int *out, Error *err);
/* Names in a directory, sorted, without "." and "..". */
MUST_CHECK bool host_list(Host *host, Arena *arena, Str path, uint32_t max, Str **names,
                          uint32_t *count, Error *err);

/* --- Changing ------------------------------------------------------------------------------ */

#define HOST_KEEP_ID ((uid_t)-1) /* keeps owner or group; for new files those of the process */

/* Validates the new content before it is renamed into place; `path` is its temporary path, as seen
 * from inside the root. False: the old file stays. */
typedef bool (*FileCheck)(void *context, Str path, Error *err);

typedef struct FileWrite {
    Str content;
    mode_t mode; /* permission bits */
    uid_t uid;   /* HOST_KEEP_ID: unchanged */
    gid_t gid;
    const FileInfo *before; /* current metadata, if the caller has it; NULL: looked up */
    FileCheck check;        /* may be NULL */
    void *check_context;
} FileWrite;

/* Replaces the content atomically: temporary file, owner and mode, flush according to
 * host_set_sync, rename. A link at `path` is replaced, not followed. On failure nothing has changed
 * and no temporary file is left. */
MUST_CHECK bool host_write(Host *host, Str path, const FileWrite *write, Error *err);
/* Writes into the existing file with one write(2): for kernel settings in /proc and /sys. */
MUST_CHECK bool host_write_existing(Host *host, Str path, Str text, Error *err);
/* These refuse to change a file with other hard links that another user may have created:
 * ERROR_DENIED. host_check_hard_links() checks in advance. */
MUST_CHECK bool host_set_mode(Host *host, Str path, mode_t mode, Error *err);
MUST_CHECK bool host_set_owner(Host *host, Str path, uid_t uid, gid_t gid, Error *err);
MUST_CHECK bool host_check_hard_links(Host *host, Str path, Error *err);
/* The same check for callers that copy the content of a file read at `path` with metadata
 * `info`. */
MUST_CHECK bool host_check_content(Host *host, Str path, const FileInfo *info, Error *err);
/* Fails with ERROR_DENIED if the file or directory `info` belongs to another user and its directory
 * is writable by everyone: that user may have created it in order to own what is written there. */
MUST_CHECK bool host_check_owner(Host *host, Arena *arena, Str path, const FileInfo *info,
                                 Error *err);
/* Fails with ERROR_DENIED if no user can create, replace or remove `path`, because it is on a
 * read-only or kernel file system, or because it or its directory is immutable. True if its
 * directory does not exist. */
MUST_CHECK bool host_check_changeable(Host *host, Str path, Error *err);
/* An existing directory is unchanged. With `parents`, missing parents are created with mode
 * 0755. */
MUST_CHECK bool host_make_directory(Host *host, Str path, mode_t mode, bool parents, Error *err);
/* A new directory with this owner and group (HOST_KEEP_ID: those of the process). Fails if it
 * exists: in a directory that others can write to, it could be theirs. */
MUST_CHECK bool host_create_directory(Host *host, Str path, mode_t mode, uid_t uid, gid_t gid,
                                      Error *err);
/* Whether such a link is valid; host_make_link() checks this too. */
MUST_CHECK bool host_check_link(Str path, Str target, Error *err);
/* Creates or replaces a link; a file or directory at `path` is an error. */
MUST_CHECK bool host_make_link(Host *host, Str path, Str target, Error *err);
/* Removes a file, a link, or a directory recursively, but never a mount point. Succeeds if nothing
 * is there. */
MUST_CHECK bool host_remove(Host *host, Str path, Error *err);

/* How changes reach the disk. SYNC_EACH: fsync of file and directory for each change. SYNC_LATER:
 * relies on file systems that write data before the name that refers to it (host_sync.c); elsewhere
 * each file is flushed. host_sync then makes all changes durable. */
typedef enum SyncPolicy {
    SYNC_EACH,
    SYNC_LATER,
} SyncPolicy;
void host_set_sync(Host *host, SyncPolicy policy);
/* Reports a change by other means, such as a command: the next host_sync includes the file system
 * of the root. */
void host_note_change(Host *host);
MUST_CHECK bool host_sync(Host *host,
                          Error *err); /* syncfs of the file systems that were written to */

/* --- Plans --------------------------------------------------------------------------------- */

/* A file that an earlier step of the plan would have created. The reading functions report it as if
 * it existed, so that a check sees what it would see in a run. Commands do not see it. */
typedef struct PlannedFile {
    FileInfo info; /* FILE_ABSENT: it would be removed, with everything below it */
    Str content;   /* content of a file; target of a link */
} PlannedFile;

/* Starts recording planned files. Nothing is recorded before, because a run must not see them. */
void host_plan_begin(Host *host);
void host_plan_put(Host *host, Str path, const PlannedFile *file);

/* --- Users and groups ---------------------------------------------------------------------- */

typedef struct Account {
    Str name, home, shell;
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* including `gid` */
    uint32_t group_count;
} Account;

/* By name or number, from /etc/passwd and /etc/group of the root; on a live host also from the
 * other sources in nsswitch.conf. ERROR_NOT_FOUND for an unknown name. */
MUST_CHECK bool host_find_user(Host *host, Str name, uid_t *out, gid_t *group, Error *err);
MUST_CHECK bool host_find_group(Host *host, Str name, gid_t *out, Error *err);
MUST_CHECK bool host_find_account(Host *host, Arena *arena, Str name, Account *out, Error *err);
/* The name, or the numeric ID as text. */
Str host_user_name(Host *host, Arena *arena, uid_t uid);
Str host_group_name(Host *host, Arena *arena, gid_t gid);
/* Drops cached users and groups, after they may have changed. */
void host_forget_accounts(Host *host);
