/* Server: a node that runs a server of the cluster. Creating one permits its machine to fetch the
 * CA key from the other servers, so only administrators may. */
#include "api/call.h"
#include "api/kind_rows.h"
#include "base/utc.h"
#include "cluster/cluster_keys.h"
#include "cluster/leader.h"
#include "cluster/state.h"
#include "membership/servers.h"

/* --- Objects --------------------------------------------------------------------------------- */

static Value texts_value(Arena *arena, const Str *texts, uint32_t count)
{
    List *list = list_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        list_push(arena, list, value_string(arena_copy(arena, texts[i])));
    }
    return value_list(list);
}

static Value cas_value(Arena *arena, const ServerRecord *record)
{
    List *list = list_new(arena, record->ca_count);
    for (uint32_t i = 0; i < record->ca_count; i++) {
        char pin[PIN_TEXT + 1];
        pin_text(&record->cas[i], pin);
        list_push(arena, list, value_string(arena_copy(arena, str_from_c(pin))));
    }
    return value_list(list);
}

static const char *state_name(const ServerRecord *record, bool is_alive)
{
    return record->started_ms == 0 ? "added" : is_alive ? "alive" : "silent";
}

static KindItem item_of(const Kind *kind, const ApiSettings *settings, Arena *arena,
                        const ServerEntry *entry, Str leader)
{
    const ServerRecord *record = &entry->record;
    Map *status = map_new(arena, 11);
    KindItem item = { .name = arena_copy(arena, str_from_c(record->name)),
                      .labels = value_missing(),
                      .annotations = value_missing(),
                      .revision = entry->revision,
                      .created_ms = record->added_ms,
                      .spec = value_missing(),
                      .status = value_map(status),
                      .error = arena_copy(arena, entry->error) };
    object_uuid(kind, item.name, item.uuid);
    if (entry->error.len > 0) {
        return item;
    }
    bool is_alive = str_eq(item.name, settings->node) ||
                    state_find(settings->cluster_store.state,
                               cluster_key_server_alive(arena, settings->cluster_store.prefix,
                                                        item.name)) != NULL;
    object_set_text(arena, status, "state", str_from_c(state_name(record, is_alive)));
    map_set_str(arena, status, STR("leader"), value_bool(str_eq(leader, item.name)));
    map_set_str(arena, status, STR("started"),
                record->started_ms == 0 ? value_null()
                                        : value_string(utc_text(arena, record->started_ms)));
    map_set_str(arena, status, STR("rpc"), texts_value(arena, record->rpc, record->rpc_count));
    map_set_str(arena, status, STR("api"), texts_value(arena, record->api, record->api_count));
    map_set_str(arena, status, STR("cas"), cas_value(arena, record));
    if (record->etcd.len > 0) {
        object_set_text(arena, status, "datastore", str_from_c(etcd_role_name(record->etcd_role)));
    }
    object_set_text(arena, status, "version", arena_copy(arena, record->version));
    return item;
}

static Str leader_of(Arena *arena, const ApiSettings *settings)
{
    LeaderRecord leader;
    return leader_find(arena, settings->cluster_store.state, settings->cluster_store.prefix,
                       &leader)
               ? arena_copy(arena, str_from_c(leader.server))
               : STR_EMPTY;
}

/* --- Reading --------------------------------------------------------------------------------- */

/* There are at most SERVERS_MAX of them. */
static bool list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err)
{
    ServersListing listing = servers_list(arena, &settings->cluster_store);
    KindItem *items = ARENA_ARRAY(arena, KindItem, listing.count);
    Str leader = leader_of(arena, settings);
    *out = (KindItems){ .items = items,
                        .revision = state_age(settings->cluster_store.state).revision };
    for (uint32_t i = 0; i < listing.count; i++) {
        if (str_compare(str_from_c(listing.items[i].record.name), page->after) <= 0) {
            continue;
        }
        if (out->count == page->limit) {
            out->next = items[out->count - 1].name;
            break;
        }
        items[out->count++] = item_of(kind, settings, arena, &listing.items[i], leader);
    }
    return true;
}

