/* The process that carries out one run: `eden apply` or `eden plan` with --events, in a session of
 * its own. It survives the agent, and the next agent finds it by the lock on its events. Loop
 * thread. */
#pragma once

#include "agent/local_run.h"
#include "sys/loop.h"
#include "sys/survivor.h"

typedef struct Runner Runner;

/* The node that it runs on; borrowed. */
typedef struct RunnerNode {
    const Directory *directory; /* the agent's */
    const char *path;           /* of that directory */
    const char *state_dir, *config_dir, *root;
    const char *program; /* NULL: that of this process */
    Str name;
    CgroupLimits limits; /* of each run */
} RunnerNode;

typedef struct RunnerOptions {
    Loop *loop;
    const RunnerNode *node;
    const LocalRun *run;
    const char *site;    /* path; NULL for a command */
    const char *servers; /* path of the list of all nodes; NULL: the site does not use it */
    /* Called once, in a later iteration; the runner is released by its owner. */
    void (*ended)(void *context, SurvivorEnd end);
    void (*wrote)(void *context); /* there may be new events */
    void *context;
} RunnerOptions;

MUST_CHECK bool runner_start(const RunnerOptions *options, Runner **out, Error *err);
/* The one that writes the events of the run now, started by an earlier agent. False if there is
 * none. */
bool runner_find(const RunnerOptions *options, Runner **out);
/* Stops following it; the process continues. NULL is allowed. */
void runner_release(Runner *runner);
DEFINE_AUTO(Runner, runner_release)

pid_t runner_number(const Runner *runner);
/* Running steps may finish; with `now` they are stopped. */
void runner_cancel(const Runner *runner, bool now);
void runner_kill(const Runner *runner);

/* Removes what earlier runners have left: cgroups in which no process is left. `is_running` tells
 * whether a run has a runner now. */
void runner_sweep(bool (*is_running)(void *context, Str id), void *context);

/* Explains how a runner ended without a result: how, and which step ran or, if it had not begun,
 * what it wrote. */
Str runner_explain(const RunnerNode *node, const LocalRun *run, SurvivorEnd end, bool has_begun,
                   Arena *arena);
