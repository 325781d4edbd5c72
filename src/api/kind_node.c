/* Node: a node of the cluster, or a machine that requests to join. */
#include "api/call.h"
#include "api/kind_rows.h"
#include "base/utc.h"
#include "cluster/cluster_keys.h"
#include "fleet/node_site.h"
#include "membership/nodes.h"
#include "source/version.h"

/* --- Objects --------------------------------------------------------------------------------- */

/* The status combines the record, the roster, the session and the revocation list. Unknown times
 * are null. */

static void set_text(Arena *arena, Map *map, const char *name, const char *text)
{
    map_set_str(arena, map, str_from_c(name), value_string(arena_copy(arena, str_from_c(text))));
}

/* 0: unknown. */
static void set_time(Arena *arena, Map *map, const char *name, int64_t ms)
{
    map_set_str(arena, map, str_from_c(name),
                ms == 0 ? value_null() : value_string(utc_text(arena, ms)));
}

static void set_bool(Arena *arena, Map *map, const char *name, bool value)
{
    map_set_str(arena, map, str_from_c(name), value_bool(value));
}

static void set_key(Arena *arena, Map *map, const Pin *pin)
{
    char text[PIN_TEXT + 1];
    pin_text(pin, text);
    set_text(arena, map, "key", text);
}

static Value machine_value(Arena *arena, const PendingMachine *machine)
{
    Map *map = map_new(arena, 4);
    set_key(arena, map, &machine->key);
    set_text(arena, map, "address", machine->address);
    set_time(arena, map, "requested", machine->requested_ms);
    set_bool(arena, map, "approved", machine->is_approved);
    return value_map(map);
}

/* A list with one object per key. */
static Value pending_value(Arena *arena, const PendingEntry *pending)
{
    List *list = list_new(arena, PENDING_MACHINES_MAX);
    if (pending->error.len > 0) {
        Map *map = map_new(arena, 1);
        map_set_str(arena, map, STR("error"), value_string(arena_copy(arena, pending->error)));
        list_push(arena, list, value_map(map));
    }
    for (uint32_t i = 0; i < pending->record.count; i++) {
        list_push(arena, list, machine_value(arena, &pending->record.machines[i]));
    }
    return value_list(list);
}

/* Fields that only members have. */
static void set_membership(Arena *arena, Map *status, const NodeRecord *record)
{
    set_time(arena, status, "joined", record->joined_ms);
    set_text(arena, status, "token", record->token);
    set_text(arena, status, "serial", record->serial);
    set_time(arena, status, "certificate_expires", record->not_after_ms);
}

static void set_site(Arena *arena, Map *status, const NodeSite *site)
{
    set_text(arena, status, "site", node_site_state_name(site->state));
    object_set_text(arena, status, "site_version", arena_copy(arena, site->version));
}

/* The current version of the site; empty if there is none. */
static Str current_version(const ApiSettings *settings, Arena *arena)
{
    CurrentVersion current;
    return versions_current(arena, settings->cluster_store.state, settings->cluster_store.prefix,
                            &current)
               ? arena_copy(arena, str_from_c(current.version))
               : STR_EMPTY;
}

static void add_site(const ApiSettings *settings, Arena *arena, Str current, const KindItem *item)
{
    if (settings->runs != NULL && item->error.len == 0) {
        NodeSite site = node_site_find(settings->runs, item->name, current);
        set_site(arena, item->status.map, &site);
    }
}

static KindItem node_item(const Kind *kind, Arena *arena, const NodeEntry *entry)
{
    const RosterNode *node = entry->node;
    const NodeRecord *record = &node->record;
    Map *status = map_new(arena, 16);
    KindItem item = { .name = arena_copy(arena, str_from_c(record->name)),
                      .labels = value_copy(arena, record->labels),
                      .annotations = value_copy(arena, record->annotations),
                      .revision = node->revision,
                      .created_ms = record->joined_ms,
                      .spec = value_missing(),
                      .status = value_map(status) };
    if (node->error.len > 0) {
        item.error = arena_copy(arena, node->error);
        object_uuid(kind, item.name, item.uuid);
        return item;
    }
    object_uuid(kind, str_from_c(record->enrollment), item.uuid);
    set_text(arena, status, "state", node->is_alive ? "alive" : "silent");
    set_time(arena, status, "since", node->since_ms);
    set_text(arena, status, "version", node->version);
    set_bool(arena, status, "facts", node->has_facts);
    map_set_str(arena, status, STR("results_bytes"), value_int(entry->results_bytes));
    set_time(arena, status, "limited", entry->limited_ms);
    set_text(arena, status, "limit", entry->limited_ms == 0 ? "none" : entry->limit);
    set_bool(arena, status, "server", record->is_server);
    set_text(arena, status, "address", record->address);
    set_key(arena, status, &record->key);
    set_membership(arena, status, record);
    map_set_str(arena, status, STR("revoked"),
                entry->has_revocations ? value_bool(entry->is_revoked) : value_null());
    map_set_str(arena, status, STR("requests"),
                entry->pending != NULL ? pending_value(arena, entry->pending)
                                       : value_list(list_new(arena, 0)));
    return item;
}

