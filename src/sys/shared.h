/* Values shared by threads: one of each kind, created on first use, and used by one thread at a
 * time.
 *
 *     static const SharedKind index_kind = { sizeof(Index), index_clear };
 *     Index *index = shared_lock(shared, &index_kind);
 *     ...
 *     shared_unlock(shared, &index_kind);
 *
 * A kind is identified by its address. A thread that holds one value may lock another, always in
 * the same order. */
#pragma once

#include <stddef.h>

#include "base/own.h"

typedef struct SharedKind {
    size_t size;
    void (*clear)(void *value); /* called for a value that was used at least once; may be NULL */
} SharedKind;

typedef struct Shared Shared;

Shared *shared_new(void);
void shared_free(Shared *shared); /* NULL is allowed; no value may be locked */
DEFINE_AUTO(Shared, shared_free)

/* Waits until no other thread has it. On first use all its bytes are zero. */
void *shared_lock(Shared *shared, const SharedKind *kind);
void shared_unlock(Shared *shared, const SharedKind *kind);
