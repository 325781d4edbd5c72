/* Runs across nodes, by servers that are killed, paused and cut off from their store:
 *
 *     sim_fleet FIRST_SEED COUNT
 *
 * Each seed is one run of 1 to 3 servers and 3 to 12 nodes: two minutes in which runs are created,
 * retried and canceled, servers lose the lead, requests and responses are lost or late, nodes
 * disappear and return, and their agents, runners and machines are killed (fleet_node.h); then
 * calm. What must hold:
 *
 *   - No order is created after a final result of the same node and run, or after the run was
 *     canceled.
 *   - An ended run stays ended, and no final result is replaced by one that is not final.
 *   - In the calm every run ends, no order of a run by a caller is left, no target that has
 *     accepted an order lacks a final result, and each server counts what the store has.
 *   - On a node, runs of a kind take turns; none starts after it was canceled or has ended; a
 *     command is not repeated, and a step only if the result has more attempts; no result is there
 *     before all events of its run, and a run is forgotten only if its order was withdrawn before
 *     it started.
 *
 * Every tenth seed runs twice, and both runs must be the same. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cluster/cluster_keys.h"
#include "cluster/leader.h"
#include "cluster/state.h"
#include "fleet/dispatch_plan.h"
#include "fleet/dispatcher.h"
#include "fleet/run_change.h"
#include "fleet_node.h"
#include "membership/liveness.h"
#include "membership/node_record.h"
#include "remote_store.h"

#define PREFIX STR("/eden")

enum {
    SERVERS_MAX = 3,
    NODES_MIN = 3,
    NODES_MAX = 12,
    WORLD_RUNS_MAX = SIM_RUNS_MAX,
    STEP_MS = 50,
    STORM_MS = 120 * 1000,
    CALM_MS = DISPATCH_LOST_MS + 120 * 1000,
    TWICE_EVERY = 10,
    PAUSE_MAX_MS = 20 * 1000,
    NAME_SIZE = 16,
    FAULTS_MS = 20 * 1000, /* number of changes between two faults of a node */
    LEASE_MS = 15 * 1000,  /* time after which a node without a session counts as silent */
};

typedef enum Event {
    HAPPENED_RUN,
    HAPPENED_CANCEL,
    HAPPENED_ORDER,
    HAPPENED_FINAL,
    HAPPENED_RETRY,
    HAPPENED_SILENT,
    HAPPENED_LATE,
    HAPPENED_PAUSE,
    HAPPENED_CRASH,
    HAPPENED_CUT,
    HAPPENED_DEPOSED,
    HAPPENED_ENDED,
    HAPPENED_ON_NODE, /* and SimNodeEvent */
    EVENTS = HAPPENED_ON_NODE + SIM_NODE_EVENTS,
} Event;

static const char *const event_names[HAPPENED_ON_NODE] = {
    [HAPPENED_RUN] = "runs",
    [HAPPENED_CANCEL] = "cancellations",
    [HAPPENED_ORDER] = "orders",
    [HAPPENED_FINAL] = "final results",
    [HAPPENED_RETRY] = "retries",
    [HAPPENED_SILENT] = "silences",
    [HAPPENED_LATE] = "results after the end of a run",
    [HAPPENED_PAUSE] = "pauses",
    [HAPPENED_CRASH] = "crashes",
    [HAPPENED_CUT] = "cuts",
    [HAPPENED_DEPOSED] = "depositions",
    [HAPPENED_ENDED] = "ended runs",
};

typedef struct World World;

typedef struct Server {
    World *world;
    uint32_t index;
    char name[NAME_SIZE];
    Loop *loop; /* has its own clock */
    RemoteStore *remote;
    ClusterStore cluster_store;
    FleetRuns *runs;
    Leader *leader;
    Dispatcher *dispatcher;
    int64_t paused_until_ms, starts_ms;
    bool is_running;
} Server;

typedef struct Node {
    World *world;
    char name[NAME_SIZE];
    bool is_up, is_alive; /* alive: the store has the key of its session */
    int64_t changes_ms;   /* time at which it goes up or down */
    int64_t gone_ms;      /* time at which the end of its session is noticed; 0: it is not */
    int64_t acts_ms;
    int64_t fails_ms;
    bool is_reading;
    SimNode *sim;
} Node;

