#include "audit/audit_drop.h"

#include "audit/audit.h"
#include "store_world.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)

enum {
    ENTRIES = 3300 /* of which 2300 may be dropped: four batches and some */
};

typedef struct Fixture {
    StoreWorld world;
    Audit *audit;
    uint32_t reported;
    AuditPage page; /* of the last lookup: */
    char hash[AUDIT_HASH_TEXT + 1];
    AuditChain chain;
    bool is_over;
    AuditHead head;
    uint64_t count;
    Error err;
} Fixture;

static void appended(void *context, uint64_t sequence, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->reported++;
}

static void append(Fixture *f)
{
    audit_append(f->audit,
                 &(AuditEntry){ .who = STR("ann"), .verb = STR("delete"), .kind = STR("Node") },
                 appended, f);
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    f->audit = audit_new(&f->world.cluster_store);
    for (int i = 0; i < ENTRIES; i++) {
        append(f);
    }
    world_pass(&f->world);
    assert_int_equal(f->reported, ENTRIES);
    loop_virtual_set_wall(f->world.cluster_store.loop, loop_wall_ms(f->world.cluster_store.loop) +
                                                           AUDIT_RETAINED_DAYS * DAY_MS + 1000);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    audit_free(f->audit);
    world_close(&f->world);
    free(f);
    return 0;
}

static void listed(void *context, const AuditPage *page, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->page = *page;
    snprintf(f->hash, sizeof f->hash, "%" STR_FMT, STR_ARG(page->entries[0].hash));
}

static AuditDropRequest drop_request(Fixture *f, uint64_t sequence)
{
    AuditDropRequest request = { .sequence = sequence };
    audit_list(&f->world.cluster_store, &(AuditQuery){ .from = sequence, .limit = 1 }, listed, f);
    world_pass(&f->world);
    memcpy(request.hash, f->hash, sizeof request.hash);
    return request;
}

static void dropped(void *context, const AuditHead *head, uint64_t count, const Error *err)
{
    Fixture *f = context;
    f->is_over = true;
    f->count = count;
    f->err = err == NULL ? (Error){ 0 } : *err;
    f->head = head == NULL ? (AuditHead){ 0 } : *head;
}

static void verified(void *context, const AuditChain *chain, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->chain = *chain;
}

static void expect_whole(Fixture *f, uint64_t floor, uint64_t count)
{
    audit_verify(f->audit, verified, f);
    world_pass(&f->world);
    assert_false(f->chain.is_broken);
    assert_int_equal(f->chain.head.floor_sequence, floor);
    assert_int_equal(f->chain.count, count);
}

static void archived_entries_are_dropped_and_the_rest_is_intact(void **state)
{
    Fixture *f = *state;
    AuditDropRequest request = drop_request(f, 2300);
    audit_drop(&f->world.cluster_store, &request, STR("ann"), dropped, f);
    world_pass(&f->world);
    assert_true(f->is_over);
    assert_int_equal(f->err.kind, ERROR_NONE);
    assert_int_equal(f->count, 2300);
    assert_int_equal(f->head.floor_sequence, 2300);
    assert_string_equal(f->head.floor_hash, request.hash);
    assert_string_equal(f->head.floor_who, "ann");
    assert_true(f->head.floor_time_ms > 0);
    expect_whole(f, 2300, 1000);
    /* The log continues, and the floor stays. */
    append(f);
    world_pass(&f->world);
    expect_whole(f, 2300, 1001);
    /* Repeating it changes nothing. */
    audit_drop(&f->world.cluster_store, &request, STR("ben"), dropped, f);
    world_pass(&f->world);
    assert_int_equal(f->err.kind, ERROR_NONE);
    assert_int_equal(f->count, 0);
    assert_string_equal(f->head.floor_who, "ann");
}

/* A killed server may leave any intermediate state of the store. */
static void each_batch_leaves_an_intact_log(void **state)
{
    Fixture *f = *state;
    AuditDropRequest request = drop_request(f, 2300);
    int64_t before = store_status(f->world.cluster_store.store).revision;
    audit_drop(&f->world.cluster_store, &request, STR("ann"), dropped, f);
    world_pass(&f->world);
    int64_t after = store_status(f->world.cluster_store.store).revision;
    assert_int_equal(after - before, 5);
    for (int64_t revision = before; revision <= after; revision++) {
        WorldValue got = { .arena = &f->world.arena };
        StoreOp op = { .kind = STORE_RANGE,
                       .key = cluster_key_audit_head(&f->world.arena, PREFIX),
                       .revision = revision };
        AuditHead head;
        Error err;
        assert_true(store_op(f->world.cluster_store.store, &op, world_got, &got, &err));
        world_pass(&f->world);
        assert_true(audit_head_read(&f->world.arena, got.value, &head, &err));
        uint64_t floor = (uint64_t)(revision - before) * AUDIT_DROP_BATCH;
        assert_int_equal(head.floor_sequence, floor < 2300 ? floor : 2300);
        /* Entries from the floor on are there, and none before it. */
        StoreOp all = { .kind = STORE_RANGE,
                        .key = cluster_key_audit_all(&f->world.arena, PREFIX),
                        .limit = 1,
                        .revision = revision };
        all.end = store_prefix_end(&f->world.arena, all.key);
        got = (WorldValue){ .arena = &f->world.arena };
        assert_true(store_op(f->world.cluster_store.store, &all, world_got, &got, &err));
        world_pass(&f->world);
        AuditEntry first;
        assert_true(audit_entry_read(&f->world.arena, got.value, &first, &err));
        assert_int_equal(first.sequence, head.floor_sequence + 1);
        assert_str(first.previous, head.floor_hash);
    }
}

