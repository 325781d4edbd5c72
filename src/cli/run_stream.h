/* Streams the events of a run across nodes: each event once, in order for each node. After an
 * outage, the stream resumes at its last position. */
#pragma once

#include "base/str_map.h"
#include "cli/cluster_client.h"

typedef struct RunStream {
    const char *what; /* what messages call the operation: "the watch" */
    Str run;          /* ID of the run */
    Str node, step;   /* only events of this node or step; empty: all */
    bool follows;     /* continue until the run has ended; otherwise only existing events */
    void (*on_line)(void *context, Str line); /* called with an event, as JSON */
    bool (*on_batch)(void *context); /* called after a batch of lines; returns false to stop */
    void (*on_tick)(void *context);  /* called every `tick_ms` while connected; may be NULL */
    int64_t tick_ms;
    /* Called when the connection is lost, and when it is established again; both may be NULL. `why`
     * is NULL if the server closed the connection. Messages are printed after on_break(), unless
     * the stream is quiet. */
    void (*on_break)(void *context, const char *why);
    void (*on_resume)(void *context);
    bool is_quiet;
    void *context;
} RunStream;

/* Returns the exit code after reporting any error; EXIT_OK also if a callback stopped the
 * stream. */
int run_stream(Invocation *invocation, const RunStream *stream);

/* --- Events that were seen. Pure. ------------------------------------------------------------- */

typedef struct SeenEvents {
    Arena arena;
    StrMap nodes; /* number of the last event by node */
} SeenEvents;

void seen_events_init(SeenEvents *seen);
void seen_events_clear(SeenEvents *seen);
DEFINE_AUTO_CLEAR(SeenEvents, seen_events_clear)
/* Records the event of a line. Returns false if it was seen before. */
bool seen_events_add(SeenEvents *seen, Str line);
