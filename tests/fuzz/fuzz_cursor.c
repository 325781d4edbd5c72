/* Input: a pagination token ("continue"). Invariants: arbitrary bytes are never accepted without
 * the key; used as the name of an object, the same bytes survive a round trip. */
#include "api/cursor.h"
#include "base/bug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const SealKey key = { { 7 } };
    const CursorList list = { STR("store"), STR("Node"), STR_EMPTY, STR_EMPTY };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 16 << 20);
    Str text = str_from((const char *)data, size);
    Cursor place;
    Error err = { 0 };
    bool opened = cursor_read(&arena, &key, &list, text, &place, &err);
    BUG_IF(opened || err.kind != ERROR_INVALID || place.after.len > 0);
    if (size == 0 || size > 1000) {
        return 0;
    }
    Str made = cursor_write(&arena, &key, &list, &(Cursor){ .revision = -1, .after = text });
    opened = cursor_read(&arena, &key, &list, made, &place, &err);
    BUG_IF(!opened || place.revision != -1 || !str_eq(place.after, text));
    return 0;
}
