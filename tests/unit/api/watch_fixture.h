/* An API with clients that watch its objects. */
#pragma once

#include "api/serving.h"
#include "lang/json.h"
#include "net/http_client.h"
#include "net/world.h"
#include "ready_state.h"

enum {
    LINES_MAX = 4096,
    CALLS = 50,
    OWN_WATCHES = 1 /* of the state */
};

typedef struct Fixture Fixture;

/* A client that watches. */
typedef struct Watcher {
    Fixture *f;
    HttpCall *call;
    Buf text;               /* of an incomplete line */
    Value lines[LINES_MAX]; /* in the arena */
    uint32_t count, at;
    Buf all;
    bool over, pauses;
    int status; /* 0: it was aborted */
} Watcher;

struct Fixture {
    World world;
    Scratch *scratch;
    Store *store;
    ClusterStore cluster_store;
    Api *api;
    HttpServer *server;
    Address address;
    Watcher watchers[CALLS];
    int64_t revision; /* of the last write */
};

static inline void describe(void *context, const Peer *peer, Caller *out)
{
    *out = (Caller){ .is_local = true, .is_operator = true };
}

static inline int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    f->store = store_open_memory(f->world.loop, NULL);
    f->cluster_store =
        (ClusterStore){ .loop = f->world.loop, .store = f->store, .prefix = STR("/eden") };
    follow_store(&f->cluster_store);
    while (!state_age(f->cluster_store.state).is_ready) {
        world_pass(&f->world, 1);
    }
    f->api = api_new(&(ApiSettings){ .cluster_store = f->cluster_store,
                                     .cluster = STR("blue"),
                                     .store_id = STR("store-1"),
                                     .describe = describe,
                                     .context = f });
    f->server = serve_by_socket(&f->world, f->scratch, f->api, &f->address);
    for (uint32_t i = 0; i < CALLS; i++) {
        f->watchers[i] =
            (Watcher){ .f = f, .text = buf_make(BUF_UNLIMITED), .all = buf_make(BUF_UNLIMITED) };
    }
    return 0;
}

static inline int tear_down(void **state)
{
    Fixture *f = *state;
    for (uint32_t i = 0; i < CALLS; i++) {
        http_call_free(f->watchers[i].call);
        buf_clear(&f->watchers[i].text);
        buf_clear(&f->watchers[i].all);
    }
    http_server_free(f->server);
    api_free(f->api);
    follow_stop(&f->cluster_store);
    assert_int_equal(store_status(f->store).watches, 0);
    store_close(f->store);
    follow_free(&f->cluster_store);
    world_close(&f->world);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

/* --- The store ------------------------------------------------------------------------------- */

static inline void seen(void *context)
{
    Fixture *f = context;
    loop_stop(f->world.loop);
}

static inline void written(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->revision = reply->revision;
    state_wait(f->cluster_store.state, reply->revision, seen, f);
}

/* --- The watch ------------------------------------------------------------------------------- */

static inline void piece(void *context, const Http1Head *head, Str bytes)
{
    Watcher *w = context;
    Scratch *scratch = w->f->scratch;
    buf_put(&w->all, bytes);
    bool is_lines = str_eq_c(*http1_find(head, "Content-Type"), "application/x-ndjson");
    while (is_lines && bytes.len > 0) {
        size_t end = str_find(bytes, STR("\n"), 0);
        buf_put(&w->text, str_slice(bytes, 0, end));
        if (end == STR_NOT_FOUND) {
            break;
        }
        Error err;
        assert_true(w->count < LINES_MAX);
        assert_true(json_parse_text(&scratch->arena, arena_copy(&scratch->arena, buf_str(&w->text)),
                                    NULL, &w->lines[w->count++], &err));
        buf_reset(&w->text);
        bytes = str_from_offset(bytes, end + 1);
    }
    if (w->pauses) {
        http_call_pause(w->call);
    }
}

static inline void done(void *context, const HttpResponse *answer, const Error *err)
{
    Watcher *w = context;
    w->over = true;
    w->status = answer == NULL ? 0 : answer->head->status;
    loop_stop(w->f->world.loop);
}

static inline Watcher *watch(Fixture *f, uint32_t which, const char *target)
{
    Watcher *w = &f->watchers[which];
    HttpCallOptions options = { .loop = f->world.loop,
                                .address = f->address,
                                .method = "GET",
                                .target = target,
                                .response_max = UINT64_MAX,
                                .timeout_ms = 10000,
                                .piece = piece,
                                .idle_timeout_ms = 100000,
                                .done = done,
                                .context = w };
    http_call_free(w->call);
    w->count = w->at = 0;
    w->over = false;
    buf_reset(&w->text);
    buf_reset(&w->all);
    w->call = http_call_new(&options);
    return w;
}

static inline const char *text_of(Fixture *f, Value map, const char *name)
{
    const Value *value = value_get(map, str_from_c(name));
    return value == NULL || !value_is_string(*value)
               ? ""
               : arena_copy_c(&f->scratch->arena, value_str(*value));
}

static inline int64_t revision_of(Value line)
{
    const Value *value = value_get(line, STR("revision"));
    assert_true(value != NULL && value->kind == VALUE_INT);
    return value->integer;
}

static inline Value next(Watcher *w)
{
    while (w->at >= w->count) {
        assert_false(w->over);
        world_pass(&w->f->world, 1);
    }
    return w->lines[w->at++];
}

/* The next event, as "added x"; its object; without a name, it must have none. */
static inline const Value *expect_event(Watcher *w, const char *type, const char *name, Value *line)
{
    *line = next(w);
    assert_string_equal(text_of(w->f, *line, "type"), type);
    const Value *object = value_get(*line, STR("object"));
    if (name == NULL) {
        assert_null(object);
    } else {
        assert_non_null(object);
        assert_string_equal(text_of(w->f, *value_get(*object, STR("metadata")), "name"), name);
    }
    return object;
}
