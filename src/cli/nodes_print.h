/* Nodes as people see them: tables of the API's answers. */
#pragma once

#include "cli/kind_print.h"

/* A row each, and below how many there are and what is missing. Those who wait come last. */
void nodes_print_table(const Invocation *invocation, const Kind *kind, const List *nodes);
/* An answer of GET /v1/nodes/NAME. */
void nodes_print_one(const Invocation *invocation, Value node);
/* "role=web, rack=7"; "-" when there are none. */
Str nodes_labels_text(Arena *arena, Value node);
/* Whether it is in, and does not only ask. */
bool node_is_member(Value node);
