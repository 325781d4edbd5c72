/* Atomic replacement of a file on the host.
 *
 * If the file system supports it, the content is written to an unnamed file (O_TMPFILE), so a
 * process that is killed leaves nothing behind. A new file is then linked directly; to replace a
 * file, the unnamed file gets a temporary name first, which is renamed over it. Otherwise, and when
 * a command validates the new content, a temporary name is used from the start.
 *
 * The temporary name is derived from the file name: the leftover of a killed process is in the way
 * of the next writer of the same file, which removes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/file.h"
#include "sys/host_inner.h"

enum {
    NAME_TRIES = 16
};

/* FNV-1a: the same in every run. */
void host_temp_name(const char *name, char out[HOST_TEMP_NAME])
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    }
    snprintf(out, HOST_TEMP_NAME, ".eden-%016llx", (unsigned long long)hash);
}

/* The name exists. In a directory that is writable by everyone, other users can create a directory
 * with this name, which is left alone, or recreate a file again and again; they cannot guess
 * another name. */
static void next_temp_name(int directory, int tries, char name[HOST_TEMP_NAME])
{
    if (tries >= NAME_TRIES / 2 || (unlinkat(directory, name, 0) != 0 && errno != ENOENT)) {
        snprintf(name, HOST_TEMP_NAME, ".eden-%016llx", (unsigned long long)random_seed());
    }
}

/* The file while it is being written. */
typedef struct Draft {
    HostEntry *entry;
    int descriptor;
    char name[HOST_TEMP_NAME]; /* empty: unnamed */
} Draft;

static bool cannot_be_nameless(int number)
{
    return number == EOPNOTSUPP || number == EISDIR || number == EINVAL || number == ENOENT;
}

