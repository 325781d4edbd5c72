/* dnf, the package manager of Fedora and its relatives. */
#include "modules/pkg/backend.h"
#include "modules/pkg/blame.h"
#include "modules/pkg/rpm.h"
#include "modules/scratch.h"

#define CACHE_PATH "/var/cache/dnf"
/* dnf 4 appends a newline to each entry, dnf 5 does not. */
#define QUERY "%{name}\\t%{epoch}\\t%{version}-%{release}\\t%{arch}\\n"

static const RpmLocks locks = { STR("/etc/dnf/plugins/versionlock.list"), dnf_locks_read };

static bool dnf_is_native(Call *call)
{
    return rpm_has_database(call) && tool_exists(call, "dnf");
}

static bool dnf_fingerprint(Call *call, Fingerprint *out, Error *err)
{
    return rpm_fingerprint(call, &locks, out, err);
}

static bool dnf_read(Call *call, PackageDatabase *into, Error *err)
{
    return rpm_read(call, &locks, into, err);
}

/* --- Running dnf ----------------------------------------------------------------------------- */

/* dnf must not wait for the lock itself: we do that, and report the holder. */
static void begin_arguments(Call *call, ToolArgs *args)
{
    tool_arg(call, args, STR("dnf"));
    tool_arg(call, args, STR("-y"));
    tool_arg(call, args, STR("--setopt=exit_on_lock=1"));
}

/* Runs "dnf -q repoquery ...". A query writes nothing to the log, and a plan does not refresh the
 * index. */
static bool run_query(Call *call, const ToolArgs *question, Str *out, Error *err)
{
    AUTO_CLEAR(Scratch) scratch = { 0 };
    ToolArgs args = { 0 };
    if (!scratch_make(call, &scratch, err)) {
        return false;
    }
    begin_arguments(call, &args);
    tool_arg(call, &args, STR("-q"));
    tool_arg(call, &args,
             arena_format(call->arena, "--setopt=logdir=%" STR_FMT, STR_ARG(scratch.path)));
    if (call->planning) {
        tool_arg(call, &args, STR("-C"));
    }
    tool_arg(call, &args, STR("repoquery"));
    tool_arg(call, &args, STR("--qf=" QUERY));
    for (uint32_t i = 0; i < question->len; i++) {
        VEC_PUSH(call->arena, &args, question->items[i]);
    }
    return tool_run_checked(call, tool_args_end(call, &args), out, err);
}

static bool dnf_find_offers(Call *call, PackageOffer *offers, uint32_t count, Error *err)
{
    ToolArgs args = { 0 };
    Str out;
    package_program_add_offers(call, &args, offers, count);
    if (!run_query(call, &args, &out, err)) {
        return false;
    }
    rpm_offers_read(call->arena, out, offers, count);
    return true;
}

static bool dnf_find_upgrades(Call *call, bool full, Map *changes, Error *err)
{
    ToolArgs args = { 0 };
    Str out;
    AUTO(PackageDatabase) *database = NULL;
    tool_arg(call, &args, STR("--upgrades"));
    tool_arg(call, &args, STR("--latest-limit=1"));
    if (!database_get(call, &backend_dnf, &database, err) || !run_query(call, &args, &out, err)) {
        return false;
    }
    rpm_upgrades_read(call->arena, out, database, changes);
    return true;
}

static bool dnf_change(Call *call, const PackageChange *change, ProcessResult *result, Error *err)
{
    ToolArgs args = { 0 };
    begin_arguments(call, &args);
    if (change->set_recommends) {
        tool_arg(call, &args,
                 change->recommends ? STR("--setopt=install_weak_deps=1")
                                    : STR("--setopt=install_weak_deps=0"));
    }
    switch (change->operation) {
    case PACKAGES_INSTALL:
        tool_arg(call, &args, STR("install"));
        if (change->allow_removals) {
            tool_arg(call, &args, STR("--allowerasing"));
        }
        package_program_add_items(call, &args, change, "-");
        break;
    case PACKAGES_REMOVE:
        tool_arg(call, &args, STR("remove"));
        package_program_add_items(call, &args, change, "-");
        break;
    case PACKAGES_UPGRADE:
        tool_arg(call, &args, STR("upgrade"));
        if (change->full) {
            tool_arg(call, &args, STR("--allowerasing"));
        }
        break;
    }
    return package_program_run(call, &args, NULL, change->timeout_ms, result, err);
}

/* --- The index and locks --------------------------------------------------------------------- */

static int64_t dnf_index_time(Call *call)
{
    return rpm_index_time(call, CACHE_PATH, ".solv", "");
}

static bool dnf_find_holder(Call *call, PackageHolder *out)
{
    static const Str numbered[] = { STR("/var/lib/dnf/rpmdb_lock.pid"),
                                    STR(CACHE_PATH "/metadata_lock.pid"),
                                    STR(CACHE_PATH "/download_lock.pid") };
    return rpm_find_holder(call, numbered, COUNT_OF(numbered), out);
}

static bool dnf_was_locked(Str output)
{
    return str_find(output, STR("holding the"), 0) != STR_NOT_FOUND ||
           str_find(output, STR("transaction lock on"), 0) != STR_NOT_FOUND ||
           str_find(output, STR("Waiting for process with pid"), 0) != STR_NOT_FOUND;
}

static bool dnf_refresh(Call *call, int64_t timeout_ms, Error *err)
{
    ToolArgs args = { 0 };
    begin_arguments(call, &args);
    tool_arg(call, &args, STR("--refresh"));
    tool_arg(call, &args, STR("makecache"));
    return package_program_refresh(call, &backend_dnf, &args, timeout_ms, err);
}

static bool dnf_hold(Call *call, const Str *names, uint32_t count, bool held, Error *err)
{
    ToolArgs args = { 0 };
    begin_arguments(call, &args);
    tool_arg(call, &args, STR("versionlock"));
    tool_arg(call, &args, held ? STR("add") : STR("delete"));
    package_program_add_names(call, &args, names, count);
    return tool_run_checked(call, tool_args_end(call, &args), NULL, err) ||
           error_wrap(err, "holding packages requires dnf's 'versionlock' plugin");
}

const PackageBackend backend_dnf = {
    .name = "dnf",
    .program = "dnf",
    .order = { version_compare_rpm, true },
    .is_native = dnf_is_native,
    .check_name = rpm_check_name,
    .fingerprint = dnf_fingerprint,
    .read = dnf_read,
    .is_provided = rpm_is_provided,
    .list_needs = rpm_list_needs,
    .find_offers = dnf_find_offers,
    .find_upgrades = dnf_find_upgrades,
    .index_time = dnf_index_time,
    .refresh = dnf_refresh,
    .find_holder = dnf_find_holder,
    .was_locked = dnf_was_locked,
    .change = dnf_change,
    .blame = blame_by_lines,
    .find_warning = rpm_find_warning,
    .conffile_suffix = ".rpmnew",
    .list_conffiles = rpm_list_conffiles,
    .hold = dnf_hold,
};
