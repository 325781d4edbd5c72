/* Runs on virtual time, as their decisions (src/run/run_core) see them:
 *
 *     sim_cores FIRST_SEED COUNT
 *
 * Each seed is one run of random steps in a random mode: tasks take time, fail and are repeated,
 * conditions become true late or never, some steps wait for something outside of the run, and what
 * wakes them is lost, repeated, early or late. The run is interrupted, canceled, or limited in time
 * at random moments. Invariants:
 *
 *   - Every step ends once, with one result.
 *   - A step starts only after everything it requires, as the truth table allows, not while it runs,
 *     and not more often than it may be repeated; nothing starts after an interrupt.
 *   - A step that waits for something outside does not start before that has happened.
 *   - Every run ends. One that was canceled ends as soon as its running tasks have.
 *   - A replay comes to the same decisions.
 *
 * Every tenth seed runs twice, and both runs must be the same. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/replay.h"
#include "run/run_core.h"
#include "steps_text.h"

enum {
    STEPS_MAX = 60,
    KEYS = 6,
    EVENTS_MAX = 4096,
    CALLS_MAX = 200000,
    TWICE_EVERY = 10,
};

#define SECOND INT64_C(1000000)

/* --- Random numbers --------------------------------------------------------------------------- */

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(random_next(state) % limit);
}

static bool one_in(uint64_t *state, uint32_t count)
{
    return below(state, count) == 0;
}

/* --- The world -------------------------------------------------------------------------------- */

typedef enum EventKind {
    EVENT_TASK_ENDS,
    EVENT_GRANT, /* what a key stands for happens */
    EVENT_WAKE,
    EVENT_LOOK, /* run_core_due() without a reason */
    EVENT_INTERRUPT,
    EVENT_CANCEL,
} EventKind;

typedef struct Event {
    int64_t at_us;
    EventKind kind;
    uint32_t key;
    RunningTask *running;
} Event;

/* What a step does and what was seen of it. */
typedef struct StepPlan {
    int64_t duration_us;
    uint32_t failures; /* attempts that fail */
    bool changes, ignores_cancel;
    bool is_held;
    uint32_t key;
    int64_t limit_ms, again_ms;
    uint32_t no; /* how often its conditions are false */
    const ShutdownRequest *leave;
    uint32_t attempts, starts[3], ends[3];
    bool runs_now;
} StepPlan;

typedef struct Sim {
    uint64_t seed, state;
    World world;
    StepPlan plans[STEPS_MAX];
    Event events[EVENTS_MAX];
    uint32_t event_count;
    bool granted[KEYS];
    int64_t now_us, canceled_us, longest_us;
    bool interrupted, was_rescued;
    RunCoreSettings settings;
    RunCore *core;
} Sim;

static uint32_t failures, waited, woken, gave_up, canceled_runs;

#define SAY(sim, ...)                                           \
    do {                                                        \
        failures++;                                             \
        printf("seed %llu: ", (unsigned long long)(sim)->seed); \
        printf(__VA_ARGS__);                                    \
        putchar('\n');                                          \
    } while (0)

static void add_event(Sim *sim, Event event)
{
    if (sim->event_count == EVENTS_MAX) {
        fprintf(stderr, "seed %llu: too many events\n", (unsigned long long)sim->seed);
        exit(1);
    }
    sim->events[sim->event_count++] = event;
}

/* --- Functions for the core ------------------------------------------------------------------- */

static DynamicOutcome evaluate(void *context, uint32_t step, const Dynamic *dynamic, bool own,
                               Arena *arena, Value *out, Problems *problems)
{
    Sim *sim = context;
    StepPlan *plan = &sim->plans[step];
    *out = value_bool(plan->no == 0);
    plan->no -= plan->no > 0;
    if (one_in(&sim->state, 80)) {
        problems_add(problems, "E0301", NULL, 0, 0, "evaluation fails");
        return DYNAMIC_FAILED;
    }
    return DYNAMIC_OK;
}

static DynamicOutcome params(void *context, uint32_t step, Arena *arena, Value *out,
                             Problems *problems)
{
    Sim *sim = context;
    const Action *action = graph_step(sim->world.graph, step)->spec->action;
    for (uint32_t i = 0; i < action_param_count(action); i++) {
        out[i] = value_string(STR("x"));
    }
    return DYNAMIC_OK;
}

static const char *const key_names[KEYS] = { "barrier", "slot", "gate", "result", "order", "rest" };

