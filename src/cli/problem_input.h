/* Problems that a server found in a site. */
#pragma once

#include "base/problems.h"
#include "lang/value.h"

/* Adds the problems of an "eden.problems/1" object. Paths are relative to `directory`, whose files
 * provide the excerpts; NULL: there is none. */
void problem_input_add(Problems *problems, Value object, const char *directory);