static KindItem pending_item(const Kind *kind, Arena *arena, const PendingEntry *pending)
{
    const PendingRecord *record = &pending->record;
    const PendingMachine *first = pending_record_first(record);
    char pin[PIN_TEXT + 1];
    Map *status = map_new(arena, 16);
    KindItem item = { .name = arena_copy(arena, str_from_c(record->name)),
                      .labels = value_missing(),
                      .annotations = value_missing(),
                      .revision = pending->revision,
                      .spec = value_missing(),
                      .status = value_map(status) };
    if (pending->error.len > 0) {
        item.error = arena_copy(arena, pending->error);
        object_uuid(kind, item.name, item.uuid);
        return item;
    }
    /* The UUID changes when a different key is listed first, and when the machine becomes a
     * member. */
    pin_text(&first->key, pin);
    object_uuid(kind, arena_format(arena, "%s/%s", record->name, pin), item.uuid);
    set_text(arena, status, "state", first->is_approved ? "approved" : "pending");
    set_time(arena, status, "since", first->requested_ms);
    set_text(arena, status, "version", "");
    set_bool(arena, status, "facts", false);
    map_set_str(arena, status, STR("results_bytes"), value_int(0));
    set_time(arena, status, "limited", 0);
    set_text(arena, status, "limit", "none");
    set_bool(arena, status, "server", false);
    set_text(arena, status, "address", first->address);
    set_text(arena, status, "key", pin);
    set_membership(arena, status, &(NodeRecord){ 0 });
    set_site(arena, status, &(NodeSite){ 0 });
    set_bool(arena, status, "revoked", false);
    map_set_str(arena, status, STR("requests"), pending_value(arena, pending));
    return item;
}

/* --- Reading --------------------------------------------------------------------------------- */

static bool node_list(const Kind *kind, const ApiSettings *settings, Arena *arena,
                      const KindPage *page, KindItems *out, Error *err)
{
    NodesPage query = { .after = page->after, .limit = page->limit, .selector = page->selector };
    NodesListing listing;
    if (!nodes_list(arena, &settings->cluster_store, &query, &listing, err)) {
        return false;
    }
    KindItem *items =
        ARENA_ARRAY(arena, KindItem, (size_t)listing.node_count + listing.waiting_count);
    *out = (KindItems){ .items = items, .next = listing.next, .revision = listing.revision };
    Str current = current_version(settings, arena);
    for (uint32_t i = 0; i < listing.node_count; i++) {
        items[out->count] = node_item(kind, arena, &listing.nodes[i]);
        add_site(settings, arena, current, &items[out->count++]);
    }
    for (uint32_t i = 0; i < listing.waiting_count; i++) {
        items[out->count++] = pending_item(kind, arena, &listing.waiting[i]);
    }
    return true;
}

static bool node_get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                     KindItem *out, Error *err)
{
    NodeView view;
    if (!nodes_show(arena, &settings->cluster_store, name, &view, err)) {
        return false;
    }
    *out = view.is_member ? node_item(kind, arena, &view.node)
                          : pending_item(kind, arena, view.node.pending);
    if (view.is_member) {
        add_site(settings, arena, current_version(settings, arena), out);
    }
    return true;
}

/* --- Changing -------------------------------------------------------------------------------- */

static void node_update(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    NodeUpdate update = { .labels = draft->labels,
                          .annotations = draft->annotations,
                          .revision = draft->revision };
    Error err;
    /* Repeated small patches can add up to more than a single request could contain. */
    if (!node_texts_check(draft->labels, draft->annotations, &err)) {
        call_fail_body(call, &err);
        return;
    }
    nodes_set(call_store(call), draft->name, &update, kind_update_done, call);
}

static void node_remove(const Kind *kind, ApiCall *call, const KindItem *present)
{
    if (str_eq(present->name, call_settings(call)->node)) {
        Error err;
        error_set(&err, ERROR_CONFLICT,
                  "'%" STR_FMT "' is this server and cannot remove itself; to delete the cluster, "
                  "stop eden and delete its state directory",
                  STR_ARG(present->name));
        call_fail(call, &err);
        return;
    }
    if (value_get_bool(present->status, "server") &&
        state_find(call_store(call)->state,
                   cluster_key_server(&call->arena, call_store(call)->prefix, present->name)) !=
            NULL) {
        Error err;
        error_set(&err, ERROR_CONFLICT,
                  "'%" STR_FMT "' is a server; remove it with 'eden servers remove' first",
                  STR_ARG(present->name));
        call_fail(call, &err);
        return;
    }
    nodes_remove(call_store(call), present->name, present->revision, kind_remove_done, call);
}

/* --- Watching -------------------------------------------------------------------------------- */

