/* Archives of the audit log one behind the other: `eden audit verify FILE...`. */
#pragma once

#include "cli/invocation.h"

/* Whether each is whole, they follow each other, and a server that answers goes on behind them. The exit
 * code. */
int audit_files_verify(Invocation *invocation);
