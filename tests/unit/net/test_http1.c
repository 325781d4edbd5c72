#include "net/http1.h"

#include "unit.h"

enum {
    BODY_MAX = 1000
};

/* The result of parsing bytes: "METHOD path?query" or the status, then a line per header, then the
 * body. Or the error and its reason. */
static void describe_head(const Http1Reader *reader, Buf *out)
{
    static const char *const bodies[] = { "none", "length", "chunked", "until close" };
    const Http1Head *head = &reader->head;
    if (reader->kind == HTTP1_REQUEST) {
        buf_put_format(out, "%.*s %.*s", (int)head->method.len, head->method.data,
                       (int)head->path.len, head->path.data);
        buf_put_format(out, " [%.*s]", (int)head->query.len, head->query.data);
    } else {
        buf_put_format(out, "%d", head->status);
    }
    for (uint32_t i = 0; i < head->header_count; i++) {
        buf_put_format(out, " %.*s=%.*s", (int)head->headers[i].name.len,
                       head->headers[i].name.data, (int)head->headers[i].value.len,
                       head->headers[i].value.data);
    }
    buf_put_format(out, " %s%s <", bodies[head->body], head->keep_alive ? "" : ", close");
}

static bool feed(Http1Reader *reader, Str bytes, Buf *out)
{
    Http1Event event;
    Error err;
    do {
        if (!http1_read(reader, &bytes, &event, &err)) {
            buf_put_format(out, "%d %s", reader->error_status, err.text);
            return false;
        }
        if (event == HTTP1_HEAD) {
            describe_head(reader, out);
        } else if (event == HTTP1_DATA) {
            buf_put(out, reader->data);
        } else if (event == HTTP1_END) {
            buf_put_c(out, ">\n");
        }
    } while (event != HTTP1_MORE);
    assert_int_equal(bytes.len, 0);
    return true;
}

static Str read_all(Arena *arena, Http1Kind kind, Str bytes, size_t step)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    Http1Reader reader;
    http1_reader_init(&reader, kind, BODY_MAX);
    bool ok = true;
    for (size_t i = 0; ok && i < bytes.len; i += step) {
        ok = feed(&reader, str_slice(bytes, i, i + step < bytes.len ? i + step : bytes.len), &out);
    }
    Http1Event event;
    Error err;
    if (ok && !http1_read_end(&reader, &event, &err)) {
        buf_put_format(&out, "| %s", err.text);
    } else if (ok && event == HTTP1_END) {
        buf_put_c(&out, ">\n");
    }
    http1_reader_clear(&reader);
    return buf_str(&out);
}

/* The same whether bytes arrive at once or one by one. */
static void expect(Http1Kind kind, Str bytes, const char *wanted)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_string_equal(arena_copy_c(&arena, read_all(&arena, kind, bytes, bytes.len)), wanted);
    assert_string_equal(arena_copy_c(&arena, read_all(&arena, kind, bytes, 1)), wanted);
}

#define HOST "Host: a\r\n"

static void requests_are_parsed(void **state)
{
    expect(HTTP1_REQUEST, STR("GET / HTTP/1.1\r\n" HOST "\r\n"), "GET / [] Host=a none <>\n");
    expect(HTTP1_REQUEST,
           STR("GET /a%20b?c=d&e HTTP/1.1\r\nhOST:\t a \t\r\nX: b \t c \r\nY:\r\n\r\n"),
           "GET /a%20b [c=d&e] hOST=a X=b \t c Y= none <>\n");
    expect(HTTP1_REQUEST, STR("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"),
           "OPTIONS * [] Host=a none <>\n");
    expect(HTTP1_REQUEST, STR("GET http://a/b?c HTTP/1.1\r\n" HOST "\r\n"),
           "GET /b [c] Host=a none <>\n");
    expect(HTTP1_REQUEST, STR("GET http://a HTTP/1.1\r\n" HOST "\r\n"),
           "GET / [] Host=a none <>\n");
    expect(HTTP1_REQUEST, STR("GET / HTTP/1.0\r\n\r\n"), "GET / [] none, close <>\n");
    expect(HTTP1_REQUEST, STR("GET / HTTP/1.1\r\n" HOST "Connection: x, Close\r\n\r\n"),
           "GET / [] Host=a Connection=x, Close none, close <>\n");
    expect(HTTP1_REQUEST, STR("GET / HTTP/1.1\r\n" HOST "Proxy-Connection: close\r\n\r\n"),
           "GET / [] Host=a Proxy-Connection=close none, close <>\n");
    expect(HTTP1_REQUEST, STR("GET HTTPS://B:1/a://c?d://e HTTP/1.1\r\nHost: b:1\r\n\r\n"),
           "GET /a://c [d://e] Host=b:1 none <>\n");
}

static void messages_follow_each_other(void **state)
{
    expect(HTTP1_REQUEST,
           STR("POST /a HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\n" HOST
               "\r\n"),
           "POST /a [] Host=a Content-Length=3 length <abc>\nGET /b [] Host=a none <>\n");
    expect(HTTP1_RESPONSE,
           STR("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx"),
           "100 none <>\n200 Content-Length=1 length <x>\n");
}

