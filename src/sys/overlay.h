/* This machine as a throwaway: the process goes on in a private copy of its file systems, where
 * everything can be changed and nothing stays.
 *
 *     if (!overlay_enter(&settings, &overlay, err)) ...      in a child, before any thread
 *     ... change what you like
 *     if (!overlay_changes(overlay, arena, &list, err)) ...  what came of it
 *
 * Each file system of the disk (and each tmpfs) below / gets an overlay of its own, so that what is
 * mounted apart is covered as well; kernel file systems (proc, sys, dev) can be read, and devices
 * used, but what everybody shares of the kernel cannot be changed (kernel_guard.h). It all ends with
 * the process. Needs the rights of root; those of a user namespace are enough for a copy in which
 * files belong to nobody that cannot be changed outside, and /etc and /run are new ones
 * (overlay_user.c). */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* A directory that is another one inside, and made when there is none. */
typedef struct OverlayPlace {
    const char *path;
    const char
        *outside; /* the directory that it is, and what is written there stays; NULL: a new one */
} OverlayPlace;

typedef struct OverlaySettings {
    const char *folder; /* an empty directory outside, for mounts that only this process sees */
    bool network;       /* keep the network, as it is; else only a loopback of its own */
    bool is_apart;      /* it has namespaces of its own already, also of the network */
    const OverlayPlace *places;
    uint32_t place_count;
} OverlaySettings;

typedef struct Overlay Overlay;

typedef enum OverlayChangeKind {
    OVERLAY_CREATED,
    OVERLAY_CHANGED,
    OVERLAY_REMOVED,
} OverlayChangeKind;
const char *overlay_change_name(OverlayChangeKind kind);

typedef struct OverlayChange {
    Str path; /* as seen inside */
    OverlayChangeKind kind;
} OverlayChange;

typedef struct OverlayChanges {
    OverlayChange *items;
    uint32_t count;
    uint32_t cap;
    bool cut; /* there are more than OVERLAY_CHANGES_MAX */
} OverlayChanges;

enum {
    OVERLAY_CHANGES_MAX = 100000
};

/* The process, which must have no threads yet, is inside when it answers true. The overlay lives
 * in `arena`. */
MUST_CHECK bool overlay_enter(Arena *arena, const OverlaySettings *settings, Overlay **out,
                              Error *err);
/* The kernel remembers by name what an overlay was seen to hold, and misses that a file outside was
 * replaced, as editors do when they save, or is new. This makes it look again, in the overlays of the
 * copy or, with NULL, in those that the process sees; what a program inside holds open stays as it is.
 * Where the kernel refuses, nothing changes. */
void overlay_refresh(const Overlay *overlay);
/* What differs from outside, sorted by path. A directory that only holds changes is none itself. */
MUST_CHECK bool overlay_changes(Overlay *overlay, Arena *arena, OverlayChanges *out, Error *err);
