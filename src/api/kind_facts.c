/* Facts: what a node has told of itself. */
#include "api/kind_rows.h"
#include "cluster/cluster_keys.h"
#include "cluster/nodes.h"
#include "lang/json.h"

enum {
    ROUND_MAX = 12 /* levels that stand around facts in whatever is answered */
};

/* --- Objects --------------------------------------------------------------------------------- */

/* A node tells its own facts: what is no JSON is told as that, and breaks nothing around it. */
static bool read_facts(Arena *arena, Str text, Value *out, Error *err)
{
    AUTO_CLEAR(Buf) printed = buf_make(BUF_UNLIMITED);
    JsonOptions options = json_options_default;
    options.limits.depth = VALUE_DEPTH_MAX - ROUND_MAX;
    return json_parse_text(arena, text, &options, out, err) &&
           (out->kind == VALUE_MAP ||
            error_set(err, ERROR_INVALID, "facts are a JSON object, and these are none")) &&
           json_print(&printed, *out, NULL, err);
}

static void item_start(const Kind *kind, Arena *arena, Str name, const StoreKv *kv, KindItem *out)
{
    Error err;
    *out = (KindItem){ .name = arena_copy(arena, name),
                       .labels = value_missing(),
                       .annotations = value_missing(),
                       .revision = kv->mod_revision,
                       .spec = value_missing() };
    if (!read_facts(arena, arena_copy(arena, kv->value), &out->status, &err)) {
        Map *status = map_new(arena, 1);
        map_set_str(arena, status, STR("error"),
                    value_string(arena_copy(arena, str_from_c(err.text))));
        out->status = value_map(status);
    }
    object_uuid(kind, out->name, out->uuid);
}

/* Its labels are those of the node, so that selectors mean the same; it is another one when another
 * machine gets the name. */
static void item_take_node(const Kind *kind, Arena *arena, const StoreOpReply *node, KindItem *item)
{
    NodeEntry entry;
    if (node->kv_count == 0) {
        return;
    }
    node_entry_read(arena, item->name, &node->kvs[0], &entry);
    item->hides_labels = entry.error.len > 0;
    if (!item->hides_labels) {
        item->labels = entry.record.labels;
        object_uuid(kind, str_from_c(entry.record.enrolment), item->uuid);
    }
}

static Str facts_watched(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    switch (which) {
    case 0: return key_make_prefix(arena, prefix, KEY_FACTS, NULL, 0);
    case 1: return cluster_key_node_all(arena, prefix);
    default: return STR_EMPTY;
    }
}

