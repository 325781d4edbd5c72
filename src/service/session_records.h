/* Maps records of a node to keys of the store, and tracks the node's position. Pure.
 *
 *     facts                          facts/<node>
 *     status   CATEGORY/STATE        status/<category>/<state>/<node>; its other states are deleted
 *     status   trust                 trust/<node>; the body is a report of pki/trust_notice.h
 *     result   RUN                   runs/<run>/nodes/<node>
 *     result   RUN/STEP              runs/<run>/steps/<step>/<node>
 *     log      any text              logs/<node>/<slot>
 *
 * Whatever a record contains, every key includes the name of the node that sent it. Bodies are
 * JSON, except those of logs, which are any text. The store has the last SESSION_LOG_SLOTS log
 * records of a node in a ring, so a node that logs a lot only overwrites its own. */
#pragma once

#include "base/enum_names.h"
#include "lang/value.h"
#include "rpc/session_server.h"
#include "store/store.h"

enum {
    SESSION_LOG_SLOTS = 64,     /* number of log records stored per node */
    SESSION_LOG_MAX = 8 * 1024, /* maximum size of a log record; larger ones are rejected */
    /* maximum size of the log records of one message, as written */
    SESSION_LOGS_BYTES = 512 * 1024,
    SESSION_BODIES_BYTES = 1400 * 1024, /* maximum size of all other records of one message */
    SESSION_WRITES_MAX = 120,           /* maximum number of operations for one message */
};

/* --- Position of a node: "eden.session/1" under sessions/<node> ------------------------------ */

/* The limit of the node's budget that was last reached (service/node_budget.h). A newer server may
 * have others. */
#define SESSION_LIMIT_RATE    "rate"    /* its records were delayed */
#define SESSION_LIMIT_RESULTS "results" /* its results were rejected */
enum {
    SESSION_LIMIT_MAX = 15 /* maximum length in bytes */
};

typedef struct SessionMark {
    SessionCursor cursor;
    uint64_t lost;                     /* total number of log records that the node had to drop */
    uint64_t stored;                   /* approximate size of its results */
    int64_t limited_ms;                /* time when a limit was last reached; 0: never */
    char limit[SESSION_LIMIT_MAX + 1]; /* that limit; empty: none */
    Value unknown;                     /* fields that a newer server wrote */
} SessionMark;

Str session_mark_print(Arena *arena, const SessionMark *mark);
/* Unknown fields are in the arena, or point into the text. Fails with ERROR_INVALID. */
MUST_CHECK bool session_mark_read(Arena *arena, Str text, SessionMark *out, Error *err);

/* --- Records --------------------------------------------------------------------------------- */

typedef struct SessionSender {
    Str prefix; /* prefix of all keys */
    Str node;
    uint64_t epoch;       /* of the sequence numbers */
    int64_t now_ms;       /* Unix time */
    int64_t results_left; /* bytes of results that it may still store */
} SessionSender;

typedef struct SessionWrites {
    StoreOp ops[SESSION_WRITES_MAX]; /* without duplicate keys */
    uint32_t op_count;
    /* Rejected records; there may be more than fit here. */
    RejectedRecord refusals[SESSION_REJECTIONS_MAX];
    uint32_t refusal_count;
    uint32_t unknown_count; /* records of unknown kinds, which are rejected too */
    uint64_t lost;          /* total of dropped logs that the records report */
    int64_t results_bytes;  /* size of accepted results, including overhead */
    bool results_refused;   /* some were rejected for exceeding the quota */
} SessionWrites;

/* Adds, saturating at the largest integer of JSON. */
uint64_t session_lost_add(uint64_t lost, uint64_t more);

/* For at most SESSION_RECORDS_MAX records. Pointers refer to `arena`, to the records, or to static
 * data. */
void session_writes_make(Arena *arena, const SessionSender *sender, const Record *records,
                         uint32_t count, SessionWrites *out);
