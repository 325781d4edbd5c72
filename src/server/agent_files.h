/* The agent's files on the machine of a server, its first node, re-created from those of the
 * server. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* Creates those that are lost, as root; does nothing if there is no server. Fails if one cannot be
 * created, naming it, and on file errors. */
MUST_CHECK bool agent_files_restore(const char *state_dir, int64_t now_ms, Error *err);
