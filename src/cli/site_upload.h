/* Uploads a site to the server: its manifest, and those of its files that the server does not
 * have. */
#pragma once

#include "cli/cluster_client.h"
#include "source/manifest.h"

typedef struct SiteUpload {
    Invocation *invocation;
    const char *directory;
    const Manifest *manifest;
    char id[BLOB_ID_TEXT + 1]; /* ID of the manifest; filled in */
    /* number of blobs of the site; filled in, like the following fields */
    uint32_t blobs;
    uint32_t sent;
    int64_t sent_bytes;
} SiteUpload;

/* Returns the exit code, after reporting a failure. Uploaded blobs remain on the server, so that
 * the next upload continues. */
int site_upload(SiteUpload *upload);
