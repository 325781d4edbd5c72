/* Serves the embedded pages: content negotiation, caching by ETag, and the security headers of the
 * page. */
#include "api/pages.h"

#include "api/page_rules.h"
#include "ui/ui.h"

enum {
    BUFFERED_MAX = 64 << 10 /* larger files are streamed */
};

/* Trusted Types keep scripts of the page from turning text into markup or code. */
static const char *const policies[] = {
    [UI_POLICY_PAGE] = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                        "connect-src 'self'; base-uri 'none'; form-action 'none'; "
                        "frame-ancestors 'none'; require-trusted-types-for 'script'"),
    [UI_POLICY_DOCS] = ("default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
                        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
                        "form-action 'none'; frame-ancestors 'none'"),
};

/* The row for all pages, which are public. */
static const RouteRow page_row = { .method = "GET", .pattern = "page", .help = "A page." };

/* --- Large files ----------------------------------------------------------------------------- */

typedef struct PageStream {
    ApiCall *call;
    UiReader *reader;
} PageStream;

static void on_drained(void *context)
{
    PageStream *stream = context;
    ApiCall *call = stream->call;
    Str chunk;
    if (ui_reader_next(stream->reader, &chunk)) {
        call_send_chunk(call, chunk);
    } else {
        ui_reader_free(stream->reader);
        call_end(call);
    }
}

static void on_closed(void *context)
{
    ui_reader_free(((PageStream *)context)->reader);
}

static void send_streamed(ApiCall *call, const UiFile *file, bool packed)
{
    PageStream *stream = ARENA_NEW(&call->arena, PageStream);
    CallStream callbacks = { on_drained, on_closed, stream };
    stream->call = call;
    if (call_begin(call, file->type, &callbacks)) {
        stream->reader = ui_reader_new(file, packed);
        on_drained(stream);
    }
}

/* --- Small files ----------------------------------------------------------------------------- */

static void send_buffered(ApiCall *call, const UiFile *file, bool packed)
{
    Buf body = buf_make_in(&call->arena, BUF_UNLIMITED);
    AUTO(UiReader) *reader = ui_reader_new(file, packed);
    Str chunk;
    while (ui_reader_next(reader, &chunk)) {
        buf_put(&body, chunk);
    }
    call_respond_as(call, 200, file->type, buf_str(&body));
}

static Str header(const ApiCall *call, const char *name)
{
    const Str *found = http1_find(http_request_head(call->request), name);
    return found == NULL ? STR_EMPTY : *found;
}

static void respond_file(ApiCall *call, const UiFile *file)
{
    HttpRequest *request = call->request;
    bool packed = page_accepts_gzip(header(call, "Accept-Encoding"));
    http_request_add_header(request, "ETag", str_from_c(file->tag));
    http_request_add_header(request, "Vary", STR("Accept-Encoding"));
    http_request_add_header(request, "Cache-Control",
                            file->is_immutable ? STR("public, max-age=31536000, immutable")
                                               : STR("no-cache"));
    http_request_add_header(request, "Content-Security-Policy", str_from_c(policies[file->policy]));
    if (page_is_cached(header(call, "If-None-Match"), str_from_c(file->tag))) {
        call_respond_as(call, 304, file->type, STR_EMPTY);
        return;
    }
    if (packed) {
        http_request_add_header(request, "Content-Encoding", STR("gzip"));
    }
    bool is_small = (packed ? file->compressed_size : file->size) <= BUFFERED_MAX;
    if (is_small || !http_request_supports_pieces(request)) {
        send_buffered(call, file, packed);
    } else {
        send_streamed(call, file, packed);
    }
}

bool pages_respond(ApiCall *call)
{
    const Http1Head *head = http_request_head(call->request);
    const UiFile *file = ui_find(head->path);
    bool lacks_slash = file == NULL && str_eq_c(head->path, "/docs");
    if (file == NULL && !lacks_slash) {
        return false;
    }
    call->row = &page_row;
    if (!http1_is_safe(head)) {
        http_request_add_header(call->request, "Allow", STR("GET, HEAD"));
        call_refuse(call, 405, "method not allowed; pages support only GET and HEAD");
    } else if (call_has_body(call)) {
        call_refuse(call, 400, "this endpoint does not accept a request body");
    } else if (lacks_slash) {
        http_request_add_header(call->request, "Location", STR("/docs/"));
        call_respond_as(call, 301, "text/plain; charset=utf-8", STR("moved to /docs/\n"));
    } else {
        respond_file(call, file);
    }
    return true;
}
