/* A change with automatic rollback: a program applies it, and a second run of the program undoes it
 * unless the change is confirmed in time.
 *
 * Both runs are children of a monitor process in a separate session. It undoes the change on
 * request, after `timeout_ms`, and immediately if this process exits without a decision, however it
 * was killed. The two runs never overlap, and the second happens only if the first has succeeded.
 *
 *     if (!confirmed_change_start(arena, &spec, &change, err)) ...      nothing has changed
 *     if (!is_good(...)) { confirmed_change_undo(&change, err); ... }
 *     if (!confirmed_change_keep(&change, err)) ...                     it has been undone */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct ConfirmedChangeSpec {
    const char *program;     /* path */
    const char *const *argv; /* ends with NULL */
    const char *const *env;  /* "NAME=value", ends with NULL */
    Str change, restore;     /* standard input of the first and of the second run */
    int64_t timeout_ms;      /* starts when the first run has finished */
} ConfirmedChangeSpec;

typedef struct ConfirmedChange ConfirmedChange;

/* Applies the change. If the program fails, returns ERROR_OS and stores what it wrote to standard
 * error in `error_output` (may be NULL), in the arena. */
MUST_CHECK bool confirmed_change_start(Arena *arena, const ConfirmedChangeSpec *spec,
                                       ConfirmedChange **out, Str *error_output, Error *err);
/* Makes the change permanent. Fails with ERROR_TIMEOUT if it has been undone already. */
MUST_CHECK bool confirmed_change_keep(ConfirmedChange **change, Error *err);
/* Undoes the change unless that has happened already, and waits for it. Fails if it could not be
 * undone. */
MUST_CHECK bool confirmed_change_undo(ConfirmedChange **change, Error *err);
/* Undoes an undecided change. NULL is allowed. */
void confirmed_change_close(ConfirmedChange *change);
DEFINE_AUTO(ConfirmedChange, confirmed_change_close)
