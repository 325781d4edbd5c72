/* Unit names as sites write them: "ssh", "getty@tty1", "backup.timer", "srv-data.mount". */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#define UNIT_DIRECTORY "/etc/systemd/system"

enum {
    UNIT_NAME_MAX = 255
};

/* Appends ".service" to a name without a unit suffix. Fails with ERROR_INVALID if it is not a valid
 * unit name. */
MUST_CHECK bool unit_name_complete(Arena *arena, Str given, Str *out, Error *err);
/* Whether the name is a template such as "getty@.service", which is the file of many units but not
 * a unit itself. Here and below, `name` must be complete. */
bool unit_name_is_template(Str name);
Str unit_name_kind(Str name); /* "service" */
/* "getty" for "getty@tty1.service": usually the name of its package or program. */
Str unit_name_base(Str name);
/* "getty@.service" for "getty@tty1.service"; empty if it is not an instance. */
Str unit_name_template(Arena *arena, Str name);

/* "/etc/systemd/system/app.service", or "/etc/systemd/system/app.service.d/limits.conf" for a
 * drop-in "limits" or "limits.conf" (empty: none). */
MUST_CHECK bool unit_file_path(Arena *arena, Str name, Str dropin, Str *out, Error *err);
