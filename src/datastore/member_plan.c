#include "datastore/member_plan.h"

#include "base/bug.h"

enum {
    NONE = UINT32_MAX,
};

/* The snapshot, with members and servers matched to each other. */
typedef struct Plan {
    const MemberSnapshot *snapshot;
    const ListedMember *members;
    uint32_t count;
    uint32_t own;
    uint32_t server_of[MEMBERS_MAX];          /* NONE if the member has no server */
    uint32_t member_of[MEMBERS_MAX];          /* NONE if the server has no member */
    MemberReason removal_reason[MEMBERS_MAX]; /* MEMBER_NO_REASON if it is kept */
    uint32_t wanted;                          /* number of wanted servers */
    uint32_t voters, live;                    /* all voters, healthy voters */
    MemberStep *step;
} Plan;

static const char *const action_names[] = {
    [MEMBER_NO_ACTION] = "none",  [MEMBER_WAIT] = "wait",
    [MEMBER_REFUSE] = "refuse",   [MEMBER_ADD] = "add",
    [MEMBER_PROMOTE] = "promote", [MEMBER_REMOVE] = "remove",
    [MEMBER_UPDATE] = "update",   [MEMBER_MOVE_LEADER] = "move leader",
};

static const char *const reason_texts[] = {
    [MEMBER_NO_REASON] = "",
    [MEMBER_NO_LEADER] = "the datastore has no leader",
    [MEMBER_NOT_LEADER] = "another member leads",
    [MEMBER_QUORUM_LOST] = "the datastore has lost its quorum; no automatic changes are made",
    [MEMBER_VOTER_DOWN] = "a voter is not responding",
    [MEMBER_LEARNER_STARTING] = "the new member has not been started yet",
    [MEMBER_LEARNER_DOWN] = "the new member is not responding",
    [MEMBER_LEARNER_LAGS] = "the new member has not caught up yet",
    [MEMBER_SERVER_NOT_READY] = "a server is not ready to start a member",
    [MEMBER_NO_REPLACEMENT] = "no server is ready to replace a lost voter",
    [MEMBER_EVEN_VOTERS] = "the number of voters would stay even",
    [MEMBER_NO_SUCCESSOR] = "no other voter can become the leader",
    [MEMBER_QUORUM_AT_RISK] = "too few of the remaining voters are responding",
    [MEMBER_NONE_WANTED] = "at least one server is required",
    [MEMBER_TOO_MANY_WANTED] = "too many servers",
    [MEMBER_DUPLICATE_NAME] = "two servers have the same name",
    [MEMBER_DUPLICATE_URL] = "two servers have the same peer URL",
    [MEMBER_NOT_LISTED] = "this member was removed from the cluster",
    [MEMBER_URL_IN_USE] = "another member uses the peer URL of a server",
    [MEMBER_UNWANTED] = "its server should not have a member",
    [MEMBER_SERVER_LOST] = "its server is lost",
    [MEMBER_DATA_LOST] = "its data is lost",
    [MEMBER_STALLED] = "it is making no progress",
};

const char *member_action_name(MemberAction action)
{
    return action_names[action];
}

const char *member_reason_text(MemberReason reason)
{
    return reason_texts[reason];
}

/* --- Steps ----------------------------------------------------------------------------------- */

static bool choose(const Plan *plan, MemberAction action, uint32_t member, MemberReason reason)
{
    plan->step->action = action;
    plan->step->reason = reason;
    plan->step->member = member == NONE ? 0 : plan->members[member].id;
    return true;
}

/* The first reason is kept: it belongs to the step with the highest priority. */
static void wait_for(const Plan *plan, MemberReason reason, uint32_t member)
{
    if (plan->step->reason == MEMBER_NO_REASON) {
        choose(plan, MEMBER_WAIT, member, reason);
    }
}

static uint32_t majority(uint32_t voters)
{
    return voters / 2 + 1;
}

