/* Nodes page by page, then the machines that ask.
 *
 * A node's own key and those that tell of its liveness stand side by side, unless the name of another
 * node stands between them; so a page takes the former, and then asks for the latter by name. */
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/vec.h"
#include "cluster/cluster_keys.h"
#include "cluster/nodes.h"
#include "pki/json_fields.h"

enum {
    KEYS_PER_NODE = 3, /* that stand side by side */
    DETAILS_PER_NODE = 5,
    DETAIL_NODES = STORE_OPS_MAX / DETAILS_PER_NODE, /* of one transaction */
    LIVENESS_MAX = 16 << 10,                         /* bytes */
    LIVENESS_VALUES = 16
};

#define AFTER_NODES   STR("nodes/")
#define AFTER_WAITING STR("waiting/")

typedef struct Listing {
    ClusterStore at;
    Arena arena;
    uint32_t limit;
    VEC(NodeEntry) nodes; /* as many as there are: most pages are not full */
    bool more_nodes;
    bool knows_revoked;
    RevocationList revoked;
    JoiningEntry *waiting;
    uint32_t waiting_count;
    bool *is_node;  /* which of those are nodes too */
    uint32_t asked; /* transactions for details that are not answered */
    const Error *failure;
    NodesListing out;
    NodesListed *done;
    void *context;
} Listing;

/* What is asked for of some of the nodes. */
typedef struct Details {
    Listing *listing;
    uint32_t first, count;
} Details;

/* --- Liveness -------------------------------------------------------------------------------- */

static bool read_object(Arena *arena, Str text, Value *out)
{
    Error err;
    return text.len > 0 && json_object_read(arena, text, LIVENESS_MAX, LIVENESS_VALUES, out, &err);
}

/* What cannot be read tells nothing; that the key is there does. */
void node_entry_read_liveness(NodeEntry *entry, Str alive, Str silent)
{
    AUTO_CLEAR(Arena) arena;
    Value object;
    arena_init(&arena, ARENA_UNLIMITED);
    entry->is_alive = alive.len > 0;
    if (read_object(&arena, entry->is_alive ? alive : silent, &object)) {
        entry->since_ms = value_get_int(object, "since_ms");
        const Value *version = value_get(object, STR("version"));
        if (version == NULL || !value_is_string(*version) ||
            !json_copy(*version, entry->version, sizeof entry->version)) {
            entry->version[0] = '\0';
        }
    }
}

void node_entry_read_session(NodeEntry *entry, Str session)
{
    AUTO_CLEAR(Arena) arena;
    Value object;
    arena_init(&arena, ARENA_UNLIMITED);
    if (read_object(&arena, session, &object)) {
        entry->results_bytes = value_get_int(object, "stored");
        entry->limited_ms = value_get_int(object, "limited_ms");
        Str limit = value_get_text(object, "limit");
        if (limit.len < sizeof entry->limit) {
            memcpy(entry->limit, limit.data, limit.len);
        }
    }
}

/* --- The end --------------------------------------------------------------------------------- */

static void listing_end(Listing *listing, const Error *err)
{
    listing->done(listing->context, err == NULL ? &listing->out : NULL, err);
    arena_clear(&listing->arena);
    free(listing);
}

static Str next_after(Listing *listing, Str kind, const char *name)
{
    return arena_join(&listing->arena, kind, str_from_c(name), STR_EMPTY);
}

static void keep_failure(Listing *listing, const Error *err)
{
    if (listing->failure == NULL) {
        Error *kept = ARENA_NEW(&listing->arena, Error);
        *kept = *err;
        listing->failure = kept;
    }
}

/* The first answer tells as of when all is. */
static void note_revision(Listing *listing, const StoreReply *reply)
{
    if (listing->out.revision == 0) {
        listing->out.revision = reply->revision;
    }
}

/* --- Those who ask --------------------------------------------------------------------------- */

static void waiting_answered(Listing *listing)
{
    if (--listing->asked > 0) {
        return;
    }
    for (uint32_t i = 0; i < listing->waiting_count; i++) {
        if (!listing->is_node[i]) {
            listing->waiting[listing->out.waiting_count++] = listing->waiting[i];
        }
    }
    listing->out.waiting = listing->waiting;
    listing_end(listing, listing->failure);
}

/* Those that are nodes too were listed as such. */
static void members_told(void *context, const StoreReply *reply, const Error *err)
{
    const Details *details = context;
    Listing *listing = details->listing;
    if (err != NULL) {
        keep_failure(listing, err);
    }
    for (uint32_t i = 0; err == NULL && i < details->count; i++) {
        listing->is_node[details->first + i] = reply->ops[i].count > 0;
    }
    waiting_answered(listing);
}

