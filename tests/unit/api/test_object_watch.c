/* Watches of objects as users see them, for objects of the kind Config. */
#include "api/api_inner.h"
#include "api/watch_fixture.h"

static Str key_of(Fixture *f, const char *name)
{
    return arena_format(&f->scratch->arena, "/eden/objects/config/%s", name);
}

static Str record_of(Fixture *f, const char *role, const char *title)
{
    return arena_format(
        &f->scratch->arena,
        "{\"format\":\"eden.object/1\",\"uuid\":\"u\",\"created_ms\":1,"
        "\"labels\":{\"role\":\"%s\"},\"annotations\":{},\"spec\":{\"title\":\"%s\"}}",
        role, title);
}

static void nothing(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}

/* No watch is waiting. */
static void put_soon(Fixture *f, const char *name, const char *role, const char *title)
{
    Error err;
    assert_true(
        store_put(f->store, key_of(f, name), record_of(f, role, title), 0, nothing, f, &err));
}

static void put(Fixture *f, const char *name, const char *role, const char *title)
{
    Error err;
    assert_true(
        store_put(f->store, key_of(f, name), record_of(f, role, title), 0, written, f, &err));
    world_run(&f->world);
}

static void remove_object(Fixture *f, const char *name)
{
    Error err;
    assert_true(store_delete(f->store, key_of(f, name), written, f, &err));
    world_run(&f->world);
}

/* The next event, as "added x title". */
static Value expect(Watcher *w, const char *type, const char *name, const char *title)
{
    Value line;
    const Value *object = expect_event(w, type, name, &line);
    if (object == NULL) {
        return line;
    }
    const Value *spec = value_get(*object, STR("spec"));
    if (title == NULL) {
        assert_null(spec);
    } else {
        assert_string_equal(text_of(w->f, *spec, "title"), title);
    }
    return line;
}

static void the_list_precedes_changes(void **state)
{
    Fixture *f = *state;
    put(f, "a", "web", "1");
    put(f, "b", "db", "2");
    Watcher *w = watch(f, 0, "/v1/config?watch=ndjson");
    expect(w, "added", "a", "1");
    expect(w, "added", "b", "2");
    assert_int_equal(revision_of(expect(w, "synced", NULL, NULL)), f->revision);
    put(f, "a", "web", "3");
    assert_int_equal(revision_of(expect(w, "changed", "a", "3")), f->revision);
    put(f, "c", "web", "4");
    assert_int_equal(revision_of(expect(w, "added", "c", "4")), f->revision);
    remove_object(f, "a");
    assert_int_equal(revision_of(expect(w, "deleted", "a", NULL)), f->revision);
}

static void pages_are_contiguous(void **state)
{
    Fixture *f = *state;
    for (int i = 0; i < 250; i++) {
        put(f, arena_format(&f->scratch->arena, "n%03d", i).data, "web", "x");
    }
    Watcher *w = watch(f, 0, "/v1/config?watch=ndjson");
    for (int i = 0; i < 250; i++) {
        expect(w, "added", arena_format(&f->scratch->arena, "n%03d", i).data, "x");
    }
    expect(w, "synced", NULL, NULL);
}

static void put_bytes(Fixture *f, const char *name, Str bytes)
{
    Error err;
    assert_true(store_put(f->store, key_of(f, name), bytes, 0, written, f, &err));
    world_run(&f->world);
}

static void expect_unreadable(Watcher *w, const char *type, const char *name)
{
    Value object = *value_get(expect(w, type, name, ""), STR("object"));
    assert_string_equal(text_of(w->f, *value_get(object, STR("status")), "state"), "unreadable");
}

static void an_unreadable_object_does_not_break_a_watch(void **state)
{
    Fixture *f = *state;
    put_bytes(f, "broken", STR("\xff\x00{"));
    put(f, "fine", "web", "1");
    Watcher *w = watch(f, 0, "/v1/config?watch=ndjson");
    expect_unreadable(w, "added", "broken");
    expect(w, "added", "fine", "1");
    expect(w, "synced", NULL, NULL);
    put_bytes(f, "fine", STR("{}"));
    expect_unreadable(w, "changed", "fine");
    put(f, "broken", "web", "2");
    expect(w, "changed", "broken", "2");
    remove_object(f, "fine");
    expect(w, "deleted", "fine", NULL);
}

