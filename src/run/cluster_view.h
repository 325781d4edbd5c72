/* Data from the cluster that templates can use: all nodes, and the event that started the run. */
#pragma once

#include "base/error.h"
#include "run/node.h"

/* All nodes by name, sorted: each as `server` (node_load()), with its labels and the facts that
 * nodes see of each other. `path` is a directory with "servers/<number>.json"
 * (fleet/server_list.h); NULL: only `own`. This node always sees its own current data. Everything
 * is in the arena and frozen. */
MUST_CHECK bool cluster_view_servers(Arena *arena, const char *path, const Node *own, Map **out,
                                     Error *err);

/* From a file with JSON: one event, or a list of events, of which the last one is `event`. */
MUST_CHECK bool cluster_view_events(Arena *arena, const char *path, Value *event, Value *events,
                                    Error *err);
