/* Requests as our parser takes them and as llhttp does, from the same bytes. Ours may refuse what the
 * other one takes, for the reasons below and for no others; what it takes, the other one takes too,
 * as the same messages that end at the same bytes. docs/http-parser.md lists the reasons. */
#include <llhttp.h>

#include "base/bug.h"
#include "net/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MESSAGES_MAX = 16,
    BODY_MAX = 1 << 20
};

/* What ours says when it refuses something that llhttp takes. */
static const char *const reasons[] = {
    "a line that does not end with CR LF",
    "an empty line before the message",
    "missing version in the request line",
    "unsupported version, not 1.1",
    "unknown method",
    "extra spaces in the first line",
    "the URL is not a path",
    "a fragment in the URL",
    "missing Host header",
    "more than one Host header",
    "invalid Host header",
    "different hosts in the URL and the Host header",
    "a header that spans several lines",
    "a header with an empty name",
    "empty Transfer-Encoding",
    "more than one Transfer-Encoding",
    "unsupported Transfer-Encoding, not chunked",
    "Content-Length has too many digits",
    "unexpected data after a chunk size",
    "chunk too large",
    "headers after the body",
    /* Limits. */
    "headers or chunk lines have more than",
    "more than 64 headers",
    "larger than the limit of",
};

typedef struct Message {
    Buf head;   /* method, address, names and values, each with a NUL behind it */
    Buf body;   /* so far */
    size_t end; /* the byte behind it, when it is whole */
    bool has_head, is_whole, has_trailer;
    bool keep_alive;
} Message;

typedef enum Verdict {
    VERDICT_MORE,   /* everything is taken, and more is waited for */
    VERDICT_CLOSED, /* after a message that says so */
    VERDICT_REFUSED,
} Verdict;

typedef struct Reading {
    Message messages[MESSAGES_MAX];
    uint32_t count; /* that have begun */
    uint32_t whole;
    Verdict verdict;
    Error err; /* of ours */
    Buf url, field, value;
} Reading;

static void reading_init(Reading *reading)
{
    *reading = (Reading){ .url = buf_make(BUF_UNLIMITED),
                          .field = buf_make(BUF_UNLIMITED),
                          .value = buf_make(BUF_UNLIMITED) };
    for (uint32_t i = 0; i < MESSAGES_MAX; i++) {
        reading->messages[i] =
            (Message){ .head = buf_make(BUF_UNLIMITED), .body = buf_make(BUF_UNLIMITED) };
    }
}

static void reading_clear(Reading *reading)
{
    for (uint32_t i = 0; i < MESSAGES_MAX; i++) {
        buf_clear(&reading->messages[i].head);
        buf_clear(&reading->messages[i].body);
    }
    buf_clear(&reading->url);
    buf_clear(&reading->field);
    buf_clear(&reading->value);
}

static void put_part(Message *message, Str part)
{
    buf_put(&message->head, part);
    buf_put_char(&message->head, '\0');
}

/* --- Ours ------------------------------------------------------------------------------------ */

static void note_head(Message *message, const Http1Head *head)
{
    put_part(message, head->method);
    put_part(message, head->authority);
    put_part(message, head->path);
    put_part(message, head->query);
    for (uint32_t i = 0; i < head->header_count; i++) {
        put_part(message, head->headers[i].name);
        put_part(message, head->headers[i].value);
    }
    message->has_head = true;
    message->keep_alive = head->keep_alive;
}

static void read_ours(Reading *reading, Str all)
{
    Http1Reader reader;
    Http1Event event = HTTP1_HEAD;
    Str bytes = all;
    http1_reader_init(&reader, HTTP1_REQUEST, BODY_MAX);
    while (event != HTTP1_MORE && reading->whole < MESSAGES_MAX &&
           reading->verdict == VERDICT_MORE) {
        Message *message = &reading->messages[reading->whole];
        if (!http1_read(&reader, &bytes, &event, &reading->err)) {
            reading->verdict = VERDICT_REFUSED;
        } else if (event == HTTP1_HEAD) {
            reading->count++;
            note_head(message, &reader.head);
        } else if (event == HTTP1_DATA) {
            buf_put(&message->body, reader.data);
        } else if (event == HTTP1_END) {
            message->is_whole = true;
            message->end = all.len - bytes.len;
            reading->whole++;
            reading->verdict = message->keep_alive ? VERDICT_MORE : VERDICT_CLOSED;
        }
    }
    http1_reader_clear(&reader);
}

/* --- Theirs ---------------------------------------------------------------------------------- */

static Message *present(llhttp_t *parser)
{
    Reading *reading = parser->data;
    return &reading->messages[reading->whole];
}

static int took_begin(llhttp_t *parser)
{
    Reading *reading = parser->data;
    reading->count = reading->whole + 1;
    buf_reset(&reading->url);
    return 0;
}

static int took_url(llhttp_t *parser, const char *at, size_t len)
{
    Reading *reading = parser->data;
    buf_put(&reading->url, str_from(at, len));
    return 0;
}

static int took_field(llhttp_t *parser, const char *at, size_t len)
{
    Reading *reading = parser->data;
    buf_put(&reading->field, str_from(at, len));
    return 0;
}

