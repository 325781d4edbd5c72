/* A simulated node. Its disk is the fields marked as such: a crash of the agent drops its memory, a
 * crash of the machine also its processes. */
#include "fleet_node.h"

#include <stdlib.h>

#include "base/memory.h"

enum {
    ACTIONS_MAX = 100,
    OUTBOX_MAX = 256,
    BATCH_MAX = 3, /* maximum number of events per upload */
    STEP_MAX_MS = 3000,
    SLOW_STEP_MAX_MS = 60 * 1000,
    AGENT_DOWN_MS = 5000,
    FOREIGN_LOCK_MS = 8000,
};

const char *const sim_node_event_names[SIM_NODE_EVENTS] = {
    [SIM_STARTED] = "starts on nodes",
    [SIM_QUEUED] = "queues",
    [SIM_LOCKED] = "held locks",
    [SIM_REQUEUED] = "requeued runs",
    [SIM_SIGNALED] = "signals",
    [SIM_FORGOTTEN] = "forgotten runs",
    [SIM_AGENT_KILLED] = "killed agents",
    [SIM_RUNNER_KILLED] = "killed runners",
    [SIM_REBOOTED] = "reboots",
    [SIM_ACTED_AGAIN] = "repeated steps",
    [SIM_LOST] = "lost messages of nodes",
    [SIM_REPEATED] = "repeated messages of nodes",
};

/* A run on the node. */
typedef struct Run {
    /* On disk: */
    bool is_there, has_result, is_reported, is_withdrawn, was_forgotten;
    Order order;
    QueuePhase phase;
    uint32_t attempts, interruptions, signals, attempts_before, boot;
    int64_t signaled_ms, started_ms;
    NodeResult result;
    /* Events, written by the runner: */
    uint64_t events;
    uint32_t begun;
    QueueTail end; /* number of the last attempt that has started */
    NodeOutcome end_outcome;
    int64_t left_ms;
    uint32_t acts[SIM_STEPS];
    /* The runner: */
    bool is_alive;
    uint32_t step, stops; /* number of signals that it has received */
    int64_t acts_ms;
    /* Memory of the agent: */
    bool has_runner, was_watched, is_locked, is_notified;
    NodeOutcome reported;
    QueueTail tail;
    /* number of events when the runner ended; number of the next one to upload */
    uint64_t last, next;
    bool has_upload;
    uint64_t final_sequence;
    QueueSite site;
    int64_t fetched_ms;
    /* On the server: */
    uint64_t stored;
} Run;

typedef struct Letter {
    uint64_t sequence;
    uint32_t run;
    NodeResult result;
} Letter;

struct SimNode {
    SimNodeHost host;
    Run runs[SIM_RUNS_MAX];
    Letter outbox[OUTBOX_MAX]; /* number on disk */
    uint32_t letters;
    /* number of the last message; number of the last one that the server has */
    uint64_t sequence, accepted;
    uint32_t boot;
    bool is_agent, has_image;
    int64_t agent_ms;  /* time at which it starts again */
    int64_t locked_ms; /* another process holds the lock until then */
};

static int64_t random_below(const SimNode *node, int64_t below)
{
    return node->host.random_below(node->host.context, below);
}

static bool one_in(const SimNode *node, int64_t count)
{
    return random_below(node, count) == 0;
}

static int64_t now_of(const SimNode *node)
{
    return node->host.now_ms(node->host.context);
}

static void note(SimNode *node, SimNodeEvent event)
{
    node->host.note(node->host.context, event);
}

static void fail(SimNode *node, const char *what, const Run *run)
{
    node->host.fail(node->host.context, what, (uint32_t)(run - node->runs));
}

static bool is_apply(const Run *run)
{
    return run->order.kind == RUN_KIND_APPLY;
}

/* --- The runner ------------------------------------------------------------------------------ */

static bool is_lock_held(const SimNode *node)
{
    for (uint32_t i = 0; i < SIM_RUNS_MAX; i++) {
        if (node->runs[i].is_alive && is_apply(&node->runs[i])) {
            return true;
        }
    }
    return now_of(node) < node->locked_ms;
}

