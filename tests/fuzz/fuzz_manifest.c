/* Input: the manifest of a site version, which clients send and nodes receive. Invariants: the
 * result is a manifest or an error; an accepted manifest prints as the same bytes, and never
 * creates files outside its directory. */
#include "base/bug.h"
#include "source/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_link(const ManifestFile *file)
{
    Str rest = file->link, name;
    int64_t depth = 0;
    for (size_t i = 0; i < file->path.len; i++) {
        depth += file->path.data[i] == '/';
    }
    while (str_split_next(&rest, '/', &name)) {
        depth += str_eq(name, STR("..")) ? -1 : name.len > 0 && !str_eq(name, STR("."));
        BUG_IF(depth < 0);
    }
    BUG_IF(file->link.data[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf printed = buf_make_in(&arena, BUF_UNLIMITED);
    Str text = str_from((const char *)data, size);
    Manifest manifest;
    ManifestChange *changes;
    Error err = { 0 };
    if (!manifest_read(&arena, text, &manifest, &err)) {
        BUG_IF(err.kind == ERROR_NONE || err.text[0] == '\0');
        return 0;
    }
    manifest_print(&manifest, &printed);
    BUG_IF(!str_eq(buf_str(&printed), text));
    BUG_IF(manifest_bytes(&manifest) > MANIFEST_BYTES_MAX);
    for (uint32_t i = 0; i < manifest.file_count; i++) {
        const ManifestFile *file = &manifest.files[i];
        BUG_IF(!manifest_path_check(file->path, &err));
        BUG_IF(manifest_find(&manifest, file->path) != file);
        if (file->link.len > 0) {
            check_link(file);
        }
    }
    BUG_IF(manifest_compare(&arena, &manifest, &manifest, &changes) != 0);
    return 0;
}
