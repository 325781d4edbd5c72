/* Certificates as objects of the API: how one is found. */
#include "api/kind.h"

#include <stdlib.h>

#include "api/kind_rows.h"
#include "cluster/cluster_keys.h"
#include "membership/node_record.h"
#include "ready_state.h"
#include "unit.h"

#define PREFIX STR("/eden")

enum {
    NODES = 300
};

typedef struct Fixture {
    Arena arena;
    Loop *loop;
    ClusterStore cluster_store;
    LoopTask look;
    uint32_t most; /* maximum number of concurrent store calls during a lookup */
    bool is_told;
    ErrorKind failure;
    char owner[NODE_NAME_MAX + 1];
} Fixture;

static void pass(Fixture *f)
{
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + 10);
}

static void look(void *context)
{
    Fixture *f = context;
    uint32_t pending = store_status(f->cluster_store.store).pending;
    f->most = pending > f->most ? pending : f->most;
    if (!f->is_told) {
        loop_defer(f->loop, &f->look);
    }
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    arena_init(&f->arena, ARENA_UNLIMITED);
    f->loop = loop_new_virtual(1);
    f->cluster_store = (ClusterStore){ f->loop, store_open_memory(f->loop, NULL), PREFIX };
    follow_store(&f->cluster_store);
    loop_task_init(&f->look, look, f);
    pass(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    follow_stop(&f->cluster_store);
    store_close(f->cluster_store.store);
    follow_free(&f->cluster_store);
    loop_free(f->loop);
    arena_clear(&f->arena);
    free(f);
    return 0;
}

static void done(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}

static Str serial_of(Fixture *f, uint32_t number)
{
    return arena_format(&f->arena, "%032x", number);
}

static void put_node(Fixture *f, const char *name, uint32_t serial)
{
    NodeRecord record = { .labels = value_missing(), .not_after_ms = 1 };
    Buf text = buf_make_in(&f->arena, BUF_UNLIMITED);
    Error err;
    snprintf(record.name, sizeof record.name, "%s", name);
    snprintf(record.enrollment, sizeof record.enrollment, "%016x", serial);
    snprintf(record.serial, sizeof record.serial, "%.*s", SERIAL_TEXT, serial_of(f, serial).data);
    node_record_print(&record, &text);
    assert_true(store_put(f->cluster_store.store,
                          cluster_key_node(&f->arena, PREFIX, str_from_c(name)), buf_str(&text), 0,
                          done, NULL, &err));
    pass(f);
}

static void got(void *context, const KindItem *item, const Error *err)
{
    Fixture *f = context;
    assert_false(f->is_told);
    f->is_told = true;
    f->failure = err == NULL ? ERROR_NONE : err->kind;
    f->owner[0] = '\0';
    if (err == NULL) {
        Str owner = value_str(*value_get(item->status, STR("owner")));
        snprintf(f->owner, sizeof f->owner, "%.*s", (int)owner.len, owner.data);
    }
}

static void get(Fixture *f, Str serial)
{
    ApiSettings settings = { .cluster_store = f->cluster_store };
    f->is_told = false;
    f->most = 0;
    loop_defer(f->loop, &f->look);
    kind_get(&kind_certificate, &settings, &f->arena, serial, got, f);
    pass(f);
    assert_true(f->is_told);
}

/* However many nodes there are: clients may make up serial numbers. */
static void lookups_cost_no_read(void **state)
{
    Fixture *f = *state;
    for (uint32_t i = 1; i <= NODES; i++) {
        char name[20];
        snprintf(name, sizeof name, "n%u", i);
        put_node(f, name, i);
    }
    get(f, serial_of(f, NODES + 1));
    assert_int_equal(f->failure, ERROR_NOT_FOUND);
    assert_int_equal(f->most, 0);
    get(f, serial_of(f, 77));
    assert_int_equal(f->failure, ERROR_NONE);
    assert_string_equal(f->owner, "n77");
    assert_int_equal(f->most, 0);
}

static void a_certificate_is_found_while_the_node_has_it(void **state)
{
    Fixture *f = *state;
    Error err;
    put_node(f, "web1", 1);
    put_node(f, "web1", 2);
    get(f, serial_of(f, 1));
    assert_int_equal(f->failure, ERROR_NOT_FOUND);
    get(f, serial_of(f, 2));
    assert_string_equal(f->owner, "web1");
    assert_true(store_delete(f->cluster_store.store,
                             cluster_key_node(&f->arena, PREFIX, STR("web1")), done, NULL, &err));
    pass(f);
    get(f, serial_of(f, 2));
    assert_int_equal(f->failure, ERROR_NOT_FOUND);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(lookups_cost_no_read),
        ROW(a_certificate_is_found_while_the_node_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
