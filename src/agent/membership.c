#include "agent/membership.h"

#include <stdlib.h>

#include "agent/orders.h"
#include "agent/site_supply.h"
#include "agent/watched.h"
#include "base/log.h"
#include "base/memory.h"
#include "facts/facts.h"
#include "membership/node_record.h"
#include "membership/node_servers.h"

enum {
    WATCH_NODE,
    WATCH_TRUST,
    WATCH_ORDERS,
    WATCH_SERVERS,
    WATCH_COUNT,
    FILES_MAX = 1000, /* files of one enrollment */
};

static const char *const watch_names[WATCH_COUNT] = {
    [WATCH_NODE] = WATCHED_NODE,
    [WATCH_TRUST] = TRUST_WATCH,
    [WATCH_ORDERS] = "orders",
    [WATCH_SERVERS] = "servers",
};

struct Membership {
    MembershipOptions options;
    Arena arena; /* holds `state` */
    NodeState state;
    Str boot_id;
    Directory spool_directory;
    Spool *spool;
    Trust *trust;
    Watched *node, *ordered, *servers;
    SiteSupply *sites;
    Orders *orders;
    SessionLink *link;
    FactsFeed *facts;
    int64_t session_since_ms;
    NodeLeave *node_leave; /* NULL: not leaving */
};

static void report_status(Membership *membership)
{
    if (membership->options.changed != NULL) {
        membership->options.changed(membership->options.context);
    }
}

/* --- Upstream -------------------------------------------------------------------------------- */

static void stored(void *context)
{
    Membership *membership = context;
    session_link_wake(membership->link);
    uint64_t sequence = outbox_last_sequence(spool_outbox(membership->spool));
    facts_feed_stored(membership->facts, sequence);
    orders_stored(membership->orders, sequence);
}

static void outbox_has_room(void *context)
{
    Membership *membership = context;
    facts_feed_check(membership->facts);
    orders_room(membership->orders);
}

static bool send_facts(void *context, Str body, uint64_t *sequence, Error *err)
{
    const Membership *membership = context;
    return outbox_add(spool_outbox(membership->spool), RECORD_FACTS, STR_EMPTY, body, sequence,
                      err);
}

static bool report_trust(void *context, Str body, Error *err)
{
    const Membership *membership = context;
    uint64_t sequence;
    return outbox_add(spool_outbox(membership->spool), RECORD_STATUS, STR(TRUST_RECORD), body,
                      &sequence, err);
}

static bool report_run(void *context, Str run, Str body, uint64_t *sequence, Error *err)
{
    const Membership *membership = context;
    return outbox_add(spool_outbox(membership->spool), RECORD_RESULT, run, body, sequence, err);
}

/* --- Downstream ------------------------------------------------------------------------------ */

static WatchPosition position(void *context, uint32_t watch)
{
    const Membership *membership = context;
    Watched *const watched[WATCH_COUNT] = { [WATCH_NODE] = membership->node,
                                            [WATCH_ORDERS] = membership->ordered,
                                            [WATCH_SERVERS] = membership->servers };
    return watched[watch] == NULL ? (WatchPosition){ 0 } : watched_position(watched[watch]);
}

static void node_record_stored(void *context, uint64_t ticket)
{
    Membership *membership = context;
    session_link_processed(membership->link, WATCH_NODE, ticket);
    report_status(membership);
}

static void order_range_stored(void *context, uint64_t ticket)
{
    Membership *membership = context;
    session_link_processed(membership->link, WATCH_ORDERS, ticket);
    orders_set(membership->orders, watched_image(membership->ordered));
}

/* node.json contains the list of servers, so that a node that starts connects to any of them. */
static void servers_stored(void *context, uint64_t ticket)
{
    Membership *membership = context;
    const WatchedImage *image = watched_image(membership->servers);
    AUTO_CLEAR(Arena) arena;
    NodeState state;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    ServerRecord *records = ARENA_ARRAY(&arena, ServerRecord, image->entries.len);
    uint32_t count = 0;
    for (uint32_t i = 0; i < image->entries.len; i++) {
        count += server_record_read(&arena, image->entries.items[i].value, &records[count], &err);
    }
    session_link_processed(membership->link, WATCH_SERVERS, ticket);
    if (node_servers_merge(&arena, &membership->state, records, count, &state) &&
        (!node_state_save(membership->options.directory, &state, &err) ||
         !membership_reload(membership, &err))) {
        log_warning("cannot save the list of servers", LOG_C("error", err.text));
    }
}

