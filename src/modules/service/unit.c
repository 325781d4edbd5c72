/* service.unit: a unit file or a drop-in.
 *
 * systemd must reload its files after a change. The step does that right after writing the file; if
 * the run dies in between, the file is as desired but systemd has not loaded it. So check also
 * queries what systemd has loaded. systemd itself detects that a loaded file has changed
 * (NeedDaemonReload), but not always that a new file overrides or extends it: that shows in the
 * list of files it has loaded. */
#include "modules/file/target.h"
#include "modules/scratch.h"
#include "modules/service/actions.h"
#include "modules/service/journal.h"
#include "modules/service/manager.h"
#include "modules/service/unit_name.h"
#include "modules/tool.h"

enum {
    INSTANCES_MAX = 1000
};

const ParamSpec unit_params[] = {
    { "name", PARAM_STRING, .required = true,
      .help = "name of the unit; without a suffix such as .timer it is a service" },
    { "content", PARAM_STRING, .aspect = "content", .help = "content of the file" },
    { "template", PARAM_SITE_TEMPLATE, .aspect = "content",
      .help = "template in templates/ from which the content is rendered" },
    { "context", PARAM_MAP, .help = "variables for the template" },
    { "source", PARAM_SITE_FILE, .aspect = "content",
      .help = "file with the content, in the site's files/" },
    { "dropin", PARAM_STRING, .help = "name of a drop-in, which extends or overrides the unit" },
    { "absent", PARAM_BOOL, .aspect = "state", .fallback = "false", .help = "remove the file" },
    { "verify", PARAM_BOOL, .fallback = "false",
      .help = "verify a unit with systemd-analyze before it is used" },
    { "owner", PARAM_STRING, .help = "owner; default: root" },
    { "group", PARAM_STRING, .help = "group; default: root" },
    { "mode", PARAM_MODE, .help = "mode; default: 0644" },
    { 0 },
};

typedef struct Unit {
    Str name;
    Str path;
    bool dropin, absent;
    bool owes_reload;
    Target target;
} Unit;

/* --- Parameters ------------------------------------------------------------------------------ */

static bool choose_content(Call *call, Value *out, Error *err)
{
    static const char *const names[] = { "content", "template", "source" };
    const char *chosen = NULL;
    *out = value_missing();
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (call_has(call, names[i])) {
            if (chosen != NULL) {
                return error_set(err, ERROR_INVALID, "'%s' and '%s' are mutually exclusive", chosen,
                                 names[i]);
            }
            chosen = names[i];
            *out = call_param(call, chosen);
        }
    }
    if (call_bool(call, "absent")) {
        return chosen == NULL ||
               error_set(err, ERROR_INVALID, "'absent' and '%s' are mutually exclusive", chosen);
    }
    return chosen != NULL ||
           error_set(err, ERROR_INVALID, "one of 'content', 'template' and 'source' is required");
}

static bool read_names(Call *call, Unit *unit, Value *content, Error *err)
{
    Str dropin = call_str(call, "dropin");
    *unit = (Unit){ .dropin = dropin.len > 0, .absent = call_bool(call, "absent") };
    if (!unit_name_complete(call->arena, call_str(call, "name"), &unit->name, err)) {
        return call_blame(call, "name");
    }
    if (!unit_file_path(call->arena, unit->name, dropin, &unit->path, err)) {
        return call_blame(call, "dropin");
    }
    return choose_content(call, content, err) &&
           (unit->absent || !unit->dropin || !call_bool(call, "verify") ||
            error_set(err, ERROR_INVALID, "'verify' supports complete units, not drop-ins"));
}

static bool verify_params(Call *call, Error *err)
{
    Unit ignored;
    Value content;
    return read_names(call, &ignored, &content, err);
}
CALL_VERIFY(verify_names, verify_params)

bool unit_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                 Error *err)
{
    return verify_names(arena, action, params, at, err);
}

