/* Writing to a descriptor, and replacing whole files atomically. */
#include <errno.h>
#include <unistd.h>

#include "sys/file.h"
#include "sys/file_draft.h"

bool file_write_all(int descriptor, Str text, Error *err)
{
    while (text.len > 0) {
        ssize_t put = write(descriptor, text.data, text.len);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return error_set(err, ERROR_OS, "cannot write: %s", strerror(errno));
        }
        text = str_from_offset(text, (size_t)put);
    }
    return true;
}

static bool write_as(const char *path, Str text, mode_t mode, bool fresh, Error *err)
{
    AUTO(FileDraft) *draft = NULL;
    return file_draft_open(path, mode, fresh, &draft, err) && file_draft_put(draft, text, err) &&
           file_draft_keep(draft, err);
}

bool file_write_atomic(const char *path, Str text, Error *err)
{
    return write_as(path, text, 0666, false, err);
}

bool file_write_private(const char *path, Str text, Error *err)
{
    return write_as(path, text, 0600, false, err);
}

bool file_write_new_private(const char *path, Str text, Error *err)
{
    return write_as(path, text, 0600, true, err);
}
