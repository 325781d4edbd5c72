/* Compares the desired state with the current one and decides what to do. */
#include "base/buf.h"
#include "modules/service/ensure.h"
#include "modules/service/unit_name.h"

static const struct {
    const char *text;
    WantedState state;
} states[] = {
    { "started", WANT_STARTED },
    { "stopped", WANT_STOPPED },
    { "restarted", WANT_RESTARTED },
    { "reloaded", WANT_RELOADED },
};

bool ensure_read(Call *call, Wanted *out, Error *err)
{
    *out = (Wanted){
        .has_enabled = call_has(call, "enabled"),
        .enabled = call_bool(call, "enabled"),
        .has_masked = call_has(call, "masked"),
        .masked = call_bool(call, "masked"),
        .reload = call_bool(call, "reload"),
        .patience = { .timeout_ms = call_int(call, "timeout", 0),
                      .settle_ms = call_int(call, "settle", 0) },
    };
    if (call->timeout_ms > 0 &&
        (out->patience.timeout_ms == 0 || call->timeout_ms < out->patience.timeout_ms)) {
        out->patience.timeout_ms = call->timeout_ms;
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
    bool runs = out->state != WANT_ANY && out->state != WANT_STOPPED;
    if (out->masked && (runs || (out->has_enabled && out->enabled))) {
        return error_set(err, ERROR_INVALID, "a masked unit cannot be %s",
                         runs ? "started" : "enabled");
    }
    if (out->state != WANT_ANY && unit_name_is_template(out->name)) {
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
static bool refuse_enabling(const Wanted *wanted, Str state, Error *err)
{
    static const char *const fixed[] = { "static", "generated", "transient" };
    if (is_one_of(state, fixed, COUNT_OF(fixed)) ||
        (str_eq(state, STR("indirect")) && !unit_name_is_template(wanted->name))) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT " cannot be enabled: it is '%" STR_FMT
                         "', which means that %s; do not set 'enabled'",
                         STR_ARG(wanted->name), STR_ARG(state),
                         str_eq(state, STR("static"))
                             ? "it has no [Install] section and is started by other units"
                         : str_eq(state, STR("indirect")) ? "another unit must be enabled instead"
                                                          : "it is generated at each boot");
    }
    return true;
}

static bool decide_files(const Wanted *wanted, const Found *found, Todo *out, Error *err)
{
    Str state = found->file_state;
    if (wanted->has_masked) {
        out->changes_file[UNIT_MASK] = wanted->masked && !str_eq(state, STR("masked"));
        out->changes_file[UNIT_UNMASK] = !wanted->masked && str_eq(state, STR("masked"));
        out->changes_file[UNIT_UNMASK_RUNTIME] =
            !wanted->masked && str_eq(state, STR("masked-runtime"));
    }
    bool unmasked = out->changes_file[UNIT_UNMASK] || out->changes_file[UNIT_UNMASK_RUNTIME];
    out->reloads = wanted->has_masked && !out->changes_file[UNIT_MASK] && !unmasked &&
                   found->unit.load.len > 0 &&
                   wanted->masked != str_eq(found->unit.load, STR("masked"));
    if (!wanted->has_enabled) {
        return true;
    }
    if (!wanted->enabled) {
        static const char *const on[] = { "enabled", "alias", "linked", "indirect" };
        static const char *const on_now[] = { "enabled-runtime", "linked-runtime" };
        /* 'indirect': enablement is delegated to other units. */
        out->changes_file[UNIT_DISABLE] = is_one_of(state, on, COUNT_OF(on) - 1);
        out->changes_file[UNIT_DISABLE_RUNTIME] = is_one_of(state, on_now, COUNT_OF(on_now));
        return true;
    }
    if (file_state_is_masked(state) && !unmasked) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT
                         " is masked and cannot be enabled; set 'masked: false' to unmask it",
                         STR_ARG(wanted->name));
    }
    if (!file_state_is_enabled(state)) {
        out->changes_file[UNIT_ENABLE] = true;
        return refuse_enabling(wanted, state, err);
    }
    return true;
}

static bool decide_state(const Wanted *wanted, const UnitStatus *unit, Todo *out, Error *err)
{
    bool unmasks =
        out->changes_file[UNIT_UNMASK] || out->changes_file[UNIT_UNMASK_RUNTIME] || out->reloads;
    switch (wanted->state) {
    case WANT_ANY: return true;
    case WANT_STOPPED:
        out->acts = !unit_is_stopped(unit);
        out->job = UNIT_STOP;
        return true;
    case WANT_STARTED:
        out->acts = !unit_is_running(unit);
        out->job = UNIT_START;
        break;
    case WANT_RESTARTED:
        out->acts = true;
        out->job = UNIT_RESTART;
        break;
    case WANT_RELOADED:
        out->acts = true;
        out->job = UNIT_RELOAD;
        break;
    }
    if (str_eq(unit->load, STR("masked")) && !unmasks && out->acts) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT
                         " is masked and cannot be started; set 'masked: false' to unmask it",
                         STR_ARG(unit->name));
    }
    return !out->acts || !unit_is_broken(unit) ||
           error_set(err, ERROR_INVALID, "%" STR_FMT " cannot be used: %" STR_FMT,
                     STR_ARG(unit->name), STR_ARG(unit->load_error));
}

