#include "modules/archive/clean.h"

#include <stdlib.h>

/* A stamp lies where others may write too: only what could be a member is believed. */
static bool is_former(const Cleaning *cleaning, const Staged *old)
{
    Str path;
    Error ignored;
    return str_map_find(cleaning->members, old->path) == NULL && old->path.len > 0 &&
           member_path(cleaning->call->arena, old->path, 0, &path, &ignored) &&
           str_eq(path, old->path) && !cleaning->keeps(cleaning->call, old->path);
}

static bool remove_one(Cleaning *cleaning, const Staged *old, Error *err)
{
    Str place = member_place(cleaning->call->arena, old->path);
    FileInfo info;
    FileKind kind = old->kind == MEMBER_LINK ? FILE_LINK : FILE_REGULAR;
    if (!host_stat(cleaning->directory, place, &info, err)) {
        return false;
    }
    if (info.kind != kind) {
        return true;
    }
    return call_keep(cleaning->call,
                     arena_join(cleaning->call->arena, cleaning->path, place, STR_EMPTY), err) &&
           host_remove(cleaning->directory, place, err);
}

/* Somebody else's files keep it. */
static bool remove_empty(Cleaning *cleaning, Str path, Error *err)
{
    Str place = member_place(cleaning->call->arena, path), *names;
    FileInfo info;
    uint32_t count = 0;
    if (!host_stat(cleaning->directory, place, &info, err)) {
        return false;
    }
    if (info.kind != FILE_DIRECTORY) {
        return true;
    }
    if (!host_list(cleaning->directory, cleaning->call->arena, place, 1, &names, &count, err)) {
        return err->kind == ERROR_LIMIT;
    }
    return count > 0 || host_remove(cleaning->directory, place, err);
}

/* What is inside comes before what it is in. */
static int compare_backwards(const void *a, const void *b)
{
    return str_compare(*(const Str *)b, *(const Str *)a);
}

bool clean_members(Cleaning *cleaning, const Stamp *stamps, uint32_t count, Error *err)
{
    VEC(Str) directories = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < stamps[i].count; j++) {
            const Staged *old = &stamps[i].members[j];
            if (!is_former(cleaning, old)) {
                continue;
            }
            if (old->kind == MEMBER_DIRECTORY) {
                VEC_PUSH(cleaning->call->arena, &directories, old->path);
            } else if (!remove_one(cleaning, old, err)) {
                return false;
            }
        }
    }
    if (directories.len > 1) {
        qsort(directories.items, directories.len, sizeof(Str), compare_backwards);
    }
    for (uint32_t i = 0; i < directories.len; i++) {
        if (!remove_empty(cleaning, directories.items[i], err)) {
            return false;
        }
    }
    return true;
}
