/* Questions to the name service of this machine, as libc is set up to ask (nsswitch.conf). Without
 * getent people are those of the files. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

/* What `getent DATABASE KEY` prints, all lines, without the last line end. ERROR_NOT_FOUND when
 * there is no such entry, or nobody to ask. */
MUST_CHECK bool name_service_ask(Arena *arena, const char *database, Str key, Str *out, Error *err);
