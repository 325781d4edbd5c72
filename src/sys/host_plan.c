/* Files that earlier steps of a plan would have created, changed or removed. */
#include <stdlib.h>

#include "base/memory.h"
#include "sys/host_inner.h"

enum {
    PLANNED_BYTES_MAX = 256 << 20 /* total size of recorded contents; later ones are not recorded */
};

/* Has its own lock, because the lock holder of the host may read files. */
struct HostPlan {
    pthread_mutex_t lock;
    Arena arena;
    StrMap files; /* path to PlannedFile */
    size_t bytes;
};

void host_plan_begin(Host *host)
{
    host->plan = memory_new(sizeof *host->plan);
    pthread_mutex_init(&host->plan->lock, NULL);
    arena_init(&host->plan->arena, ARENA_UNLIMITED);
    str_map_init(&host->plan->files, &host->plan->arena);
}

void host_plan_clear(Host *host)
{
    if (host->plan != NULL) {
        arena_clear(&host->plan->arena);
        pthread_mutex_destroy(&host->plan->lock);
        free(host->plan);
    }
}

void host_plan_put(Host *host, Str path, const PlannedFile *file)
{
    HostPlan *plan = host->plan;
    if (plan == NULL) {
        return;
    }
    pthread_mutex_lock(&host->plan->lock);
    plan->bytes += file->content.len;
    if (plan->bytes <= PLANNED_BYTES_MAX) {
        PlannedFile *kept = ARENA_NEW(&plan->arena, PlannedFile);
        *kept =
            (PlannedFile){ .info = file->info, .content = arena_copy(&plan->arena, file->content) };
        kept->info.planned = true;
        kept->info.size = (int64_t)file->content.len;
        str_map_put(&plan->files, arena_copy(&plan->arena, path), kept);
    }
    pthread_mutex_unlock(&host->plan->lock);
}

/* The path itself, or a parent that would be removed. */
static const PlannedFile *find(const HostPlan *plan, Str path)
{
    const PlannedFile *file = str_map_find(&plan->files, path);
    while (file == NULL && path.len > 1) {
        size_t slash = str_find_last(path, STR("/"));
        path = str_slice(path, 0, slash == STR_NOT_FOUND ? 0 : slash);
        const PlannedFile *above = str_map_find(&plan->files, path);
        if (above != NULL && above->info.kind == FILE_ABSENT) {
            file = above;
        }
    }
    return file;
}

bool host_plan_find(Host *host, Str path, PlannedFile *out)
{
    if (host->plan == NULL) {
        return false;
    }
    pthread_mutex_lock(&host->plan->lock);
    const PlannedFile *file = find(host->plan, path);
    if (file != NULL) {
        *out = *file;
    }
    pthread_mutex_unlock(&host->plan->lock);
    return file != NULL;
}