static bool is_live_voter(const ListedMember *member)
{
    return !member->is_learner && member->is_healthy;
}

/* Returns whether the healthy voters would be a majority without this voter. False for the last
 * voter. */
static bool is_removable(const Plan *plan, uint32_t member_index)
{
    uint32_t remaining = plan->live - is_live_voter(&plan->members[member_index]);
    return remaining >= majority(plan->voters - 1);
}

/* --- Matching -------------------------------------------------------------------------------- */

/* A started member has the name of its server. Before that, it is identified by its URL. */
static bool is_member_of(const ListedMember *member, const MemberServer *server)
{
    return member->name.len > 0 ? str_eq(member->name, server->name)
                                : str_eq(member->peer_url, server->peer_url);
}

/* A server may have two members if one is being replaced. The one whose data the server has is
 * preferred, then a healthy one, then a voter. */
static uint32_t rank(const ListedMember *member, const MemberServer *server)
{
    return (member->id == server->data_member_id ? 4 : 0) + (member->is_healthy ? 2 : 0) +
           (member->is_learner ? 0 : 1);
}

static void match_server(Plan *plan, uint32_t server_index)
{
    const MemberServer *server = &plan->snapshot->servers[server_index];
    uint32_t best = NONE;
    for (uint32_t i = 0; i < plan->count; i++) {
        const ListedMember *member = &plan->members[i];
        if (is_member_of(member, server) &&
            (best == NONE || rank(member, server) > rank(&plan->members[best], server))) {
            best = i;
        }
    }
    plan->member_of[server_index] = best;
    if (best != NONE) {
        plan->server_of[best] = server_index;
    }
}

/* Returns why a member should be removed, or MEMBER_NO_REASON. */
static MemberReason find_removal_reason(const Plan *plan, uint32_t member_index)
{
    const ListedMember *member = &plan->members[member_index];
    const MemberServer *server = plan->server_of[member_index] == NONE
                                     ? NULL
                                     : &plan->snapshot->servers[plan->server_of[member_index]];
    if (server == NULL || !server->is_wanted) {
        return MEMBER_UNWANTED;
    }
    if (server->state == SERVER_LOST && !member->is_healthy) {
        return MEMBER_SERVER_LOST;
    }
    /* A healthy member has data, even if its server reported otherwise earlier. A learner may still
     * be starting. */
    if (server->state == SERVER_READY && !member->is_learner && !member->is_healthy &&
        server->data_member_id != member->id) {
        return MEMBER_DATA_LOST;
    }
    return member->is_learner && member->is_stalled ? MEMBER_STALLED : MEMBER_NO_REASON;
}

static uint32_t member_with_url(const Plan *plan, Str url)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        if (str_eq(plan->members[i].peer_url, url)) {
            return i;
        }
    }
    return NONE;
}

/* Returns whether a member can be added for this server after the member `removed` (may be NONE)
 * has been removed. */
static bool is_addable(const Plan *plan, uint32_t server, uint32_t removed)
{
    const MemberServer *wanted = &plan->snapshot->servers[server];
    uint32_t holder = member_with_url(plan, wanted->peer_url);
    return wanted->is_wanted && plan->member_of[server] == NONE && wanted->state == SERVER_READY &&
           (holder == NONE || holder == removed);
}

static bool any_addable(const Plan *plan, uint32_t removed)
{
    for (uint32_t i = 0; i < plan->snapshot->server_count; i++) {
        if (is_addable(plan, i, removed)) {
            return true;
        }
    }
    return false;
}

static uint32_t find_learner(const Plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        if (plan->members[i].is_learner) {
            return i;
        }
    }
    return NONE;
}

/* --- Removing -------------------------------------------------------------------------------- */

/* Removing a learner never affects the quorum, and makes room for another one. */
static bool remove_learner(const Plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        if (plan->members[i].is_learner && plan->removal_reason[i] != MEMBER_NO_REASON) {
            return choose(plan, MEMBER_REMOVE, i, plan->removal_reason[i]);
        }
    }
    return false;
}

