/* service.ensure: starts, stops, enables, disables and masks units. */
#include "modules/service/ensure.h"

#include "modules/service/actions.h"
#include "modules/service/journal.h"
#include "modules/service/unit_name.h"
#include "modules/tool.h"

const ParamSpec ensure_params[] = {
    { "name", PARAM_STRING, .required = true,
      .help = "name of the unit; without a suffix such as .timer it is a service" },
    { "state", PARAM_STRING, .aspect = "state!restarted|reloaded^mask state",
      .choices = "started|stopped|restarted|reloaded",
      .help = "desired state, or action to perform in every run" },
    { "enabled", PARAM_BOOL, .aspect = "enabled^mask state", .help = "whether it starts at boot" },
    { "masked", PARAM_BOOL, .aspect = "mask state", .help = "whether it cannot be started at all" },
    { "reload", PARAM_BOOL, .fallback = "false",
      .help = "reload instead of restarting in reaction to a change" },
    { "timeout", PARAM_DURATION, .fallback = "5m",
      .help = "time limit for starting or stopping; 0: systemd's own limit" },
    { "settle", PARAM_DURATION, .fallback = "500ms",
      .help = "how long to watch a service after its start if it does not notify systemd when it "
              "is ready" },
    { 0 },
};

typedef struct Ensure {
    ServiceRequest request;
    ServiceState state;
    ServicePlan plan;
    bool started; /* by apply, in this run */
} Ensure;

/* --- In another root ---------------------------------------------------------------------- */

/* In another root nothing runs, but units can be enabled. That root's own systemctl does that,
 * chrooted, so that no path leads out of the root. */

static const char *const offline[] = { "SYSTEMD_OFFLINE=1", NULL };

static bool run_offline(Call *call, const char *const *argv, ProcessResult *out, Error *err)
{
    Tool tool = { .argv = argv, .env = offline };
    if (!tool_run(call, &tool, out, err)) {
        return false;
    }
    return out->ending == PROCESS_EXITED || tool_failure(call, &tool, out, err);
}

static bool systemctl(Call *call, const char *verb, Str name, ProcessResult *out, Error *err)
{
    const char *unit = arena_copy_c(call->arena, name);
    return run_offline(call,
                       (const char *const[]){ "systemctl", "--root=/", "--no-ask-password",
                                              "--quiet", verb, "--", unit, NULL },
                       out, err);
}

/* is-enabled prints the state as a word and also reports it through its exit code. */
static bool query_state(Call *call, Str name, ProcessResult *out, Error *err)
{
    const char *unit = arena_copy_c(call->arena, name);
    return run_offline(
        call, (const char *const[]){ "systemctl", "--root=/", "is-enabled", "--", unit, NULL }, out,
        err);
}

static bool root_read_state(Call *call, const ServiceRequest *request, ServiceState *out,
                            Error *err)
{
    ProcessResult result;
    *out = (ServiceState){ .unit.name = request->name };
    if (!tool_exists(call, "systemctl")) {
        return call_report_missing_program(call, "systemctl") ||
               error_set(err, ERROR_UNAVAILABLE, "no systemctl found in the root '%s'",
                         host_root(call->host));
    }
    if (!query_state(call, request->name, &result, err)) {
        return false;
    }
    Str state = str_trim(result.out);
    out->file_state = str_eq(state, STR("not-found")) ? STR_EMPTY : state;
    return true;
}

static bool root_apply(Call *call, const ServiceRequest *request, const ServicePlan *plan,
                       Outcome *outcome, Error *err)
{
    static const struct {
        UnitFileChange change;
        const char *verb;
    } order[] = {
        { UNIT_UNMASK, "unmask" },
        { UNIT_DISABLE, "disable" },
        { UNIT_ENABLE, "enable" },
        { UNIT_MASK, "mask" },
    };
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        ProcessResult result;
        if (!plan->changes_file[order[i].change]) {
            continue;
        }
        if (!systemctl(call, order[i].verb, request->name, &result, err)) {
            return false;
        }
        outcome->changed = true;
        if (result.exit_code != 0) {
            Str said = str_trim(result.error_out);
            return error_set(err, ERROR_OS, "systemctl %s: %" STR_FMT, order[i].verb,
                             STR_ARG(said));
        }
    }
    return true;
}

