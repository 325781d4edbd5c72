/* The users of /etc/passwd. Those of a directory service are not asked for: there may be a hundred
 * thousand, behind a network. */
#include "facts/fact.h"

static void add_user(Arena *arena, Map *users, Str line)
{
    enum {
        NAME,
        PASSWORD,
        UID,
        GID,
        COMMENT,
        HOME,
        SHELL,
        FIELDS
    };
    Str fields[FIELDS];
    size_t count = 0;
    while (count < FIELDS && str_split_next(&line, ':', &fields[count])) {
        count++;
    }
    int64_t uid, gid;
    if (count < SHELL || fields[NAME].len == 0 || !str_to_i64(fields[UID], &uid) ||
        !str_to_i64(fields[GID], &gid)) {
        return; /* a remark, or an entry of the directory service ("+::::::") */
    }
    Map *user = map_new(arena, 5);
    map_set_str(arena, user, STR("uid"), value_int(uid));
    map_set_str(arena, user, STR("gid"), value_int(gid));
    map_set_str(arena, user, STR("comment"), value_string(fields[COMMENT]));
    map_set_str(arena, user, STR("home"), value_string(fields[HOME]));
    map_set_str(arena, user, STR("shell"), value_string(count > SHELL ? fields[SHELL] : STR_EMPTY));
    (void)map_add(arena, users, value_string(fields[NAME]), value_map(user));
}

static bool read_users(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str text;
    if (!fact_text(&world->root, arena, "/etc/passwd", &text, err)) {
        return false;
    }
    Map *users = map_new(arena, 0);
    for (Str line; str_split_next(&text, '\n', &line);) {
        if (users->len == FACT_ENTRIES_MAX) {
            return error_set(err, ERROR_LIMIT, "/etc/passwd: more than %d users", FACT_ENTRIES_MAX);
        }
        add_user(arena, users, line);
    }
    *out = value_map(users);
    return true;
}

const Fact fact_users = {
    .name = "users",
    .help = "The users of /etc/passwd by name, with uid, gid, comment, home and shell.",
    .example = "{\"root\": {\"uid\": 0, \"gid\": 0, \"comment\": \"root\", \"home\": \"/root\", "
               "\"shell\": \"/bin/bash\"}}",
    .read = read_users,
};
