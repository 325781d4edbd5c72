/* GET /v1/<plural>: lists objects in pages, filtered by selector and by the caller's permissions.
 *
 * A request reads pages of the kind until the response is full or EXAMINED_MAX objects were
 * examined; the response then contains a token with which the next request continues. Synchronous
 * kinds are read in chunks, in a loop; asynchronous ones continue in a callback. */
#include "api/api_inner.h"
#include "api/call.h"
#include "api/cursor.h"
#include "api/handlers.h"
#include "api/kind.h"
#include "api/object_watch.h"
#include "base/bug.h"
#include "base/json_out.h"

enum {
    /* Objects examined per request; the next request continues. */
    EXAMINED_MAX = 2000,
    PAGES_MAX = 20,
    RESPONSE_RESERVE = 1024, /* approximate bytes of a response besides its objects */
    CHUNK = 50,              /* objects in memory at a time, for synchronous kinds */
    /* Limit for selectors that use facts, since evaluation blocks the loop. */
    STEPS_MAX = 500 * 1000,
    CHUNK_BY_FACTS = 5
};

/* Result of a page that was read synchronously. */
typedef struct PageResult {
    bool read_next; /* continue with another page */
    bool is_freed;  /* the listing was freed */
} PageResult;

typedef struct Listing {
    ApiCall *call;
    const Kind *kind;
    const Selector *selector; /* NULL: all */
    uint32_t limit;
    KindPage page;
    Arena page_arena; /* for one page; cleared before the next */
    Buf items;        /* selected objects, as JSON */
    uint32_t included, examined, pages;
    uint64_t archived; /* of the last page */
    int64_t revision;  /* of the first page, possibly of an earlier request; 0: not read yet */
    Str next;          /* position where the next request continues */
    PageResult *end;   /* of the page being read; NULL: asynchronous */
} Listing;

static bool is_selected(const Listing *listing, const KindItem *item)
{
    ApiCall *call = listing->call;
    if (call->facts_selector == NULL) {
        return object_selector_matches(listing->selector, item->name, item->labels);
    }
    const RosterNode *node = roster_find_any(call_store(call)->roster, item->name);
    return facts_selector_matches(call->facts_selector, item->name, item->labels,
                                  node == NULL ? STR_EMPTY : node->facts);
}

/* Checks permission first: selectors must not reveal hidden objects. */
static bool is_included(const Listing *listing, const KindItem *item)
{
    return call_may_see(listing->call, item) && is_selected(listing, item);
}

/* --- Page tokens ----------------------------------------------------------------------------- */

/* The selectors of the caller's roles, if they limit the list. */
static Str role_scope(const ApiCall *call, Arena *arena)
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

static CursorList cursor_list(const Listing *listing)
{
    ApiCall *call = listing->call;
    return (CursorList){ .store = call_settings(call)->store_id,
                         .kind = str_from_c(listing->kind->name),
                         .selector = call_parameter(call, "selector"),
                         .scope = role_scope(call, &call->arena) };
}

/* --- Responses ------------------------------------------------------------------------------- */

static void respond(Listing *listing, Str next)
{
    Buf json = buf_make_in(&listing->call->arena, BUF_UNLIMITED);
    (void)buf_reserve(&json, listing->items.len + RESPONSE_RESERVE);
    json_out_open(&json, NULL, '{');
    json_out_open(&json, "metadata", '{');
    json_out_text(&json, "apiVersion", STR(OBJECT_API_VERSION));
    json_out_name(&json, "kind");
    buf_put_format(&json, "\"%sList\"", listing->kind->name);
    json_out_int(&json, "revision", listing->revision);
    Str stale_since = call_stale_since(listing->call);
    if (stale_since.len > 0) {
        json_out_text(&json, "staleSince", stale_since);
    }
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
    call_respond(listing->call, 200, &json);
}

static void respond_with_token(void *context, const SealKey *key, const Error *err)
{
    Listing *listing = context;
    if (call_resume(listing->call, err)) {
        CursorList list = cursor_list(listing);
        Cursor cursor = { .revision = listing->revision, .after = listing->next };
        respond(listing, cursor_write(&listing->call->arena, key, &list, &cursor));
    }
}

/* --- Reading --------------------------------------------------------------------------------- */

static void read_pages(Listing *listing);

/* Unselected objects do not fill the page, but count towards EXAMINED_MAX. */
static bool is_done(const Listing *listing, const KindItems *items)
{
    bool is_sync = listing->kind->list != NULL;
    bool is_single_page = listing->selector == NULL && !listing->call->is_limited && !is_sync;
    const FactsSelector *by_facts = listing->call->facts_selector;
    return is_single_page || (by_facts != NULL && facts_selector_steps(by_facts) >= STEPS_MAX) ||
           items->next.len == 0 || listing->included >= listing->limit ||
           listing->examined >= EXAMINED_MAX || (!is_sync && listing->pages >= PAGES_MAX);
}

