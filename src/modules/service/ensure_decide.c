/* Compares the desired state with the current one and decides what to do. */
#include "base/buf.h"
#include "modules/service/ensure.h"
#include "modules/service/unit_name.h"

static const struct {
    const char *text;
    DesiredState state;
} states[] = {
    { "started", DESIRED_STARTED },
    { "stopped", DESIRED_STOPPED },
    { "restarted", DESIRED_RESTARTED },
    { "reloaded", DESIRED_RELOADED },
};

bool ensure_read(Call *call, ServiceRequest *out, Error *err)
{
    *out = (ServiceRequest){
        .has_enabled = call_has(call, "enabled"),
        .enabled = call_bool(call, "enabled"),
        .has_masked = call_has(call, "masked"),
        .masked = call_bool(call, "masked"),
        .reload = call_bool(call, "reload"),
        .timeouts = { .timeout_ms = call_int(call, "timeout", 0),
                      .settle_ms = call_int(call, "settle", 0) },
    };
    if (call->timeout_ms > 0 &&
        (out->timeouts.timeout_ms == 0 || call->timeout_ms < out->timeouts.timeout_ms)) {
        out->timeouts.timeout_ms = call->timeout_ms;
    }
    Str state = call_str(call, "state");
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (str_eq_c(state, states[i].text)) {
            out->state = states[i].state;
        }
    }
    if (!unit_name_complete(call->arena, call_str(call, "name"), &out->name, err)) {
        return false;
    }
    bool runs = out->state != DESIRED_ANY && out->state != DESIRED_STOPPED;
    if (out->masked && (runs || (out->has_enabled && out->enabled))) {
        return error_set(err, ERROR_INVALID, "a masked unit cannot be %s",
                         runs ? "started" : "enabled");
    }
    if (out->state != DESIRED_ANY && unit_name_is_template(out->name)) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' is a template; only its instances, such as '%" STR_FMT
                         "@1', have a state",
                         STR_ARG(out->name), STR_ARG(unit_name_base(out->name)));
    }
    return true;
}

bool file_state_is_enabled(Str state)
{
    return str_eq(state, STR("enabled")) || str_eq(state, STR("alias"));
}

bool file_state_is_masked(Str state)
{
    return str_eq(state, STR("masked")) || str_eq(state, STR("masked-runtime"));
}

static bool is_one_of(Str state, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq_c(state, list[i])) {
            return true;
        }
    }
    return false;
}

/* Some unit files cannot be enabled. */
static bool check_can_enable(const ServiceRequest *request, Str state, Error *err)
{
    static const char *const fixed[] = { "static", "generated", "transient" };
    if (is_one_of(state, fixed, COUNT_OF(fixed)) ||
        (str_eq(state, STR("indirect")) && !unit_name_is_template(request->name))) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT " cannot be enabled: it is '%" STR_FMT
                         "', which means that %s; do not set 'enabled'",
                         STR_ARG(request->name), STR_ARG(state),
                         str_eq(state, STR("static"))
                             ? "it has no [Install] section and is started by other units"
                         : str_eq(state, STR("indirect")) ? "another unit must be enabled instead"
                                                          : "it is generated at each boot");
    }
    return true;
}

static bool decide_files(const ServiceRequest *request, const ServiceState *found, ServicePlan *out,
                         Error *err)
{
    Str state = found->file_state;
    if (request->has_masked) {
        out->changes_file[UNIT_MASK] = request->masked && !str_eq(state, STR("masked"));
        out->changes_file[UNIT_UNMASK] = !request->masked && str_eq(state, STR("masked"));
        out->changes_file[UNIT_UNMASK_RUNTIME] =
            !request->masked && str_eq(state, STR("masked-runtime"));
    }
    bool unmasked = out->changes_file[UNIT_UNMASK] || out->changes_file[UNIT_UNMASK_RUNTIME];
    out->reloads = request->has_masked && !out->changes_file[UNIT_MASK] && !unmasked &&
                   found->unit.load.len > 0 &&
                   request->masked != str_eq(found->unit.load, STR("masked"));
    if (!request->has_enabled) {
        return true;
    }
    if (!request->enabled) {
        static const char *const on[] = { "enabled", "alias", "linked", "indirect" };
        static const char *const on_now[] = { "enabled-runtime", "linked-runtime" };
        /* 'indirect' means that other units are enabled instead. */
        out->changes_file[UNIT_DISABLE] = is_one_of(state, on, COUNT_OF(on) - 1);
        out->changes_file[UNIT_DISABLE_RUNTIME] = is_one_of(state, on_now, COUNT_OF(on_now));
        return true;
    }
    if (file_state_is_masked(state) && !unmasked) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT
                         " is masked and cannot be enabled; set 'masked: false' to unmask it",
                         STR_ARG(request->name));
    }
    if (!file_state_is_enabled(state)) {
        out->changes_file[UNIT_ENABLE] = true;
        return check_can_enable(request, state, err);
    }
    return true;
}

static bool decide_state(const ServiceRequest *request, const UnitStatus *unit, ServicePlan *out,
                         Error *err)
{
    bool unmasks =
        out->changes_file[UNIT_UNMASK] || out->changes_file[UNIT_UNMASK_RUNTIME] || out->reloads;
    switch (request->state) {
    case DESIRED_ANY: return true;
    case DESIRED_STOPPED:
        out->has_job = !unit_is_stopped(unit);
        out->job = UNIT_STOP;
        return true;
    case DESIRED_STARTED:
        out->has_job = !unit_is_running(unit);
        out->job = UNIT_START;
        break;
    case DESIRED_RESTARTED:
        out->has_job = true;
        out->job = UNIT_RESTART;
        break;
    case DESIRED_RELOADED:
        out->has_job = true;
        out->job = UNIT_RELOAD;
        break;
    }
    if (str_eq(unit->load, STR("masked")) && !unmasks && out->has_job) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT
                         " is masked and cannot be started; set 'masked: false' to unmask it",
                         STR_ARG(unit->name));
    }
    return !out->has_job || !unit_is_broken(unit) ||
           error_set(err, ERROR_INVALID, "%" STR_FMT " cannot be used: %" STR_FMT,
                     STR_ARG(unit->name), STR_ARG(unit->load_error));
}

