/* Nodes as people see them: tables of the API's answers. */
#pragma once

#include "cli/cluster_client.h"

/* All pages: the lists hold maps as the API tells them. The exit code, as of cluster_call. */
int nodes_fetch(Invocation *invocation, List **nodes, List **waiting);

/* A row each, and below how many there are and what is missing. Those who wait come last. */
void nodes_print_table(const Invocation *invocation, const List *nodes, const List *waiting);
/* One name per line. */
void nodes_print_names(const Invocation *invocation, const List *nodes, const List *waiting);
/* An answer of GET /v1/nodes/NAME. */
void nodes_print_one(const Invocation *invocation, Value detail);
/* "role=web, rack=7"; "-" when there are none. */
Str nodes_labels_text(Arena *arena, Value node);