static QueueTail tail_of(const Run *run)
{
    return run->begun <= run->attempts_before ? TAIL_NONE : run->end;
}

/* The process has exited; its agent, if there is one, notices it. */
static void runner_exited(SimNode *node, Run *run, bool is_locked)
{
    run->is_alive = false;
    if (node->is_agent && run->has_runner) {
        run->has_runner = false;
        run->was_watched = true;
        run->is_locked = is_locked;
        run->tail = tail_of(run);
        run->last = run->events;
        run->has_upload = true;
    }
}

static void begin_step(SimNode *node, Run *run)
{
    run->events++;
    run->acts_ms =
        now_of(node) + 1 + random_below(node, one_in(node, 6) ? SLOW_STEP_MAX_MS : STEP_MAX_MS);
}

static void runner_start(SimNode *node, Run *run)
{
    if (run->is_alive) {
        fail(node, "a run has two runners", run);
    }
    note(node, SIM_STARTED);
    if (one_in(node, 10)) { /* exited a moment ago */
        node->locked_ms = now_of(node) + random_below(node, FOREIGN_LOCK_MS);
    }
    if (is_apply(run) && is_lock_held(node)) {
        note(node, SIM_LOCKED);
        run->has_runner = true;
        runner_exited(node, run, true);
        return;
    }
    run->is_alive = run->has_runner = true;
    run->step = run->stops = 0;
    run->events++;
    run->begun++;
    run->end = TAIL_OPEN;
    begin_step(node, run);
}

static void runner_end(SimNode *node, Run *run, QueueTail tail)
{
    run->events++;
    run->end = tail;
    run->end_outcome = one_in(node, 6) ? NODE_FAILED : NODE_CHANGED;
    run->left_ms = now_of(node);
    runner_exited(node, run, false);
}

static void act(SimNode *node, Run *run)
{
    run->acts[run->step]++;
    if (run->acts[run->step] > 1) {
        note(node, SIM_ACTED_AGAIN);
    }
    if (run->acts[run->step] > 1 && run->order.kind == RUN_KIND_EXEC) {
        fail(node, "a command was repeated", run);
    }
    run->events++;
    run->step++;
}

static void reboot(SimNode *node);

static void runner_runs(SimNode *node, Run *run)
{
    if (!run->is_alive || (now_of(node) < run->acts_ms && run->stops < 2)) {
        return;
    }
    if (run->stops < 2) {
        act(node, run);
    }
    if (run->stops > 0) {
        runner_end(node, run, TAIL_INTERRUPTED);
    } else if (run->step == SIM_STEPS) {
        runner_end(node, run, TAIL_ENDED);
    } else if (is_apply(run) && one_in(node, 30)) {
        runner_end(node, run, TAIL_REBOOTING);
        reboot(node);
    } else {
        begin_step(node, run);
    }
}

/* --- Faults ---------------------------------------------------------------------------------- */

static void kill_agent(SimNode *node)
{
    node->is_agent = false;
    node->agent_ms = now_of(node) + 1 + random_below(node, AGENT_DOWN_MS);
}

static void kill_runner(SimNode *node, Run *run)
{
    if (run->is_alive) {
        note(node, SIM_RUNNER_KILLED);
        runner_exited(node, run, false);
    }
}

static void kill_runners(SimNode *node)
{
    for (uint32_t i = 0; i < SIM_RUNS_MAX; i++) {
        kill_runner(node, &node->runs[i]);
    }
}

static void reboot(SimNode *node)
{
    note(node, SIM_REBOOTED);
    kill_agent(node);
    for (uint32_t i = 0; i < SIM_RUNS_MAX; i++) {
        node->runs[i].is_alive = false;
    }
    node->locked_ms = 0;
    node->boot++;
}

void sim_node_fault(SimNode *node)
{
    switch (random_below(node, 5)) {
    case 0:
        note(node, SIM_AGENT_KILLED);
        kill_agent(node);
        break;
    case 1:
        note(node, SIM_AGENT_KILLED);
        kill_agent(node);
        kill_runners(node);
        break;
    case 2: kill_runners(node); break;
    case 3: reboot(node); break;
    default:
        if (!is_lock_held(node)) {
            node->locked_ms = now_of(node) + random_below(node, FOREIGN_LOCK_MS);
        }
    }
}

