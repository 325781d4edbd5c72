/* A run of the cluster on this node, as its agent stores it: a directory `runs/<id>` with
 *
 *     order.json       what to do; without variables once there is a result
 *     state.json       its progress ("eden.local-run/1")
 *     events.ndjson    written by the runner (run/run_events.h)
 *     result.json      its result, once that is known
 *     event.json       what the run reacts to
 *     control          named pipe to the runner (run/run_control.h)
 *     output           standard output and error of the runner
 *     exec.yaml        the command of a RUN_KIND_EXEC, as a file with one step
 *     state            the state directory of such a step
 *
 * Loop thread; it blocks while a small file is written. */
#pragma once

#include "agent/run_queue.h"
#include "run/run_events.h"
#include "sys/directory.h"

#define LOCAL_RUNS    "runs" /* in the agent's directory */
#define LOCAL_EVENTS  "events.ndjson"
#define LOCAL_EVENT   "event.json"
#define LOCAL_OUTPUT  "output"
#define LOCAL_COMMAND "exec.yaml"
#define LOCAL_STATE   "state"
#define LOCAL_CONTROL "control"

enum {
    LOCAL_RUNS_MAX = 10000,
    LOCAL_RUNS_RETAINED = 20, /* number of completed runs to retain */
    BOOT_ID_MAX = 63,         /* bytes */
};

DECLARE_ENUM_NAMES(QueuePhase, queue_phase)

typedef struct LocalState {
    QueuePhase phase; /* not QUEUE_ENDED, which is implied by result.json */
    uint32_t attempts, interruptions, signals;
    uint32_t attempts_before; /* number of attempts in the events before the last start */
    int64_t accepted_ms, started_ms, first_started_ms, signaled_ms;
    char boot[BOOT_ID_MAX + 1]; /* ID of the boot of the last start */
    bool is_reported;           /* the result is durable in the outbox */
    Value unknown;
} LocalState;

typedef struct LocalRun {
    Arena arena;
    Order order;
    LocalState state;
    bool has_result;
    NodeResult result; /* strings are in the arena */
} LocalRun;

/* Creates the directory of the run, or replaces its content. Only these two fields of `out` are
 * set. Fails with ERROR_INVALID or ERROR_LIMIT if the order cannot be read, or belongs to another
 * run. */
MUST_CHECK bool local_run_create(const Directory *agent, Str id, Str order, int64_t now_ms,
                                 LocalRun **out, Error *err);
/* Fails with ERROR_NOT_FOUND if there is no such run, or it was not created completely; with
 * ERROR_INVALID if it is damaged. */
MUST_CHECK bool local_run_load(const Directory *agent, Str id, LocalRun **out, Error *err);
void local_run_free(LocalRun *run); /* NULL is allowed */
/* Removes the directory. */
void local_run_remove(const Directory *agent, Str id);
/* Returns the IDs of all runs, in no particular order. `path` is that of the agent's directory. */
MUST_CHECK bool local_runs_list(const char *path, Arena *arena, Str **ids, uint32_t *count,
                                Error *err);
/* The path of a file of the run, allocated in the arena. */
const char *local_run_path(const char *path, const LocalRun *run, Arena *arena, const char *name);

MUST_CHECK bool local_run_open(const Directory *agent, const LocalRun *run, Directory *out,
                               Error *err);
/* Replaces the text of the order, for example with a canceled one. */
MUST_CHECK bool local_run_put_order(const Directory *agent, LocalRun *run, Str order, Error *err);
MUST_CHECK bool local_run_save(const Directory *agent, const LocalRun *run, Error *err);
/* Copies the result, and removes the variables of the order from the disk. */
MUST_CHECK bool local_run_conclude(const Directory *agent, LocalRun *run, const NodeResult *result,
                                   Error *err);
/* Writes LOCAL_COMMAND, for the command of the order. */
MUST_CHECK bool local_run_put_command(const Directory *agent, const LocalRun *run, Error *err);

/* Writes LOCAL_EVENT, if the order has an event. */
MUST_CHECK bool local_run_put_event(const Directory *agent, const LocalRun *run, Error *err);

/* Returns the events up to the first damaged line, allocated in the arena. */
MUST_CHECK bool local_run_events(const Directory *agent, const LocalRun *run, Arena *arena,
                                 Str *out, Error *err);
/* Determines how the events of the current attempt end. */
QueueTail local_run_tail(const LocalRun *run, const RunEventScan *scan);
/* Parses the result in the last event, "end". Fails with ERROR_INVALID. */
MUST_CHECK bool local_run_result(Arena *arena, Str end, NodeResult *out, Error *err);
