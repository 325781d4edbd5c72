/* The data that `eden doctor` has collected: plain values, filled in by doctor_inspect.h and
 * evaluated by doctor_evaluate.h. */
#pragma once

#include "etcd/client.h"
#include "lang/value.h"
#include "membership/node_state.h"
#include "pki/renewal.h"
#include "server/server_settings.h"

enum {
    DOCTOR_SERVERS_MAX = 4, /* servers to query; each may take a while */
    DOCTOR_CONTEXTS_MAX = 100,
};

/* `err` of kind ERROR_NONE means success, here and below. */
typedef struct DoctorPath {
    Error err;
    unsigned mode;
    bool is_foreign; /* owned by neither root nor the current user */
} DoctorPath;

typedef struct DoctorCertificate {
    Error err;       /* error reading the key or certificate */
    bool is_exposed; /* rejected because others can read the key */
    Certificate certificate;
    RenewalPlan plan;
    Error trust; /* ERROR_NONE if a trusted CA issued it */
} DoctorCertificate;

typedef struct DoctorPort {
    Str address;
    Error err;        /* ERROR_NONE: something is listening */
    bool is_foreign;  /* listener: not an address of this machine */
    bool is_dynamic;  /* listener: port 0, a different one on each start */
    bool is_wildcard; /* listener: on all addresses of the machine */
} DoctorPort;

/* A server that this node knows. */
typedef struct DoctorServer {
    Str node;
    DoctorPort rpc, api;
    bool responded; /* its API responded over TLS and was verified with this node's CAs */
    Error err;      /* why it did not respond */
    int64_t time_ms, local_ms;
} DoctorServer;

/* Response of a daemon. */
typedef struct DoctorResponse {
    bool was_queried;
    Error err;
    Value json; /* valid if `err` is ERROR_NONE */
} DoctorResponse;

/* A cluster that this user is logged in to. */
typedef struct DoctorContext {
    Str name, server;
    bool is_current;           /* commands use it */
    Error err;                 /* of its credentials */
    int64_t ca_expires_ms;     /* 0: unknown */
    int64_t expires_ms;        /* of its token; 0: unknown */
    DoctorResponse session;    /* if used: this user's session on its server */
    int64_t time_ms, local_ms; /* the server's clock and ours at that time; 0: unknown */
} DoctorContext;

typedef struct DoctorView {
    int64_t now_ms;
    bool is_root;
    DoctorPath state;
    int64_t state_size, state_free; /* size and free space of its disk, in bytes; 0: unknown */

    Error contexts_err;
    DoctorContext contexts[DOCTOR_CONTEXTS_MAX];
    uint32_t context_count;

    bool is_node; /* as far as can be determined */
    DoctorPath agent_directory;
    Error node_err; /* of node.json */
    NodeState node;
    DoctorCertificate own;
    Error bundle_err;
    DoctorResponse agent;
    DoctorServer servers[DOCTOR_SERVERS_MAX];
    uint32_t server_count;

    /* The selected server is on another machine, selected by a context or a run directory. Then
     * `nodes`, `tokens`, `pki` and `audit` are those of its cluster. */
    bool queries_remote;

    bool is_server;
    DoctorPath server_directory;
    Error settings_err;
    ServerSettings settings;
    DoctorCertificate ca, server_node, serving;
    DoctorPort rpc, api;
    DoctorPort etcd[ETCD_ENDPOINTS_MAX]; /* endpoints of the store, if it is in etcd */
    uint32_t etcd_count;
    DoctorPort health_port;       /* without TLS; address empty if there is none */
    int64_t disk_size, disk_free; /* in bytes; 0: unknown */
    bool store_checked;           /* checked only if no server is running */
    Error store_err;
    Str revocations_reason; /* why a running server cannot use the revocation list; may be empty */
    Str store_condition; /* condition of the store, such as "damaged"; set if `store_reason` is */
    /* why a running server cannot write; empty if it can or does not report it */
    Str store_reason;
    Str failure; /* error left by a server that has exited; may be empty */
    DoctorResponse health, session, nodes, tokens, pki, audit;
    DoctorResponse metrics; /* `json` is the text of /metrics */
} DoctorView;
