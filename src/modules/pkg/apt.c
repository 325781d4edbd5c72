/* Debian's package manager. Reads dpkg's files directly and runs apt-get and dpkg for everything
 * else. */
#include "modules/pkg/apt_parse.h"
#include "modules/pkg/backend.h"
#include "modules/pkg/control.h"

#define STATUS_PATH  "/var/lib/dpkg/status"
#define UPDATES_PATH "/var/lib/dpkg/updates"
#define STATES_PATH  "/var/lib/apt/extended_states"
#define LISTS_PATH   "/var/lib/apt/lists"
#define SOURCES_PATH "/etc/apt/sources.list.d"

enum {
    STATUS_MAX = 256 << 20, /* size limit, in bytes */
    FILES_MAX = 100000,
    LOCK_ROUND_S = 5 /* seconds that apt-get waits for the lock before we check the holder again */
};

static bool apt_is_native(Call *call)
{
    FileInfo info;
    Error err;
    return host_stat(call->host, STR(STATUS_PATH), &info, &err) && info.kind == FILE_REGULAR;
}

/* This character set rules out options, patterns and versions. apt-get would treat a trailing '-'
 * or '+' as an operation, but it never receives a name that is not in the index. */
static bool apt_check_name(Str name, Error *err)
{
    Str bare = str_slice(name, 0, str_find(name, STR(":"), 0));
    Str arch = str_from_offset(name, bare.len);
    bool ok = bare.len > 1 && (ascii_is_digit(bare.data[0]) || ascii_is_alpha(bare.data[0])) &&
              arch.len != 1;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_mark = i < bare.len ? memchr("+.-", c, 3) != NULL : c == '-' || i == bare.len;
        ok = ok && (ascii_is_digit(c) || (c >= 'a' && c <= 'z') || is_mark);
    }
    return ok || error_set(err, ERROR_INVALID,
                           "'%" STR_FMT "' is not a package name: only lowercase letters, digits, "
                           "'+', '-' and '.' are allowed",
                           STR_ARG(name));
}

/* --- Installed packages ---------------------------------------------------------------------- */

static bool apt_fingerprint(Call *call, Fingerprint *out, Error *err)
{
    return fingerprint_add(call, STR(STATUS_PATH), out, err) &&
           fingerprint_add(call, STR(UPDATES_PATH), out, err) &&
           fingerprint_add(call, STR(STATES_PATH), out, err);
}

static bool is_update(Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_digit(name.data[i])) {
            return false;
        }
    }
    return name.len > 0;
}

/* Reads the updates that dpkg had not yet merged into its status file when it was interrupted.
 * Their file names are numbers. */
static bool read_updates(Call *call, Arena *arena, Str **out, uint32_t *count, Error *err)
{
    FileInfo info;
    Str *names;
    uint32_t name_count;
    *count = 0;
    *out = NULL;
    if (!host_stat(call->host, STR(UPDATES_PATH), &info, err)) {
        return false;
    }
    if (info.kind != FILE_DIRECTORY) {
        return true;
    }
    if (!host_list(call->host, arena, STR(UPDATES_PATH), FILES_MAX, &names, &name_count, err)) {
        return false;
    }
    *out = ARENA_ARRAY(arena, Str, name_count + 1);
    for (uint32_t i = 0; i < name_count; i++) {
        Str path = arena_format(arena, UPDATES_PATH "/%" STR_FMT, STR_ARG(names[i]));
        Error gone; /* a running dpkg may have removed it */
        if (is_update(names[i]) &&
            host_read(call->host, arena, path, STATUS_MAX, &(*out)[*count], &gone)) {
            ++*count;
        }
    }
    return true;
}

static bool apt_read(Call *call, PackageDatabase *into, Error *err)
{
    Arena *arena = &into->arena;
    Str status, states, *updates;
    uint32_t update_count;
    FileInfo info;
    if (!host_read(call->host, arena, STR(STATUS_PATH), STATUS_MAX, &status, err) ||
        !read_updates(call, arena, &updates, &update_count, err)) {
        return false;
    }
    dpkg_status_read(into, status, updates, update_count);
    if (!host_stat(call->host, STR(STATES_PATH), &info, err)) {
        return false;
    }
    if (info.kind != FILE_ABSENT) {
        if (!host_read(call->host, arena, STR(STATES_PATH), STATUS_MAX, &states, err)) {
            return false;
        }
        apt_states_read(into, states);
    }
    return true;
}

static void apt_list_needs(Arena *arena, const Package *package, List *names)
{
    static const Str fields[] = { STR("Pre-Depends"), STR("Depends"), STR("Recommends") };
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        Str value, name;
        if (control_find(package->record, fields[i], &value)) {
            while (control_next_name(&value, &name)) {
                list_push(arena, names, value_string(name));
            }
        }
    }
}

