/* The HTTP/1.1 parser: a state machine over lines and body bytes, fed with input of any size.
 *
 * A line is collected in a buffer with a limit, so memory is bounded before a line is complete. The
 * head is parsed once its empty line has arrived; only then the framing of the body is decided (RFC
 * 9112, 6.3), and every ambiguity is an error with the status to respond with in `error_status`.
 * After an error the reader stays in an error state, because the position of the next message is
 * unknown. */
#include "net/http1.h"

#include <stdio.h>
#include <string.h>

enum {
    LINE_MAX_BYTES = 64, /* maximum length of the lines around chunks */
    LENGTH_DIGITS_MAX = 18,
    CHUNK_DIGITS_MAX = 12
};

enum {
    STATE_BEGIN,
    STATE_HEAD,
    STATE_LENGTH,
    STATE_CHUNK_LINE,
    STATE_CHUNK,
    STATE_CHUNK_END,
    STATE_TRAILER,
    STATE_UNTIL_CLOSE,
    STATE_COMPLETE, /* message complete, HTTP1_END not yet reported */
    STATE_FAILED,
};

/* --- Character classes ----------------------------------------------------------------------- */

/* tchar of RFC 9110. */
static const bool token_chars[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,  ['#'] = true,
    ['$'] = true,         ['%'] = true,         ['&'] = true,         ['\''] = true, ['*'] = true,
    ['+'] = true,         ['-'] = true,         ['.'] = true,         ['^'] = true,  ['_'] = true,
    ['`'] = true,         ['|'] = true,         ['~'] = true,
};

/* Characters of a name, an address or a port. */
static const bool host_chars[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true, ['.'] = true,
    ['_'] = true,         [':'] = true,         ['['] = true,         [']'] = true,
};

static bool has_only(Str text, const bool chars[256])
{
    for (size_t i = 0; i < text.len; i++) {
        if (!chars[(unsigned char)text.data[i]]) {
            return false;
        }
    }
    return text.len > 0;
}

static bool is_field_text(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

static Str trim_blanks(Str text)
{
    while (text.len > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text = str_from_offset(text, 1);
    }
    while (text.len > 0 && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t')) {
        text.len--;
    }
    return text;
}

/* Digits only: no sign, no space. */
static bool parse_length(Str text, uint64_t *out)
{
    uint64_t length = 0;
    if (text.len == 0 || text.len > LENGTH_DIGITS_MAX) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_digit(text.data[i])) {
            return false;
        }
        length = length * 10 + (uint64_t)(text.data[i] - '0');
    }
    *out = length;
    return true;
}

/* Whether there is a tab between the value of a header and the end of its line. That is allowed,
 * but some parsers then ignore a length or an encoding. */
static bool has_trailing_tab(Str value)
{
    const char *c = value.data + value.len;
    while (*c == ' ') {
        c++;
    }
    return *c == '\t';
}

/* --- Failures -------------------------------------------------------------------------------- */

PRINTF_LIKE(5, 6)
static bool refuse(Http1Reader *reader, int status, Error *err, ErrorKind kind, const char *format,
                   ...)
{
    va_list args;
    va_start(args, format);
    char text[200];
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    reader->error_status = status;
    reader->state = STATE_FAILED;
    return error_set(err, kind, "%s", text);
}

static bool refuse_bad(Http1Reader *reader, Error *err, const char *what)
{
    return refuse(reader, 400, err, ERROR_INVALID, "invalid HTTP: %s", what);
}

/* --- Request and status line ----------------------------------------------------------------- */

static bool read_version(Http1Reader *reader, Str text, bool *newer, Error *err)
{
    if (!str_eq(text, STR("HTTP/1.1")) && !str_eq(text, STR("HTTP/1.0"))) {
        bool other = str_starts(text, STR("HTTP/"));
        return refuse(reader, other ? 505 : 400, err, ERROR_INVALID, "invalid HTTP: %s",
                      other ? "unsupported version, not 1.1" : "the first line is not HTTP");
    }
    *newer = text.data[text.len - 1] == '1';
    return true;
}

/* Methods that we know. Unknown ones might change where the message ends, as CONNECT does. */
static bool is_known_method(Str method)
{
    static const char *const methods[] = { "GET",   "POST",   "PUT",    "HEAD",
                                           "PATCH", "DELETE", "OPTIONS" };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (str_eq_c(method, methods[i])) {
            return true;
        }
    }
    return false;
}

