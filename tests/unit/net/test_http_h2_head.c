/* Heads of HTTP/2 requests: which are accepted, and how they are interpreted. */
#include "net/http_h2_head.h"
#include "scratch.h"

enum {
    FIELDS_MAX = 68
};

typedef struct Field {
    const char *name, *value;
} Field;

#define METHOD           \
    {                    \
        ":method", "GET" \
    }
#define SCHEME             \
    {                      \
        ":scheme", "https" \
    }
#define PATH            \
    {                   \
        ":path", "/a?b" \
    }
#define AUTHORITY              \
    {                          \
        ":authority", "host:1" \
    }
#define FIRST METHOD, SCHEME, PATH, AUTHORITY

/* The status of a rejection; 0: accepted. */
static int read_fields(Http1Reader *reader, const Field *fields, uint32_t count)
{
    Http2Header items[FIELDS_MAX];
    Error err = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (Http2Header){ str_from_c(fields[i].name), str_from_c(fields[i].value) };
    }
    http1_reader_init(reader, HTTP1_REQUEST, 1000);
    Http2Headers headers = { items, count, false };
    bool ok = http_h2_head_read(&headers, reader, &err);
    assert_true(ok || err.text[0] != '\0');
    return ok ? 0 : reader->error_status;
}

static int evaluate(const Field *fields, uint32_t count)
{
    Http1Reader reader;
    int status = read_fields(&reader, fields, count);
    http1_reader_clear(&reader);
    return status;
}

#define JUDGE(...) \
    evaluate((Field[]){ __VA_ARGS__ }, sizeof((Field[]){ __VA_ARGS__ }) / sizeof(Field))

static void assert_field(const Http1Head *head, const char *name, const char *value)
{
    const Str *found = http1_find(head, name);
    assert_non_null(found);
    assert_true(str_eq_c(*found, value));
}

static void a_head_is_equivalent_to_http1(void **state)
{
    Http1Reader reader;
    const Field fields[] = { FIRST,
                             { "cookie", "a=1" },
                             { "host", "HOST:1" },
                             { "x", "" },
                             { "cookie", "b=2" },
                             { "te", "trailers" },
                             { "content-length", "12" } };
    assert_int_equal(read_fields(&reader, fields, COUNT_OF(fields)), 0);
    const Http1Head *head = &reader.head;
    assert_true(str_eq_c(head->method, "GET"));
    assert_true(str_eq_c(head->path, "/a"));
    assert_true(str_eq_c(head->query, "b"));
    assert_true(head->is_http11);
    assert_int_equal(head->header_count, 5);
    assert_field(head, "Host", "host:1");
    assert_field(head, "Cookie", "a=1; b=2");
    assert_field(head, "X", "");
    assert_int_equal(head->length, 12);
    http1_reader_clear(&reader);
}

static void pseudo_headers_appear_once(void **state)
{
    assert_int_equal(JUDGE(FIRST), 0);
    assert_int_equal(JUDGE(SCHEME, PATH, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, PATH, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, PATH), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, PATH, { "host", "host:1" }), 400);
    assert_int_equal(JUDGE(FIRST, METHOD), 400);
    assert_int_equal(JUDGE(FIRST, AUTHORITY), 400);
    assert_int_equal(JUDGE(FIRST, { ":protocol", "x" }), 400);
    assert_int_equal(JUDGE(FIRST, { ":status", "200" }), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, PATH, { "x", "y" }, AUTHORITY), 400);
    assert_int_equal(evaluate(NULL, 0), 400);
}