/* --- Available packages ---------------------------------------------------------------------- */

/* Keeps apt from writing its two cache files, because a query must not change anything. */
static void add_quiet_cache(Call *call, ToolArgs *args)
{
    FileInfo info;
    Error err;
    if (!call->planning) {
        return;
    }
    tool_arg(call, args, STR("-oDir::Cache::pkgcache="));
    if (!host_stat(call->host, STR("/var/cache/apt/srcpkgcache.bin"), &info, &err) ||
        info.kind != FILE_REGULAR) {
        tool_arg(call, args, STR("-oDir::Cache::srcpkgcache="));
    }
}

static bool apt_find_offers(Call *call, PackageOffer *offers, uint32_t count, Error *err)
{
    ToolArgs args = { 0 };
    Str out;
    tool_arg(call, &args, STR("apt-cache"));
    tool_arg(call, &args, STR("-q"));
    add_quiet_cache(call, &args);
    tool_arg(call, &args, STR("policy"));
    package_program_add_offers(call, &args, offers, count);
    if (!tool_run_checked(call, tool_args_end(call, &args), &out, err)) {
        return false;
    }
    apt_policy_read(call->arena, out, offers, count);
    return true;
}

static bool apt_list_names(Call *call, Str *out, Error *err)
{
    ToolArgs args = { 0 };
    tool_arg(call, &args, STR("apt-cache"));
    add_quiet_cache(call, &args);
    tool_arg(call, &args, STR("pkgnames"));
    return tool_run_checked(call, tool_args_end(call, &args), out, err);
}

static int64_t max_ms(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t changed_ms(Call *call, Str path)
{
    FileInfo info;
    Error err;
    bool exists = host_stat(call->host, path, &info, &err) && info.kind != FILE_ABSENT;
    return exists ? info.mtime_ns / 1000000 : 0;
}

static int64_t sources_time(Call *call)
{
    Str *names;
    uint32_t count;
    Error err;
    int64_t newest =
        max_ms(changed_ms(call, STR("/etc/apt/sources.list")), changed_ms(call, STR(SOURCES_PATH)));
    if (!host_list(call->host, call->arena, STR(SOURCES_PATH), FILES_MAX, &names, &count, &err)) {
        return newest;
    }
    for (uint32_t i = 0; i < count; i++) {
        Str path = arena_format(call->arena, SOURCES_PATH "/%" STR_FMT, STR_ARG(names[i]));
        newest = max_ms(newest, changed_ms(call, path));
    }
    return newest;
}

/* apt does not record when it last checked for updates, but doing so changes this directory. An
 * index that is older than the list of sources does not cover all of them. */
static int64_t apt_index_time(Call *call)
{
    Str *names;
    uint32_t count;
    Error err;
    bool has_one = false;
    if (!host_list(call->host, call->arena, STR(LISTS_PATH), FILES_MAX, &names, &count, &err)) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        has_one = has_one || str_ends(names[i], STR("Release"));
    }
    int64_t newest = max_ms(
        max_ms(changed_ms(call, STR(LISTS_PATH)), changed_ms(call, STR(LISTS_PATH "/partial"))),
        changed_ms(call, STR("/var/lib/apt/periodic/update-success-stamp")));
    return has_one && newest > sources_time(call) ? newest : 0;
}

/* --- Running apt ----------------------------------------------------------------------------- */

/* apt must never prompt. In another root no services are started, since there is no init system
 * there to control them. */
static const char *const *environment(Call *call, bool replaces)
{
    static const char *const always[] = {
        "DEBIAN_FRONTEND=noninteractive", "DEBIAN_PRIORITY=critical",   "NEEDRESTART_MODE=l",
        "APT_LISTCHANGES_FRONTEND=none",  "APT_LISTBUGS_FRONTEND=none",
    };
    VEC(const char *) env = { 0 };
    for (size_t i = 0; i < COUNT_OF(always); i++) {
        VEC_PUSH(call->arena, &env, always[i]);
    }
    VEC_PUSH(call->arena, &env, replaces ? "UCF_FORCE_CONFFNEW=1" : "UCF_FORCE_CONFFOLD=1");
    if (!host_is_live(call->host)) {
        VEC_PUSH(call->arena, &env, "RUNLEVEL=1");
        VEC_PUSH(call->arena, &env, "SYSTEMD_OFFLINE=1");
    }
    VEC_PUSH(call->arena, &env, NULL);
    return env.items;
}

static void begin_arguments(Call *call, ToolArgs *args, int64_t lock_ms)
{
    tool_arg(call, args, STR("apt-get"));
    tool_arg(call, args, STR("-q"));
    tool_arg(call, args, STR("-y"));
    tool_arg(call, args, STR("-oDpkg::Use-Pty=0"));
    int64_t round_s = lock_ms / 1000 < LOCK_ROUND_S ? lock_ms / 1000 : LOCK_ROUND_S;
    tool_arg(call, args,
             arena_format(call->arena, "-oDPkg::Lock::Timeout=%lld", (long long)round_s));
}

