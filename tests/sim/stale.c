/* Servers whose store stops, becomes read-only or slow, is lost, and is restored from a backup:
 *
 *     sim_stale FIRST_SEED COUNT
 *
 * Each seed is one run of 1 to 3 servers with one store, which fails for them at random times and
 * for random durations; in addition, requests and responses are lost or delayed, and servers are
 * killed. All the time they admit and remove nodes, record liveness, and revoke certificates; then
 * all faults end. Invariants of each server, at all times:
 *
 *   - Once its state was read it is never empty, and lists show the contents of the store at one
 *     revision, the state's, which never decreases during the life of a store.
 *   - A certificate once known as revoked is rejected.
 *   - An acknowledged write is in the store.
 *   - While the store does not answer, the state becomes stale, and writes are rejected.
 *   - After the faults end, the state is current and equal to the store.
 *
 * Every tenth seed runs twice, and both runs must be the same. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "membership/roster.h"
#include "remote_store.h"

#define PREFIX STR("/eden")

enum {
    SERVERS_MAX = 3,
    NODES = 30,
    WRITES_MAX = 4000, /* duration of one run */
    KEYS_MAX = 2 * NODES + 8,
    STEP_MS = 25,
    STORM_MS = 120 * 1000,
    CALM_MS = 40 * 1000,
    TROUBLE_MAX_MS = 30 * 1000,
    NOTICED_MS = 11 * 1000, /* time after which an unresponsive store must have been detected */
    TWICE_EVERY = 10,
    REVISIONS_MAX = 8000,
};

typedef enum Event {
    HAPPENED_WRITTEN,
    HAPPENED_FAILED, /* number of writes, including those with unknown outcome */
    HAPPENED_REFUSED,
    HAPPENED_REVOKED,
    HAPPENED_READ,
    HAPPENED_STALE,
    HAPPENED_CURRENT,
    HAPPENED_STOPPED,
    HAPPENED_READ_ONLY,
    HAPPENED_SLOW,
    HAPPENED_LOST,
    HAPPENED_RESTORED,
    HAPPENED_CRASH,
    EVENTS
} Event;

static const char *const event_names[EVENTS] = {
    [HAPPENED_WRITTEN] = "writes",
    [HAPPENED_FAILED] = "writes failed",
    [HAPPENED_REFUSED] = "writes refused",
    [HAPPENED_REVOKED] = "revocations",
    [HAPPENED_READ] = "reads of a stale state",
    [HAPPENED_STALE] = "times stale",
    [HAPPENED_CURRENT] = "times current again",
    [HAPPENED_STOPPED] = "stores stopped",
    [HAPPENED_READ_ONLY] = "stores read-only",
    [HAPPENED_SLOW] = "stores slow",
    [HAPPENED_LOST] = "stores lost",
    [HAPPENED_RESTORED] = "stores restored",
    [HAPPENED_CRASH] = "crashes",
};

typedef struct World World;

typedef struct Server {
    World *world;
    uint32_t index;
    Loop *loop;
    RemoteStore *remote;
    ClusterStore cluster_store;
    LoopTimer tick;
    int64_t starts_ms;
    bool is_running;
    RemoteFault fault;
    int64_t fault_from_ms, fault_until_ms;
    int64_t revision;          /* last revision in this life of the store */
    bool has_seen[WRITES_MAX]; /* revision of a write that revokes, once this process has seen it */
} Server;

/* A write of a server; its number is the value, or the revoked serial number. */
typedef struct Write {
    Server *server;
    uint32_t id;
    bool revokes;
    char key[64];
} Write;

typedef struct StoredWrite {
    char key[64];
    char *value;
} StoredWrite;

struct World {
    uint64_t seed, digest;
    Loop *loop; /* loop of the store and the network: the true time */
    Store *store;
    StoreWatch *watch;
    RemoteCounts remote;
    Server servers[SERVERS_MAX];
    uint32_t count;
    bool is_calm, failed;
    StoredWrite keys[KEYS_MAX], backup[KEYS_MAX]; /* keys in the store, now and earlier */
    int64_t revision;
    uint32_t nodes[REVISIONS_MAX]; /* number of keys at each revision */
    uint32_t write_count;
    bool is_stored[WRITES_MAX], is_told[WRITES_MAX], is_revoking[WRITES_MAX];
    uint64_t counts[EVENTS];
};

