#include <inttypes.h>

#include "base/bug.h"
#include "net/http1.h"

static const struct {
    int status;
    const char *text;
} statuses[] = {
    { 100, "Continue" },
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 301, "Moved Permanently" },
    { 302, "Found" },
    { 304, "Not Modified" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 412, "Precondition Failed" },
    { 413, "Content Too Large" },
    { 415, "Unsupported Media Type" },
    { 421, "Misdirected Request" },
    { 422, "Unprocessable Content" },
    { 426, "Upgrade Required" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 505, "HTTP Version Not Supported" },
    { 507, "Insufficient Storage" },
};

const char *http1_status_text(int status)
{
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        if (statuses[i].status == status) {
            return statuses[i].text;
        }
    }
    return "Unknown";
}

static void put_clean(Buf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        BUG_IF(c < ' ' || c == 0x7f);
    }
    buf_put(out, text);
}

void http1_put_status(Buf *out, int status)
{
    buf_put_format(out, "HTTP/1.1 %d %s\r\n", status, http1_status_text(status));
}

void http1_put_request(Buf *out, const char *method, Str target, Str host)
{
    BUG_IF(str_find(target, STR(" "), 0) != STR_NOT_FOUND);
    buf_put_c(out, method);
    buf_put_char(out, ' ');
    put_clean(out, target);
    buf_put_c(out, " HTTP/1.1\r\n");
    http1_put_header(out, "Host", host);
}

void http1_put_header(Buf *out, const char *name, Str value)
{
    buf_put_c(out, name);
    buf_put_c(out, ": ");
    put_clean(out, value);
    buf_put_c(out, "\r\n");
}

void http1_put_end_length(Buf *out, uint64_t length)
{
    buf_put_format(out, "Content-Length: %" PRIu64 "\r\n\r\n", length);
}

void http1_put_end_chunked(Buf *out)
{
    buf_put_c(out, "Transfer-Encoding: chunked\r\n\r\n");
}

void http1_put_end_bare(Buf *out)
{
    buf_put_c(out, "\r\n");
}

void http1_put_chunk(Buf *out, Str data)
{
    buf_put_format(out, "%zx\r\n", data.len);
    buf_put(out, data);
    buf_put_c(out, "\r\n");
}
