#include "cluster/idempotency.h"

#include "lossy_store.h"
#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    IdempotencyState state;
    int status;
    char body[100];
    IdempotentRequest request;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    world_open(&f->world);
    *state = f;
    return idempotent_request_make(STR("token:a"), STR("key"), STR("POST"), STR("/v1/nodes"),
                                   STR("{}"), &f->request, &err)
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    world_close(&f->world);
    free(f);
    return 0;
}

static void claimed(void *context, IdempotencyState state, const IdempotentResponse *answer,
                    const Error *err)
{
    Fixture *f = context;
    f->state = state;
    f->status = 0;
    assert_int_equal(answer != NULL, err == NULL && state == IDEMPOTENCY_REPLAY);
    if (answer != NULL) {
        f->status = answer->status;
        snprintf(f->body, sizeof f->body, "%.*s", STR_ARG(answer->body));
        assert_str(answer->etag, "\"7\"");
        assert_str(answer->location, "/v1/nodes/\"web1\"");
    }
    world_done(&f->world, err);
}

static IdempotencyState claim(Fixture *f, const IdempotentRequest *request)
{
    idempotency_claim(&f->world.cluster_store, request, claimed, f);
    world_expect(&f->world, ERROR_NONE, NULL);
    return f->state;
}

static IdempotentRequest request_of(const char *credential, const char *key, const char *body)
{
    IdempotentRequest request;
    Error err;
    assert_true(idempotent_request_make(str_from_c(credential), str_from_c(key), STR("POST"),
                                        STR("/v1/nodes"), str_from_c(body), &request, &err));
    return request;
}

static void finish(Fixture *f, Str body, bool holds_secret)
{
    IdempotentResponse answer = { 201, body, STR("\"7\""), STR("/v1/nodes/\"web1\"") };
    idempotency_finish(&f->world.cluster_store, &f->request, &answer, holds_secret, world_done,
                       &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
}

static void pass_seconds(Fixture *f, int64_t seconds)
{
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + seconds * 1000);
}

static void completed_requests_are_replayed(void **state)
{
    Fixture *f = *state;
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_IN_FLIGHT);
    finish(f, STR("{\"a\":\"b\"}\n"), false);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_REPLAY);
    assert_int_equal(f->status, 201);
    assert_string_equal(f->body, "{\"a\":\"b\"}\n");
    pass_seconds(f, IDEMPOTENCY_RETAINED_S - 60);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_REPLAY);
    pass_seconds(f, 120);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
}

/* Servers of two versions may answer the same request: one claims it, the other completes it. */
static void fields_of_a_newer_server_are_preserved_in_the_claim(void **state)
{
    Fixture *f = *state;
    Str key = cluster_key_idempotency(&f->world.arena, PREFIX, str_from_c(f->request.name));
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
    world_put(&f->world, key,
              arena_format(&f->world.arena,
                           "{\"format\":\"eden.idempotency/1\",\"digest\":\"%s\",\"status\":0,"
                           "\"zone\":{\"name\":\"north\"}}",
                           f->request.digest));
    finish(f, STR("x"), false);
    WorldValue got = world_get(&f->world, key);
    assert_true(got.there);
    assert_true(str_find(got.value, STR("\"status\":201"), 0) != STR_NOT_FOUND);
    assert_true(str_ends(got.value, STR(",\"zone\":{\"name\":\"north\"}}")));
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_REPLAY);
}

static void reusing_a_key_for_another_request_is_reported(void **state)
{
    Fixture *f = *state;
    IdempotentRequest other = request_of("token:a", "key", "{ }");
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
    assert_int_equal(claim(f, &other), IDEMPOTENCY_OTHER);
    finish(f, STR("x"), false);
    assert_int_equal(claim(f, &other), IDEMPOTENCY_OTHER);
    assert_non_null(idempotency_state_text(IDEMPOTENCY_OTHER));
    /* Nor does it complete a claim that is not its own. */
    idempotency_forget(&f->world.cluster_store, &other, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_REPLAY);
}

static void keys_are_separate_per_caller(void **state)
{
    Fixture *f = *state;
    IdempotentRequest other = request_of("token:b", "key", "{}");
    IdempotentRequest shifted = request_of("token:ak", "ey", "{}");
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
    assert_int_equal(claim(f, &other), IDEMPOTENCY_NEW);
    assert_int_equal(claim(f, &shifted), IDEMPOTENCY_NEW);
}

static void secrets_and_long_responses_are_not_stored(void **state)
{
    Fixture *f = *state;
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
    finish(f, STR("the canary secret"), true);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NOT_STORED);
    WorldValue got = world_get(
        &f->world, cluster_key_idempotency(&f->world.arena, PREFIX, str_from_c(f->request.name)));
    assert_true(got.there);
    assert_true(str_find(got.value, STR("body"), 0) == STR_NOT_FOUND);
    f->request = request_of("token:a", "long", "{}");
    char *body = calloc(1, IDEMPOTENCY_BODY_MAX + 1);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
    finish(f, str_from(body, IDEMPOTENCY_BODY_MAX + 1), false);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NOT_STORED);
    f->request = request_of("token:a", "as-long-as-it-may-be", "{}");
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
    finish(f, str_from(body, IDEMPOTENCY_BODY_MAX), false);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_REPLAY);
    free(body);
}

