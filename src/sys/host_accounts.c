/* Users and groups.
 *
 * The passwd and group files of the root are read once and cached: a thousand files of one owner
 * need only one lookup. An unknown name is looked up again in the files, which may have changed,
 * and on a live host with `getent`. Running getent instead of calling libc keeps NSS modules (sssd,
 * LDAP) out of this process, and works in a static program, which cannot load them. */
#include "base/vec.h"
#include "sys/host_inner.h"
#include "sys/name_service.h"

enum {
    ACCOUNT_FILE_MAX = 16 << 20
};

/* Common first fields of users and groups. */
typedef struct NamedId {
    Str name;
    uint32_t id;
} NamedId;

typedef struct HostUser {
    NamedId named;
    Str home, shell;
    gid_t gid;
} HostUser;

typedef struct HostGroup {
    NamedId named;
    Str members; /* as written: "web,db" */
} HostGroup;

static bool parse_id(Str text, uint32_t *out)
{
    uint64_t number;
    if (!str_to_u64(text, &number) || number >= UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

enum {
    USER_FIELDS = 7,
    GROUP_FIELDS = 4
};

static uint32_t split_fields(Str line, Str *fields, uint32_t max)
{
    uint32_t count = 0;
    while (count < max && str_split_next(&line, ':', &fields[count])) {
        count++;
    }
    return count;
}

/* Malformed lines and NIS entries ("+name") are skipped. */
static void add_user(HostAccounts *accounts, Str line)
{
    Str fields[USER_FIELDS];
    uint32_t uid, gid;
    if (split_fields(line, fields, USER_FIELDS) < USER_FIELDS || fields[0].len == 0 ||
        !parse_id(fields[2], &uid) || !parse_id(fields[3], &gid) ||
        str_map_has(&accounts->users, fields[0])) {
        return;
    }
    HostUser *user = ARENA_NEW(&accounts->arena, HostUser);
    *user = (HostUser){
        .named = { fields[0], uid }, .home = fields[5], .shell = fields[6], .gid = gid
    };
    str_map_put(&accounts->users, user->named.name, user);
}

static void add_group(HostAccounts *accounts, Str line)
{
    Str fields[GROUP_FIELDS];
    uint32_t gid;
    uint32_t count = split_fields(line, fields, GROUP_FIELDS);
    if (count < GROUP_FIELDS - 1 || fields[0].len == 0 || !parse_id(fields[2], &gid) ||
        str_map_has(&accounts->groups, fields[0])) {
        return;
    }
    HostGroup *group = ARENA_NEW(&accounts->arena, HostGroup);
    *group = (HostGroup){ .named = { fields[0], gid },
                          .members = count == GROUP_FIELDS ? fields[3] : STR_EMPTY };
    str_map_put(&accounts->groups, group->named.name, group);
}

static bool load_file(Host *host, Str path, void (*add)(HostAccounts *accounts, Str line),
                      Error *err)
{
    Str text, line;
    if (!host_read(host, &host->accounts.arena, path, ACCOUNT_FILE_MAX, &text, err)) {
        return err->kind == ERROR_NOT_FOUND; /* a root that is still being built */
    }
    while (str_split_next(&text, '\n', &line)) {
        add(&host->accounts, line);
    }
    return true;
}

static bool load(Host *host, Error *err)
{
    HostAccounts *accounts = &host->accounts;
    arena_reset(&accounts->arena);
    str_map_init(&accounts->users, &accounts->arena);
    str_map_init(&accounts->groups, &accounts->arena);
    accounts->loaded = load_file(host, STR("/etc/passwd"), add_user, err) &&
                       load_file(host, STR("/etc/group"), add_group, err);
    return accounts->loaded;
}

void host_forget_accounts(Host *host)
{
    pthread_mutex_lock(&host->lock);
    host->accounts.loaded = false;
    pthread_mutex_unlock(&host->lock);
}

/* One kind of entry: users or groups. */
typedef struct AccountKind {
    const char *database;
    const char *noun;
    size_t map; /* offset of its map in HostAccounts */
    void (*add)(HostAccounts *accounts, Str line);
} AccountKind;

static const AccountKind user_kind = { "passwd", "user", offsetof(HostAccounts, users), add_user };
static const AccountKind group_kind = { "group", "group", offsetof(HostAccounts, groups),
                                        add_group };

static StrMap *kind_map(HostAccounts *accounts, const AccountKind *kind)
{
    return (StrMap *)((char *)accounts + kind->map);
}

/* Adds the answer of the name service to the entries from the files. */
static bool query_name_service(Host *host, const AccountKind *kind, Str name, Str *found,
                               Error *err)
{
    Str line;
    if (!host->live ||
        !name_service_query(&host->accounts.arena, kind->database, name, &line, err)) {
        return false;
    }
    kind->add(&host->accounts, line);
    *found = str_slice(line, 0, str_find(line, STR(":"), 0));
    return true;
}

/* Returns NULL with ERROR_NOT_FOUND. The lock must be held. For a numeric ID without a name the
 * files are not read again. */
static void *find(Host *host, const AccountKind *kind, Str name, Error *err)
{
    HostAccounts *accounts = &host->accounts;
    uint32_t number;
    bool is_number = parse_id(name, &number);
    bool fresh = !accounts->loaded;
    if (fresh && !load(host, err)) {
        return NULL;
    }
    void *entry = str_map_find(kind_map(accounts, kind), name);
    if (entry == NULL && !fresh && !is_number) {
        if (!load(host, err)) {
            return NULL;
        }
        entry = str_map_find(kind_map(accounts, kind), name);
    }
    Str found;
    *err = (Error){ 0 };
    if (entry == NULL && !is_number && query_name_service(host, kind, name, &found, err)) {
        entry = str_map_find(kind_map(accounts, kind), found);
    }
    if (entry == NULL && (err->kind == ERROR_NONE || err->kind == ERROR_NOT_FOUND)) {
        error_set(err, ERROR_NOT_FOUND, "%s '%" STR_FMT "' not found", kind->noun, STR_ARG(name));
    }
    return entry;
}

/* Returns NULL if the ID is unknown. */
static void *find_id(HostAccounts *accounts, const AccountKind *kind, uint32_t id)
{
    uint32_t at = 0;
    for (StrMapEntry *entry; (entry = str_map_next(kind_map(accounts, kind), &at)) != NULL;) {
        if (((const NamedId *)entry->value)->id == id) {
            return entry->value;
        }
    }
    return NULL;
}

/* Finds an entry by name or numeric ID; false if the name is unknown. For an unknown ID, `*out` is
 * NULL and `*id` is the ID. The lock must be held; the result is valid until it is released. */
static bool find_by_name_or_id(Host *host, const AccountKind *kind, Str name, void **out,
                               uint32_t *id, Error *err)
{
    *out = find(host, kind, name, err);
    if (*out != NULL) {
        *id = ((const NamedId *)*out)->id;
        return true;
    }
    if (err->kind != ERROR_NOT_FOUND || !parse_id(name, id)) {
        return false;
    }
    *out = find_id(&host->accounts, kind, *id);
    return true;
}

bool host_find_user(Host *host, Str name, uid_t *out, gid_t *group, Error *err)
{
    void *user;
    pthread_mutex_lock(&host->lock);
    bool ok = find_by_name_or_id(host, &user_kind, name, &user, out, err);
    if (ok && group != NULL) {
        *group = user != NULL ? ((const HostUser *)user)->gid : HOST_KEEP_ID;
    }
    pthread_mutex_unlock(&host->lock);
    return ok;
}

bool host_find_group(Host *host, Str name, gid_t *out, Error *err)
{
    void *ignored;
    pthread_mutex_lock(&host->lock);
    bool ok = find_by_name_or_id(host, &group_kind, name, &ignored, out, err);
    pthread_mutex_unlock(&host->lock);
    return ok;
}

/* Only from the files: a display name is not worth a network query. */
static Str name_of(Host *host, Arena *arena, const AccountKind *kind, uint32_t id)
{
    Error err;
    pthread_mutex_lock(&host->lock);
    const NamedId *named =
        host->accounts.loaded || load(host, &err) ? find_id(&host->accounts, kind, id) : NULL;
    Str name = named != NULL ? arena_copy(arena, named->name) : arena_format(arena, "%u", id);
    pthread_mutex_unlock(&host->lock);
    return name;
}

Str host_user_name(Host *host, Arena *arena, uid_t uid)
{
    return name_of(host, arena, &user_kind, uid);
}

Str host_group_name(Host *host, Arena *arena, gid_t gid)
{
    return name_of(host, arena, &group_kind, gid);
}

/* --- Accounts ------------------------------------------------------------------------------ */

typedef VEC(gid_t) Groups;

static bool is_member(const HostGroup *group, Str name)
{
    Str rest = group->members, member;
    while (str_split_next(&rest, ',', &member)) {
        if (str_eq(member, name)) {
            return true;
        }
    }
    return false;
}

static void push_group(Arena *arena, Groups *groups, gid_t gid)
{
    for (uint32_t i = 0; i < groups->len; i++) {
        if (groups->items[i] == gid) {
            return;
        }
    }
    VEC_PUSH(arena, groups, gid);
}

static void push_groups_of_files(Host *host, Arena *arena, Str name, Groups *groups)
{
    uint32_t at = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&host->accounts.groups, &at)) != NULL;) {
        const HostGroup *group = entry->value;
        if (is_member(group, name)) {
            push_group(arena, groups, group->named.id);
        }
    }
}