/* The contents of the store, derived from its log. */
typedef struct RunTruth {
    char id[RUN_ID_MAX + 1];
    RunCause cause;
    bool is_created, is_canceled, has_ended;
    bool has_succeeded[NODES_MAX];
    bool has_order[NODES_MAX], is_target[NODES_MAX], has_result[NODES_MAX], is_final[NODES_MAX];
} RunTruth;

struct World {
    uint64_t seed, digest;
    Arena arena;
    Loop *loop; /* loop of the store and the network: the true time */
    Store *store;
    StoreWatch *watch;
    RemoteCounts remote;
    Server servers[SERVERS_MAX];
    uint32_t server_count;
    Node nodes[NODES_MAX];
    uint32_t node_count;
    RunTruth runs[WORLD_RUNS_MAX];
    uint32_t run_count;
    bool is_calm, failed;
    uint64_t counts[EVENTS];
};

static void world_fail(World *world, const char *what, const char *who, const char *run)
{
    if (!world->failed) {
        printf("seed %" PRIu64 ", %" PRId64 " ms: %s: %s, run %s\n", world->seed,
               loop_now_ms(world->loop), what, who, run);
    }
    world->failed = true;
}

static void note(World *world, Event what, uint64_t detail)
{
    uint64_t words[] = { (uint64_t)loop_now_ms(world->loop), what, detail };
    world->counts[what]++;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        world->digest = (world->digest ^ words[i]) * 0x100000001b3u;
        world->digest ^= world->digest >> 29;
    }
}

static int64_t random_below(World *world, int64_t below)
{
    return (int64_t)(loop_random(world->loop) % (uint64_t)below);
}

/* --- Writing to the true store --------------------------------------------------------------- */

static void ignore_reply(void *context, const StoreReply *reply, const Error *err)
{
}

static void world_write(World *world, const StoreOp *ops, uint32_t count)
{
    StoreTxn txn = { .success = ops, .success_count = count };
    Error err;
    if (!store_txn(world->store, &txn, ignore_reply, world, &err)) {
        world_fail(world, err.text, "", "");
    }
}

static void put_key(World *world, Str key, Str value)
{
    world_write(world, &(StoreOp){ .kind = STORE_PUT, .key = key, .value = value }, 1);
}

/* --- Nodes ----------------------------------------------------------------------------------- */

static void set_alive(Node *node, bool is_alive)
{
    World *world = node->world;
    Str name = str_from_c(node->name);
    Str key = cluster_key_alive(&world->arena, PREFIX, name);
    Liveness live = { .since_ms = loop_wall_ms(world->loop) };
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    record_print(is_alive ? &alive_format : &silent_format, &live, &text);
    node->is_alive = is_alive;
    if (is_alive) {
        put_key(world, key, buf_str(&text));
        return;
    }
    note(world, HAPPENED_SILENT, 0);
    const StoreOp ops[] = {
        { .kind = STORE_DELETE, .key = key },
        { .kind = STORE_PUT,
          .key = cluster_key_silent(&world->arena, PREFIX, name),
          .value = buf_str(&text) },
    };
    world_write(world, ops, COUNT_OF(ops));
}

static RunTruth *find_run(World *world, Str id, uint32_t *index)
{
    for (uint32_t i = 0; i < world->run_count; i++) {
        if (str_eq_c(id, world->runs[i].id)) {
            *index = i;
            return &world->runs[i];
        }
    }
    return NULL;
}

/* Writes like session_records.c: a final result deletes the order. */
static void report(void *context, uint32_t run, const NodeResult *result)
{
    Node *node = context;
    World *world = node->world;
    Str id = str_from_c(world->runs[run].id), name = str_from_c(node->name);
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    node_result_print(result, &text);
    const StoreOp ops[] = {
        { .kind = STORE_PUT,
          .key = key_make(&world->arena, PREFIX, KEY_RUN_NODE, (Str[]){ id, name }, 2),
          .value = buf_str(&text) },
        { .kind = STORE_DELETE,
          .key = key_make(&world->arena, PREFIX, KEY_ORDER, (Str[]){ name, id }, 2) },
    };
    world_write(world, ops, node_outcome_is_final(result->outcome) ? 2 : 1);
}

static int64_t node_random(void *context, int64_t below)
{
    return random_below(((Node *)context)->world, below);
}

static int64_t node_now_ms(void *context)
{
    return loop_wall_ms(((Node *)context)->world->loop);
}

