#include "sys/machine.h"

#include <limits.h>
#include <malloc.h>
#include <sys/utsname.h>
#include <unistd.h>

Str machine_arch(Arena *arena)
{
    struct utsname name;
    return uname(&name) == 0 ? arena_copy(arena, str_from_c(name.machine)) : STR_EMPTY;
}

Str machine_host_name(Arena *arena)
{
    struct utsname name;
    return uname(&name) == 0 ? arena_copy(arena, str_from_c(name.nodename)) : STR_EMPTY;
}

Str machine_kernel(Arena *arena)
{
    struct utsname name;
    return uname(&name) == 0 ? arena_copy(arena, str_from_c(name.release)) : STR_EMPTY;
}

bool machine_own_program(Arena *arena, Str *out, Error *err)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path);
    if (len <= 0 || (size_t)len == sizeof path) {
        return error_set(err, ERROR_OS,
                         "cannot determine the path of this program (/proc/self/exe)");
    }
    Str found = str_from(path, (size_t)len), gone = STR(" (deleted)");
    *out = arena_copy(arena,
                      str_ends(found, gone) ? str_slice(found, 0, found.len - gone.len) : found);
    return true;
}

int64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : 0;
}

void machine_return_memory(void)
{
    (void)malloc_trim(0);
}
