/* A connection belongs to a PeerLink, which tries the addresses of its server in turn; a Call
 * outlives the connection that it failed on. */
#include "server/peers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "membership/servers.h"
#include "net/grpc_client.h"
#include "pki/credential.h"
#include "rpc/access.h"
#include "rpc/session_message.h"

enum {
    IDLE_MS = 60 * 1000,
    OPEN_MS = 3 * 1000,     /* per address */
    RESPONSE_MAX = 2 << 20, /* more than a blob */
};

typedef struct PeerLink PeerLink;
typedef struct PeerCall PeerCall;

struct PeerLink {
    Peers *peers;
    char name[NODE_NAME_MAX + 1];
    TlsContext *tls;
    GrpcClient *client; /* NULL: not connected */
    bool is_ready, is_closed;
    uint32_t address; /* index of the address that is tried next */
    uint32_t calls;   /* in progress */
    LoopTimer idle;
    PeerLink *next;
};

struct PeerCall {
    Peers *peers;
    Arena arena;
    PeerLink *peer;
    Method method;
    Str request;
    const Str *servers; /* that remain to be tried */
    uint32_t server_count;
    uint32_t attempts; /* addresses of the current server that were tried */
    bool is_pending;   /* a response will follow */
    LoopTask task;     /* starts, or tries the next address or server */
    Error err;
    PeersDone *done;
    void *context;
    PeerCall *next, *previous;
};

struct Peers {
    PeersOptions options;
    char protocol[12]; /* header value of every call */
    Http2Header metadata;
    PeerLink *first;
    PeerCall *calls;
    bool is_closing;
};

/* --- Connections ----------------------------------------------------------------------------- */

static bool verify(void *context, const TlsPeer *presented, Error *err)
{
    const PeerLink *peer = context;
    const PeersOptions *options = &peer->peers->options;
    return options->verify(options->context, presented, err) &&
           (strcmp(presented->identity.node, peer->name) == 0 ||
            error_set(err, ERROR_DENIED, "it is '%s', not '%s'", presented->identity.node,
                      peer->name));
}

static bool make_tls(PeerLink *peer, Error *err)
{
    const PeersOptions *options = &peer->peers->options;
    const Credential *own = own_certificates_credential(options->own, OWN_KIND_NODE);
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(KeyText) key = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    if (!p256_private_text(own->key, &key, err)) {
        return false;
    }
    TlsMaterial material = { .certificate = certificates_pem(&arena, own->chain),
                             .key = str_from(key.text, key.len),
                             .ca = certificates_pem(&arena, options->cas->trusted) };
    TlsOptions tls = {
        .role = TLS_CLIENT, .protocol = "h2", .verify = verify, .verify_context = peer
    };
    return tls_context_new(options->cluster_store.loop, &tls, &material, &peer->tls, err);
}

static void disconnect(PeerLink *peer)
{
    grpc_client_free(TAKE(peer->client));
    tls_context_free(TAKE(peer->tls));
    peer->is_ready = false;
}

static void client_ready(void *context)
{
    ((PeerLink *)context)->is_ready = true;
}

/* Calls end by themselves; the next one connects again, to another address if this one failed. */
static void client_closed(void *context, const Error *why)
{
    PeerLink *peer = context;
    peer->is_closed = true;
    peer->address += peer->is_ready ? 0 : 1;
}

static void idle(void *context)
{
    disconnect(context);
}

static PeerLink *peer_of(Peers *peers, Str name)
{
    for (PeerLink *peer = peers->first; peer != NULL; peer = peer->next) {
        if (str_eq_c(name, peer->name)) {
            return peer;
        }
    }
    PeerLink *peer = memory_new(sizeof *peer);
    peer->peers = peers;
    snprintf(peer->name, sizeof peer->name, "%" STR_FMT, STR_ARG(name));
    loop_timer_init(&peer->idle, peers->options.cluster_store.loop, idle, peer);
    peer->next = peers->first;
    peers->first = peer;
    return peer;
}

