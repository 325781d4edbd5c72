/* Calls from this server to other servers of the cluster, over mutual TLS with the certificates of
 * their nodes. A connection is opened when it is needed and kept for a while. Loop thread only. */
#pragma once

#include "cluster/cluster_store.h"
#include "membership/own_certificates.h"
#include "net/tls.h"
#include "rpc/methods.h"

typedef struct Peers Peers;

enum {
    PEERS_CALL_MS = 10 * 1000, /* for a call, including the connection */
};

typedef struct PeersOptions {
    ClusterStore cluster_store;
    Str server; /* name of this server */
    const OwnCertificates *own;
    const CaSet *cas;
    TlsVerify *verify; /* whether a peer is a member of the cluster */
    void *context;
} PeersOptions;

/* The options must be valid until peers_free. */
Peers *peers_new(const PeersOptions *options);
/* Calls in progress end with ERROR_UNAVAILABLE during this call. NULL is allowed. */
void peers_free(Peers *peers);
DEFINE_AUTO(Peers, peers_free)

/* New connections use the current certificates. NULL is allowed. */
void peers_certificates_changed(Peers *peers);

/* `err` is NULL on success; both are valid during the call. */
typedef void PeersDone(void *context, Str response, const Error *err);

/* A unary call to the server with this name. Copies the request. `done` is called exactly once,
 * later or within the call. ERROR_NOT_FOUND if there is no such server, ERROR_UNAVAILABLE if it
 * cannot be reached, and its own errors. */
void peers_call(Peers *peers, Str server, Method method, Str request, PeersDone *done,
                void *context);
/* The same call to each of the other servers in turn, until one succeeds. ERROR_NOT_FOUND if there
 * are none. */
void peers_call_any(Peers *peers, Method method, Str request, PeersDone *done, void *context);
