/* An etcd cluster whose members are planned by `datastore/member_plan`, in a model of etcd:
 *
 *     sim_members FIRST_SEED COUNT
 *
 * Each seed is one cluster of up to seven servers. For a while, members crash and restart, servers
 * are lost for good, lose their data, change their address or never start a member, requests for
 * the state of a member fail, the set of wanted servers changes, leaders change, and steps are
 * executed late, when something else has happened; then all faults end. Never more than that is
 * lost at the same time from which any cluster could recover. Every member that runs plans, and
 * believes what it sees. Invariants:
 *
 *   - No step leaves fewer voters that respond than a majority. (Steps that are executed late are
 *     also checked by etcd, as the real one does; others it must never have a reason to reject.)
 *   - Only the leader takes steps; each changes one member; there is at most one learner.
 *   - The cluster always has a majority of voters with their data.
 *   - After the faults end, the voters are those that are wanted, and nothing changes any more. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "datastore/member_plan.h"

enum {
    SERVERS = 7,
    STORM_TICKS = 600,
    CALM_TICKS = 500,
    REST_TICKS = 20, /* at the end, without a change */
    STALL_TICKS = 25,
    QUARANTINE_TICKS = 15,
    LOST_TICKS = 20,
    LATE_MAX = 6,
    CATCH_UP = 5000, /* entries in a tick */
    NO_SERVER = SERVERS,
};

typedef enum Event {
    HAPPENED_ADD,
    HAPPENED_PROMOTE,
    HAPPENED_REMOVE,
    HAPPENED_UPDATE,
    HAPPENED_MOVE,
    HAPPENED_LATE,
    HAPPENED_REJECTED,
    HAPPENED_CRASH,
    HAPPENED_GONE,
    HAPPENED_DATA_LOSS,
    HAPPENED_NEW_URL,
    HAPPENED_STALL,
    HAPPENED_WANTED,
    HAPPENED_ELECTION,
    HAPPENED_QUORUM_LOST,
    EVENTS
} Event;

static const char *const event_names[EVENTS] = {
    [HAPPENED_ADD] = "added",
    [HAPPENED_PROMOTE] = "promoted",
    [HAPPENED_REMOVE] = "removed",
    [HAPPENED_UPDATE] = "addresses updated",
    [HAPPENED_MOVE] = "leaders moved",
    [HAPPENED_LATE] = "late steps",
    [HAPPENED_REJECTED] = "late steps rejected",
    [HAPPENED_CRASH] = "crashes",
    [HAPPENED_GONE] = "servers lost",
    [HAPPENED_DATA_LOSS] = "data lost",
    [HAPPENED_NEW_URL] = "addresses changed",
    [HAPPENED_STALL] = "learners stalled",
    [HAPPENED_WANTED] = "sets of servers",
    [HAPPENED_ELECTION] = "elections",
    [HAPPENED_QUORUM_LOST] = "ticks without quorum",
};

typedef struct Step {
    bool is_pending, is_late;
    uint32_t due;
    MemberStep step;
    uint32_t server; /* of MEMBER_ADD and MEMBER_UPDATE */
    uint32_t url;
} Step;

typedef struct Server {
    char name[8];
    uint64_t data_member_id; /* 0: no data */
    bool is_running, is_gone, never_starts;
    uint32_t gone_since, starts_at, quarantined_until, url;
    Step step; /* that this server has decided on */
} Server;

typedef struct Member {
    uint64_t id;
    uint32_t server, url;
    bool is_learner, is_started;
    uint64_t match;
    uint32_t progress_at;
} Member;

typedef struct World {
    uint64_t seed, random;
    uint32_t tick;
    bool is_calm, failed;
    Server servers[SERVERS];
    bool wanted[SERVERS];
    Member members[MEMBERS_MAX];
    uint32_t member_count;
    uint64_t leader, next_id, commit;
    uint32_t next_url, last_change;
    char urls[64 * SERVERS][12];
    uint64_t *counts;
} World;

PRINTF_LIKE(2, 3) static void world_fail(World *world, const char *format, ...)
{
    if (!world->failed) {
        va_list args;
        va_start(args, format);
        printf("seed %" PRIu64 ", tick %u: ", world->seed, world->tick);
        vprintf(format, args);
        printf("\n");
        va_end(args);
    }
    world->failed = true;
}

static uint32_t below(World *world, uint32_t limit)
{
    uint64_t z = (world->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % limit);
}