/* --- Current state --------------------------------------------------------------------------- */

static bool read_state(Manager *manager, const ServiceRequest *request, ServiceState *out,
                       Error *err)
{
    *out = (ServiceState){ .unit.name = request->name };
    bool has_state = !unit_name_is_template(request->name);
    if (has_state && !manager_get_unit(manager, request->name, &out->unit, err)) {
        return false;
    }
    /* Determining this reads directories, so it is done only if needed. */
    bool counts = request->has_enabled || request->has_masked || !has_state;
    return !counts || manager_file_state(manager, out->unit.name, &out->file_state, err);
}

/* "; did you mean 'ssh.service'?" */
static bool suggest(Manager *manager, Str name, Error *err)
{
    Str close = manager_suggest(manager, name);
    if (close.len > 0) {
        error_set(err, err->kind, "%s; did you mean '%" STR_FMT "'?", err->text, STR_ARG(close));
    }
    return false;
}

/* Adds information to the error that may help to fix it. Always returns false. */
static bool add_hints(Manager *manager, const Ensure *ensure, Outcome *outcome, Error *err)
{
    const UnitStatus *unit = &ensure->state.unit;
    if (err->kind == ERROR_NOT_FOUND) {
        return suggest(manager, ensure->request.name, err);
    }
    if (unit_is_broken(unit)) {
        Str tail = journal_tail(manager->call, &unit->name, 1, 0);
        journal_add_to_error(manager->call, tail, &unit->name, 1, outcome, err);
    }
    return false;
}

/* An earlier step may create a missing unit, through its own file or that of its template. */
static bool decide(Call *call, Ensure *ensure, Error *err)
{
    const ServiceRequest *request = &ensure->request;
    if (ensure_decide(request, &ensure->state, false, &ensure->plan, err)) {
        return true;
    }
    if (err->kind != ERROR_NOT_FOUND) {
        return call_blame(call, "name");
    }
    Str template = unit_name_template(call->arena, request->name);
    return (call_report_missing(call, "name", "unit", request->name) ||
            (template.len > 0 && call_report_missing(call, "name", "unit", template))) &&
           ensure_decide(request, &ensure->state, true, &ensure->plan, err);
}

static bool check_live(Call *call, Ensure *ensure, Outcome *outcome, Error *err)
{
    AUTO_CLEAR(Manager) manager;
    if (!manager_open(call, &manager, err) ||
        !read_state(&manager, &ensure->request, &ensure->state, err)) {
        return false;
    }
    if (!call->planning && ensure->request.state == DESIRED_STARTED &&
        !unit_watch_recent(&manager, &ensure->state.unit, ensure->request.timeouts.settle_ms,
                           err)) {
        return false;
    }
    return decide(call, ensure, err) || add_hints(&manager, ensure, outcome, err);
}

static bool check_root(Call *call, Ensure *ensure, Error *err)
{
    if (ensure->request.state != DESIRED_ANY) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "'state' requires the running system and cannot be used in another "
                         "root (--root %s); 'enabled' and 'masked' can",
                         host_root(call->host));
    }
    return root_read_state(call, &ensure->request, &ensure->state, err) &&
           decide(call, ensure, err);
}

static bool verify_params(Call *call, Error *err)
{
    ServiceRequest ignored;
    return ensure_read(call, &ignored, err);
}

bool ensure_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                   Error *err)
{
    return call_verify(arena, action, params, verify_params, at, err);
}

bool ensure_check(Call *call, Outcome *outcome, Error *err)
{
    Ensure *ensure = ARENA_NEW(call->arena, Ensure);
    if (!ensure_read(call, &ensure->request, err)) {
        return false;
    }
    if (!(host_is_live(call->host) ? check_live(call, ensure, outcome, err)
                                   : check_root(call, ensure, err))) {
        return false;
    }
    ensure_describe(call, &ensure->request, &ensure->state, &ensure->plan, outcome);
    outcome->check_data = ensure;
    return true;
}

