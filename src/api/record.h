/* Records of a call besides its effect: the request and its result (audit log), and the
 * response, for repeated requests (Idempotency-Key). Loop thread.
 *
 * A recorded call continues after its peer has disconnected, so that its result is known. */
#pragma once

#include "api/call.h"

/* Records an authorized call, then calls `go` if it may proceed; otherwise responds. Nothing is
 * done that cannot be recorded, or that was done before. Calls `go` immediately if there is nothing
 * to record. */
void record_begin(ApiCall *call, CallStep *go);
/* Records a denied call. */
void record_denied(ApiCall *call, const char *why);
/* Sets the name of an object that the server has named. */
void record_name(ApiCall *call, Str name);
/* Records the result. Calls `go` afterwards, even if recording fails, and immediately if there is
 * nothing to record. */
void record_end(ApiCall *call, CallStep *go);
/* The same for a streamed response, without waiting. */
void record_stream_end(ApiCall *call, bool is_whole);
