/* service.unit: the file of a unit, or a drop-in of one.
 *
 * systemd has to read its files again after one has changed. That is done in the same breath; when
 * a run dies in between, the file is as it shall be and only systemd does not know. So the check
 * also asks what systemd has loaded. It knows itself when a file it has read has changed
 * (NeedDaemonReload), but not always when one appeared that it should read instead or as well: that
 * shows by the files that it did read. */
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
      .help = "the unit; without an ending such as .timer it is a service" },
    { "content", PARAM_STRING, .decides = "content", .help = "what is in the file" },
    { "template", PARAM_SITE_TEMPLATE, .decides = "content",
      .help = "what is in it, a template below templates/" },
    { "context", PARAM_MAP, .help = "variables for the template" },
    { "source", PARAM_SITE_FILE, .decides = "content",
      .help = "what is in it, a file below files/ of the site" },
    { "dropin", PARAM_STRING,
      .help = "the name of a drop-in, which adds to the unit or changes parts of it" },
    { "absent", PARAM_BOOL, .decides = "state", .fallback = "false",
      .help = "the file shall not be there" },
    { "verify", PARAM_BOOL, .fallback = "false",
      .help = "let systemd-analyze look at a unit before it is used" },
    { "owner", PARAM_STRING, .help = "whom it belongs to, if not root" },
    { "group", PARAM_STRING, .help = "its group, if not root" },
    { "mode", PARAM_MODE, .help = "its permissions, if not 0644" },
    { 0 },
};

typedef struct Unit {
    Str name;
    Str path;
    bool dropin, absent;
    bool owes_reload;
    Target target;
} Unit;

/* --- What is wanted -------------------------------------------------------------------------- */

static bool choose_content(Call *call, Value *out, Error *err)
{
    static const char *const names[] = { "content", "template", "source" };
    const char *chosen = NULL;
    *out = value_missing();
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (call_has(call, names[i])) {
            if (chosen != NULL) {
                return error_set(err, ERROR_INVALID, "'%s' and '%s' both say what is in the file",
                                 chosen, names[i]);
            }
            chosen = names[i];
            *out = call_param(call, chosen);
        }
    }
    if (call_bool(call, "absent")) {
        return chosen == NULL ||
               error_set(err, ERROR_INVALID, "what shall be absent has no '%s'", chosen);
    }
    return chosen != NULL ||
           error_set(err, ERROR_INVALID, "needs one of 'content', 'template' and 'source'");
}

static bool read_wish(Call *call, Unit *unit, Error *err)
{
    Value content;
    Str dropin = call_str(call, "dropin");
    Target *target = &unit->target;
    *unit = (Unit){ .dropin = dropin.len > 0, .absent = call_bool(call, "absent") };
    if (!unit_name_complete(call->arena, call_str(call, "name"), &unit->name, err) ||
        !unit_file_path(call->arena, unit->name, dropin, &unit->path, err) ||
        !choose_content(call, &content, err)) {
        return false;
    }
    if (unit->absent) {
        return true;
    }
    if (call_bool(call, "verify") && unit->dropin) {
        return error_set(err, ERROR_INVALID, "'verify' looks at whole units, not at drop-ins");
    }
    *target = (Target){
        .path = unit->path, .new_mode = FILE_MODE_NEW, .parents = true, .validate = value_missing()
    };
    if (!target_wish_attributes(call, target, err)) {
        return false;
    }
    target_set_content(target, content);
    if (!target->has_mode) {
        target->has_mode = true;
        target->mode = target->new_mode;
    }
    /* Elsewhere whoever makes the image decides. */
    if (host_is_live(call->host)) {
        target->uid = target->owner.len == 0 ? 0 : target->uid;
        target->gid = target->group.len == 0 ? 0 : target->gid;
    }
    return true;
}

/* --- What systemd has loaded ----------------------------------------------------------------- */

/* Places that come before /etc/systemd/system. */
static bool comes_first(Str fragment)
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

