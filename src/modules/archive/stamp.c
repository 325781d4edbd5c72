/* A stamp may be in a directory that other users can write to. Only paths that are valid for a
 * member are accepted, and only files and links of the recorded kind are removed, so a forged stamp
 * cannot remove anything outside of its directory.
 *
 * The format is a list of rows without field names rather than a record table, because an archive
 * can have a million members. */
#include "modules/archive/stamp.h"

#include <stdlib.h>

#include "base/buf.h"
#include "lang/json.h"
#include "sys/sha256.h"

enum {
    STAMP_MAX = 256 << 20,
    ENTRIES_MAX = 1 << 20,
    SHOWN_DIGITS = 16,
    MODE_STAMP = 0600,
};

#define PREFIX "/.eden-archive-"
#define FORMAT STR("eden.archive/1")

static const struct {
    MemberKind kind;
    const char *letter;
} letters[] = { { MEMBER_FILE, "f" }, { MEMBER_DIRECTORY, "d" }, { MEMBER_LINK, "l" } };

Str stamp_path(Arena *arena, Str archive)
{
    char hex[SHA256_HEX + 1];
    sha256_hex(archive, hex);
    return arena_format(arena, PREFIX "%.*s", SHOWN_DIGITS, hex);
}

static bool stamp_is_path(Str path)
{
    return str_starts(path, STR(PREFIX)) && path.len == STR(PREFIX).len + SHOWN_DIGITS;
}

/* --- Reading --------------------------------------------------------------------------------- */

static bool get_text(Value map, const char *key, Str *out)
{
    const Value *value = value_get(map, str_from_c(key));
    if (value == NULL || !value_is_string(*value)) {
        return false;
    }
    *out = value_str(*value);
    return true;
}

static bool get_number(Value map, const char *key, int64_t *out)
{
    const Value *value = value_get(map, str_from_c(key));
    if (value == NULL || value->kind != VALUE_INT) {
        return false;
    }
    *out = value->integer;
    return true;
}

/* [path, letter, size or target, time, mode] */
static bool read_member(Value row, StagedMember *out)
{
    if (row.kind != VALUE_LIST || row.list->len != 5) {
        return false;
    }
    const Value *items = row.list->items;
    bool is_link = value_is_string(items[2]);
    if (!value_is_string(items[0]) || !value_is_string(items[1]) ||
        (!is_link && items[2].kind != VALUE_INT) || items[3].kind != VALUE_INT ||
        items[4].kind != VALUE_INT) {
        return false;
    }
    *out = (StagedMember){ .path = value_str(items[0]),
                           .target = is_link ? value_str(items[2]) : STR_EMPTY,
                           .size = is_link ? 0 : items[2].integer,
                           .mtime_s = items[3].integer,
                           .mode = (mode_t)items[4].integer };
    for (size_t i = 0; i < COUNT_OF(letters); i++) {
        if (str_eq_c(value_str(items[1]), letters[i].letter)) {
            out->kind = letters[i].kind;
            return true;
        }
    }
    return false;
}

static bool read_all(Arena *arena, Value v, Stamp *out)
{
    Str format;
    int64_t strip, inode;
    const Value *members = value_get(v, STR("members"));
    if (v.kind != VALUE_MAP || !get_text(v, "format", &format) || !str_eq(format, FORMAT) ||
        !get_text(v, "digest", &out->digest) || !get_number(v, "strip", &strip) ||
        !get_number(v, "source_size", &out->source_size) ||
        !get_number(v, "source_mtime_ns", &out->source_mtime_ns) ||
        !get_number(v, "source_inode", &inode) || members == NULL || members->kind != VALUE_LIST) {
        return false;
    }
    out->strip = (uint32_t)strip;
    out->source_inode = (uint64_t)inode;
    out->count = members->list->len;
    out->members = ARENA_ARRAY(arena, StagedMember, out->count + 1);
    for (uint32_t i = 0; i < out->count; i++) {
        if (!read_member(members->list->items[i], &out->members[i])) {
            return false;
        }
    }
    return true;
}

bool stamp_read(Host *directory, Arena *arena, Str path, Stamp *out, Error *err)
{
    FileInfo info;
    Str text;
    Value v;
    Error damaged;
    *out = (Stamp){ .found = false };
    if (!host_inspect(directory, arena, path, STAMP_MAX, &info, &text, err)) {
        return false;
    }
    if (info.kind != FILE_REGULAR || !json_parse_text(arena, text, NULL, &v, &damaged)) {
        return true;
    }
    if (read_all(arena, v, out)) {
        out->found = true;
    } else {
        *out = (Stamp){ .found = false };
    }
    return true;
}

/* --- Writing --------------------------------------------------------------------------------- */

static void put_member(Buf *out, const StagedMember *member)
{
    json_print_string(out, member->path, NULL);
    for (size_t i = 0; i < COUNT_OF(letters); i++) {
        if (letters[i].kind == member->kind) {
            buf_put_format(out, ",\"%s\",", letters[i].letter);
        }
    }
    if (member->kind == MEMBER_LINK && member->size != STAMP_SIZE_REPLACED) {
        json_print_string(out, member->target, NULL);
    } else {
        buf_put_format(out, "%lld", (long long)member->size);
    }
    buf_put_format(out, ",%lld,%u", (long long)member->mtime_s, member->mode);
}