static void failed_requests_can_be_retried(void **state)
{
    Fixture *f = *state;
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
    idempotency_forget(&f->world.cluster_store, &f->request, world_done, &f->world);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
    /* The process that claimed it is gone. */
    pass_seconds(f, IDEMPOTENCY_PENDING_S + 60);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
}

static void keys_are_bounded(void **state)
{
    char key[IDEMPOTENCY_KEY_MAX + 1];
    IdempotentRequest request;
    Error err;
    memset(key, 'k', sizeof key);
    assert_true(idempotent_request_make(STR("a"), str_from(key, sizeof key - 1), STR("POST"),
                                        STR("/"), STR_EMPTY, &request, &err));
    assert_false(idempotent_request_make(STR("a"), str_from(key, sizeof key), STR("POST"), STR("/"),
                                         STR_EMPTY, &request, &err));
    assert_false(idempotent_request_make(STR("a"), STR_EMPTY, STR("POST"), STR("/"), STR_EMPTY,
                                         &request, &err));
    assert_false(idempotent_request_make(STR("a"), STR("a b"), STR("POST"), STR("/"), STR_EMPTY,
                                         &request, &err));
}

/* Puts the maximum number of records under names with this prefix. */
static void keep_many(Fixture *f, const char *first, uint32_t count)
{
    Arena *arena = &f->world.arena;
    StoreOp ops[100];
    Error err;
    for (uint32_t i = 0; i < count; i += COUNT_OF(ops)) {
        for (uint32_t k = 0; k < COUNT_OF(ops); k++) {
            Str name = arena_format(arena, "%.*s%048x", IDEMPOTENCY_WHO_TEXT, first, i + k);
            ops[k] = (StoreOp){ .kind = STORE_PUT,
                                .key = cluster_key_idempotency(arena, PREFIX, name),
                                .value = STR("{}") };
        }
        StoreTxn txn = { .success = ops, .success_count = COUNT_OF(ops) };
        assert_true(store_txn(f->world.cluster_store.store, &txn, world_stored, &f->world, &err));
        world_expect(&f->world, ERROR_NONE, NULL);
    }
}

static void one_principal_cannot_shut_out_others(void **state)
{
    Fixture *f = *state;
    IdempotentRequest more = request_of("token:a", "another", "{}");
    IdempotentRequest other = request_of("token:b", "key", "{}");
    keep_many(f, f->request.name, IDEMPOTENCY_OWN_MAX - 100);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_NEW);
    finish(f, STR("x"), false);
    keep_many(f, f->request.name, IDEMPOTENCY_OWN_MAX);
    idempotency_claim(&f->world.cluster_store, &more, claimed, f);
    world_expect(&f->world, ERROR_LIMIT, "2000 of your requests");
    /* Existing responses are still given, and other callers have their own limit. */
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_REPLAY);
    assert_int_equal(claim(f, &other), IDEMPOTENCY_NEW);
}

static void the_number_of_keys_is_limited(void **state)
{
    Fixture *f = *state;
    keep_many(f, "0123456789abcdef", IDEMPOTENCY_MAX);
    idempotency_claim(&f->world.cluster_store, &f->request, claimed, f);
    world_expect(&f->world, ERROR_LIMIT, "too many");
}

static void a_damaged_record_is_an_error(void **state)
{
    Fixture *f = *state;
    Str key = cluster_key_idempotency(&f->world.arena, PREFIX, str_from_c(f->request.name));
    world_put(&f->world, key, STR("{}"));
    idempotency_claim(&f->world.cluster_store, &f->request, claimed, f);
    world_expect(&f->world, ERROR_INVALID, "record of an earlier request");
}

static void closing_the_store_completes_all_calls(void **state)
{
    Fixture *f = *state;
    idempotency_claim(&f->world.cluster_store, &f->request, claimed, f);
    store_close(f->world.cluster_store.store);
    f->world.cluster_store.store = NULL;
    world_expect(&f->world, ERROR_UNAVAILABLE, NULL);
}

/* Only the late caller is affected, not one that is already executing it. */
static void a_claim_with_a_lost_response_is_recognized(void **state)
{
    static const Fate fates[] = { FATE_ANSWER_LOST };
    Fixture *f = *state;
    LossyStore lossy;
    ClusterStore cluster_store = f->world.cluster_store;
    cluster_store.store =
        lossy_open(&lossy, cluster_store.loop, cluster_store.store, fates, COUNT_OF(fates));
    idempotency_claim(&cluster_store, &f->request, claimed, f);
    pass_seconds(f, 1);
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_int_equal(f->state, IDEMPOTENCY_NEW);
    assert_int_equal(claim(f, &f->request), IDEMPOTENCY_IN_FLIGHT);
    confirmed_txns_close(cluster_store.store);
    arena_clear(&lossy.arena);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(completed_requests_are_replayed),
        ROW(fields_of_a_newer_server_are_preserved_in_the_claim),
        ROW(reusing_a_key_for_another_request_is_reported),
        ROW(keys_are_separate_per_caller),
        ROW(secrets_and_long_responses_are_not_stored),
        ROW(failed_requests_can_be_retried),
        ROW(keys_are_bounded),
        ROW(one_principal_cannot_shut_out_others),
        ROW(the_number_of_keys_is_limited),
        ROW(a_damaged_record_is_an_error),
        ROW(closing_the_store_completes_all_calls),
        ROW(a_claim_with_a_lost_response_is_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
