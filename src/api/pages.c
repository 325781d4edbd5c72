#include "api/pages.h"

#include "api/page_rules.h"
#include "ui/ui.h"

enum {
    WHOLE_MAX = 64 << 10 /* larger files are sent in pieces */
};

/* Trusted types: scripts of the page cannot turn text into markup or code. */
static const char *const policies[] = {
    [UI_POLICY_PAGE] = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                        "connect-src 'self'; base-uri 'none'; form-action 'none'; "
                        "frame-ancestors 'none'; require-trusted-types-for 'script'"),
    [UI_POLICY_DOCS] = ("default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
                        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
                        "form-action 'none'; frame-ancestors 'none'"),
};

/* A row for calls of pages, which are public. */
static const RouteRow page_row = { .method = "GET", .pattern = "page", .help = "A page." };

/* --- In pieces ----------------------------------------------------------------------------------- */

typedef struct Sending {
    ApiCall *call;
    UiReader *reader;
} Sending;

static void drained(void *context)
{
    Sending *sending = context;
    ApiCall *call = sending->call;
    Str piece;
    if (ui_reader_next(sending->reader, &piece)) {
        call_piece(call, piece);
    } else {
        ui_reader_free(sending->reader);
        call_end(call);
    }
}

static void gone(void *context)
{
    ui_reader_free(((Sending *)context)->reader);
}

static void send_pieces(ApiCall *call, const UiFile *file, bool packed)
{
    Sending *sending = ARENA_NEW(&call->arena, Sending);
    CallPieces pieces = { drained, gone, sending };
    sending->call = call;
    if (call_begin(call, file->type, &pieces)) {
        sending->reader = ui_reader_new(file, packed);
        drained(sending);
    }
}

/* --- Whole files --------------------------------------------------------------------------------- */

static void send_whole(ApiCall *call, const UiFile *file, bool packed)
{
    Buf body = buf_make_in(&call->arena, BUF_UNLIMITED);
    AUTO(UiReader) *reader = ui_reader_new(file, packed);
    Str piece;
    while (ui_reader_next(reader, &piece)) {
        buf_put(&body, piece);
    }
    call_answer_as(call, 200, file->type, buf_str(&body));
}

static Str field(const ApiCall *call, const char *name)
{
    const Str *found = http1_find(http_request_head(call->request), name);
    return found == NULL ? STR_EMPTY : *found;
}

static void answer_file(ApiCall *call, const UiFile *file)
{
    HttpRequest *request = call->request;
    bool packed = page_accepts_gzip(field(call, "Accept-Encoding"));
    http_request_add_header(request, "ETag", str_from_c(file->tag));
    http_request_add_header(request, "Vary", STR("Accept-Encoding"));
    http_request_add_header(request, "Cache-Control",
                            file->is_immutable ? STR("public, max-age=31536000, immutable")
                                               : STR("no-cache"));
    http_request_add_header(request, "Content-Security-Policy", str_from_c(policies[file->policy]));
    if (page_is_known(field(call, "If-None-Match"), str_from_c(file->tag))) {
        call_answer_as(call, 304, file->type, STR_EMPTY);
        return;
    }
    if (packed) {
        http_request_add_header(request, "Content-Encoding", STR("gzip"));
    }
    bool is_small = (packed ? file->packed : file->size) <= WHOLE_MAX;
    if (is_small || !http_request_supports_pieces(request)) {
        send_whole(call, file, packed);
    } else {
        send_pieces(call, file, packed);
    }
}

bool pages_answer(ApiCall *call)
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
        call_answer_as(call, 301, "text/plain; charset=utf-8", STR("moved to /docs/\n"));
    } else {
        answer_file(call, file);
    }
    return true;
}