/* Removes a leading "http://host". Leaves anything else unchanged. */
static void strip_authority(Http1Head *head, Str *target)
{
    size_t scheme = str_find(*target, STR("://"), 0);
    Str name = str_slice(*target, 0, scheme);
    if (scheme == STR_NOT_FOUND ||
        (!str_eq_ignore_case(name, STR("http")) && !str_eq_ignore_case(name, STR("https")))) {
        return;
    }
    Str rest = str_from_offset(*target, scheme + 3);
    size_t path = str_find(rest, STR("/"), 0);
    Str authority = str_slice(rest, 0, path);
    if (has_only(authority, host_chars)) {
        head->authority = authority;
        *target = path == STR_NOT_FOUND ? STR("/") : str_from_offset(rest, path);
    }
}

/* "/path?query", "http://host/path?query" or "*". */
static bool read_target(Http1Reader *reader, Str target, Error *err)
{
    Http1Head *head = &reader->head;
    for (size_t i = 0; i < target.len; i++) {
        if ((unsigned char)target.data[i] < ' ' || (unsigned char)target.data[i] >= 0x7f) {
            return refuse_bad(reader, err, "characters in the URL that must be encoded");
        }
        if (target.data[i] == '#') {
            return refuse_bad(reader, err, "a fragment in the URL");
        }
    }
    if (!str_starts(target, STR("/"))) {
        strip_authority(head, &target);
    }
    bool is_all = str_eq(target, STR("*")) && str_eq(head->method, STR("OPTIONS"));
    if (!is_all && !str_starts(target, STR("/"))) {
        return refuse_bad(reader, err, "the URL is not a path");
    }
    size_t question = str_find(target, STR("?"), 0);
    head->path = str_slice(target, 0, question);
    head->query = question == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(target, question + 1);
    return true;
}

static bool read_request_line(Http1Reader *reader, Str line, bool *newer, Error *err)
{
    size_t first = str_find(line, STR(" "), 0), last = str_find_last(line, STR(" "));
    if (first == STR_NOT_FOUND || first == last) {
        return refuse_bad(reader, err, "missing version in the request line");
    }
    reader->head.method = str_slice(line, 0, first);
    if (!has_only(reader->head.method, token_chars)) {
        return refuse_bad(reader, err, "invalid method");
    }
    if (!is_known_method(reader->head.method)) {
        return refuse(reader, 501, err, ERROR_INVALID, "invalid HTTP: unknown method");
    }
    Str target = str_slice(line, first + 1, last);
    if (target.len == 0 || str_find(target, STR(" "), 0) != STR_NOT_FOUND) {
        return refuse_bad(reader, err, "extra spaces in the first line");
    }
    return read_version(reader, str_from_offset(line, last + 1), newer, err) &&
           read_target(reader, target, err);
}

static bool read_status_line(Http1Reader *reader, Str line, bool *newer, Error *err)
{
    uint64_t status;
    if (line.len < strlen("HTTP/1.1 200") || line.data[8] != ' ' ||
        (line.len > 12 && line.data[12] != ' ')) {
        return refuse_bad(reader, err, "the first line is not HTTP");
    }
    if (!read_version(reader, str_slice(line, 0, 8), newer, err)) {
        return false;
    }
    if (!parse_length(str_slice(line, 9, 12), &status) || status < 100 || status > 599 ||
        !is_field_text(str_from_offset(line, 12))) {
        return refuse_bad(reader, err, "invalid status");
    }
    reader->head.status = (int)status;
    return true;
}

/* --- Headers --------------------------------------------------------------------------------- */

static bool read_field(Http1Reader *reader, Str line, Error *err)
{
    Http1Head *head = &reader->head;
    size_t colon = str_find(line, STR(":"), 0);
    if (line.data[0] == ' ' || line.data[0] == '\t') {
        return refuse_bad(reader, err, "a header that spans several lines");
    }
    if (colon == 0) {
        return refuse_bad(reader, err, "a header with an empty name");
    }
    if (colon == STR_NOT_FOUND || !has_only(str_slice(line, 0, colon), token_chars)) {
        return refuse_bad(reader, err,
                          "a header without a valid name"); /* includes a space before the colon */
    }
    Str value = trim_blanks(str_from_offset(line, colon + 1));
    if (!is_field_text(value)) {
        return refuse_bad(reader, err, "a header with control characters");
    }
    if (head->header_count == HTTP1_HEADERS_MAX) {
        return refuse(reader, 431, err, ERROR_LIMIT, "more than %d headers", HTTP1_HEADERS_MAX);
    }
    head->headers[head->header_count++] = (Http1Header){ str_slice(line, 0, colon), value };
    return true;
}

