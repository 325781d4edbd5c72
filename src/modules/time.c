/* time.*: waiting. A sleep changes nothing, so check does it; a plan does not wait. */
#include "modules/call.h"
#include "sys/clock.h"

static bool sleep_check(Call *call, Outcome *outcome, Error *err)
{
    return call->planning || call_sleep(call, call_int(call, "time", 0), err);
}

static bool sleep_rand_check(Call *call, Outcome *outcome, Error *err)
{
    int64_t most = call_int(call, "time", 0);
    if (call->planning || most <= 0) {
        return true;
    }
    int64_t duration_ms = (int64_t)(random_seed() % ((uint64_t)most + 1));
    outcome->comment = arena_format(call->arena, "slept %g s", (double)duration_ms / 1000);
    return call_sleep(call, duration_ms, err);
}

static const ParamSpec sleep_params[] = {
    { "time", PARAM_DURATION, .required = true, .help = "how long to wait" },
    { 0 },
};

static const ParamSpec sleep_rand_params[] = {
    { "time", PARAM_DURATION, .required = true, .help = "maximum time to wait" },
    { 0 },
};

static const Action actions[] = {
    { "sleep", "Wait for the given time.", sleep_params, sleep_check, .may_sleep = true,
      .example = "- name: wait a moment\n"
                 "  time.sleep:\n"
                 "    - time: 10ms\n" },
    { "sleep_rand", "Wait for a random amount of time.", sleep_rand_params, sleep_rand_check,
      .may_sleep = true,
      .text = "Spreads the load when many machines would otherwise act at the same time.\n",
      .example = "- name: not all at once\n"
                 "  time.sleep_rand:\n"
                 "    - time: 10ms\n" },
    { 0 },
};

const Module modules_time = {
    .name = "time",
    .help = "Waiting.",
    .id_param = "time",
    .actions = actions,
};
