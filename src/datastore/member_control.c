#include "datastore/member_control.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/memory.h"

enum {
    CALL_MS = 2000,
    STEP_MS = 8000,     /* etcd itself gives up after 7 s */
    STEP_DELAY_MS = 50, /* after a step */
    QUARANTINE_DOUBLINGS = 6,
};

#define STATUS_PATH "/etcdserverpb.Maintenance/Status"

/* State of a member that is kept between rounds. */
typedef struct TrackedMember {
    uint64_t id;      /* 0: unused */
    MemberLink *link; /* NULL for this server's own member and for members without an address */
    MemberControl *control;

    bool has_status;
    EtcdMemberStatus status; /* without its strings */
    uint64_t progress;       /* highest index seen */
    int64_t progress_ms;
} TrackedMember;

typedef struct Quarantine {
    char name[NODE_NAME_MAX + 1]; /* empty: unused */
    uint32_t failures;
    int64_t until_ms;
} Quarantine;

struct MemberControl {
    MemberControlOptions options;
    MemberLink *own_link;
    LoopTimer timer;
    bool is_busy; /* a round is in progress */
    /* The previous round reached a decision, so the progress of learners was observed without a
     * gap. */
    bool is_continuous;
    bool is_round_pending; /* begin another round immediately after this one */
    int64_t began_ms;
    bool is_responding, is_learner; /* the own member */
    uint64_t cluster_id, own, leader, index;
    Arena arena; /* data of the current round */
    EtcdMembers members;
    TrackedMember tracked[MEMBERS_MAX];
    uint32_t pending_count; /* outstanding responses */
    Quarantine quarantines[MEMBERS_MAX];
    MemberStep step;
    char server[NODE_NAME_MAX + 1]; /* server affected by the step, for messages */
    char error[sizeof(((Error *)NULL)->text)];
};

static int64_t now(const MemberControl *control)
{
    return loop_now_ms(control->options.loop);
}

/* --- The end of a round ---------------------------------------------------------------------- */

static void finish_round(MemberControl *control, int64_t next_ms)
{
    control->is_busy = false;
    loop_timer_start(&control->timer, control->is_round_pending ? 0 : next_ms);
    control->is_round_pending = false;
}

MemberControlStatus member_control_status(const MemberControl *control)
{
    return (MemberControlStatus){ .step = control->step,
                                  .error = control->error,
                                  .is_responding = control->is_responding,
                                  .is_learner = control->is_learner,
                                  .own = control->own,
                                  .leader = control->leader,
                                  .members = control->members.items,
                                  .member_count = control->members.count };
}

static void report(MemberControl *control)
{
    if (control->options.changed != NULL) {
        MemberControlStatus status = member_control_status(control);
        control->options.changed(control->options.context, &status);
    }
}

/* Ends a round without a step. Rounds repeat, so only changes are reported. */
static void conclude(MemberControl *control, MemberStep step, const char *error)
{
    const MemberStep *last = &control->step;
    bool is_new = last->action != step.action || last->reason != step.reason ||
                  last->member != step.member || last->is_even != step.is_even ||
                  strcmp(control->error, error) != 0;
    control->step = step;
    if (strcmp(control->error, error) != 0) {
        snprintf(control->error, sizeof control->error, "%s", error);
    }
    if (is_new) {
        report(control);
    }
    finish_round(control, control->options.round_ms);
}

static void fail_round(MemberControl *control, const Error *err)
{
    control->is_continuous = false;
    conclude(control, (MemberStep){ .action = MEMBER_WAIT, .reason = MEMBER_NO_LEADER }, err->text);
}

/* --- Steps ----------------------------------------------------------------------------------- */

static Quarantine *find_quarantine(MemberControl *control, Str server, bool create)
{
    Quarantine *free = NULL;
    for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
        Quarantine *entry = &control->quarantines[i];
        if (str_eq_c(server, entry->name)) {
            return entry;
        }
        if (entry->until_ms < now(control) && (free == NULL || entry->until_ms < free->until_ms)) {
            free = entry;
        }
    }
    if (create && free != NULL) {
        *free = (Quarantine){ 0 };
        snprintf(free->name, sizeof free->name, "%" STR_FMT, STR_ARG(server));
    }
    return create ? free : NULL;
}

