/* pacman, the package manager of Arch. Its repositories have only the newest version of each
 * package. */
#include "base/glob.h"
#include "modules/pkg/backend.h"
#include "modules/pkg/blame.h"
#include "modules/pkg/pacman_parse.h"

#define LOCAL_PATH  "/var/lib/pacman/local"
#define SYNC_PATH   "/var/lib/pacman/sync"
#define LOCK_PATH   "/var/lib/pacman/db.lck"
#define CONFIG_PATH "/etc/pacman.conf"

enum {
    ENTRIES_MAX = 100000,
    DESC_MAX = 1 << 20,
    CONFIG_MAX = 1 << 20
};

static bool pacman_is_native(Call *call)
{
    FileInfo info;
    Error err;
    return host_stat(call->host, STR(LOCAL_PATH), &info, &err) && info.kind == FILE_DIRECTORY &&
           tool_exists(call, "pacman");
}

static bool pacman_check_name(Str name, Error *err)
{
    bool ok = name.len > 0 && name.data[0] != '-' && name.data[0] != '.';
    for (size_t i = 0; i < name.len; i++) {
        ok = ok && (ascii_is_name(name.data[i]) || memchr("+.-@", name.data[i], 4) != NULL);
    }
    return ok ||
           error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a package name", STR_ARG(name));
}

/* --- Installed packages ---------------------------------------------------------------------- */

static bool pacman_fingerprint(Call *call, Fingerprint *out, Error *err)
{
    return fingerprint_add(call, STR(LOCAL_PATH), out, err) &&
           fingerprint_add(call, STR(LOCK_PATH), out, err) &&
           fingerprint_add(call, STR(CONFIG_PATH), out, err);
}

static void mark_held(Call *call, PackageDatabase *into, Str config)
{
    List *names = list_new(call->arena, 4);
    pacman_ignored_read(call->arena, config, names);
    for (uint32_t i = 0; i < names->len; i++) {
        StrMapEntry *entry;
        for (uint32_t at = 0; (entry = str_map_next(&into->packages, &at)) != NULL;) {
            Package *package = entry->value;
            package->held = package->held || glob_match(value_str(names->items[i]), package->name);
        }
    }
}

/* The lock is a file that exists while pacman is running. If no process has it open, pacman was
 * killed. */
static bool has_stale_lock(Call *call)
{
    FileInfo info;
    LockHolder holder;
    Error err;
    return host_stat(call->host, STR(LOCK_PATH), &info, &err) && info.kind != FILE_ABSENT &&
           !lock_holder_find_user(call->host, call->arena, STR(LOCK_PATH), &holder);
}

static bool pacman_read(Call *call, PackageDatabase *into, Error *err)
{
    Str *entries, config;
    uint32_t count;
    FileInfo info;
    if (!host_stat(call->host, STR(LOCAL_PATH), &info, err)) {
        return false;
    }
    if (info.kind == FILE_ABSENT) {
        return true;
    }
    if (!host_list(call->host, &into->arena, STR(LOCAL_PATH), ENTRIES_MAX, &entries, &count, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        Str desc;
        Error none;
        Str path = arena_format(call->arena, LOCAL_PATH "/%" STR_FMT "/desc", STR_ARG(entries[i]));
        if (!host_read(call->host, &into->arena, path, DESC_MAX, &desc, &none)) {
            desc = STR_EMPTY;
        }
        pacman_entry_read(into, entries[i], desc);
    }
    Error none;
    if (host_read(call->host, call->arena, STR(CONFIG_PATH), CONFIG_MAX, &config, &none)) {
        mark_held(call, into, config);
    }
    if (has_stale_lock(call)) {
        into->interrupted = true;
        into->interruption = STR("pacman was interrupted and left its lock");
    }
    return true;
}

static void pacman_list_needs(Arena *arena, const Package *package, List *names)
{
    Str lines, line;
    if (!pacman_field(package->record, "DEPENDS", &lines)) {
        return;
    }
    while (str_split_next(&lines, '\n', &line)) {
        size_t end = 0;
        while (end < line.len && memchr("=<>:", line.data[end], 4) == NULL) {
            end++;
        }
        list_push(arena, names, value_string(str_slice(line, 0, end)));
    }
}

/* --- Running pacman -------------------------------------------------------------------------- */

static void begin_arguments(Call *call, ToolArgs *args, const char *operation)
{
    tool_arg(call, args, STR("pacman"));
    tool_arg(call, args, STR("--noconfirm"));
    tool_arg(call, args, str_from_c(operation));
}

/* pacman exits with code 1 if it does not find one of the packages, but still describes the
 * others. */
static bool pacman_find_offers(Call *call, PackageOffer *offers, uint32_t count, Error *err)
{
    ToolArgs args = { 0 };
    ProcessResult result;
    begin_arguments(call, &args, "-Si");
    package_program_add_offers(call, &args, offers, count);
    Tool tool = { .argv = tool_args_end(call, &args) };
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED || result.exit_code > 1) {
        return tool_failure(call, &tool, &result, err);
    }
    pacman_info_read(call->arena, result.out, offers, count);
    return true;
}