static void node_note(void *context, SimNodeEvent event)
{
    Node *node = context;
    note(node->world, HAPPENED_ON_NODE + event, (uint64_t)(node - node->world->nodes));
}

static void node_fail(void *context, const char *what, uint32_t run)
{
    Node *node = context;
    world_fail(node->world, what, node->name, node->world->runs[run].id);
}

static void on_orders(void *context, const StoreReply *reply, const Error *err)
{
    Node *node = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    node->is_reading = false;
    if (err != NULL || !node->is_up || !sim_node_has_agent(node->sim)) {
        return;
    }
    sim_node_orders_begin(node->sim);
    for (uint32_t i = 0; i < reply->ops[0].kv_count; i++) {
        Order order;
        Error why;
        uint32_t run;
        if (!order_read(&arena, reply->ops[0].kvs[i].value, &order, &why)) {
            world_fail(node->world, why.text, node->name, "");
        } else if (find_run(node->world, str_from_c(order.run), &run) != NULL) {
            sim_node_order(node->sim, run, &order);
        }
    }
    sim_node_orders_end(node->sim);
    if (reply->ops[0].kv_count > 0 && !node->world->is_calm && random_below(node->world, 10) == 0) {
        node->is_up = false; /* killed before it can report that */
        node->changes_ms = loop_now_ms(node->world->loop) + random_below(node->world, 110000);
    }
}

static void node_runs(Node *node)
{
    World *world = node->world;
    int64_t now = loop_now_ms(world->loop);
    if (!world->is_calm && now >= node->changes_ms) {
        node->is_up = !node->is_up;
        node->changes_ms = now + 1000 + random_below(world, node->is_up ? 60000 : 40000);
    }
    if (world->is_calm) {
        node->is_up = true;
    }
    if (node->is_up && !node->is_alive) {
        node->gone_ms = 0;
        set_alive(node, true);
    } else if (!node->is_up && node->is_alive && node->gone_ms == 0) {
        node->gone_ms = now + LEASE_MS;
    } else if (!node->is_up && node->is_alive && now >= node->gone_ms) {
        set_alive(node, false);
    } else if (node->is_up) {
        node->gone_ms = 0;
    }
    if (!world->is_calm && now >= node->fails_ms) {
        sim_node_fault(node->sim);
        node->fails_ms = now + random_below(world, 2 * FAULTS_MS);
    }
    sim_node_step(node->sim, node->is_up);
    if (node->is_up && !node->is_reading && now >= node->acts_ms) {
        Str name = str_from_c(node->name), prefix = cluster_key_orders(&world->arena, PREFIX, name);
        StoreOp op = { .kind = STORE_RANGE,
                       .key = prefix,
                       .end = store_prefix_end(&world->arena, prefix) };
        Error err;
        node->acts_ms = now + 50 + random_below(world, 3000);
        node->is_reading = store_op(world->store, &op, on_orders, node, &err);
    }
}

static void node_init(World *world, uint32_t index)
{
    Node *node = &world->nodes[index];
    *node =
        (Node){ .world = world, .is_up = true, .changes_ms = 5000 + random_below(world, 60000) };
    snprintf(node->name, sizeof node->name, "n%02u", index);
    node->fails_ms = random_below(world, FAULTS_MS);
    node->sim = sim_node_new(&(SimNodeHost){ .random_below = node_random,
                                             .now_ms = node_now_ms,
                                             .report = report,
                                             .note = node_note,
                                             .fail = node_fail,
                                             .context = node });
    NodeRecord record = { .joined_ms = 1, .not_after_ms = INT64_MAX / 2 };
    memcpy(record.name, node->name, sizeof node->name);
    snprintf(record.enrollment, sizeof record.enrollment, "%016x", index);
    snprintf(record.serial, sizeof record.serial, "%02x", index);
    record.labels = value_map(map_new(&world->arena, 0));
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    node_record_print(&record, &text);
    put_key(world, cluster_key_node(&world->arena, PREFIX, str_from_c(node->name)), buf_str(&text));
}

/* --- Servers --------------------------------------------------------------------------------- */

static void elected(void *context)
{
    Server *server = context;
    server->dispatcher =
        dispatcher_new(&(DispatcherOptions){ .cluster_store = server->cluster_store,
                                             .runs = server->runs,
                                             .fence = *leader_fence(server->leader) });
}