static void add_conffiles(Call *call, ToolArgs *args, const char *option, bool replaces)
{
    if (!replaces) {
        Str keep = arena_format(call->arena, "%s--force-confdef", option);
        tool_arg(call, args, keep);
    }
    Str policy =
        arena_format(call->arena, "%s--force-%s", option, replaces ? "confnew" : "confold");
    tool_arg(call, args, policy);
}

static const char *operation_name(const PackageChange *change)
{
    switch (change->operation) {
    case PACKAGES_INSTALL: return "install";
    case PACKAGES_REMOVE: return change->purge ? "purge" : "remove";
    case PACKAGES_UPGRADE: break;
    }
    return change->full ? "dist-upgrade" : "upgrade";
}

static void add_items(Call *call, ToolArgs *args, const PackageChange *change)
{
    tool_arg(call, args, str_from_c(operation_name(change)));
    if (change->operation == PACKAGES_UPGRADE) {
        if (!change->full) {
            tool_arg(call, args, STR("--with-new-pkgs"));
        }
        return;
    }
    package_program_add_items(call, args, change, "=");
}

static bool run(Call *call, ToolArgs *args, bool replaces, int64_t timeout_ms,
                ProcessResult *result, Error *err)
{
    return package_program_run(call, args, environment(call, replaces), timeout_ms, result, err);
}

static void add_options(Call *call, ToolArgs *args, const PackageChange *change)
{
    if (change->set_recommends) {
        tool_arg(call, args,
                 change->recommends ? STR("--install-recommends") : STR("--no-install-recommends"));
    }
    if (change->allow_downgrade) {
        tool_arg(call, args, STR("--allow-downgrades"));
    }
}

static bool apt_change(Call *call, const PackageChange *change, ProcessResult *result, Error *err)
{
    ToolArgs args = { 0 };
    begin_arguments(call, &args, change->lock_ms);
    add_conffiles(call, &args, "-oDpkg::Options::=", change->replace_conffiles);
    add_options(call, &args, change);
    /* Otherwise apt would also list unused dependencies as removals. */
    if (change->operation == PACKAGES_INSTALL && !change->allow_removals) {
        tool_arg(call, &args, STR("--no-remove"));
        tool_arg(call, &args, STR("-oAPT::Get::AutomaticRemove=false"));
    }
    add_items(call, &args, change);
    return run(call, &args, change->replace_conffiles, change->timeout_ms, result, err);
}

/* Reports the "E: ..." lines of the output, or its last line if there are none. */
static bool failure(Call *call, const char *what, Str about, const ProcessResult *result,
                    int64_t timeout_ms, Error *err)
{
    if (result->ending != PROCESS_EXITED) {
        process_failure(call->arena, result, timeout_ms, err);
        return error_wrap(err, "%s", what);
    }
    Str words;
    apt_blame(call->arena, result->out, about, &words);
    return error_set(err, ERROR_OS, "%s exited with %d: %" STR_FMT, what, result->exit_code,
                     STR_ARG(words));
}

static bool apt_simulate(Call *call, const PackageChange *change, Map *changes, Error *err)
{
    ToolArgs args = { 0 };
    ProcessResult result;
    begin_arguments(call, &args, 0);
    add_quiet_cache(call, &args);
    tool_arg(call, &args, STR("-oDir::Log::Planner=/dev/null"));
    tool_arg(call, &args, STR("--simulate"));
    add_options(call, &args, change);
    add_items(call, &args, change);
    if (!run(call, &args, false, 0, &result, err)) {
        return false;
    }
    if (!package_program_is_done(&result)) {
        return failure(call, "apt-get", change->count > 0 ? change->items[0].name : STR("\n"),
                       &result, 0, err);
    }
    apt_simulation_read(call->arena, result.out, changes);
    return true;
}

static bool apt_find_upgrades(Call *call, bool full, Map *changes, Error *err)
{
    PackageChange change = { .operation = PACKAGES_UPGRADE, .full = full };
    return apt_simulate(call, &change, changes, err);
}

/* Configures the packages that dpkg had unpacked, then lets apt complete the rest without removing
 * anything. */
