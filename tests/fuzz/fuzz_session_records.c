/* Input: a message of a node. Invariants: its records become a single transaction within the
 * limits, which changes each key at most once and only keys of that node. */
#include "base/bug.h"
#include "service/session_records.h"
#include "store/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_key(Arena *arena, Str key)
{
    KeyKind kind;
    Str parts[KEYS_PARTS_MAX];
    bool known = key_parse(arena, KEYS_PREFIX, key, &kind, parts);
    BUG_IF(!known || key.len > STORE_KEY_MAX);
    switch (kind) {
    case KEY_FACTS:
    case KEY_TRUST:
    case KEY_LOG: BUG_IF(!str_eq_c(parts[0], "web1")); break;
    case KEY_RUN_NODE: BUG_IF(!str_eq_c(parts[1], "web1")); break;
    case KEY_STATUS:
    case KEY_RUN_STEP: BUG_IF(!str_eq_c(parts[2], "web1")); break;
    default: BUG("a node writes a key of another kind");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = str_from((const char *)data, size);
    SessionMark mark;
    Error err;
    /* The mark of an older server has fewer fields than the printed one. */
    if (session_mark_read(&arena, text, &mark, &err)) {
        Str printed = session_mark_print(&arena, &mark);
        SessionMark again;
        BUG_IF(!session_mark_read(&arena, printed, &again, &err) ||
               !str_eq(session_mark_print(&arena, &again), printed));
    }
    NodeMessage message;
    if (!node_message_decode(&arena, text, &message, &err) || message.kind != NODE_RECORDS) {
        return 0;
    }
    SessionSender sender = { KEYS_PREFIX, STR("web1"), 1, 1, 1 << 20 };
    SessionWrites writes;
    session_writes_make(&arena, &sender, message.records, message.record_count, &writes);
    BUG_IF(writes.op_count >= SESSION_WRITES_MAX);
    size_t bytes = 0;
    for (uint32_t i = 0; i < writes.op_count; i++) {
        check_key(&arena, writes.ops[i].key);
        bytes += writes.ops[i].key.len + writes.ops[i].value.len;
        for (uint32_t j = 0; j < i; j++) {
            BUG_IF(str_eq(writes.ops[i].key, writes.ops[j].key));
        }
    }
    BUG_IF(bytes > STORE_REQUEST_MAX);
    return 0;
}
