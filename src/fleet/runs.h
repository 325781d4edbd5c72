/* The runs of the cluster, parsed once when their records change, and the reports of their targets.
 * A view of the state (cluster/state.h). Loop thread only. */
#pragma once

#include "base/str_map.h"
#include "cluster/state.h"
#include "fleet/records.h"

typedef struct FleetRuns FleetRuns;

/* The known state of a target of a run. */
typedef struct RunTarget {
    bool has_result;
    NodeOutcome outcome;
    int64_t order_revision;   /* 0: it has no order */
    const StateEntry *result; /* its stored record; NULL: none */
} RunTarget;

typedef struct RunEntry {
    Str id;
    FleetRun record;                     /* only the ID if it is unreadable */
    Str error;                           /* why it is unreadable; otherwise empty */
    int64_t revision;                    /* of the record's last change */
    RunTarget *targets;                  /* parallel to record.targets */
    uint32_t counts[NODE_OUTCOME_COUNT]; /* targets by outcome; others have no result */
    uint32_t unreported;                 /* number of targets without a result */
    uint32_t order_count;                /* number of targets with an order */
    int64_t bytes;                       /* size of its record */
    int64_t order_bytes;                 /* size of one of its orders */
} RunEntry;

FleetRuns *fleet_runs_new(State *state, Str prefix);
/* must be called before freeing the state; NULL is allowed */
void fleet_runs_free(FleetRuns *runs);
DEFINE_AUTO(FleetRuns, fleet_runs_free)

/* Whether all current runs of the cluster are included. */
bool fleet_runs_are_current(const FleetRuns *runs);
/* NULL if not found. Entries are valid until the next iteration of the loop. */
const RunEntry *fleet_runs_find(const FleetRuns *runs, Str id);
/* Finds a run by a unique prefix of its ID. Fails with ERROR_NOT_FOUND, or ERROR_CONFLICT if it is
 * ambiguous. */
MUST_CHECK bool fleet_runs_resolve(const FleetRuns *runs, Str prefix, const RunEntry **out,
                                   Error *err);
uint32_t fleet_runs_count(const FleetRuns *runs);
/* Runs are sorted by ID, which starts with the time; index 0 is the newest. */
const RunEntry *fleet_runs_at(const FleetRuns *runs, uint32_t index);
/* The index of the first run that is older than `id`; the count if there is none. */
uint32_t fleet_runs_after(const FleetRuns *runs, Str id);

/* Adds the names of the versions that runs still need: those of runs that have not ended, or for
 * which nodes have orders. Allocated in the arena of the map. `context` is a FleetRuns, as for
 * VersionsSettings. */
void fleet_runs_add_versions(void *context, StrMap *out);

/* How many runs, targets, and bytes of records and orders are retained; beyond that, the oldest
 * ended runs are deleted. Servers hold all of them in memory. */
enum {
    RUNS_RETAINED = 1000,
    RUN_TARGETS_RETAINED = 200 * 1000,
    RUN_BYTES_RETAINED = 32 << 20,
    RUNS_MAX = 2 * RUNS_RETAINED, /* maximum number, including runs that have not ended */
    RUN_BYTES_MAX = 2 * RUN_BYTES_RETAINED,
    RUNS_PER_CALLER_MAX = RUNS_MAX / 4, /* maximum number of a caller's runs that have not ended */
    RUN_BYTES_PER_CALLER_MAX = RUN_BYTES_MAX / 2,
};

/* The oldest run that has ended, if there are too many; otherwise NULL. The newest run is never
 * returned. */
const RunEntry *fleet_runs_excess(const FleetRuns *runs);
/* Whether another run may be created. Fails with ERROR_LIMIT. */
MUST_CHECK bool fleet_runs_allow(const FleetRuns *runs, const FleetRun *run, Error *err);
/* Finds the index of a target; returns false if there is none. */
bool run_entry_target(const RunEntry *entry, Str node, uint32_t *out);
