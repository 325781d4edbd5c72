/* What happens in a run across nodes, from its events: counters per step, failures, and what is
 * printed while it is in progress. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "cli/run_progress.h"
#include "lang/value.h"

typedef struct FleetStep {
    Str id;
    uint32_t running, ended; /* nodes */
    uint32_t ok, changed, failed, skipped, blocked, other;
    Str waits; /* why a node waits in this step; empty: none does */
    bool is_reported;
} FleetStep;

/* A failed step on one node. */
typedef struct FleetFailure {
    Str node, step, code, message;
    Str output; /* end of its standard error; may be empty */
} FleetFailure;

typedef struct FleetView {
    Arena *arena;
    Stream *stream;
    ProgressMode mode;
    Str run, version;
    uint32_t targets;
    uint32_t begun, ended; /* nodes */
    VEC(FleetStep) steps;  /* in the order in which they appeared */
    StrMap indexes;        /* of steps, plus 1 */
    VEC(FleetFailure) failures;
    StrMap stepping; /* nodes: the step that runs */
    Buf partial;     /* of a line that is not complete yet */
    uint32_t drawn;  /* lines of the block on the terminal */
    int64_t drawn_us, start_us;
    bool needs_drawing;
} FleetView;

void fleet_view_init(FleetView *view, Arena *arena, Stream *stream, ProgressMode mode, Str run,
                     Str version, uint32_t targets);
void fleet_view_clear(FleetView *view);
DEFINE_AUTO_CLEAR(FleetView, fleet_view_clear)

/* Takes a part of the stream of events. Returns true: for ClusterStreamHandler. */
bool fleet_view_take(void *view, Str bytes);
/* Erases what is not final. */
void fleet_view_end(FleetView *view);
