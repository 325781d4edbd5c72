#include "access/credentials.h"

#include "access/credentials_fixture.h"
#include "base/log.h"

static void a_token_is_valid_until_it_expires(void **state)
{
    Fixture *f = *state;
    make_token(f, "viewer");
    assert_true(by_token(f, f->token, NULL));
    assert_int_equal(f->principal.kind, PRINCIPAL_TOKEN);
    assert_string_equal(f->principal.name, "ci");
    assert_string_equal(f->principal.roles, "viewer");
    int64_t expires_ms = f->principal.expires_ms;
    assert_true(expires_ms >= NOW_MS + HOUR_MS && expires_ms < NOW_MS + HOUR_MS + 1000);
    char who[100];
    snprintf(who, sizeof who, "token:%s \"ci\"", f->id);
    assert_string_equal(f->principal.who, who);
    snprintf(who, sizeof who, "token:%s", f->id);
    assert_string_equal(f->principal.credential, who);
    assert_int_equal(decide(f, "get", "Node"), ACCESS_ALLOWED);
    assert_int_equal(decide(f, "delete", "Node"), ACCESS_DENIED);
    /* New credentials never lock out any caller. */
    assert_int_equal(f->changed, 0);
    assert_true(still_valid(f));
    loop_virtual_set_wall(f->world.cluster_store.loop, expires_ms - 1);
    assert_true(by_token(f, f->token, NULL) && still_valid(f));
    loop_virtual_set_wall(f->world.cluster_store.loop, expires_ms);
    assert_false(by_token(f, f->token, "expired at 2027"));
    assert_false(still_valid(f));
}

static void wrong_and_unknown_secrets_give_the_same_error(void **state)
{
    Fixture *f = *state;
    char wrong[TOKEN_TEXT_MAX + 1];
    Error unknown, mistaken, malformed;
    make_token(f, "viewer");
    memcpy(wrong, f->token, sizeof wrong);
    wrong[20] = wrong[20] == 'a' ? 'b' : 'a';
    assert_false(
        credentials_by_token(f->credentials, str_from_c(wrong), now(f), &f->principal, &mistaken));
    assert_false(credentials_by_token(f->credentials,
                                      STR("eden_aaaaaaaa_abcdefghijklmnopqrstuvwxyz234567"), now(f),
                                      &f->principal, &unknown));
    assert_false(
        credentials_by_token(f->credentials, STR("eden_"), now(f), &f->principal, &malformed));
    assert_int_equal(mistaken.kind, ERROR_DENIED);
    assert_int_equal(unknown.kind, ERROR_DENIED);
    assert_string_equal(mistaken.text, unknown.text);
    assert_string_equal(mistaken.text, malformed.text);
    /* Only the owner of a token learns that it has expired. */
    loop_virtual_set_wall(f->world.cluster_store.loop, NOW_MS + 2 * HOUR_MS);
    assert_false(by_token(f, wrong, "unknown or incomplete"));
    assert_false(by_token(f, f->token, "expired"));
}

static void revoked_credentials_give_no_access(void **state)
{
    Fixture *f = *state;
    make_token(f, "viewer");
    assert_true(by_token(f, f->token, NULL));
    revoke_credential(f, &api_token_records, str_from_c(f->id));
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_int_equal(f->changed, 1);
    assert_false(by_token(f, f->token, "unknown or incomplete"));
    assert_false(still_valid(f));
    revoke_credential(f, &api_token_records, str_from_c(f->id));
    world_expect(&f->world, ERROR_NOT_FOUND, f->id);
    revoke_credential(f, &api_token_records, STR("../x"));
    world_expect(&f->world, ERROR_INVALID, NULL);
}

static void invalid_requests_are_rejected(void **state)
{
    Fixture *f = *state;
    ask_token(f, "viewer", 1000);
    world_expect(&f->world, ERROR_INVALID, "a minute and a year");
    ask_token(f, "not a role", HOUR_MS);
    world_expect(&f->world, ERROR_INVALID, "a role name must consist");
    ask_certificate(f, "Ann", 0);
    world_expect(&f->world, ERROR_INVALID, "invalid user name");
    ask_certificate(f, "ann", 400 * PKI_DAY_MS);
    world_expect(&f->world, ERROR_INVALID, "at most a year");
    f->csr = STR("nonsense");
    ask_certificate(f, "ann", 0);
    world_expect(&f->world, ERROR_INVALID, NULL);
}

