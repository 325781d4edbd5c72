/* A program that is run from memory: exactly these bytes, whatever becomes of the file that they
 * were read from. It can be a binary or a script with "#!" on its first line; who runs it sees it as
 * a file that nobody, root included, can change. No file system has to allow it. */
#pragma once

#include "base/error.h"
#include "base/str.h"

/* A descriptor for ProcessSpec.program; `name` is for those who look at processes. */
MUST_CHECK bool program_seal(const char *name, Str bytes, int *out, Error *err);
void program_close(int program);
