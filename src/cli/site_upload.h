/* Sends a site to the server: its files as blobs, of which the server requests those that it does
 * not have, and the manifest. */
#pragma once

#include "cli/cluster_client.h"
#include "source/manifest.h"

typedef struct SiteUpload {
    Invocation *invocation;
    const char *directory;
    const Manifest *manifest;
    char id[BLOB_ID_TEXT + 1]; /* of the manifest; filled in */
    uint32_t blobs;            /* of the site; filled in, as all that follows */
    uint32_t sent;
    int64_t sent_bytes;
} SiteUpload;

/* Returns the exit code, after reporting a failure. What was sent remains on the server, so that a
 * second upload continues. */
int site_upload(SiteUpload *upload);
