#include "cli/server_user.h"

#include "sys/name_service.h"
#include "sys/privilege.h"

bool server_user_find(Arena *arena, const char *name, ClusterSpec *spec, Error *err)
{
    Str line, fields[4];
    uint64_t user, group;
    if (!privileges_are_root()) {
        return true; /* it runs as the current user */
    }
    if (!name_service_ask(arena, "passwd", str_from_c(name), &line, err)) {
        return error_set(err, ERROR_NOT_FOUND,
                         "user '%s' not found; create it with 'useradd --system %s', or choose "
                         "another one with --user",
                         name, name);
    }
    uint32_t count = 0;
    while (count < COUNT_OF(fields) && str_split_next(&line, ':', &fields[count])) {
        count++;
    }
    if (count < COUNT_OF(fields) || !str_to_u64(fields[2], &user) ||
        !str_to_u64(fields[3], &group) || user >= UINT32_MAX || group >= UINT32_MAX) {
        return error_set(err, ERROR_INVALID, "cannot read the entry of user '%s'", name);
    }
    spec->has_user = user != 0;
    spec->user = (uid_t)user;
    spec->group = (gid_t)group;
    return true;
}
