/* Shows the progress of a run across nodes, based on its events: counters for each step, failures,
 * and targets that do not report. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "cli/run_progress.h"
#include "lang/value.h"

enum {
    FLEET_VIEW_TICK_MS = 250,        /* interval at which fleet_view_tick() must be called */
    FLEET_VIEW_HEARTBEAT_MS = 10000, /* interval between lines of a log while nothing happens */
    FLEET_VIEW_NAMES_MAX = 5,        /* maximum number of node names on a line */
    FLEET_VIEW_REPEATS_MAX = 10,     /* maximum number of log lines for the same failure */
    FLEET_VIEW_CELLS_MAX = 32 << 20, /* maximum number of results, which take a byte each */
    FLEET_VIEW_GROUPS_MAX =
        1000, /* maximum number of different failures; others are counted together */
};

/* The result of a step on one node, as counted. */
typedef enum FleetResult {
    FLEET_ABSENT,   /* the node does not have the step */
    FLEET_EXPECTED, /* no result yet */
    FLEET_OK,
    FLEET_CHANGED,
    FLEET_FAILED,
    FLEET_SKIPPED,
    FLEET_BLOCKED,
    FLEET_OTHER,
    FLEET_RESULT_COUNT
} FleetResult;

typedef struct FleetStep {
    Str id;
    uint8_t *results;                    /* FleetResult by node */
    uint32_t counts[FLEET_RESULT_COUNT]; /* number of nodes by result */
    uint32_t running, waiting; /* number of nodes that are executing it, or waiting in it */
    Str waits;                 /* the reason why the last waiting node is waiting */
    uint32_t reported;         /* number of results when it was last printed */
} FleetStep;

typedef struct FleetNode {
    Str name;
    bool has_started, has_ended;
    uint32_t step;  /* index of the current step, plus 1 */
    uint32_t waits; /* index of the step in which it waits, plus 1 */
} FleetNode;

/* Nodes on which a step failed in the same way, or that do not report for the same reason. */
typedef struct FleetGroup {
    Str what;    /* name of the step, or "silent", "waiting", "pending" */
    Str message; /* may be empty */
    Str until;   /* how long the run waits for the last of them; may be empty */
    uint32_t count;
    Str names[FLEET_VIEW_NAMES_MAX]; /* names of the first nodes */
} FleetGroup;

typedef VEC(FleetGroup) FleetGroups;

typedef struct FleetView {
    Arena *arena;
    Stream *stream;
    ProgressMode mode;
    Str run, what; /* `what` is the version of the site; may be empty */
    uint32_t targets;
    VEC(FleetNode) nodes;
    StrMap node_indexes; /* by name; values are plus 1 */
    uint32_t started, ended;
    VEC(FleetStep) steps; /* in the order in which they appeared */
    StrMap indexes;       /* of steps by ID; values are plus 1 */
    /* number of steps on all nodes that have started, and of their results */
    uint64_t expected, results;
    FleetGroups failures;
    FleetGroups missing; /* groups of targets that do not report */
    Arena missing_arena;
    StrMap reported_reasons; /* reasons of missing targets that were already printed */
    uint32_t drawn_lines;    /* number of lines of the block on the terminal */
    int64_t start_us;        /* start of the run */
    int64_t drawn_us, printed_us, event_us;
    bool needs_redraw, is_interrupted;
    bool is_full; /* there are too many steps: of further ones only failures are counted */
} FleetView;

typedef struct FleetViewOptions {
    Stream *stream;
    ProgressMode mode;
    Str run, what;
    uint32_t targets;
    int64_t age_ms; /* time since the start of the run */
} FleetViewOptions;

/* In mode PROGRESS_JSON, prints the first line, which contains the version of the format. */
void fleet_view_init(FleetView *view, Arena *arena, const FleetViewOptions *options);
void fleet_view_clear(FleetView *view);
DEFINE_AUTO_CLEAR(FleetView, fleet_view_clear)

/* Processes an event of the run, as JSON. */
void fleet_view_add(FleetView *view, Str line);
/* Must be called after a batch of events. */
void fleet_view_flush(FleetView *view);
/* Redraws the parts that change over time. */
void fleet_view_tick(FleetView *view);
/* A target that does not report. */
typedef struct FleetMissing {
    Str node, outcome, reason;
    Str until; /* the time until which the run waits for it; may be empty */
} FleetMissing;

/* Starts a new list of targets that do not report: add them, then show the list. */
void fleet_view_reset_missing(FleetView *view);
void fleet_view_add_missing(FleetView *view, const FleetMissing *missing);
void fleet_view_show_missing(FleetView *view);
/* The stream of events was interrupted, or continues. */
void fleet_view_interrupt(FleetView *view, Str reason);
void fleet_view_resume(FleetView *view);
/* Erases the block. */
void fleet_view_end(FleetView *view);

/* Estimates the remaining time of the run after `elapsed`, in milliseconds; -1: unknown. */
int64_t fleet_view_remaining_ms(const FleetView *view, int64_t elapsed);
