/* test.*: steps with a given result, to test requisites and conditions. */
#include "modules/call.h"

static bool ok_check(Call *call, Outcome *outcome, Error *err)
{
    outcome->comment = STR("nothing to do");
    return true;
}

static bool changed_check(Call *call, Outcome *outcome, Error *err)
{
    outcome->changed = true;
    outcome_change(call, outcome, "test", value_string(STR("unchanged")),
                   value_string(STR("changed")));
    outcome->comment = STR("pretends to change something");
    return true;
}

static bool changed_apply(Call *call, Outcome *outcome, Error *err)
{
    outcome->changed = true;
    return true;
}

static bool failed_check(Call *call, Outcome *outcome, Error *err)
{
    Str message = call_str(call, "message");
    return error_set(err, ERROR_OS, "%" STR_FMT, STR_ARG(message));
}

static bool step_fails(const Call *call)
{
    Str result = call_str(call, "result");
    return str_eq(result, STR("failed")) || str_eq(result, STR("false")) ||
           str_eq(result, STR("no"));
}

static bool step_changes(const Call *call)
{
    return call_bool(call, "changed") || str_eq(call_str(call, "result"), STR("changed"));
}

static bool step_end(Call *call, Outcome *outcome, Error *err)
{
    if (!call_sleep(call, call_int(call, "sleep", 0), err)) {
        return false;
    }
    outcome->out = call_str(call, "stdout");
    outcome->has_exit_code = true;
    outcome->exit_code = step_fails(call) ? 1 : 0;
    return !step_fails(call) || error_set(err, ERROR_OS, "fails as requested");
}

/* If a step is to change something and then fail, check must report a change. */
static bool step_check(Call *call, Outcome *outcome, Error *err)
{
    if (step_changes(call)) {
        return changed_check(call, outcome, err);
    }
    if (call->planning) {
        outcome->out = call_str(call, "stdout");
        return !step_fails(call) || error_set(err, ERROR_OS, "fails as requested");
    }
    return step_end(call, outcome, err);
}

static bool step_apply(Call *call, Outcome *outcome, Error *err)
{
    outcome->changed = true;
    return step_end(call, outcome, err);
}

static bool test_react(Call *call, Outcome *outcome, Error *err)
{
    outcome->changed = true;
    outcome->comment = STR_EMPTY;
    return true;
}

static const ParamSpec ok_params[] = {
    { "name", PARAM_STRING, .help = "identifier for requisites; has no other effect" },
    { 0 },
};

static const ParamSpec failed_params[] = {
    { "name", PARAM_STRING, .help = "identifier for requisites; has no other effect" },
    { "message", PARAM_STRING, .fallback = "fails as requested", .help = "error message" },
    { 0 },
};

static const ParamSpec step_params[] = {
    { "name", PARAM_STRING, .help = "identifier for requisites; has no other effect" },
    { "result", PARAM_STRING, .fallback = "ok", .choices = "ok|changed|failed|true|false|yes|no",
      .help = "result of the step" },
    { "changed", PARAM_BOOL, .fallback = "false", .help = "whether it reports a change" },
    { "sleep", PARAM_DURATION, .fallback = "0s", .help = "how long it takes" },
    { "stdout", PARAM_STRING, .help = "output of the step" },
    { 0 },
};

static const Action actions[] = {
    { "ok", "Succeed without changing anything.", ok_params, ok_check, .react = test_react,
      .example = "- name: nothing to do\n"
                 "  test.ok:\n" },
    { "changed", "Succeed and report a change.", ok_params, changed_check, changed_apply,
      .react = test_react, .always_changes = true,
      .example = "- name: something new\n"
                 "  test.changed:\n" },
    { "failed", "Fail, even in a plan.", failed_params, failed_check, failed_check,
      .example = "- name: always fails\n"
                 "  test.failed:\n"
                 "    - message: the disk is full\n" },
    { "step", "Finish with the given result.", step_params, step_check, step_apply,
      .react = test_react, .always_changes = true, .may_sleep = true,
      .text =
          "With 'changed: true' and 'result: failed' the step changes something and then fails,\n"
          "which a plan cannot predict.\n",
      .example = "- name: takes a moment\n"
                 "  test.step:\n"
                 "    - changed: true\n"
                 "    - sleep: 20ms\n"
                 "    - stdout: done\n" },
    { 0 },
};

const Module modules_test = {
    .name = "test",
    .help = "Steps with a given result, to test requisites and conditions.",
    .id_param = "name",
    .actions = actions,
};
