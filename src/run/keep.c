#include "run/keep.h"

#include <stdlib.h>

#include "sys/sha256.h"

enum {
    LISTED_MAX = 1 << 20
};

/* Limit for all contents, depending on the size of the disk. */
static int64_t bytes_most(const Keep *keep, int64_t bytes_max)
{
    int64_t share = directory_disk_size(&keep->directory) / KEEP_SHARE;
    return share < bytes_max ? share : bytes_max;
}

bool keep_open(const Directory *state, bool sync, Keep *out, Error *err)
{
    out->sync = sync;
    atomic_init(&out->stored, false);
    if (!directory_make_child(state, "keep", &out->directory, err)) {
        return false;
    }
    atomic_init(&out->room, bytes_most(out, KEEP_BYTES_MAX));
    return true;
}

void keep_close(Keep *keep)
{
    directory_close(&keep->directory);
}

bool keep_content(Keep *keep, Str content, Arena *arena, Str *name, Error *err)
{
    char hex[SHA256_HEX + 1];
    sha256_hex(content, hex);
    /* Existing content counts as recent again. */
    if (!directory_touch(&keep->directory, hex)) {
        if (!directory_write(&keep->directory, hex, content, keep->sync, err)) {
            return false;
        }
        atomic_store(&keep->stored, true);
        atomic_fetch_sub(&keep->room, (long long)content.len);
    }
    *name = str_from(arena_copy_c(arena, str_from(hex, SHA256_HEX)), SHA256_HEX);
    return true;
}

static bool is_name(Str name)
{
    bool ok = name.len == SHA256_HEX;
    for (size_t i = 0; ok && i < name.len; i++) {
        ok = ascii_hex_value(name.data[i]) >= 0 && ascii_lower(name.data[i]) == name.data[i];
    }
    return ok;
}

/* --- Paths --------------------------------------------------------------------------------- */

typedef struct Walk {
    Keep *keep;
    Host *host;
    KeepNote note;
    void *context;
    uint32_t entries;
} Walk;

static bool keep_one(Walk *walk, Arena *arena, Str path, const FileInfo *info, Error *err)
{
    KeptState state = {
        .path = path,
        .size = info->size,
        .mode = info->mode,
        .uid = info->uid,
        .gid = info->gid,
    };
    switch (info->kind) {
    case FILE_ABSENT: state.kind = STR("absent"); break;
    case FILE_DIRECTORY: state.kind = STR("directory"); break;
    case FILE_OTHER: state.kind = STR("other"); break;
    case FILE_LINK:
        state.kind = STR("link");
        if (!host_read_link(walk->host, arena, path, &state.target, err)) {
            return false;
        }
        break;
    case FILE_REGULAR: {
        state.kind = STR("file");
        Str content;
        /* Files of other users could fill the disk before anything is pruned: holes take no space
         * in the original, but do here. */
        if (info->size <= KEEP_FILE_MAX && info->size <= atomic_load(&walk->keep->room) &&
            (!host_read(walk->host, arena, path, KEEP_FILE_MAX, &content, err) ||
             !keep_content(walk->keep, content, arena, &state.content, err))) {
            return false;
        }
        break;
    }
    }
    return walk->note(walk->context, &state, err);
}

static bool keep_tree(Walk *walk, Str path, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    FileInfo info;
    if (!host_stat(walk->host, path, &info, err) || !keep_one(walk, &arena, path, &info, err)) {
        return false;
    }
    Str *names;
    uint32_t count;
    if (info.kind != FILE_DIRECTORY || walk->entries >= KEEP_TREE_MAX) {
        return true;
    }
    if (!host_list(walk->host, &arena, path, KEEP_TREE_MAX, &names, &count, err)) {
        /* A huge directory is not kept; only its existence is recorded. */
        return err->kind == ERROR_LIMIT;
    }
    for (uint32_t i = 0; i < count && walk->entries < KEEP_TREE_MAX; i++) {
        walk->entries++;
        Str child = arena_format(&arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(path),
                                 str_ends(path, STR("/")) ? "" : "/", STR_ARG(names[i]));
        if (!keep_tree(walk, child, err)) {
            return false;
        }
    }
    return true;
}

bool keep_path(Keep *keep, Host *host, Str path, KeepNote note, void *context, Error *err)
{
    Walk walk = { .keep = keep, .host = host, .note = note, .context = context };
    return keep_tree(&walk, path, err);
}

/* --- Limits -------------------------------------------------------------------------------- */

static int compare_ages(const void *a, const void *b)
{
    int64_t x = ((const DirectoryEntry *)a)->mtime_ns, y = ((const DirectoryEntry *)b)->mtime_ns;
    return x < y ? 1 : x > y ? -1 : 0;
}

bool keep_prune(const Keep *keep, uint32_t files_max, int64_t bytes_max, Error *err)
{
    if (!atomic_load(&keep->stored)) {
        return true;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    DirectoryEntry *entries;
    uint32_t count, files = 0;
    int64_t bytes = 0;
    if (!directory_list(&keep->directory, &arena, LISTED_MAX, &entries, &count, err)) {
        return false;
    }
    if (count > 1) {
        qsort(entries, count, sizeof *entries, compare_ages);
    }
    bytes_max = bytes_most(keep, bytes_max);
    for (uint32_t i = 0; i < count; i++) {
        bool is_content = is_name(entries[i].name);
        if (is_content && files < files_max && bytes + entries[i].size <= bytes_max) {
            files++;
            bytes += entries[i].size;
        } else if (!directory_remove(&keep->directory, entries[i].name.data, err)) {
            return false;
        }
    }
    return true;
}
