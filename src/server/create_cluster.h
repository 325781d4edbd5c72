/* Creates a cluster on this machine: its CA, its store, its first node. */
#pragma once

#include <sys/types.h>

#include "membership/node_state.h"
#include "pki/credential.h"
#include "pki/p256_public.h"
#include "server/server_settings.h"

/* Files in the state directory. */
#define SERVER_DIRECTORY "server"
#define SERVER_CA        "ca.pem"      /* key and certificate of the CA */
#define SERVER_SERVING   "serving.pem" /* key and certificate of the API */
/* key and certificate of the server itself, as part of its node */
#define SERVER_NODE   "node.pem"
#define SERVER_STORE  "store"
#define SERVER_LOCK   "server.lock" /* held by the process of a server whose store is in etcd */
#define SERVER_SOCKET "api.sock"    /* in SERVER_DIRECTORY, but in the run directory */
/* in the run directory too: why the last server exited, in one line */
#define SERVER_FAILURE "failure"

typedef struct ClusterSpec {
    const char *state_dir;
    ServerSettings settings; /* the store ID is generated here */
    int64_t now_ms;
    /* the server's directory belongs to `user` and `group`, which requires root; otherwise to the
     * current user */
    bool has_user;
    uid_t user; /* otherwise by the current user */
    gid_t group;
} ClusterSpec;

/* Creates key and certificate of the API. */
MUST_CHECK bool serving_issue(const Directory *server, const Credential *ca,
                              const ServerSettings *settings, int64_t now_ms, Error *err);

/* Creates a cluster. The settings are written last: leftovers of a killed attempt are not a
 * cluster, and the next attempt creates everything again. Fails with ERROR_CONFLICT if there is
 * one, ERROR_INVALID for invalid names, and on file errors. Sets `*ca` to the pin of the CA. */
MUST_CHECK bool cluster_create(const ClusterSpec *spec, Pin *ca, Error *err);