static bool held(void *context, uint32_t step, Hold *out)
{
    const Sim *sim = context;
    const StepPlan *plan = &sim->plans[step];
    *out = (Hold){ .key = str_from_c(key_names[plan->key]),
                   .why = STR("waiting for others"),
                   .limit_ms = plan->limit_ms,
                   .recheck_ms = plan->again_ms };
    return plan->is_held && !sim->granted[plan->key];
}

static void ended(void *context, uint32_t step, WorkPhase phase)
{
    ((Sim *)context)->plans[step].ends[phase]++;
}

/* --- Scenarios -------------------------------------------------------------------------------- */

static const char *const kinds[] = {
    "require", "require", "watch",      "onchanges",    "onfail",
    "prereq",  "listen",  "require_in", "onchanges_in", "watch_in"
};

static void put_steps(Sim *sim, uint32_t count, Buf *out)
{
    static const char *const modules[] = { "test", "test", "slow", "pkg", "pkg", "sleep", "svc" };
    for (uint32_t i = 0; i < count; i++) {
        buf_put_format(out, "s%u mod=%s", i, modules[below(&sim->state, COUNT_OF(modules))]);
        uint32_t kind_count = below(&sim->state, 3);
        for (uint32_t k = 0; k < kind_count; k++) {
            const char *kind = kinds[below(&sim->state, COUNT_OF(kinds))];
            bool is_late = strstr(kind, "_in") != NULL || strcmp(kind, "prereq") == 0;
            uint32_t low = is_late ? i + 1 : 0, high = is_late ? count : i;
            if (low < high) {
                buf_put_format(out, " %s=s%u,s%u", kind, low + below(&sim->state, high - low),
                               low + below(&sim->state, high - low));
            }
        }
        if (one_in(&sim->state, 12)) {
            buf_put_format(out, " claims=path:%u", below(&sim->state, 3));
        }
        buf_put(out, STR("\n"));
    }
}

static const Condition *make_condition(Sim *sim)
{
    Condition *made = ARENA_NEW(&sim->world.arena, Condition);
    *made = (Condition){ .is_set = true,
                         .retry = { .is_set = !one_in(&sim->state, 3),
                                    .interval_ms = below(&sim->state, 20000),
                                    .limit = below(&sim->state, 4) } };
    made->test.value = value_string(STR("x"));
    return made;
}

static void plan_step(Sim *sim, uint32_t index)
{
    static const ShutdownRequest reboot = { .kind = SHUTDOWN_REBOOT, .resumes = true };
    StepSpec *spec = (StepSpec *)sim->world.steps.items[index].spec;
    uint64_t *state = &sim->state;
    StepPlan *plan = &sim->plans[index];
    *plan = (StepPlan){ .duration_us = 1 + below(state, 20 * SECOND),
                        .failures = one_in(state, 4) ? 1 + below(state, 3) : 0,
                        .changes = !one_in(state, 3),
                        .ignores_cancel = one_in(state, 10),
                        .is_held = one_in(state, 6),
                        .key = below(state, KEYS),
                        .limit_ms = one_in(state, 4) ? 1 + below(state, 60000) : 0,
                        .again_ms = one_in(state, 3) ? 1 + below(state, 10000) : 0,
                        .no = one_in(state, 3) ? below(state, 5) : 0,
                        .leave = one_in(state, 500) ? &reboot : NULL };
    if (one_in(state, 8)) {
        spec->when = make_condition(sim);
    }
    if (one_in(state, 8)) {
        spec->success = make_condition(sim);
    }
    if (one_in(state, 16)) {
        spec->proceed = make_condition(sim);
    }
    if (one_in(state, 5)) {
        ((RunOptions *)spec->run)->retry = (Retry){ .is_set = true,
                                                    .interval_ms = below(state, 10000),
                                                    .limit = 1 + below(state, 3),
                                                    .until.value = value_null() };
    }
}

