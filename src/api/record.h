/* What is kept of a call beside its effect: that it was asked for and what came of it (audit), and the
 * answer, for who asks the same once more (Idempotency-Key). Loop thread.
 *
 * A call of which something is kept goes on when its peer has left: what came of it is known then. */
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
