/* The machine that modules act on: this one, or what lies below another root.
 *
 * Paths are absolute as seen from inside. With a root other than "/", no link and no ".." leads
 * out of it (RESOLVE_IN_ROOT). The last part of a path is never followed when it is a link, except
 * where a function says so. Root follows links of other users only to what they own (ERROR_DENIED
 * else). A Host is shared by all workers and does not change. */
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
/* A directory of `host` as a root of its own, for work on all that lies in it: paths start there,
 * and no link on the way is followed, so that nobody who may write in it leads the work elsewhere.
 * Nothing but files can be reached through it. Closed before `host` is. */
MUST_CHECK bool host_open_below(Host *host, Str path, Host **out, Error *err);
void host_close(Host *host); /* NULL is fine */
DEFINE_AUTO(Host, host_close)

bool host_is_live(const Host *host); /* the root is "/": commands and services can be used */
const char *host_root(const Host *host);
/* What is known of the machine and read only once, such as its packages. Others change the machine
 * too: whoever uses such a value again makes sure that it still holds. */
Shared *host_shared(Host *host);

/* --- Looking ------------------------------------------------------------------------------- */

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
    uint64_t inode;      /* another one after a file was replaced */
    bool planned;        /* an earlier step of a plan would make it */
    bool has_more_names; /* of a file: hard links */
} FileInfo;

/* FILE_ABSENT is no failure, also when a directory on the way is missing. */
MUST_CHECK bool host_stat(Host *host, Str path, FileInfo *out, Error *err);
/* Both in one go, for a caller who compares: what stands at `path`, and when that is a file of at
 * most `max` bytes, its content; else `content` is empty. */
MUST_CHECK bool host_look(Host *host, Arena *arena, Str path, size_t max, FileInfo *out,
                          Str *content, Error *err);
/* The content of a file; a link is followed. More than `max` bytes is ERROR_LIMIT. */
MUST_CHECK bool host_read(Host *host, Arena *arena, Str path, size_t max, Str *out, Error *err);
/* The same, with what the file is that was read. */
MUST_CHECK bool host_read_info(Host *host, Arena *arena, Str path, size_t max, FileInfo *info,
                               Str *out, Error *err);
MUST_CHECK bool host_read_link(Host *host, Arena *arena, Str path, Str *out, Error *err);
/* The path by which the kernel knows what `path` leads to: all links are followed, the last part
 * too. */
MUST_CHECK bool host_real_path(Host *host, Arena *arena, Str path, Str *out, Error *err);
/* The path of a directory, or of one to be made, for a program of root that goes by names: without
 * links, and only if no other user can put something else in its place (ERROR_DENIED: they own a
 * directory on the way, or everybody may write to one). Without root privileges: `path` as it is. */
MUST_CHECK bool host_guarded_path(Host *host, Arena *arena, Str path, Str *out, Error *err);
/* A directory as a descriptor, for the process that is to run there; a link in the last place is
 * followed. The caller closes it. */
MUST_CHECK bool host_open_directory(const Host *host, Str path, int *out, Error *err);
/* Names in a directory, sorted, without "." and "..". */
MUST_CHECK bool host_list(Host *host, Arena *arena, Str path, uint32_t max, Str **names,
                          uint32_t *count, Error *err);

/* --- Changing ------------------------------------------------------------------------------ */

#define HOST_KEEP_ID ((uid_t)-1) /* owner or group as it is, or the process's own for new files */

/* Asked about the new content before it gets its name; `path` is where it lies meanwhile, as seen
 * from inside of the root. False: the old file stays. */
typedef bool (*FileCheck)(void *context, Str path, Error *err);

typedef struct FileWrite {
    Str content;
    mode_t mode; /* permission bits */
    uid_t uid;   /* HOST_KEEP_ID: see there */
    gid_t gid;
    const FileInfo *before; /* what stands there, when the caller knows; NULL: looked up */
    FileCheck check;        /* may be NULL */
    void *check_context;
} FileWrite;

/* The new content under the old name at one moment: written beside it, owner and mode set, flushed
 * as host_set_sync says, then named. A link in its place is replaced, not followed. On failure
 * nothing has changed and nothing is left. */
