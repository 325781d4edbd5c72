#include "cluster/trust_listing.h"

#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "pki/revocation.h"

typedef struct Reading {
    ClusterStore at;
    Arena arena;
    NodeTrust *nodes;
    uint32_t count;
    TrustListed *done;
    void *context;
} Reading;

static void reading_end(Reading *reading, const Error *err)
{
    TrustListing listing = { reading->nodes, reading->count };
    reading->done(reading->context, err == NULL ? &listing : NULL, err);
    arena_clear(&reading->arena);
    free(reading);
}

static NodeTrust *find(Reading *reading, Str name)
{
    uint32_t low = 0, high = reading->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = str_compare(str_from_c(reading->nodes[middle].node->record.name), name);
        if (order == 0) {
            return &reading->nodes[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* The node that the key is about; its name is the last part. */
static NodeTrust *node_of(Reading *reading, Str key)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind kind;
    if (!key_parse(&reading->arena, reading->at.prefix, key, &kind, parts)) {
        return NULL;
    }
    return find(reading, parts[key_part_count(kind) - 1]);
}

static bool mark_revoked(Reading *reading, const StoreOpReply *reply, Error *err)
{
    RevocationList list = { 0 };
    if (reply->kv_count > 0 && !revocation_read(&reading->arena, reply->kvs[0].value, &list, err)) {
        return false;
    }
    for (uint32_t i = 0; i < reading->count; i++) {
        const NodeRecord *record = &reading->nodes[i].node->record;
        reading->nodes[i].is_revoked = node_record_is_revoked(record, &list);
    }
    return true;
}

static void reports_came(void *context, const StoreReply *reply, const Error *err)
{
    Reading *reading = context;
    if (err != NULL) {
        reading_end(reading, err);
        return;
    }
    const StoreOpReply *reports = &reply->ops[0], *left = &reply->ops[1];
    for (uint32_t i = 0; i < reports->kv_count; i++) {
        NodeTrust *node = node_of(reading, reports->kvs[i].key);
        Error unread;
        if (node != NULL) {
            node->has_report =
                trust_report_read(&reading->arena, reports->kvs[i].value, &node->report, &unread);
        }
    }
    for (uint32_t i = 0; i < left->kv_count; i++) {
        NodeTrust *node = node_of(reading, left->kvs[i].key);
        if (node != NULL) {
            node->is_left = true;
        }
    }
    Error failure;
    reading_end(reading, mark_revoked(reading, &reply->ops[2], &failure) ? NULL : &failure);
}

/* The entries are borrowed for this call: what is kept of them is copied. */
static void nodes_came(void *context, const NodesListing *listing, const Error *err)
{
    Reading *reading = context;
    Arena *arena = &reading->arena;
    Error failure;
    if (err != NULL) {
        reading_end(reading, err);
        return;
    }
    NodeEntry *entries = ARENA_ARRAY(arena, NodeEntry, listing->node_count + 1);
    reading->nodes = ARENA_ARRAY(arena, NodeTrust, listing->node_count + 1);
    reading->count = listing->node_count;
    for (uint32_t i = 0; i < listing->node_count; i++) {
        entries[i] = listing->nodes[i];
        entries[i].error = arena_copy(arena, entries[i].error);
        entries[i].record.labels = entries[i].record.annotations = value_missing();
        reading->nodes[i] = (NodeTrust){ .node = &entries[i] };
    }
    Str prefix = reading->at.prefix;
    Str reports = cluster_key_trust_all(arena, prefix);
    Str left = cluster_key_without_all(arena, prefix);
    StoreOp ops[] = {
        { .kind = STORE_RANGE, .key = reports, .end = store_prefix_end(arena, reports) },
        { .kind = STORE_RANGE, .key = left, .end = store_prefix_end(arena, left) },
        { .kind = STORE_RANGE, .key = cluster_key_revocations(arena, prefix) },
    };
    StoreTxn txn = { .success = ops, .success_count = COUNT_OF(ops) };
    if (!store_txn(reading->at.store, &txn, reports_came, reading, &failure)) {
        reading_end(reading, &failure);
    }
}

void trust_list(const ClusterStore *at, TrustListed *done, void *context)
{
    Reading *reading = memory_new(sizeof *reading);
    reading->at = *at;
    reading->done = done;
    reading->context = context;
    arena_init(&reading->arena, ARENA_UNLIMITED);
    nodes_list_all(&reading->at, nodes_came, reading);
}
