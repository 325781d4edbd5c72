/* Executes what run_queue.h decides: an entry per run with its runner, upload and site, stored on
 * disk by local_run.h. */
#include "agent/orders.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/run_groups.h"
#include "agent/run_reasons.h"
#include "agent/run_upload.h"
#include "agent/watched.h"
#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/visible.h"
#include "lang/json.h"
#include "run/lock.h"

enum {
    ACTIONS_MAX = 1000, /* maximum number of actions per run before the loop continues */
    STEP_SHOWN = 200,   /* bytes */
};

typedef struct Fetching Fetching;

/* One run. */
typedef struct Entry {
    Orders *orders;
    LocalRun *run;
    Str text;          /* text of the order */
    bool is_withdrawn; /* the server has deleted the order */
    Runner *runner;    /* NULL: none is running */
    RunUpload *upload; /* NULL: not started yet, or completed */
    bool was_watched, is_locked;
    DetachedProcessExit end;
    /* Read from the events after the runner has ended: */
    QueueTail tail;
    uint32_t attempts_before;
    uint64_t last;
    int64_t reboot_ms;
    /* The site: */
    QueueSite site;
    char *site_path, *servers_path;
    int64_t fetched_ms;
    char fetch_why[FLEET_REASON_MAX / 2];
    Fetching *fetching;
    /* The last report by this process: */
    bool is_notified;
    NodeOutcome reported;
    char reported_reason[FLEET_REASON_MAX + 1];
    char stopped[STEP_SHOWN]; /* which step ran when the runner was interrupted; empty: unknown */
    /* sequence number of the final result in the outbox; 0: not there yet */
    uint64_t final_sequence;
} Entry;

/* A fetch, which may outlive the entry. */
struct Fetching {
    Entry *entry; /* NULL once the entry is freed */
};

struct Orders {
    OrdersOptions options;
    VEC(Entry *) entries; /* oldest first */
    Arena arena;          /* holds the list */
    LoopTimer timer;
    RunGroups groups;
    const WatchedImage *image; /* the orders; NULL: not received yet */
    bool is_behind;            /* not all orders are stored */
    RefusedOrders refused;
    bool is_restored; /* the runs on disk were found */
};

static void schedule_check(Orders *orders)
{
    loop_timer_start(&orders->timer, 0);
}

static Str id_of(const Entry *entry)
{
    return str_from_c(entry->run->order.run);
}

static Entry *find_entry(const Orders *orders, Str id)
{
    for (uint32_t i = 0; i < orders->entries.len; i++) {
        if (str_eq(id_of(orders->entries.items[i]), id)) {
            return orders->entries.items[i];
        }
    }
    return NULL;
}

static bool is_running(void *context, Str id)
{
    const Entry *entry = find_entry(context, id);
    return entry != NULL && entry->runner != NULL;
}

static int64_t now_of(const Orders *orders)
{
    return loop_wall_ms(orders->options.loop);
}

/* --- Events ----------------------------------------------------------------------------------- */

static bool scan_events(Entry *entry, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text;
    if (!local_run_events(entry->orders->options.node.directory, entry->run, &arena, &text, err)) {
        return false;
    }
    RunEventScan scan = run_events_scan(text);
    entry->tail = local_run_tail(entry->run, &scan);
    entry->attempts_before = scan.begun;
    entry->last = scan.last;
    entry->reboot_ms = scan.end.at_ms;
    return true;
}

static void upload_progressed(void *context)
{
    schedule_check(((Entry *)context)->orders);
}

static GrpcClient *client_of(void *context)
{
    const OrdersOptions *options = &((Entry *)context)->orders->options;
    return options->client(options->context);
}

