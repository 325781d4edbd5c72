/* How commands speak with a server: HTTP and JSON, one request after the other, each waited for. On
 * the server's own machine by its Unix socket, from elsewhere by HTTPS, as a context says
 * (cluster_end.h). */
#pragma once

#include "cli/cluster_end.h"
#include "cli/inputs.h"
#include "net/http_client.h"

/* The directories that commands of a cluster share, as rows of their options. */
#define RUN_DIR_OPTION                                                                         \
    {                                                                                          \
        .name = "run-dir", .argument = "DIR", .word = WORD_DIRECTORY, .fallback = "/run/eden", \
        .help = "where the daemons listen"                                                     \
    }
#define STATE_DIR_DEFAULT "/var/lib/eden" /* as its unit has it */
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
/* Of every command that calls the server. */
#define CLUSTER_OPTIONS                                                                          \
    RUN_DIR_OPTION, STATE_DIR_OPTION,                                                            \
        { .name = "timeout",                                                                     \
          .argument = "TIME",                                                                    \
          .fallback = "30s",                                                                     \
          .help = "how long to wait for an answer" },                                            \
        CONTEXT_OPTION,                                                                          \
    {                                                                                            \
        .name = "reason", .argument = "TEXT", .help = "reason for the change, for the audit log" \
    }

enum {
    CLUSTER_ANSWER_MAX = 16 << 20 /* bytes, unless a request says otherwise */
};

typedef struct ClusterRequest {
    const char *method;
    Str target;               /* "/v1/nodes/web1", see cluster_target */
    Str body;                 /* JSON, see cluster_body; empty: none */
    const char *content_type; /* of the body; NULL: application/json */
    const HttpCallField *fields;
    uint32_t field_count;
    uint64_t answer_max; /* bytes; 0: CLUSTER_ANSWER_MAX */
    int64_t timeout_ms;  /* for all of it; 0: as --timeout says */
    const char *socket;  /* below the run directory; NULL: that of the server */
} ClusterRequest;

/* EXIT_OK and what the server answered, a map, in the invocation's arena; else what is wrong was told, to
 * who asked for JSON as problems, and it is the exit code: EXIT_NOT_MATCHED when there is no server
 * or it is not able at present, EXIT_DENIED, EXIT_CONFLICT, EXIT_TIMED_OUT, else EXIT_FAILED. */
int cluster_call(Invocation *invocation, const ClusterRequest *request, Value *answer);

/* The same in two halves, for those who can do something about it. The text is the server's, when
 * it has said something, and `*answer` is all of what it has said then. ERROR_NOT_FOUND may mean that
 * there is no server; `*asked` tells. */
MUST_CHECK bool cluster_ask(const Invocation *invocation, const ClusterRequest *request,
                            Value *answer, bool *asked, Error *err);
int cluster_tell(Invocation *invocation, const Error *err, bool asked);
int cluster_tell_at(const Invocation *invocation, const ClusterEnd *end, const Error *err,
                    bool asked);
/* The same with all that is known. */
typedef struct ClusterRefusal {
    bool asked;
    Str target;   /* of the request; may be empty */
    Value answer; /* what the server has said, as JSON; else null */
} ClusterRefusal;
int cluster_tell_refusal(Invocation *invocation, const ClusterRefusal *refusal, const Error *err);
int cluster_tell_refusal_at(const Invocation *invocation, const ClusterEnd *end,
                            const ClusterRefusal *refusal, const Error *err);
/* The same as problems, for who tells them together with others; the exit code. */
int cluster_add_refusal(const Invocation *invocation, const ClusterRefusal *refusal,
                        const Error *err, Problems *problems);
/* For what has to do with the user's own contexts: the rights of root would not help. The exit code. */
int cluster_fail(const Invocation *invocation, const char *code, const Error *err);

/* --- Answers in pieces ----------------------------------------------------------------------- */

typedef struct ClusterPieces {
    bool (*piece)(void *context, Str bytes); /* false: enough, nothing more is wanted */
    void *context;
    int64_t idle_timeout_ms; /* while nothing comes; `timeout_ms` is until the first byte */
    void (*head)(void *context, const Http1Head *head); /* once, before all else; may be NULL */
} ClusterPieces;

/* Waits for all of it; whoever takes pieces makes the server wait meanwhile. True when the answer is
 * whole, or when it was enough. ERROR_DENIED and `*asked`: who asks is not known or not allowed to. */
MUST_CHECK bool cluster_stream(const Invocation *invocation, const ClusterRequest *request,
                               const ClusterPieces *pieces, ClusterRefusal *refusal, Error *err);

/* The same with a server that was chosen before. */
MUST_CHECK bool cluster_stream_at(const Invocation *invocation, const ClusterEnd *end,
                                  const ClusterRequest *request, const ClusterPieces *pieces,
                                  ClusterRefusal *refusal, Error *err);

/* Any answer as it is, also one that refuses; what came in pieces is not in it. False: nobody has
 * answered, as cluster_tell() tells with `asked` false. */
typedef struct ClusterAnswer {
    int status;
    Str body;
} ClusterAnswer;
MUST_CHECK bool cluster_exchange(const Invocation *invocation, const ClusterRequest *request,
                                 const ClusterPieces *pieces, ClusterAnswer *out, Error *err);
/* The same with a server that the command line does not choose. */
MUST_CHECK bool cluster_exchange_at(const Invocation *invocation, const ClusterEnd *end,
                                    const ClusterRequest *request, const ClusterPieces *pieces,
                                    ClusterAnswer *out, Error *err);
/* What the answer says: a map, or why there is none. A refusal is a map, too, where a server has made
 * it; null when something between has answered, as a proxy, whose words are no refusal of the server's. */
MUST_CHECK bool cluster_answer_read(Arena *arena, const ClusterAnswer *got, Value *out, Error *err);
/* What a status means when a server of eden says it: ERROR_NONE below 300. */
ErrorKind cluster_status_kind(int status);
/* The same for whoever has said it. */
ErrorKind cluster_answer_kind(Arena *arena, const ClusterAnswer *got);

/* --- Requests -------------------------------------------------------------------------------- */

/* A target with `part` behind it, encoded: "/v1/nodes/" and "web1", "/v1/store?key=" and "/a b". */
Str cluster_target(Arena *arena, const char *before, Str part);
/* What follows is "/approve" or "&limit=500", or nothing. */
Str cluster_target_with(Arena *arena, const char *before, Str part, const char *behind);
/* A value that the program made as JSON. */
Str cluster_body(Arena *arena, Value value);
