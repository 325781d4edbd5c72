/* Storage of kinds whose objects are stored as written: reads come from the state, and each write
 * is one transaction that compares the object's revision. */
#include "api/kind_stored.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/call.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/name_table.h"
#include "cluster/state.h"
#include "cluster/stored_object.h"

/* --- Records --------------------------------------------------------------------------------- */

/* `present` is the object that it replaces; may be NULL. */
static Str record_text(Arena *arena, const KindDraft *draft, const char *uuid, int64_t created_ms,
                       const KindItem *present)
{
    StoredObject object = { .created_ms = created_ms,
                            .unknown = present == NULL ? value_missing() : present->unknown,
                            .labels = draft->labels,
                            .annotations = draft->annotations,
                            .spec = draft->spec };
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    snprintf(object.uuid, sizeof object.uuid, "%s", uuid);
    stored_object_print(&object, &text);
    return buf_str(&text);
}

/* An unreadable record is an object too: it can be replaced and deleted. */
static KindItem item_of(const Kind *kind, Arena *arena, const StateEntry *entry)
{
    Str name = arena_copy(arena, entry->parts[1]);
    KindItem item = { .name = name,
                      .labels = value_missing(),
                      .annotations = value_missing(),
                      .revision = entry->mod_revision,
                      .spec = value_missing(),
                      .status = value_missing() };
    StoredObject object;
    Error err;
    if (object_name_check(name, &err) && stored_object_read(arena, entry->value, &object, &err)) {
        memcpy(item.uuid, object.uuid, sizeof object.uuid);
        item.created_ms = object.created_ms;
        item.labels = object.labels;
        item.annotations = object.annotations;
        item.spec = object.spec;
        item.unknown = object.unknown;
        return item;
    }
    error_wrap(&err, "%" STR_FMT, STR_ARG(entry->key));
    item.error = arena_copy(arena, str_from_c(err.text));
    object_uuid(kind, name, item.uuid);
    return item;
}

/* "role" of "Role", as used in keys. */
static Str kind_key_segment(const Kind *kind, Arena *arena)
{
    Str name = str_from_c(kind->name);
    char *word = arena_copy_c(arena, name);
    for (size_t i = 0; i < name.len; i++) {
        word[i] = ascii_lower(word[i]);
    }
    return str_from(word, name.len);
}

static Str key_of(const Kind *kind, Arena *arena, Str prefix, Str name)
{
    return key_make(arena, prefix, KEY_OBJECT, (Str[]){ kind_key_segment(kind, arena), name }, 2);
}

Str stored_watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    Str name = kind_key_segment(kind, arena);
    return which == 0 ? key_make_prefix(arena, prefix, KEY_OBJECT, &name, 1) : STR_EMPTY;
}

/* Keys with other names are ignored. */
static bool is_valid_name(Str name)
{
    return name.len <= TABLE_NAME_MAX && memchr(name.data, '\0', name.len) == NULL &&
           utf8_is_valid(name);
}

bool stored_key_to_name(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind found;
    if (!key_parse(arena, prefix, key, &found, parts) || found != KEY_OBJECT ||
        !str_eq(parts[0], kind_key_segment(kind, arena))) {
        return false;
    }
    *name = parts[1];
    return is_valid_name(*name);
}

/* --- Limits ---------------------------------------------------------------------------------- */

bool stored_is(const Kind *kind)
{
    return kind->key_to_name == stored_key_to_name;
}

StoredUsage stored_limits(const Kind *kind)
{
    return (StoredUsage){
        .objects = kind->objects_max > 0 ? kind->objects_max : STORED_OBJECTS_MAX,
        .bytes = kind->bytes_max > 0 ? kind->bytes_max : STORED_BYTES_MAX,
    };
}

StoredUsage stored_usage(const Kind *kind, const ClusterStore *cluster_store)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StoredUsage usage = { 0 };
    StateRange range =
        state_range(cluster_store->state,
                    stored_watch_prefix(kind, &arena, cluster_store->prefix, 0), STR_EMPTY);
    for (const StateEntry *entry; (entry = state_next(&range)) != NULL;) {
        usage.objects++;
        usage.bytes += entry->value.len;
    }
    return usage;
}

/* --- Reading --------------------------------------------------------------------------------- */

bool stored_is_kind(Str word)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (uint32_t i = 0; kinds[i] != NULL; i++) {
        if (stored_is(kinds[i]) && str_eq(word, kind_key_segment(kinds[i], &arena))) {
            return true;
        }
    }
    return false;
}