static void a_session_lasts_as_long_as_its_token(void **state)
{
    Fixture *f = *state;
    make_token(f, "operator");
    assert_true(by_token(f, f->token, NULL));
    int64_t expires_ms = f->principal.expires_ms;
    make_session(f);
    assert_true(by_session(f, NULL));
    assert_int_equal(f->principal.kind, PRINCIPAL_SESSION);
    assert_string_equal(f->principal.roles, "operator");
    assert_int_equal(f->principal.expires_ms, expires_ms);
    assert_non_null(strstr(f->principal.who, "session of token:"));
    assert_true(still_valid(f));
    /* A session cannot create a session. */
    browser_sessions_create(&f->world.cluster_store, &f->principal, session_made, f);
    world_expect(&f->world, ERROR_DENIED, "created only with a token");
    loop_virtual_set_wall(f->world.cluster_store.loop, expires_ms);
    assert_false(by_session(f, "expired"));
    loop_virtual_set_wall(f->world.cluster_store.loop, NOW_MS);
    revoke_credential(f, &api_token_records, str_from_c(f->id));
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_false(by_session(f, "revoked"));
    assert_false(still_valid(f));
}

static void a_session_ends_at_logout(void **state)
{
    Fixture *f = *state;
    make_token(f, "operator");
    assert_true(by_token(f, f->token, NULL));
    make_session(f);
    assert_true(by_session(f, NULL));
    browser_sessions_delete(&f->world.cluster_store, &f->principal, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_int_equal(f->changed, 1);
    assert_false(by_session(f, "log in again"));
    assert_false(still_valid(f));
    assert_true(by_token(f, f->token, NULL));
    browser_sessions_delete(&f->world.cluster_store, &f->principal, world_done, &f->world);
    world_expect(&f->world, ERROR_INVALID, NULL);
}

static void an_unused_session_expires(void **state)
{
    Fixture *f = *state;
    ask_token(f, "operator", 100 * HOUR_MS);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_true(by_token(f, f->token, NULL));
    make_session(f);
    for (int i = 0; i < 5; i++) {
        advance(f, HOUR_MS);
        assert_true(by_session(f, NULL));
    }
    advance(f, (BROWSER_IDLE_S + 60) * 1000);
    assert_false(by_session(f, "log in again"));
    /* And in any case at the end of its maximum life. */
    assert_true(by_token(f, f->token, NULL));
    make_session(f);
    for (int i = 0; i < 11; i++) {
        advance(f, HOUR_MS);
        assert_true(by_session(f, NULL));
    }
    advance(f, HOUR_MS);
    assert_false(by_session(f, "expired"));
}

static void a_session_does_not_move_to_a_new_token_with_the_same_id(void **state)
{
    Fixture *f = *state;
    make_token(f, "operator");
    assert_true(by_token(f, f->token, NULL));
    make_session(f);
    Str key = cluster_key_access_token(&f->world.arena, PREFIX, str_from_c(f->id));
    Str text = world_get(&f->world, key).value;
    ApiTokenRecord record;
    Error err;
    assert_true(api_token_record_read(&f->world.arena, text, &record, &err));
    record.token.created_ms += 5;
    Buf again = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    api_token_record_print(&record, &again);
    world_put(&f->world, key, buf_str(&again));
    assert_false(by_session(f, "revoked"));
}

static void a_user_certificate_is_valid_with_its_record(void **state)
{
    Fixture *f = *state;
    ask_certificate(f, "ann", 0);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_true(f->certificate.has_user);
    assert_false(f->certificate.has_identity);
    assert_true(f->certificate.for_client && !f->certificate.for_server);
    PresentedUser user = shown(f);
    assert_true(by_certificate(f, &user, NULL));
    assert_int_equal(f->principal.kind, PRINCIPAL_CERTIFICATE);
    assert_string_equal(f->principal.name, "ann");
    assert_true(still_valid(f));
    /* Sessions too. */
    make_session(f);
    assert_true(by_session(f, NULL));
    assert_true(by_certificate(f, &user, NULL));
    PresentedUser other = user;
    strcpy(other.user.user, "bob");
    assert_false(by_certificate(f, &other, "revoked"));
    other = user;
    strcpy(other.user.cluster, "away");
    assert_false(by_certificate(f, &other, "of cluster 'away'"));
    other = user;
    other.has_user = false; /* as that of a node */
    assert_false(by_certificate(f, &other, "not a user certificate"));
    loop_virtual_set_wall(f->world.cluster_store.loop, user.not_before_ms - 1);
    assert_false(by_certificate(f, &user, "not valid yet"));
    loop_virtual_set_wall(f->world.cluster_store.loop, user.not_after_ms);
    assert_false(by_certificate(f, &user, "expired"));
    assert_false(still_valid(f));
    loop_virtual_set_wall(f->world.cluster_store.loop, NOW_MS);
    revoke_credential(f, &user_certificate_records, user.serial);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_int_equal(f->changed, 1);
    assert_false(by_certificate(f, &user, "revoked"));
    assert_false(by_session(f, "revoked"));
    revoke_credential(f, &user_certificate_records, user.serial);
    world_expect(&f->world, ERROR_NOT_FOUND, NULL);
}

/* --- Roles assigned while they are deleted ---------------------------------------------------- */

static void delete_role(Fixture *f, const char *name)
{
    Error err;
    Str key = cluster_key_role(&f->world.arena, PREFIX, str_from_c(name));
    assert_true(store_delete(f->world.cluster_store.store, key, world_stored, &f->world, &err));
}

static void a_missing_role_is_not_granted(void **state)
{
    Fixture *f = *state;
    ask_token(f, "web-team", HOUR_MS);
    world_expect(&f->world, ERROR_INVALID, "role 'web-team' not found");
    put_role(f, "web-team", ROLE("get", "Node"));
    make_token(f, "web-team");
}

static void ignore_deleted(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}

/* The deletion happens after the role was checked and before it is assigned. */
static void a_role_deleted_meanwhile_is_not_granted(void **state)
{
    Fixture *f = *state;
    Error err;
    Str key = cluster_key_role(&f->world.arena, PREFIX, STR("web-team"));
    put_role(f, "web-team", ROLE("get", "Node"));
    ask_token(f, "web-team", HOUR_MS);
    assert_true(store_delete(f->world.cluster_store.store, key, ignore_deleted, NULL, &err));
    world_expect(&f->world, ERROR_INVALID, "role 'web-team' not found");
    assert_int_equal(credentials_counts(f->credentials).tokens, 0);
}

static bool is_unused(const Fixture *f, const char *role, int64_t tokens, int64_t certificates,
                      const char *why)
{
    Error err = { 0 };
    const int64_t revisions[CREDENTIALS_GRANT_KEYS] = { tokens, certificates };
    bool is = credentials_role_unused(f->credentials, str_from_c(role), revisions, now(f), &err);
    if (!is) {
        assert_int_equal(err.kind, ERROR_CONFLICT);
        assert_non_null(strstr(err.text, why));
    }
    return is;
}

static bool is_unused_at(const Fixture *f, const char *role, int64_t now_ms)
{
    const int64_t revisions[CREDENTIALS_GRANT_KEYS] = { 0 };
    Error err;
    return credentials_role_unused(f->credentials, str_from_c(role), revisions, now_ms, &err);
}

static void granted_looked(void *context, const StoreReply *reply, const Error *err)
{
    int64_t *revision = context;
    *revision = reply->ops[0].kv_count == 0 ? 0 : reply->ops[0].kvs[0].mod_revision;
}

static void deleting_a_role_detects_that_it_was_granted(void **state)
{
    Fixture *f = *state;
    Str keys[CREDENTIALS_GRANT_KEYS];
    int64_t revision;
    Error err;
    put_role(f, "web-team", ROLE("get", "Node"));
    assert_true(is_unused(f, "web-team", 0, 0, ""));
    make_token(f, "viewer");
    credentials_grant_keys(&f->world.arena, PREFIX, keys);
    assert_true(store_get(f->world.cluster_store.store, keys[0], granted_looked, &revision, &err));
    world_pass(&f->world);
    assert_int_equal(revision, 0); /* built in, so it cannot be deleted */
    make_token(f, "web-team");
    assert_true(store_get(f->world.cluster_store.store, keys[0], granted_looked, &revision, &err));
    world_pass(&f->world);
    assert_int_equal(revision, store_status(f->world.cluster_store.store).revision);
    assert_false(is_unused(f, "web-team", revision, 0, "by 1 token or user certificate"));
    assert_true(is_unused(f, "viewers", revision, 0, ""));
    /* Credentials so recent that they are unknown or incomplete may name it. */
    assert_false(is_unused(f, "viewers", revision + 1, 0, "try again"));
    assert_false(is_unused(f, "viewers", 0, revision + 1, "try again"));
    ask_certificate_with(f, "ann", STR("web-team"), 0);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_true(store_get(f->world.cluster_store.store, keys[1], granted_looked, &revision, &err));
    world_pass(&f->world);
    assert_int_equal(revision, store_status(f->world.cluster_store.store).revision);
    assert_false(is_unused(f, "web-team", 0, revision, "by 2 tokens or user certificates"));
}

/* Their records stay until others need the space: no cleanup is required. */
static void expired_and_revoked_credentials_have_no_role(void **state)
{
    Fixture *f = *state;
    put_role(f, "web-team", ROLE("get", "Node"));
    ask_token(f, "web-team", HOUR_MS);
    world_expect(&f->world, ERROR_NONE, NULL);
    int64_t made = now(f);
    ask_certificate_with(f, "ann", STR("web-team"), 2 * HOUR_MS);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_false(is_unused(f, "web-team", 0, 0, "by 2 tokens or user certificates"));
    advance(f, HOUR_MS);
    assert_false(is_unused(f, "web-team", 0, 0, "by 1 token or user certificate"));
    advance(f, HOUR_MS);
    assert_true(is_unused(f, "web-team", 0, 0, ""));
    /* A credential that expires at a time is invalid at that time; certificates have a resolution
     * of seconds. */
    int64_t end = now(f);
    for (int64_t step = HOUR_MS; step > 0; step /= 2) {
        while (is_unused_at(f, "web-team", end - step)) {
            end -= step;
        }
    }
    assert_int_equal(end, (made + 2 * HOUR_MS) / 1000 * 1000);
    assert_int_equal(credentials_counts(f->credentials).tokens, 1);
    make_token(f, "web-team");
    assert_false(is_unused(f, "web-team", 0, 0, "by 1 token or user certificate"));
    revoke_credential(f, &api_token_records, str_from_c(f->id));
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_true(is_unused(f, "web-team", 0, 0, ""));
}

static void current_roles_are_used(void **state)
{
    Fixture *f = *state;
    put_role(f, "web-team", ROLE("approve", "Node"));
    make_token(f, "web-team");
    assert_true(by_token(f, f->token, NULL));
    assert_int_equal(decide(f, "approve", "Node"), ACCESS_ALLOWED);
    put_role(f, "web-team", ROLE("get", "Node"));
    assert_int_equal(f->changed, 1);
    assert_int_equal(decide(f, "approve", "Node"), ACCESS_DENIED);
    delete_role(f, "web-team");
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_int_equal(f->changed, 2);
    assert_int_equal(decide(f, "get", "Node"), ACCESS_DENIED);
    assert_true(still_valid(f));
}

static void callers_cannot_grant_more_than_they_have(void **state)
{
    Fixture *f = *state;
    Error err;
    put_role(f, "web-team", ROLE("approve", "Node"));
    put_role(f, "auditors", ROLE("get", "Audit"));
    make_token(f, "operator");
    assert_true(by_token(f, f->token, NULL));
#define MAY(...)                                                                 \
    credentials_may_grant(f->credentials, &f->principal, (Str[]){ __VA_ARGS__ }, \
                          COUNT_OF(((Str[]){ __VA_ARGS__ })), &err)
    assert_true(MAY(STR("viewer"), STR("web-team"), STR("auditors")));
    assert_false(MAY(STR("viewer"), STR("admin")));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_false(MAY(STR("veiwer")));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "did you mean 'viewer'?"));
    assert_false(MAY(STR("web-taem")));
    assert_non_null(strstr(err.text, "did you mean 'web-team'?"));
    assert_false(credentials_may_define(f->credentials, &f->principal, &access_role_admin, &err));
    assert_true(credentials_may_define(f->credentials, &f->principal, &access_role_viewer, &err));
    principal_local(STR("root"), 0, &f->principal);
    assert_true(MAY(STR("admin")));
}

