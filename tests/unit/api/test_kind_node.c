/* Nodes and their facts, as objects of the API. */
#include "api/api_fixture.h"
#include "api/kind.h"

static void put_key(Fixture *f, const char *key, const char *value)
{
    Buf body = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    Buf target = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    buf_put_c(&body, "{\"value\":");
    json_print_string(&body, str_from_c(value), NULL);
    buf_put_c(&body, "}");
    buf_put_format(&target, "/v1/store?key=%s", key);
    ask(f, "PUT", buf_c(&target), buf_c(&body));
    expect(f, 200, "format", "eden.done/1");
}

/* --- Nodes ----------------------------------------------------------------------------------- */

static void a_machine_joins_is_labeled_and_removed(void **state)
{
    Fixture *f = *state;
    P256Private *key;
    Error err;
    char body[200];
    assert_true(p256_private_make(&key, &err));
    join(f, key);
    expect(f, 202, "result", "pending");
    ask(f, "GET", "/v1/nodes", "");
    expect(f, 200, "metadata.kind", "NodeList");
    assert_int_equal(field(f, "items").list->len, 1);
    expect(f, 200, "items.0.metadata.name", "web1");
    expect(f, 200, "items.0.status.state", "pending");
    assert_int_equal(field(f, "items.0.metadata.created").kind, VALUE_NULL);
    snprintf(body, sizeof body, "{\"key\":\"%.*s\"}", 7 + 20,
             value_str(field(f, "items.0.status.requests.0.key")).data);
    ask(f, "POST", "/v1/nodes/web1/approve", "{\"key\":\"0000000000000000\"}");
    expect(f, 409, "code", "conflict");
    ask(f, "PATCH", "/v1/nodes/web1", "{\"metadata\":{\"labels\":{\"role\":\"web\"}}}");
    expect(f, 409, "detail", "'web1' has not joined yet; approve it first");
    ask(f, "POST", "/v1/nodes/web1/approve", body);
    expect(f, 200, "metadata.kind", "Node");
    expect(f, 200, "status.state", "approved");
    assert_true(field(f, "status.requests.0.approved").boolean);
    join(f, key);
    expect(f, 200, "result", "admitted");
    ask(f, "GET", "/v1/nodes/web1", "");
    expect(f, 200, "status.state", "silent");
    assert_int_equal(field(f, "status.requests").list->len, 0);
    assert_int_equal(field(f, "status.since").kind, VALUE_NULL);
    assert_false(field(f, "status.facts").boolean || field(f, "status.revoked").boolean);
    assert_int_equal(field(f, "metadata.created").kind, VALUE_STRING);
    /* RFC 7396: null removes all of them. */
    ask(f, "PATCH", "/v1/nodes/web1", "{\"metadata\":{\"labels\":{\"role\":\"web\"}}}");
    expect(f, 200, "metadata.labels.role", "web");
    ask(f, "PATCH", "/v1/nodes/web1", "{\"metadata\":{\"labels\":null}}");
    assert_int_equal(field(f, "metadata.labels").map->len, 0);
    ask(f, "GET", "/v1/nodes/web2", "");
    expect(f, 404, "detail", "node 'web2' not found; did you mean 'web1'?");
    ask(f, "DELETE", "/v1/nodes/web1", "");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "GET", "/v1/nodes/web1", "");
    expect(f, 404, "code", "not-found");
    p256_private_free(key);
}

