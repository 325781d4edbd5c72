#include "audit/audit.h"

#include "lossy_store.h"
#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    Audit *audit;
    uint32_t reported, refused;
    uint64_t last;
    Error err;
    bool frees, verified, listed;
    AuditChain chain;
    uint64_t seen[10];
    Str names[10];
    uint32_t count, unreadable;
    uint64_t next;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    f->audit = audit_new(&f->world.cluster_store);
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

static void appended(void *context, uint64_t sequence, const Error *err)
{
    Fixture *f = context;
    assert_int_equal(sequence == 0, err != NULL);
    if (err == NULL) {
        f->reported++;
        f->last = sequence;
    } else {
        f->refused++;
        f->err = *err;
    }
    if (f->frees) {
        f->frees = false;
        audit_free(TAKE(f->audit));
    }
}

static void append(Fixture *f, Audit *audit, const char *name)
{
    audit_append(audit,
                 &(AuditEntry){ .who = STR("root (uid 0)"),
                                .principal_kind = PRINCIPAL_LOCAL,
                                .verb = STR("delete"),
                                .kind = STR("Node"),
                                .name = str_from_c(name),
                                .outcome = AUDIT_REQUESTED },
                 appended, f);
}

static void verified(void *context, const AuditChain *chain, const Error *err)
{
    Fixture *f = context;
    f->verified = true;
    assert_null(err);
    f->chain = *chain;
}

static const AuditChain *verify(Fixture *f)
{
    f->verified = false;
    audit_verify(f->audit, verified, f);
    world_pass(&f->world);
    assert_true(f->verified);
    return &f->chain;
}

static void listed(void *context, const AuditPage *page, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->listed = true;
    f->count = page->count;
    f->unreadable = page->unreadable;
    f->next = page->next;
    for (uint32_t i = 0; i < page->count && i < COUNT_OF(f->seen); i++) {
        f->seen[i] = page->entries[i].sequence;
        f->names[i] = arena_copy(&f->world.arena, page->entries[i].name);
    }
}

static void list(Fixture *f, uint64_t from, uint32_t limit, bool newest_first)
{
    f->listed = false;
    audit_list(&f->world.cluster_store,
               &(AuditQuery){ .from = from, .limit = limit, .newest_first = newest_first }, listed,
               f);
    world_pass(&f->world);
    assert_true(f->listed);
}

static void entries_become_a_chain(void **state)
{
    Fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        append(f, f->audit, "web1");
        world_pass(&f->world);
    }
    assert_int_equal(f->reported, 3);
    assert_int_equal(f->last, 3);
    assert_false(verify(f)->is_broken);
    assert_int_equal(f->chain.count, 3);
}

static void waiting_entries_share_one_transaction(void **state)
{
    Fixture *f = *state;
    append(f, f->audit, "first");
    world_pass(&f->world);
    int64_t before = store_status(f->world.cluster_store.store).revision;
    for (int i = 0; i < 250; i++) {
        append(f, f->audit, "web1");
    }
    world_pass(&f->world);
    assert_int_equal(f->reported, 251);
    /* The first is written immediately, the others after it. */
    assert_int_equal(store_status(f->world.cluster_store.store).revision - before, 4);
    assert_false(verify(f)->is_broken);
    assert_int_equal(f->chain.count, 251);
}

static void two_servers_write_one_chain(void **state)
{
    Fixture *f = *state;
    AUTO(Audit) *other = audit_new(&f->world.cluster_store);
    for (int i = 0; i < 20; i++) {
        append(f, f->audit, "web1");
        append(f, other, "web2");
        append(f, other, "web3");
        if (i % 3 == 0) {
            world_pass(&f->world);
        }
    }
    world_pass(&f->world);
    assert_int_equal(f->reported, 60);
    assert_false(verify(f)->is_broken);
    assert_int_equal(f->chain.count, 60);
}

