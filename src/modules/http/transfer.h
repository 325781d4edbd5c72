/* One run of curl; its output is written to a file and hashed as it arrives. */
#pragma once

#include "modules/call.h"
#include "modules/digest.h"
#include "modules/http/request.h"
#include "sys/host_stream.h"

typedef struct Transfer {
    /* Set by the caller. */
    Call *call;
    Request request;
    int64_t timeout_ms; /* 0: use the timeout of the call */
    HostWriter *writer;
    DigestKind kind;
    /* Results. */
    int64_t size;
    Str digest;
    /* State during the transfer. */
    Digester digester;
    int64_t total;    /* size according to the server; 0: unknown */
    int64_t shown_us; /* time of the last progress report */
    int64_t status;   /* status code of the last response */
    bool refused;
    Error failure;
} Transfer;

/* The caller must have set the first group of fields. Fails unless the response is complete, has
 * status 200 and does not exceed the maximum size. */
MUST_CHECK bool transfer_run(Transfer *transfer, Error *err);

/* Requests only the headers from the server. Fails if the server cannot be reached, requires other
 * credentials, or does not have the file; other errors may apply only to such requests. */
MUST_CHECK bool transfer_probe(Call *call, const Request *request, Error *err);