/* --- The model of etcd ----------------------------------------------------------------------- */

static Member *find_member(World *world, uint64_t id)
{
    for (uint32_t i = 0; i < world->member_count; i++) {
        if (world->members[i].id == id) {
            return &world->members[i];
        }
    }
    return NULL;
}

static uint32_t voters(const World *world)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->member_count; i++) {
        count += !world->members[i].is_learner;
    }
    return count;
}

static bool has_data(const World *world, const Member *member)
{
    const Server *server = &world->servers[member->server];
    return !server->is_gone && server->data_member_id == member->id;
}

/* The address of a lone voter does not matter: nobody connects to it. */
static bool is_reachable(const World *world, const Member *member)
{
    const Server *server = &world->servers[member->server];
    return has_data(world, member) &&
           (member->url == server->url || (!member->is_learner && voters(world) == 1));
}

static bool is_up(const World *world, const Member *member)
{
    return is_reachable(world, member) && world->servers[member->server].is_running;
}

/* Whether others can follow the leader. */
static bool can_follow(World *world)
{
    const Member *leader = find_member(world, world->leader);
    return leader != NULL && leader->url == world->servers[leader->server].url;
}

static uint32_t live_voters(const World *world)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->member_count; i++) {
        count += !world->members[i].is_learner && is_up(world, &world->members[i]);
    }
    return count;
}

static bool has_quorum(const World *world)
{
    return live_voters(world) > voters(world) / 2;
}

static bool can_recover(const World *world, uint32_t lost, uint32_t promotions)
{
    uint32_t good = 0, all = voters(world) + promotions;
    for (uint32_t i = 0; i < world->member_count; i++) {
        const Member *member = &world->members[i];
        good += !member->is_learner && member->server != lost && has_data(world, member) &&
                (all == 1 || member->url == world->servers[member->server].url);
    }
    return good > all / 2;
}

/* Whether the cluster can recover without that server, even if a late promotion happens. */
static bool can_lose(const World *world, uint32_t server)
{
    uint32_t promotions = 0;
    for (uint32_t i = 0; i < SERVERS; i++) {
        const Step *step = &world->servers[i].step;
        promotions += step->is_pending && step->step.action == MEMBER_PROMOTE;
    }
    return can_recover(world, server, promotions);
}

static void remove_member(World *world, Member *member)
{
    uint32_t at = (uint32_t)(member - world->members);
    for (world->member_count--; at < world->member_count; at++) {
        world->members[at] = world->members[at + 1];
    }
}

/* What etcd itself checks with strict reconfiguration. */
static bool etcd_accepts(World *world, const Step *step)
{
    Member *member = find_member(world, step->step.member);
    uint32_t live = live_voters(world), all = voters(world);
    if (!has_quorum(world) || (step->step.action != MEMBER_ADD && member == NULL)) {
        return false;
    }
    switch (step->step.action) {
    case MEMBER_ADD:
        for (uint32_t i = 0; i < world->member_count; i++) {
            if (world->members[i].is_learner || world->members[i].url == step->url) {
                return false;
            }
        }
        return live == all;
    case MEMBER_PROMOTE:
        return member->is_learner && is_up(world, member) && can_follow(world) &&
               member->match * 10 >= world->commit * 9;
    case MEMBER_REMOVE:
        return member->is_learner || (all > 1 && live - is_up(world, member) > (all - 1) / 2);
    case MEMBER_UPDATE:
        for (uint32_t i = 0; i < world->member_count; i++) {
            if (world->members[i].url == step->url) {
                return false;
            }
        }
        return true;
    case MEMBER_MOVE_LEADER: return !member->is_learner && is_up(world, member);
    default: return false;
    }
}

static void etcd_applies(World *world, const Step *step)
{
    static const Event events[] = { [MEMBER_ADD] = HAPPENED_ADD,
                                    [MEMBER_PROMOTE] = HAPPENED_PROMOTE,
                                    [MEMBER_REMOVE] = HAPPENED_REMOVE,
                                    [MEMBER_UPDATE] = HAPPENED_UPDATE,
                                    [MEMBER_MOVE_LEADER] = HAPPENED_MOVE };
    Member *member = find_member(world, step->step.member);
    world->counts[events[step->step.action]]++;
    world->last_change = world->tick;
    switch (step->step.action) {
    case MEMBER_ADD:
        if (world->member_count == MEMBERS_MAX) {
            world_fail(world, "too many members");
            return;
        }
        world->members[world->member_count++] = (Member){ .id = world->next_id++,
                                                          .server = step->server,
                                                          .url = step->url,
                                                          .is_learner = true,
                                                          .progress_at = world->tick };
        break;
    case MEMBER_PROMOTE: member->is_learner = false; break;
    case MEMBER_REMOVE:
        world->leader = world->leader == member->id ? 0 : world->leader;
        remove_member(world, member);
        break;
    case MEMBER_UPDATE: member->url = step->url; break;
    case MEMBER_MOVE_LEADER: world->leader = member->id; break;
    default: break;
    }
}