static void start_upload(Entry *entry)
{
    const OrdersOptions *options = &entry->orders->options;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    if (entry->upload == NULL &&
        (!local_run_open(options->node.directory, entry->run, &directory, &err) ||
         !run_upload_new(&(RunUploadOptions){ .loop = options->loop,
                                              .directory = &directory,
                                              .name = LOCAL_EVENTS,
                                              .node = options->node.name,
                                              .run = id_of(entry),
                                              .client = client_of,
                                              .progressed = upload_progressed,
                                              .context = entry },
                         &entry->upload, &err))) {
        log_warning("cannot upload the events of a run", LOG_STR("run", id_of(entry)),
                    LOG_C("error", err.text));
    }
    if (entry->upload != NULL) {
        run_upload_check(entry->upload);
    }
}

/* --- Runners ---------------------------------------------------------------------------------- */

static void runner_ended(void *context, DetachedProcessExit end)
{
    Entry *entry = context;
    Error err;
    entry->end = end;
    entry->was_watched = true;
    runner_release(TAKE(entry->runner));
    run_groups_sweep(&entry->orders->groups);
    if (!scan_events(entry, &err)) {
        log_error("cannot read the events of a run", LOG_STR("run", id_of(entry)),
                  LOG_C("error", err.text));
    }
    entry->is_locked =
        end.has_status && !end.by_signal && end.status == error_kind_exit_code(ERROR_CONFLICT);
    start_upload(entry);
    schedule_check(entry->orders);
}

static void runner_wrote(void *context)
{
    start_upload(context);
}

static RunnerOptions runner_options(Entry *entry)
{
    const OrdersOptions *options = &entry->orders->options;
    return (RunnerOptions){ .loop = options->loop,
                            .node = &options->node,
                            .run = entry->run,
                            .site = entry->site_path,
                            .servers = entry->servers_path,
                            .ended = runner_ended,
                            .wrote = runner_wrote,
                            .context = entry };
}

/* --- Results ---------------------------------------------------------------------------------- */

static bool finish(Entry *entry, NodeResult *result, Error *err)
{
    LocalRun *run = entry->run;
    result->started_ms = run->state.first_started_ms;
    result->ended_ms = result->since_ms = now_of(entry->orders);
    result->attempts = run->state.attempts;
    result->logged = entry->last;
    if (!local_run_conclude(entry->orders->options.node.directory, run, result, err)) {
        return false;
    }
    log_info("run ended", LOG_STR("run", id_of(entry)),
             LOG_C("outcome", node_outcome_name(result->outcome)),
             LOG_STR("reason", result->reason));
    return true;
}

static bool set_outcome(Entry *entry, NodeOutcome outcome, const char *reason, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf visible = buf_make_in(&arena, BUF_UNLIMITED);
    NodeResult result = { .outcome = outcome, .unknown = value_missing() };
    result.reason = str_from_c(reason);
    if (result.reason.len == 0 && entry->was_watched && outcome == NODE_FAILED) {
        result.reason = runner_explain(&entry->orders->options.node, entry->run, entry->end,
                                       entry->tail != TAIL_NONE, &arena);
    }
    visible_put(&visible, result.reason); /* the text may contain any bytes that a program wrote */
    result.reason = str_slice(buf_str(&visible), 0, FLEET_REASON_MAX - 8);
    return finish(entry, &result, err);
}

static bool adopt_end(Entry *entry, NodeOutcome outcome, const char *reason, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text;
    NodeResult result;
    if (!local_run_events(entry->orders->options.node.directory, entry->run, &arena, &text, err)) {
        return false;
    }
    if (!local_run_result(&arena, run_events_scan(text).end.text, &result, err)) {
        return set_outcome(entry, NODE_FAILED, err->text, err);
    }
    if (outcome == NODE_CANCELED) {
        result.outcome = outcome;
    } else if (entry->tail == TAIL_INTERRUPTED) {
        result.outcome = NODE_FAILED;
        result.reason = reason != NULL ? str_from_c(reason) : STR("it was interrupted by a signal");
    }
    return finish(entry, &result, err);
}

/* --- Actions ---------------------------------------------------------------------------------- */

