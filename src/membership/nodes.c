/* Reading nodes: those of the roster, then pending machines. */
#include "membership/nodes.h"

#include "base/bug.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "cluster/cluster_keys.h"
#include "cluster/object_selector.h"
#include "lang/record.h"

enum {
    SESSION_MAX = 16 << 10 /* maximum size in bytes */
};

#define AFTER_NODES   STR("nodes/")
#define AFTER_WAITING STR("waiting/")

/* --- Unknown names --------------------------------------------------------------------------- */

/* The name is the last part of keys of both kinds. */
static void suggest_names(const State *state, Str prefix, KeyKind kind, uint32_t part,
                          Suggest *suggest)
{
    const StateEntry *entry;
    for (StateRange range = state_range(state, prefix, STR_EMPTY);
         (entry = state_next(&range)) != NULL;) {
        if (entry->kind == kind) {
            suggest_offer(suggest, entry->parts[part]);
        }
    }
}

bool nodes_not_found(const ClusterStore *cluster_store, Str name, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    Str suggestion;
    Suggest suggest = suggest_make(name);
    arena_init(&arena, ARENA_UNLIMITED);
    if (cluster_store->state != NULL) {
        suggest_names(cluster_store->state, cluster_key_node_all(&arena, cluster_store->prefix),
                      KEY_NODE, 0, &suggest);
        suggest_names(cluster_store->state, cluster_key_joining_all(&arena, cluster_store->prefix),
                      KEY_INTERNAL, 1, &suggest);
    }
    if (suggest_found(&suggest, &suggestion)) {
        return error_set(err, ERROR_NOT_FOUND,
                         "node '%" STR_FMT "' not found; did you mean '%" STR_FMT "'?",
                         STR_ARG(name), STR_ARG(suggestion));
    }
    return error_set(err, ERROR_NOT_FOUND, "node '%" STR_FMT "' not found", STR_ARG(name));
}

/* --- Records --------------------------------------------------------------------------------- */

bool node_record_is_revoked(const NodeRecord *record, const RevocationList *list)
{
    Error why;
    return strncmp(record->enrollment, record->serial, ENROLLMENT_TEXT) != 0 ||
           !revocation_check(list, str_from_c(record->name), str_from_c(record->serial), &why);
}

/* The fields of "eden.session/1" that lists show. */
typedef struct Budget {
    int64_t stored, limited_ms;
    char limit[sizeof(((NodeEntry *)NULL)->limit)];
} Budget;

static const RecordField budget_fields[] = {
    { "stored", RECORD_INT, RECORD_INT_AT(Budget, stored), .help = "size of its results in bytes" },
    { "limited_ms", RECORD_INT, RECORD_INT_AT(Budget, limited_ms),
      .help = "when it last exceeded a limit" },
    { "limit", RECORD_TEXT, RECORD_CHARS_AT(Budget, limit), .help = "which limit" },
    { 0 },
};

static const RecordFormat budget_format = {
    .format = "eden.session/1",
    .what = "the record of a session",
    .fields = budget_fields,
    .size = sizeof(Budget),
    .text_max = SESSION_MAX,
};

void node_entry_read_session(NodeEntry *entry, Str session)
{
    AUTO_CLEAR(Arena) arena;
    Budget budget;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (record_read(&budget_format, &arena, session, RECORD_STORED, &budget, &err)) {
        entry->results_bytes = budget.stored;
        entry->limited_ms = budget.limited_ms;
        memcpy(entry->limit, budget.limit, sizeof entry->limit);
    }
}

bool pending_entry_read(Arena *arena, Str name, const StateEntry *from, int64_t now_ms,
                        PendingEntry *out)
{
    Error err;
    *out = (PendingEntry){ .revision = from->mod_revision, .error = STR_EMPTY };
    if (pending_record_read(arena, from->value, &out->record, &err) &&
        (str_eq_c(name, out->record.name) ||
         error_set(&err, ERROR_INVALID, "the record has a different name, '%s'",
                   out->record.name))) {
        pending_record_prune(&out->record, now_ms);
        return out->record.count > 0;
    }
    out->record = (PendingRecord){ 0 };
    memcpy(out->record.name, name.data, name.len < NODE_NAME_MAX ? name.len : NODE_NAME_MAX);
    out->error = arena_format(arena, "%" STR_FMT ": %s", STR_ARG(from->key), err.text);
    return true;
}

static const PendingEntry *find_pending(Arena *arena, const ClusterStore *cluster_store, Str name)
{
    const StateEntry *joining =
        state_find(cluster_store->state, cluster_key_joining(arena, cluster_store->prefix, name));
    PendingEntry *entry = ARENA_NEW(arena, PendingEntry);
    bool is_waiting =
        joining != NULL &&
        pending_entry_read(arena, name, joining, loop_wall_ms(cluster_store->loop), entry);
    return is_waiting ? entry : NULL;
}

static NodeEntry entry_of(const ClusterStore *cluster_store, const RosterNode *node)
{
    const RevocationList *revoked = roster_revoked(cluster_store->roster);
    NodeEntry entry = { .node = node, .has_revocations = !revoked->is_unreadable };
    entry.is_revoked = entry.has_revocations && node->error.len == 0 &&
                       node_record_is_revoked(&node->record, revoked);
    if (node->session != NULL) {
        node_entry_read_session(&entry, node->session->value);
    }
    return entry;
}

static bool is_known(const ClusterStore *cluster_store, Error *err)
{
    return state_age(cluster_store->state).is_ready ||
           error_set(err, ERROR_UNAVAILABLE, "the server has not read the store yet");
}