static const ServerRecord *find_server(Arena *arena, const Peers *peers, const char *name,
                                       Error *err)
{
    ServersListing listing = servers_list(arena, &peers->options.cluster_store);
    const ServerEntry *entry = servers_find(&listing, str_from_c(name));
    if (entry == NULL) {
        error_set(err, ERROR_NOT_FOUND, "server '%s' not found", name);
        return NULL;
    }
    if (entry->record.rpc_count == 0) {
        error_set(err, ERROR_UNAVAILABLE, "the server '%s' has never started", name);
        return NULL;
    }
    return &entry->record;
}

/* Sets the number of addresses. */
static bool open_link(PeerLink *peer, uint32_t *addresses, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Peers *peers = peer->peers;
    const ServerRecord *server = find_server(&arena, peers, peer->name, err);
    if (server == NULL) {
        return false;
    }
    *addresses = server->rpc_count;
    if (peer->client != NULL && !peer->is_closed && grpc_client_is_open(peer->client)) {
        return true;
    }
    disconnect(peer);
    GrpcClientOptions options = grpc_client_defaults();
    if (!address_parse(server->rpc[peer->address % server->rpc_count], 0, &options.address, err) ||
        !make_tls(peer, err)) {
        return false;
    }
    options.loop = peers->options.cluster_store.loop;
    options.tls = peer->tls;
    options.open_timeout_ms = OPEN_MS;
    options.response_max = RESPONSE_MAX;
    options.metadata = &peers->metadata;
    options.metadata_count = 1;
    options.ready = client_ready;
    options.closed = client_closed;
    options.context = peer;
    peer->is_closed = false;
    peer->client = grpc_client_new(&options);
    return true;
}

/* --- Calls ----------------------------------------------------------------------------------- */

static void call_unlink(PeerCall *call)
{
    if (call->previous != NULL) {
        call->previous->next = call->next;
    } else {
        call->peers->calls = call->next;
    }
    if (call->next != NULL) {
        call->next->previous = call->previous;
    }
}

static void call_end(PeerCall *call, Str response, const Error *err)
{
    call_unlink(call);
    loop_task_stop(call->peers->options.cluster_store.loop, &call->task);
    call->done(call->context, response, err);
    arena_clear(&call->arena);
    free(call);
}

/* Whether the call had no effect, so that another address may be tried. */
static bool was_unreachable(const PeerLink *peer, GrpcStatus status)
{
    return !peer->is_ready && (status == GRPC_UNAVAILABLE || status == GRPC_CANCELLED ||
                               status == GRPC_DEADLINE_EXCEEDED);
}

static void next_server(PeerCall *call)
{
    call->servers++;
    call->attempts = 0;
    if (--call->server_count == 0 || call->peers->is_closing) {
        call_end(call, STR_EMPTY, &call->err);
    } else {
        loop_defer(call->peers->options.cluster_store.loop, &call->task);
    }
}

static void response_received(void *context, GrpcStatus status, Str text, Str response)
{
    PeerCall *call = context;
    PeerLink *peer = call->peer;
    call->is_pending = false;
    if (--peer->calls == 0) {
        loop_timer_start(&peer->idle, IDLE_MS);
    }
    if (status == GRPC_OK) {
        call_end(call, response, NULL);
        return;
    }
    error_set(&call->err, grpc_status_kind(status), "%s: %" STR_FMT, peer->name, STR_ARG(text));
    if (call->peers->is_closing) {
        call_end(call, STR_EMPTY, &call->err);
    } else if (was_unreachable(peer, status) && call->attempts > 0) {
        loop_defer(call->peers->options.cluster_store.loop, &call->task);
    } else {
        next_server(call);
    }
}

