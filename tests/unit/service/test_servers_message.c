#include "service/servers_message.h"

#include "unit.h"

static const Str garbage[] = { { "\x0a\xff", 2 }, { "\x0a\x05x", 3 }, { "\xff\xff\xff", 3 } };

static void files_survive_a_round_trip(void **state)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Buf) bytes = buf_make(BUF_UNLIMITED);
    arena_init(&arena, ARENA_UNLIMITED);
    ServerFiles files = { .contents = { [BACKUP_SETTINGS] = STR("{}"),
                                        [BACKUP_CA] = STR("the key"),
                                        [BACKUP_SOURCE_KEY] = STR("\x00\xff") } },
                read;
    Error err;
    memset(files.issuer.bytes, 7, sizeof files.issuer.bytes);
    server_files_encode(&files, &bytes);
    assert_true(server_files_decode(&arena, buf_str(&bytes), &read, &err));
    assert_str(read.contents[BACKUP_CA], "the key");
    assert_true(str_eq(read.contents[BACKUP_SOURCE_KEY], STR("\x00\xff")));
    assert_int_equal(read.contents[BACKUP_CA_NEXT].len, 0);
    assert_true(pin_equal(&read.issuer, &files.issuer));
    /* a server that has no CA cannot be joined */
    files.contents[BACKUP_CA] = STR_EMPTY;
    buf_clear(&bytes);
    server_files_encode(&files, &bytes);
    assert_false(server_files_decode(&arena, buf_str(&bytes), &read, &err));
    assert_non_null(strstr(err.text, "ca.pem"));
}

static void blobs_and_pings_survive_a_round_trip(void **state)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Buf) id = buf_make(BUF_UNLIMITED), data = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) node = buf_make(BUF_UNLIMITED), ping = buf_make(BUF_UNLIMITED);
    arena_init(&arena, ARENA_UNLIMITED);
    Str hash = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"), read;
    SessionPing sent = { 5, -7, 9 }, received;
    Error err;
    server_blob_request_encode(hash, &id);
    assert_true(server_blob_request_decode(&arena, buf_str(&id), &read, &err));
    assert_true(str_eq(read, hash));
    server_blob_encode(STR("a\0b"), &data);
    assert_true(server_blob_decode(&arena, buf_str(&data), &read, &err));
    assert_true(str_eq(read, STR("a\0b")));
    server_ping_request_encode(STR("web1"), &node);
    assert_true(server_ping_request_decode(&arena, buf_str(&node), &read, &err));
    assert_str(read, "web1");
    server_ping_encode(&sent, &ping);
    assert_true(server_ping_decode(&arena, buf_str(&ping), &received, &err));
    assert_int_equal(received.round_trip_ms, 5);
    assert_int_equal(received.node_ms, -7);
    assert_int_equal(received.server_ms, 9);
}

static void anything_else_is_rejected(void **state)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Buf) path = buf_make(BUF_UNLIMITED);
    arena_init(&arena, ARENA_UNLIMITED);
    ServerFiles files;
    SessionPing ping;
    Str read;
    Error err;
    server_blob_request_encode(STR("../ca.pem"), &path);
    assert_false(server_blob_request_decode(&arena, buf_str(&path), &read, &err));
    assert_false(server_ping_request_decode(&arena, buf_str(&path), &read, &err));
    for (size_t i = 0; i < COUNT_OF(garbage); i++) {
        assert_false(server_files_decode(&arena, garbage[i], &files, &err));
        assert_false(server_blob_request_decode(&arena, garbage[i], &read, &err));
        assert_false(server_blob_decode(&arena, garbage[i], &read, &err));
        assert_false(server_ping_request_decode(&arena, garbage[i], &read, &err));
        assert_false(server_ping_decode(&arena, garbage[i], &ping, &err));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_survive_a_round_trip),
        cmocka_unit_test(blobs_and_pings_survive_a_round_trip),
        cmocka_unit_test(anything_else_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