bool stored_list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err)
{
    const State *state = settings->cluster_store.state;
    Str all = stored_watch_prefix(kind, arena, settings->cluster_store.prefix, 0);
    Str start_after =
        page->after.len == 0 ? STR_EMPTY : arena_join(arena, all, page->after, STR_EMPTY);
    StateRange range = state_range(state, all, start_after);
    KindItem *items = ARENA_ARRAY(arena, KindItem, page->limit);
    Str last = STR_EMPTY;
    *out = (KindItems){ .items = items, .revision = state_age(state).revision };
    for (const StateEntry *entry; (entry = state_next(&range)) != NULL; last = entry->key) {
        if (out->count == page->limit) {
            out->next = arena_copy(arena, str_from_offset(last, all.len));
            break;
        }
        if (is_valid_name(entry->parts[1])) {
            items[out->count++] = item_of(kind, arena, entry);
        }
    }
    return true;
}

bool stored_get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err)
{
    if (!is_valid_name(name)) {
        return error_set(err, ERROR_INVALID, "a name must be 1 to %d characters long",
                         OBJECT_NAME_MAX);
    }
    const StateEntry *entry = state_find(settings->cluster_store.state,
                                         key_of(kind, arena, settings->cluster_store.prefix, name));
    if (entry == NULL) {
        return error_set(err, ERROR_NOT_FOUND, "%s '%" STR_FMT "' not found", kind->name,
                         STR_ARG(name));
    }
    *out = item_of(kind, arena, entry);
    return true;
}

/* --- Changing -------------------------------------------------------------------------------- */

/* Outlives the call if its peer disconnects. */
typedef struct StoredWrite {
    ApiCall *call;
    const Kind *kind;
    Arena arena;
    Str name, record;
    int64_t revision; /* current revision; 0: does not exist */
    bool is_delete;
    StoredGuard guard; /* without keys: no guard */
    StoredExtra extra; /* without a key: nothing */
} StoredWrite;

/* Replaces the data of an earlier object of this name. */
static bool put_extra(const StoredWrite *write, Change *change, Error *err)
{
    uint32_t key = 1 + write->guard.key_count;
    if (write->extra.key.len == 0) {
        return true;
    }
    if (write->revision > 0 && change_revision(change, key) != write->extra.revision) {
        return error_set(err, ERROR_CONFLICT,
                         "its secrets were changed in the meantime; try again");
    }
    change_put(change, write->extra.key, write->extra.value, 0);
    return true;
}

/* The Api may have been freed in the meantime. */
static bool check_guard(const StoredWrite *write, const Change *change, Error *err)
{
    int64_t revisions[STORED_GUARDS_MAX];
    if (write->guard.key_count == 0) {
        return true;
    }
    if (write->call->api == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
    }
    for (uint32_t i = 0; i < write->guard.key_count; i++) {
        revisions[i] = change_revision(change, 1 + i);
    }
    return write->guard.allows(call_settings(write->call), write->name, revisions, err);
}

static bool decide(void *context, Change *change, Error *err)
{
    const StoredWrite *write = context;
    if (change_revision(change, 0) != write->revision) {
        return write->revision == 0
                   ? error_set(err, ERROR_CONFLICT, "'%" STR_FMT "' already exists",
                               STR_ARG(write->name))
                   : error_set(err, ERROR_CONFLICT,
                               "it was modified by another request; read it again");
    }
    uint32_t objects_max = stored_limits(write->kind).objects;
    if (write->revision == 0 && change_count(change, 0) >= objects_max) {
        return error_set(err, ERROR_LIMIT, "a cluster can have %u %s; delete some first",
                         objects_max, write->kind->plural);
    }
    if (!check_guard(write, change, err) || !put_extra(write, change, err)) {
        return false;
    }
    if (write->is_delete) {
        change_delete(change, change_key(change, 0));
    } else {
        change_put(change, change_key(change, 0), write->record, 0);
    }
    return true;
}

static void write_free(StoredWrite *write)
{
    arena_clear(&write->arena);
    free(write);
}

static void on_written(void *context, Change *done, const Error *err)
{
    StoredWrite *write = context;
    ApiCall *call = write->call;
    if (write->is_delete) {
        kind_remove_done(call, err);
    } else if (write->revision > 0) {
        kind_update_done(call, err);
    } else {
        kind_create_done(call, write->name, err);
    }
    write_free(write);
}

static StoredWrite *write_new(const Kind *kind, ApiCall *call, Str name, int64_t revision)
{
    StoredWrite *write = memory_new(sizeof *write);
    arena_init(&write->arena, ARENA_UNLIMITED);
    write->call = call;
    write->kind = kind;
    write->name = arena_copy(&write->arena, name);
    write->revision = revision;
    return write;
}

/* The maximum number of objects of average size always fits, so the total is computed only for
 * larger objects. A change that does not enlarge an object is accepted, so that a kind over its
 * limit can be reduced. */