/* A missing unit is neither running nor enabled, and can be masked. */
static bool decide_missing(const Wanted *wanted, bool planning, Todo *out, Error *err)
{
    bool wants = (wanted->state != WANT_ANY && wanted->state != WANT_STOPPED) ||
                 (wanted->has_enabled && wanted->enabled);
    if (wants && !planning) {
        return error_set(err, ERROR_NOT_FOUND, "unit '%" STR_FMT "' not found",
                         STR_ARG(wanted->name));
    }
    out->changes_file[UNIT_MASK] = wanted->has_masked && wanted->masked;
    out->changes_file[UNIT_ENABLE] = wanted->has_enabled && wanted->enabled;
    out->acts = wanted->state != WANT_ANY && wanted->state != WANT_STOPPED;
    out->job = wanted->state == WANT_RESTARTED  ? UNIT_RESTART
               : wanted->state == WANT_RELOADED ? UNIT_RELOAD
                                                : UNIT_START;
    return true;
}

bool ensure_decide(const Wanted *wanted, const Found *found, bool planning, Todo *out, Error *err)
{
    *out = (Todo){ 0 };
    const UnitStatus *unit = &found->unit;
    bool looked = unit->load.len > 0;
    bool absent = looked ? str_eq(unit->load, STR("not-found")) && unit_is_stopped(unit)
                         : found->file_state.len == 0;
    if (absent && !file_state_is_masked(found->file_state)) {
        return decide_missing(wanted, planning, out, err);
    }
    return decide_files(wanted, found, out, err) &&
           (!looked || decide_state(wanted, unit, out, err));
}

bool todo_is_empty(const Todo *todo)
{
    bool empty = !todo->acts && !todo->reloads;
    for (size_t i = 0; i < COUNT_OF(todo->changes_file); i++) {
        empty = empty && !todo->changes_file[i];
    }
    return empty;
}

/* --- Description ----------------------------------------------------------------------------- */

static void put_word(Buf *out, const char *word)
{
    buf_put_format(out, "%s%s", out->len > 0 ? ", " : "", word);
}

static void describe_files(Call *call, const Found *found, const Todo *todo, Outcome *outcome,
                           Buf *comment)
{
    const bool *changes = todo->changes_file;
    if (changes[UNIT_UNMASK] || changes[UNIT_UNMASK_RUNTIME] || changes[UNIT_MASK]) {
        bool masked = changes[UNIT_MASK];
        outcome_change(call, outcome, "masked", value_bool(!masked), value_bool(masked));
        put_word(comment, masked ? "masked" : "unmasked");
    }
    if (todo->reloads) {
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

void ensure_describe(Call *call, const Wanted *wanted, const Found *found, const Todo *todo,
                     Outcome *outcome)
{
    static const char *const done[] = { [UNIT_START] = "started",
                                        [UNIT_STOP] = "stopped",
                                        [UNIT_RESTART] = "restarted",
                                        [UNIT_RELOAD] = "reloaded" };
    Buf comment = buf_make_in(call->arena, BUF_UNLIMITED);
    bool looked = found->unit.load.len > 0;
    bool gone = looked && str_eq(found->unit.load, STR("not-found"));
    outcome->changed = !todo_is_empty(todo);
    describe_files(call, found, todo, outcome, &comment);
    outcome->state = looked ? unit_state(&found->unit) : STR_EMPTY;
    if (todo->acts) {
        outcome_change(
            call, outcome, "state",
            gone ? value_string(STR("absent")) : value_string(outcome->state),
            value_string(str_from_c(todo->job == UNIT_START ? "running" : done[todo->job])));
        put_word(&comment, done[todo->job]);
        outcome->state = todo->job == UNIT_STOP ? STR("stopped") : STR("running");
    }
    if (comment.len == 0 && gone) {
        buf_put_c(&comment, "no such unit");
    } else if (comment.len == 0 && looked) {
        buf_put_format(&comment, "%" STR_FMT "%s%" STR_FMT, STR_ARG(outcome->state),
                       found->file_state.len > 0 ? ", " : "", STR_ARG(found->file_state));
    } else if (comment.len == 0) {
        buf_put(&comment, found->file_state);
    }
    outcome->comment = buf_str(&comment);
}