static void deposed(void *context)
{
    Server *server = context;
    note(server->world, HAPPENED_DEPOSED, server->index);
    dispatcher_free(TAKE(server->dispatcher));
}

static void state_ready(void *context)
{
    Server *server = context;
    server->leader = leader_new(&(LeaderOptions){ .cluster_store = server->cluster_store,
                                                  .server = str_from_c(server->name),
                                                  .elected = elected,
                                                  .deposed = deposed,
                                                  .context = server });
}

static void ignore_stale(void *context, const Error *err)
{
}

static void ignore(void *context)
{
}

static void server_start(Server *server)
{
    remote_store_open(server->remote);
    server->cluster_store = (ClusterStore){ .loop = server->loop,
                                            .store = remote_store_handle(server->remote),
                                            .prefix = PREFIX };
    server->is_running = true;
    server->cluster_store.state = state_new(
        &server->cluster_store, &(StateEvents){ state_ready, ignore_stale, ignore, server });
    server->cluster_store.roster =
        roster_new(server->cluster_store.state, PREFIX, &(RosterEvents){ .changed = ignore });
    server->runs = fleet_runs_new(server->cluster_store.state, PREFIX);
}

/* Also called when the server is killed. */
static void server_end(Server *server)
{
    leader_free(TAKE(server->leader));
    dispatcher_free(TAKE(server->dispatcher));
    state_stop(server->cluster_store.state);
    remote_store_close(server->remote);
    fleet_runs_free(TAKE(server->runs));
    roster_free(TAKE(server->cluster_store.roster));
    state_free(TAKE(server->cluster_store.state));
    server->is_running = false;
    server->starts_ms = loop_now_ms(server->world->loop) + 50 + random_below(server->world, 10000);
}

static void server_init(World *world, uint32_t index)
{
    Server *server = &world->servers[index];
    *server = (Server){ .world = world, .index = index, .starts_ms = random_below(world, 2000) };
    snprintf(server->name, sizeof server->name, "s%u", index + 1);
    server->loop = loop_new_virtual(loop_random(world->loop));
    server->remote = remote_store_new(world->loop, world->store, &world->remote);
}

static void server_runs(Server *server)
{
    int64_t now = loop_now_ms(server->world->loop);
    if (!server->is_running && now >= server->starts_ms) {
        server_start(server);
    }
    if (!server->is_running || now < server->paused_until_ms) {
        return;
    }
    remote_store_deliver(server->remote);
    loop_run_virtual_until(server->loop, now);
    remote_store_deliver(server->remote);
}

/* --- Faults ---------------------------------------------------------------------------------- */

static void on_changed(void *context, const Error *err)
{
    /* A request may be lost or late: the log of the store shows what took effect. */
}

static Server *some_server(World *world)
{
    Server *server = &world->servers[random_below(world, world->server_count)];
    bool is_ready = server->is_running && loop_now_ms(world->loop) >= server->paused_until_ms &&
                    state_age(server->cluster_store.state).is_ready;
    return is_ready ? server : NULL;
}

/* The targets of `retried` that have no success, or random ones. */
static bool is_wanted(World *world, const RunTruth *retried, uint32_t node)
{
    return retried != NULL ? retried->is_target[node] && !retried->has_succeeded[node]
                           : random_below(world, 4) > 0;
}

static void create_run(World *world)
{
    Server *server = some_server(world);
    if (server == NULL || world->run_count == WORLD_RUNS_MAX) {
        return;
    }
    const RunTruth *retried = world->run_count > 0 && random_below(world, 4) == 0
                                  ? &world->runs[random_below(world, world->run_count)]
                                  : NULL;
    uint32_t index = world->run_count++;
    RunTruth *truth = &world->runs[index];
    Str targets[NODES_MAX];
    bool is_command = random_below(world, 3) == 0;
    FleetRun run = { .kind = is_command ? RUN_KIND_EXEC : RUN_KIND_APPLY,
                     .cause =
                         is_command || random_below(world, 2) == 0 ? RUN_BY_CALLER : RUN_BY_VERSION,
                     .requested_by = STR("test"),
                     .targets = targets,
                     .command = (Str[]){ STR("true") },
                     .command_count = is_command,
                     .timeout_ms = random_below(world, 5) == 0 ? 5000 : 0,
                     .created_ms = loop_wall_ms(world->loop) };
    snprintf(run.id, sizeof run.id, "r%02u", index);
    if (!is_command) {
        snprintf(run.version, sizeof run.version, "%012x", index);
        memset(run.manifest, 'a', MANIFEST_ID_TEXT);
    }
    if (retried != NULL) {
        note(world, HAPPENED_RETRY, index);
        memcpy(run.retry_of, retried->id, sizeof run.retry_of);
    }
    memcpy(truth->id, run.id, sizeof truth->id);
    truth->cause = run.cause;
    for (uint32_t i = 0; i < world->node_count; i++) {
        if (is_wanted(world, retried, i)) {
            truth->is_target[i] = true;
            targets[run.target_count++] = str_from_c(world->nodes[i].name);
        }
    }
    note(world, HAPPENED_RUN, run.target_count);
    fleet_run_create(&server->cluster_store, &run, on_changed, world);
}