static void labels_and_annotations_are_changed_as_those_of_any_object(void **state)
{
    Fixture *f = *state;
    P256Private *key = join_as_node(f);
    ask(f, "PATCH", "/v1/nodes/web1",
        "{\"metadata\":{\"labels\":{\"role\":\"web\",\"old\":null},\"annotations\":{\"a\":\"b\"}}"
        "}");
    expect(f, 200, "metadata.labels.role", "web");
    expect(f, 200, "metadata.annotations.a", "b");
    int64_t revision = field(f, "metadata.revision").integer;
    assert_string_equal(f->etag,
                        arena_format(&f->scratch->arena, "\"%lld\"", (long long)revision).data);
    ask(f, "PATCH", "/v1/nodes/web1", "{\"metadata\":{\"labels\":{\"rack\":\"7\"}}}");
    expect(f, 200, "metadata.labels.role", "web");
    Str stale = arena_format(&f->scratch->arena,
                             "{\"metadata\":{\"revision\":%lld,\"labels\":{\"x\":\"y\"}}}",
                             (long long)revision);
    ask(f, "PATCH", "/v1/nodes/web1", stale.data);
    expect(f, 412, "code", "precondition");
    ask(f, "PUT", "/v1/nodes/web1", "{\"metadata\":{\"labels\":{\"only\":\"this\"}}}");
    expect(f, 200, "metadata.labels.only", "this");
    assert_int_equal(field(f, "metadata.labels").map->len, 1);
    assert_int_equal(field(f, "metadata.annotations").map->len, 0);
    ask(f, "PATCH", "/v1/nodes/web1", "{\"metadata\":{\"labels\":{\"role\":7}}}");
    expect(f, 400, "problems.0.pointer", "/metadata/labels/role");
    ask(f, "PATCH", "/v1/nodes/web1", "{\"spec\":{\"rank\":1}}");
    expect(f, 400, "problems.0.pointer", "/spec/rank");
    ask(f, "PUT", "/v1/nodes/web2", "{}");
    expect(f, 404, "code", "not-found");
    ask(f, "POST", "/v1/nodes", "{}");
    assert_int_equal(f->status, 405);
    p256_private_free(key);
}

/* Retrying would not make it smaller, as 429 would suggest. */
static void exceeding_the_record_size_is_too_large(void **state)
{
    Fixture *f = *state;
    P256Private *key = join_as_node(f);
    char value[ANNOTATION_VALUE_MAX + 1];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    for (int i = 0; i < NODE_TEXTS_MAX / ANNOTATION_VALUE_MAX; i++) {
        Str body = arena_format(&f->scratch->arena,
                                "{\"metadata\":{\"annotations\":{\"a%d\":\"%s\"}}}", i, value);
        ask_as(f, "PATCH", "/v1/nodes/web1", "application/json", body);
        if (f->status != 200) {
            assert_int_equal(i, NODE_TEXTS_MAX / ANNOTATION_VALUE_MAX - 1);
        }
    }
    expect(f, 413, "code", "too-large");
    ask(f, "GET", "/v1/nodes/web1", "");
    assert_int_equal(field(f, "metadata.annotations").map->len,
                     NODE_TEXTS_MAX / ANNOTATION_VALUE_MAX - 1);
    ask(f, "PATCH", "/v1/nodes/web1", "{\"metadata\":{\"annotations\":{\"a0\":null}}}");
    expect(f, 200, "status.state", "silent");
    p256_private_free(key);
}

static void an_unreadable_node_hides_no_other(void **state)
{
    Fixture *f = *state;
    P256Private *key = join_as_node(f);
    put_key(f, "/eden/nodes/broken", "{}");
    ask(f, "GET", "/v1/nodes", "");
    assert_int_equal(field(f, "items").list->len, 2);
    expect(f, 200, "items.0.metadata.name", "broken");
    expect(f, 200, "items.0.status.state", "unreadable");
    assert_true(str_starts(value_str(field(f, "items.0.status.error")), STR("/eden/nodes/broken")));
    expect(f, 200, "items.1.metadata.name", "web1");
    ask(f, "GET", "/v1/nodes/broken", "");
    expect(f, 200, "status.state", "unreadable");
    /* And is deleted like any other. */
    f->said = (HttpCallField){ "If-Match", STR("\"1\"") };
    ask(f, "DELETE", "/v1/nodes/broken", "");
    expect(f, 412, "code", "precondition");
    ask(f, "GET", "/v1/nodes/broken", "");
    f->said.value = arena_copy(&f->scratch->arena, str_from_c(f->etag));
    ask(f, "DELETE", "/v1/nodes/broken", "");
    expect(f, 200, "format", "eden.done/1");
    f->said = (HttpCallField){ 0 };
    ask(f, "GET", "/v1/nodes/broken", "");
    expect(f, 404, "code", "not-found");
    p256_private_free(key);
}