/* Two healthy voters tolerate no failure, with or without a dead third one. So the dead one is
 * removed only if it can be replaced or if fewer voters are wanted. */
static bool is_worth_removing(const Plan *plan, uint32_t member_index)
{
    uint32_t remaining = plan->voters - 1;
    const MemberServer *server = plan->server_of[member_index] == NONE
                                     ? NULL
                                     : &plan->snapshot->servers[plan->server_of[member_index]];
    bool is_readded = server != NULL && server->is_wanted &&
                      server->state == SERVER_READY; /* gets a new member */
    return remaining % 2 == 1 || remaining >= plan->wanted || is_readded ||
           find_learner(plan) != NONE || any_addable(plan, member_index);
}

static bool remove_dead_voter(const Plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        const ListedMember *member = &plan->members[i];
        if (member->is_learner || member->is_healthy || i == plan->own ||
            plan->removal_reason[i] == MEMBER_NO_REASON) {
            continue;
        }
        if (!is_removable(plan, i)) {
            wait_for(plan, MEMBER_QUORUM_AT_RISK, i);
        } else if (!is_worth_removing(plan, i)) {
            wait_for(plan, MEMBER_NO_REPLACEMENT, i);
        } else {
            return choose(plan, MEMBER_REMOVE, i, plan->removal_reason[i]);
        }
    }
    return false;
}

static bool has_caught_up(const Plan *plan, uint32_t member_index)
{
    uint64_t lag = plan->members[member_index].lag;
    return lag <= MEMBER_LAG_MAX && lag <= plan->snapshot->index / 10;
}

/* The healthy wanted voter with the smallest lag. */
static uint32_t find_successor(const Plan *plan)
{
    uint32_t best = NONE;
    for (uint32_t i = 0; i < plan->count; i++) {
        const ListedMember *member = &plan->members[i];
        if (i != plan->own && is_live_voter(member) &&
            plan->removal_reason[i] == MEMBER_NO_REASON && has_caught_up(plan, i) &&
            (best == NONE || member->lag < plan->members[best].lag)) {
            best = i;
        }
    }
    return best;
}

static bool remove_live_voter(const Plan *plan, uint32_t member_index)
{
    if (!is_removable(plan, member_index)) {
        wait_for(plan, MEMBER_QUORUM_AT_RISK, member_index);
        return false;
    }
    if (member_index != plan->own) {
        return choose(plan, MEMBER_REMOVE, member_index, plan->removal_reason[member_index]);
    }
    uint32_t next = find_successor(plan);
    if (next == NONE) {
        wait_for(plan, MEMBER_NO_SUCCESSOR, member_index);
        return false;
    }
    return choose(plan, MEMBER_MOVE_LEADER, next, plan->removal_reason[member_index]);
}

/* A healthy voter that should be removed; the leader only if there is no other voter to remove. */
static uint32_t find_surplus_voter(const Plan *plan)
{
    uint32_t best = NONE;
    for (uint32_t i = 0; i < plan->count; i++) {
        if (is_live_voter(&plan->members[i]) && plan->removal_reason[i] != MEMBER_NO_REASON &&
            (best == NONE || best == plan->own)) {
            best = i;
        }
    }
    return best;
}

/* Healthy unwanted voters are kept until their replacements are voters. */
static bool remove_surplus(const Plan *plan)
{
    uint32_t member_index = find_surplus_voter(plan);
    return member_index != NONE && plan->voters > plan->wanted &&
           remove_live_voter(plan, member_index);
}

/* --- Addresses ------------------------------------------------------------------------------- */

/* Removes a member that prevents a wanted server from using its URL. Returns true if a step was
 * chosen. */
