/* One run of curl: what it brings goes into a file and a digest as it comes. */
#pragma once

#include "modules/call.h"
#include "modules/digest.h"
#include "modules/http/request.h"
#include "sys/host_stream.h"

typedef struct Transfer {
    /* Given. */
    Call *call;
    Request request;
    int64_t timeout_ms; /* 0: the call's */
    HostWriter *writer;
    DigestKind kind;
    /* Made. */
    int64_t size;
    Str digest;
    /* Meanwhile. */
    Digester digester;
    int64_t total;    /* as the server says; 0: it does not */
    int64_t shown_us; /* when progress was told last */
    int64_t status;   /* of the last answer */
    bool refused;
    Error why;
} Transfer;

/* With the first part filled in. The answer was complete, 200 and no larger than allowed, or this
 * fails. */
MUST_CHECK bool transfer_run(Transfer *transfer, Error *err);
