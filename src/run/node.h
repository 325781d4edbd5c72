/* Who this node is: its name and labels, from the command line, from the cluster's record of it, from
 * node.yaml in the folder of eden's settings, and from its facts; each wins over those behind it. */
#pragma once

#include "base/problems.h"
#include "base/source.h"
#include "model/selector.h"

typedef struct NodeOptions {
    const char *etc;           /* the node's etc/eden; what is not in there is not missed */
    const char *state;         /* its var/lib/eden, where the agent keeps the record; NULL: none */
    const char *name;          /* NULL: found out; another than the record's leaves that out */
    const char *const *labels; /* "role=web", as given; later ones win */
    uint32_t label_count;
    Value facts; /* a map; null: none are known */
} NodeOptions;

typedef struct Node {
    Str name;
    Str fqdn;     /* empty when not known */
    Map *labels;  /* texts to texts, frozen */
    Value server; /* a map, frozen: see node_load */
} Node;

/* `server` holds all facts, and `name`, `fqdn`, `labels`. The same once more in the spelling of
 * objects: `Spec.FQDN`, `ObjectMetadata.Name`, `ObjectMetadata.Labels`, and in lower case. */
MUST_CHECK bool node_load(Arena *arena, Sources *sources, const NodeOptions *options, Node *out,
                          Problems *problems);

/* What selectors match, without expressions. */
SelectorSubject node_subject(const Node *node);