/* Whether group membership can come from sources other than files. Most systems have "files
 * systemd"; running a process for every command with a user would be wasteful. */
static bool has_other_group_sources(Host *host, Arena *arena)
{
    Str text, line, part;
    Error err;
    if (!host->live ||
        !host_read(host, arena, STR("/etc/nsswitch.conf"), ACCOUNT_FILE_MAX, &text, &err)) {
        return false;
    }
    while (str_split_next(&text, '\n', &line)) {
        line = str_trim(line);
        if (!str_starts(line, STR("group:")) && !str_starts(line, STR("initgroups:"))) {
            continue;
        }
        line = str_from_offset(line, str_find(line, STR(":"), 0) + 1);
        while (str_split_next(&line, ' ', &part)) {
            part = str_trim(part);
            if (part.len > 0 && part.data[0] != '[' && !str_eq(part, STR("files")) &&
                !str_eq(part, STR("compat")) && !str_eq(part, STR("systemd"))) {
                return true;
            }
        }
    }
    return false;
}

/* "web   33 1001 1002" */
static void push_groups_of_name_service(Host *host, Arena *arena, Str name, Groups *groups)
{
    Error err;
    Str line, part;
    uint32_t gid;
    if (!has_other_group_sources(host, arena) ||
        !name_service_query(arena, "initgroups", name, &line, &err)) {
        return;
    }
    line = str_from_offset(line, name.len);
    while (str_split_next(&line, ' ', &part)) {
        if (parse_id(part, &gid)) {
            push_group(arena, groups, gid);
        }
    }
}

/* An unknown ID is treated as a user with a primary group of the same ID. */
static Account make_account(Arena *arena, Str name, uid_t uid, const HostUser *user)
{
    if (user == NULL) {
        return (Account){ .name = name, .uid = uid, .gid = uid };
    }
    return (Account){ .name = arena_copy(arena, user->named.name),
                      .home = arena_copy(arena, user->home),
                      .shell = arena_copy(arena, user->shell),
                      .uid = uid,
                      .gid = user->gid };
}

bool host_find_account(Host *host, Arena *arena, Str name, Account *out, Error *err)
{
    Groups groups = { 0 };
    void *user;
    uid_t uid;
    pthread_mutex_lock(&host->lock);
    bool ok = find_by_name_or_id(host, &user_kind, name, &user, &uid, err);
    if (ok) {
        *out = make_account(arena, name, uid, user);
        push_group(arena, &groups, out->gid);
        push_groups_of_files(host, arena, out->name, &groups);
    }
    pthread_mutex_unlock(&host->lock);
    if (!ok) {
        return false;
    }
    push_groups_of_name_service(host, arena, out->name, &groups);
    out->groups = groups.items;
    out->group_count = groups.len;
    return true;
}
