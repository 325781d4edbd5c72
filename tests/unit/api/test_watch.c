/* GET /v1/watch, as its users see it. */
#include "api/routes.h"
#include "api/serving.h"
#include "lang/json.h"
#include "net/http_client.h"
#include "net/world.h"
#include "ready_state.h"
#include "ui/ui.h"

enum {
    LINES_MAX = 4096,
    STREAMS_MAX = 2,
    OWN_WATCHES = 1 /* of the state */
};

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Store *store;
    ClusterStore cluster_store;
    Api *api;
    HttpServer *server;
    Address address;
    HttpCall *call;
    Buf text;               /* of an incomplete line */
    Value lines[LINES_MAX]; /* in the arena */
    uint32_t count;
    bool over, pauses;
    int status; /* 0: it was aborted */
    Str refusal;
    int64_t revision; /* of the last write */
} Fixture;

static void describe(void *context, const Peer *peer, Caller *out)
{
    *out = (Caller){ .is_local = true, .is_operator = true };
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    f->text = buf_make(BUF_UNLIMITED);
    f->store = store_open_memory(f->world.loop, &(StoreSettings){ .progress_ms = 50 });
    f->cluster_store =
        (ClusterStore){ .loop = f->world.loop, .store = f->store, .prefix = STR("/eden") };
    follow_store(&f->cluster_store);
    while (!state_age(f->cluster_store.state).is_ready) {
        world_pass(&f->world, 1);
    }
    f->api = api_new(&(ApiSettings){ .cluster_store = f->cluster_store,
                                     .cluster = STR("blue"),
                                     .store_id = STR("store-1"),
                                     .streams_max = STREAMS_MAX,
                                     .describe = describe,
                                     .context = f });
    f->server = serve_by_socket(&f->world, f->scratch, f->api, &f->address);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    http_call_free(f->call);
    http_server_free(f->server);
    api_free(f->api);
    follow_stop(&f->cluster_store);
    store_close(f->store);
    follow_free(&f->cluster_store);
    world_close(&f->world);
    buf_clear(&f->text);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

/* --- The store ------------------------------------------------------------------------------- */

static void written(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->revision = reply->revision;
    loop_stop(f->world.loop);
}

static void put(Fixture *f, const char *key, Str value)
{
    Error err;
    assert_true(store_put(f->store, str_from_c(key), value, 0, written, f, &err));
    world_run(&f->world);
}

static void remove_key(Fixture *f, const char *key)
{
    Error err;
    assert_true(store_delete(f->store, str_from_c(key), written, f, &err));
    world_run(&f->world);
}

/* --- The watch ------------------------------------------------------------------------------- */

static void chunk(void *context, const Http1Head *head, Str bytes)
{
    Fixture *f = context;
    assert_str(*http1_find(head, "Content-Type"), "application/jsonl");
    while (bytes.len > 0) {
        size_t end = str_find(bytes, STR("\n"), 0);
        buf_put(&f->text, str_slice(bytes, 0, end));
        if (end == STR_NOT_FOUND) {
            break;
        }
        Error err;
        assert_true(f->count < LINES_MAX);
        assert_true(json_parse_text(&f->scratch->arena,
                                    arena_copy(&f->scratch->arena, buf_str(&f->text)), NULL,
                                    &f->lines[f->count++], &err));
        buf_reset(&f->text);
        bytes = str_from_offset(bytes, end + 1);
    }
    if (f->pauses) {
        http_call_pause(f->call);
    }
}

static void done(void *context, const HttpResponse *answer, const Error *err)
{
    Fixture *f = context;
    f->over = true;
    f->status = answer == NULL ? 0 : answer->head->status;
    f->refusal = answer == NULL ? STR_EMPTY : arena_copy(&f->scratch->arena, answer->body);
    loop_stop(f->world.loop);
}

static void start(Fixture *f, const char *method, const char *target)
{
    HttpCallOptions options = { .loop = f->world.loop,
                                .address = f->address,
                                .method = method,
                                .target = target,
                                .response_max = UINT64_MAX,
                                .timeout_ms = 10000,
                                .piece = chunk,
                                .idle_timeout_ms = 10000,
                                .done = done,
                                .context = f };
    http_call_free(f->call);
    f->count = 0;
    f->over = false;
    f->call = http_call_new(&options);
}

static const char *text_of(Fixture *f, Value map, const char *name)
{
    const Value *value = value_get(map, str_from_c(name));
    return value == NULL || !value_is_string(*value)
               ? ""
               : arena_copy_c(&f->scratch->arena, value_str(*value));
}

static int64_t number_of(Value map, const char *name)
{
    const Value *value = value_get(map, str_from_c(name));
    assert_true(value != NULL && value->kind == VALUE_INT);
    return value->integer;
}

/* The next line that is not progress. */
static Value next(Fixture *f, uint32_t *at)
{
    for (;;) {
        while (*at >= f->count) {
            assert_false(f->over);
            world_pass(&f->world, 1);
        }
        Value line = f->lines[(*at)++];
        assert_string_equal(text_of(f, line, "format"), "eden.event/1");
        if (strcmp(text_of(f, line, "event"), "progress") != 0) {
            return line;
        }
    }
}

static void until_progress(Fixture *f)
{
    for (uint32_t at = 0;; at++) {
        while (at >= f->count) {
            world_pass(&f->world, 1);
        }
        if (strcmp(text_of(f, f->lines[at], "event"), "progress") == 0) {
            return;
        }
    }
}

static void changes_arrive_as_they_happen(void **state)
{
    Fixture *f = *state;
    uint32_t at = 0;
    put(f, "/a/before", STR("x"));
    int64_t before = f->revision;
    start(f, "GET", "/v1/watch?prefix=/a/");
    Value line = next(f, &at);
    assert_string_equal(text_of(f, line, "event"), "start");
    assert_string_equal(text_of(f, line, "store"), "store-1");
    assert_int_equal(number_of(line, "revision"), before);
    put(f, "/a/1", STR("one"));
    put(f, "/b/1", STR("not this"));
    put(f, "/a/1", STR("\xff\x00\x01"));
    remove_key(f, "/a/1");
    line = next(f, &at);
    assert_string_equal(text_of(f, line, "event"), "put");
    assert_string_equal(text_of(f, line, "key"), "/a/1");
    assert_string_equal(text_of(f, line, "value"), "one");
    assert_int_equal(number_of(line, "revision"), before + 1);
    assert_int_equal(number_of(line, "version"), 1);
    assert_null(value_get(line, STR("previous")));
    line = next(f, &at);
    assert_string_equal(text_of(f, line, "value_base64"), "/wAB");
    assert_int_equal(number_of(line, "revision"), before + 3);
    line = next(f, &at);
    assert_string_equal(text_of(f, line, "event"), "delete");
    assert_int_equal(number_of(line, "revision"), before + 4);
}

static void existing_keys_are_sent_on_request(void **state)
{
    Fixture *f = *state;
    uint32_t at = 0;
    start(f, "GET", "/v1/watch?key=/a&previous=true");
    (void)next(f, &at);
    put(f, "/a", STR("1"));
    put(f, "/a", STR("2"));
    Value line = next(f, &at);
    assert_int_equal(value_get(line, STR("previous"))->kind, VALUE_NULL);
    line = next(f, &at);
    assert_string_equal(text_of(f, *value_get(line, STR("previous")), "value"), "1");
}

static void it_starts_at_the_requested_revision(void **state)
{
    Fixture *f = *state;
    uint32_t at = 0;
    put(f, "/a", STR("1"));
    int64_t first = f->revision;
    put(f, "/a", STR("2"));
    put(f, "/a", STR("3"));
    start(
        f, "GET",
        arena_format(&f->scratch->arena, "/v1/watch?key=/a&from=%lld", (long long)first + 1).data);
    assert_int_equal(number_of(next(f, &at), "revision"), first);
    assert_string_equal(text_of(f, next(f, &at), "value"), "2");
    assert_string_equal(text_of(f, next(f, &at), "value"), "3");
    until_progress(f);
    put(f, "/a", STR("4"));
    assert_string_equal(text_of(f, next(f, &at), "value"), "4");
}

static void compaction_is_reported(void **state)
{
    Fixture *f = *state;
    uint32_t at = 0;
    Error err;
    put(f, "/a", STR("1"));
    put(f, "/a", STR("2"));
    assert_true(store_compact(f->store, f->revision, written, f, &err));
    world_run(&f->world);
    start(f, "GET", "/v1/watch?key=/a&from=1");
    (void)next(f, &at);
    Value line = next(f, &at);
    assert_string_equal(text_of(f, line, "event"), "resync");
    assert_int_equal(number_of(line, "compacted"), f->revision);
    while (!f->over) {
        world_run(&f->world);
    }
    assert_int_equal(f->status, 200);
}

static void a_watcher_of_a_newer_store_is_notified(void **state)
{
    Fixture *f = *state;
    uint32_t at = 0;
    start(f, "GET", "/v1/watch?key=/a&from=1000");
    (void)next(f, &at);
    assert_string_equal(text_of(f, next(f, &at), "event"), "resync");
}

static void idle_watches_get_progress_events(void **state)
{
    Fixture *f = *state;
    start(f, "GET", "/v1/watch?key=/a");
    until_progress(f);
    assert_true(f->count >= 2);
}

static void a_slow_reader_misses_nothing(void **state)
{
    Fixture *f = *state;
    static char value[200 << 10];
    uint32_t at = 0;
    memset(value, 'v', sizeof value);
    f->pauses = true;
    start(f, "GET", "/v1/watch?key=/a");
    while (f->count == 0) {
        world_pass(&f->world, 1);
    }
    for (int i = 0; i < 40; i++) {
        put(f, "/a", str_from(value, sizeof value));
    }
    assert_true(f->count < 10);
    f->pauses = false;
    http_call_resume(f->call);
    int64_t revision = number_of(next(f, &at), "revision");
    for (int i = 0; i < 40; i++) {
        assert_int_equal(number_of(next(f, &at), "revision"), ++revision);
    }
}

static void a_disconnected_client_leaves_no_watch(void **state)
{
    Fixture *f = *state;
    start(f, "GET", "/v1/watch?key=/a");
    until_progress(f);
    assert_int_equal(store_status(f->store).watches, 1 + OWN_WATCHES);
    http_call_free(TAKE(f->call));
    while (store_status(f->store).watches > OWN_WATCHES) {
        world_pass(&f->world, 1);
    }
}

static void excess_watches_are_rejected_with_retry_after(void **state)
{
    Fixture *f = *state;
    HttpCall *calls[STREAMS_MAX];
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        start(f, "GET", "/v1/watch?key=/a");
        calls[i] = TAKE(f->call);
        while (store_status(f->store).watches <= i + OWN_WATCHES) {
            world_pass(&f->world, 1);
        }
    }
    start(f, "GET", "/v1/watch?key=/a");
    while (!f->over) {
        world_run(&f->world);
    }
    assert_int_equal(f->status, 429);
    http_call_free(calls[0]);
    while (store_status(f->store).watches == STREAMS_MAX + OWN_WATCHES) {
        world_pass(&f->world, 1);
    }
    http_call_free(calls[1]);
    start(f, "GET", "/v1/watch?key=/a");
    until_progress(f);
}

