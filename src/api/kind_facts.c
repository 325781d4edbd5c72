/* Facts: what a node reported about itself. */
#include "api/kind_rows.h"
#include "cluster/cluster_keys.h"
#include "lang/json.h"
#include "membership/facts_read.h"
#include "membership/nodes.h"

enum {
    ROUND_MAX = 12 /* levels of nesting around facts in responses */
};

/* --- Objects --------------------------------------------------------------------------------- */

/* Facts come from a node: malformed ones are reported as such and affect nothing else. */
static bool read_facts(Arena *arena, Str text, Value *out, Error *err)
{
    AUTO_CLEAR(Buf) printed = buf_make(BUF_UNLIMITED);
    JsonOptions options = json_options_default;
    options.limits.depth = VALUE_DEPTH_MAX - ROUND_MAX;
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

/* Labels are those of the node, so that selectors work the same. The UUID changes if another
 * machine gets the name. */
static void item_take_node(const Kind *kind, Arena *arena, const ClusterStore *at, KindItem *item)
{
    const RosterNode *node = roster_find_any(at->roster, item->name);
    if (node == NULL) {
        return;
    }
    item->hides_labels = node->error.len > 0;
    if (!item->hides_labels) {
        item->labels = value_copy(arena, node->record.labels);
        object_uuid(kind, str_from_c(node->record.enrolment), item->uuid);
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

static void page_came(void *context, const FactsPage *page, const Error *err)
{
    const Reading *reading = context;
    if (err != NULL) {
        reading->listed(reading->context, NULL, err);
        return;
    }
    KindItem *items = ARENA_ARRAY(reading->arena, KindItem, page->count);
    KindItems out = { .items = items,
                      .count = page->count,
                      .next = arena_copy(reading->arena, page->next),
                      .revision = page->revision };
    for (uint32_t i = 0; i < page->count; i++) {
        item_start(reading->kind, reading->arena, &page->items[i], &items[i]);
        item_take_node(reading->kind, reading->arena, &reading->at, &items[i]);
    }
    reading->listed(reading->context, &out, NULL);
}

static void ask_list(const Kind *kind, const ApiSettings *settings, Arena *arena,
                     const KindPage *page, KindListed *done, void *context)
{
    Reading *reading = reading_new(kind, settings, arena);
    FactsQuery query = { .after = page->after, .limit = page->limit, .revision = page->revision };
    reading->listed = done;
    reading->context = context;
    facts_list(&settings->at, &query, page_came, reading);
}

/* --- Single object --------------------------------------------------------------------------- */

/* Distinguishes a missing node from one that has sent no facts. */
static void tell_absent(const Reading *reading)
{
    NodeView view;
    Error err;
    if (nodes_show(reading->arena, &reading->at, reading->name, &view, &err)) {
        error_set(&err, ERROR_NOT_FOUND,
                  view.is_member ? "'%" STR_FMT
                                   "' has never sent facts; is 'eden agent' running there?"
                                 : "'%" STR_FMT "' has not been approved yet and has sent no facts",
                  STR_ARG(reading->name));
    }
    reading->got(reading->context, NULL, &err);
}

static void one_came(void *context, const NodeFacts *facts, const Error *err)
{
    const Reading *reading = context;
    KindItem item;
    if (err != NULL) {
        reading->got(reading->context, NULL, err);
    } else if (facts == NULL) {
        tell_absent(reading);
    } else {
        item_start(reading->kind, reading->arena, facts, &item);
        item_take_node(reading->kind, reading->arena, &reading->at, &item);
        reading->got(reading->context, &item, NULL);
    }
}

static void ask_get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                    KindGot *done, void *context)
{
    Reading *reading = reading_new(kind, settings, arena);
    Error err;
    reading->name = arena_copy(arena, name);
    reading->got = done;
    reading->context = context;
    if (node_name_check(name, &err)) {
        facts_get(&settings->at, name, one_came, reading);
    } else {
        done(context, NULL, &err);
    }
}

/* --- Row ------------------------------------------------------------------------------------- */

/* Facts are not fields of this kind: src/facts defines them. */
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
    .help = "What a node reported about itself; the status contains the facts, the labels are "
            "those of the node.",
    .verbs = KIND_LIST | KIND_GET,
    .columns = columns,
    .name_help = "the name of the node",
    .ask_list = ask_list,
    .ask_get = ask_get,
    .watched = facts_watched,
    .touched = facts_touched,
    .selects_facts = true,
};
