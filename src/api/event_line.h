/* Events of a watch as lines of JSON: "eden.event/1". Pure.
 *
 *     start      changes after `revision` follow; `store` differs after a restore from backup
 *     put        a key has a value
 *     delete     a key was deleted
 *     progress   all changes up to `revision` have been sent
 *     resync     the history does not reach back to the start of the watch: the last line
 *     error      also the last line */
#pragma once

#include "base/buf.h"
#include "store/store.h"

void event_line_start(Buf *out, Str store, int64_t revision);
/* With `previous`, includes the previous value, or null. */
void event_line_put(Buf *out, const StoreEvent *event, bool previous);
void event_line_progress(Buf *out, int64_t revision);
void event_line_resync(Buf *out, int64_t compacted);
void event_line_error(Buf *out, const Error *err);
