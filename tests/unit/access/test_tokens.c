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
    loop_virtual_set_wall(f->world.at.loop, 1800000000000);
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
        assert_int_equal(entry->revision, store_status(f->world.at.store).revision);
        f->record = *(const TokenRecord *)entry->record;
    }
    world_done(&f->world, err);
}

static void create(Fixture *f, const char *label, int64_t life_ms, uint32_t uses)
{
    TokenRequest wish = { .label = str_from_c(label), .life_ms = life_ms, .uses = uses };
    tokens_create(&f->world.at, &wish, made, f);
}

static void list(Fixture *f)
{
    CredentialPage page;
    Error err;
    assert_true(credential_records_list(&f->world.arena, &f->world.at, &token_records, STR_EMPTY,
                                        10, &page, &err));
    f->count = page.count;
    assert_true(f->count <= COUNT_OF(f->listed));
    for (uint32_t i = 0; i < f->count; i++) {
        assert_non_null(page.entries[i].record);
        f->listed[i] = *(const TokenRecord *)page.entries[i].record;
    }
}

static void take_back(Fixture *f, Str id)
{
    credential_records_revoke(&f->world.at, &token_records, id, 0, world_done, &f->world);
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
    /* It is good for who has the secret, and the secret is not kept. */
    Ed25519Private private;
    Ed25519Public public;
    token_key(&f->token, &private);
    assert_true(ed25519_public(&private, &public, &err));
    assert_int_equal(token_check(&kept, &public, 1800000000000), TOKEN_GOOD);
    char text[TOKEN_TEXT + 1] = { 0 };
    token_text(&f->token, text);
    assert_true(str_find(got.value, str_from_c(text + TOKEN_ID_TEXT + 1), 0) == STR_NOT_FOUND);
}

static void invalid_requests_are_rejected(void **state)
{
    Fixture *f = *state;
    create(f, "x", 1000, 1);
    world_expect(&f->world, ERROR_INVALID, "a minute to a year");
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
    assert_int_equal(token_check_record(&record, record.expires_ms - 1), TOKEN_GOOD);
    assert_int_equal(token_check_record(&record, record.expires_ms), TOKEN_EXPIRED);
    record.uses = record.uses_max;
    assert_int_equal(token_check_record(&record, record.created_ms), TOKEN_USED_UP);
}

static void a_revoked_token_is_deleted(void **state)
{
    Fixture *f = *state;
    create(f, "", 3600 * 1000, 1);
    world_expect(&f->world, ERROR_NONE, NULL);
    take_back(f, str_from_c(f->token.id));
    world_expect(&f->world, ERROR_NONE, NULL);
    list(f);
    assert_int_equal(f->count, 0);
    take_back(f, str_from_c(f->token.id));
    world_expect(&f->world, ERROR_NOT_FOUND, f->token.id);
    take_back(f, STR("../../x"));
    world_expect(&f->world, ERROR_INVALID, NULL);
}

static void a_store_that_closes_answers_all(void **state)
{
    Fixture *f = *state;
    create(f, "", 3600 * 1000, 1);
    follow_stop(&f->world.at);
    store_close(f->world.at.store);
    f->world.at.store = NULL;
    world_expect(&f->world, ERROR_UNAVAILABLE, NULL);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_token_is_created_and_stored),          ROW(invalid_requests_are_rejected),
        ROW(all_tokens_are_listed_with_their_state), ROW(a_revoked_token_is_deleted),
        ROW(a_store_that_closes_answers_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
