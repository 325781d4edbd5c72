/* Tables of nodes. */
#pragma once

#include "cli/kind_print.h"

/* One row per node, then a summary. Pending machines come last. */
void nodes_print_table(const Invocation *invocation, const Kind *kind, const List *nodes);
/* Prints a response of GET /v1/nodes/NAME. */
void nodes_print_one(const Invocation *invocation, Value node);
/* Returns "role=web, rack=7"; "-" if there are none. */
Str nodes_labels_text(Arena *arena, Value node);
/* Whether it is a member rather than a pending machine. */
bool node_is_member(Value node);
