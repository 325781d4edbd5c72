/* The cost of a feed, with a kind that counts how often it is read. */
#include "api/feed.h"

#include "cluster/cluster_keys.h"
#include "failing_store.h"
#include "ready_state.h"
#include "scratch.h"

enum {
    MEMBERS = 100,
    OTHERS = 3500 /* nodes: several pages */
};

static uint32_t gets, lists, reported, readies, beats;

static void list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindListed *done, void *context)
{
    lists++;
    done(context, &(KindItems){ .revision = 1 }, NULL);
}

typedef struct Getting {
    KindGetDone *done;
    void *context;
} Getting;

static void got(void *context, const StoreReply *reply, const Error *err)
{
    const Getting *getting = context;
    assert_null(err);
    assert_int_equal(reply->ops[0].kv_count, 1);
    KindItem item = { .name = STR("a"), .revision = reply->ops[0].kvs[0].mod_revision };
    getting->done(getting->context, &item, NULL);
}

static void get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindGetDone *done, void *context)
{
    Getting *getting = ARENA_NEW(arena, Getting);
    Error err;
    *getting = (Getting){ done, context };
    gets++;
    assert_true(store_get(settings->cluster_store.store, STR("/eden/nodes/a"), got, getting, &err));
}

static Str watched(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    return which == 0 ? cluster_key_node_all(arena, prefix) : STR_EMPTY;
}

static bool touched(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
{
    *name = str_from_offset(key, strlen("/eden/nodes/"));
    return true;
}

static const Kind kind = {
    .name = "X",
    .plural = "xs",
    .list_async = list,
    .get_async = get,
    .watch_prefix = watched,
    .key_to_name = touched,
};

static void is_ready(void *context)
{
    readies++;
}

static void is_told(void *context, FeedChange *news)
{
    reported++;
    assert_true(feed_change_frame(news, WATCH_SSE, WATCH_CHANGED).data ==
                feed_change_frame(news, WATCH_SSE, WATCH_CHANGED).data);
}

static void beat(void *context)
{
    beats++;
}

static void lost(void *context)
{
    fail();
}

static void put_done(void *context, const StoreReply *reply, const Error *err)
{
    assert_null(err);
}

static void many_watches_cost_one_read_per_change(void **state)
{
    AUTO(Loop) *loop = loop_new_virtual(1);
    Store *store = store_open_memory(loop, NULL);
    ClusterStore cluster_store = { .loop = loop, .store = store, .prefix = STR("/eden") };
    cluster_store.state = ready_state(&cluster_store, NULL);
    Api *api = api_new(&(ApiSettings){ .cluster_store = cluster_store });
    static FeedMember members[MEMBERS];
    Error err;
    readies = beats = 0;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] =
            (FeedMember){ .ready = is_ready, .changed = is_told, .tick = beat, .aborted = lost };
        feed_join(api, &kind, &members[i]);
    }
    loop_run_virtual_until(loop, 1000);
    assert_int_equal(readies, MEMBERS);
    assert_int_equal(lists, 1);
    assert_int_equal(store_status(store).watches, 1); /* that of the state */
    assert_true(store_put(store, STR("/eden/nodes/a"), STR("1"), 0, put_done, NULL, &err));
    loop_run_virtual_until(loop, 2000);
    assert_int_equal(gets, 1);
    assert_int_equal(reported, MEMBERS);
    /* At once: they are read together. */
    for (int i = 0; i < 500; i++) {
        assert_true(store_put(store, STR("/eden/nodes/a"), STR("2"), 0, put_done, NULL, &err));
    }
    loop_run_virtual_until(loop, 3000);
    assert_true(gets < 50);
    assert_true(reported <= gets * MEMBERS);
    assert_int_equal(feed_revision(members[0].feed), store_status(store).revision);
    loop_run_virtual_until(loop, 15500);
    assert_int_equal(beats, 3 * MEMBERS);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        feed_leave(&members[i]);
    }
    api_free(api);
    state_stop(cluster_store.state);
    store_close(store);
    state_free(cluster_store.state);
}

/* --- A kind whose objects are in the state ---------------------------------------------------- */

static bool list_known(const Kind *known, const ApiSettings *settings, Arena *arena,
                       const KindPage *page, KindItems *out, Error *err)
{
    *out = (KindItems){ .revision = state_age(settings->cluster_store.state).revision };
    return true;
}