/* --- Steps ----------------------------------------------------------------------------------- */

static void check_effect(World *world, const Step *step, bool was_late)
{
    uint32_t learners = world->member_count - voters(world);
    if (learners > 1) {
        world_fail(world, "%u learners", learners);
    }
    if (!has_quorum(world) && !was_late) {
        world_fail(world, "'%s' of %" PRIu64 " has left %u of %u voters",
                   member_action_name(step->step.action), step->step.member, live_voters(world),
                   voters(world));
    }
    if (!can_recover(world, NO_SERVER, 0)) {
        world_fail(world, "'%s' has left too few voters with data",
                   member_action_name(step->step.action));
    }
}

static void execute(World *world, Server *server)
{
    Step step = server->step;
    server->step.is_pending = false;
    if (!server->is_running) {
        return;
    }
    if (!etcd_accepts(world, &step)) {
        world->counts[HAPPENED_REJECTED]++;
        if (!step.is_late) {
            world_fail(world, "etcd rejects '%s' of member %" PRIu64 " (%s)",
                       member_action_name(step.step.action), step.step.member,
                       member_reason_text(step.step.reason));
        }
        return;
    }
    etcd_applies(world, &step);
    check_effect(world, &step, step.is_late);
}

static Str text(const char *c)
{
    return str_from_c(c);
}

static ServerState state_of(const World *world, const Server *server)
{
    return server->is_gone && world->tick >= server->gone_since + LOST_TICKS ? SERVER_LOST
           : server->is_gone || world->tick < server->quarantined_until      ? SERVER_UNREACHABLE
                                                                             : SERVER_READY;
}

static void list_members(World *world, uint64_t own, ListedMember *out)
{
    for (uint32_t i = 0; i < world->member_count; i++) {
        Member *member = &world->members[i];
        bool answers =
            member->id == own || (can_follow(world) && (world->is_calm || below(world, 20) != 0));
        out[i] = (ListedMember){
            .id = member->id,
            .name = member->is_started ? text(world->servers[member->server].name) : STR_EMPTY,
            .peer_url = text(world->urls[member->url]),
            .is_learner = member->is_learner,
            .is_healthy = is_up(world, member) && answers,
            .is_stalled = member->is_learner && world->tick > member->progress_at + STALL_TICKS,
            .lag = world->commit - member->match,
        };
    }
}

static MemberStep plan(World *world, const Server *server)
{
    MemberServer servers[SERVERS];
    ListedMember members[MEMBERS_MAX];
    MemberSnapshot snapshot = { .servers = servers,
                                .server_count = SERVERS,
                                .members = members,
                                .member_count = world->member_count,
                                .own = server->data_member_id,
                                .leader = world->leader,
                                .index = world->commit };
    for (uint32_t i = 0; i < SERVERS; i++) {
        const Server *it = &world->servers[i];
        servers[i] = (MemberServer){ text(it->name), text(world->urls[it->url]), world->wanted[i],
                                     state_of(world, it), it->data_member_id };
    }
    list_members(world, server->data_member_id, members);
    return member_plan(&snapshot);
}

/* Each server waits for its step before it decides on another one. */
static void decide(World *world, Server *server)
{
    MemberStep step = plan(world, server);
    if (step.action <= MEMBER_REFUSE) {
        return;
    }
    if (world->leader != server->data_member_id) {
        world_fail(world, "%s does not lead, but takes a step", server->name);
    }
    if (step.reason == MEMBER_STALLED) {
        world->counts[HAPPENED_STALL]++;
        Server *its = &world->servers[find_member(world, step.member)->server];
        its->quarantined_until = world->tick + QUARANTINE_TICKS;
    }
    bool is_late = !world->is_calm && below(world, 4) == 0;
    bool has_server = step.action == MEMBER_ADD || step.action == MEMBER_UPDATE;
    server->step = (Step){ .is_pending = true,
                           .is_late = is_late,
                           .due = world->tick + (is_late ? 1 + below(world, LATE_MAX) : 0),
                           .step = step,
                           .server = has_server ? step.server : 0,
                           .url = has_server ? world->servers[step.server].url : 0 };
    world->counts[HAPPENED_LATE] += is_late;
    if (!is_late) {
        execute(world, server);
    }
}