static bool facts_touched(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
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

typedef struct Reading {
    const Kind *kind;
    ClusterStore at;
    Arena *arena;
    Str name;
    KindItem *items;
    KindItems out;
    uint32_t labeled; /* so many know the labels of their node */
    KindListed *listed;
    KindGot *got;
    void *context;
} Reading;

static Reading *reading_new(const Kind *kind, const ApiSettings *settings, Arena *arena)
{
    Reading *reading = ARENA_NEW(arena, Reading);
    *reading = (Reading){ .kind = kind, .at = settings->at, .arena = arena };
    return reading;
}

static void ask_labels(Reading *reading);

static uint32_t batch_of(const Reading *reading)
{
    uint32_t left = reading->out.count - reading->labeled;
    return left < STORE_OPS_MAX ? left : STORE_OPS_MAX;
}

static void labels_came(void *context, const StoreReply *reply, const Error *err)
{
    Reading *reading = context;
    uint32_t count = batch_of(reading);
    if (err != NULL) {
        reading->listed(reading->context, NULL, err);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        item_take_node(reading->kind, reading->arena, &reply->ops[i],
                       &reading->items[reading->labeled + i]);
    }
    reading->labeled += count;
    ask_labels(reading);
}

static void ask_labels(Reading *reading)
{
    StoreOp ops[STORE_OPS_MAX];
    uint32_t count = batch_of(reading);
    Error err;
    if (count == 0) {
        reading->listed(reading->context, &reading->out, NULL);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        ops[i] = (StoreOp){ .kind = STORE_RANGE,
                            .key = cluster_key_node(reading->arena, reading->at.prefix,
                                                    reading->items[reading->labeled + i].name) };
    }
    if (!store_txn(reading->at.store, &(StoreTxn){ .success = ops, .success_count = count },
                   labels_came, reading, &err)) {
        reading->listed(reading->context, NULL, &err);
    }
}

static void facts_came(void *context, const StoreReply *reply, const Error *err)
{
    Reading *reading = context;
    if (err != NULL) {
        reading->listed(reading->context, NULL, err);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    reading->items = ARENA_ARRAY(reading->arena, KindItem, range->kv_count);
    reading->out = (KindItems){ .items = reading->items, .revision = reply->revision };
    for (uint32_t i = 0; i < range->kv_count; i++) {
        Str name;
        if (facts_touched(reading->kind, reading->arena, reading->at.prefix, range->kvs[i].key,
                          &name)) {
            item_start(reading->kind, reading->arena, name, &range->kvs[i],
                       &reading->items[reading->out.count++]);
        }
    }
    Str all = facts_watched(reading->kind, reading->arena, reading->at.prefix, 0);
    reading->out.next = kind_page_next(reading->arena, all, range);
    ask_labels(reading);
}

static void facts_list(const Kind *kind, const ApiSettings *settings, Arena *arena,
                       const KindPage *page, KindListed *done, void *context)
{
    Reading *reading = reading_new(kind, settings, arena);
    Str all = facts_watched(kind, arena, settings->at.prefix, 0);
    StoreOp op = kind_page_range(arena, all, page);
    Error err;
    reading->listed = done;
    reading->context = context;
    if (!store_op(settings->at.store, &op, facts_came, reading, &err)) {
        done(context, NULL, &err);
    }
}

/* --- One ------------------------------------------------------------------------------------- */

/* Whether there is no such node, or one that has sent none. */
static void node_told(void *context, const NodeView *view, const Error *err)
{
    const Reading *reading = context;
    Error none;
    if (err == NULL && view->is_member) {
        error_set(&none, ERROR_NOT_FOUND,
                  "'%" STR_FMT "' has never sent facts; does 'eden agent' run there?",
                  STR_ARG(reading->name));
        err = &none;
    } else if (err == NULL) {
        error_set(&none, ERROR_NOT_FOUND, "'%" STR_FMT "' asks to join, and has sent no facts yet",
                  STR_ARG(reading->name));
        err = &none;
    }
    reading->got(reading->context, NULL, err);
}

static void one_came(void *context, const StoreReply *reply, const Error *err)
{
    Reading *reading = context;
    KindItem item;
    if (err != NULL) {
        reading->got(reading->context, NULL, err);
    } else if (reply->ops[0].kv_count == 0) {
        nodes_show(&reading->at, reading->name, node_told, reading);
    } else {
        item_start(reading->kind, reading->arena, reading->name, &reply->ops[0].kvs[0], &item);
        item_take_node(reading->kind, reading->arena, &reply->ops[1], &item);
        reading->got(reading->context, &item, NULL);
    }
}

static void facts_get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                      KindGot *done, void *context)
{
    Reading *reading = reading_new(kind, settings, arena);
    Error err;
    reading->name = arena_copy(arena, name);
    reading->got = done;
    reading->context = context;
    if (!node_name_check(name, &err)) {
        done(context, NULL, &err);
        return;
    }
    const StoreOp ops[] = {
        { .kind = STORE_RANGE, .key = cluster_key_facts(arena, settings->at.prefix, name) },
        { .kind = STORE_RANGE, .key = cluster_key_node(arena, settings->at.prefix, name) },
    };
    if (!store_txn(settings->at.store,
                   &(StoreTxn){ .success = ops, .success_count = COUNT_OF(ops) }, one_came, reading,
                   &err)) {
        done(context, NULL, &err);
    }
}

/* --- The row --------------------------------------------------------------------------------- */

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
    .help = "What a node has reported about itself; its status is the facts, its labels are the "
            "node's.",
    .verbs = KIND_LIST | KIND_GET,
    .columns = columns,
    .name_help = "the name of the node",
    .list = facts_list,
    .get = facts_get,
    .watched = facts_watched,
    .touched = facts_touched,
};