static bool read_params(Call *call, Unit *unit, Error *err)
{
    Value content;
    Target *target = &unit->target;
    if (!read_names(call, unit, &content, err)) {
        return false;
    }
    if (unit->absent) {
        return true;
    }
    *target = (Target){ .path = unit->path, .new_mode = FILE_MODE_NEW, .parents = true };
    if (!target_read_attributes(call, target, err)) {
        return false;
    }
    target_set_content(target, content);
    if (!target->has_mode) {
        target->has_mode = true;
        target->mode = target->new_mode;
    }
    /* Under an alternate root, whoever builds the image determines the owner. */
    if (host_is_live(call->host)) {
        target->uid = target->owner.len == 0 ? 0 : target->uid;
        target->gid = target->group.len == 0 ? 0 : target->gid;
    }
    return true;
}

/* --- Loaded units ---------------------------------------------------------------------------- */

/* Directories that take precedence over /etc/systemd/system. */
static bool has_precedence(Str fragment)
{
    static const char *const places[] = { "/etc/systemd/system.control/",
                                          "/run/systemd/system.control/", "/run/systemd/transient/",
                                          "/run/systemd/generator.early/" };
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (str_starts(fragment, str_from_c(places[i]))) {
            return true;
        }
    }
    return false;
}

static Str name_of(Str path)
{
    return str_from_offset(path, str_find_last(path, STR("/")) + 1);
}

/* Returns true if systemd has loaded the drop-in, or another one of that name that takes
 * precedence. */
static bool has_dropin(const UnitStatus *status, Str path)
{
    for (uint32_t i = 0; i < status->dropins.count; i++) {
        Str read = bus_text(bus_item(&status->dropins, i));
        if (str_eq(read, path) || (str_eq(name_of(read), name_of(path)) && has_precedence(read))) {
            return true;
        }
    }
    return false;
}

static bool is_stale(const Unit *unit, const UnitStatus *status)
{
    bool missing = str_eq(status->load, STR("not-found"));
    if (status->needs_reload) {
        return true;
    }
    if (unit->dropin) {
        return !missing && has_dropin(status, unit->path) == unit->absent;
    }
    if (unit->absent) {
        return str_eq(status->fragment, unit->path);
    }
    return missing || (status->fragment.len > 0 && !str_eq(status->fragment, unit->path) &&
                       !has_precedence(status->fragment));
}

/* systemd has logged the reason to the journal. */
static bool refuse_broken(Call *call, const UnitStatus *status, int64_t since_us, Outcome *outcome,
                          Error *err)
{
    if (!unit_is_broken(status)) {
        return true;
    }
    error_set(err, ERROR_INVALID, "systemd cannot load %" STR_FMT ": %" STR_FMT,
              STR_ARG(status->name), STR_ARG(status->load_error));
    Str tail = journal_tail(call, &status->name, 1, since_us);
    journal_add_to_error(call, tail, &status->name, 1, outcome, err);
    return false;
}

/* Checks every loaded unit that uses the file: for a template, all instances. */
static bool check_instances(Manager *manager, Unit *unit, bool *stale, Error *err)
{
    BusValue units;
    Arena *arena = manager->call->arena;
    Str pattern =
        arena_format(arena, "%" STR_FMT "@*.%" STR_FMT, STR_ARG(unit_name_base(unit->name)),
                     STR_ARG(unit_name_kind(unit->name)));
    if (!manager_list(manager, pattern, &units, err)) {
        return false;
    }
    for (uint32_t i = 0; i < units.count && i < INSTANCES_MAX && !*stale; i++) {
        UnitStatus status;
        if (!manager_get_unit(manager, bus_text(bus_item(bus_item(&units, i), 0)), &status, err)) {
            return false;
        }
        *stale = is_stale(unit, &status);
    }
    return true;
}

