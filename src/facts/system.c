/* Configuration of the installed and the running system: kernel, services, packages, IDs, users. */
#include "facts/fact.h"

static bool read_kernel(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str release;
    if (!fact_word(&sources->kernel, arena, "/proc/sys/kernel/osrelease", &release, err)) {
        return false;
    }
    *out = fact_string(release);
    return true;
}

const Fact fact_kernel = {
    .name = "kernel",
    .help = "The release of the running kernel.",
    .example = "\"6.1.0-28-amd64\"",
    .read = read_kernel,
};

/* --- Services and packages -------------------------------------------------------------------- */

/* The init program that would be started at boot: the target of the symlink /sbin/init. */
static Str find_installed_init(const FactSources *sources, Arena *arena)
{
    Error none;
    Str target;
    if (tree_has(&sources->root, "/sbin/openrc")) {
        return STR("openrc");
    }
    if (tree_read_link(&sources->root, arena, "/sbin/init", &target, &none)) {
        size_t slash = str_find_last(target, STR("/"));
        return slash == STR_NOT_FOUND ? target : str_from_offset(target, slash + 1);
    }
    return tree_has(&sources->root, "/etc/inittab") ? STR("sysvinit") : STR_EMPTY;
}

static bool read_init_system(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str name = STR_EMPTY;
    if (sources->live && tree_has(&sources->kernel, "/run/systemd/system")) {
        name = STR("systemd");
    } else if (sources->live && tree_has(&sources->kernel, "/run/openrc")) {
        name = STR("openrc");
    } else if (sources->live) {
        /* The first process of a container can be any program. */
        if (!fact_word(&sources->kernel, arena, "/proc/1/comm", &name, err)) {
            return false;
        }
    } else {
        name = find_installed_init(sources, arena);
    }
    *out = fact_string(name);
    return true;
}

const Fact fact_init_system = {
    .name = "init_system",
    .help = "The init system: systemd, openrc, or the name of the first process.",
    .example = "\"systemd\"",
    .read = read_init_system,
};

static bool read_package_manager(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    /* If several are installed, the distribution's native one takes precedence: Debian also
     * packages dnf, and Fedora apt. */
    static const struct {
        const char *path, *name;
    } known[] = {
        { "/var/lib/dpkg/status", "apt" }, { "/usr/bin/dnf", "dnf" },
        { "/usr/bin/dnf5", "dnf" },        { "/usr/bin/microdnf", "dnf" },
        { "/usr/bin/zypper", "zypper" },   { "/usr/bin/yum", "yum" },
        { "/usr/bin/pacman", "pacman" },   { "/sbin/apk", "apk" },
        { "/usr/bin/emerge", "portage" },  { "/usr/bin/xbps-install", "xbps" },
        { "/usr/bin/apt-get", "apt" },
    };
    *out = value_null();
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (tree_has(&sources->root, known[i].path)) {
            *out = value_string(str_from_c(known[i].name));
            break;
        }
    }
    return true;
}

const Fact fact_package_manager = {
    .name = "package_manager",
    .help = "The package manager: apt, dnf, yum, zypper, pacman, apk, portage, xbps.",
    .example = "\"apt\"",
    .read = read_package_manager,
};

/* --- Time zone -------------------------------------------------------------------------------- */

static bool read_timezone(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str target, name = STR_EMPTY;
    Error none;
    if (tree_read_link(&sources->root, arena, "/etc/localtime", &target, &none)) {
        size_t at = str_find(target, STR("zoneinfo/"), 0);
        if (at != STR_NOT_FOUND) {
            name = str_from_offset(target, at + STR("zoneinfo/").len);
        }
    }
    if (name.len == 0 && !fact_word(&sources->root, arena, "/etc/timezone", &name, err)) {
        return false;
    }
    /* If neither file exists, the C library uses UTC. */
    *out = value_string(name.len > 0 ? name : STR("UTC"));
    return true;
}

const Fact fact_timezone = {
    .name = "timezone",
    .help = "The time zone; UTC if none is set.",
    .example = "\"Europe/Berlin\"",
    .read = read_timezone,
};

/* --- IDs -------------------------------------------------------------------------------------- */

static bool read_boot_id(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str id;
    if (!fact_word(&sources->kernel, arena, "/proc/sys/kernel/random/boot_id", &id, err)) {
        return false;
    }
    *out = fact_string(id);
    return true;
}

const Fact fact_boot_id = {
    .name = "boot_id",
    .help = "An ID that changes with every boot.",
    .example = "\"5d1e4c59-3a0b-4b8c-9b0a-8f4e1a2b3c4d\"",
    .read = read_boot_id,
};

static bool read_machine_id(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str id;
    if (!fact_word(&sources->root, arena, "/etc/machine-id", &id, err)) {
        return false;
    }
    if (id.len == 0 && !fact_word(&sources->root, arena, "/var/lib/dbus/machine-id", &id, err)) {
        return false;
    }
    /* systemd's placeholder in an image that was never booted. */
    *out = str_eq_c(id, "uninitialized") ? value_null() : fact_string(id);
    return true;
}

const Fact fact_machine_id = {
    .name = "machine_id",
    .help = "The ID of the installed system; null before its first boot.",
    .example = "\"b08dfa6083e7567a1921a715000001fb\"",
    .read = read_machine_id,
};

/* --- Users ------------------------------------------------------------------------------------ */

/* Users in a directory service are not included: there may be a hundred thousand of them, and
 * listing them requires the network. */

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
        return; /* a comment, or an entry of the directory service ("+::::::") */
    }
    Map *user = map_new(arena, 5);
    map_set_str(arena, user, STR("uid"), value_int(uid));
    map_set_str(arena, user, STR("gid"), value_int(gid));
    map_set_str(arena, user, STR("comment"), value_string(fields[COMMENT]));
    map_set_str(arena, user, STR("home"), value_string(fields[HOME]));
    map_set_str(arena, user, STR("shell"), value_string(count > SHELL ? fields[SHELL] : STR_EMPTY));
    (void)map_add(arena, users, value_string(fields[NAME]), value_map(user));
}

static bool read_users(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str text;
    if (!fact_text(&sources->root, arena, "/etc/passwd", &text, err)) {
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
    .help = "The users in /etc/passwd by name, with uid, gid, comment, home and shell.",
    .example = "{\"root\": {\"uid\": 0, \"gid\": 0, \"comment\": \"root\", \"home\": \"/root\", "
               "\"shell\": \"/bin/bash\"}}",
    .read = read_users,
};