static void cancel_run(World *world)
{
    Server *server = some_server(world);
    if (server != NULL && world->run_count > 0) {
        note(world, HAPPENED_CANCEL, 0);
        fleet_run_cancel(&server->cluster_store,
                         str_from_c(world->runs[random_below(world, world->run_count)].id),
                         random_below(world, 2) == 0, on_changed, world);
    }
}

static void fault(World *world)
{
    Server *server = some_server(world);
    int64_t now = loop_now_ms(world->loop);
    if (server == NULL) {
        return;
    }
    switch (random_below(world, 4)) {
    case 0:
        note(world, HAPPENED_CRASH, server->index);
        server_end(server);
        break;
    case 1:
        note(world, HAPPENED_CUT, server->index);
        remote_store_block(server->remote, now + random_below(world, PAUSE_MAX_MS));
        break;
    default:
        note(world, HAPPENED_PAUSE, server->index);
        server->paused_until_ms = now + random_below(world, PAUSE_MAX_MS);
    }
}

/* --- Invariants ------------------------------------------------------------------------------ */

static uint32_t node_index(Str name)
{
    uint64_t index;
    return str_to_u64(str_from_offset(name, 1), &index) ? (uint32_t)index : 0;
}

static void check_run(World *world, const StoreEvent *event, RunTruth *truth)
{
    FleetRun run;
    Error err;
    if (event->deleted || !fleet_run_read(&world->arena, event->kv.value, &run, &err)) {
        world_fail(world, "a record of a run is gone or damaged", "", truth->id);
        return;
    }
    if (truth->has_ended && run.state != RUN_ENDED) {
        world_fail(world, "an ended run continues", "", truth->id);
    }
    if (truth->is_canceled && !run.is_canceled) {
        world_fail(world, "a canceled run is no longer canceled", "", truth->id);
    }
    if (run.state == RUN_ENDED && !truth->has_ended) {
        note(world, HAPPENED_ENDED, 0);
    }
    truth->is_created = true;
    truth->is_canceled = run.is_canceled;
    truth->has_ended = run.state == RUN_ENDED;
}

static void check_order(World *world, const StoreEvent *event, RunTruth *truth, uint32_t node)
{
    Order order;
    Error err;
    if (event->deleted) {
        truth->has_order[node] = false;
        return;
    }
    const char *name = world->nodes[node].name;
    if (!order_read(&world->arena, event->kv.value, &order, &err)) {
        world_fail(world, err.text, name, truth->id);
    }
    if (!truth->is_target[node]) {
        world_fail(world, "an order for a node that is not a target", name, truth->id);
    }
    if (truth->is_final[node]) {
        world_fail(world, "an order after a final result", name, truth->id);
    }
    if (!truth->has_order[node] && truth->is_canceled) {
        world_fail(world, "a new order of a canceled run", name, truth->id);
    }
    note(world, HAPPENED_ORDER, node);
    truth->has_order[node] = true;
}

