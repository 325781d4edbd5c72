/* Input: a backup. The first byte selects the mode: a whole file, or a manifest, a newline and the
 * bytes of the parts, for which the target generates the first line, because random input never
 * matches a digest; the manifest selects that line's format. Invariant: the result does not depend
 * on the chunk size. */
#include <stdio.h>

#include "backup/backup_reader.h"
#include "base/bug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Seen {
    BackupManifest manifest;
    int64_t sizes[BACKUP_PART_COUNT];
} Seen;

static bool generate_manifest(void *context, const BackupManifest *manifest, Error *err)
{
    Seen *seen = context;
    seen->manifest = *manifest;
    return true;
}

static bool add_chunk(void *context, BackupPartKind kind, Str chunk, Error *err)
{
    Seen *seen = context;
    seen->sizes[kind] += (int64_t)chunk.len;
    if (kind == BACKUP_STORE) {
        BUG_IF(seen->manifest.format != 2);
        return true;
    }
    BUG_IF(!seen->manifest.parts[kind].is_present);
    BUG_IF(seen->sizes[kind] > seen->manifest.parts[kind].size);
    return true;
}

static bool read_file(Str file, size_t chunk, Seen *seen, Error *err)
{
    AUTO_CLEAR(BackupReader) reader;
    *seen = (Seen){ 0 };
    backup_reader_init(&reader, &(BackupSink){ generate_manifest, add_chunk, seen });
    while (file.len > 0) {
        if (!backup_reader_feed(&reader, str_slice(file, 0, chunk), err)) {
            return false;
        }
        file = str_from_offset(file, chunk);
    }
    if (!backup_reader_finish(&reader, err)) {
        return false;
    }
    seen->manifest = reader.manifest;
    return true;
}

static void read_manifest(Arena *arena, Str text, uint32_t format)
{
    BackupManifest manifest, again;
    Error err = { 0 };
    if (!backup_manifest_read(arena, text, format, &manifest, &err)) {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
        return;
    }
    Buf printed = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    backup_head_print(&manifest, &printed);
    if (!backup_manifest_read(arena, str_from_offset(buf_str(&printed), BACKUP_LINE), format,
                              &again, &err)) {
        BUG("%s", err.text);
    }
    backup_head_print(&again, &second);
    BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = str_from((const char *)data, size);
    Str file = str_from_offset(text, 1);
    Buf made = buf_make_in(&arena, BUF_UNLIMITED);
    Seen whole, parts;
    Error err = { 0 }, err_parts = { 0 };
    if (size > 0 && data[0] % 2 == 1) {
        size_t end = str_find(file, STR("\n"), 0);
        Str manifest = str_slice(file, 0, end == STR_NOT_FOUND ? file.len : end + 1);
        char digest[SHA256_HEX + 1];
        bool is_first = str_find(manifest, STR(BACKUP_FORMAT_1), 0) != STR_NOT_FOUND;
        sha256_hex(manifest, digest);
        read_manifest(&arena, manifest, is_first ? 1 : 2);
        buf_put_format(&made, "%s %08zu %s\n", is_first ? BACKUP_FORMAT_1 : BACKUP_FORMAT,
                       manifest.len, digest);
        buf_put(&made, file);
        file = buf_str(&made);
    }
    bool ok = read_file(file, SIZE_MAX, &whole, &err);
    bool ok_parts = read_file(file, size > 0 ? data[0] / 2 + 1 : 1, &parts, &err_parts);
    BUG_IF(ok != ok_parts || err.kind != err_parts.kind);
    BUG_IF(!ok && err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT &&
           err.kind != ERROR_UNAVAILABLE);
    for (uint32_t i = 0; ok && i < BACKUP_PART_COUNT; i++) {
        BUG_IF(whole.sizes[i] !=
               (whole.manifest.parts[i].is_present ? whole.manifest.parts[i].size : 0));
    }
    return 0;
}