static void changes_arrived(void *context, const Changes *changes, Str store, uint64_t ticket)
{
    Membership *membership = context;
    if (changes->watch == WATCH_NODE) {
        Str store_id = watched_saved_position(membership->node).store;
        if (store_id.len > 0 && !str_eq(store_id, store)) {
            log_info("cluster store replaced; sending everything again");
            facts_feed_resend(membership->facts);
            trust_resend_report(membership->trust);
        }
        watched_add(membership->node, changes, store, ticket);
        return;
    }
    if (changes->watch == WATCH_ORDERS || changes->watch == WATCH_SERVERS) {
        watched_add(changes->watch == WATCH_ORDERS ? membership->ordered : membership->servers,
                    changes, store, ticket);
        return;
    }
    for (uint32_t i = 0; i < changes->change_count; i++) {
        if (!changes->changes[i].deleted) {
            trust_notice(membership->trust, changes->changes[i].value);
        }
    }
    session_link_processed(membership->link, changes->watch, ticket);
}

/* The server of the session. */
static const NodeServer *membership_server(const Membership *membership)
{
    uint32_t index = session_link_status(membership->link).server;
    return &membership->state.servers[index < membership->state.server_count ? index : 0];
}

static void moved(void *context, SessionNodeState state)
{
    Membership *membership = context;
    membership->session_since_ms = loop_wall_ms(membership->options.loop);
    if (state == SESSION_LIVE) {
        const NodeServer *server = membership_server(membership);
        log_info("session established", LOG_C("server", server->node), LOG_STR("at", server->rpc));
        trust_connected(membership->trust);
        site_supply_wake(membership->sites);
        orders_connected(membership->orders);
    }
    if (membership->node_leave != NULL) {
        node_leave_session_changed(membership->node_leave, state,
                                   session_link_status(membership->link).why);
    }
    report_status(membership);
}

static const SessionLinkOps link_ops = { .position = position,
                                         .changes = changes_arrived,
                                         .moved = moved };

/* --- Servers --------------------------------------------------------------------------------- */

/* Every node has a certificate of the cluster's CA, so the peer must also be in the list of
 * servers. */
static bool verify_server(void *context, const TlsPeer *peer, Error *err)
{
    const Membership *membership = context;
    const NodeState *state = &membership->state;
    if (!peer->has_identity || strcmp(peer->identity.cluster, state->cluster) != 0) {
        return error_set(err, ERROR_DENIED, "it belongs to another cluster");
    }
    for (uint32_t i = 0; i < state->server_count; i++) {
        if (strcmp(state->servers[i].node, peer->identity.node) == 0) {
            return true;
        }
    }
    return error_set(err, ERROR_DENIED, "'%s' is a node of this cluster, but not a server",
                     peer->identity.node);
}

static bool make_servers(Arena *arena, const NodeState *state, LinkServer **out, Error *err)
{
    *out = ARENA_ARRAY(arena, LinkServer, state->server_count);
    for (uint32_t i = 0; i < state->server_count; i++) {
        (*out)[i] = (LinkServer){ 0 };
        if (!address_parse(state->servers[i].rpc, 0, &(*out)[i].address, err)) {
            return false;
        }
    }
    return true;
}

/* --- Files of an enrollment ------------------------------------------------------------------ */

