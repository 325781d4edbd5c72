/* Compares our HTTP/1.1 request parser with llhttp on the same bytes. Invariants: our parser may
 * reject what llhttp accepts, but only for the reasons listed below; whatever ours accepts, llhttp
 * accepts too, as the same messages that end at the same byte. docs/http-parser.md lists the
 * reasons. */
#include <llhttp.h>

#include "base/bug.h"
#include "net/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MESSAGES_MAX = 16,
    BODY_MAX = 1 << 20
};

/* Our error messages for requests that llhttp accepts. */
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
    "headers or chunk lines are longer than",
    "more than 64 headers",
    "larger than the limit of",
};

typedef struct Message {
    Buf head;   /* method, address, header names and values, each followed by a NUL */
    Buf body;   /* so far */
    size_t end; /* the offset after it, once it is complete */
    bool has_head, is_complete, has_trailer;
    bool keep_alive;
} Message;

typedef enum Verdict {
    VERDICT_MORE,   /* all input was consumed, and more is needed */
    VERDICT_CLOSED, /* after a message that requested it */
    VERDICT_REFUSED,
} Verdict;

typedef struct Parse {
    Message messages[MESSAGES_MAX];
    uint32_t count; /* messages begun */
    uint32_t complete;
    Verdict verdict;
    Error err; /* of our parser */
    Buf url, field, value;
} Parse;

static void results_init(Parse *reading)
{
    *reading = (Parse){ .url = buf_make(BUF_UNLIMITED),
                        .field = buf_make(BUF_UNLIMITED),
                        .value = buf_make(BUF_UNLIMITED) };
    for (uint32_t i = 0; i < MESSAGES_MAX; i++) {
        reading->messages[i] =
            (Message){ .head = buf_make(BUF_UNLIMITED), .body = buf_make(BUF_UNLIMITED) };
    }
}

static void results_clear(Parse *reading)
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

/* --- Our parser ------------------------------------------------------------------------------ */

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

static void read_ours(Parse *reading, Str all)
{
    Http1Reader reader;
    Http1Event event = HTTP1_HEAD;
    Str bytes = all;
    http1_reader_init(&reader, HTTP1_REQUEST, BODY_MAX);
    while (event != HTTP1_MORE && reading->complete < MESSAGES_MAX &&
           reading->verdict == VERDICT_MORE) {
        Message *message = &reading->messages[reading->complete];
        if (!http1_read(&reader, &bytes, &event, &reading->err)) {
            reading->verdict = VERDICT_REFUSED;
        } else if (event == HTTP1_HEAD) {
            reading->count++;
            note_head(message, &reader.head);
        } else if (event == HTTP1_DATA) {
            buf_put(&message->body, reader.data);
        } else if (event == HTTP1_END) {
            message->is_complete = true;
            message->end = all.len - bytes.len;
            reading->complete++;
            reading->verdict = message->keep_alive ? VERDICT_MORE : VERDICT_CLOSED;
        }
    }
    http1_reader_clear(&reader);
}

/* --- llhttp ---------------------------------------------------------------------------------- */

static Message *current_message(llhttp_t *parser)
{
    Parse *reading = parser->data;
    return &reading->messages[reading->complete];
}

static int took_begin(llhttp_t *parser)
{
    Parse *reading = parser->data;
    reading->count = reading->complete + 1;
    buf_reset(&reading->url);
    return 0;
}

static int handle_url(llhttp_t *parser, const char *at, size_t len)
{
    Parse *reading = parser->data;
    buf_put(&reading->url, str_from(at, len));
    return 0;
}

static int handle_header_field(llhttp_t *parser, const char *at, size_t len)
{
    Parse *reading = parser->data;
    buf_put(&reading->field, str_from(at, len));
    return 0;
}

static int handle_header_value(llhttp_t *parser, const char *at, size_t len)
{
    Parse *reading = parser->data;
    buf_put(&reading->value, str_from(at, len));
    return 0;
}

/* Scheme, host, path and query in the form that our parser reports them. */
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
    Message *message = current_message(parser);
    const Parse *reading = parser->data;
    if (message->head.len == 0) {
        put_part(message, str_from_c(llhttp_method_name(parser->method)));
        note_address(message, buf_str(&reading->url));
    }
}

static int handle_header_value_complete(llhttp_t *parser)
{
    Parse *reading = parser->data;
    Message *message = current_message(parser);
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

static int handle_headers_complete(llhttp_t *parser)
{
    begin_fields(parser);
    current_message(parser)->has_head = true;
    return 0;
}

static int handle_body(llhttp_t *parser, const char *at, size_t len)
{
    buf_put(&current_message(parser)->body, str_from(at, len));
    return 0;
}

/* Pausing reveals where the message ended. */
static int handle_message_complete(llhttp_t *parser)
{
    Message *message = current_message(parser);
    message->keep_alive = llhttp_should_keep_alive(parser) != 0;
    message->is_complete = true;
    return HPE_PAUSED;
}

static void read_llhttp(Parse *reading, Str all)
{
    llhttp_settings_t settings;
    llhttp_t parser;
    llhttp_settings_init(&settings);
    settings.on_message_begin = took_begin;
    settings.on_url = handle_url;
    settings.on_header_field = handle_header_field;
    settings.on_header_value = handle_header_value;
    settings.on_header_value_complete = handle_header_value_complete;
    settings.on_headers_complete = handle_headers_complete;
    settings.on_body = handle_body;
    settings.on_message_complete = handle_message_complete;
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
            Message *message = current_message(&parser);
            message->end = (size_t)(at - all.data);
            reading->complete++;
            llhttp_resume(&parser);
            if (!message->keep_alive || reading->complete == MESSAGES_MAX) {
                reading->verdict = message->keep_alive ? VERDICT_MORE : VERDICT_CLOSED;
                return;
            }
        } else if (result == HPE_PAUSED_UPGRADE) {
            llhttp_resume_after_upgrade(&parser); /* no upgrade wanted */
        } else {
            reading->verdict = VERDICT_REFUSED;
            return;
        }
    }
}

/* --- Comparison ------------------------------------------------------------------------------ */

static void check_listed(const Error *err)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        if (strstr(err->text, reasons[i]) != NULL) {
            return;
        }
    }
    BUG("llhttp takes what we refuse for a reason that is not listed: %s", err->text);
}

static void check_accepted(const Message *ours, const Message *theirs)
{
    BUG_IF(!theirs->has_head || !str_eq(buf_str(&ours->head), buf_str(&theirs->head)));
    BUG_IF(!str_starts(buf_str(&theirs->body), buf_str(&ours->body)));
    if (ours->is_complete) {
        BUG_IF(!theirs->is_complete || theirs->has_trailer || ours->end != theirs->end ||
               ours->body.len != theirs->body.len);
        BUG_IF(ours->keep_alive && !theirs->keep_alive);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str bytes = str_from((const char *)data, size);
    Parse ours, theirs;
    results_init(&ours);
    results_init(&theirs);
    read_ours(&ours, bytes);
    read_llhttp(&theirs, bytes);
    for (uint32_t i = 0; i < ours.count; i++) {
        check_accepted(&ours.messages[i], &theirs.messages[i]);
    }
    if (ours.verdict == VERDICT_MORE) {
        BUG_IF(theirs.complete > ours.complete);
    } else if (ours.verdict == VERDICT_REFUSED &&
               (theirs.verdict != VERDICT_REFUSED || theirs.complete > ours.complete)) {
        check_listed(&ours.err);
    }
    results_clear(&ours);
    results_clear(&theirs);
    return 0;
}
