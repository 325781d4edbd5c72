/* HTTP client of commands: sends one blocking request at a time and reads JSON. Uses the Unix
 * socket on the server's own machine and HTTPS elsewhere; cluster_end.h decides which. */
#pragma once

#include "cli/cluster_end.h"
#include "cli/inputs.h"
#include "net/http_client.h"

/* Directory options that cluster commands share. */
#define RUN_DIR_OPTION                                                                         \
    {                                                                                          \
        .name = "run-dir", .argument = "DIR", .word = WORD_DIRECTORY, .fallback = "/run/eden", \
        .help = "directory of the sockets of eden's daemons"                                   \
    }
#define STATE_DIR_DEFAULT "/var/lib/eden" /* same as in the systemd unit */
#define STATE_DIR_OPTION                                                         \
    {                                                                            \
        .name = "state-dir", .argument = "DIR", .word = WORD_DIRECTORY,          \
        .fallback = STATE_DIR_DEFAULT, .help = "state directory of this machine" \
    }
#define CONTEXT_OPTION                                                                           \
    {                                                                                            \
        .name = "context", .argument = "NAME", .word = WORD_CONTEXT,                             \
        .help = "use this cluster of 'eden context list'; 'local' is the server on this machine" \
    }
/* Options of every command that calls the server. */
#define CLUSTER_OPTIONS                                                                          \
    RUN_DIR_OPTION, STATE_DIR_OPTION,                                                            \
        { .name = "timeout",                                                                     \
          .argument = "TIME",                                                                    \
          .fallback = "30s",                                                                     \
          .help = "how long to wait for a response" },                                           \
        CONTEXT_OPTION,                                                                          \
    {                                                                                            \
        .name = "reason", .argument = "TEXT", .help = "reason for the change, for the audit log" \
    }

enum {
    CLUSTER_ANSWER_MAX = 16 << 20 /* default limit of a response, in bytes */
};

typedef struct ClusterRequest {
    const char *method;
    Str target;               /* "/v1/nodes/web1"; see cluster_target() */
    Str body;                 /* JSON, see cluster_body(); may be empty */
    const char *content_type; /* of the body; NULL: application/json */
    const HttpCallField *fields;
    uint32_t field_count;
    uint64_t answer_max; /* in bytes; 0: CLUSTER_ANSWER_MAX */
    int64_t timeout_ms;  /* for the entire request; 0: --timeout */
    const char *socket;  /* in the run directory; NULL: the server's */
} ClusterRequest;

/* Sends a request and reads the response, a map, into the invocation's arena. Returns EXIT_OK, or
 * reports the failure (as problems for -o json) and returns its exit code: EXIT_NOT_MATCHED if
 * there is no server or it is unavailable, EXIT_DENIED, EXIT_CONFLICT, EXIT_TIMED_OUT, otherwise
 * EXIT_FAILED. */
int cluster_call(Invocation *invocation, const ClusterRequest *request, Value *answer);

/* Like cluster_call(), but leaves reporting to the caller. If the server sent an error, `err` has
 * its message and `*answer` its body. ERROR_NOT_FOUND may also mean that there is no server;
 * `*asked` tells the two apart. */
MUST_CHECK bool cluster_ask(const Invocation *invocation, const ClusterRequest *request,
                            Value *answer, bool *asked, Error *err);
int cluster_tell(Invocation *invocation, const Error *err, bool asked);
int cluster_tell_at(const Invocation *invocation, const ClusterEnd *end, const Error *err,
                    bool asked);
/* Everything known about a failed request. */
typedef struct ClusterRefusal {
    bool asked;
    Str target;   /* may be empty */
    Value answer; /* error body sent by the server; null if none */
} ClusterRefusal;
int cluster_tell_refusal(Invocation *invocation, const ClusterRefusal *refusal, const Error *err);
int cluster_tell_refusal_at(const Invocation *invocation, const ClusterEnd *end,
                            const ClusterRefusal *refusal, const Error *err);
/* Adds the failure to the problems and returns the exit code, for callers that report several at
 * once. */
int cluster_add_refusal(const Invocation *invocation, const ClusterRefusal *refusal,
                        const Error *err, Problems *problems);
/* Reports an error that concerns the user's own contexts, so without the hint to become root.
 * Returns the exit code. */
int cluster_fail(const Invocation *invocation, const char *code, const Error *err);

/* --- Streaming ------------------------------------------------------------------------------- */

typedef struct ClusterPieces {
    bool (*piece)(void *context, Str bytes); /* returns false to stop */
    void *context;
    int64_t idle_timeout_ms; /* between pieces; `timeout_ms` limits the wait for the first byte */
    void (*head)(void *context, const Http1Head *head); /* called once, first; may be NULL */
} ClusterPieces;

/* Streams a response through `pieces` and blocks until it is complete; a slow callback slows the
 * server down. Returns true when the response is complete or the callback stopped it. ERROR_DENIED
 * with `*asked` set: the caller is not authenticated or not authorized. */
MUST_CHECK bool cluster_stream(const Invocation *invocation, const ClusterRequest *request,
                               const ClusterPieces *pieces, ClusterRefusal *refusal, Error *err);

/* Like cluster_stream(), for a server that was selected earlier. */
MUST_CHECK bool cluster_stream_at(const Invocation *invocation, const ClusterEnd *end,
                                  const ClusterRequest *request, const ClusterPieces *pieces,
                                  ClusterRefusal *refusal, Error *err);

/* A response with any status; without the pieces, if it was streamed. cluster_exchange() fails only
 * if no server responded. */
typedef struct ClusterAnswer {
    int status;
    Str body;
} ClusterAnswer;
MUST_CHECK bool cluster_exchange(const Invocation *invocation, const ClusterRequest *request,
                                 const ClusterPieces *pieces, ClusterAnswer *out, Error *err);
/* Like cluster_exchange(), for a server that the command line does not select. */
MUST_CHECK bool cluster_exchange_at(const Invocation *invocation, const ClusterEnd *end,
                                    const ClusterRequest *request, const ClusterPieces *pieces,
                                    ClusterAnswer *out, Error *err);
/* Parses the body of a response, which must be a map. An error of an eden server is a map too; null
 * if a proxy or another program responded instead. */
MUST_CHECK bool cluster_answer_read(Arena *arena, const ClusterAnswer *got, Value *out, Error *err);
/* The error kind of a status sent by an eden server; ERROR_NONE below 300. */
ErrorKind cluster_status_kind(int status);
/* The same for a response of any origin, such as a proxy. */
ErrorKind cluster_answer_kind(Arena *arena, const ClusterAnswer *got);

/* --- Building requests ----------------------------------------------------------------------- */

/* Appends `part`, percent-encoded, to `before`: "/v1/nodes/" and "web1", "/v1/store?key=" and "/a
 * b". */
Str cluster_target(Arena *arena, const char *before, Str part);
/* Also appends `behind`, such as "/approve" or "&limit=500", unchanged. */
Str cluster_target_with(Arena *arena, const char *before, Str part, const char *behind);
/* Prints a value as JSON. */
Str cluster_body(Arena *arena, Value value);
