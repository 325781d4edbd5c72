#include "cluster/idempotency_retries.h"

#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    IdempotencyRetries *retries;
    IdempotencyState state;
    char body[100];
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    f->retries = idempotency_retries_new(&f->world.cluster_store);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    idempotency_retries_free(f->retries);
    world_close(&f->world);
    free(f);
    return 0;
}

static IdempotentRequest request_of(int number)
{
    IdempotentRequest request;
    Error err;
    char key[20];
    snprintf(key, sizeof key, "%d", number);
    assert_true(idempotent_request_make(STR("token:a"), str_from_c(key), STR("POST"),
                                        STR("/v1/nodes"), STR("{}"), &request, &err));
    return request;
}

static void claimed(void *context, IdempotencyState state, const IdempotentResponse *answer,
                    const Error *err)
{
    Fixture *f = context;
    f->state = state;
    f->body[0] = '\0';
    if (answer != NULL) {
        snprintf(f->body, sizeof f->body, "%.*s", STR_ARG(answer->body));
    }
    world_done(&f->world, err);
}

static IdempotencyState claim(Fixture *f, int number)
{
    IdempotentRequest request = request_of(number);
    idempotency_claim(&f->world.cluster_store, &request, claimed, f);
    world_expect(&f->world, ERROR_NONE, NULL);
    return f->state;
}

static void completions_are_written_in_sequence(void **state)
{
    Fixture *f = *state;
    IdempotentResponse answer = { 201, STR("made"), STR_EMPTY, STR_EMPTY };
    for (int i = 0; i < 30; i++) {
        IdempotentRequest request = request_of(i);
        assert_int_equal(claim(f, i), IDEMPOTENCY_NEW);
        idempotency_retries_add(f->retries, &request, i % 3 == 0 ? NULL : &answer, i % 3 == 2);
    }
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + 1000);
    assert_int_equal(idempotency_retries_count(f->retries), 0);
    for (int i = 0; i < 30; i++) {
        static const IdempotencyState expected[] = { IDEMPOTENCY_NEW, IDEMPOTENCY_REPLAY,
                                                     IDEMPOTENCY_NOT_STORED };
        assert_int_equal(claim(f, i), expected[i % 3]);
        assert_string_equal(f->body, i % 3 == 1 ? "made" : "");
    }
}

/* A store with too many pending calls rejects one more, like a full disk does. */
static void rejected_writes_are_retried(void **state)
{
    Fixture *f = *state;
    IdempotentRequest request = request_of(1);
    Error err;
    assert_int_equal(claim(f, 1), IDEMPOTENCY_NEW);
    for (int i = 0; i < STORE_PENDING_MAX; i++) {
        assert_true(store_get(f->world.cluster_store.store, STR("/x"), NULL, NULL, &err));
    }
    idempotency_retries_add(f->retries, &request, NULL, false);
    assert_int_equal(idempotency_retries_count(f->retries), 1);
    world_pass(&f->world);
    assert_int_equal(claim(f, 1), IDEMPOTENCY_IN_FLIGHT);
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + IDEMPOTENCY_RETRIES_MS + 100);
    assert_int_equal(idempotency_retries_count(f->retries), 0);
    assert_int_equal(claim(f, 1), IDEMPOTENCY_NEW);
}

/* What the store still contains when it is freed is answered later. */
static void pending_completions_are_limited_and_all_are_written(void **state)
{
    Fixture *f = *state;
    IdempotentRequest request = request_of(1);
    for (int i = 0; i < IDEMPOTENCY_RETRIES_MAX + 10; i++) {
        idempotency_retries_add(f->retries, &request, NULL, false);
    }
    assert_int_equal(idempotency_retries_count(f->retries), IDEMPOTENCY_RETRIES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(completions_are_written_in_sequence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rejected_writes_are_retried, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pending_completions_are_limited_and_all_are_written, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