static void hostile_records_are_skipped(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->world.arena;
    make_token(f, "viewer");
    Str own = cluster_key_access_token(arena, PREFIX, str_from_c(f->id));
    Str text = world_get(&f->world, own).value;
    world_put(&f->world, cluster_key_access_token(arena, PREFIX, STR("aaaaaaaa")), STR("nonsense"));
    world_put(&f->world, cluster_key_access_token(arena, PREFIX, STR("bbbbbbbb")), text);
    world_put(&f->world, cluster_key_access_token(arena, PREFIX, STR("../\n")), STR("{}"));
    world_put(&f->world, STR("/eden/internal/access-token/a/b"), STR("{}"));
    world_put(&f->world, cluster_key_user_certificate(arena, PREFIX, STR("x")), STR("[]"));
    world_put(&f->world, cluster_key_browser(arena, PREFIX, STR("x"), STR("y")), STR("{}"));
    put_role(f, "admin", ROLE("get", "Node"));
    put_role(f, "broken", "{\"spec\":{\"rules\":[{\"verbs\":[\"*\"]}]}}");
    put_role(f, "empty", "{}");
    put_role(f, "half", "{\"spec\":" RULES("*", "*") "}");
    put_role(f, "other", "{\"format\":\"eden.object/2\",\"spec\":" RULES("*", "*") "}");
    put_role(f, "deep", "[[[[[[[[[[]]]]]]]]]]");
    assert_int_equal(f->stale, 0);
    assert_int_equal(credentials_counts(f->credentials).tokens, 1);
    assert_int_equal(credentials_counts(f->credentials).roles, 0);
    assert_int_equal(credentials_counts(f->credentials).unreadable, 11);
    assert_true(by_token(f, f->token, NULL));
    /* The same if they exist at the start. */
    close_credentials(f);
    open_credentials(f);
    assert_int_equal(credentials_counts(f->credentials).unreadable, 11);
    assert_true(by_token(f, f->token, NULL));
    /* An unreadable record counts as deleted. */
    world_put(&f->world, own, STR("{}"));
    assert_false(by_token(f, f->token, "unknown or incomplete"));
    assert_int_equal(f->changed, 1);
}

