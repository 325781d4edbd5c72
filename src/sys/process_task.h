/* Runs a program without blocking the loop, and reports its exit. */
#pragma once

#include "sys/loop.h"
#include "sys/process.h"

typedef struct ProcessTask ProcessTask;

/* Arguments are valid during the call; `result` is NULL if the program could not be started, and
 * `err` contains the reason. */
typedef void ProcessTaskDone(void *context, const ProcessResult *result, const Error *err);

/* Starts the program. Whatever the spec points to must stay valid until `done`, which is called
 * once, in a later iteration, and after which the task no longer exists. `canceled`, `line` and
 * `sink` of the spec must not be set. */
ProcessTask *process_task_start(Loop *loop, const ProcessSpec *spec, ProcessTaskDone *done,
                                void *context);
/* Kills the program and waits until it has exited, a few seconds at most; `done` is not called any
 * more. NULL is allowed. */
void process_task_end(ProcessTask *task);