/* --- Applying -------------------------------------------------------------------------------- */

/* Unit files first, because a unit must be unmasked before it can start. */
static bool change_files(Manager *manager, Ensure *ensure, Outcome *outcome, Error *err)
{
    static const UnitFileChange order[] = { UNIT_UNMASK,          UNIT_UNMASK_RUNTIME, UNIT_DISABLE,
                                            UNIT_DISABLE_RUNTIME, UNIT_ENABLE,         UNIT_MASK };
    bool changed = false;
    Str name = ensure->state.unit.name;
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        if (ensure->plan.changes_file[order[i]]) {
            if (!manager_change_file(manager, name, order[i], err)) {
                return error_wrap(err, "%" STR_FMT, STR_ARG(name));
            }
            outcome->changed = changed = true;
        }
    }
    if (!changed && !ensure->plan.reloads && !ensure->state.unit.needs_reload) {
        return true;
    }
    outcome->changed = outcome->changed || ensure->plan.reloads;
    return manager_reload(manager, err);
}

/* The effect of enabling depends on the unit file, so verify the result with systemd. */
static bool confirm_files(Manager *manager, Ensure *ensure, Error *err)
{
    Str state;
    Str name = ensure->state.unit.name;
    if (!ensure->plan.changes_file[UNIT_ENABLE]) {
        return true;
    }
    return manager_file_state(manager, name, &state, err) &&
           (file_state_is_enabled(state) ||
            error_set(err, ERROR_OS, "%" STR_FMT " was enabled, but is '%" STR_FMT "'",
                      STR_ARG(name), STR_ARG(state)));
}

/* "stopped; app.socket can start it again" */
static void report_triggers(Manager *manager, const UnitStatus *unit, Outcome *outcome)
{
    Arena *arena = manager->call->arena;
    for (uint32_t i = 0; i < unit->triggers.count; i++) {
        UnitStatus trigger;
        Error err;
        Str name = bus_text(bus_item(&unit->triggers, i));
        if (manager_get_unit(manager, name, &trigger, &err) && unit_is_running(&trigger)) {
            outcome->comment = arena_format(arena, "stopped; %" STR_FMT " can start it again",
                                            STR_ARG(trigger.name));
            return;
        }
    }
}

static bool run_job(Manager *manager, Ensure *ensure, Outcome *outcome, Error *err)
{
    UnitStatus *unit = &ensure->state.unit;
    if (!unit_job_run(manager, unit, ensure->plan.job, ensure->request.timeouts, outcome, err)) {
        return false;
    }
    ensure->started = ensure->plan.job == UNIT_START || ensure->plan.job == UNIT_RESTART;
    outcome->state = unit_state(unit);
    if (ensure->plan.job == UNIT_STOP) {
        report_triggers(manager, unit, outcome);
    } else if (!unit_is_running(unit)) {
        outcome_change(manager->call, outcome, "state", value_string(outcome->state),
                       value_string(STR("finished")));
        outcome->comment = STR("finished");
    }
    return true;
}

bool ensure_apply(Call *call, Outcome *outcome, Error *err)
{
    Ensure *ensure = outcome->check_data;
    if (!host_is_live(call->host)) {
        return root_apply(call, &ensure->request, &ensure->plan, outcome, err);
    }
    AUTO_CLEAR(Manager) manager;
    return manager_open(call, &manager, err) && change_files(&manager, ensure, outcome, err) &&
           confirm_files(&manager, ensure, err) &&
           (!ensure->plan.has_job || run_job(&manager, ensure, outcome, err));
}

/* --- Reactions ------------------------------------------------------------------------------- */

/* Returns true if the unit has to react to the change, considering its state. */
static bool must_react(const Call *call, const ServiceRequest *request, const Ensure *ensure,
                       const UnitStatus *unit, Str *why_not)
{
    bool should_run = request->state != DESIRED_ANY && request->state != DESIRED_STOPPED;
    if (request->state == DESIRED_STOPPED || request->masked ||
        (!should_run && unit_is_stopped(unit))) {
        *why_not = STR("not running, so there is nothing to restart");
        return false;
    }
    /* systemd records when the unit left the inactive state; a restart counts too. */
    if ((ensure != NULL && ensure->started) ||
        (call->change_ms > 0 && unit->started_ms > call->change_ms)) {
        *why_not = STR("started after the change");
        return false;
    }
    return true;
}

