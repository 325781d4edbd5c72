/* Queries the name service of this machine as configured in nsswitch.conf, with getent. Without
 * getent, users and groups come from the files only. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

/* The output of `getent DATABASE KEY`, all lines, without the last newline. ERROR_NOT_FOUND if
 * there is no such entry, or no getent. */
MUST_CHECK bool name_service_query(Arena *arena, const char *database, Str key, Str *out,
                                   Error *err);