/* Returns true if systemd must reload its files although this one is unchanged. */
static bool check_loaded(Call *call, Unit *unit, Outcome *outcome, Error *err)
{
    AUTO_CLEAR(Manager) manager;
    UnitStatus status;
    if (!manager_open(call, &manager, err)) {
        return false;
    }
    if (unit_name_is_template(unit->name)) {
        return check_instances(&manager, unit, &unit->owes_reload, err);
    }
    if (!manager_get_unit(&manager, unit->name, &status, err)) {
        return false;
    }
    unit->owes_reload = is_stale(unit, &status);
    return unit->absent || unit->owes_reload || refuse_broken(call, &status, 0, outcome, err);
}

/* --- Check ----------------------------------------------------------------------------------- */

static bool check_absent(Call *call, Unit *unit, Outcome *outcome, Error *err)
{
    FileInfo info;
    outcome->state = STR("absent");
    if (!host_stat(call->host, unit->path, &info, err)) {
        return false;
    }
    if (info.kind == FILE_DIRECTORY) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a directory, not a file",
                         STR_ARG(unit->path));
    }
    unit->target.before = info;
    if (info.kind != FILE_ABSENT) {
        outcome->changed = true;
        outcome_change(call, outcome, "state", value_string(str_from_c(file_kind_name(info.kind))),
                       value_string(STR("absent")));
        outcome->comment = STR("removed");
        call_plan(call, unit->path, &(PlannedFile){ .info.kind = FILE_ABSENT });
    }
    return true;
}

bool unit_check(Call *call, Outcome *outcome, Error *err)
{
    Unit *unit = ARENA_NEW(call->arena, Unit);
    if (!read_params(call, unit, err)) {
        return false;
    }
    if (!(unit->absent ? check_absent(call, unit, outcome, err)
                       : target_check_one(call, &unit->target, outcome, err))) {
        return false;
    }
    outcome->check_data = unit;
    if (!host_is_live(call->host)) {
        return true;
    }
    if (outcome->changed) {
        unit->owes_reload = true;
        /* Fails before anything is changed if systemd is not available. */
        AUTO_CLEAR(Manager) manager;
        return manager_open(call, &manager, err);
    }
    if (!check_loaded(call, unit, outcome, err)) {
        return false;
    }
    if (unit->owes_reload) {
        outcome->changed = true;
        outcome_change(call, outcome, "loaded", value_string(STR("older version")),
                       value_string(STR("current version")));
        outcome->comment = STR("reloaded by systemd");
    }
    return true;
}

/* --- Apply ----------------------------------------------------------------------------------- */

/* Verifies the new unit under its own name, in a directory that systemd does not read. */
static bool verify(Call *call, const Unit *unit, Error *err)
{
    AUTO_CLEAR(Scratch) scratch = { 0 };
    Str path;
    ProcessResult result;
    if (!scratch_make(call, &scratch, err) ||
        !scratch_put(&scratch, arena_copy_c(call->arena, unit->name), unit->target.content, &path,
                     err)) {
        return error_wrap(err, "verify");
    }
    const char *const argv[] = { "systemd-analyze", "verify", "--man=no",
                                 arena_copy_c(call->arena, path), NULL };
    Tool tool = { .argv = argv };
    if (!tool_run(call, &tool, &result, err)) {
        return error_wrap(err, "verify");
    }
    return (result.ending == PROCESS_EXITED && result.exit_code == 0) ||
           tool_failure(call, &tool, &result, err);
}

/* Removes the file, and the drop-in directory if that is now empty. */
static bool remove_file(Call *call, const Unit *unit, Outcome *outcome, Error *err)
{
    if (!call_journal(call, unit->path, err) || !host_remove(call->host, unit->path, err)) {
        return false;
    }
    outcome->changed = true;
    Str *names;
    uint32_t count;
    Str directory = str_slice(unit->path, 0, str_find_last(unit->path, STR("/")));
    Error empty;
    if (unit->dropin && host_list(call->host, call->arena, directory, 1, &names, &count, &empty) &&
        count == 0) {
        return host_remove(call->host, directory, err);
    }
    return true;
}

