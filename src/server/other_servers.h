/* Communication with the other servers of the cluster: announces this server, calls other servers,
 * fetches CA keys from them, and runs the datastore together with them. Loop thread only. */
#pragma once

#include "membership/authority.h"
#include "server/peers.h"
#include "server/server_store.h"
#include "service/session_service.h"
#include "source/versions.h"

typedef struct OtherServers OtherServers;

typedef struct OtherServersOptions {
    ClusterStore cluster_store;
    const ServerStore *store;
    uint16_t rpc_port, api_port; /* that it listens on */
    const Directory *directory;  /* of its files */
    Authority *authority;
    const OwnCertificates *own;
    TlsVerify *verify; /* whether a peer is a member of the cluster */
    /* This server was removed from the cluster, and its keys were deleted: ERROR_DENIED. */
    void (*removed)(void *context, const Error *err);
    void *context;
} OtherServersOptions;

/* The options must be valid until it is freed. */
OtherServers *other_servers_new(const OtherServersOptions *options);
/* For a clean stop: other servers notice immediately that this server has stopped. NULL is allowed
 * here and below. */
void other_servers_stop(OtherServers *others);
/* Must be called before the state and the store are freed. */
void other_servers_free(OtherServers *others);
DEFINE_AUTO(OtherServers, other_servers_free)

/* Fetches missing CA keys, and renews the certificate of the datastore. Called when keys are missing,
 * and periodically. */
void other_servers_check(OtherServers *others);
/* The CAs, or the certificates of this server, have changed. */
void other_servers_certificates_changed(OtherServers *others);
/* Gets a blob from any of them, as VersionsSettings.fetch: `slot` points to a variable that is NULL
 * while there are none. */
void other_servers_fetch(void *slot, Str id, VersionsGetDone *done, void *context);
/* Pings a node, as session_service_ping(): at this server, or at the one that has its session. */
void other_servers_ping(OtherServers *others, SessionService *sessions, Str node,
                        SessionPinged *done, void *context);