static void chunks_are_concatenated(void **state)
{
    expect(HTTP1_REQUEST,
           STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\n"
               "3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n"),
           "POST / [] Host=a Transfer-Encoding=Chunked chunked <abc0123456789>\n");
}

static void responses_are_parsed(void **state)
{
    expect(HTTP1_RESPONSE, STR("HTTP/1.1 200 OK\r\n\r\nabc"), "200 until close, close <abc>\n");
    expect(HTTP1_RESPONSE, STR("HTTP/1.1 204 No Content\r\n\r\n"), "204 none <>\n");
    expect(HTTP1_RESPONSE, STR("HTTP/1.0 200 \xc3\xa4\r\nContent-Length: 0\r\n\r\n"),
           "200 Content-Length=0 none, close <>\n");
    expect(HTTP1_RESPONSE, STR("HTTP/1.1 304 \r\nContent-Length: 7\r\n\r\n"),
           "304 Content-Length=7 none <>\n");
}

static void a_head_response_has_no_body(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf out = buf_make_in(&arena, BUF_UNLIMITED);
    Http1Reader reader;
    http1_reader_init(&reader, HTTP1_RESPONSE, BODY_MAX);
    reader.bodyless = true;
    assert_true(feed(&reader, STR("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"), &out));
    assert_string_equal(buf_c(&out), "200 Content-Length=5000 none <>\n");
    http1_reader_clear(&reader);
}

