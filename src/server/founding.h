/* Founding a cluster on this machine: its CA, its store, its first node. */
#pragma once

#include "cluster/node_state.h"
#include "pki/p256_public.h"
#include "server/server_settings.h"

/* Below the state directory. */
#define SERVER_DIRECTORY  "server"
#define SERVER_CA         "ca.pem"      /* key and certificate of the CA */
#define SERVER_SERVING    "serving.pem" /* those of the API */
#define SERVER_STORE      "store"
#define STORE_KEYS_PREFIX STR("/eden")

typedef struct Founding {
    const char *state_dir;
    ServerSettings settings;
    int64_t now_ms;
} Founding;

/* The settings are written last: what was left by one that was killed is no cluster, and founding it
 * again makes all of it anew. Fails with ERROR_CONFLICT when there is one, ERROR_INVALID for names
 * that cannot be, and as the file system does. `*ca` names the CA. */
MUST_CHECK bool cluster_found(const Founding *founding, Pin *ca, Error *err);
