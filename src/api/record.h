/* Records of a call besides its effect: the request and its result (audit log), and the
 * response, for repeated requests (Idempotency-Key). Loop thread.
 *
 * A recorded call continues after its peer has disconnected, so that its result is known. */
#pragma once

#include "api/call.h"

/* Of a call whose caller may. `go` follows when it may be done; else it was answered: nothing is done
 * that cannot be recorded, nor twice. Within, when there is nothing to keep. */
void record_begin(ApiCall *call, CallStep *go);
/* One that may not. */
void record_denied(ApiCall *call, const char *why);
/* What it is done to, when only the server knows that: it has given it its name. */
void record_name(ApiCall *call, Str name);
/* Its status and answer are there. `go` follows, also when they cannot be written. Within, when there
 * is nothing to keep. */
void record_end(ApiCall *call, CallStep *go);
/* The same of an answer in pieces, for which nobody waits. */
void record_stream_end(ApiCall *call, bool is_whole);
