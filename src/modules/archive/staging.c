#include "modules/archive/staging.h"

enum {
    NAMES_MAX = 64 << 20,
    MODE_MASK = 0777, /* set-user-ID and set-group-ID bits are never extracted */
    PARENT_MODE = 0755,
    NANOSECONDS = 1000000000,
};

Str staged_path(Arena *arena, Str path)
{
    return arena_join(arena, STR("/"), path, STR_EMPTY);
}

static StagedMember *add_staged(Staging *staging, const StagedMember *staged)
{
    StagedMember *kept = arena_alloc(staging->call->arena, sizeof *kept);
    *kept = *staged;
    str_map_put(&staging->members, kept->path, kept);
    return kept;
}

/* --- Creating members ------------------------------------------------------------------------ */

static bool create_directory(Staging *staging, Str path, mode_t mode, Error *err)
{
    StagedMember staged = {
        .path = path, .kind = MEMBER_DIRECTORY, .target = STR_EMPTY, .mode = mode
    };
    add_staged(staging, &staged);
    return host_make_directory(staging->inside, staged_path(staging->call->arena, path), 0700,
                               false, err);
}

/* Creates the parent directories, which the archive need not list. */
static bool create_parents(Staging *staging, Str path, Error *err)
{
    for (size_t at = 1; at < path.len; at++) {
        if (path.data[at] != '/') {
            continue;
        }
        Str parent = str_slice(path, 0, at);
        const StagedMember *known = str_map_find(&staging->members, parent);
        if (known != NULL && known->kind != MEMBER_DIRECTORY) {
            return error_set(err, ERROR_INVALID,
                             "passes through something that is not a directory");
        }
        if (known == NULL && !create_directory(staging, parent, PARENT_MODE, err)) {
            return false;
        }
    }
    return true;
}

/* A later member of the same name replaces the earlier one. */
static bool clear_path(Staging *staging, const StagedMember *staged, const StagedMember *before,
                       Error *err)
{
    if (before == NULL) {
        return true;
    }
    if ((before->kind == MEMBER_DIRECTORY) != (staged->kind == MEMBER_DIRECTORY)) {
        return error_set(err, ERROR_INVALID, "exists twice, once as a directory");
    }
    return before->kind == MEMBER_DIRECTORY ||
           host_remove(staging->inside, staged_path(staging->call->arena, staged->path), err);
}

static bool create_hard_link(Staging *staging, const StagedMember *staged, Error *err)
{
    const StagedMember *file = str_map_find(&staging->members, staged->target);
    if (file == NULL || (file->kind != MEMBER_FILE && file->kind != MEMBER_HARD_LINK)) {
        return error_set(err, ERROR_INVALID, "is a hard link to a file that does not precede it");
    }
    return host_make_hard_link(staging->inside, staged_path(staging->call->arena, staged->path),
                               staged_path(staging->call->arena, staged->target), err);
}

static bool create_member(Staging *staging, const StagedMember *staged, Error *err)
{
    Str place = staged_path(staging->call->arena, staged->path);
    StagedMember *before = str_map_find(&staging->members, staged->path);
    if (!create_parents(staging, staged->path, err) || !clear_path(staging, staged, before, err)) {
        return false;
    }
    switch (staged->kind) {
    case MEMBER_DIRECTORY:
        if (before != NULL) {
            before->mode = staged->mode;
            return true;
        }
        return create_directory(staging, staged->path, staged->mode, err);
    case MEMBER_LINK:
        if (!host_make_link(staging->inside, place, staged->target, err)) {
            return false;
        }
        break;
    case MEMBER_HARD_LINK:
        if (!create_hard_link(staging, staged, err)) {
            return false;
        }
        break;
    case MEMBER_FILE:
        if (!host_writer_open(staging->inside, place, &staging->writer, err)) {
            return false;
        }
        break;
    }
    staging->current = add_staged(staging, staged);
    return true;
}

/* --- Sink ------------------------------------------------------------------------------------ */

static bool count_member(Staging *staging, const Member *member, Error *err)
{
    staging->names += member->name.len + member->target.len;
    if (++staging->count > staging->max_count || staging->names > NAMES_MAX) {
        return error_set(err, ERROR_LIMIT, "the archive has more than %u members",
                         staging->max_count);
    }
    if (member->size > staging->max_size - staging->size) {
        return error_set(err, ERROR_LIMIT, "the archive is larger than 'max_size' allows");
    }
    staging->size += member->size;
    return true;
}

