#include "sys/machine.h"

#include <sys/utsname.h>

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
