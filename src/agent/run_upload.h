/* Uploads the events of one run to the server of the session: Runs/Append, one call at a time, from
 * the event that the server expects next. Repeats calls that fail. Loop thread. */
#pragma once

#include "net/grpc_client.h"
#include "sys/append_file.h"
#include "sys/loop.h"

typedef struct RunUpload RunUpload;

enum {
    /* size of the events in one call, unless the first is longer; limited because a server holds
     * the calls of thousands of nodes in memory */
    UPLOAD_BYTES = 64 << 10,
    UPLOAD_SETTLE_MS = 100,     /* events within this time are sent together */
    UPLOAD_CALL_MS = 30 * 1000, /* timeout of a call */
    UPLOAD_RETRY_MS = 1000,     /* delay after a failure; doubles up to: */
    UPLOAD_RETRY_MAX_MS = 60 * 1000,
};

typedef struct RunUploadOptions {
    Loop *loop;
    const Directory *directory; /* directory of the run; used only within run_upload_new() */
    const char *name;           /* name of the file with events */
    Str node, run;              /* copied */
    /* The connection to the server, or NULL. */
    GrpcClient *(*client)(void *context);
    /* Called in a later iteration: more events are stored, or the server does not accept them. */
    void (*progressed)(void *context);
    void *context;
} RunUploadOptions;

/* Does nothing until run_upload_check(). */
MUST_CHECK bool run_upload_new(const RunUploadOptions *options, RunUpload **out, Error *err);
void run_upload_free(RunUpload *upload); /* NULL is allowed */
DEFINE_AUTO(RunUpload, run_upload_free)

/* Called when there may be new events. */
void run_upload_check(RunUpload *upload);
/* Called when there is a connection again: sends immediately. */
void run_upload_connected(RunUpload *upload);
/* Whether the upload is complete up to this number: the server has the events, or does not accept
 * any. */
bool run_upload_is_complete(const RunUpload *upload, uint64_t last);
