/* A program that is run from memory: exactly these bytes, regardless of what happens to the file
 * they were read from. It can be a binary or a script with "#!" on its first line, and cannot be
 * modified by anyone, including root. Mounts with noexec do not matter. */
#pragma once

#include "base/error.h"
#include "base/str.h"

/* Returns a descriptor for ProcessSpec.program; `name` is shown in process lists. */
MUST_CHECK bool program_seal(const char *name, Str bytes, int *out, Error *err);
void program_close(int program);
