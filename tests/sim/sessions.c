/* Sessions between nodes and servers, with crashes and an unreliable network:
 *
 *     sim_sessions FIRST_SEED COUNT [-v]
 *
 * Each seed is one run: a minute of faults, then calm. Invariants at the end: every record that was
 * on a node's disk is in the store once, in order; every view of a node has received every change
 * once and in order, or was told to resync, and shows the current contents. Every tenth seed runs
 * twice, and both runs must be the same in every event. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "session_world.h"

enum {
    STORM_MS = 40 * 1000,
    CALM_MS = 150 * 1000,
    TWICE_EVERY = 10,
};

static const char *const event_names[EVENTS] = {
    [HAPPENED_LIVE] = "sessions",
    [HAPPENED_TAKEN] = "records",
    [HAPPENED_AGAIN] = "tries",
    [HAPPENED_UNIT] = "units",
    [HAPPENED_RESYNC] = "resyncs",
    [HAPPENED_DROP] = "dropped",
    [HAPPENED_CUT] = "cuts",
    [HAPPENED_SILENCE] = "silences",
    [HAPPENED_NODE_CRASH] = "node crashes",
    [HAPPENED_SERVER_CRASH] = "server crashes",
    [HAPPENED_REFUSED] = "refused",
    [HAPPENED_FULL] = "full",
};

void world_note(World *world, Event what, uint64_t a, uint64_t b)
{
    world->counts[what]++;
    uint64_t words[] = { (uint64_t)loop_now_ms(world->loop), what, a, b };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        world->digest = (world->digest ^ words[i]) * 0x100000001b3u;
        world->digest ^= world->digest >> 29;
    }
}

void world_fail(World *world, const char *format, ...)
{
    if (!world->failed) {
        va_list args;
        va_start(args, format);
        printf("seed %" PRIu64 ", %" PRId64 " ms: ", world->seed, loop_now_ms(world->loop));
        vprintf(format, args);
        printf("\n");
        va_end(args);
    }
    world->failed = true;
}

uint64_t world_random(World *world, uint64_t below)
{
    return below == 0 ? 0 : loop_random(world->loop) % below;
}

void truth_state_at(const Truth *truth, int64_t revision, KeyState out[KEYS])
{
    memset(out, 0, KEYS * sizeof *out);
    for (uint32_t i = 0; i < truth->changes.len; i++) {
        const TruthChange *change = &truth->changes.items[i];
        if (change->revision > revision) {
            break;
        }
        out[change->key] =
            (KeyState){ !change->deleted, change->deleted ? 0 : change->value, change->revision };
    }
}

/* --- Faults ---------------------------------------------------------------------------------- */

static void writer_runs(void *context)
{
    World *world = context;
    if (world->calm) {
        return;
    }
    Truth *truth = &world->truth;
    truth->revision++;
    uint32_t key = (uint32_t)world_random(world, KEYS);
    for (uint64_t i = 1 + world_random(world, 6); i > 0; i--) {
        key = (key + 1) % KEYS;
        bool deleted = world_random(world, 4) == 0;
        VEC_PUSH(&world->arena, &truth->changes,
                 ((TruthChange){ truth->revision, key, deleted, loop_random(world->loop) }));
    }
    servers_changed(world);
    loop_timer_start(&world->writer, (int64_t)world_random(world, 600));
}

static void compact(World *world)
{
    Truth *truth = &world->truth;
    int64_t behind = (int64_t)world_random(world, 40);
    if (truth->revision - behind > truth->compacted) {
        truth->compacted = truth->revision - behind;
    }
}

static void fault(World *world)
{
    Node *node = &world->nodes[world_random(world, NODES)];
    switch (world_random(world, 8)) {
    case 0:
        if (node->alive) {
            node_crash(node);
        }
        break;
    case 1: {
        Server *server = &world->servers[world_random(world, SERVERS)];
        if (server->alive) {
            server_crash(server);
        }
        break;
    }
    case 2:
        if (node->link != NULL) {
            world_note(world, HAPPENED_SILENCE, node->index, 0);
            link_silence(node->link);
        }
        break;
    case 3:
        if (node->link != NULL) {
            link_stall(node->link, (int64_t)world_random(world, 8000));
        }
        break;
    case 4: compact(world); break;
    case 5: world->disk_full = !world->disk_full; break;
    case 6:
        loop_virtual_set_wall(world->loop, (int64_t)world_random(world, UINT64_C(1) << 41));
        break;
    default:
        if (node->link != NULL) {
            world_note(world, HAPPENED_CUT, node->index, 0);
            link_cut(node->link);
        }
    }
}