static bool draft_open_named(Draft *draft)
{
    int directory = draft->entry->directory;
    host_temp_name(draft->entry->name, draft->name);
    for (int i = 0; i < NAME_TRIES; i++) {
        draft->descriptor = openat(directory, draft->name,
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (draft->descriptor >= 0) {
            return true;
        }
        if (errno != EEXIST) {
            break;
        }
        next_temp_name(directory, i, draft->name);
    }
    draft->name[0] = '\0';
    return false;
}

static bool draft_open(Draft *draft, bool named)
{
    if (!named) {
        draft->descriptor =
            openat(draft->entry->directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
        if (draft->descriptor >= 0 || !cannot_be_nameless(errno)) {
            return draft->descriptor >= 0;
        }
    }
    return draft_open_named(draft);
}

static void draft_drop(Draft *draft)
{
    if (draft->descriptor >= 0) {
        close(draft->descriptor);
    }
    if (draft->name[0] != '\0') {
        unlinkat(draft->entry->directory, draft->name, 0);
    }
}

/* Sets the owner: the requested one, or that of the file being replaced. */
static bool settle_owner(Host *host, Str path, const FileWrite *write, uid_t *uid, gid_t *gid,
                         Error *err)
{
    *uid = write->uid;
    *gid = write->gid;
    if (*uid != HOST_KEEP_ID && *gid != HOST_KEEP_ID) {
        return true;
    }
    FileInfo looked_up;
    const FileInfo *before = write->before;
    if (before == NULL) {
        if (!host_stat(host, path, &looked_up, err)) {
            return false;
        }
        before = &looked_up;
    }
    if (before->kind == FILE_REGULAR) {
        *uid = *uid == HOST_KEEP_ID ? before->uid : *uid;
        *gid = *gid == HOST_KEEP_ID ? before->gid : *gid;
    }
    return true;
}

static bool draft_fill(Host *host, Draft *draft, Str path, const FileWrite *write, Error *err)
{
    uid_t uid;
    gid_t gid;
    struct stat status;
    if (!settle_owner(host, path, write, &uid, &gid, err)) {
        return false;
    }
    if (!file_write_all(draft->descriptor, write->content, err)) {
        return error_wrap(err, "%" STR_FMT, STR_ARG(path));
    }
    if (fstat(draft->descriptor, &status) != 0) {
        return host_error(err, errno, path);
    }
    bool same_owner = (uid == HOST_KEEP_ID || uid == status.st_uid) &&
                      (gid == HOST_KEEP_ID || gid == status.st_gid);
    if (!same_owner && fchown(draft->descriptor, uid, gid) != 0) {
        host_error(err, errno, path);
        return error_wrap(err, "cannot set the owner");
    }
    /* After the owner: changing it clears the set-id bits. */
    if ((status.st_mode & 07777) != write->mode && fchmod(draft->descriptor, write->mode) != 0) {
        return host_error(err, errno, path);
    }
    return host_flush_file(host, draft->descriptor, status.st_dev) || host_error(err, errno, path);
}

static bool draft_check(const Draft *draft, Str path, const FileWrite *write, Error *err)
{
    char place[PATH_MAX];
    size_t slash = str_find_last(path, STR("/"));
    int len = snprintf(place, sizeof place, "%" STR_FMT "/%s", STR_ARG(str_slice(path, 0, slash)),
                       draft->name);
    if (len >= (int)sizeof place) {
        return host_error(err, ENAMETOOLONG, path);
    }
    return write->check(write->check_context, str_from(place, (size_t)len), err);
}

/* Older kernels require a privilege for AT_EMPTY_PATH; /proc/self/fd works without. */
static bool give_name(const Draft *draft, const char *name)
{
    int directory = draft->entry->directory;
    if (linkat(draft->descriptor, "", directory, name, AT_EMPTY_PATH) == 0) {
        return true;
    }
    if (errno != ENOENT && errno != EPERM) {
        return false;
    }
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", draft->descriptor);
    return linkat(AT_FDCWD, link, directory, name, AT_SYMLINK_FOLLOW) == 0;
}

/* Gives the unnamed file a temporary name, to be renamed over the old file. */
static bool give_temp_name(Draft *draft)
{
    host_temp_name(draft->entry->name, draft->name);
    for (int i = 0; i < NAME_TRIES; i++) {
        if (give_name(draft, draft->name)) {
            return true;
        }
        if (errno != EEXIST) {
            break;
        }
        next_temp_name(draft->entry->directory, i, draft->name);
    }
    draft->name[0] = '\0';
    return false;
}

/* Two writers of the same file share the temporary name. Claims prevent that within a run; this
 * check prevents renaming another writer's incomplete file. */
static bool is_still_ours(const Draft *draft)
{
    struct stat named, own;
    if (fstatat(draft->entry->directory, draft->name, &named, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstat(draft->descriptor, &own) != 0) {
        return false;
    }
    errno = EBUSY;
    return named.st_ino == own.st_ino && named.st_dev == own.st_dev;
}

static bool draft_publish(Draft *draft, bool replaces)
{
    int directory = draft->entry->directory;
    if (draft->name[0] != '\0') {
        if (!is_still_ours(draft)) {
            draft->name[0] = '\0';
            return false;
        }
    } else {
        if (!replaces && give_name(draft, draft->entry->name)) {
            return true;
        }
        if ((!replaces && errno != EEXIST) || !give_temp_name(draft)) {
            return false;
        }
    }
    if (renameat(directory, draft->name, directory, draft->entry->name) != 0) {
        return false;
    }
    draft->name[0] = '\0';
    return true;
}

static bool write_entry(Host *host, HostEntry *entry, Str path, const FileWrite *write, bool named,
                        bool *again, Error *err)
{
    Draft draft = { .entry = entry, .descriptor = -1 };
    if (!draft_open(&draft, named)) {
        return host_error(err, errno, path);
    }
    host_drop_inherited_acl(host, entry->directory, draft.descriptor);
    bool ok = draft_fill(host, &draft, path, write, err);
    if (ok && write->check != NULL) {
        ok = draft_check(&draft, path, write, err);
    }
    bool replaces = write->before != NULL && write->before->kind != FILE_ABSENT;
    if (ok && !draft_publish(&draft, replaces)) {
        *again = !named && (errno == ENOENT || errno == EPERM || errno == EXDEV);
        ok = host_error(err, errno, path);
    }
    draft_drop(&draft);
    return ok;
}

bool host_write(Host *host, Str path, const FileWrite *write, Error *err)
{
    HostEntry entry;
    if (!host_open_entry(host, path, &entry, err)) {
        return false;
    }
    bool again = false;
    bool ok = write_entry(host, &entry, path, write, write->check != NULL, &again, err);
    if (!ok && again) {
        /* The unnamed file could not be linked: neither the privilege nor /proc is available. */
        ok = write_entry(host, &entry, path, write, true, &again, err);
    }
    /* With SYNC_LATER, host_flush_file has already marked the file system. */
    if (ok && host->sync == SYNC_EACH && !host_flush_directory(host, entry.directory)) {
        ok = host_error(err, errno, path);
    }
    host_entry_close(&entry);
    return ok;
}
