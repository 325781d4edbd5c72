#include "sys/file_identity.h"

#include <errno.h>
#include <sys/stat.h>

#include "sys/file_io.h"

bool file_identity_get(const char *path, FileIdentity *out, Error *err)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return file_error(err, errno, path);
    }
    *out = (FileIdentity){ status.st_dev, status.st_ino };
    return true;
}

bool file_identity_matches(const FileIdentity *mark, const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_dev == mark->device &&
           status.st_ino == mark->inode;
}
