#include "modules/http/request.h"

#include "base/buf.h"

enum {
    URL_MAX = 8000,
    SECRET_MAX = 8000,
    HEADER_MAX = 16000,
    HEADERS_MAX = 100,
    REDIRECTS_MAX = 10,
    CONNECT_SECONDS = 30,
    CONNECT_HEAD_SECONDS = 10, /* timeout of a request for only the headers */
    STALL_SECONDS = 60,        /* maximum number of seconds without data */
};

/* --- Validation ------------------------------------------------------------------------------ */

/* Control characters would end the line of an option or header. */
static bool is_line(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (((unsigned char)text.data[i] < ' ' && text.data[i] != '\t') || text.data[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

bool request_is_encrypted(Str url)
{
    return str_starts(url, STR("https://"));
}

/* The part between "://" and the path. */
static Str server_of(Str url)
{
    Str rest = str_from_offset(url, str_find(url, STR("://"), 0) + 3);
    size_t end = 0;
    while (end < rest.len && memchr("/?#", rest.data[end], 3) == NULL) {
        end++;
    }
    return str_slice(rest, 0, end);
}

/* Checks the text after the last ':' outside of the brackets of an IPv6 address. */
static bool has_valid_port(Str server)
{
    int64_t port;
    size_t colon = str_find_last(server, STR(":")), bracket = str_find_last(server, STR("]"));
    if (colon == STR_NOT_FOUND || (bracket != STR_NOT_FOUND && bracket > colon)) {
        return true;
    }
    return str_to_i64(str_from_offset(server, colon + 1), &port) && port >= 1 && port <= UINT16_MAX;
}

static bool check_url(Str url, Error *err)
{
    bool ok = (request_is_encrypted(url) || str_starts(url, STR("http://"))) &&
              url.len <= URL_MAX && is_line(url) && str_find(url, STR(" "), 0) == STR_NOT_FOUND &&
              str_find(url, STR("\t"), 0) == STR_NOT_FOUND;
    Str server = ok ? server_of(url) : STR_EMPTY;
    if (server.len == 0 || server.data[0] == ':') {
        return error_set(err, ERROR_INVALID,
                         "'url' must be an http:// or https:// URL without spaces, at most %d "
                         "bytes long",
                         URL_MAX);
    }
    if (str_find(server, STR("@"), 0) != STR_NOT_FOUND) {
        return error_set(
            err, ERROR_INVALID,
            "'url' contains a user name or password; use 'username' and 'password' instead");
    }
    return has_valid_port(server) ||
           error_set(err, ERROR_INVALID, "the port in 'url' must be from 1 to 65535");
}

static bool check_account(const Request *request, Error *err)
{
    if ((request->username.len > 0) != (request->password.len > 0)) {
        return error_set(err, ERROR_INVALID, "'username' and 'password' must be set together");
    }
    if (request->username.len > SECRET_MAX || request->password.len > SECRET_MAX ||
        !is_line(request->username) || !is_line(request->password) ||
        str_find(request->username, STR(":"), 0) != STR_NOT_FOUND) {
        return error_set(err, ERROR_INVALID,
                         "'username' and 'password' cannot contain control characters or exceed %d "
                         "bytes, and 'username' cannot contain ':'",
                         SECRET_MAX);
    }
    return true;
}

static bool is_header_name(Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_name(name.data[i]) && name.data[i] != '-') {
            return false;
        }
    }
    return name.len > 0;
}

static const Map *headers_of(const Request *request)
{
    return request->headers.kind == VALUE_MAP ? request->headers.map : NULL;
}

static bool check_headers(const Request *request, Error *err)
{
    const Map *headers = headers_of(request);
    if (headers != NULL && headers->len > HEADERS_MAX) {
        return error_set(err, ERROR_LIMIT, "'headers' can have at most %d entries", HEADERS_MAX);
    }
    for (uint32_t i = 0; headers != NULL && i < headers->len; i++) {
        const MapEntry *entry = &headers->entries[i];
        if (!value_is_string(entry->key) || !value_is_string(entry->value) ||
            !is_header_name(value_str(entry->key)) || !is_line(value_str(entry->value)) ||
            entry->key.len + entry->value.len > HEADER_MAX) {
            return error_set(
                err, ERROR_INVALID,
                "'headers' must map names of letters, digits, '-' and '_' to single-line strings");
        }
    }
    return true;
}

bool request_check(const Request *request, Error *err)
{
    if (request->max_size < 1) {
        return error_set(err, ERROR_INVALID, "'max_size' must be at least 1");
    }
    if (!is_line(request->ca)) {
        return error_set(err, ERROR_INVALID, "'ca' cannot contain control characters");
    }
    return check_url(request->url, err) && check_account(request, err) &&
           check_headers(request, err);
}

bool request_follows(const Request *request)
{
    const Map *headers = headers_of(request);
    for (uint32_t i = 0; headers != NULL && i < headers->len; i++) {
        const MapEntry *entry = &headers->entries[i];
        Str name = value_str(entry->key);
        bool secret = value_is_secret(entry->value) || value_is_secret(request->headers);
        if (secret && !str_eq_ignore_case(name, STR("Authorization")) &&
            !str_eq_ignore_case(name, STR("Cookie"))) {
            return false;
        }
    }
    return true;
}

/* --- Formatting ------------------------------------------------------------------------------ */

static void put_escaped(Buf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '"' || text.data[i] == '\\') {
            buf_put_char(out, '\\');
        }
        buf_put_char(out, text.data[i]);
    }
}

