#include "sys/file_draft.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/file_error.h"

enum {
    NAME_TRIES = 16
};

struct FileDraft {
    char path[PATH_MAX], name[PATH_MAX]; /* final path, and temporary path */
    int descriptor;                      /* -1: closed */
    bool fresh, kept;
};

/* The temporary file. It gets the mode of an ordinary new file, unlike mkstemp's. */
static bool open_beside(FileDraft *draft, mode_t mode, Error *err)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        if (snprintf(draft->name, sizeof draft->name, "%s.%016llx.new", draft->path,
                     (unsigned long long)random_seed()) >= (int)sizeof draft->name) {
            return file_error(err, ENAMETOOLONG, draft->path);
        }
        draft->descriptor =
            open(draft->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (draft->descriptor >= 0) {
            return true;
        }
        if (errno != EEXIST) {
            return file_error(err, errno, draft->path);
        }
    }
    return file_error(err, EEXIST, draft->path);
}

bool file_draft_open(const char *path, mode_t mode, bool fresh, FileDraft **out, Error *err)
{
    FileDraft *draft = memory_new(sizeof *draft);
    draft->fresh = fresh;
    if (snprintf(draft->path, sizeof draft->path, "%s", path) >= (int)sizeof draft->path) {
        free(draft);
        return file_error(err, ENAMETOOLONG, path);
    }
    if (!open_beside(draft, mode, err)) {
        free(draft);
        return false;
    }
    *out = draft;
    return true;
}

void file_draft_close(FileDraft *draft)
{
    if (draft == NULL) {
        return;
    }
    if (draft->descriptor >= 0) {
        close(draft->descriptor);
    }
    if (!draft->kept) {
        unlink(draft->name);
    }
    free(draft);
}

bool file_draft_put(FileDraft *draft, Str piece, Error *err)
{
    return file_write_all(draft->descriptor, piece, err) || error_wrap(err, "%s", draft->path);
}

bool file_draft_put_first(FileDraft *draft, Str piece, Error *err)
{
    if (lseek(draft->descriptor, 0, SEEK_SET) != 0) {
        return file_error(err, errno, draft->path);
    }
    if (!file_draft_put(draft, piece, err)) {
        return false;
    }
    return lseek(draft->descriptor, 0, SEEK_END) >= 0 || file_error(err, errno, draft->path);
}

/* Makes the rename durable. Best effort: some file systems cannot fsync a directory, and the
 * content is safe already. */
static void sync_directory_of(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(directory, sizeof directory, "%.*s", length == 0 ? 1 : (int)length,
             length == 0 ? "." : path);
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)!fsync(descriptor);
        close(descriptor);
    }
}

/* link(2) fails if the name exists. */
static bool give_name(FileDraft *draft, Error *err)
{
    if (!draft->fresh) {
        draft->kept = rename(draft->name, draft->path) == 0;
        return draft->kept || file_error(err, errno, draft->path);
    }
    if (link(draft->name, draft->path) != 0) {
        return errno == EEXIST ? error_set(err, ERROR_CONFLICT, "%s: already exists", draft->path)
                               : file_error(err, errno, draft->path);
    }
    unlink(draft->name);
    draft->kept = true;
    return true;
}

bool file_draft_keep(FileDraft *draft, Error *err)
{
    int descriptor = draft->descriptor;
    draft->descriptor = -1;
    /* Before the rename: otherwise a crash could leave the new name with an empty file. */
    bool ok = fsync(descriptor) == 0 || file_error(err, errno, draft->path);
    if (close(descriptor) != 0 && ok) {
        ok = file_error(err, errno, draft->path);
    }
    if (!ok || !give_name(draft, err)) {
        return false;
    }
    sync_directory_of(draft->path);
    return true;
}