/* A client that starts to read a page and then stops. */
typedef struct PageReader {
    HttpCall *call;
    bool began;
} PageReader;

static void page_came(void *context, const Http1Head *head, Str bytes)
{
    PageReader *reader = context;
    reader->began = true;
    http_call_pause(reader->call);
}

static void page_over(void *context, const HttpResponse *answer, const Error *err)
{
    fail_msg("the page was to stay under way");
}

static void page_begin(Fixture *f, PageReader *reader, const char *target)
{
    *reader = (PageReader){ 0 };
    reader->call = http_call_new(&(HttpCallOptions){ .loop = f->world.loop,
                                                     .address = f->address,
                                                     .method = "GET",
                                                     .target = target,
                                                     .response_max = UINT64_MAX,
                                                     .timeout_ms = 10000,
                                                     .piece = page_came,
                                                     .idle_timeout_ms = 10000,
                                                     .done = page_over,
                                                     .context = reader });
    while (!reader->began) {
        world_pass(&f->world, 1);
    }
}

/* They are public; a client that does not read them does not affect others. */
static void pages_do_not_count_as_watches(void **state)
{
    Fixture *f = *state;
    const UiFile *large = &ui_files[0];
    PageReader readers[STREAMS_MAX];
    for (uint32_t i = 1; i < ui_file_count; i++) {
        large = ui_files[i].size > large->size ? &ui_files[i] : large;
    }
    if (!ui_has_swagger) {
        return; /* then every page is small, and sent as a whole */
    }
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        page_begin(f, &readers[i], large->address);
    }
    start(f, "GET", "/v1/watch?key=/a");
    while (f->count == 0) {
        assert_false(f->over);
        world_pass(&f->world, 1);
    }
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        http_call_free(readers[i].call);
    }
}

