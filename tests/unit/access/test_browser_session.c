#include "access/browser_session.h"

#include "unit.h"

#define SECRET "abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrsq"
#define COOKIE BROWSER_COOKIE "=" SECRET

static void a_secret_survives_a_round_trip_through_a_cookie(void **state)
{
    AUTO_CLEAR(Buf) header = buf_make(BUF_UNLIMITED);
    BrowserSecret made, read;
    char hash[BROWSER_HASH_TEXT + 1], csrf[BROWSER_CSRF_TEXT + 1];
    Error err;
    assert_true(browser_secret_generate(&made, &err));
    assert_int_equal(strlen(made.text), BROWSER_SECRET_TEXT);
    browser_cookie_set(&made, &header);
    assert_true(str_ends(buf_str(&header), STR("; Path=/; Secure; HttpOnly; SameSite=Strict")));
    Str pair = str_slice(buf_str(&header), 0, str_find(buf_str(&header), STR(";"), 0));
    assert_true(browser_secret_from_cookies(pair, &read, &err));
    assert_string_equal(read.text, made.text);
    browser_secret_hash(&made, hash);
    browser_secret_csrf(&made, csrf);
    assert_string_not_equal(hash, csrf);
    assert_true(browser_csrf_equal(str_from_c(csrf), csrf));
    assert_false(browser_csrf_equal(str_from_c(hash), csrf));
    assert_false(browser_csrf_equal(STR_EMPTY, csrf));
    assert_false(browser_csrf_equal(str_from(csrf, BROWSER_CSRF_TEXT - 1), csrf));
}

static void it_is_found_among_other_cookies(void **state)
{
    static const char *const good[] = {
        COOKIE,         "a=b; " COOKIE,
        COOKIE "; a=b", "a; b=\"x=y\"; " COOKIE ";",
        " " COOKIE " ", "__host-eden-session=x; " COOKIE,
    };
    BrowserSecret read;
    Error err;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_true(browser_secret_from_cookies(str_from_c(good[i]), &read, &err));
        assert_string_equal(read.text, SECRET);
    }
}

static void foreign_cookies_are_rejected(void **state)
{
    static const struct {
        const char *header;
        ErrorKind kind;
    } rows[] = {
        { "", ERROR_NOT_FOUND },
        { "a=b", ERROR_NOT_FOUND },
        { "__host-eden-session=" SECRET, ERROR_NOT_FOUND },
        { "x" COOKIE, ERROR_NOT_FOUND },
        { BROWSER_COOKIE, ERROR_INVALID },
        { BROWSER_COOKIE "=", ERROR_INVALID },
        { COOKIE "x", ERROR_INVALID },
        { BROWSER_COOKIE "=\"" SECRET "\"", ERROR_INVALID },
        { COOKIE "; " COOKIE, ERROR_INVALID },
        { COOKIE "; " BROWSER_COOKIE "=x", ERROR_INVALID },
        { BROWSER_COOKIE "=x; " COOKIE, ERROR_INVALID },
    };
    BrowserSecret read;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Error err = { 0 };
        assert_false(browser_secret_from_cookies(str_from_c(rows[i].header), &read, &err));
        if (err.kind != rows[i].kind) {
            fail_msg("%s: %s", rows[i].header, err.text);
        }
        assert_null(strstr(err.text, "ijklmn"));
    }
    AUTO_CLEAR(Buf) many = buf_make(BUF_UNLIMITED);
    Error err;
    for (int i = 0; i < BROWSER_COOKIES_MAX; i++) {
        buf_put_c(&many, "a=b; ");
    }
    buf_put_c(&many, COOKIE);
    assert_false(browser_secret_from_cookies(buf_str(&many), &read, &err));
}

static void records_are_read_strictly(void **state)
{
    AUTO_CLEAR(Arena) arena;
    BrowserRecord read, record = { "token:abcdefgh", 1, 2, 3 };
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    browser_record_print(&record, &text);
    assert_true(browser_record_read(&arena, buf_str(&text), &read, &err));
    assert_string_equal(read.credential, record.credential);
    assert_int_equal(read.credential_created_ms, 1);
    assert_int_equal(read.expires_ms, 3);
    assert_false(browser_record_read(&arena, STR("{}"), &read, &err));
    assert_false(browser_record_read(&arena, STR("nonsense"), &read, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_survives_a_round_trip_through_a_cookie),
        cmocka_unit_test(it_is_found_among_other_cookies),
        cmocka_unit_test(foreign_cookies_are_rejected),
        cmocka_unit_test(records_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