/* The wakes of a key are lost, repeated and late, and some come too early. */
static void plan_keys(Sim *sim)
{
    uint64_t *state = &sim->state;
    for (uint32_t key = 0; key < KEYS; key++) {
        int64_t at_us = below(state, 90) * SECOND;
        add_event(sim, (Event){ .at_us = at_us, .kind = EVENT_GRANT, .key = key });
        for (uint32_t wakes = below(state, 4); wakes > 0; wakes--) {
            int64_t wake_us =
                one_in(state, 4) ? below(state, 90) * SECOND : at_us + below(state, 30) * SECOND;
            add_event(sim, (Event){ .at_us = wake_us, .kind = EVENT_WAKE, .key = key });
        }
    }
    for (uint32_t checks = below(state, 5); checks > 0; checks--) {
        add_event(sim, (Event){ .at_us = below(state, 120) * SECOND, .kind = EVENT_LOOK });
    }
    if (one_in(state, 5)) {
        add_event(sim, (Event){ .at_us = below(state, 90 * SECOND), .kind = EVENT_INTERRUPT });
    }
    if (one_in(state, 5)) {
        add_event(sim, (Event){ .at_us = below(state, 90 * SECOND), .kind = EVENT_CANCEL });
    }
}

static bool build(Sim *sim)
{
    uint32_t count = 2 + below(&sim->state, STEPS_MAX - 1);
    Buf text = buf_make_in(&sim->world.arena, BUF_UNLIMITED);
    put_steps(sim, count, &text);
    world_read(&sim->world, buf_str(&text));
    for (uint32_t i = 0; i < count; i++) {
        plan_step(sim, i);
    }
    return world_build(&sim->world);
}

/* Random references may form a cycle: then the steps are others. */
static void sim_init(Sim *sim, uint64_t seed)
{
    static const OrderMode modes[] = { MODE_ANSIBLE, MODE_JUSTDOIT, MODE_GENIUS };
    *sim = (Sim){ .seed = seed, .state = seed, .canceled_us = -1 };
    world_init(&sim->world);
    while (!build(sim)) {
        world_clear(&sim->world);
        world_init(&sim->world);
    }
    plan_keys(sim);
    uint32_t count = sim->world.graph->steps.count;
    uint16_t *owed = arena_alloc_zero(&sim->world.arena, (count + 1) * sizeof *owed);
    for (uint32_t i = 0; i < count; i++) {
        owed[i] = one_in(&sim->state, 40) ? 1 << REQUISITE_ONCHANGES : 0;
    }
    sim->settings = (RunCoreSettings){
        .graph = sim->world.graph,
        .order = modes[below(&sim->state, 3)],
        .workers = 1 + below(&sim->state, 6),
        .planning = one_in(&sim->state, 12),
        .max_wait_us = one_in(&sim->state, 4) ? below(&sim->state, 100) * SECOND : -1,
        .environment = { .context = sim, .evaluate = evaluate, .params = params, .held = held },
        .view = { .context = sim, .ended = ended },
        .owed = owed,
    };
    sim->core = run_core_new(&sim->world.arena, &sim->settings, 0);
}

static void sim_clear(Sim *sim)
{
    run_core_free(sim->core);
    world_clear(&sim->world);
}

/* --- Starts ----------------------------------------------------------------------------------- */

static const StepStatus *status_of(const Sim *sim, uint32_t step)
{
    return &run_core_reports(sim->core)[step].status;
}

/* A step whose check has failed is not run. */
static uint32_t ends_of(const Sim *sim, uint32_t step)
{
    return sim->plans[step].ends[PHASE_RUN] + (status_of(sim, step)->pending == RESULT_FAILED &&
                                               sim->plans[step].ends[PHASE_CHECK] > 0);
}

static bool has_failed(StepResult result)
{
    return result == RESULT_FAILED || result == RESULT_BLOCKED || result == RESULT_WAITING;
}

/* Of one kind of requisite. */
typedef struct Tally {
    uint32_t targets, fired;
} Tally;

static bool fires(const StepStatus *target, uint8_t kind)
{
    return kind == REQUISITE_ONFAIL   ? target->result == RESULT_FAILED
           : kind == REQUISITE_PREREQ ? target->pending == RESULT_CHANGED
                                      : target->changed;
}