static bool apt_repair(Call *call, const PackageChange *like, Error *err)
{
    ToolArgs args = { 0 };
    ProcessResult configured, fixed;
    tool_arg(call, &args, STR("dpkg"));
    add_conffiles(call, &args, "", like->replace_conffiles);
    tool_arg(call, &args, STR("--configure"));
    tool_arg(call, &args, STR("-a"));
    if (!run(call, &args, like->replace_conffiles, like->timeout_ms, &configured, err)) {
        return false;
    }
    ToolArgs more = { 0 };
    begin_arguments(call, &more, like->lock_ms);
    add_conffiles(call, &more, "-oDpkg::Options::=", like->replace_conffiles);
    tool_arg(call, &more, STR("--fix-broken"));
    tool_arg(call, &more, STR("--no-remove"));
    tool_arg(call, &more, STR("install"));
    if (!run(call, &more, like->replace_conffiles, like->timeout_ms, &fixed, err)) {
        return false;
    }
    if (package_program_is_done(&fixed)) {
        return true;
    }
    return !package_program_is_done(&configured)
               ? failure(call, "dpkg --configure", STR("\n"), &configured, like->timeout_ms, err)
               : failure(call, "apt-get --fix-broken", STR("\n"), &fixed, like->timeout_ms, err);
}

/* --- Locks and the index --------------------------------------------------------------------- */

static bool apt_find_holder(Call *call, PackageHolder *out)
{
    static const Str paths[] = { STR("/var/lib/dpkg/lock-frontend"), STR("/var/lib/dpkg/lock"),
                                 STR(LISTS_PATH "/lock"), STR("/var/cache/apt/archives/lock") };
    return package_holder_find(call, paths, COUNT_OF(paths), lock_holder_find, out);
}

static bool apt_was_locked(Str output)
{
    static const Str words[] = { STR("Could not get lock "), STR("Unable to acquire the dpkg"),
                                 STR("is locked by another process"),
                                 STR("Unable to lock directory ") };
    /* If permission to lock is denied, waiting does not help. */
    bool may = str_find(output, STR("Permission denied"), 0) == STR_NOT_FOUND;
    for (size_t i = 0; may && i < COUNT_OF(words); i++) {
        if (str_find(output, words[i], 0) != STR_NOT_FOUND) {
            return true;
        }
    }
    return false;
}

/* If a key is missing, apt reports the source as unsigned and names the key only in a warning. */
static Str missing_key(Str output)
{
    Str mark_packages = STR("NO_PUBKEY ");
    size_t at = str_find(output, mark_packages, 0);
    Str key = at == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(output, at + mark_packages.len);
    size_t len = 0;
    while (len < key.len && ascii_is_name(key.data[len])) {
        len++;
    }
    return str_slice(key, 0, len);
}

static bool apt_refresh(Call *call, int64_t timeout_ms, Error *err)
{
    ToolArgs args = { 0 };
    ProcessResult result;
    begin_arguments(call, &args, 0);
    /* Otherwise an unreachable source is only a warning. */
    tool_arg(call, &args, STR("-oAPT::Update::Error-Mode=any"));
    tool_arg(call, &args, STR("update"));
    if (!run(call, &args, false, timeout_ms, &result, err)) {
        return false;
    }
    if (package_refresh_result(call, &backend_apt, &result, timeout_ms, err)) {
        return true;
    }
    Str key = missing_key(result.out);
    return key.len > 0 &&
           error_wrap(err,
                      "a source is signed with the key %" STR_FMT ", which is not installed; "
                      "set 'key_file' of pkgrepo.managed",
                      STR_ARG(key));
}

/* --- Marks ----------------------------------------------------------------------------------- */

static bool mark_packages(Call *call, const char *how, const Str *names, uint32_t count, Error *err)
{
    ToolArgs args = { 0 };
    tool_arg(call, &args, STR("apt-mark"));
    tool_arg(call, &args, STR("-q"));
    tool_arg(call, &args, str_from_c(how));
    tool_arg(call, &args, STR("--"));
    package_program_add_names(call, &args, names, count);
    return tool_run_checked(call, tool_args_end(call, &args), NULL, err);
}

static bool apt_hold(Call *call, const Str *names, uint32_t count, bool held, Error *err)
{
    return mark_packages(call, held ? "hold" : "unhold", names, count, err);
}

static bool apt_mark_manual(Call *call, const Str *names, uint32_t count, Error *err)
{
    return mark_packages(call, "manual", names, count, err);
}

const PackageBackend backend_apt = {
    .name = "apt",
    .program = "apt-get",
    .order = { version_compare_dpkg },
    .is_native = apt_is_native,
    .check_name = apt_check_name,
    .fingerprint = apt_fingerprint,
    .read = apt_read,
    .list_needs = apt_list_needs,
    .find_offers = apt_find_offers,
    .list_names = apt_list_names,
    .simulate = apt_simulate,
    .find_upgrades = apt_find_upgrades,
    .index_time = apt_index_time,
    .refresh = apt_refresh,
    .find_holder = apt_find_holder,
    .was_locked = apt_was_locked,
    .change = apt_change,
    .repair = apt_repair,
    .blame = apt_blame,
    .find_removals = apt_find_removals,
    .hold = apt_hold,
    .mark_manual = apt_mark_manual,
};
