#include "server/own_etcd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/vec.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "datastore/certificate.h"
#include "datastore/etcd_command.h"
#include "datastore/member_control.h"
#include "datastore/member_settings.h"
#include "datastore/server_member.h"
#include "etcd/etcd_store.h"
#include "membership/servers.h"
#include "server/own_etcd_setup.h"

enum {
    WATCH_MS = 1000,
    VOTERS_MAX = 7,
};

typedef struct Endpoints {
    Address items[ETCD_ENDPOINTS_MAX];
    uint32_t count;
} Endpoints;

struct OwnEtcd {
    OwnEtcdOptions options;
    Address own; /* where its member listens for clients */
    MemberControl *control;
    LoopTimer timer;
    Arena arena; /* of the servers in a round of the controller */
    bool is_known;
    uint64_t data_member_id; /* the member whose data is here */
    EtcdRole role;
    Endpoints endpoints; /* that are in the settings */
    MemberStep step;     /* that was logged last */
    LoopRun *left;       /* NULL: it is not leaving */
    void *left_context;
};

/* --- Servers --------------------------------------------------------------------------------- */

static bool is_alive(const OwnEtcd *etcd, Arena *arena, Str server)
{
    const ClusterStore *at = &etcd->options.cluster_store;
    return str_eq_c(server, etcd->options.store->settings->node) ||
           state_find(at->state, cluster_key_server_alive(arena, at->prefix, server)) != NULL;
}

static Str peer_url(Arena *arena, Str address)
{
    Address client, peer;
    Error err;
    return member_address_parse(address, &client, &peer, &err) ? etcd_url(arena, &peer) : STR_EMPTY;
}

/* Those that have a member come first, then those that were added first: so the choice does not
 * change when a server is added, or has been silent for a while. */
static bool is_before(const ServerRecord *a, const ServerRecord *b)
{
    bool a_has = a->etcd_member[0] != '\0', b_has = b->etcd_member[0] != '\0';
    return a_has != b_has               ? a_has
           : a->added_ms != b->added_ms ? a->added_ms < b->added_ms
                                        : strcmp(a->name, b->name) < 0;
}

static uint32_t rank_of(const ServersListing *listing, uint32_t at)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < listing->count; i++) {
        const ServerRecord *other = &listing->items[i].record;
        rank += i != at && other->etcd.len > 0 && is_before(other, &listing->items[at].record);
    }
    return rank;
}

/* An even number of voters tolerates no more failures than one less. */
static uint32_t count_wanted(const ServersListing *listing)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < listing->count; i++) {
        count += listing->items[i].record.etcd.len > 0;
    }
    uint32_t odd = count == 0 ? 0 : count - (count % 2 == 0);
    return odd < VOTERS_MAX ? odd : VOTERS_MAX;
}

/* If a record cannot be read, nothing is changed: its server might have a member. */
static uint32_t list_servers(void *context, MemberServer *out)
{
    OwnEtcd *etcd = context;
    Arena *arena = &etcd->arena;
    uint32_t count = 0;
    arena_reset(arena);
    ServersListing listing = servers_list(arena, &etcd->options.cluster_store);
    uint32_t wanted = count_wanted(&listing);
    for (uint32_t i = 0; i < listing.count; i++) {
        const ServerRecord *record = &listing.items[i].record;
        if (listing.items[i].error.len > 0) {
            return 0;
        }
        if (record->etcd.len == 0 || count == MEMBERS_MAX) {
            continue; /* it has never served */
        }
        Str name = arena_copy(arena, str_from_c(record->name));
        bool is_ready = record->etcd_role != ETCD_ROLE_UNKNOWN && is_alive(etcd, arena, name);
        out[count++] = (MemberServer){ .name = name,
                                       .peer_url = peer_url(arena, record->etcd),
                                       .is_wanted = rank_of(&listing, i) < wanted,
                                       .state = is_ready ? SERVER_READY : SERVER_UNREACHABLE,
                                       .data_member_id = strtoull(record->etcd_member, NULL, 16) };
    }
    return count;
}

static void on_step(void *context, const MemberControlStatus *status)
{
    OwnEtcd *etcd = context;
    MemberReason reason = status->step.reason;
    bool is_new = etcd->step.reason != reason || etcd->step.action != status->step.action;
    etcd->step = status->step;
    /* Without a wanted server, this one has not announced itself yet. */
    if (is_new && status->error[0] == '\0' && reason != MEMBER_NOT_LEADER &&
        reason != MEMBER_NO_LEADER && reason != MEMBER_NONE_WANTED &&
        (status->step.action == MEMBER_WAIT || status->step.action == MEMBER_REFUSE)) {
        log_info("the members of the datastore are not changed",
                 LOG_C("reason", member_reason_text(reason)));
    }
}

