#include "sys/shared.h"

#include <pthread.h>

#include "base/arena.h"
#include "base/bug.h"

typedef struct SharedValue SharedValue;
struct SharedValue {
    const SharedKind *kind;
    pthread_mutex_t mutex;
    SharedValue *next;
    max_align_t bytes[];
};

struct Shared {
    Arena arena;
    pthread_mutex_t mutex; /* protects the list and the arena */
    SharedValue *first;
};

Shared *shared_new(void)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Shared *shared = ARENA_NEW(&arena, Shared);
    shared->arena = arena;
    pthread_mutex_init(&shared->mutex, NULL);
    return shared;
}

void shared_free(Shared *shared)
{
    if (shared == NULL) {
        return;
    }
    for (SharedValue *value = shared->first; value != NULL; value = value->next) {
        if (value->kind->clear != NULL) {
            value->kind->clear(value->bytes);
        }
        pthread_mutex_destroy(&value->mutex);
    }
    pthread_mutex_destroy(&shared->mutex);
    Arena arena = shared->arena; /* the arena contains `shared` itself */
    arena_clear(&arena);
}

static SharedValue *find(const Shared *shared, const SharedKind *kind)
{
    SharedValue *value = shared->first;
    while (value != NULL && value->kind != kind) {
        value = value->next;
    }
    return value;
}

static SharedValue *add(Shared *shared, const SharedKind *kind)
{
    SharedValue *value = arena_alloc_zero(&shared->arena, sizeof *value + kind->size);
    value->kind = kind;
    pthread_mutex_init(&value->mutex, NULL);
    value->next = shared->first;
    shared->first = value;
    return value;
}

void *shared_lock(Shared *shared, const SharedKind *kind)
{
    pthread_mutex_lock(&shared->mutex);
    SharedValue *value = find(shared, kind);
    if (value == NULL) {
        value = add(shared, kind);
    }
    pthread_mutex_unlock(&shared->mutex);
    pthread_mutex_lock(&value->mutex);
    return value->bytes;
}

void shared_unlock(Shared *shared, const SharedKind *kind)
{
    pthread_mutex_lock(&shared->mutex);
    SharedValue *value = find(shared, kind);
    pthread_mutex_unlock(&shared->mutex);
    BUG_IF(value == NULL);
    pthread_mutex_unlock(&value->mutex);
}
