/* The API: dispatches requests of an HTTP server to the handlers of their routes. Loop thread.
 *
 * One Api may serve several HTTP servers: permissions depend on the caller (api/routes.h), not
 * on the listener. */
#pragma once

#include "access/credentials.h"
#include "api/metrics.h"
#include "audit/audit.h"
#include "cluster/cluster_store.h"
#include "membership/admission.h"
#include "membership/authority.h"
#include "membership/own_certificates.h"
#include "membership/roster.h"
#include "membership/ssh_back.h"
#include "net/http_server.h"
#include "net/plain_server.h"
#include "rpc/dispatch.h"
#include "rpc/session_ping.h"

typedef struct Api Api;

enum {
    API_CALLS_MAX = 1024,          /* under way at once; who comes then is told to come later */
    API_STREAMS_MAX = 4096,        /* the same of watches and other answers in pieces */
    API_CALLER_STREAMS_MAX = 1024, /* of those by one token or certificate, with its sessions */
    API_PUBLIC_STREAMS_MAX = 256,  /* the same of what anybody may have, such as pages */
};

typedef struct ApiSettings {
    ClusterStore at;
    Str cluster;           /* its name */
    Str node;              /* the one that this server is */
    Str store_id;          /* another one after a backup was restored */
    const char *directory; /* of the server's own files; NULL: none */
    Admission *admission;  /* NULL: nobody can join at present */
    const CaSet *cas;      /* what stands there may change; NULL: nothing is told of them */
    const Str *names;      /* under which others reach this API: "eden1.example.org:1338" */
    uint32_t name_count;
    SshBack *ssh_back;    /* NULL: nobody is asked over SSH */
    Authority *authority; /* NULL, as the next two: nothing is told of certificates */
    OwnCertificates *own;
    const CertifySettings *certify;
    Metrics *metrics; /* requests are counted there; NULL: nowhere */
    /* Adds what the server can tell of itself. NULL: nothing. */
    void (*gather)(void *context, MetricsText *out);
    const bool *stops; /* the server does, which may change; NULL: never */
    /* Asks a node whether it answers, as session_service_ping does; NULL: nobody can. */
    void (*ping)(void *context, Str node, SessionPinged *done, void *done_context);
    uint32_t calls_max, streams_max; /* 0: API_CALLS_MAX, API_STREAMS_MAX */
    Credentials *credentials;        /* NULL: nobody but local operators */
    Audit *audit;                    /* NULL: nothing is recorded */
    DispatchDescribe *describe;      /* asked for every request */
    void *context;
} ApiSettings;

/* The settings' memory is borrowed until the store is closed. */
Api *api_new(const ApiSettings *settings);
/* After the HTTP servers and the admission, before the store. What requests have begun is still
 * done. NULL is allowed. */
void api_free(Api *api);
DEFINE_AUTO(Api, api_free)

/* Ends answers in pieces whose callers may no longer have them: credentials or roles have changed, or
 * time has passed. */
void api_recheck(Api *api);

/* The CAs, or certificates of this server, are others: whoever watches them is told. */
void api_certificates_changed(Api *api);

/* What a port without TLS answers of this server: nothing that is not for anybody on the API too. The
 * context is the Api. */
extern const PlainRoute api_health_routes[];

/* Sets what a server that is to be does with requests, and how much of them it reads. */
void api_serve(Api *api, HttpServerOptions *options);