/* --- What others learn ----------------------------------------------------------------------- */

static EtcdRole find_role(const OwnEtcd *etcd)
{
    MemberControlStatus status = member_control_status(etcd->control);
    return !etcd->is_known                                               ? ETCD_ROLE_UNKNOWN
           : etcd->data_member_id == 0                                   ? ETCD_ROLE_NONE
           : !status.is_responding || status.own != etcd->data_member_id ? ETCD_ROLE_DOWN
           : status.is_learner                                           ? ETCD_ROLE_LEARNER
                                                                         : ETCD_ROLE_VOTER;
}

static void look_at_member(OwnEtcd *etcd)
{
    uint64_t data_member_id;
    Error err;
    bool is_known = server_member_data(etcd->options.store->state_dir, &data_member_id, &err);
    bool is_new =
        is_known != etcd->is_known || (is_known && data_member_id != etcd->data_member_id);
    etcd->is_known = is_known;
    etcd->data_member_id = is_known ? data_member_id : etcd->data_member_id;
    EtcdRole role = find_role(etcd);
    if (is_new || role != etcd->role) {
        etcd->role = role;
        etcd->options.changed(etcd->options.context);
    }
}

void own_etcd_describe(const OwnEtcd *etcd, ServerRecord *out)
{
    if (etcd == NULL) {
        return;
    }
    out->etcd = etcd->options.store->settings->etcd_address;
    out->etcd_role = etcd->role;
    if (etcd->data_member_id != 0) {
        marker_id(etcd->data_member_id, out->etcd_member);
    }
}

static bool has_endpoint(const Endpoints *endpoints, const Address *address)
{
    for (uint32_t i = 0; i < endpoints->count; i++) {
        if (endpoints->items[i].port == address->port &&
            address_same_host(&endpoints->items[i], address)) {
            return true;
        }
    }
    return false;
}

static void add_endpoint(Endpoints *endpoints, const Address *address)
{
    if (endpoints->count < ETCD_ENDPOINTS_MAX && !has_endpoint(endpoints, address)) {
        endpoints->items[endpoints->count++] = *address;
    }
}

/* The members of servers that were removed are kept until the member here has a vote: before, they
 * may be the only ones that respond. */
static void list_endpoints(const OwnEtcd *etcd, Endpoints *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    ServersListing listing = servers_list(&arena, &etcd->options.cluster_store);
    add_endpoint(out, &etcd->own);
    for (uint32_t i = 0; i < listing.count; i++) {
        Address client, peer;
        Error err;
        Str address = listing.items[i].record.etcd;
        if (address.len > 0 && member_address_parse(address, &client, &peer, &err)) {
            add_endpoint(out, &client);
        }
    }
    for (uint32_t i = 0; etcd->role != ETCD_ROLE_VOTER && i < etcd->endpoints.count; i++) {
        add_endpoint(out, &etcd->endpoints.items[i]);
    }
}

static bool write_endpoints(const OwnEtcd *etcd, const Endpoints *endpoints, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str texts[ETCD_ENDPOINTS_MAX];
    for (uint32_t i = 0; i < endpoints->count; i++) {
        Buf text = buf_make_in(&arena, BUF_UNLIMITED);
        address_format(&endpoints->items[i], &text);
        texts[i] = buf_str(&text);
    }
    const OwnEtcdOptions *options = &etcd->options;
    return own_etcd_write_settings(options->directory, options->store->settings, texts,
                                   endpoints->count, err);
}

static bool is_same_list(const Endpoints *a, const Endpoints *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (!has_endpoint(b, &a->items[i])) {
            return false;
        }
    }
    return a->count == b->count;
}

/* The agent needs them when etcd starts; this server when it connects again. */
static void update_endpoints(OwnEtcd *etcd)
{
    Endpoints endpoints = { .count = 0 };
    Error err;
    list_endpoints(etcd, &endpoints);
    if (is_same_list(&endpoints, &etcd->endpoints) &&
        directory_has(etcd->options.directory, DATASTORE_SETTINGS)) {
        return;
    }
    if (!write_endpoints(etcd, &endpoints, &err)) {
        log_warning("cannot write the settings of the datastore", LOG_C("error", err.text));
        return;
    }
    etcd_store_set_endpoints(etcd->options.store->store, endpoints.items, endpoints.count);
    etcd->endpoints = endpoints;
}