static void ambiguous_messages_are_rejected(void **state)
{
    static const struct {
        Str bytes;
        const char *wanted;
    } cases[] = {
        { STR("GET / HTTP/1.1\n"), "does not end with CR LF" },
        { STR("GET / HTTP/1.1\r" HOST), "does not end with CR LF" },
        { STR("GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"), "does not end with CR LF" },
        { STR("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"), "a NUL byte" },
        { STR("\r\nGET / HTTP/1.1\r\n"), "an empty line before the message" },
        { STR("GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n"), "spans several lines" },
        { STR("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), "a header without a valid name" },
        { STR("GET / HTTP/1.1\r\nnothing\r\n\r\n"), "a header without a valid name" },
        { STR("GET / HTTP/1.1\r\n: x\r\n\r\n"), "an empty name" },
        { STR("GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n"), "control characters" },
        { STR("GET / HTTP/1.1\r\n\r\n"), "missing Host header" },
        { STR("GET / HTTP/1.1\r\n" HOST HOST "\r\n"), "more than one Host header" },
        { STR("GET /\r\n" HOST "\r\n"), "missing version" },
        { STR("GET  / HTTP/1.1\r\n" HOST "\r\n"), "extra spaces in the first line" },
        { STR("GET / x HTTP/1.1\r\n" HOST "\r\n"), "extra spaces in the first line" },
        { STR("GET /#x HTTP/1.1\r\n" HOST "\r\n"), "a fragment in the URL" },
        { STR("GET \xc3\xa4 HTTP/1.1\r\n" HOST "\r\n"), "must be encoded" },
        { STR("GET a HTTP/1.1\r\n" HOST "\r\n"), "the URL is not a path" },
        { STR("GET * HTTP/1.1\r\n" HOST "\r\n"), "the URL is not a path" },
        { STR("G(T / HTTP/1.1\r\n" HOST "\r\n"), "invalid method" },
        { STR("GET / HTTP/2.0\r\n" HOST "\r\n"), "505 invalid HTTP: unsupported version" },
        { STR("GET / http/1.1\r\n" HOST "\r\n"), "is not HTTP" },
        { STR("POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"),
          "more than one Content-Length" },
        { STR("POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
          "more than one Content-Length" },
        { STR("POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n"), "not a number" },
        { STR("POST / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\n"), "not a number" },
        { STR("POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n"), "not a number" },
        { STR("POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551617\r\n\r\n"),
          "too many digits" },
        { STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"),
          "501 invalid HTTP: unsupported Transfer-Encoding" },
        { STR("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"), "501 " },
        { STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nx\r\n"),
          "chunk without a size" },
        { STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3 \r\n"),
          "unexpected data after a chunk size" },
        { STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n-1\r\n"),
          "chunk without a size" },
        { STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\nx"),
          "does not end with CR LF" },
        { STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n"),
          "longer than its size" },
        { STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1000000000000000\r\n"),
          "too large" },
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *found =
            arena_copy_c(&arena, read_all(&arena, HTTP1_REQUEST, cases[i].bytes, 1));
        if (strstr(found, cases[i].wanted) == NULL) {
            fail_msg("case %zu: '%s' is not in '%s'", i, cases[i].wanted, found);
        }
    }
}

static void truncation_is_reported(void **state)
{
    expect(HTTP1_REQUEST, STR("GET / HT"),
           "| the connection was closed in the middle of a message");
    expect(HTTP1_RESPONSE, STR("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"),
           "200 Content-Length=3 length <ab| the connection was closed in the middle of a message");
}

static Str repeated(Arena *arena, const char *start, const char *chunk, int count)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&out, start);
    for (int i = 0; i < count; i++) {
        buf_put_c(&out, chunk);
    }
    return buf_str(&out);
}

static void every_part_has_a_limit(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str start = STR("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
    expect(HTTP1_REQUEST, repeated(&arena, "GET /", "aaaaaaaaaaaaaaaaaaaa", 1000),
           "431 headers or chunk lines are longer than 16384 bytes");
    expect(HTTP1_REQUEST, repeated(&arena, "GET / HTTP/1.1\r\n", "A: b\r\n", 65),
           "| the connection was closed in the middle of a message");
    Str many = arena_join(&arena, repeated(&arena, "GET / HTTP/1.1\r\n", "A: b\r\n", 65),
                          STR("\r\n"), STR_EMPTY);
    expect(HTTP1_REQUEST, many, "431 more than 64 headers");
    expect(HTTP1_REQUEST, STR("POST / HTTP/1.1\r\n" HOST "Content-Length: 1001\r\n\r\n"),
           "413 request body of 1001 bytes is larger than the limit of 1000");
    const char *head = "POST / [] Host=a Transfer-Encoding=chunked chunked <";
    Str found =
        read_all(&arena, HTTP1_REQUEST,
                 arena_join(&arena, start, STR("3e9\r\n"), repeated(&arena, "", "x", 1001)), 2000);
    assert_string_equal(
        arena_copy_c(&arena, found),
        arena_format(&arena, "%s413 body is larger than the limit of 1000 bytes", head).data);
    Str extension = repeated(&arena, "1;", "aaaaaaaaaa", 200);
    expect(
        HTTP1_REQUEST, arena_join(&arena, start, extension, STR_EMPTY),
        arena_format(&arena, "%s431 headers or chunk lines are longer than 64 bytes", head).data);
}

static void after_a_failure_nothing_is_read(void **state)
{
    Http1Reader reader;
    Http1Event event;
    Error err;
    http1_reader_init(&reader, HTTP1_REQUEST, BODY_MAX);
    Str bad = STR("x\n"), good = STR("GET / HTTP/1.1\r\n" HOST "\r\n");
    assert_false(http1_read(&reader, &bad, &event, &err));
    assert_false(http1_read(&reader, &good, &event, &err));
    http1_reader_clear(&reader);
}

static void formatted_messages_can_be_parsed(void **state)
{
    Buf out = buf_make(10000);
    http1_put_request(&out, "POST", STR("/v1/join?x"), STR("a:1338"));
    http1_put_header(&out, "Accept", STR("*/*"));
    http1_put_end_chunked(&out);
    http1_put_chunk(&out, STR("0123456789abcdef0"));
    http1_put_chunk(&out, STR_EMPTY);
    expect(HTTP1_REQUEST, buf_str(&out),
           "POST /v1/join [x] Host=a:1338 Accept=*/* Transfer-Encoding=chunked chunked "
           "<0123456789abcdef0>\n");
    buf_reset(&out);
    http1_put_status(&out, 404);
    http1_put_end_length(&out, 2);
    buf_put_c(&out, "no");
    assert_non_null(strstr(buf_c(&out), "HTTP/1.1 404 Not Found\r\n"));
    expect(HTTP1_RESPONSE, buf_str(&out), "404 Content-Length=2 length <no>\n");
    buf_clear(&out);
}

static void expectations_are_reported(void **state)
{
    Http1Reader reader;
    Http1Event event;
    Error err;
    Str bytes = STR("PUT / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n");
    http1_reader_init(&reader, HTTP1_REQUEST, BODY_MAX);
    assert_true(http1_read(&reader, &bytes, &event, &err));
    assert_true(reader.head.expects_continue);
    assert_null(http1_find(&reader.head, "Accept"));
    assert_true(str_eq(*http1_find(&reader.head, "content-length"), STR("1")));
    http1_reader_clear(&reader);
}

/* Any other or future method may change something. */
static void only_read_methods_are_safe(void **state)
{
    static const struct {
        const char *method;
        bool is_safe;
    } cases[] = { { "GET", true },    { "HEAD", true },    { "POST", false },    { "PUT", false },
                  { "PATCH", false }, { "DELETE", false }, { "OPTIONS", false }, { "get", false },
                  { "GETS", false },  { "", false } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Http1Head head = { .method = str_from_c(cases[i].method) };
        assert_int_equal(http1_is_safe(&head), cases[i].is_safe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_parsed),
        cmocka_unit_test(messages_follow_each_other),
        cmocka_unit_test(chunks_are_concatenated),
        cmocka_unit_test(responses_are_parsed),
        cmocka_unit_test(a_head_response_has_no_body),
        cmocka_unit_test(ambiguous_messages_are_rejected),
        cmocka_unit_test(truncation_is_reported),
        cmocka_unit_test(every_part_has_a_limit),
        cmocka_unit_test(after_a_failure_nothing_is_read),
        cmocka_unit_test(formatted_messages_can_be_parsed),
        cmocka_unit_test(expectations_are_reported),
        cmocka_unit_test(only_read_methods_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
