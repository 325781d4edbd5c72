/* The parts of sys/overlay.h; nobody else includes this. */
#pragma once

#include "base/vec.h"
#include "sys/overlay.h"

/* One file system that is covered. Paths are as seen inside. */
typedef struct OverlayCover {
    Str point;
    int upper;   /* directory: what was written */
    int outside; /* directory: as it is outside */
} OverlayCover;

typedef struct OverlayMount {
    Str point;
    Str type;
} OverlayMount;
typedef VEC(OverlayMount) OverlayMounts;

struct Overlay {
    Arena *arena;
    const char *folder;   /* in memory: the writable halves */
    const char *inside;   /* below it: where the copy is mounted together */
    bool is_user;         /* it has only the rights of a user namespace */
    OverlayMounts mounts; /* as they are outside */
    VEC(OverlayCover) covers;
};

/* Where a path of the copy is before it is entered. */
const char *overlay_inside(const Overlay *overlay, Str point);
/* `path`, or something in it. */
bool overlay_is_below(Str path, Str folder);
/* An overlay for one directory, in which no other file system may be mounted unless the process has
 * the rights of root. */
MUST_CHECK bool overlay_cover(Overlay *overlay, Str point, Error *err);
/* The kernel's own there, with what is mounted below, to read only. */
MUST_CHECK bool overlay_share(Overlay *overlay, Str point, Error *err);
/* The kernel's own as seen from the process's namespaces. */
MUST_CHECK bool overlay_renew(Overlay *overlay, Str point, const char *type, Error *err);

/* All of the copy, where the process is root in a user namespace only. */
MUST_CHECK bool overlay_mount_as_user(Overlay *overlay, Error *err);