static void world_fail(World *world, const char *what, uint32_t who, int64_t number)
{
    if (!world->failed) {
        printf("seed %" PRIu64 ", %" PRId64 " ms: %s: s%u, %" PRId64 "\n", world->seed,
               loop_now_ms(world->loop), what, who + 1, number);
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

/* --- The true contents of the store ---------------------------------------------------------- */

static StoredWrite *find_stored(StoredWrite keys[KEYS_MAX], const char *key)
{
    StoredWrite *free_one = NULL;
    for (uint32_t i = 0; i < KEYS_MAX; i++) {
        if (keys[i].value != NULL && strcmp(keys[i].key, key) == 0) {
            return &keys[i];
        }
        free_one = keys[i].value == NULL ? &keys[i] : free_one;
    }
    BUG_IF(free_one == NULL);
    snprintf(free_one->key, sizeof free_one->key, "%s", key);
    return free_one;
}

static void keys_clear(StoredWrite keys[KEYS_MAX])
{
    for (uint32_t i = 0; i < KEYS_MAX; i++) {
        free(TAKE(keys[i].value));
    }
}

static void back_up(World *world)
{
    keys_clear(world->backup);
    for (uint32_t i = 0; i < KEYS_MAX; i++) {
        if (world->keys[i].value != NULL) {
            find_stored(world->backup, world->keys[i].key)->value = strdup(world->keys[i].value);
        }
    }
}

static void serial_of(uint32_t id, char out[33])
{
    snprintf(out, 33, "%032x", id + 1);
}

static void record_stored(World *world, const char *key, const char *value)
{
    char serial[33];
    if (strstr(key, "/pki/") == NULL) {
        world->is_stored[strtoul(value, NULL, 10)] = true;
        return;
    }
    for (uint32_t i = 0; i < world->write_count; i++) {
        if (world->is_revoking[i] && !world->is_stored[i]) {
            serial_of(i, serial);
            world->is_stored[i] = strstr(value, serial) != NULL;
        }
    }
}

/* Processes all changes of the store, in order. */
static void changed(void *context, const StoreBatch *batch)
{
    World *world = context;
    if (batch->resync || batch->err != NULL) {
        world_fail(world, "the log was not kept", 0, 0);
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreEvent *event = &batch->events[i];
        char key[64];
        snprintf(key, sizeof key, "%" STR_FMT, STR_ARG(event->kv.key));
        StoredWrite *buffered = find_stored(world->keys, key);
        int64_t revision = event->kv.mod_revision;
        bool was_there = buffered->value != NULL;
        bool is_node = strstr(key, "/nodes/") != NULL && strstr(key, "/alive") == NULL;
        BUG_IF(revision >= REVISIONS_MAX);
        for (; world->revision < revision; world->revision++) {
            world->nodes[world->revision + 1] = world->nodes[world->revision];
        }
        world->nodes[revision] += is_node ? (uint32_t)(!event->deleted - was_there) : 0;
        free(TAKE(buffered->value));
        if (!event->deleted) {
            buffered->value = strndup(event->kv.value.data, event->kv.value.len);
            record_stored(world, key, buffered->value);
        }
    }
    if (batch->count > 0) {
        store_watch_ack(world->watch);
    }
}

static void ignore(void *context, const StoreReply *reply, const Error *err)
{
    BUG_IF(err != NULL);
}

static void open_store(World *world)
{
    Error err;
    world->store = store_open_memory(world->loop, &(StoreSettings){ .keep_revisions = -1 });
    StoreWatchSpec spec = {
        .key = STR("\0"), .end = STORE_ALL, .from = 1, .done = changed, .context = world
    };
    bool ok = store_watch(world->store, &spec, &world->watch, &err);
    for (uint32_t i = 0; i < KEYS_MAX; i++) {
        const StoredWrite *buffered = &world->backup[i];
        ok = ok && (buffered->value == NULL ||
                    store_put(world->store, str_from_c(buffered->key), str_from_c(buffered->value),
                              0, ignore, NULL, &err));
    }
    BUG_IF(!ok);
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop));
}

static void close_store(World *world)
{
    store_watch_cancel(TAKE(world->watch));
    store_close(TAKE(world->store));
    keys_clear(world->keys);
    world->revision = 0;
    memset(world->nodes, 0, sizeof world->nodes);
}

/* --- Writing --------------------------------------------------------------------------------- */

static bool is_revoked(const Server *server, uint32_t id)
{
    char serial[33];
    Error err;
    serial_of(id, serial);
    return !revocation_check(roster_revoked(server->cluster_store.roster), STR("web"),
                             str_from_c(serial), &err);
}

