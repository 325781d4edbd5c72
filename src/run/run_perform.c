/* Performing: lock, journal, debts, executor, records. */
#include <stdatomic.h>

#include "model/debts.h"
#include "run/journal.h"
#include "run/keep.h"
#include "run/lock.h"
#include "run/recorded.h"
#include "run/run_inner.h"
#include "run/shutdown.h"
#include "run/waiting.h"
#include "sys/file.h"

/* Resources of an apply; a plan has none of them. */
typedef struct RunResources {
    Run *run;
    Directory state;
    FileLock lock;
    bool locked;
    Journal *journal;
    Keep keep;
    bool keeps;
    Str id;
    atomic_bool unwritten; /* a record after an effect could not be written */
} RunResources;

/* An effect cannot be undone by what follows it. If its record cannot be written, the effect counts
 * as a change and its debts remain: the next run pays them. This is reported once, at the end. */
static void count_unwritten(RunResources *resources, bool ok)
{
    if (!ok) {
        atomic_store(&resources->unwritten, true);
    }
}

/* --- Services for modules: called from workers ----------------------------------------------- */

typedef struct Note {
    const RunResources *resources;
    const Call *call;
} Note;

static bool note_kept(void *context, const KeptState *state, Error *err)
{
    const Note *note = context;
    const Run *run = note->resources->run;
    KeptState kept = *state;
    kept.path = secrets_scrub(run->secrets, state->path, note->call->arena);
    kept.target = secrets_scrub(run->secrets, state->target, note->call->arena);
    return journal_kept(note->resources->journal, graph_step(run->graph, note->call->step)->id,
                        &kept, err);
}

static bool keep_before(void *context, Call *call, Str path, Error *err)
{
    RunResources *resources = context;
    Note note = { resources, call };
    return keep_path(&resources->keep, call->host, path, note_kept, &note, err);
}

static bool is_claimed(void *context, Call *call, Str path)
{
    const RunResources *resources = context;
    return run_is_claimed(resources->run, path);
}

static bool may_be_provided(void *context, Call *call, const char *class, Str name, Str *why)
{
    const RunResources *resources = context;
    return provisions_find(resources->run->now.provisions, call->step, class, name, call->arena,
                           why);
}

static bool has_rebooted(void *context, Call *call, int64_t *requested_ms)
{
    const RunResources *resources = context;
    return run_has_rebooted(resources->run, call->step, requested_ms);
}

static Str scrub_for_call(void *context, Call *call, Str text)
{
    const RunResources *resources = context;
    return secrets_scrub(resources->run->secrets, text, call->arena);
}

static bool before_effect(void *context, uint32_t step, const Outcome *found, Error *err)
{
    RunResources *resources = context;
    const Step *of = graph_step(resources->run->graph, step);
    host_note_change(resources->run->host);
    return journal_act(resources->journal, of->id, str_from_c(of->spec->action->name), err);
}

static void after_effect(void *context, uint32_t step, const Outcome *outcome, bool ok)
{
    RunResources *resources = context;
    Error err;
    count_unwritten(resources,
                    journal_done(resources->journal, graph_step(resources->run->graph, step)->id,
                                 !ok                ? STR("failed")
                                 : outcome->changed ? STR("changed")
                                                    : STR("ok"),
                                 outcome->changed, &err));
}

/* --- Functions for the executor -------------------------------------------------------------- */

typedef struct RunContext {
    Run *run;
    RunResources *resources; /* NULL in a plan */
} RunContext;

static DynamicOutcome run_evaluate(void *context, uint32_t step, const Dynamic *dynamic, bool own,
                                   Arena *arena, Value *out, Problems *problems)
{
    Run *run = ((RunContext *)context)->run;
    run->now.current_step = step;
    return scope_evaluate(run->scope, step, dynamic, own, arena, out, problems);
}

static void run_evaluate_again(void *context, bool again)
{
    macros_set_fresh(scope_macros(((RunContext *)context)->run->scope), again);
}

