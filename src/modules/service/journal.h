/* What a unit wrote to the journal, for the error of a step that it failed. */
#pragma once

#include "modules/call.h"

enum {
    JOURNAL_LINES_MAX = 20,
    JOURNAL_LINE_MAX = 300 /* bytes that are kept of a line */
};

/* The last lines that any of the units, or systemd about it, wrote since then (microseconds since
 * 1970; 0: ever), one below the other. Empty when there are none or they cannot be read. */
Str journal_tail(Call *call, const Str *units, uint32_t count, int64_t since_us);

/* Puts as much of the end of `tail` behind the text of `err` as fits there, and all of it into what
 * the step shows as error output. What systemd itself says of the units comes last to mind. */
void journal_tell(Call *call, Str tail, const Str *units, uint32_t count, Outcome *outcome,
                  Error *err);
