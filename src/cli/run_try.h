/* eden apply --try: for real, in a throwaway copy of this machine. */
#pragma once

#include "cli/run_command.h"

/* Applies in a private overlay, tells every file that changed, and throws it all away. Returns the
 * exit code of the apply. */
int run_try(Invocation *invocation, const RunConfig *config);
