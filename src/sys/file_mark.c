#include "sys/file_mark.h"

#include <errno.h>
#include <sys/stat.h>

#include "sys/file_error.h"

bool file_mark_take(const char *path, FileMark *out, Error *err)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return file_error(err, errno, path);
    }
    *out = (FileMark){ status.st_dev, status.st_ino };
    return true;
}

bool file_mark_holds(const FileMark *mark, const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_dev == mark->device &&
           status.st_ino == mark->inode;
}