static void quarantine(MemberControl *control, Str server)
{
    Quarantine *entry = find_quarantine(control, server, true);
    if (entry != NULL) {
        uint32_t doublings =
            entry->failures < QUARANTINE_DOUBLINGS ? entry->failures : QUARANTINE_DOUBLINGS;
        entry->until_ms = now(control) + (control->options.quarantine_ms << doublings);
        entry->failures++;
    }
}

static void end_quarantine(MemberControl *control, Str server)
{
    Quarantine *entry = find_quarantine(control, server, false);
    if (entry != NULL) {
        *entry = (Quarantine){ 0 };
    }
}

static void step_done(void *context, Str response, const Error *err)
{
    MemberControl *control = context;
    const char *action = member_action_name(control->step.action);
    if (err != NULL) {
        if (strcmp(control->error, err->text) != 0) {
            log_warning("cannot change the datastore's membership", LOG_C("action", action),
                        LOG_C("server", control->server), LOG_C("error", err->text));
            snprintf(control->error, sizeof control->error, "%s", err->text);
            report(control);
        }
        finish_round(control, control->options.round_ms);
        return;
    }
    log_info("datastore membership changed", LOG_C("action", action),
             LOG_C("server", control->server),
             LOG_C("reason", member_reason_text(control->step.reason)));
    control->error[0] = '\0';
    report(control);
    finish_round(control, STEP_DELAY_MS);
}

static const EtcdMember *find_listed(const MemberControl *control, uint64_t id)
{
    for (uint32_t i = 0; i < control->members.count; i++) {
        if (control->members.items[i].id == id) {
            return &control->members.items[i];
        }
    }
    return NULL;
}

/* A member that has not been started has no name yet; its server is identified by the peer URL. */
static Str server_name(const MemberSnapshot *snapshot, const EtcdMember *member)
{
    for (uint32_t i = 0; member->name.len == 0 && i < snapshot->server_count; i++) {
        if (str_eq(snapshot->servers[i].peer_url, member->peer_url)) {
            return snapshot->servers[i].name;
        }
    }
    return member->name;
}

static void execute(MemberControl *control, const MemberSnapshot *snapshot)
{
    const MemberStep *step = &control->step;
    const char *path = NULL;
    const EtcdMember *member = find_listed(control, step->member);
    Str url = snapshot->servers[step->server].peer_url;
    Str server =
        member == NULL ? snapshot->servers[step->server].name : server_name(snapshot, member);
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    snprintf(control->server, sizeof control->server, "%" STR_FMT, STR_ARG(server));
    switch (step->action) {
    case MEMBER_ADD:
        path = "/etcdserverpb.Cluster/MemberAdd";
        etcd_member_add_encode(url, &request);
        break;
    case MEMBER_PROMOTE:
        path = "/etcdserverpb.Cluster/MemberPromote";
        etcd_member_encode(step->member, &request);
        break;
    case MEMBER_REMOVE:
        path = "/etcdserverpb.Cluster/MemberRemove";
        etcd_member_encode(step->member, &request);
        break;
    case MEMBER_UPDATE:
        path = "/etcdserverpb.Cluster/MemberUpdate";
        etcd_member_update_encode(step->member, url, &request);
        break;
    case MEMBER_MOVE_LEADER:
        path = "/etcdserverpb.Maintenance/MoveLeader";
        etcd_move_leader_encode(step->member, &request);
        break;
    case MEMBER_NO_ACTION:
    case MEMBER_WAIT:
    case MEMBER_REFUSE: BUG("not a step");
    }
    if (step->reason == MEMBER_STALLED) {
        quarantine(control, server);
    } else if (step->action == MEMBER_PROMOTE) {
        end_quarantine(control, server);
    }
    member_link_call(control->own_link, path, buf_str(&request), STEP_MS, step_done, control);
}

/* --- The snapshot ---------------------------------------------------------------------------- */

/* Returns whether a learner has made no progress for too long. Time that was not observed, because
 * of an outage or another leader, does not count. */
static bool is_stalled(MemberControl *control, TrackedMember *tracked, const EtcdMember *member)
{
    uint64_t index = tracked->has_status ? tracked->status.index : 0;
    if (index > tracked->progress || !control->is_continuous) {
        tracked->progress = index;
        tracked->progress_ms = now(control);
    }
    int64_t limit = member->name.len == 0 ? control->options.start_ms : control->options.stall_ms;
    return member->is_learner && now(control) - tracked->progress_ms > limit;
}