/* Sends a request, and writes a key once it has arrived: the server does not know the change
 * yet. */
static void ask_while(Fixture *f, const char *method, const char *target, const char *key,
                      const char *value)
{
    f->meanwhile_key = str_from_c(key);
    f->meanwhile_value = str_from_c(value);
    ask(f, method, target, "");
    f->meanwhile_key = STR_EMPTY;
}

static void a_concurrent_change_prevents_deletion(void **state)
{
    Fixture *f = *state;
    put_key(f, "/eden/nodes/broken", "{}");
    ask(f, "GET", "/v1/nodes/broken", "");
    f->said = (HttpCallField){ "If-Match", arena_copy(&f->scratch->arena, str_from_c(f->etag)) };
    ask_while(f, "DELETE", "/v1/nodes/broken", "/eden/nodes/broken", "[]");
    expect(f, 412, "code", "precondition");
    /* A client that does not send a version changes it unconditionally. */
    f->said = (HttpCallField){ 0 };
    ask_while(f, "DELETE", "/v1/nodes/broken", "/eden/nodes/broken", "{}");
    expect(f, 200, "format", "eden.done/1");
}

/* However many there are: they come from the state, in one turn. */
static void listing_nodes_needs_no_transaction_and_shows_one_revision(void **state)
{
    enum {
        NODES = 120
    };
    Fixture *f = *state;
    for (int i = 0; i < NODES; i++) {
        put_key(f, arena_format(&f->scratch->arena, "/eden/nodes/web%03d", i).data, "{}");
    }
    int64_t revision = field(f, "revision").integer;
    uint32_t calls = f->lossy.calls;
    ask(f, "GET", "/v1/nodes?limit=500", "");
    expect(f, 200, "metadata.kind", "NodeList");
    assert_int_equal(field(f, "items").list->len, NODES);
    assert_int_equal(field(f, "metadata.revision").integer, revision);
    assert_int_equal(f->lossy.calls, calls);
    /* Those that need a read are counted. */
    ask(f, "GET", "/v1/store?key=/eden/nodes/web000", "");
    assert_int_equal(f->lossy.calls, calls + 1);
}

static void pages_of_nodes_are_contiguous(void **state)
{
    Fixture *f = *state;
    P256Private *key = join_as_node(f);
    put_key(f, "/eden/nodes/broken", "{}");
    ask(f, "GET", "/v1/nodes?limit=1", "");
    expect(f, 200, "items.0.metadata.name", "broken");
    assert_true(field(f, "metadata.truncated").boolean);
    Str target = arena_format(&f->scratch->arena, "/v1/nodes?limit=1&continue=%" STR_FMT,
                              STR_ARG(value_str(field(f, "metadata.continue"))));
    int64_t revision = field(f, "metadata.revision").integer;
    put_key(f, "/eden/other", "x");
    ask(f, "GET", target.data, "");
    expect(f, 200, "items.0.metadata.name", "web1");
    /* A watch from there misses nothing, whenever the pages were read. */
    assert_int_equal(field(f, "metadata.revision").integer, revision);
    ask(f, "GET", "/v1/nodes?limit=1&continue=elsewhere", "");
    expect(f, 400, "code", "invalid");
    size_t end = target.len - 1;
    target.data = arena_copy_c(&f->scratch->arena, target);
    ((char *)(uintptr_t)target.data)[end] = target.data[end] == 'A' ? 'B' : 'A';
    ask(f, "GET", target.data, "");
    expect(f, 400, "detail",
           "'continue' does not belong to this list with this selector; start again from the first "
           "page");
    p256_private_free(key);
}