static void the_chain_continues_after_a_restart(void **state)
{
    Fixture *f = *state;
    append(f, f->audit, "web1");
    world_pass(&f->world);
    audit_free(f->audit);
    f->audit = audit_new(&f->world.cluster_store);
    append(f, f->audit, "web2");
    world_pass(&f->world);
    assert_int_equal(f->last, 2);
    assert_false(verify(f)->is_broken);
}

static void without_a_store_nothing_is_done(void **state)
{
    Fixture *f = *state;
    append(f, f->audit, "web1");
    append(f, f->audit, "web2");
    store_close(f->world.cluster_store.store);
    f->world.cluster_store.store = NULL;
    assert_int_equal(f->refused, 2);
    assert_int_equal(f->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(f->err.text, "cannot write the audit log"));
    assert_int_equal(f->reported, 0);
}

static void entries_with_a_lost_response_exist_once(void **state)
{
    static const Fate fates[] = { FATE_ANSWER_LOST, FATE_WELL, FATE_REQUEST_LOST, FATE_LATE };
    Fixture *f = *state;
    LossyStore lossy;
    ClusterStore cluster_store = f->world.cluster_store;
    Store *store =
        lossy_open(&lossy, cluster_store.loop, cluster_store.store, fates, COUNT_OF(fates));
    cluster_store.store = store;
    Audit *far = audit_new(&cluster_store);
    for (int i = 0; i < 5; i++) {
        append(f, far, "web1");
        append(f, far, "web2");
        loop_run_virtual_until(cluster_store.loop, loop_now_ms(cluster_store.loop) + 3000);
        append(f, f->audit, "web3"); /* from another server */
        world_pass(&f->world);
    }
    assert_int_equal(f->reported, 15);
    assert_int_equal(f->refused, 0);
    assert_false(verify(f)->is_broken);
    assert_int_equal(f->chain.count, 15);
    audit_free(far);
    confirmed_txns_close(store);
    arena_clear(&lossy.arena);
}

static void an_unreadable_head_stops_everything(void **state)
{
    Fixture *f = *state;
    Str key = cluster_key_audit_head(&f->world.arena, PREFIX);
    world_put(&f->world, key, STR("nonsense"));
    append(f, f->audit, "web1");
    world_pass(&f->world);
    assert_int_equal(f->refused, 1);
    assert_int_equal(f->err.kind, ERROR_UNAVAILABLE);
    assert_true(verify(f)->is_broken);
    assert_non_null(strstr(f->chain.what, "the head of the audit log"));
    /* And it is read again the next time. */
    AuditHead head;
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    audit_head_init(&head);
    audit_head_print(&head, &text);
    world_put(&f->world, key, buf_str(&text));
    append(f, f->audit, "web1");
    world_pass(&f->world);
    assert_int_equal(f->reported, 1);
    assert_false(verify(f)->is_broken);
}

static bool head_has(Fixture *f, const char *piece)
{
    Str head = world_get(&f->world, cluster_key_audit_head(&f->world.arena, PREFIX)).value;
    return str_find(head, str_from_c(piece), 0) != STR_NOT_FOUND;
}

/* The head of a log with so many entries, of which the first ones are archived. */
static void put_head(Fixture *f, uint64_t last, uint64_t archived)
{
    AuditHead head;
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    audit_head_init(&head);
    head.sequence = last;
    head.floor_sequence = archived;
    audit_head_print(&head, &text);
    world_put(&f->world, cluster_key_audit_head(&f->world.arena, PREFIX), buf_str(&text));
}

static void a_log_with_too_many_entries_is_full_until_some_are_archived(void **state)
{
    Fixture *f = *state;
    assert_false(audit_is_full(f->audit));
    put_head(f, AUDIT_ENTRIES_MAX - 2, 0);
    append(f, f->audit, "web1");
    world_pass(&f->world);
    assert_false(audit_is_full(f->audit));
    append(f, f->audit, "web2");
    world_pass(&f->world);
    assert_true(audit_is_full(f->audit));
    put_head(f, AUDIT_ENTRIES_MAX, 2);
    append(f, f->audit, "web3");
    world_pass(&f->world);
    assert_int_equal(f->reported, 3);
    assert_false(audit_is_full(f->audit));
}

