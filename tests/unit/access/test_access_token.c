#include "access/access_token.h"

#include "unit.h"

static void a_token_is_read_as_it_was_written(void **state)
{
    AccessToken made, read;
    char text[ACCESS_TOKEN_TEXT + 1], hash[ACCESS_TOKEN_HASH_TEXT + 1],
        again[ACCESS_TOKEN_HASH_TEXT + 1];
    Error err;
    assert_true(access_token_generate(&made, &err));
    access_token_text(&made, text);
    assert_int_equal(strlen(text), ACCESS_TOKEN_TEXT);
    assert_int_equal(strncmp(text, "eden_", 5), 0);
    assert_true(access_token_parse(str_from_c(text), &read, &err));
    assert_memory_equal(&read, &made, sizeof made);
    access_token_hash(&made, hash);
    access_token_hash(&read, again);
    assert_true(access_token_hash_equal(hash, again));
    /* Neither is in the other, and the id counts. */
    assert_null(strstr(hash, text + 14));
    read.id[0] = read.id[0] == 'a' ? 'b' : 'a';
    access_token_hash(&read, again);
    assert_false(access_token_hash_equal(hash, again));
    access_token_clear(&read);
    assert_int_equal(read.secret[0] | read.secret[19] | read.id[0], 0);
}

static void anything_else_is_refused_and_not_repeated(void **state)
{
    static const char good[] = "eden_abcdefgh_abcdefghijklmnopqrstuvwxyz234567";
    AccessToken token;
    Error err;
    assert_true(access_token_parse(str_from_c(good), &token, &err));
    static const char *const bad[] = {
        "",
        "eden_",
        "eden_abcdefgh",
        "eden_abcdefgh_abcdefghijklmnopqrstuvwxyz23456",
        "eden_abcdefgh_abcdefghijklmnopqrstuvwxyz2345677",
        "eden_Abcdefgh_abcdefghijklmnopqrstuvwxyz234567",
        "eden_abcdefgh.abcdefghijklmnopqrstuvwxyz234567",
        "eden-abcdefgh_abcdefghijklmnopqrstuvwxyz234567",
        "eden_abcdefg1_abcdefghijklmnopqrstuvwxyz234567",
        " eden_abcdefgh_abcdefghijklmnopqrstuvwxyz23456",
        "eden_abcdefgh_abcdefghijklmnopqrstuvwxyz23456=",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(access_token_parse(str_from_c(bad[i]), &token, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(strstr(err.text, "ijklmn"));
    }
}

static void records_are_read_strictly(void **state)
{
    AUTO_CLEAR(Arena) arena;
    AccessTokenRecord read, record = { .id = "abcdefgh",
                                       .name = "ci \"main\"",
                                       .roles = { "viewer web-team" },
                                       .made_by = "root (uid 0)",
                                       .created_ms = 5,
                                       .expires_ms = 7 };
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    memset(record.hash, 'a', ACCESS_TOKEN_HASH_TEXT);
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    access_token_record_print(&record, &text);
    assert_true(access_token_record_read(&arena, buf_str(&text), &read, &err));
    assert_string_equal(read.name, record.name);
    assert_string_equal(read.roles.text, record.roles.text);
    assert_string_equal(read.made_by, record.made_by);
    assert_string_equal(read.hash, record.hash);
    assert_int_equal(read.expires_ms, 7);
    /* Nobody has said whose it is. */
    AccessTokenRecord nameless = record;
    Buf other = buf_make_in(&arena, BUF_UNLIMITED);
    nameless.name[0] = '\0';
    access_token_record_print(&nameless, &other);
    assert_true(access_token_record_read(&arena, buf_str(&other), &read, &err));
    assert_string_equal(read.name, "");
    static const char *const changes[][2] = {
        { "abcdefgh", "abcdefg1" },
        { "eden.access-token/1", "eden.access-token/2" },
        { "\"viewer\",", "" },
        { "viewer", "view er" },
        { "\"created_ms\":5", "\"created_ms\":8" },
        { "aaaa", "AAAA" },
        { "ci ", "ci\\n" },
        { "}", ",\"x\":1}" }, /* of a newer server */
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        size_t at = str_find(buf_str(&text), str_from_c(changes[i][0]), 0);
        Str changed =
            arena_join(&arena, str_slice(buf_str(&text), 0, at), str_from_c(changes[i][1]),
                       str_from_offset(buf_str(&text), at + strlen(changes[i][0])));
        bool ok = access_token_record_read(&arena, changed, &read, &err);
        if (ok != (i == 2 || i == 7)) {
            fail_msg("%.*s", STR_ARG(changed));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_read_as_it_was_written),
        cmocka_unit_test(anything_else_is_refused_and_not_repeated),
        cmocka_unit_test(records_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
