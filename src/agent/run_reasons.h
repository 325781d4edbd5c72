/* Messages about runs on this node: why one is waiting, and what happens to its steps when it is
 * canceled. */
#pragma once

#include "agent/local_run.h"

/* Describes the running step: "step 'web#install'", or "a running step" if it is unknown. */
void describe_running_step(const Directory *agent, const LocalRun *run, char *out, size_t size);
/* Why a run does not start. */
typedef struct WaitReason {
    QueueWait wait;
    const char *blocking_run; /* ID of the run that it waits for */
    const Directory *state;   /* of the node, with the lock */
    const char *version;      /* of the site */
    const char *fetch_error;  /* NULL: the site is being fetched */
} WaitReason;
Str wait_reason(const WaitReason *why, Arena *arena);

/* What happens to the running step of a canceled run, and when. */
Str stop_reason(const LocalRun *run, const char *step, Arena *arena);
