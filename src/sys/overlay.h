/* A private copy of this machine: the process continues in an overlay of all file systems, where it
 * can change anything, and all changes are discarded.
 *
 *     if (!overlay_enter(&settings, &overlay, err)) ...      in a child, before any thread
 *     ... change anything
 *     if (!overlay_changes(overlay, arena, &list, err)) ...  list what has changed
 *
 * Each disk file system (and each tmpfs) below / gets its own overlay, so that separate mounts are
 * covered as well. Kernel file systems (proc, sys, dev) can be read and devices used, but state
 * that is shared with the rest of the machine cannot be changed (kernel_guard.h). Everything is
 * gone when the process exits.
 *
 * Requires root. In a user namespace it works with restrictions: files of users that are not mapped
 * cannot be changed, and /etc and /run are new directories (overlay_user.c). */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* A directory that is replaced inside, and created if it does not exist. */
typedef struct OverlayBind {
    const char *path;
    const char
        /* a directory that is bind-mounted there, so that writes to it persist; NULL: a new
         * tmpfs */
        *outside;
    bool is_read_only;
} OverlayBind;

typedef struct OverlaySettings {
    const char *directory; /* an empty directory outside, for mounts that only this process sees */
    bool network;          /* use the network of the machine; otherwise only a loopback interface */
    bool has_namespaces;   /* the process has its own namespaces already, including the network */
    const OverlayBind *binds;
    uint32_t bind_count;
} OverlaySettings;

typedef struct Overlay Overlay;

typedef enum OverlayChangeKind {
    OVERLAY_CREATED,
    OVERLAY_CHANGED,
    OVERLAY_REMOVED,
} OverlayChangeKind;
const char *overlay_change_name(OverlayChangeKind kind);

typedef struct OverlayChange {
    Str path; /* path inside */
    OverlayChangeKind kind;
} OverlayChange;

typedef struct OverlayChanges {
    OverlayChange *items;
    uint32_t count;
    uint32_t cap;
    bool truncated; /* truncated at OVERLAY_CHANGES_MAX */
} OverlayChanges;

enum {
    OVERLAY_CHANGES_MAX = 100000
};

/* The process must have no threads yet; when this returns true, it is inside. The overlay lives in
 * `arena`. */
MUST_CHECK bool overlay_enter(Arena *arena, const OverlaySettings *settings, Overlay **out,
                              Error *err);
/* The kernel caches the entries of an overlay by name and does not notice that a file outside was
 * created or replaced, as editors do when saving. This drops the cached entries of the copy's
 * overlays or, with NULL, of all overlays that the process sees. Files that programs inside have
 * open are unaffected. Does nothing if the kernel refuses. */
void overlay_refresh(const Overlay *overlay);
/* Lists what differs from outside, sorted by path. A directory that merely contains changes is not
 * listed. */
MUST_CHECK bool overlay_changes(Overlay *overlay, Arena *arena, OverlayChanges *out, Error *err);

/* Calls `function` in a child process, which may enter an overlay, with an empty directory that is
 * removed afterwards, and waits for it. The caller must have no threads. The return value becomes
 * `*code`; a child killed by signal N gives 128 + N. The child is in a separate PID namespace, so
 * all its descendants are killed when it exits; this requires root.
 *
 * SIGINT, SIGTERM and SIGHUP are passed to the child, where they are blocked until it opens them
 * (sys/signals.h), while this process continues to wait. */
MUST_CHECK bool overlay_process_run(int (*function)(void *context, const char *directory),
                                    void *context, int *code, Error *err);