bool http1_is_field(Str name, Str value)
{
    return name.len > 0 && has_only(name, token_chars) && is_field_text(value) &&
           trim_blanks(value).len == value.len;
}

uint32_t http1_count(const Http1Head *head, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < head->header_count; i++) {
        count += str_eq_ignore_case(head->headers[i].name, str_from_c(name));
    }
    return count;
}

bool http1_is_safe(const Http1Head *head)
{
    return str_eq_c(head->method, "GET") || str_eq_c(head->method, "HEAD");
}

const Str *http1_find(const Http1Head *head, const char *name)
{
    for (uint32_t i = 0; i < head->header_count; i++) {
        if (str_eq_ignore_case(head->headers[i].name, str_from_c(name))) {
            return &head->headers[i].value;
        }
    }
    return NULL;
}

/* Whether a comma-separated list, such as Connection, contains this word. */
static bool list_contains(const Http1Head *head, const char *name, Str token)
{
    for (uint32_t i = 0; i < head->header_count; i++) {
        Str rest = head->headers[i].value, part;
        if (!str_eq_ignore_case(head->headers[i].name, str_from_c(name))) {
            continue;
        }
        while (str_split_next(&rest, ',', &part)) {
            if (str_eq_ignore_case(trim_blanks(part), token)) {
                return true;
            }
        }
    }
    return false;
}

static bool has_no_body(const Http1Reader *reader)
{
    int status = reader->head.status;
    return reader->kind == HTTP1_RESPONSE &&
           (reader->bodyless || status < 200 || status == 204 || status == 304);
}

/* RFC 9112, 6.3, without its leniency. */
static bool decide_body(Http1Reader *reader, bool newer, Error *err)
{
    Http1Head *head = &reader->head;
    uint32_t lengths = http1_count(head, "Content-Length");
    uint32_t encodings = http1_count(head, "Transfer-Encoding");
    if (encodings > 0 && http1_find(head, "Transfer-Encoding")->len == 0) {
        return refuse_bad(reader, err, "empty Transfer-Encoding");
    }
    if (lengths + encodings > 1) {
        return refuse_bad(reader, err,
                          lengths > 0 ? "more than one Content-Length or Transfer-Encoding"
                                      : "more than one Transfer-Encoding");
    }
    if (encodings > 0) {
        Str encoding = *http1_find(head, "Transfer-Encoding");
        if (!newer || !str_eq_ignore_case(encoding, STR("chunked")) || has_trailing_tab(encoding)) {
            return refuse(reader, 501, err, ERROR_INVALID,
                          "invalid HTTP: unsupported Transfer-Encoding, not chunked");
        }
        head->body = HTTP1_BODY_CHUNKED;
    } else if (lengths > 0) {
        Str length = *http1_find(head, "Content-Length");
        if (length.len > LENGTH_DIGITS_MAX) {
            return refuse_bad(reader, err, "Content-Length has too many digits");
        }
        if (!parse_length(length, &head->length) || has_trailing_tab(length)) {
            return refuse_bad(reader, err, "Content-Length is not a number");
        }
        head->body = head->length > 0 ? HTTP1_BODY_LENGTH : HTTP1_BODY_NONE;
    } else {
        head->body = reader->kind == HTTP1_RESPONSE ? HTTP1_BODY_UNTIL_CLOSE : HTTP1_BODY_NONE;
    }
    if (has_no_body(reader)) {
        head->body = HTTP1_BODY_NONE;
    }
    if (head->body == HTTP1_BODY_LENGTH && head->length > reader->body_max) {
        return refuse(reader, 413, err, ERROR_LIMIT,
                      "request body of %llu bytes is larger than the limit of %llu",
                      (unsigned long long)head->length, (unsigned long long)reader->body_max);
    }
    return true;
}

/* There must be exactly one host, the same wherever it is given. */
static bool check_host(Http1Reader *reader, bool newer, Error *err)
{
    const Http1Head *head = &reader->head;
    uint32_t hosts = http1_count(head, "Host");
    if (hosts > 1 || (hosts == 0 && newer)) {
        return refuse_bad(reader, err,
                          hosts > 1 ? "more than one Host header" : "missing Host header");
    }
    if (hosts == 0) {
        return true;
    }
    Str host = *http1_find(head, "Host");
    if (!has_only(host, host_chars)) {
        return refuse_bad(reader, err, "invalid Host header");
    }
    if (head->authority.len > 0 && !str_eq_ignore_case(head->authority, host)) {
        return refuse_bad(reader, err, "different hosts in the URL and the Host header");
    }
    return true;
}

