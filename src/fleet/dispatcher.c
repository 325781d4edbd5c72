/* Each run has at most one transaction in progress, which compares the leader's fence and the run's
 * record. The next step of the run is planned when the state includes the write, so that no step is
 * planned from outdated data. */
#include "fleet/dispatcher.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/state.h"
#include "fleet/dispatch_target.h"

enum {
    RETRY_MS = 1000,
    BATCH_BYTES = 1 << 20, /* maximum size of the orders in one transaction */
};

/* A transaction of a run, and afterwards the revision that the state does not include yet. */
typedef struct Write {
    struct Write *next;
    Dispatcher *dispatcher; /* NULL once freed */
    char run[RUN_ID_MAX + 1];
    int64_t revision; /* 0: the transaction is in progress */
} Write;

struct Dispatcher {
    DispatcherOptions options;
    Arena arena;
    StateView view; /* what plans depend on */
    Write *writes;
    LoopTask check;
    LoopTimer timer;
    bool is_deposed; /* the fence did not hold */
};

/* --- Writing --------------------------------------------------------------------------------- */

static Write *find_write(const Dispatcher *dispatcher, Str run)
{
    Write *write = dispatcher->writes;
    while (write != NULL && !str_eq_c(run, write->run)) {
        write = write->next;
    }
    return write;
}

static void unlink_write(Dispatcher *dispatcher, const Write *write)
{
    Write **link = &dispatcher->writes;
    while (*link != write) {
        link = &(*link)->next;
    }
    *link = write->next;
}

/* Drops writes that the state includes. */
static void drop_completed(Dispatcher *dispatcher)
{
    int64_t revision = state_age(dispatcher->options.cluster_store.state).revision;
    for (Write **link = &dispatcher->writes; *link != NULL;) {
        Write *write = *link;
        if (write->revision == 0 || write->revision > revision) {
            link = &write->next;
            continue;
        }
        *link = write->next;
        free(write);
    }
}

static bool is_fenced_out(const Dispatcher *dispatcher, const StoreReply *reply)
{
    const StoreOpReply *leader = &reply->ops[0];
    return leader->kv_count == 0 ||
           leader->kvs[0].create_revision != dispatcher->options.fence.number;
}

static void written(void *context, const StoreReply *reply, const Error *err)
{
    Write *write = context;
    Dispatcher *dispatcher = write->dispatcher;
    if (dispatcher == NULL) {
        free(write);
        return;
    }
    if (err == NULL && reply->succeeded) {
        write->revision = reply->revision;
        loop_defer(dispatcher->options.cluster_store.loop, &dispatcher->check);
        return;
    }
    if (err == NULL && is_fenced_out(dispatcher, reply)) {
        dispatcher->is_deposed = true;
    } else if (err != NULL) {
        log_warning("cannot continue a run; retrying", LOG_C("run", write->run),
                    LOG_C("error", err->text));
    }
    unlink_write(dispatcher, write);
    free(write);
    loop_timer_start(&dispatcher->timer, RETRY_MS);
}

static void start_write(Dispatcher *dispatcher, const RunEntry *run, const StoreTxn *txn)
{
    const StoreOp leader = { .kind = STORE_RANGE,
                             .key = dispatcher->options.fence.key,
                             .keys_only = true };
    StoreTxn fenced = *txn;
    fenced.failure = &leader;
    fenced.failure_count = 1;
    Write *write = memory_new(sizeof *write);
    write->dispatcher = dispatcher;
    memcpy(write->run, run->id.data, run->id.len);
    write->next = dispatcher->writes;
    dispatcher->writes = write;
    Error err;
    if (!store_txn(dispatcher->options.cluster_store.store, &fenced, written, write, &err)) {
        written(write, NULL, &err);
    }
}

static Str run_key(const Dispatcher *dispatcher, Arena *arena, const RunEntry *run)
{
    return key_make(arena, dispatcher->options.cluster_store.prefix, KEY_RUN, &run->id, 1);
}

static Str order_key(const Dispatcher *dispatcher, Arena *arena, const RunEntry *run, Str node)
{
    return key_make(arena, dispatcher->options.cluster_store.prefix, KEY_ORDER,
                    (Str[]){ node, run->id }, 2);
}

/* Compares the fence, and the record as it was when the step was planned. */
static void base_compares(const Dispatcher *dispatcher, Arena *arena, const RunEntry *run,
                          StoreCompare out[2])
{
    out[0] = dispatcher->options.fence;
    out[1] = (StoreCompare){ .target = STORE_MOD_REVISION,
                             .relation = STORE_EQUAL,
                             .key = run_key(dispatcher, arena, run),
                             .number = run->revision };
}

