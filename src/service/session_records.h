/* What records of a node become in the store, and how far a node is. Pure.
 *
 *     facts                          facts/<node>
 *     status   CATEGORY/STATE        status/<category>/<state>/<node>; its other states go
 *     status   trust                 trust/<node>; the body is a report of pki/trust_notice.h
 *     result   RUN                   runs/<run>/nodes/<node>
 *     result   RUN/STEP              runs/<run>/steps/<step>/<node>
 *     log      any text              logs/<node>/<slot>
 *
 * Whatever the record says, every key has the name of the node that sent it in it. Bodies are JSON,
 * except of logs, which are any text. Of logs the store keeps the last SESSION_LOG_SLOTS pieces of a
 * node: they go round, so that a node that has much to say takes room from itself only. */
#pragma once

#include "base/enum_names.h"
#include "lang/value.h"
#include "rpc/session_server.h"
#include "store/store.h"

enum {
    SESSION_LOG_SLOTS = 64,             /* of each node */
    SESSION_LOG_MAX = 8 * 1024,         /* bytes of one; a longer one is refused */
    SESSION_LOGS_BYTES = 512 * 1024,    /* of one message, as they are written */
    SESSION_BODIES_BYTES = 1400 * 1024, /* of all others of one message */
    SESSION_WRITES_MAX = 96,            /* operations that one message can become */
};

/* --- How far a node is: "eden.session/1" under sessions/<node> --------------------------------- */

/* Which limit of its budget a node has met last (service/node_budget.h). A newer server may know others. */
#define SESSION_LIMIT_RATE    "rate"    /* its records had to wait */
#define SESSION_LIMIT_RESULTS "results" /* its results were refused */
enum {
    SESSION_LIMIT_MAX = 15 /* bytes */
};

typedef struct SessionMark {
    SessionCursor cursor;
    uint64_t lost;                     /* logs that the node had to drop, ever */
    uint64_t stored;                   /* about so many bytes of its results */
    int64_t limited_ms;                /* when it met a limit last; 0: never */
    char limit[SESSION_LIMIT_MAX + 1]; /* which one; empty: none */
    Value unknown;                     /* what a newer server wrote */
} SessionMark;

Str session_mark_print(Arena *arena, const SessionMark *mark);
/* What is not known is in the arena, or borrowed from the text. Fails with ERROR_INVALID. */
MUST_CHECK bool session_mark_read(Arena *arena, Str text, SessionMark *out, Error *err);

/* --- Records ----------------------------------------------------------------------------------- */

typedef struct SessionSender {
    Str prefix; /* of keys */
    Str node;
    uint64_t epoch;       /* of the sequence numbers */
    int64_t now_ms;       /* since 1970 */
    int64_t results_left; /* bytes of results that it may still store */
} SessionSender;

typedef struct SessionWrites {
    StoreOp ops[SESSION_WRITES_MAX]; /* no key twice */
    uint32_t op_count;
    /* Of those that are not taken; there may be more than have room here. */
    Refusal refusals[SESSION_REFUSALS_MAX];
    uint32_t refusal_count;
    uint32_t unknown_count; /* of records of kinds that are not known, which are not taken either */
    uint64_t lost;          /* what all records told of dropped logs */
    int64_t results_bytes;  /* of results that are taken, with what each costs */
    bool results_refused;   /* some were not, for want of room */
} SessionWrites;

/* A sum of whatever nodes say, which stops at the largest number of JSON. */
uint64_t session_lost_add(uint64_t lost, uint64_t more);

/* For at most SESSION_RECORDS_MAX records. What it points to is in `arena`, in the records, or for
 * good. */
void session_writes_make(Arena *arena, const SessionSender *sender, const Record *records,
                         uint32_t count, SessionWrites *out);
