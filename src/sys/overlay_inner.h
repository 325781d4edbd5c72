/* Shared by the overlay*.c files; private. */
#pragma once

#include "base/vec.h"
#include "sys/overlay.h"

/* A covered file system. Paths are as seen inside. */
typedef struct OverlayCover {
    Str point;
    int upper;   /* directory: upper layer, with what was written */
    int outside; /* directory: the original, outside */
} OverlayCover;

typedef struct OverlayMount {
    Str point;
    Str type;
} OverlayMount;
typedef VEC(OverlayMount) OverlayMounts;

struct Overlay {
    Arena *arena;
    const char *directory; /* tmpfs with the upper layers */
    const char *inside;    /* below it: where the copy is assembled */
    bool is_user;          /* root only in a user namespace */
    OverlayMounts mounts;  /* outside */
    VEC(OverlayCover) covers;
};

/* The path of `point` in the copy before it is entered. */
const char *overlay_inside(const Overlay *overlay, Str point);
/* Whether `path` is `directory` or inside it. */
bool overlay_is_below(Str path, Str directory);
/* Covers one directory with an overlay. Unless the process is root outside of user namespaces, no
 * other file system may be mounted in it. */
MUST_CHECK bool overlay_cover(Overlay *overlay, Str point, Error *err);
/* Bind-mounts the kernel file system at `point`, with everything mounted below it, read-only. */
MUST_CHECK bool overlay_bind_read_only(Overlay *overlay, Str point, Error *err);
/* Mounts a new instance of the kernel file system, as seen from the process's namespaces. */
MUST_CHECK bool overlay_mount_kernel(Overlay *overlay, Str point, const char *type, Error *err);

/* Assembles the copy for a process that is root only in a user namespace. */
MUST_CHECK bool overlay_mount_as_user(Overlay *overlay, Error *err);
