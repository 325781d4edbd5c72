/* How many browser sessions one token may have; their life is tested in test_credentials.c. */
#include "access/browser_sessions.h"

#include "access/credentials.h"
#include "access/tokens.h"
#include "ready_state.h"
#include "scratch.h"
#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    State *state;
    Credentials *credentials;
    char token[TOKEN_TEXT_MAX + 1]; /* created last */
    BrowserSecret secret;
} Fixture;

static void nothing(void *context)
{
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    f->state = ready_state(&f->world.cluster_store, NULL);
    f->credentials = credentials_new(&f->world.cluster_store, f->state, STR("home"),
                                     &(CredentialsEvents){ .changed = nothing });
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    credentials_free(f->credentials);
    state_free(f->state);
    world_close(&f->world);
    free(f);
    return 0;
}

static void token_made(void *context, const Token *token, const CredentialEntry *entry,
                       const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    token_text(token, f->token);
    world_done(&f->world, err);
}

static Principal make_token(Fixture *f)
{
    Str role = STR("viewer");
    Principal principal;
    Error err;
    tokens_create(&f->world.cluster_store,
                  &(TokenRequest){ .kind = TOKEN_API,
                                   .label = STR("ci"),
                                   .roles = &role,
                                   .role_count = 1,
                                   .lifetime_ms = 3600 * 1000,
                                   .created_by = STR("root (uid 0)") },
                  token_made, f);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_true(credentials_by_token(f->credentials, str_from_c(f->token),
                                     loop_wall_ms(f->world.cluster_store.loop), &principal, &err));
    return principal;
}

static void session_made(void *context, const BrowserSecret *secret, const BrowserRecord *record,
                         const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->secret = *secret;
    world_done(&f->world, err);
}

static void session_refused(void *context, const BrowserSecret *secret, const BrowserRecord *record,
                            const Error *err)
{
    Fixture *f = context;
    world_done(&f->world, err);
}

static void one_token_does_not_use_up_all_sessions(void **state)
{
    Fixture *f = *state;
    Principal many = make_token(f), other = make_token(f), session;
    Error err;
    for (uint32_t i = 0; i < BROWSER_SESSIONS_OWN_MAX; i++) {
        browser_sessions_create(&f->world.cluster_store, &many, session_made, f);
        world_expect(&f->world, ERROR_NONE, NULL);
    }
    assert_true(credentials_by_session(f->credentials, &f->secret,
                                       loop_wall_ms(f->world.cluster_store.loop), &session, &err));
    browser_sessions_create(&f->world.cluster_store, &many, session_refused, f);
    world_expect(&f->world, ERROR_LIMIT, "this credential already has 200 browser sessions");
    browser_sessions_create(&f->world.cluster_store, &other, session_made, f);
    world_expect(&f->world, ERROR_NONE, NULL);
    browser_sessions_delete(&f->world.cluster_store, &session, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    browser_sessions_create(&f->world.cluster_store, &many, session_made, f);
    world_expect(&f->world, ERROR_NONE, NULL);
}

typedef struct Race {
    Fixture *fixture;
    uint32_t made, limited, late, to_come;
} Race;

static void race_ended(void *context, const BrowserSecret *secret, const BrowserRecord *record,
                       const Error *err)
{
    Race *race = context;
    race->made += err == NULL;
    race->limited += err != NULL && err->kind == ERROR_LIMIT;
    race->late += err != NULL && err->kind == ERROR_UNAVAILABLE;
    if (--race->to_come == 0) {
        world_done(&race->fixture->world, NULL);
    }
}

/* Each reads the number of sessions before any of the others has written. */
static void concurrent_sessions_cannot_exceed_the_limit(void **state)
{
    Fixture *f = *state;
    Principal many = make_token(f);
    Race race = { .fixture = f };
    for (uint32_t i = 0; i < BROWSER_SESSIONS_OWN_MAX - 3; i++) {
        browser_sessions_create(&f->world.cluster_store, &many, session_made, f);
        world_expect(&f->world, ERROR_NONE, NULL);
    }
    int64_t leases = store_status(f->world.cluster_store.store).leases;
    race.to_come = 20;
    for (uint32_t i = 0; i < 20; i++) {
        browser_sessions_create(&f->world.cluster_store, &many, race_ended, &race);
    }
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_int_equal(race.made, 3);
    assert_int_equal(race.limited, 17);
    assert_int_equal(race.late, 0);
    /* And the rejected ones keep no lease. */
    assert_int_equal(store_status(f->world.cluster_store.store).leases, leases + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_token_does_not_use_up_all_sessions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(concurrent_sessions_cannot_exceed_the_limit, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