MUST_CHECK bool host_write(Host *host, Str path, const FileWrite *write, Error *err);
/* Writes into what is there, in one call: for settings of the kernel that look like files. */
MUST_CHECK bool host_put(Host *host, Str path, Str text, Error *err);
/* Neither changes a file with further names (hard links) that another user can have put there:
 * ERROR_DENIED, which host_check_alone() tells beforehand. */
MUST_CHECK bool host_set_mode(Host *host, Str path, mode_t mode, Error *err);
MUST_CHECK bool host_set_owner(Host *host, Str path, uid_t uid, gid_t gid, Error *err);
MUST_CHECK bool host_check_alone(Host *host, Str path, Error *err);
/* The same for whoever hands on the content of what was read at `path`, and was `info`. */
MUST_CHECK bool host_check_content(Host *host, Str path, const FileInfo *info, Error *err);
/* Fails with ERROR_DENIED when the file or directory `info` is another user's, in a directory that
 * everybody may write to: that user may have made it first, in order to own what is put there. */
MUST_CHECK bool host_check_maker(Host *host, Arena *arena, Str path, const FileInfo *info,
                                 Error *err);
/* One that is there already stays as it is. With `parents` those on the way are made too, with
 * mode 0755. */
MUST_CHECK bool host_make_directory(Host *host, Str path, mode_t mode, bool parents, Error *err);
/* A new one, with this owner and group (HOST_KEEP_ID: the process's). Fails when there is one already:
 * in a directory that others may write to it could be theirs. */
MUST_CHECK bool host_create_directory(Host *host, Str path, mode_t mode, uid_t uid, gid_t gid,
                                      Error *err);
/* Whether there can be such a link at all; host_make_link() asks this too. */
MUST_CHECK bool host_check_link(Str path, Str target, Error *err);
/* Replaces a link, or nothing; a file or directory in its place is an error. */
MUST_CHECK bool host_make_link(Host *host, Str path, Str target, Error *err);
/* A file, a link, or a directory with all that is in it, but never what is mounted there. Absent
 * is fine. */
MUST_CHECK bool host_remove(Host *host, Str path, Error *err);

/* How changes reach the disk. SYNC_EACH: fsync of file and directory each time. SYNC_LATER: where
 * the file system writes data before the name that leads to it, that is relied on; elsewhere the
 * data is flushed each time. host_sync then makes all of it durable. */
typedef enum SyncPolicy {
    SYNC_EACH,
    SYNC_LATER,
} SyncPolicy;
void host_set_sync(Host *host, SyncPolicy policy);
/* Something else than these functions, such as a command, changes or will change the machine: the
 * next host_sync takes the file system of the root with it. */
void host_note_change(Host *host);
MUST_CHECK bool host_sync(Host *host, Error *err); /* syncfs of what was written since */

/* --- Plans --------------------------------------------------------------------------------- */

/* What an earlier step of a plan would have put somewhere. The functions for looking tell of it as
 * if it were there, so that a check sees what it would find in a run. Commands do not. */
typedef struct PlannedFile {
    FileInfo info; /* FILE_ABSENT: it would be gone, with all below */
    Str content;   /* of a file; where a link leads to */
} PlannedFile;

/* Before it nothing is kept: a check of a step that then runs must not be believed. */
void host_plan_begin(Host *host);
void host_plan_put(Host *host, Str path, const PlannedFile *file);

/* --- People -------------------------------------------------------------------------------- */

typedef struct Account {
    Str name, home, shell;
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* with `gid` */
    uint32_t group_count;
} Account;

/* By name or number. From the root's own /etc/passwd and /etc/group; on a live host also from
 * the other sources that the system is set up with. ERROR_NOT_FOUND for an unknown name. */
MUST_CHECK bool host_find_user(Host *host, Str name, uid_t *out, gid_t *group, Error *err);
MUST_CHECK bool host_find_group(Host *host, Str name, gid_t *out, Error *err);
MUST_CHECK bool host_find_account(Host *host, Arena *arena, Str name, Account *out, Error *err);
/* The name, or the number as text. */
Str host_user_name(Host *host, Arena *arena, uid_t uid);
Str host_group_name(Host *host, Arena *arena, gid_t gid);
/* Names found once are kept. Whoever may have changed users or groups says so. */
void host_forget_people(Host *host);
