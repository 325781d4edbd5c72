/* What signals do to a command. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A reader that went away becomes a failed write instead of the end of the process, and an
 * interrupt (Ctrl-C) ends it with exit code 130. An interrupt that the caller ignores stays
 * ignored. */
void signals_prepare(void);

/* Those that ask a process to end: SIGINT, SIGTERM and SIGHUP. */
sigset_t signals_ending(void);

/* From now on an interrupt or a request to end (SIGINT, SIGTERM, SIGHUP) is not carried out but
 * can be read from the descriptor, until it is closed. Called before threads are started; children
 * must be started with an empty signal mask. */
MUST_CHECK bool signals_open(int *descriptor, Error *err);
/* How many came since the last call; the number of the last one in `*number`. */
uint32_t signals_take(int descriptor, int *number);
void signals_close(int descriptor);
