/* A child process that a daemon supervises: started with a fixed command line, its exit reported
 * through a pidfd. Loop thread; it must be the main thread if children are to die with their
 * parent.
 *
 * The child has no terminal and its own process group, so keys pressed for the parent (Ctrl-C) do
 * not reach it; it inherits the parent's standard output and error. Variables by which systemd
 * talks to the parent ($NOTIFY_SOCKET and others) are removed from its environment. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct Child Child;

typedef struct ChildExit {
    bool by_signal;
    int status; /* exit code or signal number */
} ChildExit;

/* The program of this process, even if its file has since been replaced. */
#define CHILD_SAME_PROGRAM "/proc/self/exe"

typedef struct ChildOptions {
    Loop *loop;
    const char *program;     /* a path */
    const char *const *argv; /* ends with NULL */
    /* Runs in the foreground for the user who started this process: with its terminal and process
     * group; a program without "/" is searched for in PATH. */
    bool is_foreground;
    const char *const *env; /* "NAME=value", ends with NULL; NULL: inherits the environment */
    /* Called once, in a later iteration of the loop. May free the child. */
    void (*ended)(void *context, ChildExit end);
    void *context;
} ChildOptions;

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool child_start(const ChildOptions *options, Child **out, Error *err);
/* Kills a running child and waits for it. NULL is allowed. */
void child_free(Child *child);
DEFINE_AUTO(Child, child_free)

pid_t child_pid(const Child *child);
/* SIGTERM, and SIGKILL; does nothing if the child has exited. */
void child_terminate(const Child *child);
void child_kill(const Child *child);