/* A new order must not follow a result, and a canceled one must not be written again after it. */
static void write_orders(Dispatcher *dispatcher, Arena *arena, const RunEntry *run,
                         const DispatchStep *step)
{
    StoreCompare compares[2 + DISPATCH_BATCH_MAX];
    StoreOp ops[DISPATCH_BATCH_MAX];
    Order order = fleet_run_order(&run->record);
    Buf value = buf_make_in(arena, BUF_UNLIMITED);
    uint32_t count = 0;
    order_print(&order, &value);
    base_compares(dispatcher, arena, run, compares);
    for (uint32_t i = 0; i < step->target_count && (count + 1) * value.len <= BATCH_BYTES; i++) {
        uint32_t index = step->targets[i];
        Str node = run->record.targets[index];
        Str key = order_key(dispatcher, arena, run, node);
        bool is_new = run->targets[index].order_revision == 0;
        compares[2 + count] = (StoreCompare){
            .target = STORE_VERSION,
            .relation = is_new ? STORE_EQUAL : STORE_GREATER,
            .key = is_new ? key_make(arena, dispatcher->options.cluster_store.prefix, KEY_RUN_NODE,
                                     (Str[]){ run->id, node }, 2)
                          : key,
        };
        ops[count++] = (StoreOp){ .kind = STORE_PUT, .key = key, .value = buf_str(&value) };
    }
    start_write(dispatcher, run,
                &(StoreTxn){ .compares = compares,
                             .compare_count = 2 + count,
                             .success = ops,
                             .success_count = count });
}

static void withdraw_orders(Dispatcher *dispatcher, Arena *arena, const RunEntry *run,
                            const DispatchStep *step)
{
    StoreCompare compares[2];
    StoreOp ops[DISPATCH_BATCH_MAX];
    base_compares(dispatcher, arena, run, compares);
    for (uint32_t i = 0; i < step->target_count; i++) {
        Str node = run->record.targets[step->targets[i]];
        ops[i] = (StoreOp){ .kind = STORE_DELETE, .key = order_key(dispatcher, arena, run, node) };
    }
    start_write(dispatcher, run,
                &(StoreTxn){ .compares = compares,
                             .compare_count = 2,
                             .success = ops,
                             .success_count = step->target_count });
}

static void write_state(Dispatcher *dispatcher, Arena *arena, const RunEntry *run,
                        FleetRunState state)
{
    StoreCompare compares[2];
    FleetRun record = run->record;
    Buf value = buf_make_in(arena, BUF_UNLIMITED);
    record.state = state;
    record.ended_ms = state == RUN_ENDED ? loop_wall_ms(dispatcher->options.cluster_store.loop) : 0;
    fleet_run_print(&record, &value);
    base_compares(dispatcher, arena, run, compares);
    const StoreOp op = { .kind = STORE_PUT,
                         .key = run_key(dispatcher, arena, run),
                         .value = buf_str(&value) };
    start_write(dispatcher, run,
                &(StoreTxn){
                    .compares = compares, .compare_count = 2, .success = &op, .success_count = 1 });
    if (state == RUN_ENDED) {
        log_info("run ended", LOG_STR("run", run->id));
    }
}

/* --- Planning -------------------------------------------------------------------------------- */

/* Whether a newer run by a version exists. */
static bool is_superseded(const FleetRuns *runs, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (fleet_runs_at(runs, i)->record.cause == RUN_BY_VERSION) {
            return true;
        }
    }
    return false;
}

/* Returns the time after which the run must be checked again; 0: when something changes. */
static int64_t continue_run(Dispatcher *dispatcher, const RunEntry *run, uint32_t index,
                            int64_t lost_ms)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const FleetRun *record = &run->record;
    DispatchTarget *targets = ARENA_ARRAY(&arena, DispatchTarget, record->target_count + 1);
    int64_t now_ms = loop_wall_ms(dispatcher->options.cluster_store.loop);
    DispatchRun input = { .state = record->state,
                          .cause = record->cause,
                          .canceled_revision = record->is_canceled ? run->revision : 0,
                          .is_superseded = is_superseded(dispatcher->options.runs, index),
                          .lost_ms = lost_ms };
    DispatchStep step;
    for (uint32_t i = 0; i < record->target_count; i++) {
        const RosterNode *node =
            roster_find(dispatcher->options.cluster_store.roster, record->targets[i]);
        targets[i] = dispatch_target(run, i, node, now_ms);
    }
    dispatch_plan(&input, targets, record->target_count, &step);
    switch (step.action) {
    case DISPATCH_WAIT: return step.wait_ms;
    case DISPATCH_ORDER: write_orders(dispatcher, &arena, run, &step); break;
    case DISPATCH_WITHDRAW: withdraw_orders(dispatcher, &arena, run, &step); break;
    case DISPATCH_RUNNING: write_state(dispatcher, &arena, run, RUN_RUNNING); break;
    case DISPATCH_END: write_state(dispatcher, &arena, run, RUN_ENDED); break;
    }
    return 0;
}