/* --- Single nodes ---------------------------------------------------------------------------- */

bool nodes_show(Arena *arena, const ClusterStore *cluster_store, Str name, NodeView *out,
                Error *err)
{
    *out = (NodeView){ 0 };
    if (!node_name_check(name, err) || !is_known(cluster_store, err)) {
        return false;
    }
    const RosterNode *node = roster_find_any(cluster_store->roster, name);
    out->is_member = node != NULL;
    if (node != NULL) {
        out->node = entry_of(cluster_store, node);
    }
    out->node.pending = find_pending(arena, cluster_store, name);
    return node != NULL || out->node.pending != NULL || nodes_not_found(cluster_store, name, err);
}

/* --- Pages ----------------------------------------------------------------------------------- */

typedef struct Listing {
    Arena *arena;
    const ClusterStore *cluster_store;
    uint32_t limit; /* UINT32_MAX: no limit */
    const Selector *selector;
    VEC(NodeEntry) nodes;
    VEC(PendingEntry) waiting;
    Str next;
} Listing;

static bool is_full(const Listing *listing)
{
    return listing->nodes.len + listing->waiting.len == listing->limit;
}

/* Returns false if the page is full before all nodes are on it. */
static bool list_nodes(Listing *listing, Str after)
{
    const ClusterStore *cluster_store = listing->cluster_store;
    Str waiting = cluster_key_joining_all(listing->arena, cluster_store->prefix);
    StateRange joining = state_range(cluster_store->state, waiting, STR_EMPTY);
    bool has_waiting = state_next(&joining) != NULL;
    RosterRange range =
        roster_range(cluster_store->roster, listing->arena, listing->selector, after);
    for (const RosterNode *node; (node = roster_next(&range)) != NULL;) {
        Str name = str_from_c(node->record.name);
        if (is_full(listing)) {
            Str last = str_from_c(VEC_LAST(&listing->nodes).node->record.name);
            listing->next = arena_join(listing->arena, AFTER_NODES, last, STR_EMPTY);
            return false;
        }
        NodeEntry entry = entry_of(cluster_store, node);
        entry.pending = has_waiting ? find_pending(listing->arena, cluster_store, name) : NULL;
        VEC_PUSH(listing->arena, &listing->nodes, entry);
    }
    return true;
}

/* Machines that are nodes too were already listed. */
static void list_waiting(Listing *listing, Str after)
{
    Arena *arena = listing->arena;
    const ClusterStore *cluster_store = listing->cluster_store;
    Str start_key =
        after.len == 0 ? STR_EMPTY : cluster_key_joining(arena, cluster_store->prefix, after);
    StateRange range = state_range(
        cluster_store->state, cluster_key_joining_all(arena, cluster_store->prefix), start_key);
    for (const StateEntry *entry; (entry = state_next(&range)) != NULL;) {
        Str name = entry->parts[1];
        PendingEntry pending;
        Error err;
        if (!node_name_check(name, &err) || roster_find_any(cluster_store->roster, name) != NULL ||
            !object_selector_matches(listing->selector, name, value_missing()) ||
            !pending_entry_read(arena, name, entry, loop_wall_ms(cluster_store->loop), &pending)) {
            continue;
        }
        if (is_full(listing)) {
            Str last = listing->waiting.len == 0
                           ? STR_EMPTY
                           : str_from_c(VEC_LAST(&listing->waiting).record.name);
            listing->next = arena_join(arena, AFTER_WAITING, last, STR_EMPTY);
            return;
        }
        VEC_PUSH(arena, &listing->waiting, pending);
    }
}

static void list(Listing *listing, bool waiting, Str after, NodesListing *out)
{
    if (waiting) {
        list_waiting(listing, after);
    } else if (list_nodes(listing, after)) {
        list_waiting(listing, STR_EMPTY);
    }
    *out = (NodesListing){ .nodes = listing->nodes.items,
                           .node_count = listing->nodes.len,
                           .waiting = listing->waiting.items,
                           .waiting_count = listing->waiting.len,
                           .next = listing->next,
                           .revision = state_age(listing->cluster_store->state).revision };
}

static bool name_after(Str after, Str kind, Str *name)
{
    Error err;
    if (!str_starts(after, kind)) {
        return false;
    }
    *name = str_from_offset(after, kind.len);
    return name->len == 0 || node_name_check(*name, &err);
}

bool nodes_list(Arena *arena, const ClusterStore *cluster_store, const NodesPage *page,
                NodesListing *out, Error *err)
{
    Listing listing = { .arena = arena,
                        .cluster_store = cluster_store,
                        .limit = page->limit,
                        .selector = page->selector };
    Str name = STR_EMPTY;
    BUG_IF(page->limit == 0 || page->limit > NODES_PAGE_MAX);
    bool waiting = name_after(page->after, AFTER_WAITING, &name);
    if (!waiting && page->after.len > 0 &&
        (!name_after(page->after, AFTER_NODES, &name) || name.len == 0)) {
        return error_set(err, ERROR_INVALID, "invalid 'continue'; start again from the first page");
    }
    if (!is_known(cluster_store, err)) {
        return false;
    }
    list(&listing, waiting, name, out);
    return true;
}

bool nodes_list_all(Arena *arena, const ClusterStore *cluster_store, NodesListing *out, Error *err)
{
    Listing listing = { .arena = arena, .cluster_store = cluster_store, .limit = UINT32_MAX };
    if (!is_known(cluster_store, err)) {
        return false;
    }
    list(&listing, false, STR_EMPTY, out);
    return true;
}
