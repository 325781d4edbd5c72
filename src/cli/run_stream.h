/* Streams the events of a run across nodes, each of them once and in the order of each node, and
 * resumes where it left off after the server was unreachable. */
#pragma once

#include "base/str_map.h"
#include "cli/cluster_client.h"

typedef struct RunStream {
    const char *what; /* what to name in messages: "the watch" */
    Str run;          /* its ID */
    Str node, step;   /* only their events; empty: all */
    bool follows;     /* until the run has ended; otherwise what there is now */
    void (*on_line)(void *context, Str line); /* an event, as JSON */
    bool (*on_batch)(void *context);          /* after some lines; returns false to stop */
    void (*on_tick)(void *context);           /* every `tick_ms` while connected; may be NULL */
    int64_t tick_ms;
    /* The connection broke, and it is again there; both may be NULL. `why` is NULL if the server
     * closed it. Messages follow on_break(), unless the stream is quiet. */
    void (*on_break)(void *context, const char *why);
    void (*on_resume)(void *context);
    bool is_quiet;
    void *context;
} RunStream;

/* Returns the exit code, EXIT_OK also if it was stopped, after reporting an error. */
int run_stream(Invocation *invocation, const RunStream *stream);

/* --- Events that were seen. Pure. ------------------------------------------------------------- */

typedef struct SeenEvents {
    Arena arena;
    StrMap nodes; /* number of the last event */
} SeenEvents;

void seen_events_init(SeenEvents *seen);
void seen_events_clear(SeenEvents *seen);
DEFINE_AUTO_CLEAR(SeenEvents, seen_events_clear)
/* Notes the event of a line. Returns false if it was seen before. */
bool seen_events_take(SeenEvents *seen, Str line);