static void everything_survives_a_restart(void **state)
{
    Fixture *f = *state;
    void *made = NULL;
    assert_int_equal(scratch_set_up(&made), 0);
    const char *directory = ((Scratch *)made)->path;
    Error err;
    close_credentials(f);
    store_close(f->world.cluster_store.store);
    assert_true(store_open_sqlite(f->world.cluster_store.loop, directory, NULL,
                                  &f->world.cluster_store.store, &err));
    f->certify.cluster_store = f->world.cluster_store;
    open_credentials(f);
    put_role(f, "web-team", ROLE("approve", "Node"));
    make_token(f, "web-team");
    assert_true(by_token(f, f->token, NULL));
    make_session(f);
    ask_certificate(f, "ann", 0);
    world_expect(&f->world, ERROR_NONE, NULL);
    close_credentials(f);
    store_close(f->world.cluster_store.store);
    assert_true(store_open_sqlite(f->world.cluster_store.loop, directory, NULL,
                                  &f->world.cluster_store.store, &err));
    open_credentials(f);
    assert_true(by_token(f, f->token, NULL));
    assert_int_equal(decide(f, "approve", "Node"), ACCESS_ALLOWED);
    assert_true(by_session(f, NULL));
    PresentedUser user = shown(f);
    assert_true(by_certificate(f, &user, NULL));
    /* And the session still expires when it is not used. */
    advance(f, (BROWSER_IDLE_S + 60) * 1000);
    assert_false(by_session(f, NULL));
    close_credentials(f);
    store_close(TAKE(f->world.cluster_store.store));
    assert_int_equal(scratch_tear_down(&made), 0);
}

