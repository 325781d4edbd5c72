/* zypper, the package manager of openSUSE and SUSE. */
#include "modules/pkg/backend.h"
#include "modules/pkg/blame.h"
#include "modules/pkg/rpm.h"

enum {
    RELEASE_MAX = 1 << 20,
    /* Exit codes that mean success with additional information: */
    REBOOT_NEEDED = 102,
    RESTART_NEEDED = 103, /* zypper itself was updated: more upgrades may follow */
    SCRIPT_FAILED = 107,
    NOTHING_FOUND = 104 /* a search had no results */
};

static const RpmLocks locks = { STR("/etc/zypp/locks"), zypper_locks_read };

/* Fedora offers zypper as a package too. */
static bool zypper_is_native(Call *call)
{
    Str text;
    Error err;
    return rpm_has_database(call) && tool_exists(call, "zypper") &&
           (!tool_exists(call, "dnf") ||
            (host_read(call->host, call->arena, STR("/etc/os-release"), RELEASE_MAX, &text, &err) &&
             str_find(text, STR("suse"), 0) != STR_NOT_FOUND));
}

static bool zypper_fingerprint(Call *call, Fingerprint *out, Error *err)
{
    return rpm_fingerprint(call, &locks, out, err);
}

static bool zypper_read(Call *call, PackageDatabase *into, Error *err)
{
    return rpm_read(call, &locks, into, err);
}

/* --- Running zypper -------------------------------------------------------------------------- */

static void begin_arguments(Call *call, ToolArgs *args, bool is_query)
{
    tool_arg(call, args, STR("zypper"));
    tool_arg(call, args, STR("--non-interactive"));
    if (is_query) {
        tool_arg(call, args, STR("--xmlout"));
        tool_arg(call, args, STR("--no-refresh"));
    }
}

/* A query writes nothing to the log. */
static bool run_query(Call *call, ToolArgs *args, Str *out, Error *err)
{
    static const char *const quiet[] = { "ZYPP_LOGFILE=/dev/null", NULL };
    Tool tool = { .argv = tool_args_end(call, args), .env = quiet };
    ProcessResult result;
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    *out = result.out;
    if (result.out_truncated) {
        return error_set(err, ERROR_LIMIT, "the output of zypper is too large");
    }
    return (result.ending == PROCESS_EXITED &&
            (result.exit_code == 0 || result.exit_code == NOTHING_FOUND)) ||
           tool_failure(call, &tool, &result, err);
}

static bool zypper_find_offers(Call *call, PackageOffer *offers, uint32_t count, Error *err)
{
    ToolArgs args = { 0 };
    Str out;
    begin_arguments(call, &args, true);
    tool_arg(call, &args, STR("search"));
    tool_arg(call, &args, STR("--details"));
    tool_arg(call, &args, STR("--match-exact"));
    tool_arg(call, &args, STR("--type=package"));
    package_program_add_offers(call, &args, offers, count);
    if (!run_query(call, &args, &out, err)) {
        return false;
    }
    zypper_search_read(call->arena, out, offers, count);
    return true;
}

static bool zypper_find_upgrades(Call *call, bool full, Map *changes, Error *err)
{
    ToolArgs args = { 0 };
    Str out;
    begin_arguments(call, &args, true);
    tool_arg(call, &args, STR("list-updates"));
    tool_arg(call, &args, STR("--type=package"));
    if (!run_query(call, &args, &out, err)) {
        return false;
    }
    zypper_updates_read(call->arena, out, changes);
    return true;
}

static void add_install(Call *call, ToolArgs *args, const PackageChange *change)
{
    tool_arg(call, args, STR("install"));
    tool_arg(call, args, STR("--auto-agree-with-licenses"));
    if (change->allow_downgrade) {
        tool_arg(call, args, STR("--oldpackage"));
    }
    if (change->allow_removals) {
        tool_arg(call, args, STR("--force-resolution"));
    }
    if (change->set_recommends) {
        tool_arg(call, args, change->recommends ? STR("--recommends") : STR("--no-recommends"));
    }
    package_program_add_items(call, args, change, "=");
}

static bool zypper_change(Call *call, const PackageChange *change, ProcessResult *result,
                          Error *err)
{
    ToolArgs args = { 0 };
    begin_arguments(call, &args, false);
    switch (change->operation) {
    case PACKAGES_INSTALL: add_install(call, &args, change); break;
    case PACKAGES_REMOVE:
        tool_arg(call, &args, STR("remove"));
        package_program_add_items(call, &args, change, "=");
        break;
    case PACKAGES_UPGRADE:
        tool_arg(call, &args, change->full ? STR("dist-upgrade") : STR("update"));
        tool_arg(call, &args, STR("--auto-agree-with-licenses"));
        break;
    }
    if (!package_program_run(call, &args, NULL, change->timeout_ms, result, err)) {
        return false;
    }
    int code = result->ending == PROCESS_EXITED ? result->exit_code : 0;
    if (code == REBOOT_NEEDED || code == RESTART_NEEDED || code == SCRIPT_FAILED) {
        result->exit_code = 0;
    }
    return true;
}

/* --- The index and locks --------------------------------------------------------------------- */

static int64_t zypper_index_time(Call *call)
{
    return rpm_index_time(call, "/var/cache/zypp/solv", "", "/solv");
}

static bool zypper_find_holder(Call *call, PackageHolder *out)
{
    static const Str numbered[] = { STR("/run/zypp.pid"), STR("/var/run/zypp.pid") };
    return rpm_find_holder(call, numbered, COUNT_OF(numbered), out);
}

static bool zypper_was_locked(Str output)
{
    return str_find(output, STR("System management is locked by"), 0) != STR_NOT_FOUND ||
           str_find(output, STR("transaction lock on"), 0) != STR_NOT_FOUND;
}

static bool zypper_refresh(Call *call, int64_t timeout_ms, Error *err)
{
    ToolArgs args = { 0 };
    begin_arguments(call, &args, false);
    tool_arg(call, &args, STR("refresh"));
    return package_program_refresh(call, &backend_zypper, &args, timeout_ms, err);
}

static bool zypper_hold(Call *call, const Str *names, uint32_t count, bool held, Error *err)
{
    ToolArgs args = { 0 };
    begin_arguments(call, &args, false);
    tool_arg(call, &args, held ? STR("addlock") : STR("removelock"));
    tool_arg(call, &args, STR("--"));
    package_program_add_names(call, &args, names, count);
    return tool_run_checked(call, tool_args_end(call, &args), NULL, err);
}

const PackageBackend backend_zypper = {
    .name = "zypper",
    .program = "zypper",
    .order = { version_compare_rpm, true },
    .is_native = zypper_is_native,
    .check_name = rpm_check_name,
    .fingerprint = zypper_fingerprint,
    .read = zypper_read,
    .is_provided = rpm_is_provided,
    .list_needs = rpm_list_needs,
    .find_offers = zypper_find_offers,
    .find_upgrades = zypper_find_upgrades,
    .index_time = zypper_index_time,
    .refresh = zypper_refresh,
    .find_holder = zypper_find_holder,
    .was_locked = zypper_was_locked,
    .change = zypper_change,
    .blame = blame_by_lines,
    .find_warning = rpm_find_warning,
    .conffile_suffix = ".rpmnew",
    .list_conffiles = rpm_list_conffiles,
    .hold = zypper_hold,
};