/* The truth table, written down a second time. */
static void check_requisites(const Sim *sim, uint32_t step)
{
    Tally tallies[REQUISITE_KINDS] = { 0 };
    Edges edges = graph_edges(sim->world.graph, step);
    for (uint32_t i = 0; i < edges.count; i++) {
        const Edge *edge = &edges.items[i];
        const StepStatus *target = status_of(sim, edge->to);
        bool has_ended = ends_of(sim, edge->to) > 0;
        if (edge->kind == REQUISITE_LISTEN || edge->kind == REQUISITE_USE) {
            continue;
        }
        if (edge->kind == REQUISITE_PREREQ && sim->plans[edge->to].starts[PHASE_RUN] > 0) {
            SAY(sim, "s%u started after s%u, of which it is a prereq", step, edge->to);
        } else if (edge->kind != REQUISITE_PREREQ && !has_ended) {
            SAY(sim, "s%u started before s%u had ended", step, edge->to);
        }
        if ((edge->kind == REQUISITE_REQUIRE || edge->kind == REQUISITE_WATCH) &&
            has_failed(target->result)) {
            SAY(sim, "s%u started although s%u is %s", step, edge->to,
                step_result_name(target->result));
        }
        tallies[edge->kind].targets++;
        tallies[edge->kind].fired += fires(target, edge->kind);
    }
    static const RequisiteKind triggers[] = { REQUISITE_ONCHANGES, REQUISITE_ONFAIL,
                                              REQUISITE_PREREQ };
    for (uint32_t i = 0; i < COUNT_OF(triggers); i++) {
        bool is_owed = (sim->settings.owed[step] & 1 << triggers[i]) != 0;
        if (tallies[triggers[i]].targets > 0 && tallies[triggers[i]].fired == 0 && !is_owed) {
            SAY(sim, "s%u started although its '%s' did not fire", step,
                requisite_kind_name(triggers[i]));
        }
    }
}

static void check_start(Sim *sim, Work work)
{
    StepPlan *plan = &sim->plans[work.step];
    const Retry *retry = &graph_step(sim->world.graph, work.step)->spec->run->retry;
    uint32_t allowed = 1 + (retry->is_set && work.phase == PHASE_RUN ? (uint32_t)retry->limit : 0);
    if (plan->runs_now || plan->ends[work.phase] > 0 || ++plan->starts[work.phase] > allowed) {
        SAY(sim, "the %s of s%u started again", work_phase_name(work.phase), work.step);
    }
    if (sim->interrupted) {
        SAY(sim, "s%u started after the interrupt", work.step);
    }
    if (work.phase != PHASE_REACT && plan->is_held && !sim->granted[plan->key] &&
        !sim->settings.planning) {
        SAY(sim, "s%u started while it was held", work.step);
    }
    if (work.phase == PHASE_RUN && !sim->settings.planning) {
        check_requisites(sim, work.step);
    }
    plan->runs_now = true;
}

/* What task_run() would find and do. */
static void act(Sim *sim, RunningTask *running)
{
    Task *task = &running->task;
    StepPlan *plan = &sim->plans[running->work.step];
    Outcome *outcome = &task->outcome;
    task->duration_us = plan->duration_us;
    if (task->kind == TASK_REACT || task->react) {
        task->reacted = task->kind == TASK_REACT || plan->changes;
    }
    bool counts = running->work.phase == PHASE_RUN && !sim->settings.planning;
    task->failed = counts && plan->attempts < plan->failures;
    plan->attempts += counts;
    if (task->failed) {
        error_set(&task->error, ERROR_OS, "fails");
        return;
    }
    outcome->changed = plan->changes;
    task->applied = counts && plan->changes;
    outcome->shutdown = counts ? plan->leave : NULL;
}

static int64_t start(Sim *sim, RunningTask *first)
{
    int64_t duration_us = 0;
    for (RunningTask *it = first; it != NULL; it = (RunningTask *)it->task.next_joined) {
        int64_t own_us = sim->plans[it->work.step].duration_us;
        check_start(sim, it->work);
        duration_us = own_us > duration_us ? own_us : duration_us;
    }
    return duration_us;
}

static void end_task(Sim *sim, RunningTask *first)
{
    for (RunningTask *it = first; it != NULL; it = (RunningTask *)it->task.next_joined) {
        sim->plans[it->work.step].runs_now = false;
        act(sim, it);
    }
    run_core_ended(sim->core, first, sim->now_us);
}

/* --- Events ----------------------------------------------------------------------------------- */

/* Running tasks stop within a second, unless they ignore it. */
static void cancel(Sim *sim)
{
    run_core_cancel(sim->core);
    sim->interrupted = true;
    sim->canceled_us = sim->longest_us = sim->now_us;
    for (uint32_t i = 0; i < sim->event_count; i++) {
        Event *event = &sim->events[i];
        if (event->kind != EVENT_TASK_ENDS) {
            continue;
        }
        if (!sim->plans[event->running->work.step].ignores_cancel &&
            event->at_us > sim->now_us + SECOND) {
            event->at_us = sim->now_us + SECOND;
        }
        sim->longest_us = event->at_us > sim->longest_us ? event->at_us : sim->longest_us;
    }
}