static bool start(Entry *entry, Error *err)
{
    const OrdersOptions *options = &entry->orders->options;
    LocalState *state = &entry->run->state;
    LocalState former = *state;
    if (!scan_events(entry, err) ||
        !local_run_put_event(options->node.directory, entry->run, err) ||
        (entry->run->order.kind == RUN_KIND_EXEC &&
         !local_run_put_command(options->node.directory, entry->run, err))) {
        return false;
    }
    state->phase = QUEUE_STARTED;
    state->started_ms = now_of(entry->orders);
    state->first_started_ms = state->attempts == 0 ? state->started_ms : state->first_started_ms;
    state->attempts++;
    state->attempts_before = entry->attempts_before;
    state->signals = 0;
    snprintf(state->boot, sizeof state->boot, "%.*s", (int)options->boot_id.len,
             options->boot_id.data);
    if (!local_run_save(options->node.directory, entry->run, err)) {
        *state = former;
        return false;
    }
    entry->tail = TAIL_NONE;
    entry->was_watched = entry->is_locked = false;
    run_groups_sweep(&entry->orders->groups);
    RunnerOptions runner = runner_options(entry);
    if (runner_find(&runner, &entry->runner)) {
        /* Started by an earlier agent; not found until now, because it did not hold its lock yet. */
        state->attempts_before = former.attempts_before;
        return local_run_save(options->node.directory, entry->run, err);
    }
    Error why;
    if (!runner_start(&runner, &entry->runner, &why)) {
        return set_outcome(entry, NODE_FAILED, why.text, err);
    }
    log_info("run started", LOG_STR("run", id_of(entry)), LOG_INT("pid", runner_pid(entry->runner)),
             LOG_INT("attempt", state->attempts));
    return true;
}

static bool requeue(Entry *entry, bool counts, Error *err)
{
    LocalState *state = &entry->run->state;
    LocalState former = *state;
    state->phase = QUEUE_ACCEPTED;
    state->interruptions += counts;
    state->attempts -= entry->is_locked;
    if (!local_run_save(entry->orders->options.node.directory, entry->run, err)) {
        *state = former;
        return false;
    }
    if (counts) {
        log_warning("run was interrupted; starting it again", LOG_STR("run", id_of(entry)),
                    LOG_INT("interruptions", state->interruptions));
    }
    return true;
}

static bool send_signal(Entry *entry, QueueActionKind kind)
{
    LocalState *state = &entry->run->state;
    state->signals = kind == QUEUE_INTERRUPT ? 1 : kind == QUEUE_STOP ? 2 : state->signals + 1;
    state->signaled_ms = now_of(entry->orders);
    describe_running_step(entry->orders->options.node.directory, entry->run, entry->stopped,
                          sizeof entry->stopped);
    log_info(kind == QUEUE_INTERRUPT ? "interrupting a run"
             : kind == QUEUE_STOP    ? "stopping the steps of a run"
                                     : "killing a run",
             LOG_STR("run", id_of(entry)));
    if (kind == QUEUE_KILL) {
        runner_kill(entry->runner);
    } else {
        runner_cancel(entry->runner, kind == QUEUE_STOP);
    }
    Error ignored; /* if this fails, the next agent sends another report */
    (void)!local_run_save(entry->orders->options.node.directory, entry->run, &ignored);
    return true;
}

static void site_failed(Entry *entry, const Error *err)
{
    entry->site = SITE_FAILED;
    entry->fetched_ms = now_of(entry->orders);
    snprintf(entry->fetch_why, sizeof entry->fetch_why, "%.200s", err->text);
}

static void replace_path(char **path, const char *next)
{
    free(*path);
    *path = next == NULL ? NULL : strdup(next);
    if (next != NULL && *path == NULL) {
        memory_exhausted(strlen(next));
    }
}

static void fetched(void *context, const char *path, const char *servers, const Error *err)
{
    Fetching *fetching = context;
    Entry *entry = fetching->entry;
    free(fetching);
    if (entry == NULL) {
        return;
    }
    entry->fetching = NULL;
    if (path != NULL) {
        replace_path(&entry->site_path, path);
        replace_path(&entry->servers_path, servers);
        entry->site = SITE_READY;
    } else {
        site_failed(entry, err);
    }
    schedule_check(entry->orders);
}

