#include "cluster/backup_manifest.h"

#include <stdio.h>

#include "base/json_text.h"
#include "base/utc.h"
#include "pki/json_fields.h"

enum {
    LENGTH_DIGITS = 8,
    MANIFEST_VALUES = 200
};

static const struct {
    const char *name;
    bool needed;
    int64_t max;
} kinds[] = {
#define BACKUP_PART_ROW(constant, name, needed, max) [constant] = { name, needed, max },
    BACKUP_PARTS(BACKUP_PART_ROW)
#undef BACKUP_PART_ROW
};

const char *backup_part_name(BackupPartKind kind)
{
    return kinds[kind].name;
}

bool backup_part_is_needed(BackupPartKind kind)
{
    return kinds[kind].needed;
}

/* --- Writing --------------------------------------------------------------------------------- */

static void put_text(Buf *out, const char *name, const char *text)
{
    buf_put_format(out, ",\"%s\":", name);
    json_text_put(out, str_from_c(text));
}

static void put_manifest(const BackupManifest *manifest, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    bool first = true;
    buf_put_c(out, "{\"format\":\"" BACKUP_FORMAT "\"");
    put_text(out, "cluster", manifest->cluster);
    put_text(out, "node", manifest->node);
    put_text(out, "store", manifest->store_id);
    put_text(out, "version", manifest->version);
    put_text(out, "time", utc_text(&arena, manifest->time_ms).data);
    buf_put_format(out, ",\"time_ms\":%lld,\"revision\":%lld,\"parts\":[",
                   (long long)manifest->time_ms, (long long)manifest->revision);
    for (uint32_t i = 0; i < BACKUP_PART_COUNT; i++) {
        const BackupPart *part = &manifest->parts[i];
        if (part->is_there) {
            buf_put_format(out, "%s{\"name\":\"%s\",\"size\":%lld,\"digest\":\"%s\"}",
                           first ? "" : ",", kinds[i].name, (long long)part->size, part->digest);
            first = false;
        }
    }
    buf_put_c(out, "]}\n");
}

void backup_head_print(const BackupManifest *manifest, Buf *out)
{
    Buf text = buf_make(BUF_UNLIMITED);
    char digest[SHA256_HEX + 1];
    put_manifest(manifest, &text);
    sha256_hex(buf_str(&text), digest);
    buf_put_format(out, BACKUP_FORMAT " %0*zu %s\n", LENGTH_DIGITS, text.len, digest);
    buf_put(out, buf_str(&text));
    buf_clear(&text);
}

/* --- Reading --------------------------------------------------------------------------------- */

static bool is_digest(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_digit(text.data[i]) && (text.data[i] < 'a' || text.data[i] > 'f')) {
            return false;
        }
    }
    return text.len == SHA256_HEX;
}

bool backup_line_read(Str line, BackupLine *out, Error *err)
{
    static const char start[] = BACKUP_FORMAT " ";
    Str family = STR("eden.backup/"),
        length = str_slice(line, sizeof start - 1, sizeof start - 1 + LENGTH_DIGITS);
    if (!str_starts(line, family)) {
        return error_set(err, ERROR_INVALID, "this is no backup of eden");
    }
    if (!str_starts(line, str_from_c(start))) {
        size_t space = str_find(line, STR(" "), 0);
        Str version = str_slice(line, 0, space > 32 ? 32 : space);
        return error_set(err, ERROR_INVALID,
                         "this backup is of another version, '%" STR_FMT
                         "'; this eden reads " BACKUP_FORMAT,
                         STR_ARG(version));
    }
    Str digest = str_slice(line, line.len - SHA256_HEX - 1, line.len - 1);
    uint64_t number = 0;
    for (size_t i = 0; i < length.len; i++) {
        if (!ascii_is_digit(length.data[i])) {
            number = UINT64_MAX;
            break;
        }
        number = number * 10 + (uint64_t)(length.data[i] - '0');
    }
    if (line.len != BACKUP_LINE || line.data[BACKUP_LINE - 1] != '\n' ||
        line.data[sizeof start - 1 + LENGTH_DIGITS] != ' ' || !is_digest(digest) || number == 0 ||
        number > BACKUP_MANIFEST_MAX) {
        return error_set(err, ERROR_INVALID, "the first line is damaged or cut off");
    }
    out->length = (size_t)number;
    snprintf(out->digest, sizeof out->digest, "%" STR_FMT, STR_ARG(digest));
    return true;
}

