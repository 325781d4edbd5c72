/* Messages from the agent to the runner of a run, one JSON object per line, on standard input:
 *
 *     {"control":"start","defines":["KEY=VALUE","KEY:=JSON"]}     the first, before the run loads
 *     {"control":"cancel","now":false}    running steps may finish; with `now` they are stopped
 *
 * Unlike arguments, other processes cannot read them. The run continues when the agent exits, and
 * the next agent may send further messages. Unknown messages, which a newer agent may send, are
 * ignored. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"

void run_control_put_start(Buf *out, const Str *defines, uint32_t count);
void run_control_put_cancel(Buf *out, bool now);

typedef struct RunControl {
    int descriptor; /* borrowed */
    Buf text;       /* read, but not processed yet */
} RunControl;

RunControl run_control_make(int descriptor);
void run_control_clear(RunControl *control);
DEFINE_AUTO_CLEAR(RunControl, run_control_clear)

typedef struct RunStart {
    const char **defines; /* in the arena */
    uint32_t define_count;
} RunStart;

/* Reads the first message, which must be there. Fails with ERROR_INVALID. */
MUST_CHECK bool run_control_start(RunControl *control, Arena *arena, RunStart *out, Error *err);
/* Reads the messages that have arrived. Returns how many times the run is to be interrupted. */
uint32_t run_control_take(RunControl *control);