static void pseudo_headers_are_validated(void **state)
{
    assert_int_equal(JUDGE({ ":method", "CONNECT" }, AUTHORITY), 400);
    assert_int_not_equal(JUDGE({ ":method", "CONNECT" }, SCHEME, PATH, AUTHORITY), 0);
    assert_int_equal(JUDGE({ ":method", "" }, SCHEME, PATH, AUTHORITY), 400);
    assert_int_equal(JUDGE({ ":method", "GET /x" }, SCHEME, PATH, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, { ":scheme", "http" }, PATH, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, { ":path", "a" }, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, { ":path", "https://host/a" }, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, { ":path", "/a b" }, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, { ":path", "/a#b" }, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, { ":path", "/\xc3\xb6" }, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, { ":path", "/ HTTP/1.1\r\nx: y" }, AUTHORITY), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, { ":path", "*" }, AUTHORITY), 400);
    assert_int_equal(JUDGE({ ":method", "OPTIONS" }, SCHEME, { ":path", "*" }, AUTHORITY), 0);
    assert_int_equal(JUDGE(METHOD, SCHEME, PATH, { ":authority", "" }), 400);
    assert_int_equal(JUDGE(METHOD, SCHEME, PATH, { ":authority", "a b" }), 400);
}

static void connection_specific_fields_are_rejected(void **state)
{
    static const char *const names[] = { "connection",        "keep-alive", "proxy-connection",
                                         "transfer-encoding", "upgrade",    "http2-settings" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_int_equal(JUDGE(FIRST, { names[i], "x" }), 400);
    }
    assert_int_equal(JUDGE(FIRST, { "te", "gzip" }), 400);
    assert_int_equal(JUDGE(FIRST, { "host", "other" }), 400);
    assert_int_equal(JUDGE(FIRST, { "host", "" }), 400);
    assert_int_equal(JUDGE(FIRST, { "X", "y" }), 400);
    assert_int_equal(JUDGE(FIRST, { "", "y" }), 400);
    assert_int_equal(JUDGE(FIRST, { "x:y", "z" }), 400);
    assert_int_equal(JUDGE(FIRST, { "x y", "z" }), 400);
    assert_int_equal(JUDGE(FIRST, { "x\r\ny", "z" }), 400);
    assert_int_equal(JUDGE(FIRST, { "x", "y\r\nz: a" }), 400);
    assert_int_equal(JUDGE(FIRST, { "x", "y\n" }), 400);
    assert_int_equal(JUDGE(FIRST, { "x", "y\x01" }), 400);
    assert_int_equal(JUDGE(FIRST, { "cookie", "a\r\nb: c" }), 400);
}

static void a_body_has_one_length(void **state)
{
    assert_int_equal(JUDGE(FIRST, { "content-length", "1000" }), 0);
    assert_int_equal(JUDGE(FIRST, { "content-length", "1001" }), 413);
    assert_int_equal(JUDGE(FIRST, { "content-length", "x" }), 400);
    assert_int_equal(JUDGE(FIRST, { "content-length", "" }), 400);
    assert_int_equal(JUDGE(FIRST, { "content-length", "1" }, { "content-length", "1" }), 400);
}

static void the_number_of_fields_is_limited(void **state)
{
    Field fields[FIELDS_MAX] = { FIRST };
    for (uint32_t i = 4; i < FIELDS_MAX; i++) {
        fields[i] = (Field){ "x", "y" };
    }
    /* The authority is one of them. */
    assert_int_equal(evaluate(fields, FIELDS_MAX - 1), 0);
    assert_int_equal(evaluate(fields, FIELDS_MAX), 431);
    static char large[HTTP1_HEAD_MAX + 1];
    memset(large, 'x', HTTP1_HEAD_MAX);
    assert_int_equal(JUDGE(FIRST, { "x", large }), 431);
    Http1Reader reader;
    Error err;
    http1_reader_init(&reader, HTTP1_REQUEST, 1000);
    assert_false(http_h2_head_read(&(Http2Headers){ .too_large = true }, &reader, &err));
    assert_int_equal(reader.error_status, 431);
    assert_int_equal(err.kind, ERROR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_equivalent_to_http1),
        cmocka_unit_test(pseudo_headers_appear_once),
        cmocka_unit_test(pseudo_headers_are_validated),
        cmocka_unit_test(connection_specific_fields_are_rejected),
        cmocka_unit_test(a_body_has_one_length),
        cmocka_unit_test(the_number_of_fields_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
