/* The data that a node has received from one watch of its session, as its agent stores it on disk:
 * keys and values at one revision ("eden.watched/1"). Pure. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"
#include "lang/value.h"

enum {
    WATCHED_MAX = 8 << 20, /* maximum size of the file */
};

/* File in the agent's directory with the node's own record. */
#define WATCHED_NODE      "node"
#define WATCHED_NODE_FILE "watched-" WATCHED_NODE ".json"

typedef struct WatchedEntry {
    Str key, value;
    bool deleted; /* set in pending changes only */
} WatchedEntry;

/* Allocated in its own arena. */
typedef struct WatchedImage {
    Arena arena;
    Str store;
    int64_t revision;
    VEC(WatchedEntry) entries;
    Value unknown; /* fields that a newer agent wrote */
} WatchedImage;

void watched_image_init(WatchedImage *image);
void watched_image_clear(WatchedImage *image); /* to the state after watched_image_init */
DEFINE_AUTO_CLEAR(WatchedImage, watched_image_clear)

WatchedEntry *watched_image_find(const WatchedImage *image, Str key); /* NULL if not found */
void watched_image_add(WatchedImage *image, const WatchedEntry *entry);

void watched_image_print(const WatchedImage *image, Buf *out);
/* `out` must be empty. Fails with ERROR_INVALID. */
MUST_CHECK bool watched_image_read(Str text, WatchedImage *out, Error *err);