static void fetch(Entry *entry)
{
    const OrdersOptions *options = &entry->orders->options;
    const Order *order = &entry->run->order;
    entry->site = SITE_FETCHING;
    entry->fetching = memory_new(sizeof *entry->fetching);
    entry->fetching->entry = entry;
    options->fetch(options->context, str_from_c(order->manifest), str_from_c(order->version),
                   fetched, entry->fetching);
}

/* --- Entries ---------------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    const Entry *first = *(Entry *const *)a, *second = *(Entry *const *)b;
    int64_t first_ms = first->run->order.created_ms, second_ms = second->run->order.created_ms;
    return first_ms != second_ms ? (first_ms > second_ms) - (first_ms < second_ms)
                                 : str_compare(id_of(first), id_of(second));
}

static Entry *add_entry(Orders *orders, LocalRun *run)
{
    Entry *entry = memory_new(sizeof *entry);
    entry->orders = orders;
    entry->run = run;
    entry->site = run->order.kind == RUN_KIND_EXEC ? SITE_UNNEEDED : SITE_MISSING;
    VEC_PUSH(&orders->arena, &orders->entries, entry);
    qsort(orders->entries.items, orders->entries.len, sizeof(Entry *), compare_entries);
    return entry;
}

static void free_entry(Entry *entry)
{
    if (entry->fetching != NULL) {
        entry->fetching->entry = NULL;
    }
    runner_release(entry->runner);
    run_upload_free(entry->upload);
    local_run_free(entry->run);
    free(entry->site_path);
    free(entry->servers_path);
    free(entry);
}

static void forget(Orders *orders, uint32_t at)
{
    Entry *entry = orders->entries.items[at];
    local_run_remove(orders->options.node.directory, id_of(entry));
    log_info("run withdrawn before it started", LOG_STR("run", id_of(entry)));
    free_entry(entry);
    orders->entries.len--;
    memmove(&orders->entries.items[at], &orders->entries.items[at + 1],
            (orders->entries.len - at) * sizeof(Entry *));
}

/* Deletes the oldest runs whose reports have completely reached the server. */
static void delete_old_runs(Orders *orders)
{
    uint32_t excess = 0;
    for (uint32_t i = orders->entries.len; i-- > 0;) {
        Entry *entry = orders->entries.items[i];
        bool is_reported = entry->run->has_result && entry->run->state.is_reported;
        excess += is_reported;
        if (is_reported && entry->is_withdrawn && excess > LOCAL_RUNS_RETAINED) {
            local_run_remove(orders->options.node.directory, id_of(entry));
            free_entry(entry);
            orders->entries.len--;
            memmove(&orders->entries.items[i], &orders->entries.items[i + 1],
                    (orders->entries.len - i) * sizeof(Entry *));
        }
    }
}

/* --- Deciding --------------------------------------------------------------------------------- */

static QueueRun queue_run(const Entry *entry)
{
    const LocalState *state = &entry->run->state;
    return (QueueRun){
        .order = &entry->run->order,
        .is_withdrawn = entry->is_withdrawn,
        .phase = entry->run->has_result ? QUEUE_ENDED : state->phase,
        .has_runner = entry->runner != NULL,
        .was_watched = entry->was_watched,
        .is_locked = entry->is_locked,
        .tail = entry->tail,
        .is_same_boot = str_eq_c(entry->orders->options.boot_id, state->boot),
        .attempts = state->attempts,
        .interruptions = state->interruptions,
        .signals = state->signals,
        .signaled_ms = state->signaled_ms,
        .started_ms = state->started_ms,
        .reboot_ms = entry->reboot_ms,
        .fetched_ms = entry->fetched_ms,
        .site = entry->site,
    };
}