/* A concurrent append makes it retry, and vice versa. */
static void entries_can_be_added_concurrently(void **state)
{
    Fixture *f = *state;
    AuditDropRequest request = drop_request(f, 2300);
    Loop *loop = f->world.cluster_store.loop;
    audit_drop(&f->world.cluster_store, &request, STR("ann"), dropped, f);
    int more = 0;
    for (; more < 50; more++) {
        append(f);
        loop_run_virtual_until(loop, loop_now_ms(loop));
    }
    world_pass(&f->world);
    assert_true(f->is_over);
    assert_int_equal(f->err.kind, ERROR_NONE);
    expect_whole(f, 2300, 1000 + (uint64_t)more);
}

static void one_of_many_is_over(void *context, const AuditHead *head, uint64_t count,
                                const Error *err)
{
    Fixture *f = context;
    if (err != NULL) {
        fail_msg("%s", err->text);
    }
    f->count += count;
    f->reported++;
}

typedef struct Later {
    Fixture *f;
    AuditDropRequest request;
    int turns;
} Later;

static void drop_later(void *context, const StoreReply *reply, const Error *err)
{
    Later *later = context;
    Fixture *f = later->f;
    Error failure;
    if (later->turns-- == 0) {
        audit_drop(&f->world.cluster_store, &later->request, STR("ben"), one_of_many_is_over, f);
        return;
    }
    assert_true(
        store_get(f->world.cluster_store.store, STR("nothing"), drop_later, later, &failure));
}

/* A caller that repeats a slow request is not told that entries are missing. */
static void concurrent_drops_agree(void **state)
{
    Fixture *f = *state;
    Later later[6];
    AuditDropRequest request = drop_request(f, 2300);
    f->reported = 0;
    for (int i = 0; i < (int)COUNT_OF(later); i++) {
        later[i] = (Later){ f, request, i };
        drop_later(&later[i], NULL, NULL);
    }
    world_pass(&f->world);
    assert_int_equal(f->reported, COUNT_OF(later));
    assert_int_equal(f->count, 2300);
    expect_whole(f, 2300, 1000);
}

static void entries_that_must_stay_are_kept(void **state)
{
    Fixture *f = *state;
    AuditDropRequest request = drop_request(f, 2301);
    audit_drop(&f->world.cluster_store, &request, STR("ann"), dropped, f);
    world_pass(&f->world);
    assert_int_equal(f->err.kind, ERROR_CONFLICT);
    expect_whole(f, 0, ENTRIES);
    request = drop_request(f, 2000);
    memcpy(request.hash, f->chain.head.hash, sizeof request.hash);
    audit_drop(&f->world.cluster_store, &request, STR("ann"), dropped, f);
    world_pass(&f->world);
    assert_int_equal(f->err.kind, ERROR_CONFLICT);
    assert_non_null(strstr(f->err.text, "a different hash"));
    expect_whole(f, 0, ENTRIES);
}

static void a_broken_log_is_not_dropped(void **state)
{
    Fixture *f = *state;
    AuditDropRequest request = drop_request(f, 2000);
    Error err;
    assert_true(store_delete(f->world.cluster_store.store,
                             cluster_key_audit(&f->world.arena, PREFIX, 1200), world_stored,
                             &f->world, &err));
    world_expect(&f->world, ERROR_NONE, NULL);
    audit_drop(&f->world.cluster_store, &request, STR("ann"), dropped, f);
    world_pass(&f->world);
    assert_int_equal(f->err.kind, ERROR_CONFLICT);
    assert_non_null(strstr(f->err.text, "nothing was dropped"));
    assert_int_equal(f->head.floor_sequence, 1000);
}

static void without_a_store_it_fails(void **state)
{
    Fixture *f = *state;
    AuditDropRequest request = drop_request(f, 2000);
    audit_drop(&f->world.cluster_store, &request, STR("ann"), dropped, f);
    store_close(f->world.cluster_store.store);
    f->world.cluster_store.store = NULL;
    assert_true(f->is_over);
    assert_int_equal(f->err.kind, ERROR_UNAVAILABLE);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(archived_entries_are_dropped_and_the_rest_is_intact),
        ROW(each_batch_leaves_an_intact_log),
        ROW(entries_can_be_added_concurrently),
        ROW(concurrent_drops_agree),
        ROW(entries_that_must_stay_are_kept),
        ROW(a_broken_log_is_not_dropped),
        ROW(without_a_store_it_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