/* As long as this version counts and drops entries, exactly. */
static void the_head_has_the_size_of_the_entries(void **state)
{
    Fixture *f = *state;
    size_t bytes = 0;
    for (uint64_t i = 1; i <= 250; i++) {
        append(f, f->audit, i % 3 == 0 ? "web1" : "a-longer-name");
    }
    world_pass(&f->world);
    for (uint64_t i = 1; i <= 250; i++) {
        bytes += world_get(&f->world, cluster_key_audit(&f->world.arena, PREFIX, i)).value.len;
    }
    AuditHead head;
    Error err;
    Str text = world_get(&f->world, cluster_key_audit_head(&f->world.arena, PREFIX)).value;
    assert_true(audit_head_read(&f->world.arena, text, &head, &err));
    assert_int_equal(head.bytes, bytes);
}

static void fields_of_a_newer_server_are_preserved_in_the_head(void **state)
{
    Fixture *f = *state;
    AuditHead head;
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    audit_head_init(&head);
    audit_head_print(&head, &text);
    text.len--; /* the bracket */
    buf_put_c(&text, ",\"signed_by\":[\"s2\",1]}");
    world_put(&f->world, cluster_key_audit_head(&f->world.arena, PREFIX), buf_str(&text));
    append(f, f->audit, "web1");
    world_pass(&f->world);
    append(f, f->audit, "web2"); /* according to the head known by now */
    world_pass(&f->world);
    assert_int_equal(f->reported, 2);
    assert_true(head_has(f, "\"sequence\":2,"));
    assert_true(head_has(f, ",\"signed_by\":[\"s2\",1]}"));
    assert_false(verify(f)->is_broken);
}

static void tampering_with_the_store_is_detected(void **state)
{
    Fixture *f = *state;
    Error err;
    for (int i = 0; i < 5; i++) {
        append(f, f->audit, "web1");
    }
    world_pass(&f->world);
    Str third = cluster_key_audit(&f->world.arena, PREFIX, 3);
    Str kept = world_get(&f->world, third).value;
    world_put(&f->world, third, STR("{}"));
    assert_true(verify(f)->is_broken);
    assert_int_equal(f->chain.broken_at, 3);
    list(f, 0, 10, false);
    assert_int_equal(f->count, 4);
    assert_int_equal(f->unreadable, 1);
    world_put(&f->world, third, kept);
    assert_false(verify(f)->is_broken);
    Str last = cluster_key_audit(&f->world.arena, PREFIX, 5);
    assert_true(store_delete(f->world.cluster_store.store, last, world_stored, &f->world, &err));
    world_expect(&f->world, ERROR_NONE, NULL);
    assert_true(verify(f)->is_broken);
    assert_int_equal(f->chain.broken_at, 5);
    assert_non_null(strstr(f->chain.what, "should continue to 5"));
    world_put(&f->world, STR("/eden/audit/x"), STR("{}"));
    assert_true(verify(f)->is_broken);
    assert_non_null(strstr(f->chain.what, "not an entry"));
}

static void long_logs_are_verified_page_by_page(void **state)
{
    Fixture *f = *state;
    for (int i = 0; i < 1203; i++) {
        append(f, f->audit, "web1");
    }
    world_pass(&f->world);
    assert_false(verify(f)->is_broken);
    assert_int_equal(f->chain.count, 1203);
}

static void paging_works_in_both_directions(void **state)
{
    Fixture *f = *state;
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        append(f, f->audit, names[i]);
    }
    world_pass(&f->world);
    list(f, 0, 2, true);
    assert_int_equal(f->count, 2);
    assert_str(f->names[0], "e");
    assert_int_equal(f->next, 3);
    list(f, f->next, 10, true);
    assert_int_equal(f->count, 3);
    assert_str(f->names[0], "c");
    assert_int_equal(f->next, 0);
    list(f, 4, 1, false);
    assert_str(f->names[0], "d");
    assert_int_equal(f->next, 5);
    list(f, 5, 1, false);
    assert_str(f->names[0], "e");
    assert_int_equal(f->next, 0);
}

