/* Invalid records under the keys of Config, Role and other kinds, as shown by the API. */
#include "api/kind_stored.h"
#include "api_fixture.h"

enum {
    PAGES_MAX = 20
};

static void stored(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    loop_stop(f->world.loop);
}

/* Bypassing the API, which permits no client to do that. */
static void put_key(Fixture *f, Str key, Str bytes)
{
    Error err;
    assert_true(store_put(f->store, key, bytes, 0, stored, f, &err));
    world_run(&f->world);
}

static void put_bytes(Fixture *f, const char *key, Str bytes)
{
    put_key(f, str_from_c(key), bytes);
}

#define RECORD(rest) "{\"format\":\"eden.object/1\",\"uuid\":\"u\",\"created_ms\":1," rest "}"
#define ROLE(verbs)                                                                  \
    RECORD("\"labels\":{},\"annotations\":{},\"spec\":{\"rules\":[{\"verbs\":" verbs \
           ",\"kinds\":[\"*\"]}]}")

static void an_unreadable_object_hides_no_other(void **state)
{
    static const Str broken[] = {
        STR_EMPTY,
        STR("\xff\x00{"),
        STR("[]"),
        STR("{}"),
        STR("{\"format\":\"eden.object/2\"}"),
        STR(RECORD("\"labels\":{\"a\":7},\"annotations\":{},\"spec\":{}")),
        STR(RECORD("\"labels\":{},\"annotations\":{\"a\":[]},\"spec\":{}")),
        STR(RECORD("\"labels\":{},\"annotations\":{},\"spec\":[]")),
    };
    Fixture *f = *state;
    ask(f, "PUT", "/v1/config/a", "{\"spec\":{\"title\":\"x\"}}");
    ask(f, "PUT", "/v1/config/z", "{\"spec\":{\"title\":\"x\"}}");
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        put_bytes(f, "/eden/objects/config/m", broken[i]);
        ask(f, "GET", "/v1/config", "");
        assert_int_equal(field(f, "items").list->len, 3);
        expect(f, 200, "items.1.metadata.name", "m");
        expect(f, 200, "items.1.status.state", "unreadable");
        assert_true(str_starts(value_str(field(f, "items.1.status.error")),
                               STR("/eden/objects/config/m: ")));
        expect(f, 200, "items.2.metadata.name", "z");
        ask(f, "GET", "/v1/config/m", "");
        expect(f, 200, "status.state", "unreadable");
        ask(f, "PATCH", "/v1/config/m", "{\"spec\":{\"title\":\"x\"}}");
        expect(f, 409, "code", "conflict");
        ask(f, "DELETE", "/v1/config/m", "");
        expect(f, 200, "format", "eden.done/1");
        ask(f, "GET", "/v1/config/m", "");
        expect(f, 404, "code", "not-found");
    }
    put_bytes(f, "/eden/objects/config/m", STR("{}"));
    ask(f, "PUT", "/v1/config/m", "{\"spec\":{\"title\":\"again\"}}");
    expect(f, 200, "spec.title", "again");
    assert_int_equal(field(f, "status").map->len, 0);
    assert_true(value_is_string(field(f, "metadata.created")));
}

/* With annotations of `count` times 4000 bytes. */
static const char *body_of(Fixture *f, unsigned count)
{
    Buf text = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    buf_put_c(&text, "{\"metadata\":{\"annotations\":{");
    for (unsigned i = 0; i < count; i++) {
        buf_put_format(&text, "%s\"a%u\":\"%04000u\"", i > 0 ? "," : "", i, i);
    }
    buf_put_c(&text, "}},\"spec\":{}}");
    return buf_c(&text);
}

