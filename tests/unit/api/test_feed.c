/* What a feed costs, with a kind that counts how often it is read. */
#include "api/feed.h"

#include "scratch.h"

enum {
    MEMBERS = 100
};

static uint32_t gets, lists, told, readies, beats;

static void list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindListed *done, void *context)
{
    lists++;
    done(context, &(KindItems){ .revision = 1 }, NULL);
}

typedef struct Getting {
    KindGot *done;
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
                KindGot *done, void *context)
{
    Getting *getting = ARENA_NEW(arena, Getting);
    Error err;
    *getting = (Getting){ done, context };
    gets++;
    assert_true(store_get(settings->at.store, STR("/x/a"), got, getting, &err));
}

static Str watched(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    return which == 0 ? STR("/x/") : STR_EMPTY;
}

static bool touched(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
{
    *name = str_from_offset(key, 3);
    return true;
}

static const Kind kind = {
    .name = "X", .plural = "xs", .list = list, .get = get, .watched = watched, .touched = touched
};

static void is_ready(void *context)
{
    readies++;
}

static void is_told(void *context, FeedNews *news)
{
    told++;
    assert_true(feed_news_frame(news, WATCH_SSE, WATCH_CHANGED).data ==
                feed_news_frame(news, WATCH_SSE, WATCH_CHANGED).data);
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

static void many_cost_one_read_for_each_change(void **state)
{
    AUTO(Loop) *loop = loop_new_virtual(1);
    Store *store = store_open_memory(loop, NULL);
    Api *api = api_new(&(ApiSettings){ .at = { loop, store, STR("/eden") } });
    static FeedMember members[MEMBERS];
    Error err;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (FeedMember){ .ready = is_ready, .told = is_told, .beat = beat, .lost = lost };
        assert_true(feed_join(api, &kind, &members[i], &err));
    }
    loop_run_virtual_until(loop, 1000);
    assert_int_equal(readies, MEMBERS);
    assert_int_equal(lists, 1);
    assert_int_equal(store_status(store).watches, 1);
    assert_true(store_put(store, STR("/x/a"), STR("1"), 0, put_done, NULL, &err));
    loop_run_virtual_until(loop, 2000);
    assert_int_equal(gets, 1);
    assert_int_equal(told, MEMBERS);
    /* In one go: they are read together. */
    for (int i = 0; i < 500; i++) {
        assert_true(store_put(store, STR("/x/a"), STR("2"), 0, put_done, NULL, &err));
    }
    loop_run_virtual_until(loop, 3000);
    assert_true(gets < 50);
    assert_true(told <= gets * MEMBERS);
    assert_int_equal(feed_revision(members[0].feed), store_status(store).revision);
    loop_run_virtual_until(loop, 15500);
    assert_int_equal(beats, 3 * MEMBERS);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        feed_leave(&members[i]);
    }
    assert_int_equal(store_status(store).watches, 0);
    api_free(api);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_cost_one_read_for_each_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
