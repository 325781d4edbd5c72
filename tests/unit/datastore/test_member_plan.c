/* The next change of a datastore's membership: as a table of snapshots with the expected step, and
 * for every snapshot of up to four servers, of which only the rules are checked. */
#include "datastore/member_plan.h"
#include "unit.h"

enum {
    SERVERS = 4,
};

#define SERVER_AT(letter, ...)                                         \
    {                                                                  \
        STR(letter), STR("https://" letter ":2380"), true, __VA_ARGS__ \
    }
#define READY(letter, data)  SERVER_AT(letter, SERVER_READY, data)
#define SILENT(letter, data) SERVER_AT(letter, SERVER_UNREACHABLE, data)
#define LOST(letter, data)   SERVER_AT(letter, SERVER_LOST, data)

#define MEMBER_AT(number, letter, ...)                                                   \
    {                                                                                    \
        .id = (number), .name = STR(letter), .peer_url = STR("https://" letter ":2380"), \
        __VA_ARGS__                                                                      \
    }
#define VOTER(number, letter) MEMBER_AT(number, letter, .is_healthy = true)
#define DOWN(number, letter)  MEMBER_AT(number, letter)
#define LEARNER(number, letter, behind) \
    MEMBER_AT(number, letter, .is_healthy = true, .is_learner = true, .lag = (behind))
#define UNSTARTED(number, letter)                                                      \
    {                                                                                  \
        .id = (number), .peer_url = STR("https://" letter ":2380"), .is_learner = true \
    }

typedef struct Case {
    const char *name;
    MemberServer servers[SERVERS];
    ListedMember members[SERVERS + 1];
    uint64_t leader, own;
    MemberStep step;
    uint64_t index; /* 0: a long log */
} Case;