/* Whether systemd has read the drop-in, or another of its name that comes first. */
static bool has_dropin(const UnitStatus *status, Str path)
{
    for (uint32_t i = 0; i < status->dropins.count; i++) {
        Str read = bus_text(bus_item(&status->dropins, i));
        if (str_eq(read, path) || (str_eq(name_of(read), name_of(path)) && comes_first(read))) {
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
                       !comes_first(status->fragment));
}

/* Why it cannot be used, systemd has written to the journal. */
static bool refuse_broken(Call *call, const UnitStatus *status, int64_t since_us, Outcome *outcome,
                          Error *err)
{
    if (!unit_is_broken(status)) {
        return true;
    }
    error_set(err, ERROR_INVALID, "systemd cannot use %" STR_FMT ": %" STR_FMT,
              STR_ARG(status->name), STR_ARG(status->load_error));
    Str tail = journal_tail(call, &status->name, 1, since_us);
    journal_tell(call, tail, &status->name, 1, outcome, err);
    return false;
}

/* Every unit that the file is for, as far as it is loaded: of a template all instances. */
static bool look_at_instances(Manager *manager, Unit *unit, bool *stale, Error *err)
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
        if (!manager_look(manager, bus_text(bus_item(bus_item(&units, i), 0)), &status, err)) {
            return false;
        }
        *stale = is_stale(unit, &status);
    }
    return true;
}

/* Whether systemd has to read its files again, although this one is as it shall be. */
static bool look_at_systemd(Call *call, Unit *unit, Outcome *outcome, Error *err)
{
    AUTO_CLEAR(Manager) manager;
    UnitStatus status;
    if (!manager_open(call, &manager, err)) {
        return false;
    }
    if (unit_name_is_template(unit->name)) {
        return look_at_instances(&manager, unit, &unit->owes_reload, err);
    }
    if (!manager_look(&manager, unit->name, &status, err)) {
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
    if (!read_wish(call, unit, err)) {
        return false;
    }
    if (!(unit->absent ? check_absent(call, unit, outcome, err)
                       : target_check_one(call, &unit->target, outcome, err))) {
        return false;
    }
    outcome->found = unit;
    if (!host_is_live(call->host)) {
        return true;
    }
    if (outcome->changed) {
        unit->owes_reload = true;
        /* Fails before anything is touched when systemd cannot be told. */
        AUTO_CLEAR(Manager) manager;
        return manager_open(call, &manager, err);
    }
    if (!look_at_systemd(call, unit, outcome, err)) {
        return false;
    }
    if (unit->owes_reload) {
        outcome->changed = true;
        outcome_change(call, outcome, "loaded", value_string(STR("an older one")),
                       value_string(STR("this one")));
        outcome->comment = STR("read again by systemd");
    }
    return true;
}

/* --- Apply ----------------------------------------------------------------------------------- */

/* The new unit under its own name, but where systemd does not look. */
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

/* The file, and the directory of drop-ins when nothing is left in it. */
static bool remove_file(Call *call, const Unit *unit, Outcome *outcome, Error *err)
{
    if (!call_keep(call, unit->path, err) || !host_remove(call->host, unit->path, err)) {
        return false;
    }
    outcome->changed = true;
    Str *names;
    uint32_t count;
    Str folder = str_slice(unit->path, 0, str_find_last(unit->path, STR("/")));
    Error empty;
    if (unit->dropin && host_list(call->host, call->arena, folder, 1, &names, &count, &empty) &&
        count == 0) {
        return host_remove(call->host, folder, err);
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

/* Systemd has read it, and says whether it can use it. */
static bool confirm(Call *call, const Unit *unit, int64_t since_us, Outcome *outcome, Error *err)
{
    AUTO_CLEAR(Manager) manager = { 0 };
    UnitStatus status;
    outcome->changed = true;
    if (unit->absent || unit_name_is_template(unit->name)) {
        return true;
    }
    return manager_open(call, &manager, err) && manager_look(&manager, unit->name, &status, err) &&
           refuse_broken(call, &status, since_us, outcome, err);
}

/* All files, and then systemd reads them at once: that takes long where there are many units. */
void unit_merge(MergedCall *calls, uint32_t count)
{
    Call *owing = NULL;
    for (uint32_t i = 0; i < count; i++) {
        MergedCall *one = &calls[i];
        Unit *unit = one->outcome->found;
        one->failed = !put_file(one->call, unit, one->outcome, one->error);
        owing = !one->failed && unit->owes_reload ? one->call : owing;
    }
    Error err;
    int64_t since_us = clock_now_ms() * 1000;
    bool loaded = owing == NULL || reload(owing, &err);
    for (uint32_t i = 0; i < count; i++) {
        MergedCall *one = &calls[i];
        const Unit *unit = one->outcome->found;
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

/* Who uses the unit comes after its files; who stops it before they go keeps the file's order. */
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