bool stamp_write(Host *directory, Arena *arena, Str path, const Stamp *stamp, Error *err)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_format(&out, "{\"format\":\"%" STR_FMT "\",\"digest\":\"%" STR_FMT "\",\"strip\":%u,\n",
                   STR_ARG(FORMAT), STR_ARG(stamp->digest), stamp->strip);
    buf_put_format(&out, "\"source_size\":%lld,\"source_mtime_ns\":%lld,\"source_inode\":%lld,\n",
                   (long long)stamp->source_size, (long long)stamp->source_mtime_ns,
                   (long long)stamp->source_inode);
    buf_put_c(&out, "\"members\":[\n");
    for (uint32_t i = 0; i < stamp->count; i++) {
        buf_put_c(&out, "[");
        put_member(&out, &stamp->members[i]);
        buf_put_c(&out, i + 1 < stamp->count ? "],\n" : "]\n");
    }
    buf_put_c(&out, "]}\n");
    FileWrite write = {
        .content = buf_str(&out), .mode = MODE_STAMP, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    return host_write(directory, path, &write, err);
}

/* --- Other archives in the same directory ---------------------------------------------------- */

bool other_stamps_read(Host *directory, Arena *arena, Str own, OtherStamps *out, Error *err)
{
    Str *names;
    uint32_t count;
    *out = (OtherStamps){ .count = 0 };
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

bool other_stamps_overwrite(OtherStamps *others, Host *directory, Call *call, const StrMap *members,
                            MemberFilter keeps, Error *err)
{
    for (uint32_t i = 0; i < others->count; i++) {
        Stamp *stamp = &others->stamps[i];
        bool lost = false;
        for (uint32_t j = 0; j < stamp->count; j++) {
            StagedMember *old = &stamp->members[j];
            const StagedMember *now = str_map_find(members, old->path);
            if (now != NULL && now->kind != MEMBER_DIRECTORY && old->kind != MEMBER_DIRECTORY &&
                old->size != STAMP_SIZE_REPLACED && !keeps(call, old->path)) {
                old->size = STAMP_SIZE_REPLACED;
                lost = true;
            }
        }
        if (lost && !stamp_write(directory, call->arena, others->paths[i], stamp, err)) {
            return false;
        }
    }
    return true;
}

bool other_stamps_remove(const OtherStamps *others, Host *directory, Error *err)
{
    for (uint32_t i = 0; i < others->count; i++) {
        if (!host_remove(directory, others->paths[i], err)) {
            return false;
        }
    }
    return true;
}

/* --- Cleanup --------------------------------------------------------------------------------- */

static bool is_other_stamp(const StampCleanup *cleanup, const StagedMember *old)
{
    Str path;
    Error ignored;
    return str_map_find(cleanup->members, old->path) == NULL && old->path.len > 0 &&
           member_path(cleanup->call->arena, old->path, 0, &path, &ignored) &&
           str_eq(path, old->path) && !cleanup->keeps(cleanup->call, old->path);
}

static bool remove_one(StampCleanup *cleanup, const StagedMember *old, Error *err)
{
    Str place = staged_path(cleanup->call->arena, old->path);
    FileInfo info;
    FileKind kind = old->kind == MEMBER_LINK ? FILE_LINK : FILE_REGULAR;
    if (!host_stat(cleanup->directory, place, &info, err)) {
        return false;
    }
    if (info.kind != kind) {
        return true;
    }
    return call_journal(cleanup->call,
                        arena_join(cleanup->call->arena, cleanup->path, place, STR_EMPTY), err) &&
           host_remove(cleanup->directory, place, err);
}

/* A directory that contains other files is kept. */
static bool remove_empty(StampCleanup *cleanup, Str path, Error *err)
{
    Str place = staged_path(cleanup->call->arena, path), *names;
    FileInfo info;
    uint32_t count = 0;
    if (!host_stat(cleanup->directory, place, &info, err)) {
        return false;
    }
    if (info.kind != FILE_DIRECTORY) {
        return true;
    }
    if (!host_list(cleanup->directory, cleanup->call->arena, place, 1, &names, &count, err)) {
        return err->kind == ERROR_LIMIT;
    }
    return count > 0 || host_remove(cleanup->directory, place, err);
}

/* Sorts in reverse, so that the content of a directory precedes the directory. */
static int compare_backwards(const void *a, const void *b)
{
    return str_compare(*(const Str *)b, *(const Str *)a);
}

bool clean_members(StampCleanup *cleanup, const Stamp *stamps, uint32_t count, Error *err)
{
    VEC(Str) directories = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < stamps[i].count; j++) {
            const StagedMember *old = &stamps[i].members[j];
            if (!is_other_stamp(cleanup, old)) {
                continue;
            }
            if (old->kind == MEMBER_DIRECTORY) {
                VEC_PUSH(cleanup->call->arena, &directories, old->path);
            } else if (!remove_one(cleanup, old, err)) {
                return false;
            }
        }
    }
    if (directories.len > 1) {
        qsort(directories.items, directories.len, sizeof(Str), compare_backwards);
    }
    for (uint32_t i = 0; i < directories.len; i++) {
        if (!remove_empty(cleanup, directories.items[i], err)) {
            return false;
        }
    }
    return true;
}