static bool free_url(const Plan *plan, uint32_t holder)
{
    const ListedMember *member = &plan->members[holder];
    if (plan->removal_reason[holder] == MEMBER_NO_REASON || plan->voters == 1) {
        choose(plan, MEMBER_REFUSE, holder, MEMBER_URL_IN_USE);
        return false;
    }
    return member->is_healthy && remove_live_voter(plan, holder);
}

/* A member counts as unhealthy while its URL changes. */
static bool is_updatable(const Plan *plan, uint32_t member_index)
{
    const ListedMember *member = &plan->members[member_index];
    return member->is_learner || plan->voters == 1 ||
           plan->live - is_live_voter(member) >= majority(plan->voters);
}

/* A member that is only unwanted may still be needed for some time. */
static bool is_lost(MemberReason reason)
{
    return reason != MEMBER_NO_REASON && reason != MEMBER_UNWANTED;
}

static bool update_url(const Plan *plan)
{
    for (uint32_t i = 0; i < plan->snapshot->server_count; i++) {
        uint32_t member_index = plan->member_of[i];
        Str url = plan->snapshot->servers[i].peer_url;
        if (member_index == NONE || is_lost(plan->removal_reason[member_index]) ||
            str_eq(plan->members[member_index].peer_url, url)) {
            continue;
        }
        uint32_t holder = member_with_url(plan, url);
        if (holder != NONE) {
            if (free_url(plan, holder)) {
                return true;
            }
        } else if (is_updatable(plan, member_index)) {
            plan->step->server = i;
            return choose(plan, MEMBER_UPDATE, member_index, MEMBER_NO_REASON);
        } else {
            wait_for(plan, MEMBER_QUORUM_AT_RISK, member_index);
        }
    }
    return false;
}

/* --- Adding ---------------------------------------------------------------------------------- */

/* Returns whether a later step can make the number of voters odd again after a promotion. */
static bool can_become_odd(const Plan *plan)
{
    return any_addable(plan, NONE) || find_surplus_voter(plan) != NONE ||
           plan->voters + 1 == plan->wanted;
}

/* `member_index` is the only remaining learner. */
static bool promote(const Plan *plan, uint32_t member_index)
{
    const ListedMember *member = &plan->members[member_index];
    uint32_t after = plan->voters + 1;
    if (member->name.len == 0) {
        wait_for(plan, MEMBER_LEARNER_STARTING, member_index);
    } else if (!member->is_healthy) {
        wait_for(plan, MEMBER_LEARNER_DOWN, member_index);
    } else if (!has_caught_up(plan, member_index)) {
        wait_for(plan, MEMBER_LEARNER_LAGS, member_index);
    } else if (plan->live < majority(after) && plan->voters > 1) {
        wait_for(plan, MEMBER_QUORUM_AT_RISK, member_index);
    } else if (after % 2 == 0 && !can_become_odd(plan)) {
        wait_for(plan, MEMBER_EVEN_VOTERS, member_index);
    } else {
        return choose(plan, MEMBER_PROMOTE, member_index, MEMBER_NO_REASON);
    }
    return false;
}

static uint32_t find_down(const Plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        if (!plan->members[i].is_learner && !plan->members[i].is_healthy) {
            return i;
        }
    }
    return NONE;
}

/* Servers whose URL is in use by an unwanted member come last, because that member must be removed
 * before its replacement is added. */
static bool add_member(const Plan *plan)
{
    uint32_t unready = NONE, blocked = NONE;
    for (uint32_t i = 0; i < plan->snapshot->server_count; i++) {
        const MemberServer *server = &plan->snapshot->servers[i];
        if (is_addable(plan, i, NONE)) {
            plan->step->server = i;
            return choose(plan, MEMBER_ADD, NONE, MEMBER_NO_REASON);
        }
        if (!server->is_wanted || plan->member_of[i] != NONE) {
            continue;
        }
        if (server->state == SERVER_READY) {
            blocked = i;
        } else {
            unready = i;
        }
    }
    if (blocked != NONE) {
        Str url = plan->snapshot->servers[blocked].peer_url;
        return free_url(plan, member_with_url(plan, url));
    }
    if (unready != NONE && plan->step->reason == MEMBER_NO_REASON) {
        plan->step->server = unready;
        wait_for(plan, MEMBER_SERVER_NOT_READY, NONE);
    }
    return false;
}