static bool write_file(Call *call, Unit *unit, Outcome *outcome, Error *err)
{
    if (unit->target.write && call_bool(call, "verify") && !verify(call, unit, err)) {
        return false;
    }
    return target_apply(call, &unit->target, outcome, err);
}

static bool put_file(Call *call, Unit *unit, Outcome *outcome, Error *err)
{
    if (!unit->absent) {
        return write_file(call, unit, outcome, err);
    }
    return unit->target.before.kind == FILE_ABSENT || remove_file(call, unit, outcome, err);
}

static bool reload(Call *call, Error *err)
{
    AUTO_CLEAR(Manager) manager;
    return manager_open(call, &manager, err) && manager_reload(&manager, err);
}

/* Verifies that systemd could load the unit. */
static bool confirm(Call *call, const Unit *unit, int64_t since_us, Outcome *outcome, Error *err)
{
    AUTO_CLEAR(Manager) manager = { 0 };
    UnitStatus status;
    outcome->changed = true;
    if (unit->absent || unit_name_is_template(unit->name)) {
        return true;
    }
    return manager_open(call, &manager, err) &&
           manager_get_unit(&manager, unit->name, &status, err) &&
           refuse_broken(call, &status, since_us, outcome, err);
}

/* Writes all files, then reloads systemd once, because reloading is slow if there are many
 * units. */
void unit_merge(MergedCall *calls, uint32_t count)
{
    Call *owing = NULL;
    for (uint32_t i = 0; i < count; i++) {
        MergedCall *one = &calls[i];
        Unit *unit = one->outcome->check_data;
        one->failed = !put_file(one->call, unit, one->outcome, one->error);
        owing = !one->failed && unit->owes_reload ? one->call : owing;
    }
    Error err;
    int64_t since_us = clock_now_ms() * 1000;
    bool loaded = owing == NULL || reload(owing, &err);
    for (uint32_t i = 0; i < count; i++) {
        MergedCall *one = &calls[i];
        const Unit *unit = one->outcome->check_data;
        if (one->failed || !unit->owes_reload) {
            continue;
        }
        if (!loaded) {
            *one->error = err;
        }
        one->failed = !loaded || !confirm(one->call, unit, since_us, one->outcome, one->error);
    }
}

bool unit_apply(Call *call, Outcome *outcome, Error *err)
{
    MergedCall alone = { .call = call, .outcome = outcome, .error = err };
    unit_merge(&alone, 1);
    return !alone.failed;
}

/* --- Claims ---------------------------------------------------------------------------------- */

static Str param_text(const Value *params, const char *name)
{
    Value value = params_get(unit_params, params, name);
    return value_is_string(value) ? value_str(value) : STR_EMPTY;
}

/* Steps that use the unit run after its files. A step that stops it before they are removed keeps
 * its position. */
void unit_claims(Arena *arena, const Value *params, List *claims)
{
    Str name, path;
    Error err;
    if (!unit_name_complete(arena, param_text(params, "name"), &name, &err) ||
        !unit_file_path(arena, name, param_text(params, "dropin"), &path, &err)) {
        return;
    }
    Value absent_param = params_get(unit_params, params, "absent");
    bool absent = absent_param.kind == VALUE_BOOL && absent_param.boolean;
    claims_add(arena, claims, absent ? "drops:path:" : "path:", path);
    if (param_text(params, "dropin").len > 0) {
        claims_add(arena, claims, absent ? "drops:unit-dropin:" : "unit-dropin:", name);
    }
    Str owner = param_text(params, "owner"), group = param_text(params, "group");
    if (owner.len > 0) {
        claims_add(arena, claims, "needs:user:", owner);
    }
    if (group.len > 0) {
        claims_add(arena, claims, "needs:group:", group);
    }
}
