#include "sys/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/directory.h"
#include "sys/file_io.h"

#define HOME "/tmp"

bool temporary_make(Arena *arena, const char *prefix, const char **path, Error *err)
{
    Str name = arena_format(arena, HOME "/%sXXXXXX", prefix);
    char *made = ARENA_ARRAY(arena, char, name.len + 1);
    memcpy(made, name.data, name.len + 1);
    *path = made;
    return mkdtemp(made) != NULL || file_error(err, errno, made);
}

uint32_t temporary_list(Arena *arena, const char *prefix, const char **paths, uint32_t max)
{
    uint32_t count = 0;
    DIR *entries = opendir(HOME);
    for (const char *name;
         entries != NULL && count < max && (name = entries_next(entries)) != NULL;) {
        struct stat info;
        if (strncmp(name, prefix, strlen(prefix)) == 0 &&
            fstatat(dirfd(entries), name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(info.st_mode) && info.st_uid == geteuid()) {
            paths[count++] = arena_format(arena, HOME "/%s", name).data;
        }
    }
    entries_close(entries);
    return count;
}

void temporary_remove(const char *path)
{
    AUTO_CLEAR(Directory) home = { .descriptor = -1 };
    const char *name = strrchr(path, '/');
    Error err;
    if (name != NULL && directory_open(HOME, &home, &err)) {
        directory_remove_child(&home, name + 1);
    }
}