static DynamicOutcome run_step_params(void *context, uint32_t step, Arena *arena, Value *out,
                                      Problems *problems)
{
    Run *run = ((RunContext *)context)->run;
    run->now.current_step = step;
    DynamicOutcome outcome = run_params(run, graph_step(run->graph, step), arena, out, problems);
    if (outcome != DYNAMIC_FAILED && contradiction_applies(run->graph, step, true) &&
        !contradictions_add(&run->now.contradictions, run->graph, step, out, true, problems)) {
        return DYNAMIC_FAILED;
    }
    return outcome;
}

/* Whether runOptions.target includes this node: any of the hosts; the limit is for runs on many
 * nodes. */
static bool run_is_targeted(void *context, uint32_t step)
{
    Run *run = ((RunContext *)context)->run;
    const RunOptions *options = graph_step(run->graph, step)->spec->run;
    bool matches = options->target_count == 0;
    for (uint32_t i = 0; i < options->target_count && !matches; i++) {
        if (!selector_match(options->targets[i], scope_subject(run->scope), &matches)) {
            return false;
        }
    }
    return matches;
}

static Digest wanted(const Run *run, uint32_t step, const Value *params)
{
    const Action *action = graph_step(run->graph, step)->spec->action;
    return digest_values(params, action_param_count(action));
}

static Cause run_cause_of(void *context, uint32_t step, const Value *params)
{
    Run *run = ((RunContext *)context)->run;
    const Step *of = graph_step(run->graph, step);
    if (params == NULL || of->spec->action->always_changes) {
        return CAUSE_NONE;
    }
    return last_applied_cause(&run->now.last, of->id, wanted(run, step, params));
}

/* A step that listens pays all its debts with its final reaction. Another worker may be changing
 * what it listens to, so the journal itself checks. */
static void pay_debts(RunResources *resources, const Step *step, Work work,
                      const StepReport *report)
{
    Error err;
    StepResult result = report->status.result;
    uint16_t unless = work.phase == PHASE_REACT ? 0 : 1 << REQUISITE_LISTEN;
    if ((result == RESULT_OK || result == RESULT_CHANGED) &&
        (work.phase != PHASE_REACT || report->status.reacted)) {
        count_unwritten(resources,
                        journal_paid(resources->journal, step->id, unless, STR_EMPTY, &err));
    }
}

/* Debts of a step that was skipped because of its own conditions: known only at the end, because
 * what it listens to may change after it was skipped. */
static void forgive_debts(RunResources *resources)
{
    Run *run = resources->run;
    Error err;
    for (uint32_t i = 0; i < run->graph->steps.count; i++) {
        const StepReport *report = &run_core_reports(executor_core(run->now.executor))[i];
        Str id = graph_step(run->graph, i)->id;
        if (report->declined && report->status.result == RESULT_SKIPPED) {
            count_unwritten(resources,
                            journal_paid(resources->journal, id, 0,
                                         STR("its step was skipped because of its own conditions"),
                                         &err));
        }
    }
}

static void run_step_ended(void *context, Work work, const Value *params)
{
    const RunContext *environment = context;
    Run *run = environment->run;
    const Step *step = graph_step(run->graph, work.step);
    const StepReport *report = &run_core_reports(executor_core(run->now.executor))[work.step];
    StepResult result = report->status.result;
    if (run->now.provisions != NULL) {
        provisions_settle(run->now.provisions, work.step, result);
    }
    if (environment->resources == NULL) {
        return;
    }
    if (params != NULL && !step->spec->action->always_changes &&
        (result == RESULT_OK || result == RESULT_CHANGED)) {
        last_applied_set(&run->now.last, step->id, wanted(run, work.step, params));
    }
    if (params != NULL) {
        run->now.values[work.step] = run_record_values(run, step, params);
    }
    pay_debts(environment->resources, step, work, report);
}

static void run_add_secrets(void *context, Value value)
{
    secrets_add(((RunContext *)context)->run->secrets, value);
}

static Str run_scrub(void *context, Str text, Arena *arena)
{
    return secrets_scrub(((RunContext *)context)->run->secrets, text, arena);
}

/* --- Debts ----------------------------------------------------------------------------------- */

/* Of another existing site, whose own runs handle it. */
static bool is_of_other_site(const Run *run, const Debt *debt)
{
    return debt->site_path.len > 0 && !debt_belongs_to(debt, run->name, run->home) &&
           file_exists(arena_copy_c(run->arena, debt->site_path));
}

