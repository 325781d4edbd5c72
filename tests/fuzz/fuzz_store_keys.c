/* Input: a key of the store, and the parts of one. Invariants: an accepted key has exactly one
 * spelling; a key made of parts splits into the same parts; a key lies in the range of its
 * prefix. */
#include "base/bug.h"
#include "store/keys.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_key(Arena *arena, Str key)
{
    KeyKind kind;
    Str parts[KEYS_PARTS_MAX];
    if (key_parse(arena, KEYS_PREFIX, key, &kind, parts)) {
        Str again = key_make(arena, KEYS_PREFIX, kind, parts, key_part_count(kind));
        BUG_IF(!str_eq(again, key));
    }
}

/* The first byte is the kind; zero bytes separate the parts. */
static void make_key(Arena *arena, Str bytes)
{
    if (bytes.len == 0) {
        return;
    }
    KeyKind kind = (unsigned char)bytes.data[0] % KEY_KIND_COUNT, read;
    Str rest = str_from_offset(bytes, 1), parts[KEYS_PARTS_MAX], again[KEYS_PARTS_MAX];
    uint32_t count = key_part_count(kind);
    for (uint32_t i = 0; i < count; i++) {
        if (!str_split_next(&rest, '\0', &parts[i]) || parts[i].len == 0) {
            return;
        }
    }
    Str key = key_make(arena, KEYS_PREFIX, kind, parts, count);
    BUG_IF(!key_parse(arena, KEYS_PREFIX, key, &read, again) || read != kind);
    for (uint32_t i = 0; i < count; i++) {
        BUG_IF(!str_eq(parts[i], again[i]));
        Str prefix = key_make_prefix(arena, KEYS_PREFIX, kind, parts, i);
        Str end = store_prefix_end(arena, prefix);
        BUG_IF(str_compare(key, prefix) < 0 || str_compare(key, end) >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str bytes = str_from((const char *)data, size);
    read_key(&arena, bytes);
    make_key(&arena, bytes);
    return 0;
}