static void objects_are_selected_by_names_and_labels(void **state)
{
    static const struct {
        const char *query;
        int status;
        const char *names;
    } cases[] = {
        { "selector=role%3Dweb", 200, "web1" },
        { "selector=role%3Dweb&limit=1", 200, "web1" },
        { "selector=!role%3Dweb", 200, "broken-0 broken-1 broken-2" },
        { "selector=broken-*&limit=2", 200, "broken-0 broken-1 ..." },
        { "selector=broken-2%20or%20web*&limit=2", 200, "broken-2 web1" },
        { "selector=broken-2%20or%20web*&limit=1", 200, "broken-2 ..." },
        { "selector=nobody", 200, "" },
        { "selector=server.os%20%3D%3D%20%27debian%27", 200, "web1" },
        { "selector=role%3Ddb%20and%20server.os%20%3D%3D%20%27debian%27", 200, "" },
        { "selector=server.os%20%3D%3D%20%27fedora%27", 200, "" },
        { "selector=server.oss%20%3D%3D%20%27debian%27", 400, NULL },
        { "selector=(", 400, NULL },
    };
    Fixture *f = *state;
    P256Private *key = join_as_node(f);
    ask(f, "PATCH", "/v1/nodes/web1", "{\"metadata\":{\"labels\":{\"role\":\"web\"}}}");
    put_key(f, "/eden/facts/web1", "{\"os\":\"debian\"}");
    put_key(f, "/eden/nodes/broken-0", "{}");
    put_key(f, "/eden/nodes/broken-1", "{}");
    put_key(f, "/eden/nodes/broken-2", "{}");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Buf target = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
        Buf names = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
        buf_put_format(&target, "/v1/nodes?%s", cases[i].query);
        ask(f, "GET", buf_c(&target), "");
        assert_int_equal(f->status, cases[i].status);
        if (cases[i].names == NULL) {
            assert_true(str_starts(value_str(field(f, "detail")), STR("'selector': ")));
            continue;
        }
        const List *items = field(f, "items").list;
        for (uint32_t k = 0; k < items->len; k++) {
            Value metadata = *value_get(items->items[k], STR("metadata"));
            buf_put_c(&names, k > 0 ? " " : "");
            buf_put(&names, value_str(*value_get(metadata, STR("name"))));
        }
        buf_put_c(&names, field(f, "metadata.truncated").boolean ? " ..." : "");
        assert_str(buf_str(&names), cases[i].names);
    }
    p256_private_free(key);
}

/* However many there are: the work per request is bounded, and the response says where it
 * stopped. */
static void a_selection_can_span_several_requests(void **state)
{
    Fixture *f = *state;
    char key[64];
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof key, "/eden/facts/n%03d", i);
        put_key(f, key, "{}");
    }
    uint32_t found = 0, requests = 0;
    Str next = STR_EMPTY;
    do {
        Buf target = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
        buf_put_c(&target, "/v1/facts?selector=n049&limit=1");
        if (next.len > 0) {
            buf_put_format(&target, "&continue=%" STR_FMT, STR_ARG(next));
        }
        ask(f, "GET", buf_c(&target), "");
        assert_int_equal(f->status, 200);
        found += field(f, "items").list->len;
        Value at = field(f, "metadata.continue");
        next = at.kind == VALUE_STRING ? value_str(at) : STR_EMPTY;
        requests++;
    } while (next.len > 0);
    assert_int_equal(found, 1);
    assert_int_equal(requests, 3);
}