static void add_comment(Call *call, Outcome *outcome, Str words)
{
    outcome->comment = outcome->comment.len == 0
                           ? words
                           : arena_format(call->arena, "%" STR_FMT ", %" STR_FMT,
                                          STR_ARG(outcome->comment), STR_ARG(words));
}

bool ensure_react(Call *call, Outcome *outcome, Error *err)
{
    const Ensure *ensure = outcome->check_data; /* NULL at the end of the run */
    ServiceRequest request;
    UnitStatus unit;
    Str why_not = STR_EMPTY;
    if (!ensure_read(call, &request, err)) {
        return false;
    }
    if (!host_is_live(call->host) || unit_name_is_template(request.name)) {
        return true; /* there is nothing to restart */
    }
    AUTO_CLEAR(Manager) manager;
    if (!manager_open(call, &manager, err) ||
        !manager_get_unit(&manager, request.name, &unit, err)) {
        return false;
    }
    outcome->state = unit_state(&unit);
    if (!must_react(call, &request, ensure, &unit, &why_not)) {
        if (ensure == NULL || !ensure->started) {
            add_comment(call, outcome, why_not);
        }
        return true;
    }
    if (unit.needs_reload && !manager_reload(&manager, err)) {
        return false;
    }
    UnitJob job = request.reload ? UNIT_RELOAD : UNIT_RESTART;
    if (!unit_job_run(&manager, &unit, job, request.timeouts, outcome, err)) {
        return false;
    }
    Str words = request.reload ? STR("reloaded") : STR("restarted");
    add_comment(call, outcome, words);
    outcome_change(call, outcome, "reaction", value_missing(), value_string(words));
    outcome->state = unit_state(&unit);
    return true;
}

const char *ensure_reaction(const Action *action, const Value *params)
{
    Value state = params_get(action->params, params, "state");
    Value masked = params_get(action->params, params, "masked");
    Value reload = params_get(action->params, params, "reload");
    if ((value_is_string(state) && str_eq_c(value_str(state), "stopped")) ||
        value_is_true(masked)) {
        return NULL;
    }
    return value_is_true(reload) ? "reload" : "restart";
}

bool ensure_since(Call *call, int64_t *out_ms, Error *err)
{
    ServiceRequest request;
    UnitStatus unit;
    if (!ensure_read(call, &request, err)) {
        return false;
    }
    AUTO_CLEAR(Manager) manager;
    if (!manager_open(call, &manager, err) ||
        !manager_get_unit(&manager, request.name, &unit, err)) {
        return false;
    }
    *out_ms = unit_is_running(&unit) ? unit.started_ms : 0;
    return true;
}

/* --- Claims ---------------------------------------------------------------------------------- */

/* Claims the unit, and what must exist before it: its file, and the package of the same name. */
void ensure_claims(Arena *arena, const Value *params, List *claims)
{
    Str name;
    Error err;
    if (!value_is_string(params[0]) ||
        !unit_name_complete(arena, value_str(params[0]), &name, &err)) {
        return;
    }
    Str template = unit_name_template(arena, name);
    claims_add(arena, claims, "unit:", name);
    claims_add(arena, claims, "needs:path:" UNIT_DIRECTORY "/", name);
    claims_add(arena, claims, "needs:unit-dropin:", name);
    if (template.len > 0) {
        claims_add(arena, claims, "needs:path:" UNIT_DIRECTORY "/", template);
        claims_add(arena, claims, "needs:unit-dropin:", template);
    }
    claims_add(arena, claims, "needs:pkg:", unit_name_base(name));
    /* Starting a service may create these: */
    claims_add(arena, claims, "provides:remote", STR_EMPTY);
    claims_add(arena, claims, "provides:path:/run/", STR_EMPTY);
    claims_add(arena, claims, "provides:path:/var/", STR_EMPTY);
}
