/* Journal messages from a unit, for the error of a step that failed because of it. */
#pragma once

#include "modules/call.h"

enum {
    JOURNAL_LINES_MAX = 20,
    JOURNAL_LINE_MAX = 300 /* maximum length of a line, in bytes */
};

/* Returns the last lines that any of the units wrote, or systemd wrote about them, after `since_us`
 * (microseconds since 1970; 0: all), separated by newlines. Empty if there are none or they cannot
 * be read. */
Str journal_tail(Call *call, const Str *units, uint32_t count, int64_t since_us);

/* Appends the end of `tail` to the message of `err`, as far as it fits, and all of it to the error
 * output of the step. Prefers messages from the units over those from systemd about them. */
void journal_add_to_error(Call *call, Str tail, const Str *units, uint32_t count, Outcome *outcome,
                          Error *err);
