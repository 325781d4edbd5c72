/* Input: HTTP/1.1. The first byte selects requests or responses, and the chunk size. Invariant: the
 * result does not depend on the chunk size. */
#include "base/bug.h"
#include "net/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    BODY_MAX = 4096
};

static void describe(const Http1Reader *reader, Http1Event event, Buf *out)
{
    if (event == HTTP1_DATA) {
        BUG_IF(reader->data.len == 0);
        buf_put(out, reader->data);
    } else if (event == HTTP1_END) {
        buf_put_char(out, '|');
    } else {
        const Http1Head *head = &reader->head;
        BUG_IF(reader->kind == HTTP1_REQUEST && head->path.len == 0);
        BUG_IF(head->body == HTTP1_BODY_LENGTH && head->length > BODY_MAX);
        buf_put_format(out, "%d %d %d", head->status, (int)head->body, head->keep_alive);
        buf_put(out, head->method);
        buf_put(out, head->path);
        buf_put(out, head->query);
        for (uint32_t i = 0; i < head->header_count; i++) {
            buf_put(out, head->headers[i].name);
            buf_put(out, head->headers[i].value);
        }
    }
}

static void read_all(Http1Kind kind, Str bytes, size_t step, Buf *out)
{
    Http1Reader reader;
    Http1Event event;
    Error err;
    http1_reader_init(&reader, kind, BODY_MAX);
    bool ok = true;
    while (ok && bytes.len > 0) {
        Str chunk = str_slice(bytes, 0, step < bytes.len ? step : bytes.len);
        bytes = str_from_offset(bytes, chunk.len);
        do {
            ok = http1_read(&reader, &chunk, &event, &err);
            if (ok && event != HTTP1_MORE) {
                describe(&reader, event, out);
            }
        } while (ok && event != HTTP1_MORE);
        BUG_IF(ok && chunk.len > 0);
        BUG_IF(!ok && reader.error_status < 400);
    }
    if (ok && !http1_read_end(&reader, &event, &err)) {
        buf_put_c(out, "cut");
    }
    http1_reader_clear(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    Http1Kind kind = (data[0] & 1) != 0 ? HTTP1_REQUEST : HTTP1_RESPONSE;
    Str bytes = str_from((const char *)data + 1, size - 1);
    Buf whole = buf_make(BUF_UNLIMITED), chunks = buf_make(BUF_UNLIMITED);
    read_all(kind, bytes, bytes.len, &whole);
    read_all(kind, bytes, (size_t)(data[0] >> 1) + 1, &chunks);
    /* A body over the limit is rejected as a whole or from some chunk on. */
    Str shorter = buf_str(chunks.len < whole.len ? &chunks : &whole);
    Str longer = buf_str(chunks.len < whole.len ? &whole : &chunks);
    BUG_IF(!str_starts(longer, shorter));
    buf_clear(&whole);
    buf_clear(&chunks);
    return 0;
}
