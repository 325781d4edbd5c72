/* Why a run on this node waits, and what happens when it is stopped, for those who wait for it. */
#pragma once

#include "agent/local_run.h"

/* The step that runs now: "step 'web#install'", or "a running step" if it is not known. */
void stop_step(const Directory *agent, const LocalRun *run, char *out, size_t size);
/* Why it does not start. */
typedef struct WaitReason {
    QueueWait wait;
    const char *behind;      /* ID of the run that it waits for */
    const Directory *state;  /* of the node, with the lock */
    const char *version;     /* of the site */
    const char *fetch_error; /* NULL: the site is being fetched */
} WaitReason;
Str wait_reason(const WaitReason *why, Arena *arena);

/* What will become of a step, and when. */
Str stop_reason(const LocalRun *run, const char *step, Arena *arena);