static bool check_head(Http1Reader *reader, bool newer, Error *err)
{
    Http1Head *head = &reader->head;
    if (reader->kind == HTTP1_REQUEST && !check_host(reader, newer, err)) {
        return false;
    }
    if (!decide_body(reader, newer, err)) {
        return false;
    }
    head->is_http11 = newer;
    head->keep_alive = newer && !list_contains(head, "Connection", STR("close")) &&
                       !list_contains(head, "Proxy-Connection", STR("close")) &&
                       head->body != HTTP1_BODY_UNTIL_CLOSE;
    const Str *expect = http1_find(head, "Expect");
    head->expects_continue =
        newer && expect != NULL && str_eq_ignore_case(*expect, STR("100-continue"));
    return true;
}

static bool parse_head(Http1Reader *reader, Error *err)
{
    Str rest = buf_str(&reader->text), line;
    bool newer = false, first = true;
    for (;;) {
        size_t end = str_find(rest, STR("\r\n"), 0);
        line = str_slice(rest, 0, end);
        rest = str_from_offset(rest, end + 2);
        if (line.len == 0 && !first) {
            return check_head(reader, newer, err);
        }
        bool ok = !first                          ? read_field(reader, line, err)
                  : reader->kind == HTTP1_REQUEST ? read_request_line(reader, line, &newer, err)
                                                  : read_status_line(reader, line, &newer, err);
        if (!ok) {
            return false;
        }
        first = false;
    }
}

/* --- Consuming input ------------------------------------------------------------------------- */

/* Appends input to `line` up to the end of a line. A CR is only allowed before an LF. */
static bool read_line(Http1Reader *reader, Buf *line, Str *bytes, bool *whole, Error *err)
{
    const char *end = bytes->len == 0 ? NULL : memchr(bytes->data, '\n', bytes->len);
    Str piece = str_slice(*bytes, 0, end == NULL ? bytes->len : (size_t)(end - bytes->data) + 1);
    Str text = str_slice(piece, 0, end == NULL ? piece.len : piece.len - 1); /* without the LF */
    *whole = end != NULL;
    if (piece.len == 0) {
        return true;
    }
    bool after_cr = line->len > 0 && line->data[line->len - 1] == '\r';
    const char *cr = text.len == 0 ? NULL : memchr(text.data, '\r', text.len);
    bool cr_is_last = cr != NULL && cr == text.data + text.len - 1;
    bool ends_well = !*whole || (text.len == 0 ? after_cr : cr_is_last);
    if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL) {
        return refuse_bad(reader, err, "a NUL byte in a line");
    }
    if ((after_cr && text.len > 0) || (cr != NULL && !cr_is_last) || !ends_well) {
        return refuse_bad(reader, err, "a line that does not end with CR LF");
    }
    buf_put(line, piece);
    if (line->overflow) {
        return refuse(reader, 431, err, ERROR_LIMIT,
                      "headers or chunk lines are longer than %zu bytes", line->max);
    }
    *bytes = str_from_offset(*bytes, piece.len);
    return true;
}

static void begin_message(Http1Reader *reader)
{
    buf_reset(&reader->text);
    reader->head = (Http1Head){ 0 };
    reader->body_bytes = 0;
    reader->state = STATE_HEAD;
}

static void begin_body(Http1Reader *reader)
{
    static const uint8_t states[] = {
        [HTTP1_BODY_NONE] = STATE_COMPLETE,
        [HTTP1_BODY_LENGTH] = STATE_LENGTH,
        [HTTP1_BODY_CHUNKED] = STATE_CHUNK_LINE,
        [HTTP1_BODY_UNTIL_CLOSE] = STATE_UNTIL_CLOSE,
    };
    reader->state = states[reader->head.body];
    reader->remaining = reader->head.length;
}

static bool read_head(Http1Reader *reader, Str *bytes, Http1Event *event, Error *err)
{
    bool whole;
    do {
        if (!read_line(reader, &reader->text, bytes, &whole, err)) {
            return false;
        }
        Str text = buf_str(&reader->text);
        if (whole && text.len == 2) {
            return refuse_bad(reader, err, "an empty line before the message");
        }
        if (whole && str_ends(text, STR("\r\n\r\n"))) {
            if (!parse_head(reader, err)) {
                return false;
            }
            begin_body(reader);
            *event = HTTP1_HEAD;
            return true;
        }
    } while (whole);
    return true;
}

