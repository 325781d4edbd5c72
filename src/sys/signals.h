/* Signal handling of a command. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A closed pipe causes a failed write instead of killing the process (SIGPIPE), and an interrupt
 * (Ctrl-C) exits with code 130. If SIGINT is ignored when the process starts, it stays ignored. */
void signals_prepare(void);

/* Signals that request termination: SIGINT, SIGTERM and SIGHUP. */
sigset_t signals_ending(void);

/* From now on SIGINT, SIGTERM and SIGHUP do not terminate the process but can be read from the
 * descriptor, until it is closed. Call it before starting threads; children must be started with an
 * empty signal mask. */
MUST_CHECK bool signals_open(int *descriptor, Error *err);
/* Number of signals since the last call; `*last` is the last one. */
uint32_t signals_take(int descriptor, int *last);
void signals_close(int descriptor);