/* A missing unit is neither running nor enabled, and can be masked. */
static bool decide_missing(const ServiceRequest *request, bool planning, ServicePlan *out,
                           Error *err)
{
    bool wants = (request->state != DESIRED_ANY && request->state != DESIRED_STOPPED) ||
                 (request->has_enabled && request->enabled);
    if (wants && !planning) {
        return error_set(err, ERROR_NOT_FOUND, "unit '%" STR_FMT "' not found",
                         STR_ARG(request->name));
    }
    out->changes_file[UNIT_MASK] = request->has_masked && request->masked;
    out->changes_file[UNIT_ENABLE] = request->has_enabled && request->enabled;
    out->has_job = request->state != DESIRED_ANY && request->state != DESIRED_STOPPED;
    out->job = request->state == DESIRED_RESTARTED  ? UNIT_RESTART
               : request->state == DESIRED_RELOADED ? UNIT_RELOAD
                                                    : UNIT_START;
    return true;
}

bool ensure_decide(const ServiceRequest *request, const ServiceState *found, bool planning,
                   ServicePlan *out, Error *err)
{
    *out = (ServicePlan){ 0 };
    const UnitStatus *unit = &found->unit;
    bool was_queried = unit->load.len > 0;
    bool absent = was_queried ? str_eq(unit->load, STR("not-found")) && unit_is_stopped(unit)
                              : found->file_state.len == 0;
    if (absent && !file_state_is_masked(found->file_state)) {
        return decide_missing(request, planning, out, err);
    }
    return decide_files(request, found, out, err) &&
           (!was_queried || decide_state(request, unit, out, err));
}

bool service_plan_is_empty(const ServicePlan *plan)
{
    bool empty = !plan->has_job && !plan->reloads;
    for (size_t i = 0; i < COUNT_OF(plan->changes_file); i++) {
        empty = empty && !plan->changes_file[i];
    }
    return empty;
}

/* --- Description ----------------------------------------------------------------------------- */

static void put_word(Buf *out, const char *word)
{
    buf_put_format(out, "%s%s", out->len > 0 ? ", " : "", word);
}

static void describe_files(Call *call, const ServiceState *found, const ServicePlan *plan,
                           Outcome *outcome, Buf *comment)
{
    const bool *changes = plan->changes_file;
    if (changes[UNIT_UNMASK] || changes[UNIT_UNMASK_RUNTIME] || changes[UNIT_MASK]) {
        bool masked = changes[UNIT_MASK];
        outcome_change(call, outcome, "masked", value_bool(!masked), value_bool(masked));
        put_word(comment, masked ? "masked" : "unmasked");
    }
    if (plan->reloads) {
        outcome_change(call, outcome, "loaded", value_string(STR("older version")),
                       value_string(STR("current version")));
        put_word(comment, "reloaded by systemd");
    }
    if (changes[UNIT_ENABLE] || changes[UNIT_DISABLE] || changes[UNIT_DISABLE_RUNTIME]) {
        Value old = found->file_state.len > 0 ? value_string(found->file_state) : value_missing();
        outcome_change(call, outcome, "enabled", old,
                       value_string(changes[UNIT_ENABLE] ? STR("enabled") : STR("disabled")));
        put_word(comment, changes[UNIT_ENABLE] ? "enabled" : "disabled");
    }
}

void ensure_describe(Call *call, const ServiceRequest *request, const ServiceState *found,
                     const ServicePlan *plan, Outcome *outcome)
{
    static const char *const done[] = { [UNIT_START] = "started",
                                        [UNIT_STOP] = "stopped",
                                        [UNIT_RESTART] = "restarted",
                                        [UNIT_RELOAD] = "reloaded" };
    Buf comment = buf_make_in(call->arena, BUF_UNLIMITED);
    bool was_queried = found->unit.load.len > 0;
    bool is_missing = was_queried && str_eq(found->unit.load, STR("not-found"));
    outcome->changed = !service_plan_is_empty(plan);
    describe_files(call, found, plan, outcome, &comment);
    outcome->state = was_queried ? unit_state(&found->unit) : STR_EMPTY;
    if (plan->has_job) {
        outcome_change(
            call, outcome, "state",
            is_missing ? value_string(STR("absent")) : value_string(outcome->state),
            value_string(str_from_c(plan->job == UNIT_START ? "running" : done[plan->job])));
        put_word(&comment, done[plan->job]);
        outcome->state = plan->job == UNIT_STOP ? STR("stopped") : STR("running");
    }
    if (comment.len == 0 && is_missing) {
        buf_put_c(&comment, "no such unit");
    } else if (comment.len == 0 && was_queried) {
        buf_put_format(&comment, "%" STR_FMT "%s%" STR_FMT, STR_ARG(outcome->state),
                       found->file_state.len > 0 ? ", " : "", STR_ARG(found->file_state));
    } else if (comment.len == 0) {
        buf_put(&comment, found->file_state);
    }
    outcome->comment = buf_str(&comment);
}
