/* Names of units as sites write them: "ssh", "getty@tty1", "backup.timer", "srv-data.mount". */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#define UNIT_FOLDER "/etc/systemd/system"

enum {
    UNIT_NAME_MAX = 255
};

/* With ".service" behind a name that ends with no kind of unit. ERROR_INVALID for what cannot be
 * the name of one. */
MUST_CHECK bool unit_name_complete(Arena *arena, Str given, Str *out, Error *err);
/* "getty@.service": the file of many units, and itself none. `name` is complete here and below. */
bool unit_name_is_template(Str name);
Str unit_name_kind(Str name); /* "service" */
/* "getty" of "getty@tty1.service": what a package or program of it is mostly called. */
Str unit_name_base(Str name);
/* "getty@.service" of "getty@tty1.service"; empty: it is no instance. */
Str unit_name_template(Arena *arena, Str name);

/* "/etc/systemd/system/app.service", or "/etc/systemd/system/app.service.d/limits.conf" for a
 * drop-in "limits" or "limits.conf" (empty: none). */
MUST_CHECK bool unit_file_path(Arena *arena, Str name, Str dropin, Str *out, Error *err);
