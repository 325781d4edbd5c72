#include "net/http_h2_head.h"

#include "base/bug.h"

typedef enum Pseudo {
    PSEUDO_METHOD,
    PSEUDO_SCHEME,
    PSEUDO_PATH,
    PSEUDO_AUTHORITY,
    PSEUDO_COUNT,
} Pseudo;

static const char *const pseudo_names[PSEUDO_COUNT] = {
    [PSEUDO_METHOD] = ":method",
    [PSEUDO_SCHEME] = ":scheme",
    [PSEUDO_PATH] = ":path",
    [PSEUDO_AUTHORITY] = ":authority",
};

/* RFC 9113, section 8.2.2. */
static const char *const connection_names[] = {
    "connection",        "keep-alive", "proxy-connection",
    "transfer-encoding", "upgrade",    "http2-settings",
};

typedef struct Parts {
    Str pseudo[PSEUDO_COUNT]; /* data is NULL if the pseudo-header is absent */
    Buf lines;                /* the regular headers, as HTTP/1.1 lines */
    Buf cookie;
} Parts;

static bool refuse(Http1Reader *reader, Error *err, const char *what)
{
    reader->error_status = 400;
    return error_set(err, ERROR_INVALID, "invalid HTTP: %s", what);
}

static bool is_visible(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] <= ' ' || text.data[i] >= 0x7f) {
            return false;
        }
    }
    return text.len > 0;
}

/* The HTTP/1.1 reader performs the remaining checks. */
static bool is_name(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == ':' || (text.data[i] >= 'A' && text.data[i] <= 'Z')) {
            return false;
        }
    }
    return is_visible(text);
}

static bool is_one_line(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\r' || text.data[i] == '\n' || text.data[i] == '\0') {
            return false;
        }
    }
    return true;
}

static bool is_connection_specific(Str name)
{
    for (size_t i = 0; i < COUNT_OF(connection_names); i++) {
        if (str_eq_c(name, connection_names[i])) {
            return true;
        }
    }
    return false;
}

static bool read_pseudo(Parts *parts, const Http2Header *header)
{
    for (size_t i = 0; i < PSEUDO_COUNT; i++) {
        if (str_eq_c(header->name, pseudo_names[i])) {
            bool first = parts->pseudo[i].len == 0;
            parts->pseudo[i] = header->value;
            return first && is_visible(header->value);
        }
    }
    return false;
}

static void put_line(Buf *out, Str name, Str value)
{
    buf_put(out, name);
    buf_put_c(out, ": ");
    buf_put(out, value);
    buf_put_c(out, "\r\n");
}

static bool read_header(Parts *parts, const Http2Header *header, Http1Reader *reader, Error *err)
{
    Str name = header->name, value = header->value;
    if (!is_name(name) || !is_one_line(value)) {
        return refuse(reader, err, "a header without a valid name, or that spans several lines");
    }
    if (is_connection_specific(name) || (str_eq_c(name, "te") && !str_eq_c(value, "trailers"))) {
        return refuse(reader, err, "a connection-specific header");
    }
    if (str_eq_c(name, "host")) {
        /* The same as :authority, which replaces it. */
        return str_eq_ignore_case(value, parts->pseudo[PSEUDO_AUTHORITY]) ||
               refuse(reader, err, "different hosts in :authority and the Host header");
    }
    if (str_eq_c(name, "cookie")) {
        /* A client may split it (RFC 9113, section 8.2.3). */
        buf_put_c(&parts->cookie, parts->cookie.len > 0 ? "; " : "");
        buf_put(&parts->cookie, value);
    } else {
        put_line(&parts->lines, name, value);
    }
    return true;
}

static bool read_headers(Parts *parts, const Http2Headers *headers, Http1Reader *reader, Error *err)
{
    uint32_t i = 0;
    for (; i < headers->count && str_starts(headers->items[i].name, STR(":")); i++) {
        if (!read_pseudo(parts, &headers->items[i])) {
            return refuse(reader, err, "a pseudo-header is unknown, empty or duplicated");
        }
    }
    for (size_t j = 0; j < PSEUDO_COUNT; j++) {
        if (parts->pseudo[j].len == 0) {
            return refuse(reader, err, "missing :method, :scheme, :path or :authority");
        }
    }
    if (!str_eq_c(parts->pseudo[PSEUDO_SCHEME], "https")) {
        return refuse(reader, err, "unsupported scheme, not https");
    }
    if (parts->pseudo[PSEUDO_PATH].data[0] != '/' && !str_eq_c(parts->pseudo[PSEUDO_PATH], "*")) {
        return refuse(reader, err, "the URL is not a path");
    }
    for (; i < headers->count; i++) {
        if (!read_header(parts, &headers->items[i], reader, err)) {
            return false;
        }
    }
    return true;
}

static bool read_as_http1(const Parts *parts, Http1Reader *reader, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Http1Event event;
    buf_put(&text, parts->pseudo[PSEUDO_METHOD]);
    buf_put_c(&text, " ");
    buf_put(&text, parts->pseudo[PSEUDO_PATH]);
    buf_put_c(&text, " HTTP/1.1\r\n");
    put_line(&text, STR("host"), parts->pseudo[PSEUDO_AUTHORITY]);
    if (parts->cookie.len > 0) {
        put_line(&text, STR("cookie"), buf_str(&parts->cookie));
    }
    buf_put(&text, buf_str(&parts->lines));
    buf_put_c(&text, "\r\n");
    Str bytes = buf_str(&text);
    if (!http1_read(reader, &bytes, &event, err)) {
        return false;
    }
    BUG_IF(event != HTTP1_HEAD || bytes.len > 0);
    return true;
}

bool http_h2_head_read(const Http2Headers *headers, Http1Reader *reader, Error *err)
{
    Parts parts = { .lines = buf_make(BUF_UNLIMITED), .cookie = buf_make(BUF_UNLIMITED) };
    bool ok = false;
    if (headers->too_large) {
        reader->error_status = 431;
        error_set(err, ERROR_LIMIT, "headers are longer than %d bytes or have more than %d fields",
                  HTTP1_HEAD_MAX, HTTP1_HEADERS_MAX);
    } else {
        ok = read_headers(&parts, headers, reader, err) && read_as_http1(&parts, reader, err);
    }
    buf_clear(&parts.lines);
    buf_clear(&parts.cookie);
    return ok;
}