static void one_object_is_watched_alone(void **state)
{
    Fixture *f = *state;
    Watcher *w = watch(f, 0, "/v1/config/a?watch=ndjson");
    expect(w, "synced", NULL, NULL);
    put(f, "b", "web", "1");
    put(f, "a", "web", "2");
    expect(w, "added", "a", "2");
    remove_object(f, "b");
    remove_object(f, "a");
    expect(w, "deleted", "a", NULL);
}

static void objects_leaving_a_selector_are_deleted(void **state)
{
    Fixture *f = *state;
    put(f, "a", "web", "1");
    put(f, "b", "db", "1");
    Watcher *w = watch(f, 0, "/v1/config?watch=ndjson&selector=role%3Dweb");
    expect(w, "added", "a", "1");
    expect(w, "synced", NULL, NULL);
    put(f, "b", "db", "2");
    put(f, "b", "web", "3");
    expect(w, "added", "b", "3");
    put(f, "a", "db", "4");
    expect(w, "deleted", "a", NULL);
    put(f, "a", "db", "5");
    put(f, "b", "web", "6");
    expect(w, "changed", "b", "6");
}

static void a_reconnecting_watcher_gets_missed_changes(void **state)
{
    Fixture *f = *state;
    put(f, "a", "web", "1");
    put(f, "b", "web", "1");
    put(f, "c", "web", "1");
    int64_t since = f->revision;
    put(f, "b", "web", "2");
    put(f, "b", "web", "3");
    remove_object(f, "c");
    Watcher *w = watch(
        f, 0,
        arena_format(&f->scratch->arena, "/v1/config?watch=ndjson&from=%lld", (long long)since + 1)
            .data);
    expect(w, "deleted", "c", NULL);
    expect(w, "changed", "b", "3");
    assert_int_equal(revision_of(expect(w, "synced", NULL, NULL)), f->revision);
    put(f, "a", "web", "4");
    expect(w, "changed", "a", "4");
    w = watch(f, 1,
              arena_format(&f->scratch->arena, "/v1/config?watch=ndjson&from=%lld",
                           (long long)f->revision + 1)
                  .data);
    expect(w, "synced", NULL, NULL);
}

static void everything_is_sent_again_if_the_log_is_too_short(void **state)
{
    Fixture *f = *state;
    Error err;
    put(f, "a", "web", "1");
    put(f, "a", "web", "2");
    assert_true(store_compact(f->store, f->revision, written, f, &err));
    world_run(&f->world);
    Watcher *w = watch(f, 0, "/v1/config?watch=ndjson&from=1");
    expect(w, "resync", NULL, NULL);
    expect(w, "added", "a", "2");
    expect(w, "synced", NULL, NULL);
    w = watch(f, 1, "/v1/config?watch=ndjson&from=1000"); /* from a newer store */
    expect(w, "resync", NULL, NULL);
    expect(w, "added", "a", "2");
}

static void many_share_one_view_of_the_state(void **state)
{
    Fixture *f = *state;
    put(f, "a", "web", "1");
    for (uint32_t i = 0; i < CALLS; i++) {
        watch(f, i, "/v1/config?watch=ndjson");
    }
    for (uint32_t i = 0; i < CALLS; i++) {
        expect(&f->watchers[i], "added", "a", "1");
        expect(&f->watchers[i], "synced", NULL, NULL);
    }
    assert_int_equal(store_status(f->store).watches, OWN_WATCHES);
    put(f, "a", "web", "2");
    for (uint32_t i = 0; i < CALLS; i++) {
        expect(&f->watchers[i], "changed", "a", "2");
    }
}

