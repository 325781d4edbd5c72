/* What a watch tells, as lines of JSON: "eden.event/1". Pure.
 *
 *     start      what comes after `revision` will be told; `store` is another one after a backup was
 *                restored
 *     put        a key has a value
 *     delete     a key is gone
 *     progress   all changes up to `revision` have been told
 *     resync     the log does not reach back to where the watch should go on: the last line
 *     error      the last line, too */
#pragma once

#include "base/buf.h"
#include "store/store.h"

void event_line_start(Buf *out, Str store, int64_t revision);
/* With `previous`, what was there before, or null. */
void event_line_put(Buf *out, const StoreEvent *event, bool previous);
void event_line_progress(Buf *out, int64_t revision);
void event_line_resync(Buf *out, int64_t compacted);
void event_line_error(Buf *out, const Error *err);