static void run_event(Sim *sim, Event event)
{
    uint32_t count;
    switch (event.kind) {
    case EVENT_TASK_ENDS: end_task(sim, event.running); break;
    case EVENT_GRANT: sim->granted[event.key] = true; break;
    case EVENT_WAKE:
        (void)run_core_held(sim->core, &count);
        waited += count;
        woken += run_core_wake(sim->core, str_from_c(key_names[event.key]), sim->now_us);
        break;
    case EVENT_LOOK: run_core_due(sim->core, sim->now_us); break;
    case EVENT_INTERRUPT:
        run_core_interrupt(sim->core);
        sim->interrupted = true;
        break;
    case EVENT_CANCEL: cancel(sim); break;
    }
}

/* The index of the next event; UINT32_MAX: none. */
static uint32_t next_event(const Sim *sim)
{
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < sim->event_count; i++) {
        if (next == UINT32_MAX || sim->events[i].at_us < sim->events[next].at_us) {
            next = i;
        }
    }
    return next;
}

static Event remove_event(Sim *sim, uint32_t at)
{
    Event event = sim->events[at];
    sim->events[at] = sim->events[--sim->event_count];
    return event;
}

/* Everything has happened and nothing is due: what wakes was lost, and is repeated as by an agent
 * that has restarted. Returns false if that does not help. */
static bool rescue(Sim *sim)
{
    uint32_t count = 0;
    for (uint32_t key = 0; key < KEYS; key++) {
        count += run_core_wake(sim->core, str_from_c(key_names[key]), sim->now_us);
    }
    if (count == 0) {
        SAY(sim, "the run never ends");
    }
    return count > 0;
}

static bool wait_until(Sim *sim, int64_t until_us)
{
    uint32_t next = next_event(sim);
    bool is_due = until_us >= 0 && (next == UINT32_MAX || until_us <= sim->events[next].at_us);
    if (next == UINT32_MAX && !is_due) {
        return rescue(sim);
    }
    if (is_due) {
        sim->now_us = until_us > sim->now_us ? until_us : sim->now_us;
        run_core_due(sim->core, sim->now_us);
    } else {
        Event event = remove_event(sim, next);
        sim->now_us = event.at_us > sim->now_us ? event.at_us : sim->now_us;
        run_event(sim, event);
    }
    return true;
}

static bool carry_out(Sim *sim, const CoreAction *action)
{
    int64_t duration_us;
    switch (action->kind) {
    case CORE_START:
        duration_us = start(sim, action->start);
        if (action->runs_inline) {
            sim->now_us += duration_us;
            end_task(sim, action->start);
        } else {
            add_event(sim, (Event){ .at_us = sim->now_us + duration_us,
                                    .kind = EVENT_TASK_ENDS,
                                    .running = action->start });
        }
        return true;
    case CORE_WAIT: return wait_until(sim, action->until_us);
    case CORE_AGAIN:
    case CORE_END: break;
    }
    return true;
}

static void run(Sim *sim)
{
    CoreAction action = { .kind = CORE_AGAIN };
    uint32_t calls = 0;
    while (action.kind != CORE_END) {
        uint32_t next = next_event(sim);
        if (next != UINT32_MAX && sim->events[next].at_us <= sim->now_us) {
            run_event(sim, remove_event(sim, next));
        }
        action = run_core_next(sim->core, sim->now_us);
        if (!carry_out(sim, &action) || ++calls > CALLS_MAX) {
            SAY(sim, "it was stopped after %u calls", calls);
            return;
        }
    }
}

/* --- The end ---------------------------------------------------------------------------------- */

/* Whether a step that it depends on, or that is its prereq, has this result. */
static bool has_edge(const Sim *sim, uint32_t step, StepResult result)
{
    Edges edges = graph_edges(sim->world.graph, step);
    for (uint32_t i = 0; i < edges.count; i++) {
        const StepStatus *target = status_of(sim, edges.items[i].to);
        if (target->result == result ||
            (edges.items[i].kind == REQUISITE_PREREQ && target->pending == result)) {
            return true;
        }
    }
    IndexSlice before = graph_edges_to(sim->world.graph, step);
    for (uint32_t i = 0; i < before.count; i++) {
        const Edge *edge = graph_edge(sim->world.graph, before.items[i]);
        if (edge->kind == REQUISITE_PREREQ && status_of(sim, edge->from)->result == result) {
            return true;
        }
    }
    return false;
}