static bool drop_files(const Directory *directory, const char *prefix, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    DirectoryEntry *entries;
    uint32_t count;
    if (!directory_list(directory, &arena, FILES_MAX, &entries, &count, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (str_starts(entries[i].name, str_from_c(prefix)) &&
            !directory_remove(directory, entries[i].name.data, err)) {
            return false;
        }
    }
    return true;
}

/* Removes data received from the cluster: versions of the site, and runs, whose results no server
 * would accept. */
static void drop_received(const Directory *directory)
{
    directory_remove_child(directory, LOCAL_RUNS);
    site_supply_delete(directory);
}

static Str read_enrollment(Arena *arena, const Directory *directory)
{
    Str text;
    Error err;
    return directory_read(directory, arena, AGENT_ENROLLMENT, ENROLLMENT_TEXT, &text, &err)
               ? text
               : STR_EMPTY;
}

/* Files of an earlier enrollment belong to another identity. */
static bool claim_files(Membership *membership, const Certificate *certificate, Error *err)
{
    const Directory *directory = membership->options.directory;
    if (!directory_make_child(directory, AGENT_SPOOL, &membership->spool_directory, err)) {
        return false;
    }
    if (str_eq_c(read_enrollment(&membership->arena, directory), certificate->enrollment)) {
        return true;
    }
    drop_received(directory);
    return drop_files(&membership->spool_directory, "", err) &&
           drop_files(directory, "watched-", err) && drop_files(directory, "facts-", err) &&
           directory_write(directory, AGENT_ENROLLMENT, str_from_c(certificate->enrollment), true,
                           err);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

/* The id of the current boot; empty if unknown. */
static Str read_boot_id(Arena *arena)
{
    AUTO_CLEAR(FactSources)
    sources = { .root = { .descriptor = -1 }, .kernel = { .descriptor = -1 } };
    Problems ignored;
    Error err;
    problems_init(&ignored, arena);
    if (!fact_sources_open("/", &sources, &err)) {
        return STR_EMPTY;
    }
    Value id = fact_collect(fact_find(STR("boot_id")), &sources, arena, &ignored);
    return id.kind == VALUE_STRING ? arena_copy(arena, value_str(id)) : STR_EMPTY;
}

static GrpcClient *client_of(void *context)
{
    const Membership *membership = context;
    return membership->link == NULL ? NULL : session_link_client(membership->link);
}

static bool open_trust(Membership *membership, Error *err)
{
    const MembershipOptions *options = &membership->options;
    TrustOptions trust = { .loop = options->loop,
                           .directory = options->directory,
                           .verify = verify_server,
                           .verify_context = membership,
                           .client = client_of,
                           .report = report_trust,
                           .context = membership };
    if (!trust_open(&trust, &membership->trust, err)) {
        return false;
    }
    const Certificate *certificate = trust_status(membership->trust).certificate;
    if (strcmp(certificate->identity.cluster, membership->state.cluster) != 0 ||
        strcmp(certificate->identity.node, membership->state.node) != 0) {
        return error_set(err, ERROR_INVALID,
                         "the certificate is for node '%s' of cluster '%s', but " AGENT_STATE
                         " is for node '%s' of '%s'",
                         certificate->identity.node, certificate->identity.cluster,
                         membership->state.node, membership->state.cluster);
    }
    return claim_files(membership, certificate, err);
}

static bool open_spool(Membership *membership, Error *err)
{
    return spool_open(&(SpoolOptions){ .loop = membership->options.loop,
                                       .directory = &membership->spool_directory,
                                       .stored = stored,
                                       .room = outbox_has_room,
                                       .context = membership },
                      &membership->spool, err);
}

static bool open_sites(Membership *membership, Error *err)
{
    return site_supply_open(&(SiteCacheOptions){ .loop = membership->options.loop,
                                                 .directory = membership->options.path,
                                                 .client = client_of,
                                                 .context = membership },
                            &membership->sites, err);
}

static void fetch_site(void *context, Str manifest, Str version, OrdersFetchDone *fetched,
                       void *fetched_context)
{
    const Membership *membership = context;
    site_supply_fetch(membership->sites, manifest, version, fetched, fetched_context);
}

static void open_session(Membership *membership, const LinkServer *servers)
{
    const MembershipOptions *options = &membership->options;
    membership->node = watched_open(&(WatchedOptions){ .loop = options->loop,
                                                       .directory = options->directory,
                                                       .name = watch_names[WATCH_NODE],
                                                       .stored = node_record_stored,
                                                       .context = membership });
    membership->ordered = watched_open(&(WatchedOptions){ .loop = options->loop,
                                                          .directory = options->directory,
                                                          .name = watch_names[WATCH_ORDERS],
                                                          .stored = order_range_stored,
                                                          .context = membership });
    membership->servers = watched_open(&(WatchedOptions){ .loop = options->loop,
                                                          .directory = options->directory,
                                                          .name = watch_names[WATCH_SERVERS],
                                                          .stored = servers_stored,
                                                          .context = membership });
    RunnerNode node = { .directory = options->directory,
                        .path = options->path,
                        .state_dir = options->state_dir,
                        .config_dir = options->config_dir,
                        .root = options->root,
                        .limits = options->run_limits,
                        .name = str_from_c(membership->state.node) };
    membership->orders = orders_open(&(OrdersOptions){ .loop = options->loop,
                                                       .node = node,
                                                       .state = options->state,
                                                       .boot_id = membership->boot_id,
                                                       .fetch = fetch_site,
                                                       .report = report_run,
                                                       .client = client_of,
                                                       .context = membership });
    membership->link = session_link_new(&(SessionLinkOptions){
        .loop = options->loop,
        .ops = &link_ops,
        .context = membership,
        .outbox = spool_outbox(membership->spool),
        .tls = trust_tls(membership->trust),
        .node = str_from_c(membership->state.node),
        .boot_id = membership->boot_id,
        .version = STR(EDEN_VERSION),
        .watches = watch_names,
        .watch_count = WATCH_COUNT,
        .servers = servers,
        .server_count = membership->state.server_count,
    });
    membership->facts = facts_feed_new(&(FactsFeedOptions){ .loop = options->loop,
                                                            .root = options->root,
                                                            .directory = options->directory,
                                                            .send = send_facts,
                                                            .context = membership });
}

bool membership_open(const MembershipOptions *options, Membership **out, Error *err)
{
    Membership *membership = memory_new(sizeof *membership);
    membership->options = *options;
    membership->spool_directory.descriptor = -1;
    membership->session_since_ms = loop_wall_ms(options->loop);
    arena_init(&membership->arena, ARENA_UNLIMITED);
    LinkServer *servers;
    if (!node_state_load(options->directory, &membership->arena, &membership->state, err) ||
        !make_servers(&membership->arena, &membership->state, &servers, err) ||
        !open_trust(membership, err) || !open_spool(membership, err) ||
        !open_sites(membership, err)) {
        membership_close(membership);
        return false;
    }
    membership->boot_id = read_boot_id(&membership->arena);
    open_session(membership, servers);
    if (watched_saved_position(membership->ordered).store.len > 0) {
        orders_set(membership->orders, watched_image(membership->ordered));
    }
    session_link_start(membership->link);
    *out = membership;
    return true;
}

/* The spool is closed last, so that it stores records that the other parts write while closing. */
void membership_close(Membership *membership)
{
    if (membership == NULL) {
        return;
    }
    node_leave_free(TAKE(membership->node_leave));
    facts_feed_free(membership->facts);
    site_supply_close(membership->sites); /* before the parts that wait for it */
    orders_close(membership->orders);
    session_link_free(membership->link);
    trust_free(membership->trust);
    watched_free(membership->node);
    watched_free(membership->ordered);
    watched_free(membership->servers);
    spool_close(membership->spool);
    directory_close(&membership->spool_directory);
    arena_clear(&membership->arena);
    free(membership);
}

static bool check_same(const Membership *membership, const NodeState *state, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Credential) credential = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    const Certificate *certificate = trust_status(membership->trust).certificate;
    if (strcmp(state->cluster, membership->state.cluster) != 0 ||
        strcmp(state->node, membership->state.node) != 0) {
        return error_set(err, ERROR_CONFLICT, "this machine is now a different node");
    }
    if (!credential_load(membership->options.directory, AGENT_CREDENTIAL, &arena, &credential,
                         err)) {
        return false;
    }
    return strcmp(credential.chain.items[0].enrollment, certificate->enrollment) == 0 ||
           error_set(err, ERROR_CONFLICT, "this machine has joined again");
}

static bool is_same_list(const NodeState *a, const NodeState *b)
{
    AUTO_CLEAR(Buf) first = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) second = buf_make(BUF_UNLIMITED);
    node_state_print(a, &first);
    node_state_print(b, &second);
    return str_eq(buf_str(&first), buf_str(&second));
}