static const Case cases[] = {
    { "a single server is left alone",
      { READY("a", 1) },
      { VOTER(1, "a") },
      1,
      1,
      { MEMBER_NO_ACTION } },
    { "only the leader acts",
      { READY("a", 1), READY("b", 0) },
      { VOTER(1, "a"), VOTER(2, "b") },
      2,
      1,
      { MEMBER_WAIT, MEMBER_NOT_LEADER, .is_even = true } },
    { "nobody acts without a leader",
      { READY("a", 1) },
      { VOTER(1, "a") },
      0,
      1,
      { MEMBER_WAIT, MEMBER_NO_LEADER } },
    { "nobody acts without a majority",
      { READY("a", 1), LOST("b", 2), LOST("c", 3) },
      { VOTER(1, "a"), DOWN(2, "b"), DOWN(3, "c") },
      1,
      1,
      { MEMBER_WAIT, MEMBER_QUORUM_LOST } },
    { "a removed member refuses to act",
      { READY("a", 1) },
      { VOTER(2, "b") },
      2,
      1,
      { MEMBER_REFUSE, MEMBER_NOT_LISTED } },
    { "no servers at all are refused",
      { { .data_member_id = 0 } },
      { VOTER(1, "a") },
      1,
      1,
      { MEMBER_REFUSE, MEMBER_NONE_WANTED } },
    { "two servers with one name are refused",
      { READY("a", 1), READY("a", 1) },
      { VOTER(1, "a") },
      1,
      1,
      { MEMBER_REFUSE, MEMBER_DUPLICATE_NAME } },
    { "two servers with one address are refused",
      { READY("a", 1), { STR("b"), STR("https://a:2380"), true, SERVER_READY, 0 } },
      { VOTER(1, "a") },
      1,
      1,
      { MEMBER_REFUSE, MEMBER_DUPLICATE_URL } },

    { "a cluster grows with a learner",
      { READY("a", 1), READY("b", 0), READY("c", 0) },
      { VOTER(1, "a") },
      1,
      1,
      { MEMBER_ADD, .server = 1 } },
    { "a silent server is not added",
      { READY("a", 1), SILENT("b", 0), READY("c", 0) },
      { VOTER(1, "a") },
      1,
      1,
      { MEMBER_ADD, .server = 2 } },
    { "the only server left to add is silent",
      { READY("a", 1), SILENT("b", 0) },
      { VOTER(1, "a") },
      1,
      1,
      { MEMBER_WAIT, MEMBER_SERVER_NOT_READY, .server = 1 } },
    { "an added member is waited for until it is started",
      { READY("a", 1), READY("b", 0), READY("c", 0) },
      { VOTER(1, "a"), UNSTARTED(2, "b") },
      1,
      1,
      { MEMBER_WAIT, MEMBER_LEARNER_STARTING, .member = 2 } },
    { "a learner that does not respond is waited for",
      { READY("a", 1), READY("b", 2), READY("c", 0) },
      { VOTER(1, "a"), MEMBER_AT(2, "b", .is_learner = true) },
      1,
      1,
      { MEMBER_WAIT, MEMBER_LEARNER_DOWN, .member = 2 } },
    { "a learner that lags is waited for",
      { READY("a", 1), READY("b", 2), READY("c", 0) },
      { VOTER(1, "a"), LEARNER(2, "b", MEMBER_LAG_MAX + 1) },
      1,
      1,
      { MEMBER_WAIT, MEMBER_LEARNER_LAGS, .member = 2 } },
    { "a learner that lacks more than a tenth of a short log is waited for",
      { READY("a", 1), READY("b", 2), READY("c", 0) },
      { VOTER(1, "a"), LEARNER(2, "b", 11) },
      1,
      1,
      { MEMBER_WAIT, MEMBER_LEARNER_LAGS, .member = 2 },
      .index = 109 },
    { "a learner that has caught up is promoted",
      { READY("a", 1), READY("b", 2), READY("c", 0) },
      { VOTER(1, "a"), LEARNER(2, "b", MEMBER_LAG_MAX) },
      1,
      1,
      { MEMBER_PROMOTE, .member = 2 } },
    { "a second voter waits for a third server",
      { READY("a", 1), READY("b", 2), SILENT("c", 0) },
      { VOTER(1, "a"), LEARNER(2, "b", 0) },
      1,
      1,
      { MEMBER_WAIT, MEMBER_EVEN_VOTERS, .member = 2 } },
    { "two voters are possible if two are wanted",
      { READY("a", 1), READY("b", 2) },
      { VOTER(1, "a"), LEARNER(2, "b", 0) },
      1,
      1,
      { MEMBER_PROMOTE, .member = 2 } },
    { "two wanted voters rest with a warning",
      { READY("a", 1), READY("b", 2) },
      { VOTER(1, "a"), VOTER(2, "b") },
      1,
      1,
      { MEMBER_NO_ACTION, .is_even = true } },
    { "a third voter follows the second",
      { READY("a", 1), READY("b", 2), READY("c", 3) },
      { VOTER(1, "a"), VOTER(2, "b"), LEARNER(3, "c", 0) },
      1,
      1,
      { MEMBER_PROMOTE, .member = 3, .is_even = true } },
    { "a stalled learner is removed",
      { READY("a", 1), SILENT("b", 2), READY("c", 0) },
      { VOTER(1, "a"), MEMBER_AT(2, "b", .is_learner = true, .is_stalled = true) },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_STALLED, .member = 2 } },
    { "an unwanted learner is removed",
      { READY("a", 1) },
      { VOTER(1, "a"), UNSTARTED(2, "b") },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_UNWANTED, .member = 2 } },

    { "nobody is added while a voter does not respond",
      { READY("a", 1), READY("b", 2), SILENT("c", 3), READY("d", 0) },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c") },
      1,
      1,
      { MEMBER_WAIT, MEMBER_VOTER_DOWN, .member = 3 } },
    { "a lost voter is removed before its replacement is added",
      { READY("a", 1), READY("b", 2), READY("d", 0) },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c") },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_UNWANTED, .member = 3 } },
    { "a lost voter that nobody can replace stays",
      { READY("a", 1), READY("b", 2), LOST("c", 3) },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c") },
      1,
      1,
      { MEMBER_WAIT, MEMBER_NO_REPLACEMENT, .member = 3 } },
    { "a lost voter is removed for a learner that is there already",
      { READY("a", 1), READY("b", 2), READY("d", 4) },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c"), LEARNER(4, "d", 0) },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_UNWANTED, .member = 3 } },
    { "a lost voter is removed if an odd number is left",
      { READY("a", 1), READY("b", 2), READY("c", 3), LOST("d", 4) },
      { VOTER(1, "a"), VOTER(2, "b"), VOTER(3, "c"), DOWN(4, "d") },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_SERVER_LOST, .member = 4, .is_even = true } },
    { "a member never removes itself, whatever others say",
      { READY("b", 2), READY("c", 3), READY("d", 0) },
      { DOWN(1, "a"), VOTER(2, "b"), VOTER(3, "c") },
      1,
      1,
      { MEMBER_WAIT, MEMBER_VOTER_DOWN, .member = 1 } },
    { "an unwanted voter whose address a new server has is removed first",
      { READY("a", 1), READY("b", 2), { STR("d"), STR("https://c:2380"), true, SERVER_READY, 0 } },
      { VOTER(1, "a"), VOTER(2, "b"), VOTER(3, "c") },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_UNWANTED, .member = 3 } },
    { "of two members of a server, the one whose data it has stays",
      { READY("a", 1), READY("b", 2), READY("c", 4) },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c"), MEMBER_AT(4, "c", .is_learner = true) },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_UNWANTED, .member = 3 } },
    { "of two members of a server, the one that responds stays",
      { READY("a", 1), READY("b", 2), READY("c", 0) },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c"), LEARNER(4, "c", 0) },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_UNWANTED, .member = 3 } },
    { "a lost voter is removed if fewer are wanted",
      { READY("a", 1), { STR("b"), STR("https://b:2380"), false, SERVER_READY, 2 } },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c") },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_UNWANTED, .member = 3 } },
    { "an unwanted leader announces its address before there is another voter",
      { { STR("a"), STR("https://new:2380"), false, SERVER_READY, 1 }, READY("b", 0) },
      { VOTER(1, "a") },
      1,
      1,
      { MEMBER_UPDATE, .member = 1, .server = 0 } },
    { "a lost voter that responds again stays",
      { READY("a", 1), READY("b", 2), LOST("c", 3) },
      { VOTER(1, "a"), VOTER(2, "b"), VOTER(3, "c") },
      1,
      1,
      { MEMBER_NO_ACTION } },
    { "a server whose data is lost gets a new member",
      { READY("a", 1), READY("b", 2), READY("c", 0) },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c") },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_DATA_LOST, .member = 3 } },
    { "an older message of a server does not remove a member that responds",
      { READY("a", 1), READY("b", 2), READY("c", 0) },
      { VOTER(1, "a"), VOTER(2, "b"), VOTER(3, "c") },
      1,
      1,
      { MEMBER_NO_ACTION } },
    { "a lost voter whose address a new server has is removed",
      { READY("a", 1), READY("b", 2), { STR("d"), STR("https://c:2380"), true, SERVER_READY, 0 } },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c") },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_UNWANTED, .member = 3 } },

    { "an unwanted voter stays until its replacement has caught up",
      { READY("a", 1), READY("b", 2), READY("d", 0) },
      { VOTER(1, "a"), VOTER(2, "b"), VOTER(3, "c") },
      1,
      1,
      { MEMBER_ADD, .server = 2 } },
    { "its replacement becomes the fourth voter",
      { READY("a", 1), READY("b", 2), READY("d", 4) },
      { VOTER(1, "a"), VOTER(2, "b"), VOTER(3, "c"), LEARNER(4, "d", 0) },
      1,
      1,
      { MEMBER_PROMOTE, .member = 4 } },
    { "then it is removed",
      { READY("a", 1), READY("b", 2), READY("d", 4) },
      { VOTER(1, "a"), VOTER(2, "b"), VOTER(3, "c"), VOTER(4, "d") },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_UNWANTED, .member = 3, .is_even = true } },
    { "an unwanted leader hands over to the voter with the most recent data",
      { READY("a", 1), READY("b", 2), READY("d", 4) },
      { MEMBER_AT(1, "a", .is_healthy = true, .lag = 9),
        MEMBER_AT(2, "b", .is_healthy = true, .lag = 3), VOTER(3, "c"),
        MEMBER_AT(4, "d", .is_healthy = true, .lag = 5) },
      3,
      3,
      { MEMBER_MOVE_LEADER, MEMBER_UNWANTED, .member = 2, .is_even = true } },
    { "others are removed before the leader",
      { READY("d", 4) },
      { VOTER(1, "a"), VOTER(2, "b"), VOTER(4, "d") },
      1,
      1,
      { MEMBER_REMOVE, MEMBER_UNWANTED, .member = 2 } },
    { "a leader without a successor stays",
      { READY("b", 2) },
      { VOTER(1, "a"), MEMBER_AT(2, "b", .is_healthy = true, .lag = MEMBER_LAG_MAX + 1) },
      1,
      1,
      { MEMBER_WAIT, MEMBER_NO_SUCCESSOR, .member = 1, .is_even = true } },
    { "a voter that is needed for the quorum is not removed",
      { READY("a", 1), SILENT("b", 2) },
      { VOTER(1, "a"), DOWN(2, "b"), VOTER(3, "c") },
      1,
      1,
      { MEMBER_WAIT, MEMBER_QUORUM_AT_RISK, .member = 3 } },

    { "a new address is announced",
      { { STR("a"), STR("https://new:2380"), true, SERVER_READY, 1 } },
      { VOTER(1, "a") },
      1,
      1,
      { MEMBER_UPDATE, .member = 1, .server = 0 } },
    { "one address after another",
      { READY("a", 1),
        { STR("b"), STR("https://new:2380"), true, SERVER_READY, 2 },
        READY("c", 3) },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c") },
      1,
      1,
      { MEMBER_WAIT, MEMBER_QUORUM_AT_RISK, .member = 2 } },
    { "a voter that does not respond at its old address gets the new one",
      { READY("a", 1),
        READY("b", 2),
        { STR("c"), STR("https://new:2380"), true, SERVER_READY, 3 } },
      { VOTER(1, "a"), VOTER(2, "b"), DOWN(3, "c") },
      1,
      1,
      { MEMBER_UPDATE, .member = 3, .server = 2 } },
    { "the address of another member is not announced",
      { READY("a", 1),
        { STR("b"), STR("https://c:2380"), true, SERVER_READY, 2 },
        { STR("c"), STR("https://d:2380"), true, SERVER_READY, 3 } },
      { VOTER(1, "a"),
        DOWN(2, "b"),
        { .id = 3, .name = STR("c"), .peer_url = STR("https://c:2380"), .is_healthy = true } },
      1,
      1,
      { MEMBER_REFUSE, MEMBER_URL_IN_USE, .member = 3 } },
};

static MemberStep plan_case(const Case *test)
{
    MemberSnapshot snapshot = { .servers = test->servers,
                                .members = test->members,
                                .own = test->own,
                                .leader = test->leader,
                                .index = test->index == 0 ? 100000 : test->index };
    while (snapshot.server_count < SERVERS && test->servers[snapshot.server_count].name.len > 0) {
        snapshot.server_count++;
    }
    while (snapshot.member_count < SERVERS + 1 && test->members[snapshot.member_count].id != 0) {
        snapshot.member_count++;
    }
    return member_plan(&snapshot);
}

static void snapshots_lead_to_these_steps(void **state)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        MemberStep step = plan_case(&cases[i]), wanted = cases[i].step;
        bool names_server = wanted.action == MEMBER_ADD || wanted.action == MEMBER_UPDATE ||
                            wanted.reason == MEMBER_SERVER_NOT_READY;
        if (step.action != wanted.action || step.reason != wanted.reason ||
            step.member != wanted.member || step.is_even != wanted.is_even ||
            (names_server && step.server != wanted.server)) {
            fail_msg("%s: got %s (%s), member %u, server %u", cases[i].name,
                     member_action_name(step.action), member_reason_text(step.reason),
                     (unsigned)step.member, step.server);
        }
    }
}

/* --- Every snapshot -------------------------------------------------------------------------- */

/* Of one server and its member. */
enum {
    HAS_NONE,
    HAS_UNSTARTED,
    HAS_LEARNER_DOWN,
    HAS_LEARNER_STALLED,
    HAS_LEARNER_LAGGING,
    HAS_LEARNER,
    HAS_VOTER_DOWN,
    HAS_VOTER,
    HAS_COUNT,
};
enum {
    IS_UNKNOWN,
    IS_UNWANTED,
    IS_READY,
    IS_READY_WITHOUT_DATA,
    IS_SILENT,
    IS_LOST,
    IS_COUNT,
};

typedef struct World {
    MemberServer servers[SERVERS];
    ListedMember members[SERVERS];
    MemberSnapshot snapshot;
    uint32_t wanted, voters, live, learners;
} World;

static void add_server(World *world, uint32_t at, uint32_t has, uint32_t is)
{
    static const Str names[] = { STR("a"), STR("b"), STR("c"), STR("d") };
    static const Str urls[] = { STR("A"), STR("B"), STR("C"), STR("D") };
    static const ServerState states[] = { [IS_UNWANTED] = SERVER_READY,
                                          [IS_READY] = SERVER_READY,
                                          [IS_READY_WITHOUT_DATA] = SERVER_READY,
                                          [IS_SILENT] = SERVER_UNREACHABLE,
                                          [IS_LOST] = SERVER_LOST };
    if (is != IS_UNKNOWN) {
        bool has_data = has > HAS_UNSTARTED && is != IS_READY_WITHOUT_DATA;
        world->wanted += is != IS_UNWANTED;
        world->servers[world->snapshot.server_count++] =
            (MemberServer){ names[at], urls[at], is != IS_UNWANTED, states[is],
                            has_data ? at + 1 : 0 };
    }
    if (has != HAS_NONE) {
        ListedMember *member = &world->members[world->snapshot.member_count++];
        *member = (ListedMember){ .id = at + 1,
                                  .name = has == HAS_UNSTARTED ? STR_EMPTY : names[at],
                                  .peer_url = urls[at],
                                  .is_learner = has < HAS_VOTER_DOWN,
                                  .is_healthy = has == HAS_VOTER || has == HAS_LEARNER ||
                                                has == HAS_LEARNER_LAGGING,
                                  .is_stalled = has == HAS_LEARNER_STALLED,
                                  .lag = has == HAS_LEARNER_LAGGING ? MEMBER_LAG_MAX + 1 : 0 };
        world->learners += member->is_learner;
        world->voters += !member->is_learner;
        world->live += has == HAS_VOTER;
    }
}

static const ListedMember *find(const World *world, uint64_t id)
{
    for (uint32_t i = 0; i < world->snapshot.member_count; i++) {
        if (world->members[i].id == id) {
            return &world->members[i];
        }
    }
    return NULL;
}

/* Its server, if that is wanted. */
static const MemberServer *server_of(const World *world, const ListedMember *member)
{
    for (uint32_t i = 0; i < world->snapshot.server_count; i++) {
        if (world->servers[i].is_wanted && str_eq(world->servers[i].peer_url, member->peer_url)) {
            return &world->servers[i];
        }
    }
    return NULL;
}

static bool has_majority(uint32_t live, uint32_t voters)
{
    return live > voters / 2;
}

static bool is_right_to_remove(const World *world, const ListedMember *member)
{
    const MemberServer *server = server_of(world, member);
    bool is_unwanted = server == NULL || member->is_stalled ||
                       (server->state == SERVER_LOST && !member->is_healthy) ||
                       (server->data_member_id == 0 && !member->is_healthy && !member->is_learner);
    return is_unwanted && member->id != world->snapshot.own &&
           (member->is_learner ||
            (world->voters > 1 &&
             has_majority(world->live - member->is_healthy, world->voters - 1)));
}

/* The rules that hold for whatever step is chosen. */
static bool is_right(const World *world, MemberStep step)
{
    const ListedMember *member = step.member == 0 ? NULL : find(world, step.member);
    bool may_act =
        world->snapshot.leader == world->snapshot.own && has_majority(world->live, world->voters);
    if (step.action == MEMBER_REFUSE) {
        return step.reason == MEMBER_NONE_WANTED && world->wanted == 0;
    }
    if (step.is_even != (world->voters % 2 == 0) || (step.member != 0 && member == NULL)) {
        return false;
    }
    switch (step.action) {
    case MEMBER_NO_ACTION:
        return may_act && step.reason == MEMBER_NO_REASON && world->learners == 0 &&
               world->voters == world->live && world->voters == world->wanted;
    case MEMBER_WAIT: return step.reason > MEMBER_NO_REASON && step.reason < MEMBER_NONE_WANTED;
    case MEMBER_ADD:
        return may_act && world->learners == 0 && world->live == world->voters &&
               world->servers[step.server].is_wanted &&
               world->servers[step.server].state == SERVER_READY &&
               world->servers[step.server].data_member_id == 0;
    case MEMBER_PROMOTE:
        return may_act && member->is_learner && member->is_healthy &&
               member->lag <= MEMBER_LAG_MAX && server_of(world, member) != NULL &&
               (world->voters == 1 || has_majority(world->live, world->voters + 1));
    case MEMBER_REMOVE:
        return may_act && step.reason >= MEMBER_UNWANTED && is_right_to_remove(world, member);
    case MEMBER_MOVE_LEADER:
        return may_act && member->is_healthy && !member->is_learner && step.member != 1 &&
               server_of(world, member) != NULL && server_of(world, find(world, 1)) == NULL;
    default: return false; /* no address differs */
    }
}

/* The first server is the one that asks, so its member is a voter that responds. */
static void every_snapshot_of_four_servers_follows_the_rules(void **state)
{
    const uint32_t kinds = HAS_COUNT * IS_COUNT;
    uint32_t seen[MEMBER_MOVE_LEADER + 1] = { 0 };
    for (uint32_t number = 0; number < kinds * kinds * kinds * IS_COUNT * 2; number++) {
        uint32_t rest = number / 2 / IS_COUNT;
        World world = { .snapshot = {
                            .own = 1, .leader = number % 2 == 0 ? 1 : 2, .index = 100000 } };
        world.snapshot.servers = world.servers;
        world.snapshot.members = world.members;
        add_server(&world, 0, HAS_VOTER, number / 2 % IS_COUNT);
        for (uint32_t i = 1; i < SERVERS; i++) {
            add_server(&world, i, rest % kinds / IS_COUNT, rest % kinds % IS_COUNT);
            rest /= kinds;
        }
        MemberStep step = member_plan(&world.snapshot);
        seen[step.action]++;
        if (!is_right(&world, step)) {
            fail_msg("snapshot %u: %s (%s), member %u, server %u", number,
                     member_action_name(step.action), member_reason_text(step.reason),
                     (unsigned)step.member, step.server);
        }
    }
    for (uint32_t i = 0; i < COUNT_OF(seen); i++) {
        assert_true(seen[i] > 0 || i == MEMBER_UPDATE);
    }
}

static void every_reason_has_a_text(void **state)
{
    for (MemberReason i = MEMBER_NO_REASON + 1; i <= MEMBER_STALLED; i++) {
        assert_true(strlen(member_reason_text(i)) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_lead_to_these_steps),
        cmocka_unit_test(every_snapshot_of_four_servers_follows_the_rules),
        cmocka_unit_test(every_reason_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
