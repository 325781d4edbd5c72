#include "access/tokens.h"

#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    Token token;
    TokenRecord record;
    TokenRecord listed[4];
    uint32_t count;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    world_follow(&f->world);
    loop_virtual_set_wall(f->world.cluster_store.loop, 1800000000000);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    world_close(&f->world);
    free(f);
    return 0;
}

static void made(void *context, const Token *token, const CredentialEntry *entry, const Error *err)
{
    Fixture *f = context;
    assert_int_equal(token == NULL, err != NULL);
    assert_int_equal(entry == NULL, err != NULL);
    if (err == NULL) {
        f->token = *token;
        assert_int_equal(entry->revision, store_status(f->world.cluster_store.store).revision);
        f->record = *(const TokenRecord *)entry->record;
    }
    world_done(&f->world, err);
}

static void create(Fixture *f, const char *label, int64_t lifetime_ms, uint32_t uses)
{
    TokenRequest request = {
        .kind = TOKEN_JOIN, .label = str_from_c(label), .lifetime_ms = lifetime_ms, .uses = uses
    };
    tokens_create(&f->world.cluster_store, &request, made, f);
}

static void list(Fixture *f)
{
    CredentialPage page;
    Error err;
    assert_true(credential_records_list(&f->world.arena, &f->world.cluster_store,
                                        &join_token_records, STR_EMPTY, 10, &page, &err));
    f->count = page.count;
    assert_true(f->count <= COUNT_OF(f->listed));
    for (uint32_t i = 0; i < f->count; i++) {
        assert_non_null(page.entries[i].record);
        f->listed[i] = *(const TokenRecord *)page.entries[i].record;
    }
}

static void revoke_and_check(Fixture *f, Str id)
{
    credential_records_revoke(&f->world.cluster_store, &join_token_records, id, 0, world_done,
                              &f->world);
}

static void a_token_is_created_and_stored(void **state)
{
    Fixture *f = *state;
    TokenRecord kept;
    Error err;
    create(f, "rack 7", 3600 * 1000, 3);
    world_expect(&f->world, ERROR_NONE, NULL);
    Str key = cluster_key_token(&f->world.arena, PREFIX, str_from_c(f->token.id));
    WorldValue got = world_get(&f->world, key);
    assert_true(got.there);
    assert_true(token_record_read(&f->world.arena, got.value, &kept, &err));
    assert_string_equal(kept.label, "rack 7");
    assert_int_equal(kept.uses_max, 3);
    assert_int_equal(kept.expires_ms, 1800000000000 + 3600 * 1000);
    /* Valid for the owner of the secret, and the secret is not stored. */
    Ed25519Private private;
    Ed25519Public public;
    token_key(&f->token, &private);
    assert_true(ed25519_public(&private, &public, &err));
    assert_int_equal(token_check(&kept, &public, 1800000000000), TOKEN_VALID);
    char text[TOKEN_TEXT_MAX + 1] = { 0 };
    token_text(&f->token, text);
    assert_true(str_find(got.value, str_from_c(text + TOKEN_ID_TEXT + 1), 0) == STR_NOT_FOUND);
}

static void invalid_requests_are_rejected(void **state)
{
    Fixture *f = *state;
    create(f, "x", 1000, 1);
    world_expect(&f->world, ERROR_INVALID, "a minute and a year");
    create(f, "x", 3600 * 1000, 0);
    world_expect(&f->world, ERROR_INVALID, "used 1 to");
    create(f, "a\nb", 3600 * 1000, 1);
    world_expect(&f->world, ERROR_INVALID, "control characters");
    list(f);
    assert_int_equal(f->count, 0);
}