/* --- Actions of the agent -------------------------------------------------------------------- */

static void start(SimNode *node, Run *run)
{
    if (run->has_result || run->order.is_canceled) {
        fail(node, "a run starts after its end or cancellation", run);
    }
    if (run->interruptions >= QUEUE_ATTEMPTS_MAX) {
        fail(node, "an interrupted run starts too often", run);
    }
    run->phase = QUEUE_STARTED;
    run->started_ms = now_of(node);
    run->attempts++;
    run->attempts_before = run->begun;
    run->signals = 0;
    run->boot = node->boot;
    run->tail = TAIL_NONE;
    run->was_watched = run->is_locked = false;
    if (one_in(node, 40)) { /* killed between the two steps */
        note(node, SIM_AGENT_KILLED);
        kill_agent(node);
        return;
    }
    runner_start(node, run);
}

static void conclude(SimNode *node, Run *run, NodeOutcome outcome)
{
    if (run->is_alive) {
        fail(node, "a result of a run that goes on", run);
    }
    for (uint32_t i = 0; i < SIM_STEPS; i++) {
        if (run->acts[i] > 1 && run->attempts <= 1) {
            fail(node, "a step acted twice, and the result does not say so", run);
        }
        if (run->acts[i] == 0 && (outcome == NODE_OK || outcome == NODE_CHANGED)) {
            fail(node, "a step did not act, and the result does not say so", run);
        }
    }
    run->has_result = true;
    run->result = (NodeResult){ .outcome = outcome,
                                .attempts = run->attempts,
                                .logged = run->last,
                                .since_ms = now_of(node),
                                .unknown = value_missing() };
}

static void forget(SimNode *node, Run *run)
{
    if (run->is_alive || run->begun > 0) {
        fail(node, "a run that has begun is forgotten", run);
    }
    note(node, SIM_FORGOTTEN);
    *run = (Run){ .was_forgotten = true };
}

static void requeue(SimNode *node, Run *run, bool counts)
{
    note(node, SIM_REQUEUED);
    run->phase = QUEUE_ACCEPTED;
    run->interruptions += counts;
    run->attempts -= run->is_locked;
}

static void send_signal(SimNode *node, Run *run, QueueActionKind kind)
{
    note(node, SIM_SIGNALED);
    run->signals = kind == QUEUE_INTERRUPT ? 1 : kind == QUEUE_STOP ? 2 : run->signals + 1;
    run->signaled_ms = now_of(node);
    if (kind == QUEUE_KILL) {
        kill_runner(node, run);
    } else if (!one_in(node, 4)) { /* a step need not react */
        run->stops = run->signals;
    }
}

static void perform(SimNode *node, Run *run, const QueueAction *action)
{
    switch (action->kind) {
    case QUEUE_FORGET: forget(node, run); break;
    case QUEUE_FETCH:
        run->site = one_in(node, 4) ? SITE_FAILED : SITE_READY;
        run->fetched_ms = now_of(node);
        break;
    case QUEUE_START: start(node, run); break;
    case QUEUE_REQUEUE: requeue(node, run, action->counts); break;
    case QUEUE_INTERRUPT:
    case QUEUE_STOP:
    case QUEUE_KILL: send_signal(node, run, action->kind); break;
    case QUEUE_STORE_RESULT: conclude(node, run, action->outcome); break;
    case QUEUE_STORE_LAST_RESULT:
        conclude(node, run,
                 action->outcome == NODE_CANCELED ? NODE_CANCELED
                 : run->tail == TAIL_INTERRUPTED  ? NODE_FAILED
                                                  : run->end_outcome);
        break;
    case QUEUE_WAIT: break;
    }
}

/* --- Deciding -------------------------------------------------------------------------------- */

typedef struct View {
    QueueView view;
    QueueRun runs[SIM_RUNS_MAX];
    Run *of[SIM_RUNS_MAX];
} View;

