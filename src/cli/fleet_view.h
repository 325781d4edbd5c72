/* The progress of a run across nodes, from its events: counters per step, failures, targets that do
 * not report, and what is printed while it is in progress. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "cli/run_progress.h"
#include "lang/value.h"

enum {
    FLEET_VIEW_TICK_MS = 250,        /* how often fleet_view_tick() is to be called */
    FLEET_VIEW_HEARTBEAT_MS = 10000, /* between lines of a log in which nothing happens */
    FLEET_VIEW_NAMES = 5,            /* of nodes in one line */
    FLEET_VIEW_REPEATS = 10,         /* lines of a log for the same failure */
    FLEET_VIEW_CELLS_MAX = 32 << 20, /* results: a byte for each node and step */
    FLEET_VIEW_GROUPS_MAX = 1000,    /* different failures; others are counted together */
};

/* A result of a step on one node, as far as it is counted. */
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
    uint32_t counts[FLEET_RESULT_COUNT]; /* nodes */
    uint32_t running, waiting;           /* nodes */
    Str waits;                           /* why the last one of them waits */
    uint32_t reported;                   /* number of results when it was last printed */
} FleetStep;

typedef struct FleetNode {
    Str name;
    bool has_begun, has_ended;
    uint32_t step;  /* that it executes, plus 1 */
    uint32_t waits; /* the step in which it waits, plus 1 */
} FleetNode;

/* Nodes on which a step failed in the same way, or which do not report for the same reason. */
typedef struct FleetGroup {
    Str what;    /* the step; "silent", "waiting", "pending" */
    Str message; /* may be empty */
    Str until;   /* how long the last of them is waited for; may be empty */
    uint32_t count;
    Str names[FLEET_VIEW_NAMES]; /* the first ones */
} FleetGroup;

typedef VEC(FleetGroup) FleetGroups;

typedef struct FleetView {
    Arena *arena;
    Stream *stream;
    ProgressMode mode;
    Str run, what; /* what: the version of the site; may be empty */
    uint32_t targets;
    VEC(FleetNode) nodes;
    StrMap node_indexes; /* plus 1 */
    uint32_t begun, ended;
    VEC(FleetStep) steps;       /* in the order in which they appeared */
    StrMap indexes;             /* of steps, plus 1 */
    uint64_t expected, results; /* steps of all nodes that have begun */
    FleetGroups failures;
    FleetGroups missing; /* targets that do not report */
    Arena missing_arena;
    StrMap told;      /* reasons of missing targets that were printed */
    uint32_t drawn;   /* lines of the block on the terminal */
    int64_t start_us; /* of the run */
    int64_t drawn_us, printed_us, event_us;
    bool needs_drawing, is_interrupted;
    bool is_full; /* further steps are not counted, only their failures */
} FleetView;

typedef struct FleetViewOptions {
    Stream *stream;
    ProgressMode mode;
    Str run, what;
    uint32_t targets;
    int64_t age_ms; /* of the run */
} FleetViewOptions;

/* In mode PROGRESS_JSON, prints the first line, which has the version of the format. */
void fleet_view_init(FleetView *view, Arena *arena, const FleetViewOptions *options);
void fleet_view_clear(FleetView *view);
DEFINE_AUTO_CLEAR(FleetView, fleet_view_clear)

/* An event of the run, as JSON. */
void fleet_view_take(FleetView *view, Str line);
/* After some events. */
void fleet_view_flush(FleetView *view);
/* Draws what changes with time. */
void fleet_view_tick(FleetView *view);
/* A target that does not report. */
typedef struct FleetMissing {
    Str node, outcome, reason;
    Str until; /* the time until which the run waits for it; may be empty */
} FleetMissing;

/* Starts a new list of targets that do not report; add them, then show. */
void fleet_view_reset_missing(FleetView *view);
void fleet_view_add_missing(FleetView *view, const FleetMissing *missing);
void fleet_view_show_missing(FleetView *view);
/* The events broke off, perhaps again, and they continue. */
void fleet_view_interrupt(FleetView *view, Str reason);
void fleet_view_resume(FleetView *view);
/* Erases what is not final. */
void fleet_view_end(FleetView *view);

/* An estimate of how long the run goes on after this time, both in milliseconds; -1: unknown. */
int64_t fleet_view_left_ms(const FleetView *view, int64_t elapsed);