static ListedMember list_member(MemberControl *control, const EtcdMember *member)
{
    TrackedMember *tracked = NULL;
    for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
        tracked = control->tracked[i].id == member->id ? &control->tracked[i] : tracked;
    }
    BUG_IF(tracked == NULL);
    bool is_own = member->id == control->own;
    bool is_healthy = is_own || (tracked->has_status && tracked->status.leader == control->leader &&
                                 !tracked->status.has_errors);
    uint64_t index = is_own ? control->index : tracked->status.index;
    return (ListedMember){ .id = member->id,
                           .name = member->name,
                           .peer_url = member->peer_url,
                           .is_learner = member->is_learner,
                           .is_healthy = is_healthy,
                           .is_stalled = is_stalled(control, tracked, member),
                           .lag = index < control->index ? control->index - index : 0 };
}

static uint32_t list_servers(MemberControl *control, MemberServer out[MEMBERS_MAX])
{
    uint32_t count = control->options.servers(control->options.context, out);
    BUG_IF(count > MEMBERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const Quarantine *entry = find_quarantine(control, out[i].name, false);
        if (entry != NULL && entry->until_ms > now(control) && out[i].state == SERVER_READY) {
            out[i].state = SERVER_UNREACHABLE;
        }
    }
    return count;
}

static void decide(MemberControl *control)
{
    MemberServer servers[MEMBERS_MAX];
    ListedMember members[MEMBERS_MAX];
    MemberSnapshot snapshot = { .servers = servers,
                                .members = members,
                                .member_count = control->members.count,
                                .own = control->own,
                                .leader = control->leader,
                                .index = control->index };
    if (now(control) - control->began_ms > MEMBER_FRESH_MS) {
        finish_round(control, 0);
        return;
    }
    for (uint32_t i = 0; i < control->members.count; i++) {
        members[i] = list_member(control, &control->members.items[i]);
    }
    control->is_continuous = true;
    snapshot.server_count = list_servers(control, servers);
    MemberStep step = member_plan(&snapshot);
    if (step.action <= MEMBER_REFUSE) {
        conclude(control, step, "");
    } else {
        control->step = step;
        execute(control, &snapshot);
    }
}

/* --- Queries --------------------------------------------------------------------------------- */

static void member_status_received(void *context, Str response, const Error *err)
{
    TrackedMember *tracked = context;
    MemberControl *control = tracked->control;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    EtcdHeader header;
    Error invalid;
    tracked->has_status =
        err == NULL && etcd_status_decode(&arena, response, &header, &tracked->status, &invalid) &&
        header.member_id == tracked->id && header.cluster_id == control->cluster_id;
    tracked->status.version = NULL;
    if (--control->pending_count == 0) {
        decide(control);
    }
}

static void untrack(TrackedMember *tracked)
{
    member_link_free(tracked->link);
    *tracked = (TrackedMember){ 0 };
}

static TrackedMember *track(MemberControl *control, uint64_t id)
{
    TrackedMember *unused = NULL;
    for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
        if (control->tracked[i].id == id) {
            return &control->tracked[i];
        }
        if (control->tracked[i].id == 0) {
            unused = &control->tracked[i];
        }
    }
    BUG_IF(unused == NULL);
    *unused = (TrackedMember){ .id = id, .control = control, .progress_ms = now(control) };
    return unused;
}

/* Connects to the member's current client address, if known. */
static void update_link(MemberControl *control, TrackedMember *tracked, const EtcdMember *member)
{
    Address address;
    Error err;
    bool is_reachable =
        member->id != control->own && member_url_parse(member->client_url, &address, &err);
    if (tracked->link != NULL && is_reachable) {
        const Address *before = member_link_address(tracked->link);
        if (before->port == address.port && address_same_host(before, &address)) {
            return;
        }
    }
    member_link_free(TAKE(tracked->link));
    if (is_reachable) {
        tracked->link = member_link_new(control->options.loop, &address, control->options.tls);
    }
}