static void make_view(SimNode *node, View *out)
{
    *out = (View){
        .view = { .runs = out->runs, .is_locked = is_lock_held(node), .now_ms = now_of(node) }
    };
    for (uint32_t i = 0; i < SIM_RUNS_MAX; i++) {
        Run *run = &node->runs[i];
        if (run->is_there) {
            out->of[out->view.count] = run;
            out->runs[out->view.count++] = (QueueRun){
                .order = &run->order,
                .is_withdrawn = run->is_withdrawn,
                .phase = run->has_result ? QUEUE_ENDED : run->phase,
                .has_runner = run->has_runner,
                .was_watched = run->was_watched,
                .is_locked = run->is_locked,
                .tail = run->tail,
                .is_same_boot = run->boot == node->boot,
                .attempts = run->attempts,
                .interruptions = run->interruptions,
                .signals = run->signals,
                .signaled_ms = run->signaled_ms,
                .started_ms = run->started_ms,
                .reboot_ms = run->left_ms,
                .fetched_ms = run->fetched_ms,
                .site = run->site,
            };
        }
    }
}

static void check_queue(SimNode *node)
{
    uint32_t started[2] = { 0 };
    for (uint32_t i = 0; i < SIM_RUNS_MAX; i++) {
        const Run *run = &node->runs[i];
        if (run->is_alive && ++started[is_apply(run)] > 1) {
            fail(node, "two runs at the same time", run);
        }
    }
}

static void push(SimNode *node, Run *run, NodeResult result)
{
    if (node->letters == OUTBOX_MAX) {
        return; /* until there is space */
    }
    node->outbox[node->letters++] = (Letter){ .sequence = ++node->sequence,
                                              .run = (uint32_t)(run - node->runs),
                                              .result = result };
    run->is_notified = true;
    run->reported = result.outcome;
    run->final_sequence = node_outcome_is_final(result.outcome) ? node->sequence : 0;
}

static void report(SimNode *node, Run *run)
{
    bool is_uploaded = run->last == 0 || (run->has_upload && run->next > run->last);
    if (run->has_result) {
        if (!run->is_reported && run->final_sequence == 0 && is_uploaded) {
            push(node, run, run->result);
        }
        return;
    }
    NodeOutcome outcome = run->phase == QUEUE_ACCEPTED ? NODE_WAITING : NODE_RUNNING;
    if (!run->is_notified || run->reported != outcome) {
        push(node, run,
             (NodeResult){ .outcome = outcome,
                           .attempts = run->attempts,
                           .since_ms = now_of(node),
                           .unknown = value_missing() });
    }
}

static void observe(SimNode *node)
{
    View view;
    uint32_t i = 0;
    while (node->is_agent && node->has_image) {
        make_view(node, &view);
        QueueAction action = queue_decide(&view.view);
        if (action.kind == QUEUE_WAIT) {
            break;
        }
        if (++i > ACTIONS_MAX) {
            fail(node, "it never rests", view.of[action.run]);
            break;
        }
        perform(node, view.of[action.run], &action);
        check_queue(node);
    }
    for (uint32_t at = 0; node->is_agent && at < SIM_RUNS_MAX; at++) {
        if (node->runs[at].is_there) {
            report(node, &node->runs[at]);
        }
    }
}

/* What an agent finds on disk when it starts. */
static void agent_start(SimNode *node)
{
    node->is_agent = true;
    for (uint32_t i = 0; i < SIM_RUNS_MAX; i++) {
        Run *run = &node->runs[i];
        run->tail = tail_of(run);
        run->last = run->events;
        run->next = 1;
        run->was_watched = run->is_locked = run->is_notified = false;
        run->final_sequence = 0;
        run->has_runner = run->is_alive;
        run->has_upload = run->last > 0 && !run->is_reported;
        run->site = run->site == SITE_UNNEEDED ? SITE_UNNEEDED : SITE_MISSING;
    }
}

/* --- Messages -------------------------------------------------------------------------------- */