/* Writes complete when the state includes them, unless it lags behind. */
static void write_ends(Write *write, const Error *err)
{
    Server *server = write->server;
    World *world = server->world;
    if (err == NULL) {
        note(world, HAPPENED_WRITTEN, write->id);
        world->counts[HAPPENED_REVOKED] += write->revokes;
        world->is_told[write->id] = true;
        if (write->revokes && server->is_running &&
            !state_age(server->cluster_store.state).is_behind && !is_revoked(server, write->id)) {
            world_fail(world, "a server does not know what it has revoked", server->index,
                       write->id);
        }
    } else {
        note(world, HAPPENED_FAILED, write->id);
    }
    free(write);
}

static bool decide_revocation(Change *change, const Write *write, Error *err)
{
    Arena *arena = change_arena(change);
    RevocationList list = { 0 };
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    char serial[33];
    serial_of(write->id, serial);
    if ((change_has(change, 0) && !revocation_read(arena, change_value(change, 0), &list, err)) ||
        !revocation_add_serial(arena, &list, str_from_c(serial), INT64_MAX / 2, err)) {
        return false;
    }
    revocation_print(&list, &text);
    change_put(change, change_key(change, 0), buf_str(&text), 0);
    return true;
}

static bool decide(void *context, Change *change, Error *err)
{
    const Write *write = context;
    if (write->revokes) {
        return decide_revocation(change, write, err);
    }
    change_put(change, change_key(change, 0), arena_format(change_arena(change), "%u", write->id),
               0);
    return true;
}

static void change_ends(void *context, Change *change, const Error *err)
{
    write_ends(context, err);
}

static void seen(void *context)
{
    write_ends(context, NULL);
}

static void deleted(void *context, const StoreReply *reply, const Error *err)
{
    Write *write = context;
    const Server *server = write->server;
    if (err != NULL) {
        write_ends(write, err);
        return;
    }
    server->world->is_stored[write->id] = true; /* the key does not exist */
    state_wait(server->cluster_store.state, reply->revision, seen, write);
}

static void write_something(Server *server)
{
    World *world = server->world;
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!state_accepts_writes(server->cluster_store.state, &err)) {
        note(world, HAPPENED_REFUSED, server->index);
        return;
    }
    if (world->write_count == WRITES_MAX) {
        return;
    }
    Write *write = memory_new(sizeof *write);
    int64_t kind = random_below(world, 8);
    Str node = arena_format(&arena, "n%02d", (int)random_below(world, NODES));
    Str key = kind == 0   ? cluster_key_revocations(&arena, PREFIX)
              : kind <= 3 ? cluster_key_alive(&arena, PREFIX, node)
                          : cluster_key_node(&arena, PREFIX, node);
    *write = (Write){ .server = server, .id = world->write_count++, .revokes = kind == 0 };
    world->is_revoking[write->id] = write->revokes;
    if (kind == 4) {
        StoreOp op = { .kind = STORE_DELETE, .key = key };
        if (!store_op(server->cluster_store.store, &op, deleted, write, &err)) {
            write_ends(write, &err);
        }
        return;
    }
    Change *change;
    change_start(&(ChangeSpec){ .cluster_store = server->cluster_store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide,
                                .done = change_ends,
                                .context = write },
                 &change);
}

static void tick_runs(void *context)
{
    Server *server = context;
    loop_timer_start(&server->tick, 50 + (int64_t)(loop_random(server->loop) % 300));
    write_something(server);
}

/* --- A server -------------------------------------------------------------------------------- */

static void state_ready(void *context)
{
    Server *server = context;
    loop_timer_start(&server->tick, 10);
}

static void state_stale(void *context, const Error *err)
{
    const Server *server = context;
    note(server->world, HAPPENED_STALE, server->index);
}

static void state_current(void *context)
{
    const Server *server = context;
    note(server->world, HAPPENED_CURRENT, server->index);
}

static void roster_changed(void *context)
{
}

static void server_start(Server *server)
{
    remote_store_open(server->remote);
    server->cluster_store =
        (ClusterStore){ server->loop, remote_store_handle(server->remote), PREFIX };
    server->is_running = true;
    memset(server->has_seen, 0, sizeof server->has_seen);
    server->cluster_store.state = state_new(
        &server->cluster_store, &(StateEvents){ state_ready, state_stale, state_current, server });
    server->cluster_store.roster = roster_new(server->cluster_store.state, PREFIX,
                                              &(RosterEvents){ .changed = roster_changed });
}

static void server_end(Server *server)
{
    server->is_running = false; /* notifies everything that waits for the state */
    loop_timer_stop(&server->tick);
    state_stop(server->cluster_store.state);
    remote_store_close(server->remote);
    roster_free(TAKE(server->cluster_store.roster));
    state_free(TAKE(server->cluster_store.state));
    server->starts_ms = loop_now_ms(server->world->loop) + 50 + random_below(server->world, 5000);
}