static bool emit_data(Http1Reader *reader, Str *bytes, size_t len, Http1Event *event, Error *err)
{
    if (len > reader->body_max - reader->body_bytes) {
        return refuse(reader, 413, err, ERROR_LIMIT, "body is larger than the limit of %llu bytes",
                      (unsigned long long)reader->body_max);
    }
    reader->body_bytes += len;
    reader->data = str_slice(*bytes, 0, len);
    *bytes = str_from_offset(*bytes, len);
    *event = HTTP1_DATA;
    return true;
}

static bool read_counted(Http1Reader *reader, Str *bytes, uint8_t after, Http1Event *event,
                         Error *err)
{
    size_t len = bytes->len < reader->remaining ? bytes->len : (size_t)reader->remaining;
    reader->remaining -= len;
    if (reader->remaining == 0) {
        reader->state = after;
    }
    return emit_data(reader, bytes, len, event, err);
}

static bool read_chunk_size(Http1Reader *reader, Str line, Error *err)
{
    uint64_t size = 0;
    size_t digits = 0;
    while (digits < line.len && ascii_hex_value(line.data[digits]) >= 0) {
        size = size * 16 + (uint64_t)ascii_hex_value(line.data[digits++]);
        if (digits > CHUNK_DIGITS_MAX) {
            return refuse_bad(reader, err, "chunk too large");
        }
    }
    if (digits == 0) {
        return refuse_bad(reader, err, "chunk without a size");
    }
    /* No one uses extensions, and parsers differ in where they end. */
    if (digits < line.len) {
        return refuse_bad(reader, err, "unexpected data after a chunk size");
    }
    reader->remaining = size;
    reader->state = size == 0 ? STATE_TRAILER : STATE_CHUNK;
    return true;
}

/* Lines around chunks: sizes, the end of a chunk, the end of the last chunk. Trailers are rejected:
 * they would have to be merged into headers that were already acted upon. */
static bool read_chunk_line(Http1Reader *reader, Str *bytes, Error *err)
{
    bool whole;
    if (!read_line(reader, &reader->line, bytes, &whole, err)) {
        return false;
    }
    if (!whole) {
        return true;
    }
    Str line = str_slice(buf_str(&reader->line), 0, reader->line.len - 2);
    bool ok = true;
    if (reader->state == STATE_CHUNK_LINE) {
        ok = read_chunk_size(reader, line, err);
    } else if (line.len > 0) {
        ok = refuse_bad(reader, err,
                        reader->state == STATE_TRAILER ? "headers after the body"
                                                       : "chunk longer than its size");
    } else {
        reader->state = reader->state == STATE_TRAILER ? STATE_COMPLETE : STATE_CHUNK_LINE;
    }
    buf_reset(&reader->line);
    return ok;
}

bool http1_read(Http1Reader *reader, Str *bytes, Http1Event *event, Error *err)
{
    *event = HTTP1_MORE;
    while (*event == HTTP1_MORE) {
        bool ok = true;
        if (reader->state == STATE_COMPLETE) {
            reader->state = STATE_BEGIN;
            *event = HTTP1_END;
            return true;
        }
        if (bytes->len == 0) {
            return true;
        }
        switch (reader->state) {
        case STATE_BEGIN: begin_message(reader); break;
        case STATE_HEAD: ok = read_head(reader, bytes, event, err); break;
        case STATE_LENGTH: ok = read_counted(reader, bytes, STATE_COMPLETE, event, err); break;
        case STATE_CHUNK: ok = read_counted(reader, bytes, STATE_CHUNK_END, event, err); break;
        case STATE_UNTIL_CLOSE: ok = emit_data(reader, bytes, bytes->len, event, err); break;
        case STATE_FAILED:
            return error_set(err, ERROR_INVALID, "invalid HTTP: an earlier message was invalid");
        default: ok = read_chunk_line(reader, bytes, err);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

bool http1_read_end(Http1Reader *reader, Http1Event *event, Error *err)
{
    bool ended = reader->state == STATE_UNTIL_CLOSE || reader->state == STATE_COMPLETE;
    *event = ended ? HTTP1_END : HTTP1_MORE;
    if (!ended && reader->state != STATE_BEGIN) {
        return refuse(reader, 400, err, ERROR_INVALID,
                      "the connection was closed in the middle of a message");
    }
    reader->state = STATE_BEGIN;
    return true;
}

void http1_reader_init(Http1Reader *reader, Http1Kind kind, uint64_t body_max)
{
    *reader = (Http1Reader){ .kind = kind,
                             .body_max = body_max,
                             .text = buf_make(HTTP1_HEAD_MAX),
                             .line = buf_make(LINE_MAX_BYTES) };
}

void http1_reader_clear(Http1Reader *reader)
{
    buf_clear(&reader->text);
    buf_clear(&reader->line);
}
