#include "api/watch_event.h"

#include "scratch.h"

static void expect(WatchFormat format, WatchType type, bool has_id, Str object, const char *wanted)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    watch_event_put(&out, format, type, 7, has_id, object);
    assert_str(buf_str(&out), wanted);
}

static void lines_are_json(void **state)
{
    expect(WATCH_NDJSON, WATCH_ADDED, true, STR("{}"),
           "{\"type\":\"added\",\"revision\":7,\"object\":{}}\n");
    expect(WATCH_NDJSON, WATCH_SYNCED, false, STR_EMPTY, "{\"type\":\"synced\",\"revision\":7}\n");
    expect(WATCH_NDJSON, WATCH_HEARTBEAT, true, STR_EMPTY,
           "{\"type\":\"heartbeat\",\"revision\":7}\n");
}

static void events_that_can_be_resumed_have_ids(void **state)
{
    expect(WATCH_SSE, WATCH_DELETED, true, STR("{}"),
           "id: 7\nevent: deleted\ndata: {\"type\":\"deleted\",\"revision\":7,\"object\":{}}\n\n");
    expect(WATCH_SSE, WATCH_RESYNC, false, STR_EMPTY,
           "event: resync\ndata: {\"type\":\"resync\",\"revision\":7}\n\n");
}

static void heartbeats_are_comments(void **state)
{
    expect(WATCH_SSE, WATCH_HEARTBEAT, true, STR_EMPTY, ":\nid: 7\n\n");
    expect(WATCH_SSE, WATCH_HEARTBEAT, false, STR_EMPTY, ":\n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_json),
        cmocka_unit_test(events_that_can_be_resumed_have_ids),
        cmocka_unit_test(heartbeats_are_comments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