static Str node_watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    switch (which) {
    case 0: return cluster_key_node_all(arena, prefix);
    case 1: return cluster_key_joining_all(arena, prefix);
    case 2: return key_make_prefix(arena, prefix, KEY_FACTS, NULL, 0);
    default: return STR_EMPTY;
    }
}

static bool node_key_to_name(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind found;
    Error err;
    if (!key_parse(arena, prefix, key, &found, parts)) {
        return false;
    }
    if (found == KEY_NODE || found == KEY_NODE_ALIVE || found == KEY_NODE_SILENT ||
        found == KEY_FACTS) {
        *name = parts[0];
        return node_name_check(*name, &err);
    }
    *name = found == KEY_INTERNAL ? parts[1] : STR_EMPTY;
    return found == KEY_INTERNAL && str_eq(key, cluster_key_joining(arena, prefix, parts[1])) &&
           node_name_check(*name, &err);
}

/* --- Row ------------------------------------------------------------------------------------- */

static const RecordField pending[] = {
    { .name = "key", .help = "pin of the machine's public key" },
    { .name = "address", .help = "address the request came from; empty: approved in advance" },
    { .name = "requested",
      .type = RECORD_TIME,
      .help = "time of the last request, accurate to 10 minutes" },
    { .name = "approved", .type = RECORD_BOOL, .help = "whether it joins at its next request" },
    { .name = "error", .help = "why its record cannot be read" },
    { 0 },
};

/* In column order. */
static const RecordField status[] = {
    { .name = "state",
      .type = RECORD_CHOICE,
      .choices = "alive|silent|pending|approved|unreadable",
      .column = { "STATE" },
      .help = "alive: it has a session; pending: it has not been approved yet" },
    { .name = "since",
      .type = RECORD_TIME,
      .column = { "SINCE", "unknown" },
      .help =
          "when its session started or, if silent, the time of its last contact; null: unknown" },
    { .name = "facts",
      .type = RECORD_BOOL,
      .column = { "FACTS", "never sent" },
      .help = "whether it has sent facts" },
    { .name = "site",
      .type = RECORD_CHOICE,
      .choices = "none|current|outdated|pending|failed|skipped",
      .column = { "SITE" },
      .help = "current: it has applied the current version of the site; outdated: another one; "
              "pending: a version is being applied; failed: the newest one failed; skipped: the "
              "newest one has no jobs for it, or was not applied in time; none: no version was "
              "applied by a run that servers still know" },
    { .name = "site_version",
      .column = { "SITE VERSION", "-", .is_wide = true },
      .help = "the newest version of the site that it has applied without failure" },
    { .name = "address", .column = { "ADDRESS" }, .help = "address the join request came from" },
    { .name = "version",
      .column = { "VERSION", .is_wide = true },
      .help = "its eden version, known while it is alive" },
    { .name = "joined",
      .type = RECORD_TIME,
      .column = { "JOINED", .is_wide = true },
      .help = "when it joined" },
    { .name = "certificate_expires",
      .type = RECORD_TIME,
      .column = { "CERTIFICATE UNTIL", .is_wide = true },
      .help = "when its certificate expires" },
    { .name = "key", .column = { "KEY", .is_wide = true }, .help = "pin of its public key" },
    { .name = "results_bytes",
      .type = RECORD_INT,
      .help = "approximate size of its run results on the server, in bytes" },
    { .name = "limited",
      .type = RECORD_TIME,
      .help = "when it last exceeded its budget; null: never" },
    { .name = "limit",
      .type = RECORD_CHOICE,
      .choices = "none|rate|results",
      .help = "which limit: rate (its records are delayed) or results (they are rejected)" },
    { .name = "server", .type = RECORD_BOOL, .help = "whether it is a server" },
    { .name = "token", .help = "the token it joined with; empty: it was approved" },
    { .name = "serial", .help = "serial number of its certificate" },
    { .name = "revoked",
      .type = RECORD_BOOL,
      .help = "whether that certificate is revoked; null: the revocation list cannot be read" },
    { .name = "requests",
      .type = RECORD_OBJECT,
      .shape = RECORD_LIST,
      .fields = pending,
      .help = "machines that request to join with this name; each is approved separately" },
    { .name = "error", .help = "why its record cannot be read" },
    { 0 },
};

static const KindColumn columns[] = { { "LABELS", "metadata.labels", false, NULL }, { 0 } };

const Kind kind_node = {
    .name = "Node",
    .plural = "nodes",
    .help = "A node of the cluster, or a machine waiting for approval.",
    .verbs = KIND_LIST | KIND_GET | KIND_UPDATE | KIND_DELETE,
    .status = status,
    .columns = columns,
    .name_help = "the name of the machine in the cluster",
    .is_labeled = true,
    .list = node_list,
    .get = node_get,
    .update = node_update,
    .remove = node_remove,
    .watch_prefix = node_watch_prefix,
    .key_to_name = node_key_to_name,
    .selects_facts = true,
};
