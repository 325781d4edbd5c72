/* GET /v1/<plural>: lists objects in pages, filtered by selector and by the caller's permissions.
 *
 * A request reads pages of the kind until the response is full, or until it has examined LOOKED_MAX
 * objects: then the response has a token with which the next request continues. Synchronous kinds
 * are read in chunks, one after the other; asynchronous ones continue in a callback. */
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
    LOOKED_MAX = 2000,
    PAGES_MAX = 20,
    ANSWER_ROOM = 1024, /* approximate bytes of a response besides its objects */
    CHUNK = 50,         /* objects in memory at a time, for synchronous kinds */
    /* Limit for expressions about facts, since evaluation blocks the loop. */
    STEPS_MAX = 500 * 1000,
    CHUNK_BY_FACTS = 5
};

/* Result of a page that was read synchronously. */
typedef struct PageEnd {
    bool goes_on; /* continue with another page */
    bool is_over; /* the listing was freed */
} PageEnd;

typedef struct Listing {
    ApiCall *call;
    const Kind *kind;
    const Selector *selector; /* NULL: all */
    uint32_t limit;
    KindPage page;
    Arena looking; /* for one page; cleared before the next */
    Buf items;     /* selected objects, as JSON */
    uint32_t wanted, looked, pages;
    uint64_t archived; /* of the last page */
    int64_t revision;  /* of the first page, even in an earlier request; 0: not read yet */
    Str next;          /* position where the next request continues */
    PageEnd *end;      /* of the page being read; NULL: asynchronous */
} Listing;

static bool is_selected(const Listing *listing, const KindItem *item)
{
    ApiCall *call = listing->call;
    if (call->by_facts == NULL) {
        return object_selector_matches(listing->selector, item->name, item->labels);
    }
    const RosterNode *node = roster_find_any(call_store(call)->roster, item->name);
    return facts_selector_matches(call->by_facts, item->name, item->labels,
                                  node == NULL ? STR_EMPTY : node->facts);
}

/* Checks permission first: selectors must not reveal hidden objects. */
static bool is_wanted(const Listing *listing, const KindItem *item)
{
    return call_may_see(listing->call, item) && is_selected(listing, item);
}

/* --- Page tokens ----------------------------------------------------------------------------- */

/* The selectors of the caller's roles, if they limit the list. */
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

/* --- Responses ------------------------------------------------------------------------------- */

static void answer(Listing *listing, Str next)
{
    Buf json = buf_make_in(&listing->call->arena, BUF_UNLIMITED);
    (void)buf_reserve(&json, listing->items.len + ANSWER_ROOM);
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

/* --- Reading --------------------------------------------------------------------------------- */

static void ask(Listing *listing);

/* Unselected objects do not fill the page, but count towards LOOKED_MAX. */
static bool is_enough(const Listing *listing, const KindItems *items)
{
    bool is_known = listing->kind->list != NULL;
    bool is_whole = listing->selector == NULL && !listing->call->is_limited && !is_known;
    const FactsSelector *by_facts = listing->call->by_facts;
    return is_whole || (by_facts != NULL && facts_selector_steps(by_facts) >= STEPS_MAX) ||
           items->next.len == 0 || listing->wanted >= listing->limit ||
           listing->looked >= LOOKED_MAX || (!is_known && listing->pages >= PAGES_MAX);
}

static void look_at(Listing *listing, Arena *looking, const KindItems *items)
{
    listing->revision = listing->revision == 0 ? items->revision : listing->revision;
    listing->archived = items->archived;
    listing->pages++;
    listing->looked += items->count;
    for (uint32_t i = 0; i < items->count; i++) {
        if (is_wanted(listing, &items->items[i])) {
            buf_put_c(&listing->items, listing->wanted++ > 0 ? "," : "");
            object_print(looking, &listing->items, listing->kind, &items->items[i]);
        }
    }
}

static void listed(void *context, const KindItems *items, const Error *err)
{
    Listing *listing = context;
    ApiCall *call = listing->call;
    PageEnd later, *end = listing->end != NULL ? TAKE(listing->end) : &later;
    AUTO_CLEAR(Arena) looking = listing->looking; /* the listing may be freed here */
    end->is_over = true;
    if (!call_goes_on(call, err)) {
        return;
    }
    look_at(listing, &looking, items);
    Str next = arena_copy(&call->arena, items->next);
    if (!is_enough(listing, items)) {
        listing->page.after = next;
        end->is_over = false;
        end->goes_on = true;
        if (end == &later) {
            ask(listing);
        }
    } else if (next.len == 0) {
        answer(listing, STR_EMPTY);
    } else {
        listing->next = next;
        cursor_key_get(call->api->cursor_key, answer_with_place, listing);
    }
}

/* Number of objects to request. */
static uint32_t chunk_of(const Listing *listing)
{
    bool is_known = listing->kind->list != NULL;
    if (listing->call->by_facts != NULL) {
        return is_known ? CHUNK_BY_FACTS : CHUNK;
    }
    return is_known ? CHUNK : UINT32_MAX;
}

/* Reads page by page. For synchronous kinds, `listed` has been called when `list` returns. */
static void ask(Listing *listing)
{
    PageEnd end;
    do {
        uint32_t rest = listing->limit - listing->wanted;
        end = (PageEnd){ 0 };
        listing->end = &end;
        listing->page.limit = rest < chunk_of(listing) ? rest : chunk_of(listing);
        /* Selectors by facts are evaluated here, so that LOOKED_MAX applies. */
        listing->page.selector = listing->call->by_facts == NULL ? listing->selector : NULL;
        listing->page.revision = listing->revision;
        arena_init(&listing->looking, ARENA_UNLIMITED);
        kind_list(listing->kind, call_settings(listing->call), &listing->looking, &listing->page,
                  listed, listing);
    } while (end.goes_on);
    if (!end.is_over) {
        listing->end = NULL;
    }
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
    call->by_facts = TAKE(selector);
    return true;
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
        read_selector(listing)) {
        if (call_parameter(call, "continue").len == 0) {
            ask(listing);
        } else {
            cursor_key_get(call->api->cursor_key, go_on_there, listing);
        }
    }
}
