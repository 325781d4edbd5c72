#include "modules/pkg/conffiles.h"

enum {
    CONFFILE_MAX = 16 << 20 /* bytes */
};

static bool list(Call *call, const PackageBackend *backend, const PackageItem *items,
                 uint32_t count, List **out, Error *err)
{
    *out = list_new(call->arena, 8);
    return backend->list_conffiles(call, items, count, *out, err) ||
           error_wrap(err, "cannot tell which configuration files there are");
}

static Str new_path(Call *call, const PackageBackend *backend, Value path)
{
    return arena_format(call->arena, "%" STR_FMT "%s", STR_ARG(value_str(path)),
                        backend->conffile_suffix);
}

bool conffiles_look(Call *call, const PackageBackend *backend, const PackageItem *items,
                    uint32_t count, ConffilesBefore *out, Error *err)
{
    List *paths;
    str_map_init(&out->inodes, call->arena);
    if (!list(call, backend, items, count, &paths, err)) {
        return false;
    }
    for (uint32_t i = 0; i < paths->len; i++) {
        FileInfo info;
        Str path = new_path(call, backend, paths->items[i]);
        if (!host_stat(call->host, path, &info, err)) {
            return false;
        }
        if (info.kind != FILE_ABSENT) {
            str_map_put(&out->inodes, path, (void *)(uintptr_t)info.inode);
        }
    }
    return true;
}

static bool replace(Call *call, Str path, Str from, const FileInfo *info, Error *err)
{
    FileWrite write = { .mode = info->mode, .uid = info->uid, .gid = info->gid };
    return call_keep(call, path, err) &&
           host_read(call->host, call->arena, from, CONFFILE_MAX, &write.content, err) &&
           host_write(call->host, path, &write, err) && host_remove(call->host, from, err);
}

bool conffiles_replace(Call *call, const PackageBackend *backend, const PackageItem *items,
                       uint32_t count, const ConffilesBefore *before, Error *err)
{
    List *paths;
    if (!list(call, backend, items, count, &paths, err)) {
        return false;
    }
    for (uint32_t i = 0; i < paths->len; i++) {
        FileInfo info;
        Str path = value_str(paths->items[i]), from = new_path(call, backend, paths->items[i]);
        if (!host_stat(call->host, from, &info, err)) {
            return false;
        }
        bool is_new = info.kind == FILE_REGULAR &&
                      (uintptr_t)str_map_find(&before->inodes, from) != (uintptr_t)info.inode;
        if (is_new && !replace(call, path, from, &info, err)) {
            return false;
        }
    }
    return true;
}
