/* Nodes for Prometheus HTTP service discovery
 * (http_sd_configs): a list of targets with labels. Pure. */
#pragma once

#include "membership/nodes.h"
#include "model/selector.h"

typedef struct TargetsSpec {
    Str cluster;
    uint16_t port;            /* of all of them */
    const Selector *selector; /* only such nodes; NULL: all */
} TargetsSpec;

/* [{"targets":["10.0.0.1:9100"],"labels":{"__meta_eden_node":"web1",...}}]. Where a node came from is
 * where it is found; when that is not known, by its name. */
void prometheus_targets_put(Buf *out, const TargetsSpec *spec, const NodesListing *nodes);