static void compacted_history_is_read_again(void **state)
{
    Fixture *f = *state;
    Error err;
    close_credentials(f);
    store_close(f->world.cluster_store.store);
    f->world.cluster_store.store =
        store_open_memory(f->world.cluster_store.loop, &(StoreSettings){ .keep_revisions = -1 });
    open_credentials(f);
    ApiTokenRecord record = { .token = { .id = "abcdefgh", .label = "x" }, .roles = { "viewer" } };
    memset(record.token.hash, 'a', TOKEN_HASH_TEXT);
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    api_token_record_print(&record, &text);
    Str key = cluster_key_access_token(&f->world.arena, PREFIX, STR("abcdefgh"));
    /* Both happen in one turn: the change is compacted before the watch could report it. */
    for (int i = 0; i < 3; i++) {
        assert_true(
            store_put(f->world.cluster_store.store, key, buf_str(&text), 0, stored, NULL, &err));
    }
    assert_true(store_compact(f->world.cluster_store.store,
                              store_status(f->world.cluster_store.store).revision + 3, stored, NULL,
                              &err));
    world_pass(&f->world);
    world_pass(&f->world);
    assert_int_equal(f->stale, 0);
    assert_int_equal(credentials_counts(f->credentials).tokens, 1);
}

static void list(Fixture *f, const CredentialRecords *records)
{
    CredentialPage page;
    Error err;
    assert_true(credential_records_list(&f->world.arena, &f->world.cluster_store, records,
                                        STR_EMPTY, 10, &page, &err));
    f->listed = page.count;
    f->unreadable = 0;
    for (uint32_t i = 0; i < page.count; i++) {
        f->unreadable += page.entries[i].record == NULL ? 1 : 0;
    }
}

