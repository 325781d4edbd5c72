#include "agent/succession.h"

#include "base/log.h"
#include "sys/own_unit.h"

static bool is_outdated(const Succession *succession)
{
    Error err;
    AUTO_CLEAR(Tree) kernel;
    return tree_open(succession->options.kernel, &kernel, &err) && own_unit_is_outdated(&kernel);
}

static bool count_others(const Succession *succession, uint32_t *out, Error *err)
{
    const SuccessionOptions *options = &succession->options;
    AUTO_CLEAR(Tree) kernel;
    return tree_open(options->kernel, &kernel, err) &&
           own_unit_others(&kernel, options->server(options->context), out, err);
}

static void look(void *context)
{
    Succession *succession = context;
    uint32_t others;
    Error err;
    if (!count_others(succession, &others, &err)) {
        log_warning("program replaced; restart the agent to run the new one",
                    LOG_C("error", err.text));
    } else if (others > 0) {
        if (!succession->told) {
            succession->told = true;
            log_info("program replaced; the agent restarts when its child processes have exited",
                     LOG_INT("processes", others));
        }
        loop_timer_start(&succession->timer, SUCCESSION_LOOK_MS);
    } else {
        log_info("restarting to run the new program");
        succession->options.due(succession->options.context);
    }
}

void succession_init(Succession *succession, const SuccessionOptions *options)
{
    *succession = (Succession){ .options = *options };
    loop_timer_init(&succession->timer, options->loop, look, succession);
}

void succession_look(Succession *succession)
{
    if (loop_timer_started(&succession->timer) || !is_outdated(succession)) {
        return;
    }
    if (succession->options.is_kept) {
        loop_timer_start(&succession->timer, 0);
    } else {
        log_info("program replaced; restart the agent to run the new one");
    }
}

void succession_stop(Succession *succession)
{
    loop_timer_stop(&succession->timer);
}
