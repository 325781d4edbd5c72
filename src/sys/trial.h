/* A change on trial: a program makes it, and another run of the program takes it back unless the
 * change is kept in time.
 *
 * Both runs belong to a process of their own in a session of its own. It takes the change back when
 * it is told to, when `timeout_ms` have passed, and at once when this process has ended without
 * saying anything, however it was killed. The two runs never overlap, and the second follows only
 * on a first one that succeeded.
 *
 *     if (!trial_start(arena, &spec, &trial, err)) ...      nothing has changed
 *     if (!is_good(...)) { trial_undo(&trial, err); ... }
 *     if (!trial_keep(&trial, err)) ...                     it was taken back meanwhile */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct TrialSpec {
    const char *program;     /* its path */
    const char *const *argv; /* ends with NULL */
    const char *const *env;  /* "NAME=value", ends with NULL */
    Str change, restore;     /* standard input of the first run, and of the second */
    int64_t timeout_ms;      /* from the end of the first run on */
} TrialSpec;

typedef struct Trial Trial;

/* Makes the change. A program that fails is ERROR_OS; what it wrote to its standard error is then
 * in `told` (may be NULL), in the arena. */
MUST_CHECK bool trial_start(Arena *arena, const TrialSpec *spec, Trial **out, Str *told,
                            Error *err);
/* The change stays. Fails with ERROR_TIMEOUT when it was taken back already. */
MUST_CHECK bool trial_keep(Trial **trial, Error *err);
/* Takes it back, if that has not happened yet, and waits for that. Fails when it could not be. */
MUST_CHECK bool trial_undo(Trial **trial, Error *err);
void trial_close(Trial *trial); /* undoes what is not settled; NULL is fine */
DEFINE_AUTO(Trial, trial_close)
