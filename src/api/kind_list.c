/* GET /v1/<plural>: page by page, and of those the objects that are selected, as far as the caller may
 * see them. */
#include "api/api_inner.h"
#include "api/call.h"
#include "api/cursor.h"
#include "api/handlers.h"
#include "api/kind.h"
#include "api/object_watch.h"
#include "base/bug.h"
#include "base/json_out.h"

enum {
    /* Looked at for one request; what is left is for the next one. */
    LOOKED_MAX = 2000,
    PAGES_MAX = 20
};

typedef struct Listing {
    ApiCall *call;
    const Kind *kind;
    const Selector *selector; /* NULL: all */
    uint32_t limit;
    KindPage page;
    Arena looking; /* of one page: what is not wanted goes before the next one comes */
    Buf items;     /* those that are wanted, as JSON */
    uint32_t wanted, looked, pages;
    uint64_t archived; /* of the last page */
    int64_t revision;  /* of the first page, also of another request; 0: it is to come */
    Str next;          /* where the next request goes on */
} Listing;

static bool is_wanted(const Listing *listing, const KindItem *item)
{
    return object_selector_matches(listing->selector, item->name, item->labels) &&
           call_may_see(listing->call, item);
}

/* --- Places ---------------------------------------------------------------------------------- */

/* The selectors of the caller's roles, as far as they limit the list. */
static Str scope_of(const ApiCall *call, Arena *arena)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    AccessDecision decision;
    if (!call->is_limited) {
        return STR_EMPTY;
    }
    credentials_decide(call_settings(call)->credentials, &call->caller.principal,
                       str_from_c(call->verb), str_from_c(call->row->kind), &decision);
    for (uint32_t i = 0; i < decision.selector_count; i++) {
        Str text = selector_text(decision.selectors[i]);
        buf_put_format(&out, "%zu:%" STR_FMT, text.len, STR_ARG(text));
    }
    return buf_str(&out);
}

static CursorList list_of(const Listing *listing)
{
    ApiCall *call = listing->call;
    return (CursorList){ .store = call_settings(call)->store_id,
                         .kind = str_from_c(listing->kind->name),
                         .selector = call_parameter(call, "selector"),
                         .scope = scope_of(call, &call->arena) };
}

/* --- Answers --------------------------------------------------------------------------------- */

static void answer(Listing *listing, Str next)
{
    Buf json = buf_make_in(&listing->call->arena, BUF_UNLIMITED);
    json_out_open(&json, NULL, '{');
    json_out_open(&json, "metadata", '{');
    json_out_text(&json, "apiVersion", STR(OBJECT_API_VERSION));
    json_out_name(&json, "kind");
    buf_put_format(&json, "\"%sList\"", listing->kind->name);
    json_out_int(&json, "revision", listing->revision);
    if (next.len > 0) {
        json_out_text(&json, "continue", next);
    } else {
        json_out_null(&json, "continue");
    }
    json_out_bool(&json, "truncated", next.len > 0);
    if (listing->archived > 0) {
        json_out_int(&json, "archived", (int64_t)listing->archived);
    }
    json_out_close(&json, '}');
    json_out_open(&json, "items", '[');
    buf_put(&json, buf_str(&listing->items));
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    call_answer(listing->call, 200, &json);
}

static void answer_with_place(void *context, const SealKey *key, const Error *err)
{
    Listing *listing = context;
    if (call_goes_on(listing->call, err)) {
        CursorList list = list_of(listing);
        Cursor place = { .revision = listing->revision, .after = listing->next };
        answer(listing, cursor_write(&listing->call->arena, key, &list, &place));
    }
}

/* --- Looking --------------------------------------------------------------------------------- */

static void ask(Listing *listing);

static void listed(void *context, const KindItems *items, const Error *err)
{
    Listing *listing = context;
    ApiCall *call = listing->call;
    AUTO_CLEAR(Arena) looking = listing->looking; /* the listing may end here */
    if (!call_goes_on(call, err)) {
        return;
    }
    listing->revision = listing->revision == 0 ? items->revision : listing->revision;
    listing->archived = items->archived;
    listing->pages++;
    listing->looked += items->count;
    for (uint32_t i = 0; i < items->count; i++) {
        if (is_wanted(listing, &items->items[i])) {
            buf_put_c(&listing->items, listing->wanted++ > 0 ? "," : "");
            object_print(&looking, &listing->items, listing->kind, &items->items[i]);
        }
    }
    /* What is not selected leaves room for others, and is no reason to look for ever. */
    bool all = listing->selector == NULL && !call->is_limited;
    if (all || items->next.len == 0 || listing->wanted >= listing->limit ||
        listing->looked >= LOOKED_MAX || listing->pages >= PAGES_MAX) {
        listing->next = arena_copy(&call->arena, items->next);
        if (listing->next.len == 0) {
            answer(listing, STR_EMPTY);
        } else {
            cursor_key_get(call->api->cursor_key, answer_with_place, listing);
        }
        return;
    }
    listing->page.after = arena_copy(&call->arena, items->next);
    ask(listing);
}

static void ask(Listing *listing)
{
    listing->page.limit = listing->limit - listing->wanted;
    arena_init(&listing->looking, ARENA_UNLIMITED);
    listing->kind->list(listing->kind, call_settings(listing->call), &listing->looking,
                        &listing->page, listed, listing);
}

static void go_on_there(void *context, const SealKey *key, const Error *err)
{
    Listing *listing = context;
    ApiCall *call = listing->call;
    Cursor place;
    Error bad;
    if (!call_goes_on(call, err)) {
        return;
    }
    CursorList list = list_of(listing);
    if (!cursor_read(&call->arena, key, &list, call_parameter(call, "continue"), &place, &bad)) {
        call_fail(call, &bad);
        return;
    }
    listing->page.after = place.after;
    listing->revision = place.revision;
    ask(listing);
}

void kind_route_list(ApiCall *call)
{
    Listing *listing = ARENA_NEW(&call->arena, Listing);
    *listing = (Listing){ .call = call,
                          .kind = kind_find(str_from_c(call->row->kind)),
                          .items = buf_make_in(&call->arena, BUF_UNLIMITED) };
    BUG_IF(listing->kind == NULL);
    if (object_watch_is_wanted(call)) {
        object_watch(call, listing->kind);
        return;
    }
    if (call_parameter_count(call, "limit", KIND_PAGE_DEFAULT, KIND_PAGE_MAX, &listing->limit) &&
        call_parameter_selector(call, &listing->selector)) {
        if (call_parameter(call, "continue").len == 0) {
            ask(listing);
        } else {
            cursor_key_get(call->api->cursor_key, go_on_there, listing);
        }
    }
}