bool membership_reload(Membership *membership, Error *err)
{
    Arena arena; /* replaces the arena of the membership */
    arena_init(&arena, ARENA_UNLIMITED);
    NodeState state;
    LinkServer *servers;
    if (!node_state_load(membership->options.directory, &arena, &state, err) ||
        !check_same(membership, &state, err) || !make_servers(&arena, &state, &servers, err)) {
        arena_clear(&arena);
        return false;
    }
    if (is_same_list(&state, &membership->state)) {
        arena_clear(&arena);
        return true;
    }
    membership->boot_id = arena_copy(&arena, membership->boot_id);
    arena_clear(&membership->arena);
    membership->arena = arena;
    membership->state = state;
    session_link_set_servers(membership->link, servers, state.server_count);
    log_info("list of servers changed", LOG_INT("servers", state.server_count));
    return true;
}

void membership_check(Membership *membership)
{
    facts_feed_check(membership->facts);
}

/* --- Leaving --------------------------------------------------------------------------------- */

bool membership_leave(Membership *membership, NodeLeaveDone *done, void *context, Error *err)
{
    GrpcClient *client = session_link_client(membership->link);
    if (client == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "no session with a server");
    }
    node_leave_free(TAKE(membership->node_leave));
    return node_leave_new(&(NodeLeaveOptions){ .loop = membership->options.loop,
                                               .client = client,
                                               .node = str_from_c(membership->state.node),
                                               .left = done,
                                               .context = context },
                          &membership->node_leave, err);
}