static void check_end(const Sim *sim, uint32_t step)
{
    const StepPlan *plan = &sim->plans[step];
    const StepReport *report = &run_core_reports(sim->core)[step];
    StepResult result = report->status.result;
    bool is_cut = sim->interrupted || run_core_timed_out(sim->core);
    for (uint32_t i = 0; i < sim->world.graph->steps.count && !is_cut; i++) {
        is_cut = sim->plans[i].leave != NULL;
    }
    if (result == RESULT_PENDING || ends_of(sim, step) != 1 || plan->runs_now) {
        SAY(sim, "s%u ended %u times: %s", step, ends_of(sim, step), step_result_name(result));
    }
    if (sim->settings.planning) {
        return;
    }
    if ((result == RESULT_OK || result == RESULT_CHANGED) && plan->starts[PHASE_RUN] == 0) {
        SAY(sim, "s%u is %s and was not started", step, step_result_name(result));
    }
    if (result == RESULT_FAILED && report->error == NULL) {
        SAY(sim, "s%u has failed without an error", step);
    }
    if (result == RESULT_BLOCKED && !has_edge(sim, step, RESULT_FAILED) &&
        !has_edge(sim, step, RESULT_BLOCKED)) {
        SAY(sim, "s%u is blocked by nothing", step);
    }
    if (result == RESULT_WAITING && !is_cut && !has_edge(sim, step, RESULT_WAITING)) {
        SAY(sim, "s%u still waits", step);
    }
}

static void check_replay(Sim *sim)
{
    uint32_t count = sim->world.graph->steps.count;
    StepStatus *results = ARENA_ARRAY(&sim->world.arena, StepStatus, count);
    for (uint32_t i = 0; i < count; i++) {
        results[i] = *status_of(sim, i);
    }
    Recording recording = { .graph = sim->world.graph,
                            .order = sim->settings.order,
                            .workers = sim->settings.workers,
                            .planning = sim->settings.planning,
                            .owed = sim->settings.owed,
                            .turns = run_core_turns(sim->core),
                            .results = results };
    Replay replay = replay_run(&recording, &sim->world.arena);
    if (replay.differs) {
        SAY(sim, "a replay differs at s%u: %.*s", replay.step, (int)replay.difference.len,
            replay.difference.data);
    }
}

static uint64_t digest(const Sim *sim)
{
    uint64_t sum = (uint64_t)sim->now_us;
    const Turns *turns = run_core_turns(sim->core);
    for (uint32_t i = 0; i < turns->list.len; i++) {
        const Turn *turn = &turns->list.items[i];
        sum = sum * 1099511628211u +
              (turn->work.step * 8u + turn->work.phase * 64u + (uint64_t)turn->kind * 512u +
               (uint64_t)turn->end * 4096u + (uint64_t)turn->status.result * 32768u);
    }
    return sum;
}

static uint64_t run_seed(uint64_t seed)
{
    Sim *sim = calloc(1, sizeof *sim);
    sim_init(sim, seed);
    run(sim);
    for (uint32_t i = 0; i < sim->world.graph->steps.count; i++) {
        check_end(sim, i);
    }
    if (sim->canceled_us >= 0 && sim->now_us > sim->longest_us + SECOND) {
        SAY(sim, "it was canceled at %" PRId64 " and ended at %" PRId64, sim->canceled_us,
            sim->now_us);
    }
    check_replay(sim);
    gave_up += run_core_timed_out(sim->core);
    canceled_runs += sim->canceled_us >= 0;
    uint64_t sum = digest(sim);
    sim_clear(sim);
    free(sim);
    return sum;
}

int main(int count, char **args)
{
    uint64_t first = count > 1 ? strtoull(args[1], NULL, 10) : 1;
    uint64_t runs = count > 2 ? strtoull(args[2], NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + runs && failures < 10; seed++) {
        uint64_t sum = run_seed(seed);
        if (seed % TWICE_EVERY == 0 && run_seed(seed) != sum) {
            failures++;
            printf("seed %llu: two runs differ\n", (unsigned long long)seed);
        }
    }
    if (runs >= 100 && (woken == 0 || waited == 0 || gave_up == 0 || canceled_runs == 0)) {
        failures++;
        printf("something never happened: %u waits, %u woken, %u out of time, %u canceled\n",
               waited, woken, gave_up, canceled_runs);
    }
    printf("%llu runs, %u steps woken, %u runs out of time, %u canceled, %u failures\n",
           (unsigned long long)runs, woken, gave_up, canceled_runs, failures);
    return failures > 0 ? 1 : 0;
}
