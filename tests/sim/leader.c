/* Servers that elect a leader over an unreliable network:
 *
 *     sim_leader FIRST_SEED COUNT
 *
 * Each seed is one run of 3 to 5 servers: for a minute and a half they are paused for longer than
 * the lease (with a clock that continues, or one that stops meanwhile, as in a suspended machine),
 * killed, stopped and cut off from the store, and requests and responses are lost or delayed; then
 * all faults end. The controllers of every server that believes to be leader write all the time.
 * Invariants:
 *
 *   - Every write that took effect was made by the leader at that revision.
 *   - A running server whose clock was accurate during its last lease believes to be leader only
 *     while the store has its key: so there are never two of them.
 *   - After the faults end, one server is leader, and its controllers write.
 *
 * Every tenth seed runs twice, and both runs must be the same. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/leader.h"
#include "cluster/state.h"
#include "remote_store.h"

#define PREFIX STR("/eden")

enum {
    SERVERS_MIN = 3,
    SERVERS_MAX = 5,
    STEP_MS = 20,
    STORM_MS = 90 * 1000,
    CALM_MS = 60 * 1000,
    LAST_MS = 10 * 1000, /* time after the faults end until controllers must write */
    TWICE_EVERY = 10,
    PAUSE_MAX_MS = 25 * 1000,
    NAME_SIZE = 16,
};

typedef enum Event {
    HAPPENED_ELECTED,
    HAPPENED_DEPOSED,
    HAPPENED_WRITTEN,
    HAPPENED_FENCED,
    HAPPENED_PAUSE,
    HAPPENED_STANDSTILL,
    HAPPENED_CRASH,
    HAPPENED_RESIGNED,
    HAPPENED_CUT,
    /* numbers of servers that believe to be leader, one of them with a stopped clock, or paused */
    HAPPENED_TWO,
    EVENTS
} Event;

static const char *const event_names[EVENTS] = {
    [HAPPENED_ELECTED] = "elections", [HAPPENED_DEPOSED] = "depositions",
    [HAPPENED_WRITTEN] = "writes",    [HAPPENED_FENCED] = "writes fenced",
    [HAPPENED_PAUSE] = "pauses",      [HAPPENED_STANDSTILL] = "clocks stopped",
    [HAPPENED_CRASH] = "crashes",     [HAPPENED_RESIGNED] = "resignations",
    [HAPPENED_CUT] = "cuts",          [HAPPENED_TWO] = "moments with two who believe to lead",
};

typedef struct World World;

typedef struct Server {
    World *world;
    uint32_t index;
    char name[NAME_SIZE];
    Loop *loop; /* has its own clock, which may lag by */
    int64_t late_ms;
    int64_t right_since_ms; /* when its clock was last stopped */
    RemoteStore *remote;
    ClusterStore cluster_store;
    Leader *leader; /* NULL: not running, or no key seen yet */
    LoopTimer tick; /* of the controller */
    Change *change;
    int64_t paused_until_ms, starts_ms;
    bool is_paused, stops_clock, is_running, resigns, has_resigned;
} Server;

struct World {
    uint64_t seed, digest;
    Arena arena;
    Loop *loop; /* loop of the store and the network: the true time */
    Store *store;
    StoreWatch *watch;
    RemoteCounts remote;
    Server servers[SERVERS_MAX];
    uint32_t count;
    bool is_calm, failed;
    int64_t term; /* create revision of the leader's key; 0: no leader */
    char is_leader[NAME_SIZE];
    uint64_t last_writes; /* start of the final calm phase */
    uint64_t counts[EVENTS];
};

