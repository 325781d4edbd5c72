#include "agent/run_groups.h"

#include "fleet/records.h"
#include "sys/detached_process.h"

enum {
    TRIES_MAX = 5,
    RETRY_MS = 1000,
};

/* The IDs of runs begin with a date; groups with other names are not ours. */
static bool is_of_ended_run(void *context, Str name)
{
    const RunGroups *groups = context;
    Error ignored;
    return name.len > 0 && ascii_is_digit(name.data[0]) && run_id_check(name, &ignored) &&
           !groups->is_running(groups->context, name);
}

static void sweep(void *context)
{
    RunGroups *groups = context;
    detached_process_sweep(is_of_ended_run, groups);
    if (groups->tries > 0) {
        groups->tries--;
        loop_timer_start(&groups->timer, RETRY_MS);
    }
}

void run_groups_init(RunGroups *groups, Loop *loop, bool (*is_running)(void *context, Str run),
                     void *context)
{
    *groups = (RunGroups){ .is_running = is_running, .context = context };
    loop_timer_init(&groups->timer, loop, sweep, groups);
}

void run_groups_sweep(RunGroups *groups)
{
    groups->tries = TRIES_MAX;
    sweep(groups);
}

void run_groups_stop(RunGroups *groups)
{
    loop_timer_stop(&groups->timer);
}
