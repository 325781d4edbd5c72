/* The settings of a server, written by `eden init`: server.json in its directory. Pure. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/identity.h"
#include "net/address.h"
#include "service/node_budget.h"

enum {
    PORT_RPC = 1337,
    PORT_API = 1338,
    PORT_ETCD = 2379,
    SERVER_SETTINGS_MAX = 64 << 10, /* maximum size in bytes */
    STORE_ID_MAX = 63,
};

#define SERVER_SETTINGS_FILE "server.json"

typedef struct ServerSettings {
    char cluster[CLUSTER_NAME_MAX + 1];
    char node[NODE_NAME_MAX + 1];
    Str rpc, api;     /* addresses to listen on: "0.0.0.0:1337" */
    Str health;       /* without TLS, for health checks: "127.0.0.1:8080"; empty: none */
    const Str *names; /* names and IP addresses of this server; the first is announced */
    uint32_t name_count;
    /* changes when a backup is restored, because revisions differ */
    char store_id[STORE_ID_MAX + 1];
    /* Endpoints of an etcd cluster that holds the store: "host:2379"; if there are none, the store
     * is a file of this server. The paths are those of etcd's CA, and of this server's client
     * certificate and key. */
    const Str *etcd;
    uint32_t etcd_count;
    Str etcd_ca, etcd_certificate, etcd_key;
    /* Where this server's own member of the datastore listens: an IP address. Then the other
     * settings of etcd follow from it, and are not in the file. Empty: it has none. */
    Str etcd_address;
    uint32_t per_address_max; /* connections per address; 0: default */
    /* Lifetimes of node certificates, including this one's, and of the API certificate; 0: the CA's
     * default. */
    int64_t node_lifetime_ms, serving_lifetime_ms;
    /* Defaults where the file has none. */
    NodeLimits node_limits; /* for each node */
    RateLimit uploads;      /* for each remote caller of the API: bytes of blobs */
} ServerSettings;

/* The names for the API certificate: those of the settings, and the machine's own name. */
typedef struct ServingNames {
    const Str *items;
    uint32_t count;
} ServingNames;
ServingNames server_settings_serving_names(Arena *arena, const ServerSettings *settings);

/* Whether the store is in etcd. */
static inline bool server_settings_use_etcd(const ServerSettings *settings)
{
    return settings->etcd_count > 0;
}

/* Whether that etcd consists of members that the servers themselves run. */
static inline bool server_settings_own_etcd(const ServerSettings *settings)
{
    return settings->etcd_address.len > 0;
}
/* Sets `etcd` accordingly. */
void server_settings_use_own_etcd(Arena *arena, ServerSettings *settings);

/* Parses an endpoint of etcd: an address, optionally with "https://" before it, as etcdctl accepts
 * it. */
MUST_CHECK bool etcd_endpoint_parse(Str text, Address *out, Error *err);

/* The names with this port, as announced to others. `out` must have space for name_count. */
void server_settings_addresses(Arena *arena, const ServerSettings *settings, uint16_t port,
                               Str *out);

/* "eden.server/1". */
void server_settings_print(const ServerSettings *settings, Buf *out);
/* Strings are allocated in the arena. Fails with ERROR_INVALID, naming what is wrong. */
MUST_CHECK bool server_settings_read(Arena *arena, Str text, ServerSettings *out, Error *err);