/* In the form of the store, so that they can be read back. */
static void all_are_listed(void **state)
{
    Fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        make_token(f, "viewer");
        ask_certificate(f, "ann", 0);
        world_expect(&f->world, ERROR_NONE, NULL);
    }
    list(f, &api_token_records);
    assert_int_equal(f->listed, 3);
    assert_int_equal(f->unreadable, 0);
    list(f, &user_certificate_records);
    assert_int_equal(f->listed, 3);
    assert_int_equal(f->unreadable, 0);
}

/* More than one page of the store. */
static void a_hundred_thousand_tokens_are_found_quickly(void **state)
{
    Fixture *f = *state;
    enum {
        MANY = 100000,
        BATCH = 100
    };
    AUTO_CLEAR(Arena) arena;
    StoreOp ops[BATCH];
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    Token token = { .kind = TOKEN_API };
    const TokenTerms terms = { .label = STR("one of very many tokens that there are"),
                               .now_ms = NOW_MS,
                               .lifetime_ms = HOUR_MS };
    for (uint32_t i = 0; i < MANY / BATCH; i++) {
        arena_reset(&arena);
        for (uint32_t j = 0; j < BATCH; j++) {
            uint32_t number = i * BATCH + j;
            ApiTokenRecord record = { .roles = { "viewer operator" },
                                      .created_by = "root (uid 0)" };
            for (int k = 0; k < TOKEN_ID_TEXT; k++) {
                token.id[k] = (char)('a' + (number >> (4 * k) & 15));
            }
            assert_true(token_record_make(&token, &terms, &record.token, &err));
            Buf text = buf_make_in(&arena, BUF_UNLIMITED);
            api_token_record_print(&record, &text);
            ops[j] =
                (StoreOp){ .kind = STORE_PUT,
                           .key = cluster_key_access_token(&arena, PREFIX, str_from_c(token.id)),
                           .value = buf_str(&text) };
        }
        StoreTxn txn = { .success = ops, .success_count = BATCH };
        assert_true(store_txn(f->world.cluster_store.store, &txn, stored, NULL, &err));
        if (i % 100 == 0) {
            world_pass(&f->world);
        }
    }
    world_pass(&f->world);
    for (int i = 0; i < 100 && credentials_counts(f->credentials).tokens < MANY; i++) {
        world_pass(&f->world);
    }
    assert_int_equal(credentials_counts(f->credentials).tokens, MANY);
    close_credentials(f);
    open_credentials(f);
    assert_int_equal(credentials_counts(f->credentials).tokens, MANY);
    char text[TOKEN_TEXT_MAX + 1];
    token_text(&token, text);
    for (int i = 0; i < MANY; i++) {
        assert_true(
            credentials_by_token(f->credentials, str_from_c(text), now(f), &f->principal, &err));
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    log_set_sink((LogSink){ .level = LOG_LEVEL_OFF });
    const struct CMUnitTest tests[] = {
        ROW(a_token_is_valid_until_it_expires),
        ROW(wrong_and_unknown_secrets_give_the_same_error),
        ROW(revoked_credentials_give_no_access),
        ROW(invalid_requests_are_rejected),
        ROW(a_session_lasts_as_long_as_its_token),
        ROW(a_session_ends_at_logout),
        ROW(an_unused_session_expires),
        ROW(a_session_does_not_move_to_a_new_token_with_the_same_id),
        ROW(a_user_certificate_is_valid_with_its_record),
        ROW(a_missing_role_is_not_granted),
        ROW(a_role_deleted_meanwhile_is_not_granted),
        ROW(deleting_a_role_detects_that_it_was_granted),
        ROW(expired_and_revoked_credentials_have_no_role),
        ROW(current_roles_are_used),
        ROW(callers_cannot_grant_more_than_they_have),
        ROW(hostile_records_are_skipped),
        ROW(everything_survives_a_restart),
        ROW(compacted_history_is_read_again),
        ROW(all_are_listed),
        ROW(a_hundred_thousand_tokens_are_found_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