static bool grow(const Plan *plan)
{
    uint32_t learner = find_learner(plan), down = find_down(plan);
    if (learner != NONE) {
        return promote(plan, learner);
    }
    if (down != NONE) {
        /* etcd would reject the new member */
        wait_for(plan, MEMBER_VOTER_DOWN, down);
        return false;
    }
    return add_member(plan);
}

/* --- The plan -------------------------------------------------------------------------------- */

static uint32_t count_wanted(const MemberSnapshot *snapshot)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < snapshot->server_count; i++) {
        count += snapshot->servers[i].is_wanted;
    }
    return count;
}

static MemberReason check_servers(const MemberSnapshot *snapshot)
{
    uint32_t wanted = count_wanted(snapshot);
    if (wanted == 0) {
        return MEMBER_NONE_WANTED;
    }
    if (wanted > MEMBERS_WANTED_MAX || snapshot->server_count > MEMBERS_MAX) {
        return MEMBER_TOO_MANY_WANTED;
    }
    for (uint32_t i = 0; i < snapshot->server_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (str_eq(snapshot->servers[i].name, snapshot->servers[j].name)) {
                return MEMBER_DUPLICATE_NAME;
            }
            if (str_eq(snapshot->servers[i].peer_url, snapshot->servers[j].peer_url)) {
                return MEMBER_DUPLICATE_URL;
            }
        }
    }
    return MEMBER_NO_REASON;
}

static void prepare(Plan *plan)
{
    plan->own = NONE;
    for (uint32_t i = 0; i < plan->count; i++) {
        const ListedMember *member = &plan->members[i];
        plan->server_of[i] = NONE;
        plan->own = member->id == plan->snapshot->own ? i : plan->own;
        plan->voters += !member->is_learner;
        plan->live += is_live_voter(member);
    }
    for (uint32_t i = 0; i < plan->snapshot->server_count; i++) {
        match_server(plan, i);
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        plan->removal_reason[i] = find_removal_reason(plan, i);
    }
}

/* Returns what prevents this server's member from making changes. */
static MemberReason find_obstacle(const Plan *plan)
{
    const MemberSnapshot *snapshot = plan->snapshot;
    return plan->own == NONE                     ? MEMBER_NOT_LISTED
           : snapshot->leader == 0               ? MEMBER_NO_LEADER
           : snapshot->leader != snapshot->own   ? MEMBER_NOT_LEADER
           : plan->live < majority(plan->voters) ? MEMBER_QUORUM_LOST
                                                 : MEMBER_NO_REASON;
}

MemberStep member_plan(const MemberSnapshot *snapshot)
{
    MemberStep step = { .action = MEMBER_NO_ACTION };
    Plan plan = { .snapshot = snapshot,
                  .members = snapshot->members,
                  .count = snapshot->member_count,
                  .wanted = count_wanted(snapshot),
                  .step = &step };
    BUG_IF(snapshot->member_count > MEMBERS_MAX);
    step.reason = check_servers(snapshot);
    if (step.reason != MEMBER_NO_REASON) {
        step.action = MEMBER_REFUSE;
        return step;
    }
    prepare(&plan);
    step.is_even = plan.voters % 2 == 0;
    step.reason = find_obstacle(&plan);
    if (step.reason != MEMBER_NO_REASON) {
        step.action = step.reason == MEMBER_NOT_LISTED ? MEMBER_REFUSE : MEMBER_WAIT;
    } else if (!remove_learner(&plan) && !remove_dead_voter(&plan) && !update_url(&plan) &&
               !remove_surplus(&plan)) {
        (void)grow(&plan);
    }
    return step;
}