/* Evaluating expressions blocks other requests: a request with too many of them ends early. */
static void long_fact_expressions_span_several_requests(void **state)
{
    Fixture *f = *state;
    char key[64];
    for (int i = 0; i < 60; i++) {
        snprintf(key, sizeof key, "/eden/nodes/n%03d", i);
        put_key(f, key, "{}");
        snprintf(key, sizeof key, "/eden/facts/n%03d", i);
        put_key(f, key, "{\"cpus\":4}");
    }
    static const char *const plurals[] = { "nodes", "facts" };
    for (size_t i = 0; i < COUNT_OF(plurals); i++) {
        uint32_t found = 0, requests = 0;
        Str next = STR_EMPTY;
        do {
            Buf target = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
            buf_put_format(&target, "/v1/%s?selector=n059", plurals[i]);
            for (int k = 0; k < 60; k++) {
                buf_put_c(&target, "%20or%20server.cpus%3E(range(900)%7Clist%7Clength)");
            }
            if (next.len > 0) {
                buf_put_format(&target, "&continue=%" STR_FMT, STR_ARG(next));
            }
            ask(f, "GET", buf_c(&target), "");
            assert_int_equal(f->status, 200);
            found += field(f, "items").list->len;
            Value at = field(f, "metadata.continue");
            next = at.kind == VALUE_STRING ? value_str(at) : STR_EMPTY;
            requests++;
        } while (next.len > 0);
        assert_int_equal(found, 1);
        assert_true(requests > 1);
    }
}

static void a_server_does_not_remove_itself(void **state)
{
    Fixture *f = *state;
    put_key(f, "/eden/nodes/s1", "{}");
    ask(f, "DELETE", "/v1/nodes/s1", "");
    expect(f, 409, "code", "conflict");
    assert_true(str_find(value_str(field(f, "detail")), STR("is this server"), 0) != STR_NOT_FOUND);
}

static void a_pending_machine_can_be_rejected(void **state)
{
    Fixture *f = *state;
    P256Private *key;
    Error err;
    assert_true(p256_private_make(&key, &err));
    join(f, key);
    ask(f, "POST", "/v1/nodes/web1/reject", "");
    expect(f, 200, "format", "eden.done/1");
    ask(f, "POST", "/v1/nodes/web1/reject", "");
    expect(f, 404, "code", "not-found");
    p256_private_free(key);
}

/* Calls that wait for a node; one beyond the limit is rejected immediately, until one of them
 * ends. */
static void clients_get_an_error_when_it_is_full(Fixture *f)
{
    HttpCall *waiting[CALLS_MAX];
    Error err;
    f->is_slow = true;
    for (uint32_t i = 0; i < CALLS_MAX; i++) {
        start(f, "POST", "/v1/nodes/web1/ping", NULL, STR_EMPTY);
        waiting[i] = TAKE(f->call);
        world_run(&f->world);
        assert_int_equal(f->pings, i + 1);
    }
    ask(f, "GET", "/v1/health", "");
    expect(f, 429, "code", "limit");
    assert_string_equal(f->retry, "1");
    error_set(&err, ERROR_TIMEOUT, "no answer came");
    f->pinged[0](f->pinged_context[0], NULL, &err);
    world_run(&f->world);
    assert_int_equal(f->status, 504);
    ask(f, "GET", "/v1/health", "");
    expect(f, 200, "format", "eden.health/1");
    assert_string_equal(f->retry, "");
    for (uint32_t i = 0; i < CALLS_MAX; i++) {
        http_call_free(waiting[i]);
    }
    /* No caller waits for the others any more, but they are still pending. */
    for (uint32_t i = 1; i < CALLS_MAX; i++) {
        f->pinged[i](f->pinged_context[i], NULL, &err);
    }
}