static bool pacman_list_names(Call *call, Str *out, Error *err)
{
    return TOOL_RUN(call, out, err, "pacman", "-Slq");
}

static bool pacman_find_upgrades(Call *call, bool full, Map *changes, Error *err)
{
    ToolArgs args = { 0 };
    ProcessResult result;
    begin_arguments(call, &args, "-Qu");
    Tool tool = { .argv = tool_args_end(call, &args) };
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED || result.exit_code > 1) {
        return tool_failure(call, &tool, &result, err);
    }
    pacman_upgrades_read(call->arena, result.out, changes);
    return true;
}

static bool pacman_change(Call *call, const PackageChange *change, ProcessResult *result,
                          Error *err)
{
    ToolArgs args = { 0 };
    switch (change->operation) {
    case PACKAGES_INSTALL: begin_arguments(call, &args, "-S"); break;
    case PACKAGES_REMOVE: begin_arguments(call, &args, change->purge ? "-Rcn" : "-Rc"); break;
    case PACKAGES_UPGRADE: begin_arguments(call, &args, "-Su"); break;
    }
    if (change->allow_removals) {
        /* Inverts the default answer (no) to the question with this number,
         * ALPM_QUESTION_CONFLICT_PKG of alpm.h. */
        tool_arg(call, &args, STR("--ask=4"));
    }
    if (change->operation != PACKAGES_UPGRADE) {
        package_program_add_items(call, &args, change, NULL);
    }
    return package_program_run(call, &args, NULL, change->timeout_ms, result, err);
}

static bool pacman_find_warning(Arena *arena, Str output, Str name, Str *words)
{
    BlameLines lines = blame_split(arena, output);
    bool inside = false;
    for (uint32_t i = 0; i < lines.len; i++) {
        if (str_ends(lines.items[i], STR("..."))) {
            inside = blame_mentions(lines.items[i], name);
        } else if (inside &&
                   str_find(lines.items[i], STR("command failed to execute"), 0) != STR_NOT_FOUND) {
            *words = blame_join(arena, &lines.items[i - 1], 2);
            return true;
        }
    }
    return false;
}

