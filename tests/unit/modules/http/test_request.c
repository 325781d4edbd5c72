#include "modules/http/request.h"

#include "unit.h"

static void addresses(void **state)
{
    static const char *const good[] = {
        "https://h",       "http://h/x",        "https://h:8443/a/b?c=d&e=@f#g", "https://[::1]/x",
        "https://[::1]:1", "https://h:65535?x", "https://h/{a,b}[1-9]",          "https://h/\"x\\",
    };
    static const char *const bad[] = {
        "",
        "h",
        "//h/x",
        "ftp://h/x",
        "file:///etc/shadow",
        "https://",
        "https:///x",
        "https://:80",
        "https://h:0",
        "https://h:65536/x",
        "https://h:http",
        "https://h:/x",
        "https://[::1]:99999",
        "HTTPS://h",
        "https://h/a b",
        "-K",
        "https:/h",
        "https://?x",
        "https://h/\nurl",
        "https://h/\x7f",
        "https://h\t",
    };
    Error err;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        Request request = { .url = str_from_c(good[i]), .max_size = 1 };
        if (!request_check(&request, &err)) {
            fail_msg("%s: %s", good[i], err.text);
        }
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        Request request = { .url = str_from_c(bad[i]), .max_size = 1 };
        if (request_check(&request, &err)) {
            fail_msg("%s is taken", bad[i]);
        }
        assert_non_null(strstr(err.text, "'url' must "));
    }
    static char longest[8002] = "https://";
    memset(longest + 8, 'a', sizeof longest - 9);
    assert_false(request_check(&(Request){ .url = str_from_c(longest), .max_size = 1 }, &err));
    assert_true(request_check(
        &(Request){ .url = str_slice(str_from_c(longest), 0, 8000), .max_size = 1 }, &err));
    assert_false(request_check(&(Request){ .url = STR("https://me:x@h/"), .max_size = 1 }, &err));
    assert_non_null(strstr(err.text, "use 'username' and 'password' instead"));
    assert_false(request_check(&(Request){ .url = STR("https://h/") }, &err));
    assert_string_equal(err.text, "'max_size' must be at least 1");
    assert_true(request_is_encrypted(STR("https://h")));
    assert_false(request_is_encrypted(STR("http://https://h")));
}

static void names_and_passwords(void **state)
{
    Error err;
    Request request = { .url = STR("https://h"), .max_size = 1, .username = STR("me") };
    assert_false(request_check(&request, &err));
    assert_string_equal(err.text, "'username' and 'password' must be set together");
    request.password = STR("a:b \"c\" \\");
    assert_true(request_check(&request, &err));
    request.password = STR("a\nurl = x");
    assert_false(request_check(&request, &err));
    request.password = STR("a");
    request.username = STR("m:e");
    assert_false(request_check(&request, &err));
}

static Request with_header(Arena *arena, Value name, Value text)
{
    Map *map = map_new(arena, 1);
    map_set(arena, map, name, text);
    return (Request){ .url = STR("https://h"), .max_size = 1, .headers = value_map(map) };
}

static void headers(void **state)
{
    AUTO_CLEAR(Arena) memory;
    Arena *arena = &memory;
    arena_init(arena, ARENA_UNLIMITED);
    Error err;
    static const char *const bad[][2] = {
        { "", "x" },    { "A B", "x" },       { "@/etc/shadow", "x" }, { "A:", "x" },
        { "A", "x\n" }, { "A", "x\r\nB: y" }, { "A\n", "x" },
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        Request request = with_header(arena, value_string(str_from_c(bad[i][0])),
                                      value_string(str_from_c(bad[i][1])));
        if (request_check(&request, &err)) {
            fail_msg("header %zu is taken", i);
        }
    }
    Value name = value_string(STR("X-Token"));
    Request request = with_header(arena, name, value_int(1));
    assert_false(request_check(&request, &err));
    request = with_header(arena, name, value_string(STR("a\tb @c")));
    assert_true(request_check(&request, &err));
}

static void redirects_receive_no_secrets(void **state)
{
    AUTO_CLEAR(Arena) memory;
    Arena *arena = &memory;
    arena_init(arena, ARENA_UNLIMITED);
    Value name = value_string(STR("X-Token")), text = value_string(STR("x"));
    Request request = with_header(arena, name, text);
    assert_true(request_follows(&request));
    request = with_header(arena, name, value_with_secret(text));
    assert_false(request_follows(&request));
    assert_true(str_find(request_options(arena, &request), STR("\nmax-redirs = 0\n"), 0) !=
                STR_NOT_FOUND);
    request = with_header(arena, name, text);
    request.headers = value_with_secret(request.headers);
    assert_false(request_follows(&request));
    request = with_header(arena, value_string(STR("authorization")), value_with_secret(text));
    assert_true(request_follows(&request));
}

static void options_are_quoted(void **state)
{
    AUTO_CLEAR(Arena) memory;
    Arena *arena = &memory;
    arena_init(arena, ARENA_UNLIMITED);
    Request request = with_header(arena, value_string(STR("A")), value_string(STR(" b\"\\ ")));
    request.username = STR("m\"e");
    request.password = STR("a\\");
    request.ca = STR("/c\"a");
    request.max_size = 1234;
    assert_str(request_options(arena, &request),
               "silent\nshow-error\nfail\ngloboff\nlocation\noutput = \"-\"\n"
               "proto = \"=https\"\nproto-redir = \"=https\"\nmax-redirs = 10\n"
               "connect-timeout = 30\nspeed-limit = 1\nspeed-time = 60\nmax-filesize = 1234\n"
               "write-out = \"%{stderr}eden-status %{http_code}\\n\"\n"
               "cacert = \"/c\\\"a\"\ncapath = \"/dev/null\"\n"
               "user = \"m\\\"e:a\\\\\"\nheader = \"A: b\\\"\\\\\"\nurl = \"https://h\"\n");
    request = with_header(arena, value_string(STR("A")), value_string(STR("")));
    request.url = STR("http://h");
    Str text = request_options(arena, &request);
    assert_true(str_find(text, STR("header = \"A;\"\n"), 0) != STR_NOT_FOUND);
    assert_true(str_find(text, STR("proto = \"=http,https\"\n"), 0) != STR_NOT_FOUND);
    assert_true(str_find(text, STR("\nhead\n"), 0) == STR_NOT_FOUND);
    request.only_head = true;
    text = request_options(arena, &request);
    assert_true(str_find(text, STR("\nhead\n"), 0) != STR_NOT_FOUND);
    assert_true(str_find(text, STR("connect-timeout = 10\n"), 0) != STR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(names_and_passwords),
        cmocka_unit_test(headers),
        cmocka_unit_test(redirects_receive_no_secrets),
        cmocka_unit_test(options_are_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