static QueueView make_view(const Orders *orders, Arena *arena)
{
    QueueRun *runs = ARENA_ARRAY(arena, QueueRun, orders->entries.len + 1);
    for (uint32_t i = 0; i < orders->entries.len; i++) {
        runs[i] = queue_run(orders->entries.items[i]);
    }
    return (QueueView){ .runs = runs,
                        .count = orders->entries.len,
                        .is_locked = run_lock_is_held(orders->options.state),
                        .now_ms = now_of(orders) };
}

static bool perform(Orders *orders, const QueueAction *action, Error *err)
{
    Entry *entry = orders->entries.items[action->run];
    switch (action->kind) {
    case QUEUE_FORGET: forget(orders, action->run); return true;
    case QUEUE_FETCH: fetch(entry); return true;
    case QUEUE_START: return start(entry, err);
    case QUEUE_REQUEUE: return requeue(entry, action->counts, err);
    case QUEUE_INTERRUPT:
    case QUEUE_STOP:
    case QUEUE_KILL: return send_signal(entry, action->kind);
    case QUEUE_STORE_RESULT: return set_outcome(entry, action->outcome, action->reason, err);
    case QUEUE_STORE_LAST_RESULT: return adopt_end(entry, action->outcome, action->reason, err);
    case QUEUE_WAIT: break;
    }
    BUG("no such action");
}

/* --- Reporting -------------------------------------------------------------------------------- */

static Str describe_wait(const Orders *orders, const QueueView *view, uint32_t at, Arena *arena)
{
    const Entry *entry = orders->entries.items[at];
    uint32_t blocking_run;
    WaitReason why = { .wait = queue_wait(view, at, &blocking_run),
                       .state = orders->options.state,
                       .version = entry->run->order.version,
                       .fetch_error = entry->site == SITE_FAILED ? entry->fetch_why : NULL };
    why.blocking_run =
        why.wait == WAIT_RUN ? orders->entries.items[blocking_run]->run->order.run : NULL;
    return wait_reason(&why, arena);
}

static bool is_uploaded(const Entry *entry)
{
    return entry->last == 0 ||
           (entry->upload != NULL && run_upload_is_complete(entry->upload, entry->last));
}

static void send_result(Entry *entry, const NodeResult *result)
{
    const OrdersOptions *options = &entry->orders->options;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    uint64_t sequence;
    Error err;
    node_result_print(result, &text);
    if (!options->report(options->context, id_of(entry), buf_str(&text), &sequence, &err)) {
        log_debug("cannot report a result now", LOG_STR("run", id_of(entry)),
                  LOG_C("error", err.text));
        return;
    }
    entry->is_notified = true;
    entry->reported = result->outcome;
    snprintf(entry->reported_reason, sizeof entry->reported_reason, "%.*s", (int)result->reason.len,
             result->reason.data);
    entry->final_sequence = node_outcome_is_final(result->outcome) ? sequence : 0;
}

static void report(Orders *orders, const QueueView *view, uint32_t at, Arena *arena)
{
    Entry *entry = orders->entries.items[at];
    const LocalState *state = &entry->run->state;
    if (entry->run->has_result) {
        if (!state->is_reported && entry->final_sequence == 0 && is_uploaded(entry)) {
            send_result(entry, &entry->run->result);
        }
        return;
    }
    NodeResult result = { .outcome = NODE_RUNNING,
                          .started_ms = state->first_started_ms,
                          .since_ms = view->now_ms,
                          .attempts = state->attempts,
                          .unknown = value_missing() };
    if (view->runs[at].phase == QUEUE_ACCEPTED) {
        result.outcome = NODE_WAITING;
        result.reason = describe_wait(orders, view, at, arena);
    } else if (entry->runner == NULL && entry->tail == TAIL_REBOOTING) {
        result.reason = STR("the machine is rebooting");
    } else if (entry->runner != NULL && state->signals > 0) {
        result.reason = stop_reason(entry->run, entry->stopped, arena);
    }
    result.reason = str_slice(result.reason, 0, FLEET_REASON_MAX - 8);
    if (!entry->is_notified || entry->reported != result.outcome ||
        !str_eq_c(result.reason, entry->reported_reason)) {
        send_result(entry, &result);
    }
}