static void upload(SimNode *node, Run *run)
{
    if (!run->is_there || run->is_reported || run->next > run->events) {
        return;
    }
    run->has_upload = true;
    if (one_in(node, 8)) {
        note(node, SIM_LOST);
        return;
    }
    uint64_t last = run->next + (uint64_t)random_below(node, BATCH_MAX);
    last = last > run->events ? run->events : last;
    if (run->next <= run->stored) {
        note(node, SIM_REPEATED);
    }
    if (run->next <= run->stored + 1 && last > run->stored) {
        run->stored = last;
    }
    if (one_in(node, 8)) {
        note(node, SIM_LOST); /* the response is lost */
    } else {
        run->next = run->stored + 1;
    }
}

static void post(SimNode *node)
{
    if (node->letters == 0 || one_in(node, 8)) {
        return;
    }
    Letter letter = node->outbox[0];
    Run *run = &node->runs[letter.run];
    if (letter.sequence > node->accepted) {
        if (run->is_there && node_outcome_is_final(letter.result.outcome) &&
            run->stored != run->events) {
            fail(node, "a result without all of its events", run);
        }
        node->accepted = letter.sequence;
        node->host.report(node->host.context, letter.run, &letter.result);
    } else {
        note(node, SIM_REPEATED);
    }
    if (one_in(node, 8)) {
        note(node, SIM_LOST); /* the acknowledgment is lost */
        return;
    }
    node->letters--;
    for (uint32_t i = 0; i < node->letters; i++) {
        node->outbox[i] = node->outbox[i + 1];
    }
    if (run->final_sequence > 0 && run->final_sequence <= letter.sequence) {
        run->is_reported = true;
    }
}

void sim_node_orders_begin(SimNode *node)
{
    node->has_image = true;
    for (uint32_t i = 0; i < SIM_RUNS_MAX; i++) {
        node->runs[i].is_withdrawn = true;
    }
}

void sim_node_order(SimNode *node, uint32_t at, const Order *order)
{
    Run *run = &node->runs[at];
    if (!run->is_there) {
        *run = (Run){ .is_there = true,
                      .next = 1,
                      .site = order->kind == RUN_KIND_EXEC ? SITE_UNNEEDED : SITE_MISSING };
    }
    run->is_withdrawn = false;
    if (!run->has_result) {
        if (run->order.is_canceled && !order->is_canceled) {
            fail(node, "a canceled order is no longer canceled", run);
        }
        run->order = (Order){ .kind = order->kind,
                              .timeout_ms = order->timeout_ms,
                              .created_ms = order->created_ms,
                              .is_canceled = order->is_canceled };
    }
}

void sim_node_orders_end(SimNode *node)
{
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < SIM_RUNS_MAX; i++) {
        waiting += node->runs[i].is_there && !node->runs[i].has_result &&
                   node->runs[i].phase == QUEUE_ACCEPTED;
    }
    if (waiting > 1) {
        note(node, SIM_QUEUED);
    }
}

bool sim_node_has_agent(const SimNode *node)
{
    return node->is_agent;
}

void sim_node_step(SimNode *node, bool is_connected)
{
    for (uint32_t i = 0; i < SIM_RUNS_MAX; i++) {
        runner_runs(node, &node->runs[i]);
    }
    if (!node->is_agent && now_of(node) >= node->agent_ms) {
        agent_start(node);
    }
    observe(node);
    for (uint32_t i = 0; node->is_agent && is_connected && i < SIM_RUNS_MAX; i++) {
        upload(node, &node->runs[i]);
    }
    if (node->is_agent && is_connected) {
        post(node);
    }
}

bool sim_node_has_forgotten(const SimNode *node, uint32_t run)
{
    return node->runs[run].was_forgotten;
}

void sim_node_check_end(SimNode *node)
{
    for (uint32_t i = 0; i < SIM_RUNS_MAX; i++) {
        Run *run = &node->runs[i];
        if (run->is_there && !run->is_reported) {
            fail(node,
                 run->has_result ? "a result was not reported" : "a run does not end on a node",
                 run);
        }
        if (run->stored != run->events) {
            fail(node, "events are missing on the server", run);
        }
    }
}

SimNode *sim_node_new(const SimNodeHost *host)
{
    SimNode *node = memory_new(sizeof *node);
    node->host = *host;
    node->is_agent = true;
    return node;
}

void sim_node_free(SimNode *node)
{
    free(node);
}