/* Writes NAME = "ONE BETWEEN TWO"; TWO may be empty. */
static void put_option(Buf *out, const char *name, Str one, const char *between, Str two)
{
    buf_put_format(out, "%s = \"", name);
    put_escaped(out, one);
    buf_put_c(out, between);
    put_escaped(out, two);
    buf_put_c(out, "\"\n");
}

static void put_headers(Buf *out, const Request *request)
{
    const Map *headers = headers_of(request);
    for (uint32_t i = 0; headers != NULL && i < headers->len; i++) {
        Str text = str_trim(value_str(headers->entries[i].value));
        /* curl would drop a header with nothing after the colon. */
        put_option(out, "header", value_str(headers->entries[i].key), text.len > 0 ? ": " : ";",
                   text);
    }
}

Str request_options(Arena *arena, const Request *request)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    const char *protocols = request_is_encrypted(request->url) ? "=https" : "=http,https";
    buf_put_c(&out, "silent\nshow-error\nfail\ngloboff\nlocation\noutput = \"-\"\n");
    buf_put_format(&out, "proto = \"%s\"\nproto-redir = \"%s\"\n", protocols, protocols);
    buf_put_format(&out, "max-redirs = %d\n", request_follows(request) ? REDIRECTS_MAX : 0);
    buf_put_format(&out, "connect-timeout = %d\nspeed-limit = 1\nspeed-time = %d\n",
                   request->only_head ? CONNECT_HEAD_SECONDS : CONNECT_SECONDS, STALL_SECONDS);
    buf_put_format(&out, "max-filesize = %lld\n", (long long)request->max_size);
    buf_put_format(&out, "write-out = \"%%{stderr}%" STR_FMT "%%{http_code}\\n\"\n",
                   STR_ARG(REQUEST_STATUS));
    if (request->only_head) {
        buf_put_c(&out, "head\n");
    }
    if (request->dumps_header) {
        buf_put_c(&out, "dump-header = \"/dev/stderr\"\n");
    }
    if (request->ca.len > 0) {
        /* Without the second option, some builds also trust the system's certificates. */
        put_option(&out, "cacert", request->ca, "", STR_EMPTY);
        buf_put_c(&out, "capath = \"/dev/null\"\n");
    }
    if (request->username.len > 0) {
        put_option(&out, "user", request->username, ":", request->password);
    }
    put_headers(&out, request);
    put_option(&out, "url", request->url, "", STR_EMPTY);
    return buf_str(&out);
}
