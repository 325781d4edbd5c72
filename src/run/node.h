/* The identity of this node: its name and labels, from the command line, the cluster's record,
 * node.yaml in the settings directory, and its facts; each takes precedence over those after it. */
#pragma once

#include "base/problems.h"
#include "base/source.h"
#include "model/selector.h"

typedef struct NodeOptions {
    const char *etc; /* the node's etc/eden; missing files are fine */
    /* Where the agent stores the record; either may be NULL. A run with another state directory is
     * still a run on this node: if there is no record in `state`, the one in `home` is used. */
    const char *state;
    const char *home; /* node_home_path() */
    /* NULL: determined automatically; if it differs from the record, the record is ignored */
    const char *name;
    const char *const *labels; /* "role=web", as given; later ones win */
    uint32_t label_count;
    Value facts; /* a map; null: unknown */
} NodeOptions;

typedef struct Node {
    Str name;
    Str fqdn;     /* empty if unknown */
    Map *labels;  /* from string to string, frozen */
    Value server; /* a map, frozen: see node_load() */
} Node;

/* `server` contains all facts, and `name`, `fqdn`, `labels`; also in the spelling of objects:
 * `Spec.FQDN`, `ObjectMetadata.Name`, `ObjectMetadata.Labels`, and in lowercase. */
MUST_CHECK bool node_load(Arena *arena, Sources *sources, const NodeOptions *options, Node *out,
                          Problems *problems);

/* The value `server` of a node with this name, FQDN and labels; frozen. */
Value node_server(Arena *arena, const Node *node, Value facts);

/* The part of a node that selectors match, without expressions. */
SelectorSubject node_subject(const Node *node);
