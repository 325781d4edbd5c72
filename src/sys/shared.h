/* Values that threads have in common: one of each kind, made when first asked for, and used by one
 * thread at a time.
 *
 *     static const SharedKind index_kind = { sizeof(Index), index_clear };
 *     Index *index = shared_lock(shared, &index_kind);
 *     ...
 *     shared_unlock(shared, &index_kind);
 *
 * A kind is known by its address. Who holds one may lock another, always in the same order. */
#pragma once

#include <stddef.h>

#include "base/own.h"

typedef struct SharedKind {
    size_t size;
    void (*clear)(void *value); /* of one that was asked for at least once; NULL: nothing to do */
} SharedKind;

typedef struct Shared Shared;

Shared *shared_new(void);
void shared_free(Shared *shared); /* NULL is fine; nobody may hold anything */
DEFINE_AUTO(Shared, shared_free)

/* Waits until nobody else has it. All bytes are zero when it is asked for the first time. */
void *shared_lock(Shared *shared, const SharedKind *kind);
void shared_unlock(Shared *shared, const SharedKind *kind);
