#include "cli/founding_user.h"

#include "sys/name_service.h"
#include "sys/privilege.h"

bool founding_user_find(Arena *arena, const char *name, Founding *founding, Error *err)
{
    Str line, fields[4];
    uint64_t user, group;
    if (!privileges_are_root()) {
        return true; /* it runs as who founds it */
    }
    if (!name_service_ask(arena, "passwd", str_from_c(name), &line, err)) {
        return error_set(err, ERROR_NOT_FOUND,
                         "there is no user '%s' for the server to run as; 'useradd --system %s' "
                         "makes one, or --user names another",
                         name, name);
    }
    uint32_t count = 0;
    while (count < COUNT_OF(fields) && str_split_next(&line, ':', &fields[count])) {
        count++;
    }
    if (count < COUNT_OF(fields) || !str_to_u64(fields[2], &user) ||
        !str_to_u64(fields[3], &group) || user >= UINT32_MAX || group >= UINT32_MAX) {
        return error_set(err, ERROR_INVALID, "the entry of the user '%s' cannot be read", name);
    }
    founding->has_user = user != 0;
    founding->user = (uid_t)user;
    founding->group = (gid_t)group;
    return true;
}