static void too_many_are_refused(void **state)
{
    Fixture *f = *state;
    for (int i = 0; i < AUDIT_WAITING_MAX + 2; i++) {
        append(f, f->audit, "web1");
    }
    assert_int_equal(f->refused, 2);
    assert_int_equal(f->err.kind, ERROR_UNAVAILABLE);
    world_pass(&f->world);
    assert_int_equal(f->reported, AUDIT_WAITING_MAX);
}

static void it_can_be_freed_by_a_callback(void **state)
{
    Fixture *f = *state;
    append(f, f->audit, "web1");
    append(f, f->audit, "web2");
    f->frees = true;
    world_pass(&f->world);
    assert_null(f->audit);
    assert_int_equal(f->reported + f->refused, 2);
}

static void it_can_be_freed_while_writing(void **state)
{
    Fixture *f = *state;
    append(f, f->audit, "web1");
    append(f, f->audit, "web2");
    audit_free(TAKE(f->audit));
    world_pass(&f->world);
    assert_int_equal(f->reported + f->refused, 2);
}

static void denied_reads_count_once_a_minute(void **state)
{
    Fixture *f = *state;
    Loop *loop = f->world.cluster_store.loop;
    char name[20];
    assert_int_equal(audit_allowance(f->audit, STR("token:a"), AUDIT_LIMIT_READ),
                     AUDIT_ALLOWANCE_LAST);
    assert_int_equal(audit_allowance(f->audit, STR("token:a"), AUDIT_LIMIT_READ),
                     AUDIT_ALLOWANCE_NONE);
    assert_int_equal(audit_allowance(f->audit, STR("token:b"), AUDIT_LIMIT_READ),
                     AUDIT_ALLOWANCE_LAST);
    loop_run_virtual_until(loop, loop_now_ms(loop) + 60000);
    assert_int_equal(audit_allowance(f->audit, STR("token:a"), AUDIT_LIMIT_READ),
                     AUDIT_ALLOWANCE_LAST);
    assert_int_equal(audit_allowance(f->audit, STR("token:a"), AUDIT_LIMIT_READ),
                     AUDIT_ALLOWANCE_NONE);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "token:%d", i);
        assert_int_equal(audit_allowance(f->audit, str_from_c(name), AUDIT_LIMIT_READ),
                         AUDIT_ALLOWANCE_LAST);
        assert_int_equal(audit_allowance(f->audit, str_from_c(name), AUDIT_LIMIT_READ),
                         AUDIT_ALLOWANCE_NONE);
    }
}

static void denied_changes_do_not_fill_the_log(void **state)
{
    Fixture *f = *state;
    Loop *loop = f->world.cluster_store.loop;
    for (int minute = 0; minute < 3; minute++) {
        for (int i = 1; i < AUDIT_DENIED_CHANGES; i++) {
            assert_int_equal(audit_allowance(f->audit, STR("token:a"), AUDIT_LIMIT_CHANGE),
                             AUDIT_ALLOWANCE_MORE);
        }
        assert_int_equal(audit_allowance(f->audit, STR("token:a"), AUDIT_LIMIT_CHANGE),
                         AUDIT_ALLOWANCE_LAST);
        for (int i = 0; i < 1000; i++) {
            assert_int_equal(audit_allowance(f->audit, STR("token:a"), AUDIT_LIMIT_CHANGE),
                             AUDIT_ALLOWANCE_NONE);
        }
        assert_int_equal(audit_allowance(f->audit, STR("token:a"), AUDIT_LIMIT_READ),
                         AUDIT_ALLOWANCE_LAST);
        assert_int_equal(audit_allowance(f->audit, STR("token:b"), AUDIT_LIMIT_CHANGE),
                         AUDIT_ALLOWANCE_MORE);
        loop_run_virtual_until(loop, loop_now_ms(loop) + 60000);
    }
}