static void query_members(MemberControl *control)
{
    for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
        TrackedMember *tracked = &control->tracked[i];
        if (tracked->id != 0 && find_listed(control, tracked->id) == NULL) {
            untrack(tracked);
        }
    }
    control->pending_count = 1; /* released at the end of this function */
    for (uint32_t i = 0; i < control->members.count; i++) {
        const EtcdMember *member = &control->members.items[i];
        TrackedMember *tracked = track(control, member->id);
        tracked->has_status = false;
        update_link(control, tracked, member);
        if (tracked->link != NULL) {
            control->pending_count++;
            member_link_call(tracked->link, STATUS_PATH, STR_EMPTY, CALL_MS, member_status_received,
                             tracked);
        }
    }
    if (--control->pending_count == 0) {
        decide(control);
    }
}

static void members_received(void *context, Str response, const Error *err)
{
    MemberControl *control = context;
    EtcdHeader header;
    Error invalid;
    if (err == NULL &&
        !etcd_members_decode(&control->arena, response, &header, &control->members, &invalid)) {
        err = &invalid;
    }
    if (err == NULL && control->members.count > MEMBERS_MAX) {
        error_set(&invalid, ERROR_LIMIT, "the datastore has more than %d members", MEMBERS_MAX);
        control->members = (EtcdMembers){ 0 };
        err = &invalid;
    }
    if (err != NULL) {
        fail_round(control, err);
    } else {
        query_members(control);
    }
}

/* A member returns its local member list, which is up to date after it has answered a linearizable
 * read. */
static void probe_answered(void *context, Str response, const Error *err)
{
    MemberControl *control = context;
    if (err != NULL) {
        fail_round(control, err);
        return;
    }
    control->members = (EtcdMembers){ 0 };
    arena_reset(&control->arena);
    member_link_call(control->own_link, "/etcdserverpb.Cluster/MemberList", STR_EMPTY, CALL_MS,
                     members_received, control);
}

static void own_status_received(void *context, Str response, const Error *err)
{
    MemberControl *control = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    EtcdHeader header;
    EtcdMemberStatus status;
    Error invalid;
    if (err == NULL && !etcd_status_decode(&arena, response, &header, &status, &invalid)) {
        err = &invalid;
    }
    control->is_responding = err == NULL;
    if (err != NULL) {
        fail_round(control, err);
        return;
    }
    control->is_learner = status.is_learner;
    control->cluster_id = header.cluster_id;
    control->own = header.member_id;
    control->leader = status.leader;
    control->index = status.index;
    if (control->leader != control->own) {
        MemberReason reason = control->leader == 0 ? MEMBER_NO_LEADER : MEMBER_NOT_LEADER;
        control->is_continuous = false;
        conclude(control, (MemberStep){ .action = MEMBER_WAIT, .reason = reason }, "");
        return;
    }
    etcd_probe_encode(&request);
    member_link_call(control->own_link, "/etcdserverpb.KV/Range", buf_str(&request), CALL_MS,
                     probe_answered, control);
}

static void begin_round(void *context)
{
    MemberControl *control = context;
    control->is_busy = true;
    control->began_ms = now(control);
    member_link_call(control->own_link, STATUS_PATH, STR_EMPTY, CALL_MS, own_status_received,
                     control);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value == 0 ? fallback : value;
}

MemberControl *member_control_new(const MemberControlOptions *options)
{
    MemberControl *control = memory_new(sizeof *control);
    control->options = *options;
    control->options.round_ms = or_default(options->round_ms, MEMBER_ROUND_MS);
    control->options.start_ms = or_default(options->start_ms, MEMBER_START_MS);
    control->options.stall_ms = or_default(options->stall_ms, MEMBER_STALL_MS);
    control->options.quarantine_ms = or_default(options->quarantine_ms, MEMBER_QUARANTINE_MS);
    control->own_link = member_link_new(options->loop, &options->own, options->tls);
    control->step = (MemberStep){ .action = MEMBER_WAIT, .reason = MEMBER_NO_LEADER };
    arena_init(&control->arena, ARENA_UNLIMITED);
    loop_timer_init(&control->timer, options->loop, begin_round, control);
    loop_timer_start(&control->timer, 0);
    return control;
}

void member_control_free(MemberControl *control)
{
    if (control == NULL) {
        return;
    }
    loop_timer_stop(&control->timer);
    member_link_free(control->own_link);
    for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
        member_link_free(control->tracked[i].link);
    }
    arena_clear(&control->arena);
    free(control);
}

void member_control_wake(MemberControl *control)
{
    if (control->is_busy) {
        control->is_round_pending = true;
    } else {
        loop_timer_start(&control->timer, 0);
    }
}