static int took_value(llhttp_t *parser, const char *at, size_t len)
{
    Reading *reading = parser->data;
    buf_put(&reading->value, str_from(at, len));
    return 0;
}

/* Scheme, host, path and query, put as ours tells them. */
static void note_address(Message *message, Str url)
{
    size_t scheme =
        url.len > 0 && url.data[0] != '/' ? str_find(url, STR("://"), 0) : STR_NOT_FOUND;
    Str authority = STR_EMPTY;
    if (scheme != STR_NOT_FOUND) {
        Str rest = str_from_offset(url, scheme + 3);
        size_t path = str_find(rest, STR("/"), 0);
        authority = str_slice(rest, 0, path);
        url = path == STR_NOT_FOUND ? STR("/") : str_from_offset(rest, path);
    }
    size_t question = str_find(url, STR("?"), 0);
    put_part(message, authority);
    put_part(message, str_slice(url, 0, question));
    put_part(message, question == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(url, question + 1));
}

static void begin_fields(llhttp_t *parser)
{
    Message *message = present(parser);
    const Reading *reading = parser->data;
    if (message->head.len == 0) {
        put_part(message, str_from_c(llhttp_method_name(parser->method)));
        note_address(message, buf_str(&reading->url));
    }
}

static int took_whole_field(llhttp_t *parser)
{
    Reading *reading = parser->data;
    Message *message = present(parser);
    begin_fields(parser);
    if (message->has_head) {
        message->has_trailer = true;
    } else {
        put_part(message, buf_str(&reading->field));
        put_part(message, str_trim(buf_str(&reading->value)));
    }
    buf_reset(&reading->field);
    buf_reset(&reading->value);
    return 0;
}

static int took_head(llhttp_t *parser)
{
    begin_fields(parser);
    present(parser)->has_head = true;
    return 0;
}

static int took_body(llhttp_t *parser, const char *at, size_t len)
{
    buf_put(&present(parser)->body, str_from(at, len));
    return 0;
}

/* Pausing tells where it ended. */
static int took_end(llhttp_t *parser)
{
    Message *message = present(parser);
    message->keep_alive = llhttp_should_keep_alive(parser) != 0;
    message->is_whole = true;
    return HPE_PAUSED;
}

static void read_theirs(Reading *reading, Str all)
{
    llhttp_settings_t settings;
    llhttp_t parser;
    llhttp_settings_init(&settings);
    settings.on_message_begin = took_begin;
    settings.on_url = took_url;
    settings.on_header_field = took_field;
    settings.on_header_value = took_value;
    settings.on_header_value_complete = took_whole_field;
    settings.on_headers_complete = took_head;
    settings.on_body = took_body;
    settings.on_message_complete = took_end;
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = reading;
    const char *at = all.data, *end = all.data + all.len;
    for (;;) {
        llhttp_errno_t result = llhttp_execute(&parser, at, (size_t)(end - at));
        if (result == HPE_OK) {
            return;
        }
        at = llhttp_get_error_pos(&parser);
        if (result == HPE_PAUSED) {
            Message *message = present(&parser);
            message->end = (size_t)(at - all.data);
            reading->whole++;
            llhttp_resume(&parser);
            if (!message->keep_alive || reading->whole == MESSAGES_MAX) {
                reading->verdict = message->keep_alive ? VERDICT_MORE : VERDICT_CLOSED;
                return;
            }
        } else if (result == HPE_PAUSED_UPGRADE) {
            llhttp_resume_after_upgrade(&parser); /* nobody wants to */
        } else {
            reading->verdict = VERDICT_REFUSED;
            return;
        }
    }
}

/* --- Both ------------------------------------------------------------------------------------ */

static void check_listed(const Error *err)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        if (strstr(err->text, reasons[i]) != NULL) {
            return;
        }
    }
    BUG("llhttp takes what we refuse for a reason that is not listed: %s", err->text);
}

static void check_taken(const Message *ours, const Message *theirs)
{
    BUG_IF(!theirs->has_head || !str_eq(buf_str(&ours->head), buf_str(&theirs->head)));
    BUG_IF(!str_starts(buf_str(&theirs->body), buf_str(&ours->body)));
    if (ours->is_whole) {
        BUG_IF(!theirs->is_whole || theirs->has_trailer || ours->end != theirs->end ||
               ours->body.len != theirs->body.len);
        BUG_IF(ours->keep_alive && !theirs->keep_alive);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str bytes = str_from((const char *)data, size);
    Reading ours, theirs;
    reading_init(&ours);
    reading_init(&theirs);
    read_ours(&ours, bytes);
    read_theirs(&theirs, bytes);
    for (uint32_t i = 0; i < ours.count; i++) {
        check_taken(&ours.messages[i], &theirs.messages[i]);
    }
    if (ours.verdict == VERDICT_MORE) {
        BUG_IF(theirs.whole > ours.whole);
    } else if (ours.verdict == VERDICT_REFUSED &&
               (theirs.verdict != VERDICT_REFUSED || theirs.whole > ours.whole)) {
        check_listed(&ours.err);
    }
    reading_clear(&ours);
    reading_clear(&theirs);
    return 0;
}