static void logins_do_not_fill_the_log(void **state)
{
    Fixture *f = *state;
    Str who = STR("token:a");
    for (int i = 1; i < AUDIT_SESSIONS; i++) {
        assert_int_equal(audit_allowance(f->audit, who, AUDIT_LIMIT_SESSION), AUDIT_ALLOWANCE_MORE);
    }
    assert_int_equal(audit_allowance(f->audit, who, AUDIT_LIMIT_SESSION), AUDIT_ALLOWANCE_LAST);
    assert_int_equal(audit_allowance(f->audit, who, AUDIT_LIMIT_SESSION), AUDIT_ALLOWANCE_NONE);
    assert_int_equal(audit_allowance(f->audit, who, AUDIT_LIMIT_CHANGE), AUDIT_ALLOWANCE_MORE);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

typedef struct Verified {
    Fixture *appends; /* added when it notifies, or NULL */
    uint32_t count;
    uint64_t entries;
    ErrorKind kind;
} Verified;

static void one_verified(void *context, const AuditChain *chain, const Error *err)
{
    Verified *one = context;
    one->count++;
    one->entries = chain == NULL ? 0 : chain->count;
    one->kind = err == NULL ? ERROR_NONE : err->kind;
    if (one->appends != NULL) {
        append(one->appends, one->appends->audit, "web2");
    }
}

/* The log is read twice here, not six times: requests during a read get the result of the next
 * one. */
static void verifications_are_sequential_and_shared(void **state)
{
    Fixture *f = *state;
    Verified all[6] = { { .appends = f } };
    for (int i = 0; i < 3; i++) {
        append(f, f->audit, "web1");
    }
    world_pass(&f->world);
    for (uint32_t i = 0; i < COUNT_OF(all); i++) {
        audit_verify(f->audit, one_verified, &all[i]);
    }
    world_pass(&f->world);
    assert_int_equal(all[0].entries, 3);
    for (uint32_t i = 0; i < COUNT_OF(all); i++) {
        assert_int_equal(all[i].count, 1);
        assert_int_equal(all[i].kind, ERROR_NONE);
        assert_true(i == 0 || all[i].entries == 4);
    }
    assert_int_equal(verify(f)->count, 4);
}

static void pending_verifications_are_notified_when_the_log_is_freed(void **state)
{
    Fixture *f = *state;
    Verified first = { 0 }, second = { 0 };
    append(f, f->audit, "web1");
    world_pass(&f->world);
    audit_verify(f->audit, one_verified, &first);
    audit_verify(f->audit, one_verified, &second);
    audit_free(TAKE(f->audit));
    assert_int_equal(second.kind, ERROR_UNAVAILABLE);
    world_pass(&f->world);
    assert_int_equal(first.count, 1);
    assert_int_equal(second.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(entries_become_a_chain),
        ROW(waiting_entries_share_one_transaction),
        ROW(two_servers_write_one_chain),
        ROW(the_chain_continues_after_a_restart),
        ROW(without_a_store_nothing_is_done),
        ROW(entries_with_a_lost_response_exist_once),
        ROW(an_unreadable_head_stops_everything),
        ROW(a_log_with_too_many_entries_is_full_until_some_are_archived),
        ROW(fields_of_a_newer_server_are_preserved_in_the_head),
        ROW(the_head_has_the_size_of_the_entries),
        ROW(tampering_with_the_store_is_detected),
        ROW(long_logs_are_verified_page_by_page),
        ROW(paging_works_in_both_directions),
        ROW(too_many_are_refused),
        ROW(verifications_are_sequential_and_shared),
        ROW(pending_verifications_are_notified_when_the_log_is_freed),
        ROW(it_can_be_freed_by_a_callback),
        ROW(it_can_be_freed_while_writing),
        ROW(denied_reads_count_once_a_minute),
        ROW(denied_changes_do_not_fill_the_log),
        ROW(logins_do_not_fill_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