/* The endpoints that the store was opened with. */
static void read_endpoints(OwnEtcd *etcd)
{
    AUTO_CLEAR(Arena) arena;
    MemberSettings settings;
    Str text;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!directory_read(etcd->options.directory, &arena, DATASTORE_SETTINGS, MEMBER_SETTINGS_MAX,
                        &text, &err) ||
        !member_settings_read(&arena, text, &settings, &err)) {
        return; /* they are written again */
    }
    for (uint32_t i = 0; i < settings.endpoint_count; i++) {
        Address address;
        if (address_parse(settings.endpoints[i], ETCD_CLIENT_PORT, &address, &err)) {
            add_endpoint(&etcd->endpoints, &address);
        }
    }
}

/* --- Leaving --------------------------------------------------------------------------------- */

void own_etcd_leave(OwnEtcd *etcd, LoopRun *left, void *context)
{
    etcd->left = left;
    etcd->left_context = context;
    log_info("waiting until the datastore has removed the member of this server");
    member_control_wake(etcd->control);
    loop_timer_start(&etcd->timer, 0);
}

/* The agent moves the data away when the member was removed from the list. */
static void watch(void *context)
{
    OwnEtcd *etcd = context;
    uint64_t data_member_id;
    Error err;
    loop_timer_start(&etcd->timer, WATCH_MS);
    if (etcd->left == NULL) {
        look_at_member(etcd);
        update_endpoints(etcd);
    } else if (server_member_data(etcd->options.store->state_dir, &data_member_id, &err) &&
               data_member_id == 0) {
        LoopRun *left = TAKE(etcd->left);
        loop_timer_stop(&etcd->timer);
        left(etcd->left_context);
    }
}

/* --- Certificate ----------------------------------------------------------------------------- */

static bool is_due(const OwnEtcd *etcd, int64_t now_ms, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    RenewalPlan plan;
    if (!directory_open_child(etcd->options.directory, DATASTORE_CERTIFICATES, &directory, err) ||
        !datastore_certificate_plan(&directory, now_ms, &plan, err)) {
        log_warning("the certificate for the datastore cannot be read; issuing another one",
                    LOG_C("error", err->text));
        return true;
    }
    return plan.state == RENEWAL_DUE || plan.state == RENEWAL_EXPIRED;
}

void own_etcd_check(OwnEtcd *etcd)
{
    Error err;
    if (etcd == NULL || etcd->left != NULL) {
        return;
    }
    int64_t now_ms = loop_wall_ms(etcd->options.cluster_store.loop);
    if (!is_due(etcd, now_ms, &err)) {
        return;
    }
    if (own_etcd_issue(etcd->options.directory, etcd->options.store->settings, now_ms, &err)) {
        log_info("certificate for the datastore renewed");
    } else {
        log_error("cannot renew the certificate for the datastore", LOG_C("error", err.text));
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

OwnEtcd *own_etcd_new(const OwnEtcdOptions *options)
{
    OwnEtcd *etcd = memory_new(sizeof *etcd);
    Address peer;
    Error err;
    etcd->options = *options;
    etcd->role = ETCD_ROLE_UNKNOWN;
    arena_init(&etcd->arena, ARENA_UNLIMITED);
    loop_timer_init(&etcd->timer, options->cluster_store.loop, watch, etcd);
    (void)!member_address_parse(options->store->settings->etcd_address, &etcd->own, &peer, &err);
    etcd->control = member_control_new(&(MemberControlOptions){ .loop = options->cluster_store.loop,
                                                                .tls = options->store->tls,
                                                                .own = etcd->own,
                                                                .servers = list_servers,
                                                                .changed = on_step,
                                                                .context = etcd });
    read_endpoints(etcd);
    uint64_t data_member_id;
    etcd->is_known = server_member_data(options->store->state_dir, &data_member_id, &err);
    etcd->data_member_id = etcd->is_known ? data_member_id : 0;
    etcd->role = find_role(etcd);
    loop_timer_start(&etcd->timer, WATCH_MS);
    return etcd;
}

void own_etcd_free(OwnEtcd *etcd)
{
    if (etcd == NULL) {
        return;
    }
    loop_timer_stop(&etcd->timer);
    member_control_free(etcd->control);
    arena_clear(&etcd->arena);
    free(etcd);
}
