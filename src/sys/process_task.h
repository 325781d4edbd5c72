/* A program that runs beside a loop, which is told how it ended and waits for nothing meanwhile. */
#pragma once

#include "sys/loop.h"
#include "sys/process.h"

typedef struct ProcessTask ProcessTask;

/* Borrowed for the call; `result` is NULL when it could not be started, and `err` says why. */
typedef void ProcessTaskDone(void *context, const ProcessResult *result, const Error *err);

/* Starts it. What the spec points at must stay until `done`, which is called once, in a later turn;
 * the task is gone after it. `cancelled`, `line` and `take` are not for a task. */
ProcessTask *process_task_start(Loop *loop, const ProcessSpec *spec, ProcessTaskDone *done,
                                void *context);
/* Ends the program and waits until it has ended, at most a few seconds; `done` is not called any
 * more. NULL is fine. */
void process_task_end(ProcessTask *task);