/* "%BACKUP%" of the package's "files": path, tab, checksum. */
static bool pacman_list_conffiles(Call *call, const PackageItem *items, uint32_t count, List *paths,
                                  Error *err)
{
    AUTO(PackageDatabase) *database = NULL;
    if (!database_get(call, &backend_pacman, &database, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const Package *package = database_find(database, items[i].name);
        Str files, lines, line;
        Error none;
        if (package == NULL) {
            continue;
        }
        Str path = arena_format(call->arena, LOCAL_PATH "/%" STR_FMT "-%" STR_FMT "/files",
                                STR_ARG(package->name), STR_ARG(package->version));
        if (!host_read(call->host, call->arena, path, DESC_MAX, &files, &none) ||
            !pacman_field(files, "BACKUP", &lines)) {
            continue;
        }
        while (str_split_next(&lines, '\n', &line)) {
            Str name = str_slice(line, 0, str_find(line, STR("\t"), 0));
            list_push(call->arena, paths,
                      value_string(arena_format(call->arena, "/%" STR_FMT, STR_ARG(name))));
        }
    }
    return true;
}

static bool pacman_check_change(const PackageChange *change, Error *err)
{
    return !change->set_recommends ||
           error_set(err, ERROR_UNAVAILABLE, "pacman does not support 'recommends'");
}

/* --- The index and locks --------------------------------------------------------------------- */

/* The mtime of the index files is that of the files on the server; the directory's mtime is the
 * time of the download. */
static int64_t pacman_index_time(Call *call)
{
    Str *names;
    uint32_t count;
    Error err;
    FileInfo info;
    return host_list(call->host, call->arena, STR(SYNC_PATH), ENTRIES_MAX, &names, &count, &err) &&
                   count > 0 && host_stat(call->host, STR(SYNC_PATH), &info, &err)
               ? info.mtime_ns / 1000000
               : 0;
}

static bool pacman_find_holder(Call *call, PackageHolder *out)
{
    return package_holder_find(call, &STR(LOCK_PATH), 1, lock_holder_find_user, out);
}

static bool pacman_was_locked(Str output)
{
    return str_find(output, STR("unable to lock database"), 0) != STR_NOT_FOUND;
}

static bool pacman_refresh(Call *call, int64_t timeout_ms, Error *err)
{
    ToolArgs args = { 0 };
    begin_arguments(call, &args, "-Sy");
    return package_program_refresh(call, &backend_pacman, &args, timeout_ms, err);
}

static bool pacman_repair(Call *call, const PackageChange *like, Error *err)
{
    return !has_stale_lock(call) || host_remove(call->host, STR(LOCK_PATH), err);
}

/* --- Marks ----------------------------------------------------------------------------------- */

static bool pacman_hold(Call *call, const Str *names, uint32_t count, bool held, Error *err)
{
    FileInfo info;
    Str config;
    if (!host_read_info(call->host, call->arena, STR(CONFIG_PATH), CONFIG_MAX, &info, &config,
                        err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        config = pacman_ignored_write(call->arena, config, names[i], held);
    }
    FileWrite write = { .content = config, .mode = info.mode, .uid = info.uid, .gid = info.gid };
    return call_journal(call, STR(CONFIG_PATH), err) &&
           host_write(call->host, STR(CONFIG_PATH), &write, err);
}

static bool pacman_mark_manual(Call *call, const Str *names, uint32_t count, Error *err)
{
    ToolArgs args = { 0 };
    begin_arguments(call, &args, "-D");
    tool_arg(call, &args, STR("--asexplicit"));
    tool_arg(call, &args, STR("--"));
    package_program_add_names(call, &args, names, count);
    bool ok = tool_run_checked(call, tool_args_end(call, &args), NULL, err);
    database_invalidate(
        call,
        /* the change is in the entries, so the directory's fingerprint does not show it */
        &backend_pacman);
    return ok;
}

const PackageBackend backend_pacman = {
    .name = "pacman",
    .program = "pacman",
    .order = { version_compare_alpm, true },
    .is_native = pacman_is_native,
    .check_name = pacman_check_name,
    .fingerprint = pacman_fingerprint,
    .read = pacman_read,
    .list_needs = pacman_list_needs,
    .find_offers = pacman_find_offers,
    .list_names = pacman_list_names,
    .find_upgrades = pacman_find_upgrades,
    .index_time = pacman_index_time,
    .refresh = pacman_refresh,
    .find_holder = pacman_find_holder,
    .was_locked = pacman_was_locked,
    .change = pacman_change,
    .repair = pacman_repair,
    .blame = blame_by_lines,
    .find_warning = pacman_find_warning,
    .conffile_suffix = ".pacnew",
    .list_conffiles = pacman_list_conffiles,
    .check_change = pacman_check_change,
    .hold = pacman_hold,
    .mark_manual = pacman_mark_manual,
};