static bool fits_limits(const StoredWrite *write, Str key)
{
    const ClusterStore *cluster_store = call_store(write->call);
    StoredUsage most = stored_limits(write->kind);
    const StateEntry *present = state_find(cluster_store->state, key);
    size_t before = present == NULL ? 0 : present->value.len;
    return write->record.len <= most.bytes / most.objects || write->record.len <= before ||
           stored_usage(write->kind, cluster_store).bytes - before + write->record.len <=
               most.bytes;
}

static void write_start(StoredWrite *write)
{
    const Kind *kind = write->kind;
    ApiCall *call = write->call;
    /* Patches may add up to more than one request can contain. */
    if (write->record.len > STORED_RECORD_MAX) {
        write_free(write);
        call_refuse(call, 413, "the object would be larger than allowed");
        return;
    }
    const ClusterStore *cluster_store = call_store(call);
    Str keys[1 + STORED_GUARDS_MAX + 1];
    uint32_t key_count = 1 + write->guard.key_count;
    Change *change;
    keys[0] = key_of(kind, &write->arena, cluster_store->prefix, write->name);
    if (!fits_limits(write, keys[0])) {
        Error err;
        write_free(write);
        error_set(&err, ERROR_LIMIT,
                  "the %s of a cluster can be %zu MiB in total; delete some first", kind->plural,
                  stored_limits(kind).bytes >> 20);
        call_fail(call, &err);
        return;
    }
    for (uint32_t i = 0; i < write->guard.key_count; i++) {
        keys[1 + i] = write->guard.keys[i];
    }
    if (write->extra.key.len > 0) {
        keys[key_count++] = write->extra.key;
    }
    change_start(&(ChangeSpec){ .cluster_store = *cluster_store,
                                .keys = keys,
                                .key_count = key_count,
                                .counted = { stored_watch_prefix(kind, &write->arena,
                                                                 cluster_store->prefix, 0) },
                                .decide = decide,
                                .done = on_written,
                                .context = write },
                 &change);
}

static void set_extra(StoredWrite *write, const StoredExtra *also)
{
    write->extra = (StoredExtra){ arena_copy(&write->arena, also->key),
                                  arena_copy(&write->arena, also->value), also->revision };
}

void stored_create(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    stored_create_with(kind, call, draft, &(StoredExtra){ 0 });
}

void stored_update(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    stored_update_with(kind, call, draft, &(StoredExtra){ 0 });
}

void stored_create_with(const Kind *kind, ApiCall *call, const KindDraft *draft,
                        const StoredExtra *also)
{
    char uuid[OBJECT_UUID_TEXT + 1];
    int64_t now_ms = loop_wall_ms(call_store(call)->loop);
    StoredWrite *write = write_new(kind, call, draft->name, 0);
    /* Differs if an object of this name was deleted and created again. */
    object_uuid(kind,
                arena_format(&write->arena, "%" STR_FMT "/%" STR_FMT "/%llu/%lld",
                             STR_ARG(call_settings(call)->store_id), STR_ARG(draft->name),
                             (unsigned long long)loop_random(call_store(call)->loop),
                             (long long)now_ms),
                uuid);
    write->record = record_text(&write->arena, draft, uuid, now_ms, NULL);
    set_extra(write, also);
    write_start(write);
}

void stored_update_with(const Kind *kind, ApiCall *call, const KindDraft *draft,
                        const StoredExtra *also)
{
    Error err;
    /* Only a key written directly to the store can have such a name. */
    if (!object_name_check(draft->name, &err)) {
        call_refuse_field(call, STR("/metadata/name"), err.text);
        return;
    }
    StoredWrite *write = write_new(kind, call, draft->name, draft->revision);
    int64_t created_ms = draft->present->created_ms;
    /* Unknown if the record was unreadable. */
    created_ms = created_ms == 0 ? loop_wall_ms(call_store(call)->loop) : created_ms;
    write->record =
        record_text(&write->arena, draft, draft->present->uuid, created_ms, draft->present);
    set_extra(write, also);
    write_start(write);
}

void stored_remove_guarded(const Kind *kind, ApiCall *call, const KindItem *present,
                           const StoredGuard *guard)
{
    StoredWrite *write = write_new(kind, call, present->name, present->revision);
    BUG_IF(guard->key_count > STORED_GUARDS_MAX);
    write->is_delete = true;
    write->guard = *guard; /* change_start() copies the keys */
    write_start(write);
}

void stored_remove(const Kind *kind, ApiCall *call, const KindItem *present)
{
    stored_remove_guarded(kind, call, present, &(StoredGuard){ 0 });
}
