/* The runs of the cluster, parsed once when their records change, and what their targets reported.
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
    uint32_t unreported;                 /* number of those */
    uint32_t order_count;                /* targets with an order */
    int64_t bytes;                       /* of its record */
    int64_t order_bytes;                 /* of one of its orders */
} RunEntry;

FleetRuns *fleet_runs_new(State *state, Str prefix);
void fleet_runs_free(FleetRuns *runs); /* before the state; NULL is allowed */
DEFINE_AUTO(FleetRuns, fleet_runs_free)

/* Whether these are all runs of the cluster, as of now. */
bool fleet_runs_are_current(const FleetRuns *runs);
/* NULL if not found. Entries are valid until the next iteration of the loop. */
const RunEntry *fleet_runs_find(const FleetRuns *runs, Str id);
/* By a unique prefix of its ID. Fails with ERROR_NOT_FOUND, or ERROR_CONFLICT if it is ambiguous. */
MUST_CHECK bool fleet_runs_resolve(const FleetRuns *runs, Str prefix, const RunEntry **out,
                                   Error *err);
uint32_t fleet_runs_count(const FleetRuns *runs);
/* From the newest (0) to the oldest; sorted by ID, which starts with the time. */
const RunEntry *fleet_runs_at(const FleetRuns *runs, uint32_t index);
/* The index of the first one that is older than `id`; the count if there is none. */
uint32_t fleet_runs_after(const FleetRuns *runs, Str id);

/* Adds the names of the versions that runs still need: those of runs that have not ended, or of which
 * nodes have orders. In the arena of the map. `context` is FleetRuns, for VersionsSettings. */
void fleet_runs_add_versions(void *context, StrMap *out);

/* How many runs, targets, and bytes of records and orders are kept; the oldest that have ended are
 * deleted. Servers keep all of them in memory. */
enum {
    RUNS_KEPT = 1000,
    RUN_TARGETS_KEPT = 200 * 1000,
    RUN_BYTES_KEPT = 32 << 20,
    RUNS_MAX = 2 * RUNS_KEPT, /* beyond these, none can be created */
    RUN_BYTES_MAX = 2 * RUN_BYTES_KEPT,
    RUNS_OF_ONE_MAX = RUNS_MAX / 4, /* of one caller, of those that have not ended */
    RUN_BYTES_OF_ONE_MAX = RUN_BYTES_MAX / 2,
};

/* The oldest run that has ended, if there are too many; otherwise NULL. The newest one stays. */
const RunEntry *fleet_runs_superfluous(const FleetRuns *runs);
/* Whether there is room for one more run. Fails with ERROR_LIMIT. */
MUST_CHECK bool fleet_runs_allow(const FleetRuns *runs, const FleetRun *run, Error *err);
/* The index of a target, or false. */
bool run_entry_target(const RunEntry *entry, Str node, uint32_t *out);
