/* What `eden doctor` has seen: plain values, gathered by doctor_look, judged by doctor_judge. */
#pragma once

#include "lang/value.h"
#include "membership/node_state.h"
#include "pki/renewal.h"
#include "server/server_settings.h"

enum {
    DOCTOR_SERVERS_MAX = 4, /* that are asked; each may take its time */
    DOCTOR_CONTEXTS_MAX = 100,
};

/* An error of the kind ERROR_NONE: all went well. */
typedef struct DoctorPlace {
    Error err;
    unsigned mode;
    bool is_foreign; /* belongs to another user than root and who runs this */
} DoctorPlace;

typedef struct DoctorCertificate {
    Error err;       /* of key and certificate together */
    bool is_exposed; /* refused, since others can read the key */
    Certificate certificate;
    RenewalPlan plan;
    Error trust; /* whether it leads to the CA */
} DoctorCertificate;

typedef struct DoctorPort {
    Str address;
    Error err;          /* ERROR_NONE: somebody listens */
    bool is_foreign;    /* of ports to listen on: no address of this machine */
    bool is_any;        /* no port in particular: each start takes another one */
    bool is_everywhere; /* of ports to listen on: on all addresses of the machine */
} DoctorPort;

/* A server as this node knows it. */
typedef struct DoctorServer {
    Str node;
    DoctorPort rpc, api;
    bool answered; /* its API, by TLS, with the CAs of this node */
    Error err;     /* else why not */
    int64_t time_ms, own_ms;
} DoctorServer;

/* An answer of a daemon on this machine. */
typedef struct DoctorAnswer {
    bool asked;
    Error err;
    Value json; /* when that is ERROR_NONE */
} DoctorAnswer;

/* A cluster that this user has logged in to. */
typedef struct DoctorContext {
    Str name, server;
    bool is_used;            /* commands ask it */
    Error err;               /* of what it has and names */
    int64_t ca_until_ms;     /* 0: not known */
    int64_t expires_ms;      /* of its token; 0: not known */
    DoctorAnswer session;    /* of the one that is used: who its server takes this user for */
    int64_t time_ms, own_ms; /* the clock of the server, and the one here then; 0: not known */
} DoctorContext;

typedef struct DoctorView {
    int64_t now_ms;
    bool is_root;
    DoctorPlace state;
    int64_t state_size, state_free; /* bytes of its disk; 0: not known */

    Error contexts_err;
    DoctorContext contexts[DOCTOR_CONTEXTS_MAX];
    uint32_t context_count;

    bool is_node; /* as far as can be told */
    DoctorPlace agent_directory;
    Error node_err; /* of node.json */
    NodeState node;
    DoctorCertificate own;
    Error bundle_err;
    DoctorAnswer agent;
    DoctorServer servers[DOCTOR_SERVERS_MAX];
    uint32_t server_count;

    /* A server was asked that need not be on this machine: by a context, or in a run directory. Then
     * `nodes`, `tokens`, `pki` and `audit` are of its cluster. */
    bool asks_elsewhere;

    bool is_server;
    DoctorPlace server_directory;
    Error settings_err;
    ServerSettings settings;
    DoctorCertificate ca, server_node, serving;
    DoctorPort rpc, api;
    DoctorPort health_port;       /* without TLS; its address is empty when there is none */
    int64_t disk_size, disk_free; /* bytes; 0: not known */
    bool store_looked;            /* only while no server runs */
    Error store_err;
    Str revocations_why; /* the list of a server that answers cannot be used; else empty */
    Str store_condition; /* then: "damaged" */
    Str store_why;       /* a server that answers cannot write it; empty: it can, or does not say */
    Str failure; /* what a server that does not answer has left about its end; empty: nothing */
    DoctorAnswer health, session, nodes, tokens, pki, audit;
    DoctorAnswer metrics; /* its `json` is the text of /metrics */
} DoctorView;
