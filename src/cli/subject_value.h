/* Help as values, for `-o json`. Strings are borrowed from the rows. */
#pragma once

#include "cli/subject.h"

Value subject_value(Arena *arena, const Subject *subject);
Value subjects_value(Arena *arena, const Subjects *subjects);
/* All commands with their options, the topics and the exit codes: enough to build a user interface
 * or completion. */
Value program_value(Arena *arena);
