/* The agent's files on the machine of a server, which is its first node: recreates lost ones from
 * the files of the server. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* Creates lost files, as root; does nothing if there is no server. Fails with the name of a file
 * that cannot be created, and on file errors. */
MUST_CHECK bool agent_files_restore(const char *state_dir, int64_t now_ms, Error *err);
