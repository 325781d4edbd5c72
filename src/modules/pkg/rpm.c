#include "modules/pkg/rpm.h"

#include "modules/pkg/backend.h"

enum {
    LOCKS_MAX = 1 << 20,
    INDEX_FILES_MAX = 10000
};

/* Required capabilities are the last fields. */
#define QUERY "%{NAME}\\t%{EPOCHNUM}\\t%{VERSION}-%{RELEASE}\\t%{ARCH}[\\t%{REQUIRENAME}]\\n"

/* Possible locations of the database, depending on its format and the distribution. */
static const Str databases[] = {
    STR("/var/lib/rpm/rpmdb.sqlite"),
    STR("/usr/lib/sysimage/rpm/rpmdb.sqlite"),
    STR("/usr/lib/sysimage/rpm/Packages.db"),
    STR("/var/lib/rpm/Packages.db"),
    STR("/var/lib/rpm/Packages"),
};

static bool is_file(Call *call, Str path)
{
    FileInfo info;
    Error err;
    return host_stat(call->host, path, &info, &err) && info.kind == FILE_REGULAR;
}

bool rpm_has_database(Call *call)
{
    for (size_t i = 0; i < COUNT_OF(databases); i++) {
        if (is_file(call, databases[i])) {
            return true;
        }
    }
    return false;
}

/* The write-ahead log counts only if it is not empty: reading the database creates an empty one. */
static bool add_database(Call *call, Fingerprint *out, Error *err)
{
    for (size_t i = 0; i < COUNT_OF(databases); i++) {
        if (!is_file(call, databases[i])) {
            continue;
        }
        FileInfo journal;
        Str path = arena_format(call->arena, "%" STR_FMT "-wal", STR_ARG(databases[i]));
        return fingerprint_add(call, databases[i], out, err) &&
               host_stat(call->host, path, &journal, err) &&
               (journal.kind == FILE_ABSENT || journal.size == 0 ||
                fingerprint_add(call, path, out, err));
    }
    return true;
}

bool rpm_fingerprint(Call *call, const RpmLocks *locks, Fingerprint *out, Error *err)
{
    return add_database(call, out, err) && fingerprint_add(call, locks->path, out, err);
}

/* rpm would create a missing database. */
static bool read_database(Call *call, PackageDatabase *into, Error *err)
{
    Str out;
    if (!rpm_has_database(call)) {
        return true;
    }
    if (!TOOL_RUN(call, &out, err, "rpm", "-qa", "--qf", QUERY)) {
        return false;
    }
    rpm_list_read(into, arena_copy(&into->arena, out));
    return true;
}

bool rpm_read(Call *call, const RpmLocks *locks, PackageDatabase *into, Error *err)
{
    FileInfo info;
    Str text;
    if (!read_database(call, into, err) || !host_stat(call->host, locks->path, &info, err)) {
        return false;
    }
    if (info.kind != FILE_ABSENT) {
        if (!host_read(call->host, call->arena, locks->path, LOCKS_MAX, &text, err)) {
            return false;
        }
        locks->read(into, text);
    }
    return true;
}

void rpm_list_needs(Arena *arena, const Package *package, List *names)
{
    Str rest = package->record, name;
    while (str_split_next(&rest, '\t', &name)) {
        list_push(arena, names, value_string(name));
    }
}

bool rpm_is_provided(Call *call, Str name)
{
    Error err;
    return rpm_has_database(call) && TOOL_RUN(call, NULL, &err, "rpm", "-q", "--quiet",
                                              "--whatprovides", arena_copy_c(call->arena, name));
}

/* Packages that are not installed produce a message and an exit code other than 0. */
bool rpm_list_conffiles(Call *call, const PackageItem *items, uint32_t count, List *paths,
                        Error *err)
{
    ToolArgs args = { 0 };
    ProcessResult result;
    Str line;
    tool_arg(call, &args, STR("rpm"));
    tool_arg(call, &args, STR("-qc"));
    tool_arg(call, &args, STR("--"));
    for (uint32_t i = 0; i < count; i++) {
        tool_arg(call, &args, items[i].name);
    }
    Tool tool = { .argv = tool_args_end(call, &args) };
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    while (str_split_next(&result.out, '\n', &line)) {
        if (str_starts(line, STR("/"))) {
            list_push(call->arena, paths, value_string(line));
        }
    }
    return true;
}

bool rpm_find_holder(Call *call, const Str *pid_files, size_t count, PackageHolder *out)
{
    static const Str paths[] = { STR("/var/lib/rpm/.rpm.lock"),
                                 STR("/usr/lib/sysimage/rpm/.rpm.lock") };
    return package_holder_find(call, pid_files, count, lock_holder_read, out) ||
           package_holder_find(call, paths, COUNT_OF(paths), lock_holder_find, out);
}

int64_t rpm_index_time(Call *call, const char *directory, const char *suffix, const char *inside)
{
    Str *names;
    uint32_t count;
    Error err;
    int64_t newest = 0;
    if (!host_list(call->host, call->arena, str_from_c(directory), INDEX_FILES_MAX, &names, &count,
                   &err)) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        FileInfo info;
        Str path =
            arena_format(call->arena, "%s/%" STR_FMT "%s", directory, STR_ARG(names[i]), inside);
        if (str_ends(names[i], str_from_c(suffix)) && !str_eq(names[i], STR("@System")) &&
            host_stat(call->host, path, &info, &err) && info.kind != FILE_ABSENT &&
            info.mtime_ns / 1000000 > newest) {
            newest = info.mtime_ns / 1000000;
        }
    }
    return newest;
}