static bool drop_file(const Directory *directory, const char *name, Error *err)
{
    return directory_remove(directory, name, err) || err->kind == ERROR_NOT_FOUND;
}

bool membership_forget(const Directory *directory, Error *err)
{
    static const char *const files[] = { AGENT_STATE, AGENT_CREDENTIAL, AGENT_BUNDLE,
                                         AGENT_ENROLLMENT };
    AUTO_CLEAR(Directory) spool = { .descriptor = -1 };
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (!drop_file(directory, files[i], err)) {
            return false;
        }
        directory_sync(directory);
    }
    drop_received(directory);
    if (directory_open_child(directory, AGENT_SPOOL, &spool, err)) {
        return drop_files(&spool, "", err) && drop_files(directory, "watched-", err) &&
               drop_files(directory, "facts-", err);
    }
    return err->kind == ERROR_NOT_FOUND;
}

/* --- Status ---------------------------------------------------------------------------------- */

static Value read_labels(const Membership *membership, Arena *arena)
{
    const Str *text = watched_value(membership->node, STR_EMPTY);
    NodeRecord record;
    Error err;
    return text != NULL && node_record_read(arena, *text, &record, &err) ? record.labels
                                                                         : value_missing();
}

void membership_status(const Membership *membership, Arena *arena, MembershipStatus *out)
{
    *out = (MembershipStatus){ .state = &membership->state,
                               .boot_id = membership->boot_id,
                               .session = session_link_status(membership->link),
                               .server = membership_server(membership),
                               .session_since_ms = membership->session_since_ms,
                               .outbox = outbox_counts(spool_outbox(membership->spool)),
                               .spool = spool_status(membership->spool),
                               .trust = trust_status(membership->trust),
                               .facts = facts_feed_status(membership->facts),
                               .node = watched_saved_position(membership->node),
                               .labels = read_labels(membership, arena) };
    if (out->session.state == SESSION_WAITING) {
        out->next_try_ms = out->session.until_ms - loop_now_ms(membership->options.loop);
    }
}

Trust *membership_trust(Membership *membership)
{
    return membership->trust;
}
