/* Formats dates in UTC and in English, regardless of the locale of the process. */
#pragma once

#include <stdint.h>

#include "base/buf.h"

/* Range of seconds since 1970 that strftime_put accepts: the years 1 to 9999. */
#define STRFTIME_MIN INT64_C(-62135596800)
#define STRFTIME_MAX INT64_C(253402300799)

/* Formats according to `format` with the directives of Python's strftime: %a %A %b %B %c %C %d %D
 * %e %F %g %G %h %H %I %j %k %l %m %M %n %p %r %R %s %S %t %T %u %U %V %w %W %x %X %y %Y %z %Z %f
 * %%. Others are copied verbatim. `seconds` must be between STRFTIME_MIN and STRFTIME_MAX; `micros`
 * is the fraction for %f. */
void strftime_put(Str format, int64_t seconds, uint32_t micros, Buf *out);