static void objects_of_a_kind_have_a_total_size_limit(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    const size_t size = 61000;
    const char *large = body_of(f, 15);
    /* So many that exactly one more fits. */
    Buf padded = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&padded, RECORD("\"labels\":{},\"annotations\":{},\"spec\":{}"));
    while (padded.len < size) {
        buf_put_char(&padded, ' ');
    }
    for (size_t i = 0; i < STORED_BYTES_MAX / size - 1; i++) {
        put_key(f, arena_format(arena, "/eden/objects/config/m%zu", i), buf_str(&padded));
    }
    ask(f, "PUT", "/v1/config/a", large);
    expect(f, 201, "metadata.name", "a");
    ask(f, "PUT", "/v1/config/b", large);
    expect(f, 429, "code", "limit");
    ask(f, "PUT", "/v1/config/a", large);
    expect(f, 200, "metadata.name", "a");
    ask(f, "PUT", "/v1/config/c", "{\"spec\":{}}");
    expect(f, 201, "metadata.name", "c");
    ask(f, "PUT", "/v1/config/c", large);
    expect(f, 429, "code", "limit");
    ask(f, "DELETE", "/v1/config/m0", "");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "PUT", "/v1/config/b", large);
    expect(f, 201, "metadata.name", "b");
}

/* Servers keep roles in memory in a form that is larger than the record. */
static void roles_have_lower_limits(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    const char *role = "{\"spec\":{\"rules\":[{\"verbs\":[\"get\"],\"kinds\":[\"Node\"]}]}}";
    Buf padded = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&padded, ROLE("[\"get\"]"));
    while (padded.len < 70000) {
        buf_put_char(&padded, ' ');
    }
    for (size_t i = 0; i < (2 << 20) / padded.len + 1; i++) {
        put_key(f, arena_format(arena, "/eden/objects/role/big%zu", i), buf_str(&padded));
    }
    Str large =
        arena_format(arena, "{\"metadata\":{\"annotations\":{\"a\":\"%03000d\"}},%s", 0, role + 1);
    ask(f, "PUT", "/v1/roles/new", large.data);
    expect(f, 429, "detail", "the roles of a cluster can be 2 MiB in total; delete some first");
    /* Beyond the limit, existing ones can become smaller. */
    ask(f, "PUT", "/v1/roles/big0", large.data);
    expect(f, 200, "metadata.name", "big0");
    ask(f, "PUT", "/v1/roles/small", role);
    expect(f, 201, "metadata.name", "small");
    for (size_t i = 0; i < 1000; i++) {
        put_key(f, arena_format(arena, "/eden/objects/role/r%zu", i), STR(ROLE("[\"get\"]")));
    }
    ask(f, "PUT", "/v1/roles/other", role);
    expect(f, 429, "detail", "a cluster can have 1000 roles; delete some first");
}

/* However small the pages, all are found. */
static uint32_t count_by_pages(Fixture *f, const char *plural)
{
    Arena *arena = &f->scratch->arena;
    Str target = arena_format(arena, "/v1/%s?limit=1", plural);
    uint32_t found = 0;
    for (uint32_t pages = 0; target.len > 0; pages++) {
        assert_true(pages < PAGES_MAX);
        ask(f, "GET", target.data, "");
        assert_int_equal(f->status, 200);
        found += field(f, "items").list->len;
        Value next = field(f, "metadata.continue");
        target = value_is_string(next) ? arena_format(arena, "/v1/%s?limit=1&continue=%" STR_FMT,
                                                      plural, STR_ARG(value_str(next)))
                                       : STR_EMPTY;
    }
    return found;
}

static void paging_continues_after_keys_with_arbitrary_bytes(void **state)
{
    static const struct {
        const char *plural, *keys, *good;
    } rows[] = { { "config", "/eden/objects/config/", "z" },
                 { "tokens", "/eden/internal/token/", "zzzzzzzz" },
                 { "facts", "/eden/facts/", "z" } };
    static const Str foreign[] = { STR("a\0b"), STR("a\0c"), STR("a/b"), STR("\0"), STR("b\xff") };
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (size_t k = 0; k < COUNT_OF(foreign); k++) {
            Str key = arena_join(arena, str_from_c(rows[i].keys), foreign[k], STR_EMPTY);
            put_key(f, key, STR("{}"));
        }
        put_key(f, arena_format(arena, "%s%s", rows[i].keys, rows[i].good), STR("{}"));
        assert_int_equal(count_by_pages(f, rows[i].plural), 1);
    }
}