static void world_fail(World *world, const char *what, const char *who, int64_t number)
{
    if (!world->failed) {
        printf("seed %" PRIu64 ", %" PRId64 " ms: %s: %s, %" PRId64 "\n", world->seed,
               loop_now_ms(world->loop), what, who, number);
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

/* --- A controller ---------------------------------------------------------------------------- */

/* Each server has its own key: only the fence keeps a former leader from writing. */
static bool decide(void *context, Change *change, Error *err)
{
    const Server *server = context;
    change_put(change, change_key(change, 0),
               arena_format(change_arena(change), "%s %" PRId64, server->name,
                            leader_fence(server->leader)->number),
               0);
    return true;
}

static void tick_later(Server *server)
{
    loop_timer_start(&server->tick, 20 + (int64_t)(loop_random(server->loop) % 200));
}

static void wrote(void *context, Change *change, const Error *err)
{
    Server *server = context;
    server->change = NULL;
    if (err != NULL && err->kind == ERROR_CONFLICT) {
        note(server->world, HAPPENED_FENCED, server->index);
    }
}

static void tick_runs(void *context)
{
    Server *server = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str key = cluster_key_probe(&arena, PREFIX, str_from_c(server->name));
    tick_later(server);
    if (server->change == NULL) {
        change_start(&(ChangeSpec){ .cluster_store = server->cluster_store,
                                    .keys = &key,
                                    .key_count = 1,
                                    .decide = decide,
                                    .done = wrote,
                                    .context = server,
                                    .fence = leader_fence(server->leader) },
                     &server->change);
    }
}

static void elected(void *context)
{
    Server *server = context;
    note(server->world, HAPPENED_ELECTED, server->index);
    tick_later(server);
}

/* Transactions that it started continue, as if it had been notified too late. */
static void deposed(void *context)
{
    Server *server = context;
    note(server->world, HAPPENED_DEPOSED, server->index);
    loop_timer_stop(&server->tick);
}

/* --- A server -------------------------------------------------------------------------------- */

static void state_ready(void *context)
{
    Server *server = context;
    server->leader = leader_new(&(LeaderOptions){ .cluster_store = server->cluster_store,
                                                  .server = str_from_c(server->name),
                                                  .elected = elected,
                                                  .deposed = deposed,
                                                  .context = server });
}

static void state_stale(void *context, const Error *err)
{
}

static void state_current(void *context)
{
}

static void server_start(Server *server)
{
    remote_store_open(server->remote);
    server->cluster_store =
        (ClusterStore){ server->loop, remote_store_handle(server->remote), PREFIX, .state = NULL };
    server->is_running = true;
    server->cluster_store.state = state_new(
        &server->cluster_store, &(StateEvents){ state_ready, state_stale, state_current, server });
}

/* Also called when the server is killed. */
static void server_end(Server *server)
{
    leader_free(TAKE(server->leader));
    loop_timer_stop(&server->tick);
    change_abandon(TAKE(server->change));
    state_stop(server->cluster_store.state);
    remote_store_close(server->remote);
    state_free(TAKE(server->cluster_store.state));
    server->is_running = server->is_paused = server->resigns = server->has_resigned = false;
    server->starts_ms =
        loop_now_ms(server->world->loop) + 50 + random_below(server->world, 15 * 1000);
}

static void resigned(void *context)
{
    ((Server *)context)->has_resigned = true;
}

static void server_init(World *world, uint32_t index)
{
    Server *server = &world->servers[index];
    *server = (Server){ .world = world, .index = index, .starts_ms = random_below(world, 3000) };
    snprintf(server->name, sizeof server->name, "s%u", index + 1);
    server->loop = loop_new_virtual(loop_random(world->loop));
    server->remote = remote_store_new(world->loop, world->store, &world->remote);
    server->right_since_ms = INT64_MIN / 2;
    loop_timer_init(&server->tick, server->loop, tick_runs, server);
}

static void server_runs(Server *server)
{
    World *world = server->world;
    int64_t now = loop_now_ms(world->loop);
    if (!server->is_running && now >= server->starts_ms) {
        server_start(server);
    }
    if (server->is_paused && now >= server->paused_until_ms) {
        server->is_paused = false;
        if (server->stops_clock) {
            server->late_ms = now - loop_now_ms(server->loop);
            server->right_since_ms = now;
        }
    }
    if (!server->is_running || server->is_paused) {
        return;
    }
    /* Messages that arrived during a pause are delivered before its timers run, or after them. */
    if (random_below(world, 2) == 0) {
        remote_store_deliver(server->remote);
    }
    loop_run_virtual_until(server->loop, now - server->late_ms);
    remote_store_deliver(server->remote);
    if (server->has_resigned) {
        note(world, HAPPENED_RESIGNED, server->index);
        server_end(server);
    }
}

/* --- Faults ---------------------------------------------------------------------------------- */

/* Usually the leader, since other servers have nothing to lose. */
static Server *choose_victim(World *world)
{
    for (uint32_t i = 0; i < world->count && random_below(world, 3) > 0; i++) {
        if (strcmp(world->servers[i].name, world->is_leader) == 0) {
            return &world->servers[i];
        }
    }
    return &world->servers[random_below(world, world->count)];
}

static void fault(World *world)
{
    Server *server = choose_victim(world);
    int64_t now = loop_now_ms(world->loop);
    if (!server->is_running || server->is_paused) {
        return;
    }
    switch (random_below(world, 6)) {
    case 0:
        note(world, HAPPENED_CRASH, server->index);
        server_end(server);
        break;
    case 1:
        if (server->leader != NULL && !server->resigns) {
            server->resigns = true;
            leader_resign(server->leader, resigned, server);
        }
        break;
    case 2:
        note(world, HAPPENED_CUT, server->index);
        remote_store_block(server->remote, now + random_below(world, PAUSE_MAX_MS));
        break;
    case 3:
    case 4:
        note(world, HAPPENED_PAUSE, server->index);
        server->is_paused = true;
        server->stops_clock = false;
        server->paused_until_ms = now + random_below(world, PAUSE_MAX_MS);
        break;
    default:
        note(world, HAPPENED_STANDSTILL, server->index);
        server->is_paused = true;
        server->stops_clock = true;
        server->paused_until_ms = now + random_below(world, PAUSE_MAX_MS);
    }
}

/* --- Invariants ------------------------------------------------------------------------------ */

static void check_write(World *world, const StoreKv *kv)
{
    char who[NAME_SIZE] = "";
    long long term = 0;
    char text[64];
    snprintf(text, sizeof text, "%" STR_FMT, STR_ARG(kv->value));
    if (sscanf(text, "%15s %lld", who, &term) != 2 || term != world->term ||
        strcmp(who, world->is_leader) != 0) {
        world_fail(world, "a server wrote that did not lead", who, term);
    }
    note(world, HAPPENED_WRITTEN, (uint64_t)kv->mod_revision);
    world->last_writes += loop_now_ms(world->loop) >= STORM_MS + CALM_MS - LAST_MS;
}

/* Processes all changes of the store, in order. */
static void changed(void *context, const StoreBatch *batch)
{
    World *world = context;
    if (batch->resync || batch->err != NULL) {
        world_fail(world, "the log was not kept", "", 0);
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreEvent *event = &batch->events[i];
        Str parts[KEYS_PARTS_MAX];
        KeyKind kind;
        arena_reset(&world->arena);
        if (!key_parse(&world->arena, PREFIX, event->kv.key, &kind, parts)) {
            world_fail(world, "a key that nobody puts", "", 0);
        } else if (kind == KEY_PROBE) {
            check_write(world, &event->kv);
        } else if (event->deleted) {
            world->term = 0;
            world->is_leader[0] = '\0';
        } else {
            Str name = STR("\"server\":\"");
            size_t at = str_find(event->kv.value, name, 0) + name.len;
            world->term = event->kv.create_revision;
            snprintf(world->is_leader, sizeof world->is_leader, "%.2s", event->kv.value.data + at);
        }
    }
    if (batch->count > 0) {
        store_watch_ack(world->watch);
    }
}

static void check_leaders(World *world)
{
    uint32_t believers = 0;
    int64_t now = loop_now_ms(world->loop);
    for (uint32_t i = 0; i < world->count; i++) {
        const Server *server = &world->servers[i];
        if (server->leader == NULL || !leader_is_elected(server->leader)) {
            continue;
        }
        believers++;
        bool is_right = now - server->right_since_ms > LEADER_LEASE_S * 1000;
        if (!server->is_paused && is_right && leader_fence(server->leader)->number != world->term) {
            world_fail(world, "a server believes to lead whose key is gone", server->name,
                       world->term);
        }
    }
    if (believers > 1) {
        note(world, HAPPENED_TWO, believers);
    }
}

static void check_end(World *world)
{
    uint32_t leaders = 0;
    for (uint32_t i = 0; i < world->count; i++) {
        const Server *server = &world->servers[i];
        leaders += server->leader != NULL && leader_is_elected(server->leader);
    }
    if (leaders != 1) {
        world_fail(world, "in the calm not one server leads", "", leaders);
    }
    if (world->last_writes < 10) {
        world_fail(world, "in the calm the controllers do not write", "",
                   (int64_t)world->last_writes);
    }
}

/* --- A run ----------------------------------------------------------------------------------- */

static void end_faults(World *world)
{
    world->is_calm = true;
    for (uint32_t i = 0; i < world->count; i++) {
        Server *server = &world->servers[i];
        remote_store_calm(server->remote);
        server->paused_until_ms = 0;
    }
}

static void run_world(World *world)
{
    int64_t next_fault = 2000 + random_below(world, 3000);
    for (int64_t now = STEP_MS; now <= STORM_MS + CALM_MS && !world->failed; now += STEP_MS) {
        loop_run_virtual_until(world->loop, now);
        if (!world->is_calm && now >= STORM_MS) {
            end_faults(world);
        }
        if (!world->is_calm && now >= next_fault) {
            fault(world);
            next_fault = now + random_below(world, 6000);
        }
        uint32_t first = (uint32_t)random_below(world, world->count);
        for (uint32_t i = 0; i < world->count; i++) {
            server_runs(&world->servers[(first + i) % world->count]);
        }
        loop_run_virtual_until(world->loop, now); /* pending requests */
        check_leaders(world);
    }
}

static uint64_t run(uint64_t seed, uint64_t totals[EVENTS], RemoteCounts *remote, bool *ok)
{
    World world = { .seed = seed, .digest = 0xcbf29ce484222325u };
    Error err;
    arena_init(&world.arena, ARENA_UNLIMITED);
    world.loop = loop_new_virtual(seed);
    world.store = store_open_memory(world.loop, &(StoreSettings){ .keep_revisions = -1 });
    StoreWatchSpec spec = {
        .key = STR("\0"), .end = STORE_ALL, .from = 1, .done = changed, .context = &world
    };
    if (!store_watch(world.store, &spec, &world.watch, &err)) {
        world_fail(&world, "no watch", err.text, 0);
    }
    world.count = SERVERS_MIN + (uint32_t)random_below(&world, SERVERS_MAX - SERVERS_MIN + 1);
    for (uint32_t i = 0; i < world.count; i++) {
        server_init(&world, i);
    }
    run_world(&world);
    if (!world.failed) {
        check_end(&world);
    }
    for (uint32_t i = 0; i < world.count; i++) {
        if (world.servers[i].is_running) {
            server_end(&world.servers[i]);
        }
    }
    store_watch_cancel(world.watch);
    loop_run(world.loop); /* messages in transit, and the leases */
    for (uint32_t i = 0; i < world.count; i++) {
        remote_store_free(world.servers[i].remote);
        loop_free(world.servers[i].loop);
    }
    store_close(world.store);
    loop_free(world.loop);
    arena_clear(&world.arena);
    for (uint32_t i = 0; i < EVENTS; i++) {
        totals[i] += world.counts[i];
    }
    remote->lost += world.remote.lost;
    remote->unknown += world.remote.unknown;
    remote->late += world.remote.late;
    remote->slow += world.remote.slow;
    remote->broken += world.remote.broken;
    *ok = *ok && !world.failed;
    return world.digest;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: sim_leader FIRST_SEED COUNT\n");
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
        printf("%" PRIu64 " %s, ", totals[i], event_names[i]);
    }
    printf("%" PRIu64 " requests lost, %" PRIu64 " answers lost, %" PRIu64
           " performed late, %" PRIu64 " slow, %" PRIu64 " watches broken\n",
           remote.lost, remote.unknown, remote.late, remote.slow, remote.broken);
    /* A fault phase in which some event never happens proves nothing about it. */
    for (uint32_t i = 0; i < EVENTS; i++) {
        if (count >= 100 && totals[i] == 0) {
            printf("never happened: %s\n", event_names[i]);
            failures++;
        }
    }
    return failures > 0 ? 1 : 0;
}