static void server_runs(Server *server)
{
    World *world = server->world;
    int64_t now = loop_now_ms(world->loop);
    if (server->fault != REMOTE_WELL && now >= server->fault_until_ms) {
        server->fault = REMOTE_WELL;
        remote_store_set_fault(server->remote, REMOTE_WELL, 0);
    }
    if (!server->is_running && now >= server->starts_ms) {
        server_start(server);
    }
    if (server->is_running) {
        remote_store_deliver(server->remote);
        loop_run_virtual_until(server->loop, now);
        remote_store_deliver(server->remote);
    }
}

static void server_init(World *world, uint32_t index)
{
    Server *server = &world->servers[index];
    *server = (Server){ .world = world, .index = index, .starts_ms = random_below(world, 2000) };
    server->loop = loop_new_virtual(loop_random(world->loop));
    server->remote = remote_store_new(world->loop, world->store, &world->remote);
    loop_timer_init(&server->tick, server->loop, tick_runs, server);
}

static void server_free(Server *server)
{
    remote_store_free(server->remote);
    loop_free(server->loop);
}

/* --- Faults ---------------------------------------------------------------------------------- */

/* All servers stop, as for 'eden backup restore', and start with another store. */
static void restore(World *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        if (world->servers[i].is_running) {
            server_end(&world->servers[i]);
        }
        remote_store_calm(world->servers[i].remote);
    }
    int64_t later = loop_now_ms(world->loop) + TROUBLE_MAX_MS + 20 * 1000;
    loop_run_virtual_until(world->loop, later); /* messages in transit */
    for (uint32_t i = 0; i < world->count; i++) {
        server_free(&world->servers[i]);
    }
    close_store(world);
    open_store(world);
    for (uint32_t i = 0; i < world->count; i++) {
        server_init(world, i);
        world->servers[i].starts_ms += later;
        loop_run_virtual_until(world->servers[i].loop, later);
    }
    note(world, HAPPENED_RESTORED, (uint64_t)world->revision);
}

static void set_fault(Server *server, RemoteFault what)
{
    static const Event happenings[] = { [REMOTE_STOPPED] = HAPPENED_STOPPED,
                                        [REMOTE_READ_ONLY] = HAPPENED_READ_ONLY,
                                        [REMOTE_SLOW] = HAPPENED_SLOW,
                                        [REMOTE_LOST] = HAPPENED_LOST };
    World *world = server->world;
    server->fault = what;
    server->fault_from_ms = loop_now_ms(world->loop);
    server->fault_until_ms = server->fault_from_ms + random_below(world, TROUBLE_MAX_MS);
    remote_store_set_fault(server->remote, what, server->fault_until_ms);
    note(world, happenings[what], server->index);
}

static void fault(World *world)
{
    Server *server = &world->servers[random_below(world, world->count)];
    int64_t what = random_below(world, 24);
    if (what == 0) {
        restore(world);
    } else if (what < 4) {
        back_up(world);
    } else if (what < 7 && server->is_running) {
        note(world, HAPPENED_CRASH, server->index);
        server_end(server);
    } else if (server->fault == REMOTE_WELL) {
        set_fault(server, REMOTE_STOPPED + what % 4);
    }
}

/* --- Invariants ------------------------------------------------------------------------------ */

static void check_revoked(Server *server)
{
    World *world = server->world;
    for (uint32_t i = 0; i < world->write_count; i++) {
        if (!world->is_revoking[i]) {
            continue;
        }
        bool revoked = is_revoked(server, i);
        if (server->has_seen[i] && !revoked) {
            world_fail(world, "a certificate that was revoked is let in again", server->index, i);
        }
        server->has_seen[i] = server->has_seen[i] || revoked;
    }
}

static void check_server(Server *server)
{
    World *world = server->world;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StateAge age = state_age(server->cluster_store.state);
    int64_t now = loop_now_ms(world->loop);
    if (!age.is_ready) {
        return;
    }
    uint32_t nodes = 0;
    RosterRange range = roster_range(server->cluster_store.roster, &arena, NULL, STR_EMPTY);
    while (roster_next(&range) != NULL) {
        nodes++;
    }
    if (nodes == 0) {
        world_fail(world, "the state is empty", server->index, age.revision);
    }
    if (age.revision > world->revision || nodes != world->nodes[age.revision]) {
        world_fail(world, "a list is not what the store had", server->index, nodes);
    }
    if (age.revision < server->revision) {
        world_fail(world, "the revision went back", server->index, age.revision);
    }
    server->revision = age.revision;
    if (age.stale_since_ms != 0) {
        note(world, HAPPENED_READ, nodes);
    }
    bool is_removed = server->fault == REMOTE_STOPPED && now < server->fault_until_ms &&
                      now - server->fault_from_ms > NOTICED_MS;
    if (is_removed && !age.is_behind) {
        world_fail(world, "a store that is stopped is not missed", server->index, now);
    }
    check_revoked(server);
}

