#include "membership/facts_read.h"

#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/cluster_read.h"
#include "membership/node_record.h"

typedef struct Reading {
    ClusterStore at;
    Arena arena;
    StoreOp op;
    Str all; /* what their keys begin with */
    FactsListed *listed;
    FactsGot *got; /* NULL: a page is read */
    void *context;
} Reading;

static Reading *reading_new(const ClusterStore *at)
{
    Reading *reading = memory_new(sizeof *reading);
    arena_init(&reading->arena, ARENA_UNLIMITED);
    reading->at = *at;
    reading->at.prefix = arena_copy(&reading->arena, at->prefix);
    reading->all = key_make_prefix(&reading->arena, at->prefix, KEY_FACTS, NULL, 0);
    return reading;
}

static void reading_end(Reading *reading, const FactsPage *page, const Error *err)
{
    if (reading->got != NULL) {
        reading->got(reading->context, err == NULL && page->count > 0 ? &page->items[0] : NULL,
                     err);
    } else {
        reading->listed(reading->context, page, err);
    }
    arena_clear(&reading->arena);
    free(reading);
}

static void ask(Reading *reading);

static void facts_came(void *context, const StoreReply *reply, const Error *err)
{
    Reading *reading = context;
    if (err != NULL && err->kind == ERROR_NOT_FOUND && reading->op.revision > 0) {
        reading->op.revision = 0; /* it was compacted */
        ask(reading);
        return;
    }
    if (err != NULL) {
        reading_end(reading, NULL, err);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    NodeFacts *items = ARENA_ARRAY(&reading->arena, NodeFacts, range->kv_count);
    FactsPage page = { .items = items,
                       .revision =
                           reading->op.revision > 0 ? reading->op.revision : reply->revision };
    for (uint32_t i = 0; i < range->kv_count; i++) {
        const StoreKv *kv = &range->kvs[i];
        KeyKind kind;
        Str parts[KEYS_PARTS_MAX];
        Error ignored;
        if (key_parse(&reading->arena, reading->at.prefix, kv->key, &kind, parts) &&
            kind == KEY_FACTS && node_name_check(parts[0], &ignored)) {
            items[page.count++] = (NodeFacts){ parts[0], kv->value, kv->mod_revision };
        }
    }
    if (range->more && range->kv_count > 0) {
        page.next = str_from_offset(range->kvs[range->kv_count - 1].key, reading->all.len);
    }
    reading_end(reading, &page, NULL);
}

static void ask(Reading *reading)
{
    Error err;
    if (!cluster_read(&reading->at, &reading->op, 1, facts_came, reading, &err)) {
        reading_end(reading, NULL, &err);
    }
}

void facts_list(const ClusterStore *at, const FactsQuery *query, FactsListed *done, void *context)
{
    Reading *reading = reading_new(at);
    Arena *arena = &reading->arena;
    Str all = reading->all;
    /* Behind the last one is the first key that follows it. */
    reading->op = (StoreOp){
        .kind = STORE_RANGE,
        .key = query->after.len == 0 ? all : arena_join(arena, all, query->after, STR("\0")),
        .end = store_prefix_end(arena, all),
        .limit = query->limit,
        .revision = query->revision,
    };
    reading->listed = done;
    reading->context = context;
    ask(reading);
}

void facts_get(const ClusterStore *at, Str node, FactsGot *done, void *context)
{
    Reading *reading = reading_new(at);
    reading->op = (StoreOp){ .kind = STORE_RANGE,
                             .key = cluster_key_facts(&reading->arena, at->prefix, node) };
    reading->got = done;
    reading->context = context;
    ask(reading);
}