/* --- Servers --------------------------------------------------------------------------------- */

/* The agent of a server starts the member that was added for it, or its own one again, and leaves
 * the data of a removed member alone. */
static void run_server(World *world, Server *server)
{
    uint32_t at = (uint32_t)(server - world->servers);
    if (server->is_running && find_member(world, server->data_member_id) == NULL) {
        server->is_running = false;
        server->data_member_id = 0;
    }
    if (server->is_running || server->is_gone || world->tick < server->starts_at ||
        server->never_starts) {
        return;
    }
    for (uint32_t i = 0; i < world->member_count; i++) {
        Member *member = &world->members[i];
        bool is_new = !member->is_started && member->server == at && has_quorum(world) &&
                      member->url == server->url;
        if (is_new) {
            server->data_member_id = member->id;
            member->is_started = true;
            member->progress_at = world->tick;
        }
        if (member->id == server->data_member_id) {
            server->is_running = true;
            return;
        }
    }
}

static void replicate(World *world)
{
    if (!has_quorum(world)) {
        world->counts[HAPPENED_QUORUM_LOST]++;
        return;
    }
    world->commit += below(world, 300);
    for (uint32_t i = 0; i < world->member_count; i++) {
        Member *member = &world->members[i];
        if (is_up(world, member) && (member->id == world->leader || can_follow(world))) {
            uint64_t next = member->match + CATCH_UP;
            member->progress_at = world->tick;
            member->match = next > world->commit ? world->commit : next;
        }
    }
}

/* Any voter that has what was committed can win. The model commits with those that are up, so it is
 * one of them. */
static void elect(World *world)
{
    const Member *leader = find_member(world, world->leader);
    bool holds = leader != NULL && is_up(world, leader) && has_quorum(world);
    if (holds && (world->is_calm || below(world, 100) != 0)) {
        return;
    }
    world->leader = 0;
    for (uint32_t tries = 0; has_quorum(world) && tries < 30; tries++) {
        const Member *member = &world->members[below(world, world->member_count)];
        if (!member->is_learner && is_up(world, member)) {
            world->leader = member->id;
            world->counts[HAPPENED_ELECTION]++;
            return;
        }
    }
}

/* --- Faults ---------------------------------------------------------------------------------- */

static bool is_lone(const World *world, uint32_t server)
{
    return voters(world) == 1 && world->servers[server].data_member_id == world->members[0].id;
}

static void crash(World *world, Server *server)
{
    if (server->is_running) {
        world->counts[HAPPENED_CRASH]++;
        server->is_running = false;
        server->starts_at = world->tick + below(world, 30);
    }
}

static void lose_server(World *world, Server *server)
{
    uint32_t gone = 0;
    for (uint32_t i = 0; i < SERVERS; i++) {
        gone += world->servers[i].is_gone;
    }
    if (gone < 2 && can_lose(world, (uint32_t)(server - world->servers))) {
        world->counts[HAPPENED_GONE]++;
        server->is_gone = true;
        server->is_running = false;
        server->gone_since = world->tick;
    }
}

static void lose_data(World *world, Server *server)
{
    if (server->data_member_id != 0 && can_lose(world, (uint32_t)(server - world->servers))) {
        world->counts[HAPPENED_DATA_LOSS]++;
        server->is_running = false;
        server->data_member_id = 0;
        server->starts_at = world->tick + below(world, 10);
    }
}

static void change_url(World *world, Server *server)
{
    uint32_t at = (uint32_t)(server - world->servers);
    if (world->next_url < COUNT_OF(world->urls) && (can_lose(world, at) || is_lone(world, at))) {
        world->counts[HAPPENED_NEW_URL]++;
        server->url = world->next_url++;
    }
}

