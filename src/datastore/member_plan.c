#include "datastore/member_plan.h"

#include "base/bug.h"

enum {
    NONE = UINT32_MAX,
};

/* The snapshot, with the server of each member. */
typedef struct Plan {
    const MemberSnapshot *snapshot;
    const ListedMember *members;
    uint32_t count;
    uint32_t own;
    uint32_t server_of[MEMBERS_MAX];        /* NONE: unwanted */
    uint32_t member_of[MEMBERS_MAX];        /* NONE: none */
    MemberReason goes_because[MEMBERS_MAX]; /* MEMBER_NO_REASON: it stays */
    uint32_t wanted;                        /* servers */
    uint32_t voters, live;                  /* voters, and those that respond */
    MemberStep *step;
} Plan;

static const char *const action_names[] = {
    [MEMBER_REST] = "none",       [MEMBER_WAIT] = "wait",
    [MEMBER_REFUSE] = "refuse",   [MEMBER_ADD] = "add",
    [MEMBER_PROMOTE] = "promote", [MEMBER_REMOVE] = "remove",
    [MEMBER_UPDATE] = "update",   [MEMBER_MOVE_LEADER] = "move leader",
};

static const char *const reason_texts[] = {
    [MEMBER_NO_REASON] = "",
    [MEMBER_NO_LEADER] = "the datastore has no leader",
    [MEMBER_NOT_LEADER] = "another member leads",
    [MEMBER_QUORUM_LOST] = "the datastore has lost its quorum; nothing is changed automatically",
    [MEMBER_VOTER_DOWN] = "a voter does not respond",
    [MEMBER_LEARNER_STARTING] = "the new member has not been started yet",
    [MEMBER_LEARNER_DOWN] = "the new member does not respond",
    [MEMBER_LEARNER_LAGS] = "the new member has not caught up yet",
    [MEMBER_SERVER_NOT_READY] = "a server is not ready to start a member",
    [MEMBER_NO_REPLACEMENT] = "no server is ready to replace a lost voter",
    [MEMBER_EVEN_VOTERS] = "the number of voters would stay even",
    [MEMBER_NO_SUCCESSOR] = "no other voter that could lead responds",
    [MEMBER_QUORUM_AT_RISK] = "too few of the remaining voters respond",
    [MEMBER_NONE_WANTED] = "at least one server is required",
    [MEMBER_TOO_MANY_WANTED] = "too many servers",
    [MEMBER_DUPLICATE_NAME] = "two servers have the same name",
    [MEMBER_DUPLICATE_URL] = "two servers have the same peer URL",
    [MEMBER_NOT_LISTED] = "this member was removed from the cluster",
    [MEMBER_URL_TAKEN] = "another member uses the peer URL of a server",
    [MEMBER_IS_UNWANTED] = "its server is not to have a member",
    [MEMBER_IS_LOST] = "its server is lost",
    [MEMBER_DATA_IS_LOST] = "its data is lost",
    [MEMBER_IS_STALLED] = "it makes no progress",
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

static bool take(const Plan *plan, MemberAction action, uint32_t member, MemberReason reason)
{
    plan->step->action = action;
    plan->step->reason = reason;
    plan->step->member = member == NONE ? 0 : plan->members[member].id;
    return true;
}

/* The first reason to wait is kept: it comes from the step that would have been the next one. */
static void wait_for(const Plan *plan, MemberReason reason, uint32_t member)
{
    if (plan->step->reason == MEMBER_NO_REASON) {
        take(plan, MEMBER_WAIT, member, reason);
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

/* Whether those that respond are a majority after this voter was removed; never true for the last
 * one. */
static bool is_removable(const Plan *plan, uint32_t at)
{
    uint32_t left = plan->live - is_live_voter(&plan->members[at]);
    return left >= majority(plan->voters - 1);
}

/* --- Matching -------------------------------------------------------------------------------- */

/* A member that has been started has the name of its server; before, only its URL is known. */
static bool belongs(const ListedMember *member, const MemberServer *server)
{
    return member->name.len > 0 ? str_eq(member->name, server->name)
                                : str_eq(member->peer_url, server->peer_url);
}

/* Of two members of one server, an earlier one was replaced: the one whose data the server has is
 * preferred, then one that responds, then a voter. */
static uint32_t rank(const ListedMember *member, const MemberServer *server)
{
    return (member->id == server->data_of ? 4 : 0) + (member->is_healthy ? 2 : 0) +
           (member->is_learner ? 0 : 1);
}

static void match(Plan *plan, uint32_t at)
{
    const MemberServer *server = &plan->snapshot->servers[at];
    uint32_t best = NONE;
    for (uint32_t i = 0; i < plan->count; i++) {
        const ListedMember *member = &plan->members[i];
        if (belongs(member, server) &&
            (best == NONE || rank(member, server) > rank(&plan->members[best], server))) {
            best = i;
        }
    }
    plan->member_of[at] = best;
    if (best != NONE) {
        plan->server_of[best] = at;
    }
}

/* Why a member is to be removed. */
static MemberReason why_gone(const Plan *plan, uint32_t at)
{
    const ListedMember *member = &plan->members[at];
    const MemberServer *server =
        plan->server_of[at] == NONE ? NULL : &plan->snapshot->servers[plan->server_of[at]];
    if (server == NULL || !server->is_wanted) {
        return MEMBER_IS_UNWANTED;
    }
    if (server->state == SERVER_LOST && !member->is_healthy) {
        return MEMBER_IS_LOST;
    }
    /* A member that responds has data, whatever an older message of its server said. A learner may
     * be just starting. */
    if (server->state == SERVER_READY && !member->is_learner && !member->is_healthy &&
        server->data_of != member->id) {
        return MEMBER_DATA_IS_LOST;
    }
    return member->is_learner && member->is_stalled ? MEMBER_IS_STALLED : MEMBER_NO_REASON;
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

/* A wanted server without a member that could get one, once `removed` (or NONE) is gone. */
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

/* This never affects the quorum, and makes room for another learner. */
static bool remove_learner(const Plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        if (plan->members[i].is_learner && plan->goes_because[i] != MEMBER_NO_REASON) {
            return take(plan, MEMBER_REMOVE, i, plan->goes_because[i]);
        }
    }
    return false;
}

/* Two voters that respond are as good with a dead third one as without it. So the third one is only
 * removed if it can be replaced, or if fewer are wanted. */
static bool is_worth_removing(const Plan *plan, uint32_t at)
{
    uint32_t left = plan->voters - 1;
    const MemberServer *server =
        plan->server_of[at] == NONE ? NULL : &plan->snapshot->servers[plan->server_of[at]];
    bool comes_back = server != NULL && server->is_wanted &&
                      server->state == SERVER_READY; /* with a new member */
    return left % 2 == 1 || left >= plan->wanted || comes_back || find_learner(plan) != NONE ||
           any_addable(plan, at);
}

static bool remove_dead_voter(const Plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        const ListedMember *member = &plan->members[i];
        if (member->is_learner || member->is_healthy || i == plan->own ||
            plan->goes_because[i] == MEMBER_NO_REASON) {
            continue;
        }
        if (!is_removable(plan, i)) {
            wait_for(plan, MEMBER_QUORUM_AT_RISK, i);
        } else if (!is_worth_removing(plan, i)) {
            wait_for(plan, MEMBER_NO_REPLACEMENT, i);
        } else {
            return take(plan, MEMBER_REMOVE, i, plan->goes_because[i]);
        }
    }
    return false;
}

static bool has_caught_up(const Plan *plan, uint32_t at)
{
    uint64_t lag = plan->members[at].lag;
    return lag <= MEMBER_LAG_MAX && lag <= plan->snapshot->index / 10;
}

/* The best member to lead instead: a wanted voter that responds, with the smallest lag. */
static uint32_t successor(const Plan *plan)
{
    uint32_t best = NONE;
    for (uint32_t i = 0; i < plan->count; i++) {
        const ListedMember *member = &plan->members[i];
        if (i != plan->own && is_live_voter(member) && plan->goes_because[i] == MEMBER_NO_REASON &&
            has_caught_up(plan, i) && (best == NONE || member->lag < plan->members[best].lag)) {
            best = i;
        }
    }
    return best;
}

static bool remove_live_voter(const Plan *plan, uint32_t at)
{
    if (!is_removable(plan, at)) {
        wait_for(plan, MEMBER_QUORUM_AT_RISK, at);
        return false;
    }
    if (at != plan->own) {
        return take(plan, MEMBER_REMOVE, at, plan->goes_because[at]);
    }
    uint32_t next = successor(plan);
    if (next == NONE) {
        wait_for(plan, MEMBER_NO_SUCCESSOR, at);
        return false;
    }
    return take(plan, MEMBER_MOVE_LEADER, next, plan->goes_because[at]);
}

/* An unwanted voter, the leader last. */
static uint32_t surplus_voter(const Plan *plan)
{
    uint32_t best = NONE;
    for (uint32_t i = 0; i < plan->count; i++) {
        if (is_live_voter(&plan->members[i]) && plan->goes_because[i] != MEMBER_NO_REASON &&
            (best == NONE || best == plan->own)) {
            best = i;
        }
    }
    return best;
}

/* Unwanted voters that respond stay until those that replace them are voters. */
static bool remove_surplus(const Plan *plan)
{
    uint32_t at = surplus_voter(plan);
    return at != NONE && plan->voters > plan->wanted && remove_live_voter(plan, at);
}

/* --- Addresses ------------------------------------------------------------------------------- */

/* A member that keeps a wanted server from using its URL. Returns true if a step was taken. */
static bool clear_url(const Plan *plan, uint32_t holder)
{
    const ListedMember *member = &plan->members[holder];
    if (plan->goes_because[holder] == MEMBER_NO_REASON || plan->voters == 1) {
        take(plan, MEMBER_REFUSE, holder, MEMBER_URL_TAKEN);
        return false;
    }
    return member->is_healthy && remove_live_voter(plan, holder);
}

/* While its URL changes, a member counts as one that does not respond. */
static bool is_updatable(const Plan *plan, uint32_t at)
{
    const ListedMember *member = &plan->members[at];
    return member->is_learner || plan->voters == 1 ||
           plan->live - is_live_voter(member) >= majority(plan->voters);
}

/* One that is only unwanted may be needed for some time. */
static bool is_lost(MemberReason reason)
{
    return reason != MEMBER_NO_REASON && reason != MEMBER_IS_UNWANTED;
}

static bool update_url(const Plan *plan)
{
    for (uint32_t i = 0; i < plan->snapshot->server_count; i++) {
        uint32_t at = plan->member_of[i];
        Str url = plan->snapshot->servers[i].peer_url;
        if (at == NONE || is_lost(plan->goes_because[at]) ||
            str_eq(plan->members[at].peer_url, url)) {
            continue;
        }
        uint32_t holder = member_with_url(plan, url);
        if (holder != NONE) {
            if (clear_url(plan, holder)) {
                return true;
            }
        } else if (is_updatable(plan, at)) {
            plan->step->server = i;
            return take(plan, MEMBER_UPDATE, at, MEMBER_NO_REASON);
        } else {
            wait_for(plan, MEMBER_QUORUM_AT_RISK, at);
        }
    }
    return false;
}

/* --- Adding ---------------------------------------------------------------------------------- */

/* Whether there is a step after the promotion that makes the number of voters odd again. */
static bool goes_on(const Plan *plan)
{
    return any_addable(plan, NONE) || surplus_voter(plan) != NONE ||
           plan->voters + 1 == plan->wanted;
}

/* `at` is the only learner that stays. */
static bool promote(const Plan *plan, uint32_t at)
{
    const ListedMember *member = &plan->members[at];
    uint32_t after = plan->voters + 1;
    if (member->name.len == 0) {
        wait_for(plan, MEMBER_LEARNER_STARTING, at);
    } else if (!member->is_healthy) {
        wait_for(plan, MEMBER_LEARNER_DOWN, at);
    } else if (!has_caught_up(plan, at)) {
        wait_for(plan, MEMBER_LEARNER_LAGS, at);
    } else if (plan->live < majority(after) && plan->voters > 1) {
        wait_for(plan, MEMBER_QUORUM_AT_RISK, at);
    } else if (after % 2 == 0 && !goes_on(plan)) {
        wait_for(plan, MEMBER_EVEN_VOTERS, at);
    } else {
        return take(plan, MEMBER_PROMOTE, at, MEMBER_NO_REASON);
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

/* Servers whose URL is still used by an unwanted member are served last: that member must be
 * removed without a replacement. */
static bool add(const Plan *plan)
{
    uint32_t unready = NONE, taken = NONE;
    for (uint32_t i = 0; i < plan->snapshot->server_count; i++) {
        const MemberServer *server = &plan->snapshot->servers[i];
        if (is_addable(plan, i, NONE)) {
            plan->step->server = i;
            return take(plan, MEMBER_ADD, NONE, MEMBER_NO_REASON);
        }
        if (!server->is_wanted || plan->member_of[i] != NONE) {
            continue;
        }
        if (server->state == SERVER_READY) {
            taken = i;
        } else {
            unready = i;
        }
    }
    if (taken != NONE) {
        Str url = plan->snapshot->servers[taken].peer_url;
        return clear_url(plan, member_with_url(plan, url));
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
        /* etcd would refuse to add a member */
        wait_for(plan, MEMBER_VOTER_DOWN, down);
        return false;
    }
    return add(plan);
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
        match(plan, i);
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        plan->goes_because[i] = why_gone(plan, i);
    }
}

/* What keeps this member from changing anything. */
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
    MemberStep step = { .action = MEMBER_REST };
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
