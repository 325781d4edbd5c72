/* Determines the servers that a node connects to, from its saved list and from the server records
 * that it has received. Pure. */
#pragma once

#include "membership/node_state.h"
#include "membership/server_record.h"

/* Sets `out` to the state with the servers of the records. Servers already in the state come first,
 * in the same order, so that indexes remain valid; their addresses are kept while they are among
 * those of the record, or of this machine. Servers without a record are dropped, those that have
 * never served are omitted; but without any other, nothing changes. Everything is borrowed or in
 * the arena. Returns false if nothing changes. */
bool node_servers_merge(Arena *arena, const NodeState *before, const ServerRecord *records,
                        uint32_t count, NodeState *out);