/* With a notice, in the journal too; a plan has only its own book. */
static void end_debt(Run *run, DebtBook *own, RunResources *resources, Str step, Str notice)
{
    Error err;
    problems_add_severity(run->problems, SEVERITY_WARNING, "E0711", NULL, 0, 0, "%" STR_FMT,
                          STR_ARG(notice));
    if (resources == NULL) {
        debt_book_pay(own, step);
        return;
    }
    count_unwritten(resources, journal_paid(resources->journal, step, 0, notice, &err));
}

/* Debts whose steps were removed from the site. */
static void end_left_debts(Run *run, const DebtBook *book, RunResources *resources)
{
    uint32_t at = 0;
    for (const Debt *debt; (debt = debt_book_next(book, &at, false)) != NULL;) {
        if (run_lacks_step(run, debt->step) && !is_of_other_site(run, debt)) {
            end_debt(run, NULL, resources, debt->step,
                     debt_notice(run->arena, debt, DEBT_LEFT_SITE));
        }
    }
}

/* The parameters of a step before anything has run. False: they need results. */
static bool resolve_early(Run *run, const Step *step, Value *params)
{
    Problems ignored;
    StepReport *none = arena_alloc_zero(run->arena, (run->steps.count + 1) * sizeof(StepReport));
    problems_init(&ignored, run->arena);
    scope_set_run(run->scope, &run->graph->steps, none, true);
    return run_params(run, step, run->arena, params, &ignored) == DYNAMIC_OK;
}

/* 0: unknown. */
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
    return resolve_early(run, step, params) && action->last_start(&call, &since_ms, &err) ? since_ms
                                                                                          : 0;
}

/* Whether nothing that the step owes is needed anymore, because its unit has been started since;
 * `notice` then says so. */
static bool has_restarted(Run *run, const DebtBook *book, uint32_t step, Str boot, Str *notice)
{
    const Step *of = graph_step(run->graph, step);
    if (of->spec->action->last_start == NULL) {
        return false;
    }
    DebtView view = { .in_site = true, .boot = boot, .unit_started_ms = started_ms(run, of) };
    uint32_t at = 0;
    bool all = false;
    for (const Debt *debt; (debt = debt_book_next(book, &at, false)) != NULL;) {
        if (!str_eq(debt->step, of->id)) {
            continue;
        }
        if (debt_verdict(debt, &view) != DEBT_RESTARTED) {
            return false;
        }
        *notice = debt_notice(run->arena, debt, DEBT_RESTARTED);
        all = true;
    }
    return all;
}

/* The debts of the steps of this run, without debts that are no longer needed. */
static uint16_t *find_debts(Run *run, const DebtBook *book, DebtBook *own, RunResources *resources)
{
    uint16_t *owed = arena_alloc_zero(run->arena, (run->steps.count + 1) * sizeof *owed);
    if (debt_book_count(book) == 0) {
        return owed;
    }
    for (uint32_t i = 0; i < run->steps.count; i++) {
        Str notice, id = graph_step(run->graph, i)->id;
        owed[i] = debt_book_kinds(book, id);
        if (owed[i] != 0 &&
            has_restarted(run, book, i, value_get_text(run->facts, "boot_id"), &notice)) {
            end_debt(run, own, resources, id, notice);
            owed[i] = 0;
        }
    }
    if (resources != NULL && run->config.job_count == 0) {
        end_left_debts(run, book, resources);
    }
    return owed;
}

static bool lacks_step(void *context, Str id)
{
    return run_lacks_step(context, id);
}

static List *list_debts(Run *run, const DebtBook *book)
{
    List *list = NULL;
    uint32_t at = 0;
    for (const Debt *debt; (debt = debt_book_next(book, &at, false)) != NULL;) {
        if (list == NULL) {
            list = list_new(run->arena, 4);
        }
        list_push(run->arena, list, value_copy(run->arena, debt_value(run->arena, debt)));
    }
    return list;
}

/* --- Opening and closing --------------------------------------------------------------------- */