static void delete_run(Dispatcher *dispatcher, const RunEntry *run)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StoreCompare compares[2];
    Str key = run_key(dispatcher, &arena, run);
    Str below = arena_format(&arena, "%" STR_FMT "/", STR_ARG(key));
    const StoreOp ops[] = {
        { .kind = STORE_DELETE, .key = key },
        { .kind = STORE_DELETE, .key = below, .end = store_prefix_end(&arena, below) },
    };
    base_compares(dispatcher, &arena, run, compares);
    start_write(dispatcher, run,
                &(StoreTxn){ .compares = compares,
                             .compare_count = 2,
                             .success = ops,
                             .success_count = COUNT_OF(ops) });
}

static void check_runs(void *context)
{
    Dispatcher *dispatcher = context;
    const FleetRuns *runs = dispatcher->options.runs;
    int64_t next_ms = 0;
    drop_completed(dispatcher);
    if (dispatcher->is_deposed || state_age(dispatcher->options.cluster_store.state).is_behind) {
        return;
    }
    int64_t lost_ms = dispatch_lost_ms(&dispatcher->options.cluster_store);
    for (uint32_t i = 0; i < fleet_runs_count(runs); i++) {
        const RunEntry *run = fleet_runs_at(runs, i);
        bool has_work = run->record.state != RUN_ENDED || run->order_count > 0;
        if (has_work && run->error.len == 0 && find_write(dispatcher, run->id) == NULL) {
            int64_t wait_ms = continue_run(dispatcher, run, i, lost_ms);
            next_ms = wait_ms > 0 && (next_ms == 0 || wait_ms < next_ms) ? wait_ms : next_ms;
        }
    }
    const RunEntry *old = fleet_runs_excess(runs);
    if (old != NULL && find_write(dispatcher, old->id) == NULL) {
        delete_run(dispatcher, old);
    }
    if (next_ms > 0) {
        loop_timer_start(&dispatcher->timer, next_ms);
    }
}

/* Changes that arrive together are planned once. */
static void check_soon(void *context)
{
    Dispatcher *dispatcher = context;
    if (!dispatcher->is_deposed) {
        loop_defer(dispatcher->options.cluster_store.loop, &dispatcher->check);
    }
}

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    /* settled() follows. */
}

static void on_timer(void *context)
{
    check_runs(context);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

Dispatcher *dispatcher_new(const DispatcherOptions *options)
{
    Dispatcher *dispatcher = memory_new(sizeof *dispatcher);
    arena_init(&dispatcher->arena, ARENA_UNLIMITED);
    dispatcher->options = *options;
    dispatcher->options.cluster_store.prefix =
        arena_copy(&dispatcher->arena, options->cluster_store.prefix);
    dispatcher->options.fence.key = arena_copy(&dispatcher->arena, options->fence.key);
    loop_task_init(&dispatcher->check, check_runs, dispatcher);
    loop_timer_init(&dispatcher->timer, options->cluster_store.loop, on_timer, dispatcher);
    dispatcher->view = (StateView){
        .kinds = STATE_KIND(KEY_RUN) | STATE_KIND(KEY_RUN_NODE) | STATE_KIND(KEY_ORDER) |
                 STATE_KIND(KEY_NODE) | STATE_KIND(KEY_NODE_ALIVE) | STATE_KIND(KEY_NODE_SILENT) |
                 STATE_KIND(KEY_OBJECT),
        .changed = changed,
        .settled = check_soon,
        .age_changed = check_soon,
        .context = dispatcher,
    };
    state_attach(options->cluster_store.state, &dispatcher->view);
    check_soon(dispatcher);
    return dispatcher;
}

void dispatcher_free(Dispatcher *dispatcher)
{
    if (dispatcher == NULL) {
        return;
    }
    while (dispatcher->writes != NULL) {
        Write *write = dispatcher->writes;
        dispatcher->writes = write->next;
        write->dispatcher = NULL;
        if (write->revision > 0) {
            free(write);
        }
    }
    state_detach(dispatcher->options.cluster_store.state, &dispatcher->view);
    loop_task_stop(dispatcher->options.cluster_store.loop, &dispatcher->check);
    loop_timer_stop(&dispatcher->timer);
    arena_clear(&dispatcher->arena);
    free(dispatcher);
}
