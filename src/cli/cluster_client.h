/* HTTP client of commands: sends one blocking request at a time and reads JSON. Uses the Unix
 * socket on the server's own machine and HTTPS elsewhere; cluster_endpoint.h decides which. */
#pragma once

#include "cli/cluster_endpoint.h"
#include "cli/inputs.h"
#include "net/http_client.h"

/* Directory options that cluster commands share. */
#define RUN_DIR_OPTION                                                                         \
    {                                                                                          \
        .name = "run-dir", .argument = "DIR", .word = WORD_DIRECTORY, .fallback = "/run/eden", \
        .help = "directory of eden's sockets"                                                  \
    }
#define STATE_DIR_DEFAULT "/var/lib/eden" /* same as in the systemd unit */
#define STATE_DIR_OPTION                                                         \
    {                                                                            \
        .name = "state-dir", .argument = "DIR", .word = WORD_DIRECTORY,          \
        .fallback = STATE_DIR_DEFAULT, .help = "state directory of this machine" \
    }
#define CONTEXT_OPTION                                                                            \
    {                                                                                             \
        .name = "context", .argument = "NAME", .word = WORD_CONTEXT,                              \
        .help = "cluster to use, from 'eden context list'; 'local' is the server on this machine" \
    }
/* Options of every command that calls the server. */
#define CLUSTER_OPTIONS CLUSTER_OPTIONS_WITH("timeout")
/* The same for a command whose --timeout has a different meaning: `response` is
 * "response-timeout". */
#define CLUSTER_OPTIONS_WITH(response)                    \
    RUN_DIR_OPTION, STATE_DIR_OPTION,                     \
        { .name = (response),                             \
          .argument = "TIME",                             \
          .fallback = "30s",                              \
          .help = "how long to wait for a response" },    \
        CONTEXT_OPTION,                                   \
    {                                                     \
        .name = "reason", .argument = "TEXT",             \
        .help = "reason for the change, recorded in the " \
                "audit log"                               \
    }

enum {
    CLUSTER_RESPONSE_MAX = 16 << 20 /* default size limit of a response, in bytes */
};

typedef struct ClusterRequest {
    const char *method;
    Str target;               /* "/v1/nodes/web1"; see cluster_target() */
    Str body;                 /* JSON, see cluster_body(); may be empty */
    const char *content_type; /* of the body; NULL: application/json */
    const HttpCallField *fields;
    uint32_t field_count;
    uint64_t response_max; /* in bytes; 0: CLUSTER_RESPONSE_MAX */
    int64_t timeout_ms;    /* for the entire request; 0: --timeout */
    const char *socket;    /* name of a socket in the run directory; NULL: the server's socket */
} ClusterRequest;

/* Sends a request and reads the response, a map, into the invocation's arena. Returns EXIT_OK, or
 * reports the failure (as problems for -o json) and returns its exit code: EXIT_NOT_MATCHED if
 * there is no server or it is unavailable, EXIT_DENIED, EXIT_CONFLICT, EXIT_TIMED_OUT, otherwise
 * EXIT_FAILED. */
int cluster_call(Invocation *invocation, const ClusterRequest *request, Value *response);

/* Like cluster_call(), but leaves reporting to the caller. If the server sent an error, `err` has
 * its message and `*response` its body. ERROR_NOT_FOUND may also mean that there is no server: then
 * `*responded` is false. */
MUST_CHECK bool cluster_send(const Invocation *invocation, const ClusterRequest *request,
                             Value *response, bool *responded, Error *err);
int cluster_report_error(Invocation *invocation, const Error *err, bool responded);
int cluster_report_error_at(const Invocation *invocation, const ClusterEndpoint *endpoint,
                            const Error *err, bool responded);
/* A request that failed. */
typedef struct ClusterRefusal {
    bool responded;
    Str target;     /* may be empty */
    Value response; /* error body sent by the server; null if none */
} ClusterRefusal;
int cluster_report_refusal(Invocation *invocation, const ClusterRefusal *refusal, const Error *err);
int cluster_report_refusal_at(const Invocation *invocation, const ClusterEndpoint *endpoint,
                              const ClusterRefusal *refusal, const Error *err);
/* Adds the failure to the problems and returns the exit code, for callers that report several at
 * once. */
int cluster_add_refusal(const Invocation *invocation, const ClusterRefusal *refusal,
                        const Error *err, Problems *problems);
/* Reports an error about the user's contexts, without the hint to become root. Returns the exit
 * code. */
int cluster_fail(const Invocation *invocation, const char *code, const Error *err);

/* --- Streaming ------------------------------------------------------------------------------- */

typedef struct ClusterStreamHandler {
    bool (*on_chunk)(void *context, Str bytes); /* returns false to stop */
    void *context;
    int64_t
        /* maximum time between chunks; `timeout_ms` limits the wait for the first byte */
        idle_timeout_ms;
    void (*on_head)(void *context, const Http1Head *head); /* called once, first; may be NULL */
    void (*on_tick)(
        void *context); /* called every `tick_ms`, even while no data arrives; may be NULL */
    int64_t tick_ms;
} ClusterStreamHandler;

/* Streams a response through `handler` and blocks until it is complete; a slow callback slows the
 * server down. Returns true when the response is complete or the callback stopped it. ERROR_DENIED
 * with `refusal->responded` set: the caller is not authenticated or not authorized. */
MUST_CHECK bool cluster_stream(const Invocation *invocation, const ClusterRequest *request,
                               const ClusterStreamHandler *handler, ClusterRefusal *refusal,
                               Error *err);

/* Like cluster_stream(), for a server that was selected earlier. */
MUST_CHECK bool cluster_stream_at(const Invocation *invocation, const ClusterEndpoint *endpoint,
                                  const ClusterRequest *request,
                                  const ClusterStreamHandler *handler, ClusterRefusal *refusal,
                                  Error *err);

/* A response with any status; the body is empty if it was streamed. */
typedef struct ClusterResponse {
    int status;
    Str body;
} ClusterResponse;
MUST_CHECK bool cluster_exchange(const Invocation *invocation, const ClusterRequest *request,
                                 const ClusterStreamHandler *handler, ClusterResponse *out,
                                 Error *err);
/* Like cluster_exchange(), but uses `endpoint` instead of the server that the options select. */
MUST_CHECK bool cluster_exchange_at(const Invocation *invocation, const ClusterEndpoint *endpoint,
                                    const ClusterRequest *request,
                                    const ClusterStreamHandler *handler, ClusterResponse *out,
                                    Error *err);
/* Parses the body of a response, which must be a map. An error from an eden server is a map too;
 * null if a proxy or another program responded instead. */
MUST_CHECK bool cluster_response_read(Arena *arena, const ClusterResponse *received, Value *out,
                                      Error *err);
/* Returns the error kind for a status sent by an eden server; ERROR_NONE below 300. */
ErrorKind cluster_status_kind(int status);
/* The same for a response that may come from a proxy or another program. */
ErrorKind cluster_response_kind(Arena *arena, const ClusterResponse *received);

/* --- Building requests ----------------------------------------------------------------------- */

/* Appends `part`, percent-encoded, to `prefix`: "/v1/nodes/" and "web1", "/v1/store?key=" and "/a
 * b". */
Str cluster_target(Arena *arena, const char *prefix, Str part);
/* Also appends `suffix`, such as "/approve" or "&limit=500", unchanged. */
Str cluster_target_with(Arena *arena, const char *prefix, Str part, const char *suffix);
/* Prints a value as JSON. */
Str cluster_body(Arena *arena, Value value);