static void faults_run(void *context)
{
    World *world = context;
    if (!world->calm) {
        fault(world);
        loop_timer_start(&world->faults, (int64_t)world_random(world, 3000));
    }
}

/* --- Invariants ------------------------------------------------------------------------------ */

static void check_records(World *world, const Node *node)
{
    const Truth *truth = &world->truth;
    uint64_t last = 0, lost = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < truth->taken[node->index].len; i++) {
        const TruthRecord *taken = &truth->taken[node->index].items[i];
        if (taken->id <= last) {
            world_fail(world, "record %" PRIu64 " of node %u came %s", taken->id, node->index,
                       taken->id == last ? "twice" : "late or twice");
        }
        /* Earlier records on the node's disk are not sent anymore. */
        while (at < node->spool.len && node->spool.items[at].id < taken->id) {
            if (node->spool.items[at].id > last && !node->spool.items[at].dropped) {
                world_fail(world, "record %" PRIu64 " of node %u is lost", node->spool.items[at].id,
                           node->index);
            }
            at++;
        }
        last = taken->id;
        lost += taken->lost;
    }
    for (; at < node->spool.len; at++) {
        if (node->spool.items[at].id > last && !node->spool.items[at].dropped) {
            world_fail(world, "record %" PRIu64 " of node %u never came", node->spool.items[at].id,
                       node->index);
        }
    }
    if (lost > node->dropped || (node->crashes == 0 && lost != node->dropped)) {
        world_fail(world, "node %u dropped %" PRIu64 " logs and told of %" PRIu64, node->index,
                   node->dropped, lost);
    }
    if (outbox_counts(node->outbox).records > 0) {
        world_fail(world, "node %u still has records to send", node->index);
    }
}

static void check_views(World *world, const Node *node)
{
    for (uint32_t i = 0; i < WATCHES; i++) {
        if (node->views[i].revision != world->truth.revision) {
            world_fail(world, "node %u stands at revision %" PRId64 " of %" PRId64, node->index,
                       node->views[i].revision, world->truth.revision);
        }
    }
}

static uint64_t run(uint64_t seed, uint64_t totals[EVENTS], bool *ok)
{
    World world = { .seed = seed, .digest = 0xcbf29ce484222325u };
    arena_init(&world.arena, ARENA_UNLIMITED);
    world.loop = loop_new_virtual(seed);
    loop_timer_init(&world.writer, world.loop, writer_runs, &world);
    loop_timer_init(&world.faults, world.loop, faults_run, &world);
    for (uint32_t i = 0; i < SERVERS; i++) {
        server_init(&world, i);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        node_init(&world, i);
    }
    loop_timer_start(&world.writer, 0);
    loop_timer_start(&world.faults, 500);
    loop_run_virtual_until(world.loop, STORM_MS);
    world.calm = true;
    world.disk_full = false;
    loop_run_virtual_until(world.loop, STORM_MS + CALM_MS);
    for (uint32_t i = 0; i < NODES; i++) {
        node_add_last(&world.nodes[i]);
    }
    loop_run_virtual_until(world.loop, STORM_MS + CALM_MS + 10000);
    for (uint32_t i = 0; i < NODES; i++) {
        check_records(&world, &world.nodes[i]);
        check_views(&world, &world.nodes[i]);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        node_free(&world.nodes[i]);
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        server_free(&world.servers[i]);
    }
    /* Responses without a waiting caller, and links about to close. */
    loop_run(world.loop);
    loop_free(world.loop);
    arena_clear(&world.arena);
    for (uint32_t i = 0; i < EVENTS; i++) {
        totals[i] += world.counts[i];
    }
    *ok = *ok && !world.failed;
    return world.digest;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: sim_sessions FIRST_SEED COUNT\n");
        return 64;
    }
    uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    uint64_t totals[EVENTS] = { 0 }, again[EVENTS] = { 0 };
    uint32_t failures = 0;
    for (uint64_t seed = first; seed < first + count && failures < 10; seed++) {
        bool ok = true;
        uint64_t digest = run(seed, totals, &ok);
        if (seed % TWICE_EVERY == 0 && run(seed, again, &ok) != digest) {
            printf("seed %" PRIu64 ": two runs differ\n", seed);
            ok = false;
        }
        failures += !ok;
    }
    for (uint32_t i = 0; i < EVENTS; i++) {
        printf("%s%" PRIu64 " %s", i > 0 ? ", " : "", totals[i], event_names[i]);
    }
    printf("\n");
    /* A fault phase in which some event never happens proves nothing about it. */
    for (uint32_t i = 0; i < EVENTS; i++) {
        if (count >= 100 && totals[i] == 0) {
            printf("never happened: %s\n", event_names[i]);
            failures++;
        }
    }
    return failures > 0 ? 1 : 0;
}
