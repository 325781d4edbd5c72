/* The events of a run as a file: one JSON object per line, numbered from 1, for readers that follow
 * the run from another process or machine.
 *
 *     {"n":1,"at_ms":..,"event":"begin","run":..,"node":..,"version":..,"site":..,"mode":..,
 *      "attempt":1,"resumed":false,"step_count":N,"steps":[ID..]}
 *     {"n":2,"at_ms":..,"event":"steps","steps":[ID..]}          more of them, for a large site
 *     {.. "event":"start","step":ID}
 *     {.. "event":"wait","step":ID,"reason":..,"until_ms":..}    0: until something happens; an
 *                                                               empty reason: it continues
 *     {.. "event":"line","step":ID,"stream":"progress","text":..}
 *     {.. "event":"step","step":ID, and all fields of the step in "eden.run/1", "cut":true}
 *     {.. "event":"leave","leaving":"reboot","owed":[..]}        the run continues afterwards
 *     {.. "event":"end","result":..,"reason":..,"interrupted":..,"timed_out":..,"counts":{..},
 *      "duration_ms":..,"owed":[..],"failure":{"step","code","message"},"problems":[..],
 *      "leaving":..,"lost":N,"exit_code":N,"digest":..}
 *
 * A step that reacts at the end of the run has a second "step" event. Long texts are truncated
 * ("cut"). A run that is started again continues in the same file: it begins with another "begin",
 * of the next attempt. A torn last line is removed then.
 *
 * Events contain no secrets. Those of steps that did something, and the first and the last event,
 * are on disk when the next step may depend on them; others may still be only in the page cache, so
 * readers that forward them must call fdatasync first. A full disk does not end a run that has
 * begun: events that could not be written are counted in "lost". */
#pragma once

#include "run/run.h"
#include "sys/directory.h"

/* --- Reading. Pure. --------------------------------------------------------------------------- */

enum {
    RUN_EVENT_MAX = 128 << 10, /* bytes of a line */
};

typedef struct RunEventLine {
    uint64_t n;
    int64_t at_ms;
    Str event;
    Str text; /* without the newline */
} RunEventLine;

/* Reads the line at `*at` and advances it. False at the end of the text and at a line that is torn
 * or damaged. */
bool run_event_next(Str text, size_t *at, RunEventLine *out);

typedef struct RunEventScan {
    size_t valid_len; /* bytes up to the end of the last valid line */
    uint64_t last;    /* its number; 0: none */
    uint32_t begun;   /* number of attempts */
    RunEventLine first, end;
} RunEventScan;

/* Lines are valid up to the first one that is damaged or out of order. */
RunEventScan run_events_scan(Str text);

/* The step that was running when the events ended: the last one that was started and has no result.
 * In the arena; empty: none. */
Str run_events_running(Str text, Arena *arena);

/* --- Writing ---------------------------------------------------------------------------------- */

typedef struct RunEvents RunEvents;

typedef struct RunEventsSettings {
    const char *path;    /* of the file; created if missing */
    Str run;             /* its ID */
    const char *version; /* of the site; may be NULL */
    uint32_t attempt;    /* which attempt of the run this is, from 1; 0: any */
} RunEventsSettings;

/* Fails with ERROR_CONFLICT if the file has events of another run, if another process writes it, or
 * has made this attempt: an agent that is killed right after starting a process does not find it
 * when it starts again, because that process does not hold the lock yet. */
MUST_CHECK bool run_events_open(Arena *arena, const RunEventsSettings *settings, RunEvents **out,
                                Error *err);
void run_events_close(RunEvents *events); /* NULL is allowed */
DEFINE_AUTO(RunEvents, run_events_close)

/* The process that writes the events in this directory now; 0: none. */
int64_t run_events_writer(const Directory *directory, const char *name);

/* The view for run_perform(): writes events and calls `next`. The run begins when it can: not if
 * another one holds the lock. */
RunView run_events_view(RunEvents *events, Run *run, RunView next);
/* The last event of a run that was performed; `exit_code` is that of the command. If the machine
 * goes down and the run continues afterwards, that is the event instead. */
MUST_CHECK bool run_events_end(RunEvents *events, Run *run, int exit_code, Error *err);
/* The only events of a run that could not begin, and the last event of one that could not be
 * finished. `problems` may be NULL. */
MUST_CHECK bool run_events_fail(RunEvents *events, const char *result, Str reason,
                                const Problems *problems, int exit_code, Error *err);
/* Why events were lost; NULL: none. */
const Error *run_events_lost(const RunEvents *events);