static bool resources_open(RunResources *resources, Error *err)
{
    Run *run = resources->run;
    if (!directory_make(run->config.state, &resources->state, err) ||
        !run_lock_take(&resources->state, run->config.command, &resources->lock, run->problems,
                       err)) {
        return false;
    }
    resources->locked = true;
    directory_remove_temporaries(&resources->state);
    if (!journal_open(&resources->state, value_get_text(run->facts, "boot_id"), &resources->journal,
                      run->problems, err) ||
        !keep_open(&resources->state, false, &resources->keep, err)) {
        return false;
    }
    resources->keeps = true;
    return true;
}

static void resources_close(RunResources *resources)
{
    if (resources->keeps) {
        keep_close(&resources->keep);
    }
    journal_close(resources->journal);
    if (resources->locked) {
        file_lock_release(&resources->lock);
    }
    directory_close(&resources->state);
}

static bool load_last_applied(Run *run, Error *err)
{
    last_applied_init(&run->now.last, run->arena, run->name, run->home);
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    Error missing;
    return !directory_open(run->config.state, &state, &missing) ||
           last_applied_load(&run->now.last, &state, run->problems, err);
}

static void warn(Run *run, const char *code, const char *what, const char *why)
{
    problems_add_severity(run->problems, SEVERITY_WARNING, code, NULL, 0, 0, "%s: %s", what, why);
}

static void save_record(Run *run, const RunResources *resources)
{
    Error err;
    AUTO_CLEAR(RunRecord) record;
    run_record_init(&record, resources->id);
    record.secrets = run->secrets;
    run_record_fill(&record, run);
    if (!run_record_save(&record, &resources->state, RECORDS_RETAINED, &err)) {
        warn(run, "E0712", "cannot write the record of this run", err.text);
    }
}

/* After the last step: first the effects, then the end of the run are made durable. */
static bool resources_finish(RunResources *resources, Error *err)
{
    Run *run = resources->run;
    if (run->config.job_count == 0) {
        last_applied_drop(&run->now.last, lacks_step, run);
    }
    if (!host_sync(run->host, err)) {
        return false;
    }
    /* Old records are removed first, because the disk may be full. The run is complete whatever
     * fails here. */
    Error why;
    if (!keep_prune(&resources->keep, KEEP_FILES_MAX, KEEP_BYTES_MAX, &why)) {
        warn(run, "E0716", "cannot remove file contents retained from earlier runs", why.text);
    }
    save_record(run, resources);
    if (!last_applied_save(&run->now.last, &resources->state, &why)) {
        warn(run, "E0717", "cannot save the applied state", why.text);
    }
    Str result = str_from_c(step_result_name(run_report_result(&run->now.report)));
    count_unwritten(resources, journal_end(resources->journal, result, &why));
    if (atomic_load(&resources->unwritten)) {
        warn(run, "E0715", "some records could not be written to the journal", run->config.state);
    }
    return true;
}

static void fill_report(Run *run)
{
    run->now.report =
        (RunReport){ .planning = run->config.planning,
                     .interrupted = run_core_was_interrupted(executor_core(run->now.executor)),
                     .timed_out = run_core_timed_out(executor_core(run->now.executor)),
                     .node = secrets_scrub(run->secrets, run->node.name, run->arena),
                     .order = run->config.order,
                     .steps = &run->graph->steps,
                     .items = (StepReport *)run_core_reports(executor_core(run->now.executor)),
                     .duration_us = executor_duration_us(run->now.executor) };
}

static void note_wait(void *context, Call *call, Str why)
{
    waiting_note(host_shared(call->host), call->step, why);
}

static void note_progress(void *context, Call *call, Str line)
{
    waiting_note_progress(host_shared(call->host), call->step, line);
}