static void keys_with_other_names_are_shown_or_skipped(void **state)
{
    Fixture *f = *state;
    Str record = STR(RECORD("\"labels\":{},\"annotations\":{},\"spec\":{}"));
    put_bytes(f, "/eden/objects/config/%ff", record);
    put_bytes(f, "/eden/objects/config/Upper", record);
    put_bytes(f, "/eden/objects/config/a/b", record);
    put_bytes(f, "/eden/objects/config/\xff", record);
    ask(f, "PUT", "/v1/config/z", "{}");
    ask(f, "GET", "/v1/config", "");
    assert_int_equal(field(f, "items").list->len, 2);
    expect(f, 200, "items.0.metadata.name", "Upper");
    expect(f, 200, "items.0.status.state", "unreadable");
    expect(f, 200, "items.1.metadata.name", "z");
    assert_int_equal(count_by_pages(f, "config"), 2);
    ask(f, "PUT", "/v1/config/Upper", "{}");
    expect(f, 400, "code", "invalid");
    ask(f, "DELETE", "/v1/config/Upper", "");
    expect(f, 200, "format", "eden.done/1");
}

static void a_role_with_invalid_rules_is_shown_as_such(void **state)
{
    Fixture *f = *state;
    put_bytes(f, "/eden/objects/role/bytes", STR("\xff"));
    put_bytes(f, "/eden/objects/role/good", STR(ROLE("[\"get\"]")));
    put_bytes(f, "/eden/objects/role/rules", STR(ROLE("\"*\"")));
    ask(f, "GET", "/v1/roles", "");
    assert_int_equal(field(f, "items").list->len, 6);
    expect(f, 200, "items.3.metadata.name", "bytes");
    expect(f, 200, "items.3.status.state", "unreadable");
    expect(f, 200, "items.4.metadata.name", "good");
    assert_int_equal(field(f, "items.4.status").map->len, 0);
    expect(f, 200, "items.5.status.state", "unreadable");
    assert_true(
        str_starts(value_str(field(f, "items.5.status.error")), STR("/spec/rules/0/verbs")));
    ask(f, "GET", "/v1/roles/rules", "");
    expect(f, 200, "status.state", "unreadable");
    ask(f, "DELETE", "/v1/roles/rules", "");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "DELETE", "/v1/roles/bytes", "");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "GET", "/v1/roles", "");
    assert_int_equal(field(f, "items").list->len, 4);
}

static void mend(Fixture *f)
{
    f->failing->reads = NULL;
    while (state_age(f->cluster_store.state).stale_since_ms != 0) {
        world_pass(&f->world, 10);
    }
}

/* The store fails as soon as the object is written: the server knows none, or the previous one. */
static void an_unreadable_write_is_reported(void **state)
{
    Fixture *f = *state;
    Error broken;
    error_set(&broken, ERROR_OS, "disk I/O error");
    f->failing->after_write = &broken;
    ask(f, "PUT", "/v1/config/a", "{\"spec\":{\"title\":\"one\"}}");
    expect(f, 502, "code", "outcome-unknown");
    mend(f);
    ask(f, "GET", "/v1/config/a", "");
    expect(f, 200, "spec.title", "one");
    f->failing->after_write = &broken;
    ask(f, "PUT", "/v1/config/a", "{\"spec\":{\"title\":\"two\"}}");
    expect(f, 502, "code", "outcome-unknown");
    mend(f);
    ask(f, "GET", "/v1/config/a", "");
    expect(f, 200, "spec.title", "two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(an_unreadable_object_hides_no_other),
        ROW(objects_of_a_kind_have_a_total_size_limit),
        ROW(roles_have_lower_limits),
        ROW(paging_continues_after_keys_with_arbitrary_bytes),
        ROW(keys_with_other_names_are_shown_or_skipped),
        ROW(a_role_with_invalid_rules_is_shown_as_such),
        cmocka_unit_test_setup_teardown(an_unreadable_write_is_reported, set_up_failing, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