static void all_tokens_are_listed_with_their_state(void **state)
{
    Fixture *f = *state;
    create(f, "short", 60 * 1000, 1);
    world_expect(&f->world, ERROR_NONE, NULL);
    create(f, "long", 3600 * 1000, 1);
    world_expect(&f->world, ERROR_NONE, NULL);
    list(f);
    assert_int_equal(f->count, 2);
    assert_true(strcmp(f->listed[0].id, f->listed[1].id) < 0);
    TokenRecord record = f->listed[0];
    assert_int_equal(token_state(&record, record.expires_ms - 1), TOKEN_VALID);
    assert_int_equal(token_state(&record, record.expires_ms), TOKEN_EXPIRED);
    record.uses = record.uses_max;
    assert_int_equal(token_state(&record, record.created_ms), TOKEN_USED_UP);
}

static void a_revoked_token_is_deleted(void **state)
{
    Fixture *f = *state;
    create(f, "", 3600 * 1000, 1);
    world_expect(&f->world, ERROR_NONE, NULL);
    revoke_and_check(f, str_from_c(f->token.id));
    world_expect(&f->world, ERROR_NONE, NULL);
    list(f);
    assert_int_equal(f->count, 0);
    revoke_and_check(f, str_from_c(f->token.id));
    world_expect(&f->world, ERROR_NOT_FOUND, f->token.id);
    revoke_and_check(f, STR("../../x"));
    world_expect(&f->world, ERROR_INVALID, NULL);
}

static void closing_the_store_completes_all_calls(void **state)
{
    Fixture *f = *state;
    create(f, "", 3600 * 1000, 1);
    follow_stop(&f->world.cluster_store);
    store_close(f->world.cluster_store.store);
    f->world.cluster_store.store = NULL;
    world_expect(&f->world, ERROR_UNAVAILABLE, NULL);
}

static void records_of_api_tokens_are_read_strictly(void **state)
{
    AUTO_CLEAR(Arena) arena;
    ApiTokenRecord read, record = {
        .token = { .id = "abcdefgh", .label = "ci \"main\"", .created_ms = 5, .expires_ms = 7 },
        .roles = { "viewer web-team" },
        .created_by = "root (uid 0)"
    };
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    memset(record.token.hash, 'a', TOKEN_HASH_TEXT);
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    api_token_record_print(&record, &text);
    assert_true(api_token_record_read(&arena, buf_str(&text), &read, &err));
    assert_string_equal(read.token.label, record.token.label);
    assert_string_equal(read.roles.text, record.roles.text);
    assert_string_equal(read.created_by, record.created_by);
    assert_string_equal(read.token.hash, record.token.hash);
    assert_int_equal(read.token.expires_ms, 7);
    /* No owner was specified. */
    ApiTokenRecord nameless = record;
    Buf other = buf_make_in(&arena, BUF_UNLIMITED);
    nameless.token.label[0] = '\0';
    api_token_record_print(&nameless, &other);
    assert_true(api_token_record_read(&arena, buf_str(&other), &read, &err));
    assert_string_equal(read.token.label, "");
    static const char *const changes[][2] = {
        { "abcdefgh", "abcdefg1" },
        { "eden.access-token/1", "eden.access-token/2" },
        { "\"viewer\",", "" },
        { "viewer", "view er" },
        { "\"created_ms\":5", "\"created_ms\":8" },
        { "aaaa", "AAAA" },
        { "ci ", "ci\\n" },
        { "}", ",\"x\":1}" }, /* from a newer server */
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        size_t at = str_find(buf_str(&text), str_from_c(changes[i][0]), 0);
        Str changed =
            arena_join(&arena, str_slice(buf_str(&text), 0, at), str_from_c(changes[i][1]),
                       str_from_offset(buf_str(&text), at + strlen(changes[i][0])));
        bool ok = api_token_record_read(&arena, changed, &read, &err);
        if (ok != (i == 2 || i == 7)) {
            fail_msg("%.*s", STR_ARG(changed));
        }
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_token_is_created_and_stored),          ROW(invalid_requests_are_rejected),
        ROW(all_tokens_are_listed_with_their_state), ROW(a_revoked_token_is_deleted),
        ROW(closing_the_store_completes_all_calls),  ROW(records_of_api_tokens_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