static bool get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err)
{
    ServersListing listing = servers_list(arena, &settings->cluster_store);
    const ServerEntry *entry = servers_find(&listing, name);
    if (entry == NULL) {
        return error_set(err, ERROR_NOT_FOUND, "Server '%" STR_FMT "' not found", STR_ARG(name));
    }
    *out = item_of(kind, settings, arena, entry, leader_of(arena, settings));
    return true;
}

/* --- Changing -------------------------------------------------------------------------------- */

static void on_added(void *context, const Error *err)
{
    ApiCall *call = context;
    kind_create_done(call, call->handler_data == NULL ? STR_EMPTY : *(Str *)call->handler_data,
                     err);
}

static void create(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    Str *name = ARENA_NEW(&call->arena, Str);
    *name = arena_copy(&call->arena, draft->name);
    call->handler_data = name;
    servers_add(call_store(call), *name, call_settings(call)->is_store_shared, on_added, call);
}

static void remove_server(const Kind *kind, ApiCall *call, const KindItem *present)
{
    servers_remove(call_store(call), present->name, present->revision, kind_remove_done, call);
}

/* --- Watching -------------------------------------------------------------------------------- */

static Str watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    switch (which) {
    case 0: return cluster_key_server_all(arena, prefix);
    case 1: return key_make_prefix(arena, prefix, KEY_SERVER_ALIVE, NULL, 0);
    default: return STR_EMPTY;
    }
}

static bool key_to_name(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind found;
    Error err;
    if (!key_parse(arena, prefix, key, &found, parts) ||
        (found != KEY_SERVER && found != KEY_SERVER_ALIVE)) {
        return false;
    }
    *name = parts[0];
    return node_name_check(*name, &err);
}

/* --- Row ------------------------------------------------------------------------------------- */

static const RecordField status[] = {
    { .name = "state",
      .type = RECORD_CHOICE,
      .choices = "added|alive|silent|unreadable",
      .column = { "STATE" },
      .help = "added: it has never started; silent: it has stopped, or cannot reach the store" },
    { .name = "leader",
      .type = RECORD_BOOL,
      .column = { "LEADER" },
      .help = "whether it runs the controllers" },
    { .name = "datastore",
      .type = RECORD_CHOICE,
      .choices = "unknown|none|down|learner|voter",
      .column = { "DATASTORE", .is_wide = true },
      .help =
          "its member of the datastore, if servers run that: none, although there could be one; "
          "down: etcd is not responding; learner: not a voter yet" },
    { .name = "started",
      .type = RECORD_TIME,
      .column = { "STARTED", "never" },
      .help = "when it last started; null: never" },
    { .name = "rpc",
      .shape = RECORD_LIST,
      .column = { "ADDRESSES" },
      .help = "addresses for nodes; the first is preferred" },
    { .name = "api",
      .shape = RECORD_LIST,
      .column = { "API", .is_wide = true },
      .help = "addresses of the API" },
    { .name = "cas", .shape = RECORD_LIST, .help = "pins of the CAs whose keys it has" },
    { .name = "version", .column = { "VERSION" }, .help = "its eden version" },
    { .name = "error", .help = "why its record cannot be read" },
    { 0 },
};

const Kind kind_server = {
    .name = "Server",
    .plural = "servers",
    .help = "A node that runs a server of the cluster.",
    .verbs = KIND_LIST | KIND_GET | KIND_CREATE | KIND_DELETE,
    .status = status,
    .name_help = "the name of its node",
    .name_check = node_name_check,
    .list = list,
    .get = get,
    .create = create,
    .remove = remove_server,
    .watch_prefix = watch_prefix,
    .key_to_name = key_to_name,
};
