/* Detects the replacement of the program by comparing the file with the running one, then waits
 * until there are no child processes. */
#include "agent/upgrade_restart.h"

#include "base/log.h"
#include "sys/own_unit.h"

static bool is_outdated(const UpgradeRestart *upgrade_restart)
{
    Error err;
    AUTO_CLEAR(Tree) kernel;
    return tree_open(upgrade_restart->options.kernel, &kernel, &err) &&
           own_unit_is_outdated(&kernel);
}

static bool count_others(const UpgradeRestart *upgrade_restart, uint32_t *out, Error *err)
{
    const UpgradeRestartOptions *options = &upgrade_restart->options;
    AUTO_CLEAR(Tree) kernel;
    int64_t excluded[UPGRADE_RESTART_EXCLUDED];
    options->excluded(options->context, excluded);
    return tree_open(options->kernel, &kernel, err) &&
           own_unit_count_others(&kernel, excluded, COUNT_OF(excluded), out, err);
}

static void check_children(void *context)
{
    UpgradeRestart *upgrade_restart = context;
    uint32_t others;
    Error err;
    if (!count_others(upgrade_restart, &others, &err)) {
        log_warning("program replaced; restart the agent to run the new one",
                    LOG_C("error", err.text));
    } else if (others > 0) {
        if (!upgrade_restart->is_logged) {
            upgrade_restart->is_logged = true;
            log_info(
                "program replaced; the agent will restart when its child processes have exited",
                LOG_INT("processes", others));
        }
        loop_timer_start(&upgrade_restart->timer, UPGRADE_RESTART_CHECK_MS);
    } else {
        log_info("restarting to run the new program");
        upgrade_restart->options.due(upgrade_restart->options.context);
    }
}

void upgrade_restart_init(UpgradeRestart *upgrade_restart, const UpgradeRestartOptions *options)
{
    *upgrade_restart = (UpgradeRestart){ .options = *options };
    loop_timer_init(&upgrade_restart->timer, options->loop, check_children, upgrade_restart);
}

void upgrade_restart_check(UpgradeRestart *upgrade_restart)
{
    if (loop_timer_started(&upgrade_restart->timer) || !is_outdated(upgrade_restart)) {
        return;
    }
    if (upgrade_restart->options.will_be_restarted) {
        loop_timer_start(&upgrade_restart->timer, 0);
    } else {
        log_info("program replaced; restart the agent to run the new one");
    }
}

void upgrade_restart_stop(UpgradeRestart *upgrade_restart)
{
    loop_timer_stop(&upgrade_restart->timer);
}
