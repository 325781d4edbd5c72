/* Debts that ended between two runs: somebody else has restarted the unit. */
#include "modules/call.h"
#include "run/run_inner.h"

/* The parameters of a step before anything has run. False: they need results. */
static bool resolve(Run *run, const Step *step, Value *params)
{
    Problems unheard;
    StepReport *none = arena_alloc_zero(run->arena, (run->steps.count + 1) * sizeof(StepReport));
    problems_init(&unheard, run->arena);
    scope_set_run(run->scope, &run->graph->steps, none, true);
    return run_params(run, step, run->arena, params, &unheard) == DYNAMIC_OK;
}

/* 0: not known. */
static int64_t started_ms(Run *run, const Step *step)
{
    const Action *action = step->spec->action;
    int64_t since_ms = 0;
    Error err;
    Value *params = ARENA_ARRAY(run->arena, Value, action_param_count(action) + 1);
    Call call = { .action = action,
                  .params = params,
                  .arena = run->arena,
                  .host = run->host,
                  .step = step->index,
                  .planning = true };
    return resolve(run, step, params) && action->since(&call, &since_ms, &err) ? since_ms : 0;
}

bool run_has_restarted(Run *run, const DebtBook *book, uint32_t step, Str boot, Str *notice)
{
    const Step *of = graph_step(run->graph, step);
    if (of->spec->action->since == NULL) {
        return false;
    }
    DebtView view = { .in_site = true, .boot = boot, .unit_started_ms = started_ms(run, of) };
    uint32_t at = 0;
    bool all = false;
    for (const Debt *debt; (debt = debt_book_next(book, &at, false)) != NULL;) {
        if (!str_eq(debt->step, of->id)) {
            continue;
        }
        if (debt_judge(debt, &view) != DEBT_RESTARTED) {
            return false;
        }
        *notice = debt_notice(run->arena, debt, DEBT_RESTARTED);
        all = true;
    }
    return all;
}