static void a_node_with_a_session_can_be_pinged(void **state)
{
    Fixture *f = *state;
    P256Private *key;
    Error err;
    assert_true(p256_private_make(&key, &err));
    ask(f, "POST", "/v1/nodes/web1/ping", "");
    expect(f, 404, "code", "not-found");
    join(f, key);
    ask(f, "POST", "/v1/nodes/web1/ping", "");
    expect(f, 409, "code", "conflict");
    p256_private_free(key);
    key = join_as_node(f);
    f->is_away = true;
    ask(f, "POST", "/v1/nodes/web1/ping", "");
    expect(f, 503, "detail", "'web1' is silent; the time of its last contact is unknown");
    ask(f, "PUT", "/v1/store?key=/eden/nodes/web1/silent",
        "{\"value\":\"{\\\"format\\\":\\\"eden.silent/1\\\",\\\"since_ms\\\":1800000000000}\"}");
    ask(f, "POST", "/v1/nodes/web1/ping", "");
    expect(f, 503, "detail", "'web1' has been silent since 2027-01-15T08:00:00Z");
    /* The store learns about a session a moment later than the server. */
    f->is_away = false;
    ask(f, "POST", "/v1/nodes/web1/ping", "");
    expect(f, 200, "format", "eden.ping/1");
    ask(f, "PUT", "/v1/store?key=/eden/nodes/web1/alive", "{\"value\":\"{}\"}");
    f->is_away = true;
    ask(f, "POST", "/v1/nodes/web1/ping", "");
    expect(f, 503, "detail", "it has no session");
    f->is_away = false;
    ask(f, "POST", "/v1/nodes/web1/ping", "");
    expect(f, 200, "format", "eden.ping/1");
    assert_int_equal(field(f, "round_trip_ms").integer, 4);
    assert_int_equal(field(f, "clock_ahead_ms").integer, 1500);
    assert_str(value_str(field(f, "node_time")), "2027-01-15T08:00:01Z");
    static const int64_t wrong[][2] = { { INT64_MAX, INT64_MAX - 1800000000000 + 2 },
                                        { INT64_MIN, -INT64_MAX },
                                        { -1800000000000, -3600000000000 + 2 } };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        f->node_ms = wrong[i][0];
        ask(f, "POST", "/v1/nodes/web1/ping", "");
        assert_int_equal(field(f, "clock_ahead_ms").integer, wrong[i][1]);
    }
    f->is_deaf = true;
    ask(f, "POST", "/v1/nodes/web1/ping", "");
    expect(f, 504, "code", "timeout");
    p256_private_free(key);
    clients_get_an_error_when_it_is_full(f);
}

static void nodes_are_found_by_their_keys(void **state)
{
    static const struct {
        const char *key, *node, *facts; /* NULL: no owner */
    } keys[] = {
        { "/eden/nodes/web1", "web1", "web1" },
        { "/eden/nodes/web1/alive", "web1", NULL },
        { "/eden/nodes/web1/silent", "web1", NULL },
        { "/eden/internal/joining/web1", "web1", NULL },
        { "/eden/objects/Config/web1", NULL, NULL },
        { "/eden/facts/web1", "web1", "web1" },
        { "/eden/sessions/web1", NULL, NULL },
        { "/eden/nodes/\xff", NULL, NULL },
        { "/eden/internal/joining/\xff", NULL, NULL },
        { "/eden/facts/\xff", NULL, NULL },
    };
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    const Kind *rows[] = { kind_find(STR("Node")), kind_find(STR("Facts")) };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *wanted[] = { keys[i].node, keys[i].facts };
        for (size_t k = 0; k < COUNT_OF(rows); k++) {
            Str key = str_from_c(keys[i].key), name, prefix;
            bool touched = rows[k]->key_to_name(rows[k], arena, KEYS_PREFIX, key, &name);
            assert_int_equal(touched, wanted[k] != NULL);
            bool seen = false;
            for (uint32_t j = 0;
                 (prefix = rows[k]->watch_prefix(rows[k], arena, KEYS_PREFIX, j)).len > 0; j++) {
                seen = seen || str_starts(key, prefix);
            }
            if (touched) {
                assert_str(name, wanted[k]);
                assert_true(seen);
            }
        }
    }
}

/* --- Facts ----------------------------------------------------------------------------------- */

