/* Records calls: the request and its result in the audit log, and the response for retries with the
 * same Idempotency-Key. Loop thread.
 *
 * A recorded call continues after its peer has disconnected, so that its result is recorded too. */
#pragma once

#include "api/call.h"

/* Records an authorized call, then calls `next` if it may proceed; otherwise responds. A call that
 * cannot be recorded, or that was executed before, does not proceed. Calls `next` immediately if
 * there is nothing to record. */
void record_begin(ApiCall *call, CallStep *next);
/* Records a denied call. */
void record_denied(ApiCall *call, const char *why);
/* Sets the name of the object if the server assigned it. */
void record_name(ApiCall *call, Str name);
/* Records the result. Calls `next` afterwards, even if recording fails, and immediately if there is
 * nothing to record. */
void record_end(ApiCall *call, CallStep *next);
/* The same for a streamed response, without waiting. */
void record_stream_end(ApiCall *call, bool is_complete);
