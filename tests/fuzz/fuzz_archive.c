/* Input: a tar archive, in chunks, and a zip archive. Invariants: the result is members or an
 * error; every member that begins also ends and has exactly the announced size; accepted names stay
 * below the target directory. */
#include <stdint.h>

#include "base/bug.h"
#include "modules/archive/tar.h"
#include "modules/archive/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct World {
    Arena arena;
    Str bytes;
    bool open;
    bool file;
    uint64_t wanted, got, total;
} World;

static void check_path(Str path, Str part)
{
    while (str_split_next(&path, '/', &part)) {
        BUG_IF(part.len == 0 || str_eq(part, STR(".")) || str_eq(part, STR("..")));
    }
}

static bool begin(void *context, const Member *member, Error *err)
{
    World *world = context;
    Str path;
    BUG_IF(world->open);
    world->open = true;
    world->file = member->kind == MEMBER_FILE;
    world->wanted = member->size;
    world->got = 0;
    if (!member_path(&world->arena, member->name, (uint32_t)member->size % 3, &path, err)) {
        return false;
    }
    if (path.len > 0) {
        check_path(path, STR_EMPTY);
    }
    (void)member_link_is_safe(path, member->target);
    arena_reset(&world->arena);
    return true;
}

static bool take(void *context, Str chunk, Error *err)
{
    World *world = context;
    BUG_IF(!world->open || !world->file);
    world->got += chunk.len;
    world->total += chunk.len;
    BUG_IF(world->got > world->wanted);
    return world->total < 1 << 20 || error_set(err, ERROR_LIMIT, "enough");
}

static bool end(void *context, Error *err)
{
    World *world = context;
    BUG_IF(!world->open || (world->file && world->got != world->wanted));
    world->open = false;
    return true;
}

static bool read_zip(void *context, uint64_t offset, char *buffer, size_t size, Error *err)
{
    const World *world = context;
    BUG_IF(offset > world->bytes.len || size > world->bytes.len - offset);
    if (size > 0) {
        memcpy(buffer, world->bytes.data + offset, size);
    }
    return true;
}

static void read_tar(World *world, const MemberSink *sink, size_t chunk)
{
    Error err = { 0 };
    Tar tar;
    Str rest = world->bytes;
    bool ok = true;
    *world = (World){ .arena = world->arena, .bytes = world->bytes };
    tar_init(&tar, sink);
    while (ok && rest.len > 0) {
        ok = tar_feed(&tar, str_slice(rest, 0, chunk), &err);
        rest = str_from_offset(rest, chunk);
    }
    ok = ok && tar_finish(&tar, &err);
    BUG_IF(ok ? world->open : err.text[0] == '\0');
    tar_clear(&tar);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    World world = { .bytes = str_from((const char *)data, size) };
    MemberSink sink = { &world, begin, take, end };
    ZipSource zip = { &world, read_zip, size };
    Error err = { 0 };
    arena_init(&world.arena, ARENA_UNLIMITED);
    read_tar(&world, &sink, size == 0 ? 1 : size);
    read_tar(&world, &sink, 500);
    world = (World){ .arena = world.arena, .bytes = world.bytes };
    bool ok = zip_read(&zip, &sink, &err);
    BUG_IF(ok ? world.open : err.text[0] == '\0');
    arena_clear(&world.arena);
    return 0;
}