/* --- Orders of the server --------------------------------------------------------------------- */

static bool reject_order(Orders *orders, RefusedOrder *refused)
{
    return refused_order_report(refused, now_of(orders), orders->options.report,
                                orders->options.context);
}

static void update_order(Entry *entry, Str text)
{
    Error err;
    if (str_eq(entry->text, text) || entry->run->has_result) {
        return;
    }
    if (!local_run_put_order(entry->orders->options.node.directory, entry->run, text, &err)) {
        log_error("cannot process a changed order", LOG_STR("run", id_of(entry)),
                  LOG_C("error", err.text));
        return;
    }
    entry->text = arena_copy(&entry->run->arena, text);
}

/* Returns false if the disk fails, or the outbox is full. */
static bool add_order(Orders *orders, Str id, Str text)
{
    Error err;
    LocalRun *run;
    Entry *entry = find_entry(orders, id);
    if (entry != NULL) {
        entry->is_withdrawn = false;
        update_order(entry, text);
        return true;
    }
    if (!run_id_check(id, &err)) {
        return true;
    }
    RefusedOrder *refused = refused_orders_find(&orders->refused, id);
    if (refused != NULL && refused->is_damaged) {
        return reject_order(orders, refused);
    }
    if (local_run_create(orders->options.node.directory, id, text, now_of(orders), &run, &err)) {
        entry = add_entry(orders, run);
        entry->text = arena_copy(&run->arena, text);
        log_info("order received", LOG_STR("run", id),
                 LOG_C("kind", run_kind_name(run->order.kind)));
        return true;
    }
    if (err.kind == ERROR_INVALID || err.kind == ERROR_LIMIT) {
        return reject_order(orders, refused_orders_add(&orders->refused, id, false, &err));
    }
    log_error("cannot store an order; will retry", LOG_STR("run", id), LOG_C("error", err.text));
    return false;
}

static void add_orders(Orders *orders)
{
    const WatchedImage *image = orders->image;
    orders->is_behind = false;
    for (uint32_t i = 0; i < orders->entries.len; i++) {
        orders->entries.items[i]->is_withdrawn = true;
    }
    refused_orders_withdraw(&orders->refused);
    for (uint32_t i = 0; i < image->entries.len; i++) {
        const WatchedEntry *entry = &image->entries.items[i];
        if (!add_order(orders, watched_key_name(entry->key), entry->value)) {
            orders->is_behind = true;
        }
    }
    refused_orders_drop(&orders->refused, orders->options.node.directory);
}

/* --- Runs of an earlier agent ----------------------------------------------------------------- */

static void restore(Orders *orders, Str id)
{
    LocalRun *run;
    Error err;
    if (!local_run_load(orders->options.node.directory, id, &run, &err)) {
        if (err.kind == ERROR_NOT_FOUND) { /* the run was not accepted; its order still exists */
            local_run_remove(orders->options.node.directory, id);
            return;
        }
        log_error("cannot read a run; it will not be continued", LOG_STR("run", id),
                  LOG_C("error", err.text));
        (void)refused_orders_add(&orders->refused, id, true, &err);
        return;
    }
    Entry *entry = add_entry(orders, run);
    RunnerOptions runner = runner_options(entry);
    if (!scan_events(entry, &err)) {
        log_error("cannot read the events of a run", LOG_STR("run", id), LOG_C("error", err.text));
        entry->tail = TAIL_OPEN; /* the run may have started */
    }
    if (!run->has_result && run->state.phase == QUEUE_STARTED &&
        runner_find(&runner, &entry->runner)) {
        log_info("found a run in progress", LOG_STR("run", id),
                 LOG_INT("pid", runner_pid(entry->runner)));
    }
    if (!run->state.is_reported && entry->last > 0) {
        start_upload(entry);
    }
}