static void check_result(World *world, const StoreEvent *event, RunTruth *truth, uint32_t node)
{
    NodeResult result;
    Error err;
    if (event->deleted || !node_result_read(&world->arena, event->kv.value, &result, &err)) {
        world_fail(world, "a result is gone or damaged", world->nodes[node].name, truth->id);
        return;
    }
    bool is_final = node_outcome_is_final(result.outcome);
    if (truth->is_final[node] && !is_final) {
        world_fail(world, "a final result was replaced", world->nodes[node].name, truth->id);
    }
    if (is_final && !truth->is_final[node]) {
        note(world, truth->has_ended ? HAPPENED_LATE : HAPPENED_FINAL, node);
    }
    truth->has_succeeded[node] = result.outcome == NODE_OK || result.outcome == NODE_CHANGED;
    truth->has_result[node] = true;
    truth->is_final[node] = is_final;
}

/* Processes all changes of the store, in order. */
static void changed(void *context, const StoreBatch *batch)
{
    World *world = context;
    if (batch->resync || batch->err != NULL) {
        world_fail(world, "the log was not kept", "", "");
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreEvent *event = &batch->events[i];
        Str parts[KEYS_PARTS_MAX];
        KeyKind kind;
        uint32_t index;
        if (!key_parse(&world->arena, PREFIX, event->kv.key, &kind, parts) ||
            (kind != KEY_RUN && kind != KEY_RUN_NODE && kind != KEY_ORDER)) {
            continue;
        }
        RunTruth *truth = find_run(world, parts[kind == KEY_ORDER ? 1 : 0], &index);
        if (truth == NULL) {
            world_fail(world, "a run that was not created", "", "");
        } else if (kind == KEY_RUN) {
            check_run(world, event, truth);
        } else if (kind == KEY_ORDER) {
            check_order(world, event, truth, node_index(parts[0]));
        } else {
            check_result(world, event, truth, node_index(parts[1]));
        }
    }
    if (batch->count > 0) {
        store_watch_ack(world->watch);
    }
}

static void check_counts(World *world, const Server *server, const RunTruth *truth)
{
    const RunEntry *run = fleet_runs_find(server->runs, str_from_c(truth->id));
    uint32_t results = 0, counted = 0;
    for (uint32_t i = 0; i < world->node_count; i++) {
        results += truth->has_result[i];
    }
    for (uint32_t i = 0; run != NULL && i < NODE_OUTCOME_COUNT; i++) {
        counted += run->counts[i];
    }
    if (run == NULL || counted != results ||
        counted + run->unreported != run->record.target_count) {
        world_fail(world, "a server counts other results than the store has", server->name,
                   truth->id);
    }
}

static void check_end(World *world)
{
    for (uint32_t i = 0; i < world->node_count; i++) {
        sim_node_check_end(world->nodes[i].sim);
    }
    for (uint32_t i = 0; i < world->run_count; i++) {
        const RunTruth *truth = &world->runs[i];
        if (!truth->is_created) {
            continue; /* the request was lost */
        }
        if (!truth->has_ended) {
            world_fail(world, "a run does not end", "", truth->id);
        }
        for (uint32_t j = 0; j < world->node_count; j++) {
            if (truth->has_order[j]) {
                world_fail(world, "an order is left", world->nodes[j].name, truth->id);
            }
            if (truth->has_result[j] && !truth->is_final[j] &&
                !sim_node_has_forgotten(world->nodes[j].sim, i)) {
                world_fail(world, "an accepted order has no final result", world->nodes[j].name,
                           truth->id);
            }
        }
        for (uint32_t j = 0; j < world->server_count; j++) {
            check_counts(world, &world->servers[j], truth);
        }
    }
}

/* --- A run ----------------------------------------------------------------------------------- */

static void end_faults(World *world)
{
    world->is_calm = true;
    for (uint32_t i = 0; i < world->server_count; i++) {
        remote_store_calm(world->servers[i].remote);
        world->servers[i].paused_until_ms = 0;
    }
}

static void run_world(World *world)
{
    int64_t next_fault = 2000, next_run = 3000, next_cancel = 15000, step_ms = STEP_MS;
    for (int64_t now = STEP_MS; now <= STORM_MS + CALM_MS && !world->failed; now += step_ms) {
        loop_run_virtual_until(world->loop, now);
        arena_reset(&world->arena);
        if (!world->is_calm && now >= STORM_MS) {
            end_faults(world);
            step_ms = 10 * STEP_MS;
        }
        if (!world->is_calm && now >= next_fault) {
            fault(world);
            next_fault = now + random_below(world, 8000);
        }
        if (!world->is_calm && now >= next_run) {
            create_run(world);
            next_run = now + random_below(world, 15000);
        }
        if (!world->is_calm && now >= next_cancel) {
            cancel_run(world);
            next_cancel = now + random_below(world, 40000);
        }
        for (uint32_t i = 0; i < world->node_count; i++) {
            node_runs(&world->nodes[i]);
        }
        for (uint32_t i = 0; i < world->server_count; i++) {
            server_runs(&world->servers[i]);
        }
        loop_run_virtual_until(world->loop, now); /* requests of clients */
    }
}

