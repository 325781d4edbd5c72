/* The agent's files on the machine of a server, its
 * first node, re-created from those of the server. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* Makes those that are lost, as root; nothing where no server was founded. Fails when one cannot be
 * made, naming it, and as the file system does. */
MUST_CHECK bool agent_files_mend(const char *state_dir, int64_t now_ms, Error *err);
