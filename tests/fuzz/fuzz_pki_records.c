/* Input: PKI records of the store: a token, the revocation list, the state of the CA. Invariant: an
 * accepted record prints as a text that reads back the same. */
#include "base/bug.h"
#include "pki/revocation.h"
#include "pki/rotation.h"
#include "pki/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_token(Arena *arena, Str text)
{
    TokenRecord record, again;
    Error err = { 0 };
    if (!token_record_read(arena, text, &record, &err)) {
        BUG_IF(err.text[0] == '\0');
        return;
    }
    Buf printed = buf_make_in(arena, 1 << 16);
    token_record_print(&record, &printed);
    if (!token_record_read(arena, buf_str(&printed), &again, &err)) {
        BUG("%s", err.text);
    }
    Buf second = buf_make_in(arena, 1 << 16);
    token_record_print(&again, &second);
    BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
    Ed25519Public key = { { 1 } };
    BUG_IF(token_check(&record, &key, record.created_ms) == TOKEN_VALID);
}

static void read_revocations(Arena *arena, Str text)
{
    RevocationList list, again;
    Error err = { 0 };
    if (!revocation_read(arena, text, &list, &err)) {
        BUG_IF(err.text[0] == '\0');
        return;
    }
    Buf printed = buf_make_in(arena, BUF_UNLIMITED);
    revocation_print(&list, &printed);
    if (!revocation_read(arena, buf_str(&printed), &again, &err)) {
        BUG("%s", err.text);
    }
    Buf second = buf_make_in(arena, BUF_UNLIMITED);
    revocation_print(&again, &second);
    BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
    for (uint32_t i = 0; i < list.serial_count; i++) {
        BUG_IF(revocation_check(&list, STR("x"), str_from_c(list.serials[i].serial), &err));
    }
    for (uint32_t i = 0; i < list.name_count; i++) {
        BUG_IF(revocation_check(&list, str_from_c(list.names[i].node), STR("00"), &err));
    }
    list.clock_ms = 1000;
    revocation_prune(&list, 1000 + REVOCATION_READING_INTERVAL_MS);
    for (uint32_t i = 0; i < list.serial_count; i++) {
        BUG_IF(list.serials[i].until_ms <= 1000);
    }
    BUG_IF(!revocation_add_serial(arena, &list, STR("40"), 5000, &err) && err.kind != ERROR_LIMIT);
    BUG_IF(!revocation_set_name(arena, &list, STR("web1"), STR_EMPTY, 5000, &err) &&
           err.kind != ERROR_LIMIT);
}

static void read_rotation(Arena *arena, Str text)
{
    Rotation rotation, again;
    Error err = { 0 };
    if (!rotation_read(arena, text, &rotation, &err)) {
        BUG_IF(err.text[0] == '\0');
        return;
    }
    Buf printed = buf_make_in(arena, 1 << 16);
    rotation_print(&rotation, &printed);
    if (!rotation_read(arena, buf_str(&printed), &again, &err)) {
        BUG("%s", err.text);
    }
    Buf second = buf_make_in(arena, 1 << 16);
    rotation_print(&again, &second);
    BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
    RotationNode node = { .name = STR("a"), .is_server = true, .trusts_current = true };
    RotationPlan plan;
    rotation_plan(arena, &rotation, &node, 1, 0, &plan);
    BUG_IF(plan.moves && plan.wait_count > 0);
    Rotation turned;
    (void)!rotation_revert(&rotation, 0, &turned, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 64 << 20);
    Str text = str_from((const char *)data, size);
    read_token(&arena, text);
    read_revocations(&arena, text);
    read_rotation(&arena, text);
    return 0;
}