static uint64_t run(uint64_t seed, uint64_t totals[EVENTS], RemoteCounts *remote, bool *ok)
{
    World *world = calloc(1, sizeof *world);
    Error err;
    world->seed = seed;
    world->digest = 0xcbf29ce484222325u;
    arena_init(&world->arena, ARENA_UNLIMITED);
    world->loop = loop_new_virtual(seed);
    world->store = store_open_memory(world->loop, &(StoreSettings){ .keep_revisions = -1 });
    StoreWatchSpec spec = {
        .key = STR("\0"), .end = STORE_ALL, .from = 1, .done = changed, .context = world
    };
    if (!store_watch(world->store, &spec, &world->watch, &err)) {
        world_fail(world, err.text, "", "");
    }
    world->server_count = 1 + (uint32_t)random_below(world, SERVERS_MAX);
    world->node_count = NODES_MIN + (uint32_t)random_below(world, NODES_MAX - NODES_MIN + 1);
    for (uint32_t i = 0; i < world->node_count; i++) {
        node_init(world, i);
    }
    for (uint32_t i = 0; i < world->server_count; i++) {
        server_init(world, i);
    }
    run_world(world);
    if (!world->failed) {
        check_end(world);
    }
    for (uint32_t i = 0; i < world->server_count; i++) {
        if (world->servers[i].is_running) {
            server_end(&world->servers[i]);
        }
    }
    store_watch_cancel(world->watch);
    loop_run(world->loop); /* messages in transit, and the leases */
    for (uint32_t i = 0; i < world->server_count; i++) {
        remote_store_free(world->servers[i].remote);
        loop_free(world->servers[i].loop);
    }
    for (uint32_t i = 0; i < world->node_count; i++) {
        sim_node_free(world->nodes[i].sim);
    }
    store_close(world->store);
    loop_free(world->loop);
    arena_clear(&world->arena);
    for (uint32_t i = 0; i < EVENTS; i++) {
        totals[i] += world->counts[i];
    }
    remote->lost += world->remote.lost;
    remote->unknown += world->remote.unknown;
    remote->late += world->remote.late;
    *ok = *ok && !world->failed;
    uint64_t digest = world->digest;
    free(world);
    return digest;
}

static const char *event_name(uint32_t event)
{
    return event < HAPPENED_ON_NODE ? event_names[event]
                                    : sim_node_event_names[event - HAPPENED_ON_NODE];
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: sim_fleet FIRST_SEED COUNT\n");
        return 64;
    }
    uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    uint64_t totals[EVENTS] = { 0 }, again[EVENTS] = { 0 };
    RemoteCounts remote = { 0 }, remote_repeat = { 0 };
    uint32_t failures = 0;
    log_set_sink((LogSink){ .level = LOG_LEVEL_OFF });
    for (uint64_t seed = first; seed < first + count && failures < 10; seed++) {
        bool ok = true;
        uint64_t digest = run(seed, totals, &remote, &ok);
        if (seed % TWICE_EVERY == 0 && run(seed, again, &remote_repeat, &ok) != digest) {
            printf("seed %" PRIu64 ": two runs differ\n", seed);
            ok = false;
        }
        failures += !ok;
    }
    for (uint32_t i = 0; i < EVENTS; i++) {
        printf("%" PRIu64 " %s, ", totals[i], event_name(i));
    }
    printf("%" PRIu64 " requests lost, %" PRIu64 " responses lost, %" PRIu64 " performed late\n",
           remote.lost, remote.unknown, remote.late);
    /* A fault phase in which some event never happens proves nothing about it. */
    for (uint32_t i = 0; i < EVENTS; i++) {
        if (totals[i] == 0 && count >= (i == HAPPENED_ON_NODE + SIM_FORGOTTEN ? 2000 : 100)) {
            printf("never happened: %s\n", event_name(i));
            failures++;
        }
    }
    return failures > 0 ? 1 : 0;
}