static bool read_part(Value object, BackupManifest *manifest, int *last, Error *err)
{
    Value name, size, digest;
    const JsonField fields[] = { { "name", VALUE_STRING, false, &name },
                                 { "size", VALUE_INT, false, &size },
                                 { "digest", VALUE_STRING, false, &digest } };
    if (object.kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "a part is no object");
    }
    if (!json_fields_read(object, fields, COUNT_OF(fields), err)) {
        return false;
    }
    int kind = 0;
    while (kind < BACKUP_PART_COUNT && !str_eq_c(value_str(name), kinds[kind].name)) {
        kind++;
    }
    if (kind == BACKUP_PART_COUNT) {
        return error_set(err, ERROR_INVALID, "it has a part that this eden does not know");
    }
    if (kind <= *last) {
        return error_set(err, ERROR_INVALID, "the part '%s' is twice there or in the wrong place",
                         kinds[kind].name);
    }
    if (size.integer < 0 || size.integer > kinds[kind].max) {
        return error_set(err, ERROR_LIMIT, "the part '%s' has a size that cannot be",
                         kinds[kind].name);
    }
    if (!is_digest(value_str(digest))) {
        return error_set(err, ERROR_INVALID, "the part '%s' has an invalid digest",
                         kinds[kind].name);
    }
    BackupPart *part = &manifest->parts[kind];
    *part = (BackupPart){ .is_there = true, .size = size.integer };
    *last = kind;
    return json_copy(digest, part->digest, sizeof part->digest) ||
           error_set(err, ERROR_INVALID, "a digest is too long");
}

static bool read_parts(const List *parts, BackupManifest *manifest, Error *err)
{
    int last = -1;
    for (uint32_t i = 0; i < parts->len; i++) {
        if (!read_part(parts->items[i], manifest, &last, err)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < BACKUP_PART_COUNT; i++) {
        if (kinds[i].needed && !manifest->parts[i].is_there) {
            return error_set(err, ERROR_INVALID, "the part '%s' is missing", kinds[i].name);
        }
    }
    return true;
}

static bool read_manifest(Arena *arena, Str text, BackupManifest *out, Error *err)
{
    Value object, said, cluster, node, store, version, time, time_ms, revision, parts;
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },     { "cluster", VALUE_STRING, false, &cluster },
        { "node", VALUE_STRING, false, &node },       { "store", VALUE_STRING, false, &store },
        { "version", VALUE_STRING, false, &version }, { "time", VALUE_STRING, false, &time },
        { "time_ms", VALUE_INT, false, &time_ms },    { "revision", VALUE_INT, false, &revision },
        { "parts", VALUE_LIST, false, &parts },
    };
    *out = (BackupManifest){ 0 };
    if (!json_object_read(arena, text, BACKUP_MANIFEST_MAX, MANIFEST_VALUES, &object, err) ||
        !json_format_check(object, BACKUP_FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !cluster_name_check(value_str(cluster), err) || !node_name_check(value_str(node), err)) {
        return false;
    }
    if (!json_copy(cluster, out->cluster, sizeof out->cluster) ||
        !json_copy(node, out->node, sizeof out->node) ||
        !json_copy(store, out->store_id, sizeof out->store_id) ||
        !json_copy(version, out->version, sizeof out->version)) {
        return error_set(err, ERROR_INVALID, "a name in it is too long");
    }
    if (time_ms.integer < 0 || revision.integer < 0) {
        return error_set(err, ERROR_INVALID, "a number in it cannot be");
    }
    out->time_ms = time_ms.integer;
    out->revision = revision.integer;
    return read_parts(parts.list, out, err);
}

bool backup_manifest_read(Arena *arena, Str text, BackupManifest *out, Error *err)
{
    return read_manifest(arena, text, out, err) || error_wrap(err, "the manifest");
}