static void add_items(Listing *listing, Arena *page_arena, const KindItems *items)
{
    listing->revision = listing->revision == 0 ? items->revision : listing->revision;
    listing->archived = items->archived;
    listing->pages++;
    listing->examined += items->count;
    for (uint32_t i = 0; i < items->count; i++) {
        if (is_included(listing, &items->items[i])) {
            buf_put_c(&listing->items, listing->included++ > 0 ? "," : "");
            object_print(page_arena, &listing->items, listing->kind, &items->items[i]);
        }
    }
}

static void on_page(void *context, const KindItems *items, const Error *err)
{
    Listing *listing = context;
    ApiCall *call = listing->call;
    PageResult later, *end = listing->end != NULL ? TAKE(listing->end) : &later;
    AUTO_CLEAR(Arena) page_arena = listing->page_arena; /* the listing may be freed here */
    end->is_freed = true;
    if (!call_resume(call, err)) {
        return;
    }
    add_items(listing, &page_arena, items);
    Str next = arena_copy(&call->arena, items->next);
    if (!is_done(listing, items)) {
        listing->page.after = next;
        end->is_freed = false;
        end->read_next = true;
        if (end == &later) {
            read_pages(listing);
        }
    } else if (next.len == 0) {
        respond(listing, STR_EMPTY);
    } else {
        listing->next = next;
        cursor_key_get(call->api->cursor_key, respond_with_token, listing);
    }
}

/* Number of objects to request. */
static uint32_t chunk_size(const Listing *listing)
{
    bool is_sync = listing->kind->list != NULL;
    if (listing->call->facts_selector != NULL) {
        return is_sync ? CHUNK_BY_FACTS : CHUNK;
    }
    return is_sync ? CHUNK : UINT32_MAX;
}

/* Reads page by page. For synchronous kinds, `on_page` has been called when `list` returns. */
static void read_pages(Listing *listing)
{
    PageResult end;
    do {
        uint32_t remaining = listing->limit - listing->included;
        end = (PageResult){ 0 };
        listing->end = &end;
        listing->page.limit = remaining < chunk_size(listing) ? remaining : chunk_size(listing);
        /* Selectors that use facts are evaluated here, so that EXAMINED_MAX applies. */
        listing->page.selector = listing->call->facts_selector == NULL ? listing->selector : NULL;
        listing->page.revision = listing->revision;
        arena_init(&listing->page_arena, ARENA_UNLIMITED);
        kind_list(listing->kind, call_settings(listing->call), &listing->page_arena, &listing->page,
                  on_page, listing);
    } while (end.read_next);
    if (!end.is_freed) {
        listing->end = NULL;
    }
}

static void on_cursor_key(void *context, const SealKey *key, const Error *err)
{
    Listing *listing = context;
    ApiCall *call = listing->call;
    Cursor cursor;
    Error invalid;
    if (!call_resume(call, err)) {
        return;
    }
    CursorList list = cursor_list(listing);
    if (!cursor_read(&call->arena, key, &list, call_parameter(call, "continue"), &cursor,
                     &invalid)) {
        call_fail(call, &invalid);
        return;
    }
    listing->page.after = cursor.after;
    listing->revision = cursor.revision;
    read_pages(listing);
}

/* Selecting by facts reveals them. */
static bool may_list_facts(const ApiCall *call, Error *err)
{
    const Credentials *credentials = call_settings(call)->credentials;
    AccessDecision decision;
    if (credentials == NULL) {
        return true;
    }
    credentials_decide(credentials, &call->caller.principal, STR("list"), STR("Facts"), &decision);
    return decision.verdict == ACCESS_ALLOWED ||
           error_set(
               err, ERROR_DENIED,
               "selecting nodes by facts requires permission to list all facts (list on Facts)");
}

/* Returns false after rejecting the call. */
static bool read_selector(Listing *listing)
{
    ApiCall *call = listing->call;
    Str text = call_parameter(call, "selector");
    Error err;
    if (!listing->kind->selects_facts || text.len == 0) {
        return call_parameter_selector(call, &listing->selector);
    }
    AUTO(FactsSelector) *selector = NULL;
    if (!facts_selector_parse(text, &selector, &err)) {
        error_wrap(&err, "'selector'");
        call_fail(call, &err);
        return false;
    }
    if (!facts_selector_uses_facts(selector)) {
        return call_parameter_selector(call, &listing->selector);
    }
    if (!may_list_facts(call, &err)) {
        call_fail(call, &err);
        return false;
    }
    listing->selector = facts_selector_plain(selector);
    call->facts_selector = TAKE(selector);
    return true;
}

void kind_route_list(ApiCall *call)
{
    Listing *listing = ARENA_NEW(&call->arena, Listing);
    *listing = (Listing){ .call = call,
                          .kind = kind_find(str_from_c(call->row->kind)),
                          .items = buf_make_in(&call->arena, BUF_UNLIMITED) };
    BUG_IF(listing->kind == NULL);
    if (object_watch_is_requested(call)) {
        object_watch(call, listing->kind);
        return;
    }
    if (call_parameter_count(call, "limit", KIND_PAGE_DEFAULT, KIND_PAGE_MAX, &listing->limit) &&
        read_selector(listing)) {
        if (call_parameter(call, "continue").len == 0) {
            read_pages(listing);
        } else {
            cursor_key_get(call->api->cursor_key, on_cursor_key, listing);
        }
    }
}