static bool get_known(const Kind *known, const ApiSettings *settings, Arena *arena, Str name,
                      KindItem *out, Error *err)
{
    Str key = cluster_key_node(arena, settings->cluster_store.prefix, name);
    const StateEntry *entry = state_find(settings->cluster_store.state, key);
    *out = (KindItem){ .name = name, .revision = entry == NULL ? 0 : entry->mod_revision };
    return true;
}

static Str watched_nodes(const Kind *known, Arena *arena, Str prefix, uint32_t which)
{
    return which == 0 ? cluster_key_node_all(arena, prefix) : STR_EMPTY;
}

static bool touched_node(const Kind *known, Arena *arena, Str prefix, Str key, Str *name)
{
    return str_ends(key, *name = STR("web1"));
}

static const Kind known_kind = { .name = "Y",
                                 .plural = "ys",
                                 .list = list_known,
                                 .get = get_known,
                                 .watch_prefix = watched_nodes,
                                 .key_to_name = touched_node };

static void note_revision(void *context, FeedChange *news)
{
    *(int64_t *)context = news->item->revision;
}

static void put_node(ClusterStore *cluster_store, Arena *arena, const char *name)
{
    Error err;
    Str key = cluster_key_node(arena, cluster_store->prefix, str_from_c(name));
    assert_true(store_put(cluster_store->store, key, STR("{}"), 0, put_done, NULL, &err));
}

/* Also while the state still reads many pages. */
static void events_are_as_new_as_their_change(void **test)
{
    AUTO(Loop) *loop = loop_new_virtual(1);
    ClusterStore cluster_store = { .loop = loop,
                                   .store = store_open_memory(loop, NULL),
                                   .prefix = STR("/eden") };
    AUTO_CLEAR(Arena) arena;
    int64_t revision = 0;
    arena_init(&arena, ARENA_UNLIMITED);
    for (int i = 0; i < OTHERS; i++) {
        put_node(&cluster_store, &arena, arena_format(&arena, "n%d%c", i, '\0').data);
    }
    loop_run_virtual_until(loop, 1000);
    cluster_store.state = new_state(&cluster_store, NULL);
    Api *api = api_new(&(ApiSettings){ .cluster_store = cluster_store });
    FeedMember member = { .ready = is_ready,
                          .changed = note_revision,
                          .tick = beat,
                          .aborted = lost,
                          .context = &revision };
    feed_join(api, &known_kind, &member);
    put_node(&cluster_store, &arena, "web1");
    loop_run_virtual_until(loop, 2000);
    assert_int_equal(revision, OTHERS + 1);
    feed_leave(&member);
    api_free(api);
    state_free(cluster_store.state);
    store_close(cluster_store.store);
}

/* Its contents are known, and cannot be changed by others. */
static void a_read_only_store_is_watched(void **test)
{
    AUTO(Loop) *loop = loop_new_virtual(1);
    FailingStore *failing = failing_store_open(loop);
    ClusterStore cluster_store = { .loop = loop, .store = &failing->base, .prefix = STR("/eden") };
    AUTO_CLEAR(Arena) arena;
    int64_t revision = 0;
    arena_init(&arena, ARENA_UNLIMITED);
    cluster_store.state = ready_state(&cluster_store, NULL);
    Api *api = api_new(&(ApiSettings){ .cluster_store = cluster_store });
    FeedMember member = { .ready = is_ready,
                          .changed = note_revision,
                          .tick = beat,
                          .aborted = lost,
                          .context = &revision };
    failing->condition = STORE_UNWRITABLE;
    state_check(cluster_store.state);
    assert_true(state_age(cluster_store.state).stale_since_ms != 0);
    feed_join(api, &known_kind, &member);
    loop_run_virtual_until(loop, 1000);
    put_node(&cluster_store, &arena, "web1");
    loop_run_virtual_until(loop, 2000);
    assert_int_equal(revision, 1);
    feed_leave(&member);
    api_free(api);
    state_free(cluster_store.state);
    store_close(cluster_store.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_as_new_as_their_change),
        cmocka_unit_test(a_read_only_store_is_watched),
        cmocka_unit_test(many_watches_cost_one_read_per_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