static void facts_are_objects_with_the_labels_of_their_node(void **state)
{
    Fixture *f = *state;
    P256Private *key = join_as_node(f);
    ask(f, "GET", "/v1/facts/web1", "");
    expect(f, 404, "detail", "'web1' has never sent facts; is 'eden agent' running there?");
    ask(f, "GET", "/v1/facts/web2", "");
    expect(f, 404, "detail", "node 'web2' not found; did you mean 'web1'?");
    put_key(f, "/eden/facts/web1", "{\"cpus\": 4}");
    ask(f, "PATCH", "/v1/nodes/web1", "{\"metadata\":{\"labels\":{\"role\":\"web\"}}}");
    assert_true(field(f, "status.facts").boolean);
    ask(f, "GET", "/v1/facts/web1", "");
    expect(f, 200, "metadata.kind", "Facts");
    expect(f, 200, "metadata.labels.role", "web");
    assert_int_equal(field(f, "status.cpus").integer, 4);
    put_key(f, "/eden/facts/another", "{}");
    ask(f, "GET", "/v1/facts?limit=1", "");
    expect(f, 200, "items.0.metadata.name", "another");
    ask(f, "GET",
        arena_format(&f->scratch->arena, "/v1/facts?limit=1&continue=%" STR_FMT,
                     STR_ARG(value_str(field(f, "metadata.continue"))))
            .data,
        "");
    expect(f, 200, "items.0.metadata.labels.role", "web");
    assert_int_equal(field(f, "metadata.continue").kind, VALUE_NULL);
    ask(f, "DELETE", "/v1/facts/web1", "");
    assert_int_equal(f->status, 405);
    p256_private_free(key);
}

/* A value of maximum depth, nested in an object. */
static void facts_can_be_nested_deeply(void **state)
{
    Fixture *f = *state;
    for (int depth = VALUE_DEPTH_MAX - 20; depth <= VALUE_DEPTH_MAX + 1; depth++) {
        Buf text = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
        buf_put_c(&text, "{\"a\":");
        for (int i = 1; i < depth; i++) {
            buf_put_char(&text, '[');
        }
        for (int i = 1; i < depth; i++) {
            buf_put_char(&text, ']');
        }
        buf_put_char(&text, '}');
        put_key(f, "/eden/facts/web1", buf_c(&text));
        start(f, "GET", "/v1/facts", NULL, STR_EMPTY);
        world_run(&f->world);
        assert_int_equal(f->status, 200);
    }
    assert_non_null(strstr(arena_copy_c(&f->scratch->arena, f->body), "\"error\":"));
}

static void invalid_facts_are_reported_as_such(void **state)
{
    Fixture *f = *state;
    static const char *const texts[] = { "},{", "[1]", "7", "" };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        put_key(f, "/eden/facts/web1", texts[i]);
        ask(f, "GET", "/v1/facts", "");
        assert_int_equal(f->status, 200);
        assert_true(field(f, "items.0.status.error").len > 0);
        assert_int_equal(field(f, "items.0.status").map->len, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_machine_joins_is_labeled_and_removed),
        ROW(labels_and_annotations_are_changed_as_those_of_any_object),
        ROW(exceeding_the_record_size_is_too_large),
        ROW(an_unreadable_node_hides_no_other),
        ROW(a_concurrent_change_prevents_deletion),
        cmocka_unit_test_setup_teardown(listing_nodes_needs_no_transaction_and_shows_one_revision,
                                        set_up_counted, tear_down),
        ROW(pages_of_nodes_are_contiguous),
        ROW(objects_are_selected_by_names_and_labels),
        ROW(a_selection_can_span_several_requests),
        ROW(long_fact_expressions_span_several_requests),
        ROW(a_server_does_not_remove_itself),
        ROW(a_pending_machine_can_be_rejected),
        ROW(a_node_with_a_session_can_be_pinged),
        ROW(nodes_are_found_by_their_keys),
        ROW(facts_are_objects_with_the_labels_of_their_node),
        ROW(facts_can_be_nested_deeply),
        ROW(invalid_facts_are_reported_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
