/* The process that executes one run: `eden apply` or `eden plan` with --events, in a separate
 * session. It survives the agent, and the next agent finds it by the lock on its events. Loop
 * thread. */
#pragma once

#include "agent/local_run.h"
#include "sys/detached_process.h"
#include "sys/loop.h"

typedef struct Runner Runner;

/* The node that the run is executed on; borrowed. */
typedef struct RunnerNode {
    const Directory *directory; /* the agent's */
    const char *path;           /* of that directory */
    const char *state_dir, *config_dir, *root;
    const char *program; /* NULL: the program of this process */
    Str name;
    CgroupLimits limits; /* of each run */
} RunnerNode;

typedef struct RunnerOptions {
    Loop *loop;
    const RunnerNode *node;
    const LocalRun *run;
    const char *site;    /* path; NULL for a command */
    const char *servers; /* path of the list of all nodes; NULL: the site does not use it */
    /* Called once, in a later iteration; the owner then releases the runner. */
    void (*ended)(void *context, DetachedProcessExit end);
    void (*wrote)(void *context); /* there may be new events */
    void *context;
} RunnerOptions;

MUST_CHECK bool runner_start(const RunnerOptions *options, Runner **out, Error *err);
/* Finds the process that currently writes the events of the run, started by an earlier agent.
 * Returns false if there is none. */
bool runner_find(const RunnerOptions *options, Runner **out);
/* Stops following the process, which continues. NULL is allowed. */
void runner_release(Runner *runner);
DEFINE_AUTO(Runner, runner_release)

pid_t runner_pid(const Runner *runner);
/* Running steps may finish; with `now` they are stopped. */
void runner_cancel(const Runner *runner, bool now);
void runner_kill(const Runner *runner);

/* Explains why a runner ended without a result: how it exited, and which step was running or, if it
 * had not started, its output. */
Str runner_explain(const RunnerNode *node, const LocalRun *run, DetachedProcessExit end,
                   bool has_begun, Arena *arena);
