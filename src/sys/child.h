/* A child process that a daemon keeps: started with fixed words, told of when it ends, by its pidfd.
 * Loop thread, which must be the main thread for children that end with their parent.
 *
 * It has no terminal and a process group of its own, so that a key pressed for its parent does not
 * reach it; its output goes where the parent's does. What systemd wants to be told by the parent is
 * not in its environment. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct Child Child;

typedef struct ChildEnd {
    bool by_signal;
    int number; /* of the signal, or the exit code */
} ChildEnd;

/* The program of this process, also when its file was replaced meanwhile. */
#define CHILD_SAME_PROGRAM "/proc/self/exe"

typedef struct ChildOptions {
    Loop *loop;
    const char *program;     /* a path */
    const char *const *argv; /* ends with NULL */
    /* For the user who started this process, in its place: with its terminal, in its group, and the
     * program, when it has no "/", is looked for in PATH. */
    bool is_foreground;
    const char *const *env; /* "NAME=value", ends with NULL; NULL: as this process has it */
    /* Once, in a later turn; the child may be freed here. */
    void (*ended)(void *context, ChildEnd end);
    void *context;
} ChildOptions;

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS. */
MUST_CHECK bool child_start(const ChildOptions *options, Child **out, Error *err);
/* One that still runs is killed and waited for. NULL is fine. */
void child_free(Child *child);
DEFINE_AUTO(Child, child_free)

pid_t child_number(const Child *child);
/* SIGTERM, and SIGKILL; one that has ended is fine. */
void child_ask_to_end(const Child *child);
void child_kill(const Child *child);
