#include "modules/pkg/planned.h"

#include "base/str_map.h"

typedef struct Released {
    Arena arena;
    StrMap names;
    bool is_used;
} Released;

static void released_clear(void *value)
{
    Released *released = value;
    if (released->is_used) {
        arena_clear(&released->arena);
    }
}

static const SharedKind released_kind = { sizeof(Released), released_clear };

void planned_release(Call *call, Str package)
{
    Shared *shared = host_shared(call->host);
    Released *released = shared_lock(shared, &released_kind);
    if (!released->is_used) {
        released->is_used = true;
        arena_init(&released->arena, ARENA_UNLIMITED);
        str_map_init(&released->names, &released->arena);
    }
    str_map_put(&released->names, arena_copy(&released->arena, package), NULL);
    shared_unlock(shared, &released_kind);
}

bool planned_is_released(Call *call, Str package)
{
    if (!call->planning) {
        return false;
    }
    Shared *shared = host_shared(call->host);
    Released *released = shared_lock(shared, &released_kind);
    bool is_released = released->is_used && str_map_has(&released->names, package);
    shared_unlock(shared, &released_kind);
    return is_released;
}