/* `attempts` counts the addresses that remain, once it is known how many there are. */
static void run(void *context)
{
    PeerCall *call = context;
    uint32_t addresses;
    call->peer = peer_of(call->peers, *call->servers);
    bool is_first = call->attempts == 0;
    if (!open_link(call->peer, &addresses, &call->err)) {
        next_server(call);
        return;
    }
    call->attempts = is_first ? addresses - 1 : call->attempts - 1;
    loop_timer_stop(&call->peer->idle);
    call->peer->calls++;
    call->is_pending = true;
    if (!grpc_client_unary(call->peer->client, method_rows[call->method].path, call->request,
                           PEERS_CALL_MS, response_received, call, &call->err)) {
        call->peer->calls--;
        call->is_pending = false;
        next_server(call);
    }
}

static PeerCall *call_new(Peers *peers, Method method, Str request, PeersDone *done, void *context)
{
    PeerCall *call = memory_new(sizeof *call);
    arena_init(&call->arena, ARENA_UNLIMITED);
    call->peers = peers;
    call->method = method;
    call->request = arena_copy(&call->arena, request);
    call->done = done;
    call->context = context;
    loop_task_init(&call->task, run, call);
    call->next = peers->calls;
    if (peers->calls != NULL) {
        peers->calls->previous = call;
    }
    peers->calls = call;
    return call;
}

void peers_call(Peers *peers, Str server, Method method, Str request, PeersDone *done,
                void *context)
{
    PeerCall *call = call_new(peers, method, request, done, context);
    Str *servers = ARENA_NEW(&call->arena, Str);
    *servers = arena_copy(&call->arena, server);
    call->servers = servers;
    call->server_count = 1;
    loop_defer(peers->options.cluster_store.loop, &call->task);
}

void peers_call_any(Peers *peers, Method method, Str request, PeersDone *done, void *context)
{
    PeerCall *call = call_new(peers, method, request, done, context);
    ServersListing listing = servers_list(&call->arena, &peers->options.cluster_store);
    Str *servers = ARENA_ARRAY(&call->arena, Str, listing.count + 1);
    for (uint32_t i = 0; i < listing.count; i++) {
        Str name = str_from_c(listing.items[i].record.name);
        if (!str_eq(name, peers->options.server)) {
            servers[call->server_count++] = arena_copy(&call->arena, name);
        }
    }
    call->servers = servers;
    if (call->server_count == 0) {
        error_set(&call->err, ERROR_NOT_FOUND, "the cluster has no other server");
        call_end(call, STR_EMPTY, &call->err);
    } else {
        loop_defer(peers->options.cluster_store.loop, &call->task);
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

Peers *peers_new(const PeersOptions *options)
{
    Peers *peers = memory_new(sizeof *peers);
    peers->options = *options;
    snprintf(peers->protocol, sizeof peers->protocol, "%d", SESSION_PROTOCOL_OLDEST);
    peers->metadata = (Http2Header){ STR(PROTOCOL_HEADER), str_from_c(peers->protocol) };
    return peers;
}

void peers_certificates_changed(Peers *peers)
{
    for (PeerLink *peer = peers == NULL ? NULL : peers->first; peer != NULL; peer = peer->next) {
        if (peer->calls == 0) {
            disconnect(peer);
        } else {
            peer->is_closed = true;
        }
    }
}

void peers_free(Peers *peers)
{
    if (peers == NULL) {
        return;
    }
    peers->is_closing = true;
    for (PeerLink *peer = peers->first; peer != NULL; peer = peer->next) {
        disconnect(peer); /* ends its calls */
    }
    while (peers->calls != NULL) {
        PeerCall *call = peers->calls;
        error_set(&call->err, ERROR_UNAVAILABLE, "the server is stopping");
        call_end(call, STR_EMPTY, &call->err);
    }
    for (PeerLink *peer = peers->first; peer != NULL;) {
        PeerLink *next = peer->next;
        loop_timer_stop(&peer->idle);
        free(peer);
        peer = next;
    }
    free(peers);
}