static void execute(Run *run, RunResources *resources, const RunView *view, int interrupts,
                    const uint16_t *owed)
{
    RunContext environment = { run, resources };
    contradictions_init(&run->now.contradictions, run->arena);
    /* A plan has no journal, but resources managed by other steps count there too. */
    RunResources none = { .run = run };
    CallServices services = { .context = resources != NULL ? resources : &none,
                              .journal = resources != NULL ? keep_before : NULL,
                              .is_claimed = is_claimed,
                              .may_be_provided =
                                  run->now.provisions != NULL ? may_be_provided : NULL,
                              .report_wait = note_wait,
                              .progress = note_progress,
                              .scrub = scrub_for_call,
                              .has_rebooted = has_rebooted };
    TaskJournal journal = { resources, before_effect, after_effect };
    RunCoreSettings settings = { .graph = run->graph,
                                 .order = run->config.order,
                                 .workers = run->config.workers,
                                 .planning = run->config.planning,
                                 .max_wait_us = run->config.max_wait_us,
                                 .host = run->host,
                                 .services = &services,
                                 .journal = resources != NULL ? &journal : NULL,
                                 .environment = { .context = &environment,
                                                  .evaluate = run_evaluate,
                                                  .evaluate_again = run_evaluate_again,
                                                  .params = run_step_params,
                                                  .targeted = run_is_targeted,
                                                  .cause = run_cause_of,
                                                  .ended = run_step_ended,
                                                  .learn = run_add_secrets,
                                                  .scrub = run_scrub },
                                 .view = *view,
                                 .owed = owed };
    run->now.executor = executor_new(run->arena, &settings);
    scope_set_run(run->scope, &run->graph->steps,
                  run_core_reports(executor_core(run->now.executor)), run->config.planning);
    executor_run(run->now.executor, interrupts, run->config.control);
    fill_report(run);
}

static bool plan(Run *run, const RunView *view, int interrupts, Error *err)
{
    if (view->begun != NULL && !view->begun(view->context, err)) {
        return false;
    }
    host_plan_begin(run->host);
    run->now.provisions = provisions_new(run->graph);
    DebtBook book;
    Error unread;
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    debt_book_init(&book, run->arena);
    if (directory_open(run->config.state, &state, &unread) &&
        !journal_read(&state, run->arena, &book, &unread)) {
        problems_add_severity(run->problems, SEVERITY_WARNING, "E0713", NULL, 0, 0,
                              "cannot read the owed actions: %s", unread.text);
    }
    execute(run, NULL, view, interrupts, find_debts(run, &book, &book, NULL));
    run->now.report.owed = list_debts(run, &book);
    return true;
}

static bool apply(Run *run, RunResources *resources, const RunView *view, int interrupts,
                  Error *err)
{
    Debt *edges;
    uint32_t edge_count;
    if (!resources_open(resources, err)) {
        return false;
    }
    if (view->begun != NULL && !view->begun(view->context, err)) {
        return false;
    }
    resources->id = run->config.id;
    run->now.values = arena_alloc_zero(run->arena, (run->steps.count + 1) * sizeof(Str));
    debts_of_graph(run->arena, run->graph, run->name, run->home, &edges, &edge_count);
    for (uint32_t i = 0; i < edge_count; i++) {
        edges[i].unit = secrets_scrub(run->secrets, edges[i].unit, run->arena);
    }
    const uint16_t *owed = find_debts(run, journal_debts(resources->journal), NULL, resources);
    journal_begin(resources->journal, &(JournalRun){ .id = resources->id,
                                                     .site = run_site_digest(run),
                                                     .name = run->name,
                                                     .path = run->home,
                                                     .command = run->config.command,
                                                     .edges = edges,
                                                     .edge_count = edge_count });
    host_set_sync(run->host, SYNC_LATER);
    execute(run, resources, view, interrupts, owed);
    forgive_debts(resources);
    run->now.report.owed = list_debts(run, journal_debts(resources->journal));
    run->now.report.run = resources->id;
    if (!resources_finish(resources, err)) {
        return false;
    }
    run_shutdown_prepare(run, &resources->state);
    return true;
}

bool run_perform(Run *run, const RunView *view, int interrupts, Error *err)
{
    if (!load_last_applied(run, err)) {
        return false;
    }
    run_shutdown_load(run);
    if (run->config.planning) {
        return plan(run, view, interrupts, err);
    }
    RunResources resources = { .run = run, .state = { .descriptor = -1 } };
    bool ok = apply(run, &resources, view, interrupts, err);
    resources_close(&resources);
    return ok;
}
