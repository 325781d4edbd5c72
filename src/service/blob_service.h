/* The service eden.v1.Blobs: sends the files of versions to nodes. Loop thread only.
 *
 * A node names the version by its manifest, and gets blobs of that manifest only: other blobs, and
 * those of rejected versions, are not sent. Few calls are served at a time, others wait: all nodes
 * request a new version at the same moment. A node that makes many calls, or accepts their data
 * slowly, delays only itself. */
#pragma once

#include "rpc/dispatch.h"
#include "source/versions.h"

typedef struct BlobService BlobService;

enum {
    BLOB_CALLS_MAX = 32,         /* served at a time: each holds one blob in memory */
    BLOB_NODE_CALLS_MAX = 2,     /* the same, of one node */
    BLOB_NODE_WAITING_MAX = 4,   /* more calls of one node are refused */
    BLOB_STALLED_MS = 30 * 1000, /* a node that accepts nothing for this long has to retry */
};

/* `at` is copied; its state, and the versions, must outlive the service. */
BlobService *blob_service_new(const ClusterStore *at, Versions *versions);
/* After the servers that use it and after the versions are freed, which complete its reads. NULL is
 * allowed. */
void blob_service_free(BlobService *service);
DEFINE_AUTO(BlobService, blob_service_free)

MethodBinding blob_service_binding(BlobService *service);
