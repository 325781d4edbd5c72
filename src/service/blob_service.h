/* The service eden.v1.Blobs: sends the files of versions to nodes. Loop thread only.
 *
 * A node names the version by its manifest, and gets blobs of that manifest only: other blobs, and
 * those of rejected versions, are not sent. The list of all nodes (fleet/server_list.h) is
 * requested in the same way. Few calls are served at a time, one per node, others wait: all nodes
 * request a new version at the same moment. */
#pragma once

#include "fleet/server_list.h"
#include "rpc/dispatch.h"
#include "source/versions.h"

typedef struct BlobService BlobService;

enum {
    /* maximum number of calls served at a time: each holds one blob in memory */
    BLOB_CALLS_MAX = 32,
    BLOB_CALLS_NODE_MAX = 4, /* maximum number of calls per node, including queued ones */
    /* maximum time without progress, after which the node has to retry */
    BLOB_STALLED_MS = 30 * 1000
};

/* `cluster_store` is copied; its state and roster, and the versions, must outlive the service. */
BlobService *blob_service_new(const ClusterStore *cluster_store, Versions *versions);
/* Must be called after freeing the servers that use it and the versions (which completes pending
 * reads), and before the state. NULL is allowed. */
void blob_service_free(BlobService *service);
DEFINE_AUTO(BlobService, blob_service_free)

MethodBinding blob_service_binding(BlobService *service);
/* Handles Nodes.List. */
MethodBinding blob_service_list_binding(BlobService *service);
