/* Creates a cluster on this machine: its CA, its store, its first node. */
#pragma once

#include <sys/types.h>

#include "membership/node_state.h"
#include "pki/credential.h"
#include "pki/p256_public.h"
#include "server/server_settings.h"

/* Below the state directory. */
#define SERVER_DIRECTORY "server"
#define SERVER_CA        "ca.pem"      /* key and certificate of the CA */
#define SERVER_SERVING   "serving.pem" /* those of the API */
#define SERVER_NODE      "node.pem"    /* the server's own, of the node that it is on */
#define SERVER_STORE     "store"
#define SERVER_SOCKET    "api.sock" /* in SERVER_DIRECTORY, but below the run directory */
#define SERVER_FAILURE   "failure"  /* beside it: why the last one ended, in a line */

typedef struct Founding {
    const char *state_dir;
    ServerSettings settings; /* the id of the store is made here */
    int64_t now_ms;
    bool has_user; /* the server's directory is to belong to these, which only root can do; */
    uid_t user;    /* else to who founds it */
    gid_t group;
} Founding;

/* Key and certificate of the API, by the CA. */
MUST_CHECK bool serving_make(const Directory *server, const Credential *ca,
                             const ServerSettings *settings, int64_t now_ms, Error *err);

/* The settings are written last: what was left by one that was killed is no cluster, and founding it
 * again makes all of it anew. Fails with ERROR_CONFLICT when there is one, ERROR_INVALID for names
 * that cannot be, and as the file system does. `*ca` names the CA. */
MUST_CHECK bool cluster_found(const Founding *founding, Pin *ca, Error *err);
