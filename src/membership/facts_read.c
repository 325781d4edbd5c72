/* Reads stored facts, one node or one page of nodes at a time. */
#include "membership/facts_read.h"

#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "membership/node_record.h"

typedef struct FactsRead {
    ClusterStore cluster_store;
    Arena arena;
    StoreOp op;
    Str all; /* common prefix of the keys of facts */
    FactsListed *listed;
    FactsGetDone *get_done; /* NULL: a page is read */
    void *context;
} FactsRead;

static FactsRead *facts_read_new(const ClusterStore *cluster_store)
{
    FactsRead *read = memory_new(sizeof *read);
    arena_init(&read->arena, ARENA_UNLIMITED);
    read->cluster_store = *cluster_store;
    read->cluster_store.prefix = arena_copy(&read->arena, cluster_store->prefix);
    read->all = key_make_prefix(&read->arena, cluster_store->prefix, KEY_FACTS, NULL, 0);
    return read;
}

static void facts_read_end(FactsRead *read, const FactsPage *page, const Error *err)
{
    if (read->get_done != NULL) {
        read->get_done(read->context, err == NULL && page->count > 0 ? &page->items[0] : NULL, err);
    } else {
        read->listed(read->context, page, err);
    }
    arena_clear(&read->arena);
    free(read);
}

static void read_next(FactsRead *read);

static void on_facts(void *context, const StoreReply *reply, const Error *err)
{
    FactsRead *read = context;
    if (err != NULL && err->kind == ERROR_NOT_FOUND && read->op.revision > 0) {
        read->op.revision = 0; /* the revision was compacted, so read the current one */
        read_next(read);
        return;
    }
    if (err != NULL) {
        facts_read_end(read, NULL, err);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    NodeFacts *items = ARENA_ARRAY(&read->arena, NodeFacts, range->kv_count);
    FactsPage page = { .items = items,
                       .revision = read->op.revision > 0 ? read->op.revision : reply->revision };
    for (uint32_t i = 0; i < range->kv_count; i++) {
        const StoreKv *kv = &range->kvs[i];
        KeyKind kind;
        Str parts[KEYS_PARTS_MAX];
        Error ignored;
        if (key_parse(&read->arena, read->cluster_store.prefix, kv->key, &kind, parts) &&
            kind == KEY_FACTS && node_name_check(parts[0], &ignored)) {
            items[page.count++] = (NodeFacts){ parts[0], kv->value, kv->mod_revision };
        }
    }
    if (range->more && range->kv_count > 0) {
        page.next = str_from_offset(range->kvs[range->kv_count - 1].key, read->all.len);
    }
    facts_read_end(read, &page, NULL);
}

static void read_next(FactsRead *read)
{
    Error err;
    if (!cluster_read(&read->cluster_store, &read->op, 1, on_facts, read, &err)) {
        facts_read_end(read, NULL, &err);
    }
}

void facts_list(const ClusterStore *cluster_store, const FactsQuery *query, FactsListed *done,
                void *context)
{
    FactsRead *read = facts_read_new(cluster_store);
    Arena *arena = &read->arena;
    Str all = read->all;
    /* Starts at the first key after the last one. */
    read->op = (StoreOp){
        .kind = STORE_RANGE,
        .key = query->after.len == 0 ? all : arena_join(arena, all, query->after, STR("\0")),
        .end = store_prefix_end(arena, all),
        .limit = query->limit,
        .revision = query->revision,
    };
    read->listed = done;
    read->context = context;
    read_next(read);
}

void facts_get(const ClusterStore *cluster_store, Str node, FactsGetDone *done, void *context)
{
    FactsRead *read = facts_read_new(cluster_store);
    read->op = (StoreOp){ .kind = STORE_RANGE,
                          .key = cluster_key_facts(&read->arena, cluster_store->prefix, node) };
    read->get_done = done;
    read->context = context;
    read_next(read);
}