/* A cluster of servers that are not lost, mostly with an odd number. */
static void choose_wanted(World *world)
{
    static const uint32_t sizes[] = { 1, 2, 3, 3, 3, 4, 5 };
    uint32_t left = sizes[below(world, COUNT_OF(sizes))];
    world->counts[HAPPENED_WANTED]++;
    for (uint32_t i = 0; i < SERVERS; i++) {
        world->wanted[i] = false;
    }
    for (uint32_t tries = 0; left > 0 && tries < 100; tries++) {
        uint32_t at = below(world, SERVERS);
        if (!world->wanted[at] && !world->servers[at].is_gone) {
            world->wanted[at] = true;
            left--;
        }
    }
}

static void break_something(World *world)
{
    Server *server = &world->servers[below(world, SERVERS)];
    switch (below(world, 160)) {
    case 0:
    case 1:
    case 2:
    case 3: crash(world, server); break;
    case 4: lose_server(world, server); break;
    case 5: lose_data(world, server); break;
    case 6: change_url(world, server); break;
    case 7: server->never_starts = !server->never_starts; break;
    case 8: choose_wanted(world); break;
    default: break;
    }
}

/* --- A run ----------------------------------------------------------------------------------- */

static void begin(World *world)
{
    for (uint32_t i = 0; i < COUNT_OF(world->urls); i++) {
        snprintf(world->urls[i], sizeof world->urls[i], "url%u", i);
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        snprintf(world->servers[i].name, sizeof world->servers[i].name, "s%u", i);
        world->servers[i].url = i;
    }
    world->next_url = SERVERS;
    world->next_id = 2;
    world->commit = 5;
    world->leader = 1;
    world->servers[0].data_member_id = 1;
    world->servers[0].is_running = true;
    world->members[world->member_count++] =
        (Member){ .id = 1, .server = 0, .url = 0, .is_started = true, .match = 5 };
    choose_wanted(world);
}

static void calm_down(World *world)
{
    world->is_calm = true;
    for (uint32_t i = 0; i < SERVERS; i++) {
        world->servers[i].never_starts = false;
        world->servers[i].step.is_pending = false;
    }
    choose_wanted(world);
}

static void turn(World *world)
{
    if (!world->is_calm) {
        break_something(world);
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        run_server(world, &world->servers[i]);
    }
    elect(world);
    replicate(world);
    for (uint32_t i = 0; i < SERVERS && !world->failed; i++) {
        Server *server = &world->servers[i];
        if (server->step.is_pending && world->tick >= server->step.due) {
            execute(world, server);
        } else if (server->is_running && !server->step.is_pending && below(world, 2) == 0) {
            decide(world, server);
        }
    }
}

static void check_end(World *world)
{
    const Member *leader = find_member(world, world->leader);
    if (leader == NULL) {
        world_fail(world, "no leader in the end");
        return;
    }
    for (uint32_t i = 0; i < world->member_count; i++) {
        const Member *member = &world->members[i];
        if (member->is_learner || !world->wanted[member->server] ||
            member->url != world->servers[member->server].url) {
            world_fail(world, "s%u has a wrong member in the end", member->server);
        }
    }
    MemberStep step = plan(world, &world->servers[leader->server]);
    if (step.action != MEMBER_NO_ACTION) {
        world_fail(world, "in the end: %s (%s)", member_action_name(step.action),
                   member_reason_text(step.reason));
    }
    if (world->last_change + REST_TICKS > world->tick) {
        world_fail(world, "the last change was at %u", world->last_change);
    }
}

static bool run(uint64_t seed, uint64_t *counts)
{
    World world = { .seed = seed, .random = seed, .counts = counts };
    begin(&world);
    for (; world.tick < STORM_TICKS + CALM_TICKS && !world.failed; world.tick++) {
        if (world.tick == STORM_TICKS) {
            calm_down(&world);
        }
        turn(&world);
    }
    if (!world.failed) {
        check_end(&world);
    }
    return !world.failed;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: sim_members FIRST_SEED COUNT\n");
        return 64;
    }
    uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    uint64_t totals[EVENTS] = { 0 };
    uint32_t failures = 0;
    for (uint64_t seed = first; seed < first + count && failures < 10; seed++) {
        failures += !run(seed, totals);
    }
    for (uint32_t i = 0; i < EVENTS; i++) {
        printf("%" PRIu64 " %s%s", totals[i], event_names[i], i + 1 < EVENTS ? ", " : "\n");
        /* A fault that never happens proves nothing. */
        if (count >= 100 && totals[i] == 0) {
            printf("never happened: %s\n", event_names[i]);
            failures++;
        }
    }
    return failures > 0 ? 1 : 0;
}