/* No run is started until all runs on disk are known: otherwise one might be started twice. */
static bool restore_all(Orders *orders)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str *ids;
    uint32_t count;
    Error err;
    if (!local_runs_list(orders->options.node.path, &arena, &ids, &count, &err)) {
        log_error("cannot list the runs of this node; will retry", LOG_C("error", err.text));
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        restore(orders, ids[i]);
    }
    run_groups_sweep(&orders->groups);
    return true;
}

/* --- The loop --------------------------------------------------------------------------------- */

static void check_all(void *context)
{
    Orders *orders = context;
    if (!orders->is_restored && !(orders->is_restored = restore_all(orders))) {
        loop_timer_start(&orders->timer, ORDERS_RETRY_MS);
        return;
    }
    if (orders->is_behind) {
        add_orders(orders);
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    QueueAction action = { .check_ms = INT64_MAX };
    QueueView view = make_view(orders, &arena);
    Error err;
    for (uint32_t i = 0; orders->image != NULL && i < ACTIONS_MAX; i++) {
        action = queue_decide(&view);
        if (action.kind == QUEUE_WAIT) {
            break;
        }
        if (!perform(orders, &action, &err)) {
            log_error("cannot continue a run; will retry", LOG_C("error", err.text));
            action.check_ms = view.now_ms + ORDERS_RETRY_MS;
            break;
        }
        view = make_view(orders, &arena);
        action.check_ms = view.now_ms;
    }
    for (uint32_t i = 0; i < view.count; i++) {
        report(orders, &view, i, &arena);
    }
    delete_old_runs(orders);
    if (orders->is_behind && action.check_ms > view.now_ms + ORDERS_RETRY_MS) {
        action.check_ms = view.now_ms + ORDERS_RETRY_MS;
    }
    if (action.check_ms != INT64_MAX) {
        int64_t delay = action.check_ms - view.now_ms;
        loop_timer_start(&orders->timer, delay > 0 ? delay : 0);
    }
}

void orders_set(Orders *orders, const WatchedImage *image)
{
    orders->image = image;
    orders->is_behind = true;
    check_all(orders);
}

void orders_stored(Orders *orders, uint64_t sequence)
{
    Error err;
    for (uint32_t i = 0; i < orders->entries.len; i++) {
        Entry *entry = orders->entries.items[i];
        if (entry->final_sequence == 0 || entry->final_sequence > sequence ||
            entry->run->state.is_reported) {
            continue;
        }
        entry->run->state.is_reported = true;
        run_upload_free(TAKE(entry->upload));
        if (!local_run_save(orders->options.node.directory, entry->run, &err)) {
            log_warning("a result may be reported twice", LOG_STR("run", id_of(entry)),
                        LOG_C("error", err.text));
        }
    }
}

void orders_room(Orders *orders)
{
    schedule_check(orders);
}

void orders_connected(Orders *orders)
{
    for (uint32_t i = 0; i < orders->entries.len; i++) {
        if (orders->entries.items[i]->upload != NULL) {
            run_upload_connected(orders->entries.items[i]->upload);
        }
    }
}

/* --- Lifecycle -------------------------------------------------------------------------------- */

Orders *orders_open(const OrdersOptions *options)
{
    Orders *orders = memory_new(sizeof *orders);
    orders->options = *options;
    arena_init(&orders->arena, ARENA_UNLIMITED);
    refused_orders_init(&orders->refused);
    orders->options.node.name = arena_copy(&orders->arena, options->node.name);
    orders->options.boot_id = arena_copy(&orders->arena, options->boot_id);
    loop_timer_init(&orders->timer, options->loop, check_all, orders);
    run_groups_init(&orders->groups, options->loop, is_running, orders);
    orders->is_restored = restore_all(orders);
    return orders;
}

void orders_close(Orders *orders)
{
    if (orders == NULL) {
        return;
    }
    loop_timer_stop(&orders->timer);
    run_groups_stop(&orders->groups);
    for (uint32_t i = 0; i < orders->entries.len; i++) {
        free_entry(orders->entries.items[i]);
    }
    refused_orders_clear(&orders->refused);
    arena_clear(&orders->arena);
    free(orders);
}