/* Validates the target of a link and stores it. */
static bool stage_target(Staging *staging, const Member *member, StagedMember *staged, Error *err)
{
    Arena *arena = staging->call->arena;
    if (member->kind == MEMBER_HARD_LINK) {
        if (!member_path(arena, member->target, staging->strip, &staged->target, err)) {
            return false;
        }
        return staged->target.len > 0 ||
               error_set(err, ERROR_INVALID,
                         "'%" STR_FMT
                         "' in the archive is a hard link to a member that 'strip' removed",
                         STR_ARG(staged->path));
    }
    if (member->kind == MEMBER_LINK) {
        if (!member_link_is_safe(staged->path, member->target)) {
            return error_set(err, ERROR_INVALID,
                             "'%" STR_FMT "' in the archive is a link to '%" STR_FMT
                             "', outside the directory",
                             STR_ARG(staged->path), STR_ARG(str_slice(member->target, 0, 100)));
        }
        staged->target = arena_copy(arena, member->target);
    }
    return true;
}

static bool staging_begin(void *context, const Member *member, Error *err)
{
    Staging *staging = context;
    StagedMember staged = { .kind = member->kind,
                            .target = STR_EMPTY,
                            .size = (int64_t)member->size,
                            .mtime_s = member->mtime_s,
                            .mode = member->mode & MODE_MASK };
    if (!count_member(staging, member, err) ||
        !member_path(staging->call->arena, member->name, staging->strip, &staged.path, err)) {
        return false;
    }
    if (staged.path.len == 0) {
        return true;
    }
    return stage_target(staging, member, &staged, err) &&
           (create_member(staging, &staged, err) ||
            error_wrap(err, "'%" STR_FMT "' in the archive", STR_ARG(staged.path)));
}

static bool staging_data(void *context, Str piece, Error *err)
{
    Staging *staging = context;
    return staging->writer == NULL || host_writer_put(staging->writer, piece, err);
}

static bool staging_end(void *context, Error *err)
{
    Staging *staging = context;
    if (staging->writer == NULL) {
        return true;
    }
    const StagedMember *staged = staging->current;
    bool ok = host_writer_finish(staging->writer, staging->uid, staging->gid, staged->mode,
                                 staged->mtime_s, err);
    host_writer_close(staging->writer);
    staging->writer = NULL;
    return ok;
}

void staging_init(Staging *staging)
{
    str_map_init(&staging->members, staging->call->arena);
}

MemberSink staging_sink(Staging *staging)
{
    return (MemberSink){ staging, staging_begin, staging_data, staging_end };
}

/* A hard link has the attributes of its file. */
static bool resolve_hard_link(Staging *staging, StagedMember *staged, Error *err)
{
    FileInfo info;
    if (!host_stat(staging->inside, staged_path(staging->call->arena, staged->path), &info, err)) {
        return false;
    }
    staged->size = info.size;
    staged->mode = info.mode;
    staged->mtime_s = info.mtime_ns / NANOSECONDS;
    staged->target = STR_EMPTY;
    staged->kind = MEMBER_FILE;
    return true;
}

bool staging_finish(Staging *staging, Error *err)
{
    VEC(const StagedMember *) directories = { 0 };
    bool owned = staging->uid != HOST_KEEP_ID || staging->gid != HOST_KEEP_ID;
    uint32_t at = 0;
    for (const StrMapEntry *entry; (entry = str_map_next(&staging->members, &at)) != NULL;) {
        StagedMember *staged = entry->value;
        if (staged->kind == MEMBER_HARD_LINK && !resolve_hard_link(staging, staged, err)) {
            return false;
        }
        if (staged->kind == MEMBER_DIRECTORY) {
            VEC_PUSH(staging->call->arena, &directories, staged);
        }
        if (owned && staged->kind != MEMBER_FILE &&
            !host_set_owner(staging->inside, staged_path(staging->call->arena, staged->path),
                            staging->uid, staging->gid, err)) {
            return false;
        }
    }
    /* Process content before its directory, because the directory's mode could make it inaccessible
     * to us. */
    for (uint32_t i = directories.len; i > 0; i--) {
        const StagedMember *staged = directories.items[i - 1];
        if (!host_set_mode(staging->inside, staged_path(staging->call->arena, staged->path),
                           staged->mode, err)) {
            return false;
        }
    }
    return true;
}

void staging_clear(Staging *staging)
{
    host_writer_close(staging->writer);
    staging->writer = NULL;
}