static void a_stopping_server_aborts_it(void **state)
{
    Fixture *f = *state;
    start(f, "GET", "/v1/watch?key=/a");
    until_progress(f);
    http_server_free(TAKE(f->server));
    assert_int_equal(store_status(f->store).watches, OWN_WATCHES);
    while (!f->over) {
        world_run(&f->world);
    }
    assert_int_equal(f->status, 0);
}

static void invalid_requests_are_rejected(void **state)
{
    Fixture *f = *state;
    static const char *const targets[] = {
        "/v1/watch",
        "/v1/watch?key=/a&prefix=/a",
        "/v1/watch?key=/a&from=0",
        "/v1/watch?key=/a&from=-1",
        "/v1/watch?key=/a&from=x",
        "/v1/watch?key=/a&from=99999999999999999999",
        "/v1/watch?key=/a&previous=1",
        "/v1/watch?key=/a&other=1",
    };
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        start(f, "GET", targets[i]);
        world_run(&f->world);
        if (f->status != 400) {
            fail_msg("%s: %d", targets[i], f->status);
        }
        assert_int_equal(f->count, 0);
        assert_true(str_find(f->refusal, STR("urn:eden:problem:"), 0) != STR_NOT_FOUND);
    }
    assert_int_equal(store_status(f->store).watches, OWN_WATCHES);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(changes_arrive_as_they_happen),
        ROW(existing_keys_are_sent_on_request),
        ROW(it_starts_at_the_requested_revision),
        ROW(compaction_is_reported),
        ROW(a_watcher_of_a_newer_store_is_notified),
        ROW(idle_watches_get_progress_events),
        ROW(a_slow_reader_misses_nothing),
        ROW(a_disconnected_client_leaves_no_watch),
        ROW(a_stopping_server_aborts_it),
        ROW(invalid_requests_are_rejected),
        ROW(excess_watches_are_rejected_with_retry_after),
        ROW(pages_do_not_count_as_watches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
