/* Facts: what a node reported about itself. */
#include "api/kind_rows.h"
#include "cluster/cluster_keys.h"
#include "lang/json.h"
#include "membership/facts_read.h"
#include "membership/nodes.h"

enum {
    OUTER_DEPTH_MAX = 12 /* levels of nesting around facts in responses */
};

/* --- Objects --------------------------------------------------------------------------------- */

/* Facts come from nodes and may be malformed; then only this object shows an error. */
static bool read_facts(Arena *arena, Str text, Value *out, Error *err)
{
    AUTO_CLEAR(Buf) printed = buf_make(BUF_UNLIMITED);
    JsonOptions options = json_options_default;
    options.limits.depth = VALUE_DEPTH_MAX - OUTER_DEPTH_MAX;
    return json_parse_text(arena, text, &options, out, err) &&
           (out->kind == VALUE_MAP ||
            error_set(err, ERROR_INVALID, "facts must be a JSON object")) &&
           json_print(&printed, *out, NULL, err);
}

static void item_start(const Kind *kind, Arena *arena, const NodeFacts *facts, KindItem *out)
{
    Error err;
    *out = (KindItem){ .name = arena_copy(arena, facts->node),
                       .labels = value_missing(),
                       .annotations = value_missing(),
                       .revision = facts->revision,
                       .spec = value_missing() };
    if (!read_facts(arena, arena_copy(arena, facts->text), &out->status, &err)) {
        Map *status = map_new(arena, 1);
        map_set_str(arena, status, STR("error"),
                    value_string(arena_copy(arena, str_from_c(err.text))));
        out->status = value_map(status);
    }
    object_uuid(kind, out->name, out->uuid);
}

/* Uses the labels of the node, so that selectors match nodes and their facts alike. The UUID
 * changes if another machine gets the name. */
static void item_set_node(const Kind *kind, Arena *arena, const ClusterStore *cluster_store,
                          KindItem *item)
{
    const RosterNode *node = roster_find_any(cluster_store->roster, item->name);
    if (node == NULL) {
        return;
    }
    item->labels_unreadable = node->error.len > 0;
    if (!item->labels_unreadable) {
        item->labels = value_copy(arena, node->record.labels);
        object_uuid(kind, str_from_c(node->record.enrollment), item->uuid);
    }
}

static Str facts_watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    switch (which) {
    case 0: return key_make_prefix(arena, prefix, KEY_FACTS, NULL, 0);
    case 1: return cluster_key_node_all(arena, prefix);
    default: return STR_EMPTY;
    }
}

static bool facts_key_to_name(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind found;
    Error err;
    if (!key_parse(arena, prefix, key, &found, parts) ||
        (found != KEY_FACTS && found != KEY_NODE)) {
        return false;
    }
    *name = parts[0];
    return node_name_check(*name, &err);
}

/* --- Lists ----------------------------------------------------------------------------------- */

typedef struct FactsRead {
    const Kind *kind;
    ClusterStore cluster_store;
    Arena *arena;
    Str name;
    KindListed *listed;
    KindGetDone *got;
    void *context;
} FactsRead;

static FactsRead *facts_read_new(const Kind *kind, const ApiSettings *settings, Arena *arena)
{
    FactsRead *read = ARENA_NEW(arena, FactsRead);
    *read = (FactsRead){ .kind = kind, .cluster_store = settings->cluster_store, .arena = arena };
    return read;
}

static void on_page(void *context, const FactsPage *page, const Error *err)
{
    const FactsRead *read = context;
    if (err != NULL) {
        read->listed(read->context, NULL, err);
        return;
    }
    KindItem *items = ARENA_ARRAY(read->arena, KindItem, page->count);
    KindItems out = { .items = items,
                      .count = page->count,
                      .next = arena_copy(read->arena, page->next),
                      .revision = page->revision };
    for (uint32_t i = 0; i < page->count; i++) {
        item_start(read->kind, read->arena, &page->items[i], &items[i]);
        item_set_node(read->kind, read->arena, &read->cluster_store, &items[i]);
    }
    read->listed(read->context, &out, NULL);
}

static void list_facts(const Kind *kind, const ApiSettings *settings, Arena *arena,
                       const KindPage *page, KindListed *done, void *context)
{
    FactsRead *read = facts_read_new(kind, settings, arena);
    FactsQuery query = { .after = page->after, .limit = page->limit, .revision = page->revision };
    read->listed = done;
    read->context = context;
    facts_list(&settings->cluster_store, &query, on_page, read);
}

/* --- Single object --------------------------------------------------------------------------- */

/* Distinguishes a missing node from one that has sent no facts. */
static void report_missing(const FactsRead *read)
{
    NodeView view;
    Error err;
    if (nodes_show(read->arena, &read->cluster_store, read->name, &view, &err)) {
        error_set(&err, ERROR_NOT_FOUND,
                  view.is_member ? "'%" STR_FMT
                                   "' has never sent facts; is 'eden agent' running there?"
                                 : "'%" STR_FMT "' has not been approved yet and has sent no facts",
                  STR_ARG(read->name));
    }
    read->got(read->context, NULL, &err);
}

static void on_facts(void *context, const NodeFacts *facts, const Error *err)
{
    const FactsRead *read = context;
    KindItem item;
    if (err != NULL) {
        read->got(read->context, NULL, err);
    } else if (facts == NULL) {
        report_missing(read);
    } else {
        item_start(read->kind, read->arena, facts, &item);
        item_set_node(read->kind, read->arena, &read->cluster_store, &item);
        read->got(read->context, &item, NULL);
    }
}

static void get_facts(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                      KindGetDone *done, void *context)
{
    FactsRead *read = facts_read_new(kind, settings, arena);
    Error err;
    read->name = arena_copy(arena, name);
    read->got = done;
    read->context = context;
    if (node_name_check(name, &err)) {
        facts_get(&settings->cluster_store, name, on_facts, read);
    } else {
        done(context, NULL, &err);
    }
}

/* --- Row ------------------------------------------------------------------------------------- */

/* The facts themselves are defined in src/facts. */
static const KindColumn columns[] = {
    { "OS", "status.os", false, NULL },
    { "VERSION", "status.os_version", false, NULL },
    { "KERNEL", "status.kernel", false, NULL },
    { "ARCH", "status.arch", false, NULL },
    { "CPUS", "status.cpus", true, NULL },
    { "MEMORY", "status.memory.total", true, NULL },
    { 0 },
};

const Kind kind_facts = {
    .name = "Facts",
    .plural = "facts",
    .help = "Facts that a node reported about itself; the labels are those of the node.",
    .verbs = KIND_LIST | KIND_GET,
    .columns = columns,
    .name_help = "the name of the node",
    .list_async = list_facts,
    .get_async = get_facts,
    .watch_prefix = facts_watch_prefix,
    .key_to_name = facts_key_to_name,
    .selects_facts = true,
};
