/* The settings of a server, written by `eden init`: server.json in its directory. Pure. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/identity.h"
#include "service/node_budget.h"

enum {
    PORT_RPC = 1337,
    PORT_API = 1338,
    SERVER_SETTINGS_MAX = 64 << 10, /* bytes */
    STORE_ID_MAX = 63,
};

#define SERVER_SETTINGS_FILE "server.json"

typedef struct ServerSettings {
    char cluster[CLUSTER_NAME_MAX + 1];
    char node[NODE_NAME_MAX + 1];
    Str rpc, api; /* where it listens: "0.0.0.0:1337" */
    Str health;   /* the same without TLS, for health checks: "127.0.0.1:8080"; empty: nowhere */
    const Str
        *names; /* under which it is reached: names and IP addresses; others are told the first */
    uint32_t name_count;
    char store_id[STORE_ID_MAX + 1]; /* another one after a backup was restored: revisions differ */
    uint32_t per_address_max;        /* connections from one address; 0: as usual */
    /* Of certificates for nodes, this one included, and of that of the API; 0: as the CA has it. */
    int64_t node_life_ms, serving_life_ms;
    NodeLimits node_limits; /* of what each node sends; as usual where the file says nothing */
} ServerSettings;

/* The names for the certificate of the API: those, and what this machine calls itself. */
typedef struct ServingNames {
    const Str *items;
    uint32_t count;
} ServingNames;
ServingNames server_settings_serving_names(Arena *arena, const ServerSettings *settings);

/* The names with this port: where others reach it. `out` has room for name_count. */
void server_settings_reach(Arena *arena, const ServerSettings *settings, uint16_t port, Str *out);

/* "eden.server/1". */
void server_settings_print(const ServerSettings *settings, Buf *out);
/* Texts are the arena's. Fails with ERROR_INVALID, naming what is wrong. */
MUST_CHECK bool server_settings_read(Arena *arena, Str text, ServerSettings *out, Error *err);
