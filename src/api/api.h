/* The API: dispatches requests of an HTTP server to the handlers of their routes. Loop thread.
 *
 * One Api may serve several HTTP servers: permissions depend on the caller (api/routes.h), not
 * on the listener. */
#pragma once

#include "access/credentials.h"
#include "api/metrics.h"
#include "audit/audit.h"
#include "base/rate.h"
#include "cluster/cluster_store.h"
#include "fleet/run_logs.h"
#include "fleet/runs.h"
#include "membership/admission.h"
#include "membership/authority.h"
#include "membership/own_certificates.h"
#include "membership/roster.h"
#include "membership/ssh_verifier.h"
#include "net/http_server.h"
#include "net/plain_server.h"
#include "rpc/dispatch.h"
#include "rpc/session_ping.h"
#include "source/source_vault.h"
#include "source/versions.h"

typedef struct Api Api;

enum {
    API_CALLS_MAX = 1024,   /* concurrent requests; more are rejected with 429 */
    API_STREAMS_MAX = 4096, /* concurrent watches and other streams */
    /* concurrent streams per token or certificate, including its sessions */
    API_CALLER_STREAMS_MAX = 1024,
    API_PUBLIC_STREAMS_MAX = 256, /* concurrent streams of public content, such as pages */
};

typedef struct ApiSettings {
    ClusterStore cluster_store;
    Str cluster;           /* name of the cluster */
    Str node;              /* name of this server's node */
    bool is_store_shared;  /* other servers can use the store, too */
    Str store_id;          /* id of the store; changes when a backup is restored */
    const char *directory; /* directory of the server's files; may be NULL */
    Admission *admission;  /* NULL: joining is not available */
    const FleetRuns *runs; /* NULL: runs are not available */
    RunLogs *run_logs;     /* NULL: neither are their logs */
    const CaSet *cas;      /* its content may change; may be NULL */
    const Str *names;      /* addresses of this API: "eden1.example.org:1338" */
    uint32_t name_count;
    SshVerifier *ssh_verifier; /* NULL: SSH is not used */
    Authority *authority;      /* these three may be NULL: certificates are not reported */
    OwnCertificates *own;
    const CertifySettings *certify;
    Versions *versions; /* NULL: versions of the site are not available */
    RateLimit uploads;  /* bytes of blobs that one remote caller may send */
    SourceVault *vault; /* stores the secrets of sources; NULL: sources cannot have secrets */
    Metrics *metrics;   /* counts requests; may be NULL */
    /* Adds metrics of the server. May be NULL. */
    void (*gather)(void *context, MetricsText *out);
    const bool *is_stopping; /* set while the server is stopping; may be NULL */
    /* Pings a node, like session_service_ping(). May be NULL. */
    void (*ping)(void *context, Str node, SessionPinged *done, void *done_context);
    uint32_t calls_max, streams_max; /* 0: API_CALLS_MAX, API_STREAMS_MAX */
    Credentials *credentials;        /* NULL: only local operators are accepted */
    Audit *audit;                    /* NULL: nothing is recorded */
    DispatchDescribe *describe;      /* called for every request */
    void *context;
} ApiSettings;

/* `settings` is borrowed until the store is closed. */
Api *api_new(const ApiSettings *settings);
/* Call after freeing the HTTP servers and the admission, and before closing the store. Changes in
 * progress still complete. NULL is allowed. */
void api_free(Api *api);
DEFINE_AUTO(Api, api_free)

/* Ends streams whose callers are no longer authorized: after changes to credentials or roles, and
 * periodically for expiry. */
void api_recheck(Api *api);

/* Must be called when the CAs or the server's certificates have changed: notifies watches. */
void api_certificates_changed(Api *api);

/* Public health endpoints, also for a port without TLS. The context is the Api. */
extern const PlainRoute api_health_routes[];

/* Sets the handlers and limits of an HTTP server before it is created. */
void api_serve(Api *api, HttpServerOptions *options);
