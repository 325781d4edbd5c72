/* What help tells, as values, for `-o json`. Strings are borrowed from the rows. */
#pragma once

#include "cli/subject.h"

Value subject_value(Arena *arena, const Subject *subject);
Value subjects_value(Arena *arena, const Subjects *subjects);
/* All commands with their options, the topics and the exit codes: enough to build an interface
 * or a completion of one's own. */
Value program_value(Arena *arena);
