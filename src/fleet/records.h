/* Records of runs across nodes. A run is created with its targets; the leader writes an order for
 * each of them; a node executes its orders one after another, oldest first, and reports a result. A
 * final result deletes the order in the same transaction. Pure. */
#pragma once

#include "base/buf.h"
#include "base/enum_names.h"
#include "base/error.h"
#include "lang/value.h"

/* --- Orders: what one node is to do; "eden.order/1" under orders/<node>/<run> ---------------- */

enum {
    RUN_ID_MAX = 64,            /* bytes */
    ORDER_JOBS_MAX = 100,       /* maximum number of jobs, and of definitions */
    ORDER_COMMAND_MAX = 200,    /* maximum number of arguments */
    ORDER_TEXT_MAX = 200 << 10, /* maximum size of an order as JSON */
    FLEET_REASON_MAX = 500,     /* bytes */
    MANIFEST_ID_TEXT = 64,      /* a SHA-256 in hexadecimal digits */
    VERSION_NAME_MAX = 63,      /* bytes */
};

typedef enum RunKind {
    RUN_KIND_APPLY,
    RUN_KIND_PLAN, /* changes nothing */
    RUN_KIND_EXEC, /* one command instead of a site */
} RunKind;
DECLARE_ENUM_NAMES(RunKind, run_kind)

typedef struct Order {
    char run[RUN_ID_MAX + 1];
    RunKind kind;
    char version[VERSION_NAME_MAX + 1];  /* of the site; empty for RUN_KIND_EXEC */
    char manifest[MANIFEST_ID_TEXT + 1]; /* blob with the list of its files */
    Str *jobs;                           /* jobs to apply; none: the base jobs of the node */
    uint32_t job_count;
    Str mode;     /* order of steps, such as "genius"; empty: default */
    Str *defines; /* as for the option -D */
    uint32_t define_count;
    Str *command; /* program and arguments of RUN_KIND_EXEC */
    uint32_t command_count;
    int64_t timeout_ms; /* time limit of the run on the node; 0: none */
    int64_t created_ms;
    int64_t expires_ms; /* the run is not started after this time; 0: never expires */
    bool is_canceled;
    bool is_urgent;   /* canceled: running steps are stopped at once */
    Str requested_by; /* who requested the run */
    Str reason;
    Value event;   /* the event or list of events that the run reacts to; missing: none */
    Value unknown; /* fields that a newer server wrote */
} Order;

/* Letters, digits, "-", "_" and "."; not starting with ".", because it becomes part of paths. */
MUST_CHECK bool run_id_check(Str id, Error *err);
/* 64 lowercase hexadecimal digits; empty is allowed. */
MUST_CHECK bool manifest_id_check(Str id, Error *err);

void order_print(const Order *order, Buf *out);
/* Strings are in the arena, or point into the text. Fails with ERROR_INVALID. */
MUST_CHECK bool order_read(Arena *arena, Str text, Order *out, Error *err);

/* --- Results: what became of a run on one node; "eden.node-result/1" under runs/<id>/nodes/<node>
 * --
 *
 * A node reports one when it accepts an order, when it starts and when it ends. Details of the
 * steps are in the log of the run. */

/* Stored outcomes. Servers also show "pending" (no result yet) and "silent" (no result, and the
 * node has no session); neither is stored. */
typedef enum NodeOutcome {
    NODE_WAITING, /* not started: `reason` and `since_ms` are set */
    NODE_RUNNING,
    NODE_OK,
    NODE_CHANGED,
    NODE_FAILED,
    NODE_SKIPPED, /* no job of the site selects this node, or the order has expired */
    NODE_CANCELED,
} NodeOutcome;
DECLARE_ENUM_NAMES(NodeOutcome, node_outcome)

enum {
    NODE_OUTCOME_COUNT = NODE_CANCELED + 1,
    NODE_RESULT_MAX = 8 << 10, /* bytes as JSON */
    NODE_ERROR_MAX = 1000,     /* bytes */
    NODE_DIGEST_TEXT = 16,
};

/* Steps by result, as in "eden.run/1". */
typedef struct StepCounts {
    uint32_t ok, changed, failed, skipped, blocked, waiting, unknown;
} StepCounts;

typedef struct NodeResult {
    NodeOutcome outcome;
    Str reason; /* why it is waiting, was skipped, or was canceled */
    StepCounts counts;
    Str step;         /* the first step that failed */
    Str code, error;  /* of that failure: "E0601", and its message in one line */
    int64_t since_ms; /* when this outcome was reported */
    int64_t started_ms, ended_ms;
    uint32_t attempts; /* number of starts of the runner; more than 1: it was interrupted */
    uint64_t logged;   /* number of log events */
    char digest[NODE_DIGEST_TEXT + 1]; /* equal for equal changes; empty: none */
    Value unknown;
} NodeResult;

bool node_outcome_is_final(NodeOutcome outcome);
void node_result_print(const NodeResult *result, Buf *out);
/* Strings are in the arena, or point into the text. Fails with ERROR_INVALID. */
MUST_CHECK bool node_result_read(Arena *arena, Str text, NodeResult *out, Error *err);

/* --- Runs: "eden.fleet-run/1" under runs/<id> ----------------------------------------------------
 *
 * The targets do not change after the run is created. It ends when each of them has a final result
 * or is silent. */

typedef enum FleetRunState {
    RUN_PENDING, /* orders are being written */
    RUN_RUNNING,
    RUN_ENDED,
} FleetRunState;
DECLARE_ENUM_NAMES(FleetRunState, fleet_run_state)

typedef enum RunCause {
    RUN_BY_CALLER,  /* a caller of the API */
    RUN_BY_VERSION, /* a version became current; silent nodes apply it when they reconnect */
} RunCause;
DECLARE_ENUM_NAMES(RunCause, run_cause)

enum {
    FLEET_TARGETS_MAX = 10000,
    FLEET_RUN_MAX = 1 << 20, /* bytes as JSON */
};

typedef struct FleetRun {
    char id[RUN_ID_MAX + 1];
    RunKind kind;
    RunCause cause;
    FleetRunState state;
    Str requested_by, reason, selector;
    Str *targets; /* sorted */
    uint32_t target_count;
    char version[VERSION_NAME_MAX + 1];
    char manifest[MANIFEST_ID_TEXT + 1];
    Str *jobs;
    uint32_t job_count;
    Str mode;
    Str *defines;
    uint32_t define_count;
    Str *command;
    uint32_t command_count;
    char retry_of[RUN_ID_MAX + 1]; /* the run whose failed targets this one retries */
    int64_t timeout_ms;
    int64_t created_ms, ended_ms;
    bool is_canceled, is_urgent; /* as in Order */
    Value event; /* the event or list of events that it reacts to; missing or null: none */
    Value unknown;
} FleetRun;

/* Returns the order for one target. Borrows strings of the run. */
Order fleet_run_order(const FleetRun *run);

void fleet_run_print(const FleetRun *run, Buf *out);
/* Strings are in the arena, or point into the text. Fails with ERROR_INVALID. */
MUST_CHECK bool fleet_run_read(Arena *arena, Str text, FleetRun *out, Error *err);
