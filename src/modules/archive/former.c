#include "modules/archive/former.h"

enum {
    ENTRIES_MAX = 1 << 20
};

bool formers_read(Host *directory, Arena *arena, Str own, Formers *out, Error *err)
{
    Str *names;
    uint32_t count;
    *out = (Formers){ .count = 0 };
    if (!host_list(directory, arena, STR("/"), ENTRIES_MAX, &names, &count, err)) {
        return false;
    }
    out->paths = ARENA_ARRAY(arena, Str, count + 1);
    out->stamps = ARENA_ARRAY(arena, Stamp, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        Str path = arena_join(arena, STR("/"), names[i], STR_EMPTY);
        Stamp *stamp = &out->stamps[out->count];
        if (!stamp_is_path(path) || str_eq(path, own)) {
            continue;
        }
        if (!stamp_read(directory, arena, path, stamp, err)) {
            return false;
        }
        if (stamp->found) {
            out->paths[out->count++] = path;
        }
    }
    return true;
}

bool formers_overwrite(Formers *formers, Host *directory, Call *call, const StrMap *members,
                       MemberKeeps keeps, Error *err)
{
    for (uint32_t i = 0; i < formers->count; i++) {
        Stamp *stamp = &formers->stamps[i];
        bool lost = false;
        for (uint32_t j = 0; j < stamp->count; j++) {
            Staged *old = &stamp->members[j];
            const Staged *now = str_map_find(members, old->path);
            if (now != NULL && now->kind != MEMBER_DIRECTORY && old->kind != MEMBER_DIRECTORY &&
                old->size != STAMP_LOST && !keeps(call, old->path)) {
                old->size = STAMP_LOST;
                lost = true;
            }
        }
        if (lost && !stamp_write(directory, call->arena, formers->paths[i], stamp, err)) {
            return false;
        }
    }
    return true;
}

bool formers_forget(const Formers *formers, Host *directory, Error *err)
{
    for (uint32_t i = 0; i < formers->count; i++) {
        if (!host_remove(directory, formers->paths[i], err)) {
            return false;
        }
    }
    return true;
}