static void check_end(World *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        Server *server = &world->servers[i];
        uint32_t buffered = 0, known = 0;
        StateAge age = state_age(server->cluster_store.state);
        if (!age.is_ready || age.stale_since_ms != 0 || age.revision != world->revision) {
            world_fail(world, "a state is not current in the calm", i, age.revision);
        }
        StateRange range = state_range(server->cluster_store.state, STR("/"), STR_EMPTY);
        for (const StateEntry *entry; (entry = state_next(&range)) != NULL; known++) {
            char key[64];
            snprintf(key, sizeof key, "%" STR_FMT, STR_ARG(entry->key));
            const StoredWrite *one = find_stored(world->keys, key);
            if (one->value == NULL || !str_eq_c(entry->value, one->value)) {
                world_fail(world, "a state has what the store has not", i, entry->mod_revision);
            }
        }
        for (uint32_t k = 0; k < KEYS_MAX; k++) {
            buffered += world->keys[k].value != NULL;
        }
        if (buffered != known) {
            world_fail(world, "a state has not what the store has", i, buffered);
        }
    }
    for (uint32_t i = 0; i < world->write_count; i++) {
        if (world->is_told[i] && !world->is_stored[i]) {
            world_fail(world, "a write that was acknowledged is not there", 0, i);
        }
    }
}

/* --- A run ----------------------------------------------------------------------------------- */

static void end_faults(World *world)
{
    world->is_calm = true;
    for (uint32_t i = 0; i < world->count; i++) {
        Server *server = &world->servers[i];
        server->fault = REMOTE_WELL;
        remote_store_calm(server->remote);
    }
}

static void run_world(World *world)
{
    int64_t next_fault = random_below(world, 5000), end = INT64_MAX;
    while (!world->failed && loop_now_ms(world->loop) < end) {
        int64_t now = loop_now_ms(world->loop) + STEP_MS;
        loop_run_virtual_until(world->loop, now);
        if (!world->is_calm && now >= STORM_MS) {
            end_faults(world);
            end = now + CALM_MS;
        }
        if (!world->is_calm && now >= next_fault) {
            fault(world);
            next_fault = loop_now_ms(world->loop) + random_below(world, 8000);
        }
        for (uint32_t i = 0; i < world->count; i++) {
            server_runs(&world->servers[i]);
        }
        loop_run_virtual_until(world->loop, loop_now_ms(world->loop));
        for (uint32_t i = 0; i < world->count; i++) {
            if (world->servers[i].is_running) {
                check_server(&world->servers[i]);
            }
        }
        if (now >= end - 2000) {
            for (uint32_t i = 0; i < world->count; i++) {
                loop_timer_stop(&world->servers[i].tick);
            }
        }
    }
}

static uint64_t run(uint64_t seed, uint64_t totals[EVENTS], RemoteCounts *remote, bool *ok)
{
    World *world = memory_new(sizeof *world);
    world->seed = seed;
    world->digest = 0xcbf29ce484222325u;
    world->loop = loop_new_virtual(seed);
    find_stored(world->backup, "/eden/nodes/first")->value = strdup("0");
    world->write_count = 1;
    open_store(world);
    world->count = 1 + (uint32_t)random_below(world, SERVERS_MAX);
    for (uint32_t i = 0; i < world->count; i++) {
        server_init(world, i);
    }
    run_world(world);
    if (!world->failed) {
        check_end(world);
    }
    for (uint32_t i = 0; i < world->count; i++) {
        if (world->servers[i].is_running) {
            server_end(&world->servers[i]);
        }
        remote_store_calm(world->servers[i].remote);
    }
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + 60 * 1000);
    for (uint32_t i = 0; i < world->count; i++) {
        server_free(&world->servers[i]);
    }
    close_store(world);
    keys_clear(world->backup);
    loop_free(world->loop);
    for (uint32_t i = 0; i < EVENTS; i++) {
        totals[i] += world->counts[i];
    }
    remote->lost += world->remote.lost;
    remote->unknown += world->remote.unknown;
    remote->late += world->remote.late;
    remote->slow += world->remote.slow;
    remote->broken += world->remote.broken;
    *ok = *ok && !world->failed;
    uint64_t digest = world->digest;
    free(world);
    return digest;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: sim_stale FIRST_SEED COUNT\n");
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
