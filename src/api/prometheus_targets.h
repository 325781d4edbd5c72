/* Nodes for Prometheus HTTP service discovery
 * (http_sd_configs): a list of targets with labels. Pure. */
#pragma once

#include "membership/nodes.h"
#include "model/selector.h"

typedef struct TargetsSpec {
    Str cluster;
    uint16_t port;            /* of all targets */
    const Selector *selector; /* NULL: all nodes */
} TargetsSpec;

/* [{"targets":["10.0.0.1:9100"],"labels":{"__meta_eden_node":"web1",...}}]. A target is the address
 * that the node connected from or, if unknown, its name. */
void prometheus_targets_put(Buf *out, const TargetsSpec *spec, const NodesListing *nodes);