static void ask_members(Listing *listing, uint32_t first, uint32_t count)
{
    StoreOp ops[STORE_OPS_MAX];
    Details *details = ARENA_NEW(&listing->arena, Details);
    *details = (Details){ listing, first, count };
    for (uint32_t i = 0; i < count; i++) {
        Str name = str_from_c(listing->waiting[first + i].record.name);
        ops[i] = (StoreOp){ .kind = STORE_RANGE,
                            .key = cluster_key_node(&listing->arena, listing->at.prefix, name),
                            .count_only = true };
    }
    StoreTxn txn = { .success = ops, .success_count = count };
    Error err;
    listing->asked++;
    if (!store_txn(listing->at.store, &txn, members_told, details, &err)) {
        keep_failure(listing, &err);
        listing->asked--;
    }
}

/* What is called otherwise is no node, and no page can go on behind it. */
static bool is_name(Str name)
{
    Error err;
    return node_name_check(name, &err);
}

/* What stands right behind the key. */
static Str behind(Arena *arena, Str key)
{
    return arena_join(arena, key, STR("\0"), STR_EMPTY);
}

static void read_waiting_from(Listing *listing, Str key);

static void waiting_came(void *context, const StoreReply *reply, const Error *err)
{
    Listing *listing = context;
    if (err != NULL) {
        listing_end(listing, err);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    listing->waiting = ARENA_ARRAY(&listing->arena, JoiningEntry, range->kv_count);
    listing->is_node = ARENA_ARRAY(&listing->arena, bool, range->kv_count);
    note_revision(listing, reply);
    for (uint32_t i = 0; i < range->kv_count; i++) {
        KeyKind kind;
        Str parts[KEYS_PARTS_MAX];
        if (key_parse(&listing->arena, listing->at.prefix, range->kvs[i].key, &kind, parts) &&
            kind == KEY_OBJECT && is_name(parts[1])) {
            listing->is_node[listing->waiting_count] = false;
            listing->waiting_count += joining_entry_read(&listing->arena, parts[1], &range->kvs[i],
                                                         loop_wall_ms(listing->at.loop),
                                                         &listing->waiting[listing->waiting_count]);
        }
    }
    if (range->more && listing->waiting_count == 0) {
        read_waiting_from(listing, behind(&listing->arena, range->kvs[range->kv_count - 1].key));
        return;
    }
    if (range->more) {
        listing->out.next = next_after(listing, AFTER_WAITING,
                                       listing->waiting[listing->waiting_count - 1].record.name);
    }
    listing->asked = 1;
    for (uint32_t first = 0; first < listing->waiting_count; first += STORE_OPS_MAX) {
        uint32_t left = listing->waiting_count - first;
        ask_members(listing, first, left < STORE_OPS_MAX ? left : STORE_OPS_MAX);
    }
    waiting_answered(listing);
}

static void read_waiting_from(Listing *listing, Str key)
{
    Arena *arena = &listing->arena;
    Str all = cluster_key_joining_all(arena, listing->at.prefix);
    StoreOp op = { .kind = STORE_RANGE,
                   .key = key,
                   .end = store_prefix_end(arena, all),
                   .limit = listing->limit - listing->nodes.len };
    Error err;
    if (!store_op(listing->at.store, &op, waiting_came, listing, &err)) {
        listing_end(listing, &err);
    }
}

static void read_waiting(Listing *listing, Str after)
{
    Arena *arena = &listing->arena;
    Str prefix = listing->at.prefix;
    read_waiting_from(listing, after.len == 0
                                   ? cluster_key_joining_all(arena, prefix)
                                   : behind(arena, cluster_key_joining(arena, prefix, after)));
}

/* --- Nodes ----------------------------------------------------------------------------------- */

static void all_details_came(Listing *listing)
{
    for (uint32_t i = 0; i < listing->nodes.len; i++) {
        NodeEntry *entry = &listing->nodes.items[i];
        entry->knows_revoked = listing->knows_revoked;
        entry->is_revoked =
            entry->error.len == 0 && node_record_is_revoked(&entry->record, &listing->revoked);
    }
    listing->out.nodes = listing->nodes.items;
    listing->out.node_count = listing->nodes.len;
    if (listing->failure != NULL) {
        listing_end(listing, listing->failure);
    } else if (listing->more_nodes) {
        listing->out.next = next_after(listing, AFTER_NODES, VEC_LAST(&listing->nodes).record.name);
        listing_end(listing, NULL);
    } else if (listing->nodes.len == listing->limit) {
        listing->out.next = AFTER_WAITING;
        listing_end(listing, NULL);
    } else {
        read_waiting(listing, STR_EMPTY);
    }
}

static void detail_answered(Listing *listing)
{
    if (--listing->asked == 0) {
        all_details_came(listing);
    }
}

static Str value_of(const StoreOpReply *reply)
{
    return reply->kv_count > 0 ? reply->kvs[0].value : STR_EMPTY;
}

static void details_came(void *context, const StoreReply *reply, const Error *err)
{
    const Details *details = context;
    Listing *listing = details->listing;
    if (err != NULL) {
        keep_failure(listing, err);
    }
    for (uint32_t i = 0; err == NULL && i < details->count; i++) {
        NodeEntry *entry = &listing->nodes.items[details->first + i];
        const StoreOpReply *replies = &reply->ops[(size_t)i * DETAILS_PER_NODE];
        node_entry_read_liveness(entry, value_of(&replies[0]), value_of(&replies[1]));
        entry->has_facts = replies[2].count > 0;
        node_entry_read_session(entry, value_of(&replies[4]));
        entry->asking =
            replies[3].kv_count == 0
                ? NULL
                : joining_entry_find(&listing->arena, str_from_c(entry->record.name),
                                     &replies[3].kvs[0], loop_wall_ms(listing->at.loop));
    }
    detail_answered(listing);
}

static void ask_details(Listing *listing, uint32_t first, uint32_t count)
{
    Arena *arena = &listing->arena;
    Str prefix = listing->at.prefix;
    StoreOp ops[DETAIL_NODES * DETAILS_PER_NODE];
    Details *details = ARENA_NEW(arena, Details);
    *details = (Details){ listing, first, count };
    for (uint32_t i = 0; i < count; i++) {
        Str name = str_from_c(listing->nodes.items[first + i].record.name);
        StoreOp *op = &ops[(size_t)i * DETAILS_PER_NODE];
        op[0] = (StoreOp){ .kind = STORE_RANGE, .key = cluster_key_alive(arena, prefix, name) };
        op[1] = (StoreOp){ .kind = STORE_RANGE, .key = cluster_key_silent(arena, prefix, name) };
        op[2] = (StoreOp){ .kind = STORE_RANGE,
                           .key = cluster_key_facts(arena, prefix, name),
                           .count_only = true };
        op[3] = (StoreOp){ .kind = STORE_RANGE, .key = cluster_key_joining(arena, prefix, name) };
        op[4] = (StoreOp){ .kind = STORE_RANGE, .key = cluster_key_session(arena, prefix, name) };
    }
    StoreTxn txn = { .success = ops, .success_count = count * DETAILS_PER_NODE };
    Error err;
    listing->asked++;
    if (!store_txn(listing->at.store, &txn, details_came, details, &err)) {
        keep_failure(listing, &err);
        listing->asked--;
    }
}

static void revocations_came(void *context, const StoreReply *reply, const Error *err)
{
    Listing *listing = context;
    Error bad;
    Str text = err == NULL ? arena_copy(&listing->arena, value_of(&reply->ops[0])) : STR_EMPTY;
    listing->knows_revoked =
        text.len == 0 || revocation_read(&listing->arena, text, &listing->revoked, &bad);
    if (err != NULL) {
        keep_failure(listing, err);
    }
    detail_answered(listing);
}

static void ask_revocations(Listing *listing)
{
    Error err;
    listing->asked++;
    if (!store_get(listing->at.store, cluster_key_revocations(&listing->arena, listing->at.prefix),
                   revocations_came, listing, &err)) {
        keep_failure(listing, &err);
        listing->asked--;
    }
}

/* The answers may come from within, when the store closes: one is owed by us until all are asked. */
static void ask_all_details(Listing *listing)
{
    listing->asked = 1;
    for (uint32_t first = 0; first < listing->nodes.len; first += DETAIL_NODES) {
        uint32_t left = listing->nodes.len - first;
        ask_details(listing, first, left < DETAIL_NODES ? left : DETAIL_NODES);
    }
    if (listing->nodes.len > 0) {
        ask_revocations(listing);
    }
    detail_answered(listing);
}

static void read_nodes(Listing *listing, Str from);

static void take_nodes(Listing *listing, const StoreOpReply *range)
{
    for (uint32_t i = 0; i < range->kv_count; i++) {
        const StoreKv *kv = &range->kvs[i];
        KeyKind kind;
        Str parts[KEYS_PARTS_MAX];
        if (!key_parse(&listing->arena, listing->at.prefix, kv->key, &kind, parts) ||
            kind != KEY_NODE || !is_name(parts[0])) {
            continue;
        }
        if (listing->nodes.len == listing->limit) {
            listing->more_nodes = true;
            return;
        }
        VEC_RESERVE(&listing->arena, &listing->nodes, 1);
        node_entry_read(&listing->arena, parts[0], kv, &listing->nodes.items[listing->nodes.len++]);
    }
}

static void nodes_came(void *context, const StoreReply *reply, const Error *err)
{
    Listing *listing = context;
    if (err != NULL) {
        listing_end(listing, err);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    note_revision(listing, reply);
    take_nodes(listing, range);
    if (range->more && !listing->more_nodes) {
        read_nodes(listing, behind(&listing->arena, range->kvs[range->kv_count - 1].key));
    } else {
        ask_all_details(listing);
    }
}

static void read_nodes(Listing *listing, Str from)
{
    Str all = cluster_key_node_all(&listing->arena, listing->at.prefix);
    StoreOp op = { .kind = STORE_RANGE,
                   .key = from,
                   .end = store_prefix_end(&listing->arena, all),
                   .limit = ((int64_t)listing->limit + 1 - listing->nodes.len) * KEYS_PER_NODE };
    Error err;
    if (!store_op(listing->at.store, &op, nodes_came, listing, &err)) {
        listing_end(listing, &err);
    }
}

/* --- The beginning --------------------------------------------------------------------------- */

static bool name_after(Str after, Str kind, Str *name)
{
    Error err;
    if (!str_starts(after, kind)) {
        return false;
    }
    *name = str_from_offset(after, kind.len);
    return name->len == 0 || node_name_check(*name, &err);
}

void nodes_list(const ClusterStore *at, const NodesPage *page, NodesListed *done, void *context)
{
    Str name = STR_EMPTY;
    BUG_IF(page->limit == 0 || page->limit > NODES_PAGE_MAX);
    bool waiting = name_after(page->after, AFTER_WAITING, &name);
    if (!waiting && page->after.len > 0 &&
        (!name_after(page->after, AFTER_NODES, &name) || name.len == 0)) {
        Error err;
        error_set(&err, ERROR_INVALID, "no page of nodes begins there");
        done(context, NULL, &err);
        return;
    }
    Listing *listing = memory_new(sizeof *listing);
    *listing = (Listing){ .at = *at, .limit = page->limit, .done = done, .context = context };
    arena_init(&listing->arena, ARENA_UNLIMITED);
    Arena *arena = &listing->arena;
    listing->at.prefix = arena_copy(arena, at->prefix);
    if (waiting) {
        read_waiting(listing, name);
    } else {
        read_nodes(listing, name.len == 0
                                ? cluster_key_node_all(arena, at->prefix)
                                : behind(arena, cluster_key_node(arena, at->prefix, name)));
    }
}

/* --- All of them ----------------------------------------------------------------------------- */

typedef struct Whole {
    ClusterStore at;
    Arena arena;
    VEC(NodeEntry) nodes;
    VEC(JoiningEntry) waiting;
    NodesListed *done;
    void *context;
} Whole;

static void whole_end(Whole *whole, const Error *err)
{
    NodesListing listing = { .nodes = whole->nodes.items,
                             .node_count = whole->nodes.len,
                             .waiting = whole->waiting.items,
                             .waiting_count = whole->waiting.len };
    whole->done(whole->context, err == NULL ? &listing : NULL, err);
    arena_clear(&whole->arena);
    free(whole);
}

static const JoiningEntry *copy_asking(Arena *arena, const JoiningEntry *asking)
{
    if (asking == NULL) {
        return NULL;
    }
    JoiningEntry *copy = ARENA_NEW(arena, JoiningEntry);
    *copy = *asking;
    copy->error = arena_copy(arena, asking->error);
    return copy;
}

static void page_came(void *context, const NodesListing *listing, const Error *err)
{
    Whole *whole = context;
    Arena *arena = &whole->arena;
    if (err != NULL) {
        whole_end(whole, err);
        return;
    }
    for (uint32_t i = 0; i < listing->node_count; i++) {
        NodeEntry entry = listing->nodes[i];
        entry.error = arena_copy(arena, entry.error);
        entry.asking = copy_asking(arena, entry.asking);
        entry.record.labels = value_copy(arena, entry.record.labels);
        entry.record.annotations = value_missing();
        VEC_PUSH(arena, &whole->nodes, entry);
    }
    for (uint32_t i = 0; i < listing->waiting_count; i++) {
        JoiningEntry entry = listing->waiting[i];
        entry.error = arena_copy(arena, entry.error);
        VEC_PUSH(arena, &whole->waiting, entry);
    }
    if (listing->next.len == 0) {
        whole_end(whole, NULL);
        return;
    }
    nodes_list(&whole->at, &(NodesPage){ .after = listing->next, .limit = NODES_PAGE_MAX },
               page_came, whole);
}

void nodes_list_all(const ClusterStore *at, NodesListed *done, void *context)
{
    Whole *whole = memory_new(sizeof *whole);
    *whole = (Whole){ .at = *at, .done = done, .context = context };
    arena_init(&whole->arena, ARENA_UNLIMITED);
    nodes_list(&whole->at, &(NodesPage){ .limit = NODES_PAGE_MAX }, page_came, whole);
}