static void consecutive_touches_are_one_change(void **state)
{
    Fixture *f = *state;
    put(f, "a", "web", "1");
    Watcher *w = watch(f, 0, "/v1/config?watch=ndjson");
    expect(w, "added", "a", "1");
    expect(w, "synced", NULL, NULL);
    for (int i = 0; i < 500; i++) {
        put_soon(f, "a", "web", "x");
    }
    put(f, "a", "web", "last");
    put(f, "b", "web", "end");
    uint32_t reported = 0;
    bool has_last = false;
    for (;;) {
        Value line = next(w);
        const Value *object = value_get(line, STR("object"));
        reported++;
        if (strcmp(text_of(f, *value_get(*object, STR("metadata")), "name"), "b") == 0) {
            break;
        }
        has_last = strcmp(text_of(f, *value_get(*object, STR("spec")), "title"), "last") == 0;
    }
    assert_true(has_last);
    assert_true(reported < 100);
}

static void a_slow_peer_is_disconnected_and_others_are_not(void **state)
{
    Fixture *f = *state;
    static char title[100 << 10];
    memset(title, 'v', sizeof title - 1);
    Watcher *slow = watch(f, 0, "/v1/config?watch=ndjson");
    Watcher *quick = watch(f, 1, "/v1/config?watch=ndjson");
    expect(slow, "synced", NULL, NULL);
    expect(quick, "synced", NULL, NULL);
    slow->pauses = true;
    for (int i = 0; i < 40; i++) {
        put(f, "a", "web", title);
        (void)next(quick);
    }
    slow->pauses = false;
    http_call_resume(slow->call);
    while (!slow->over) {
        world_run(&f->world);
    }
    assert_int_equal(slow->status, 0);
    put(f, "a", "web", "small");
    expect(quick, "changed", "a", "small");
}

static void browsers_get_server_sent_events(void **state)
{
    Fixture *f = *state;
    put(f, "a", "web", "1");
    Watcher *w = watch(f, 0, "/v1/config?watch=sse");
    while (str_find(buf_str(&w->all), STR("event: synced\n"), 0) == STR_NOT_FOUND) {
        world_pass(&f->world, 1);
    }
    assert_true(str_starts(buf_str(&w->all), STR("event: added\ndata: {\"type\":\"added\"")));
    put(f, "a", "web", "2");
    Str wanted =
        arena_format(&f->scratch->arena, "id: %lld\nevent: changed\ndata: {\"type\":\"changed\"",
                     (long long)f->revision);
    while (str_find(buf_str(&w->all), wanted, 0) == STR_NOT_FOUND) {
        world_pass(&f->world, 1);
    }
}

static void a_disconnected_watcher_leaves_nothing(void **state)
{
    Fixture *f = *state;
    expect(watch(f, 0, "/v1/config?watch=ndjson"), "synced", NULL, NULL);
    assert_non_null(f->api->feeds);
    http_call_free(TAKE(f->watchers[0].call));
    while (f->api->feeds != NULL) {
        world_pass(&f->world, 1);
    }
    expect(watch(f, 0, "/v1/tokens?watch=ndjson"), "synced", NULL, NULL);
    watch(f, 1, "/v1/config?watch=ndjson&from=1");
    http_server_free(TAKE(f->server));
}

static void invalid_requests_are_rejected(void **state)
{
    Fixture *f = *state;
    static const char *const targets[] = {
        "/v1/config?watch=x",          "/v1/config?watch=sse&from=0",
        "/v1/config?watch=sse&from=x", "/v1/config?watch=sse&selector=%28",
        "/v1/config?watch=sse&x=1",
    };
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        Watcher *w = watch(f, 0, targets[i]);
        while (!w->over) {
            world_run(&f->world);
        }
        assert_int_equal(w->status, 400);
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(the_list_precedes_changes),
        ROW(pages_are_contiguous),
        ROW(an_unreadable_object_does_not_break_a_watch),
        ROW(one_object_is_watched_alone),
        ROW(objects_leaving_a_selector_are_deleted),
        ROW(a_reconnecting_watcher_gets_missed_changes),
        ROW(everything_is_sent_again_if_the_log_is_too_short),
        ROW(many_share_one_view_of_the_state),
        ROW(consecutive_touches_are_one_change),
        ROW(a_slow_peer_is_disconnected_and_others_are_not),
        ROW(browsers_get_server_sent_events),
        ROW(a_disconnected_watcher_leaves_nothing),
        ROW(invalid_requests_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
