/* A node's session with one of its servers, over the network:
 * rpc/session_node.h on gRPC. Loop thread.
 *
 * The state machine decides when to connect, to which server, what to send
 * and how long to wait between attempts; this module is the connection. */
#pragma once

#include "net/grpc_client.h"
#include "rpc/session_node.h"

typedef struct SessionLink SessionLink;

typedef struct LinkServer {
    Address address;
    /* name that the certificate must have; empty: `verify` decides */
    char name[ADDRESS_HOST_MAX + 1];
} LinkServer;

/* Callbacks, as in SessionNodeOps. All but the first two may be NULL. */
typedef struct SessionLinkOps {
    WatchPosition (*position)(void *context, uint32_t watch);
    void (*changes)(void *context, const Changes *changes, Str store, uint64_t ticket);
    void (*moved)(void *context, SessionNodeState state);
    void (*refused)(void *context, const RejectedRecord *refusal);
} SessionLinkOps;

typedef struct SessionLinkOptions {
    Loop *loop;
    const SessionLinkOps *ops;
    void *context;
    Outbox *outbox;  /* borrowed; call session_link_wake() when more records are stored */
    TlsContext *tls; /* borrowed; NULL for Unix sockets */
    Str node, boot_id, version;
    const char *const *watches; /* names, borrowed */
    uint32_t watch_count;
    const LinkServer *servers; /* copied; at least one */
    uint32_t server_count;
} SessionLinkOptions;

SessionLink *session_link_new(const SessionLinkOptions *options);
void session_link_free(SessionLink *link); /* stops first; NULL is allowed */
DEFINE_AUTO(SessionLink, session_link_free)

void session_link_start(SessionLink *link);
void session_link_stop(SessionLink *link);
/* Does not affect an established connection. */
void session_link_set_servers(SessionLink *link, const LinkServer *servers, uint32_t count);

void session_link_wake(SessionLink *link); /* the outbox may have something to send */
void session_link_processed(SessionLink *link, uint32_t watch, uint64_t ticket);
/* The established connection, for other calls; otherwise NULL. Valid until the next loop
 * iteration. */
GrpcClient *session_link_client(const SessionLink *link);
SessionNodeStatus session_link_status(const SessionLink *link);
