#include "cluster/stored_object.h"

#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "lang/record.h"

static const RecordField object_fields[] = {
    { "uuid", RECORD_TEXT, RECORD_CHARS_AT(StoredObject, uuid), .is_required = true,
      .help = "UUID of the object" },
    { "created_ms", RECORD_INT, RECORD_INT_AT(StoredObject, created_ms), .is_required = true,
      .help = "when it was created" },
    { "labels", RECORD_TEXT, RECORD_VALUE_AT(StoredObject, labels), .shape = RECORD_MAP,
      .is_required = true, .help = "labels" },
    { "annotations", RECORD_TEXT, RECORD_VALUE_AT(StoredObject, annotations), .shape = RECORD_MAP,
      .is_required = true, .help = "annotations" },
    { "spec", RECORD_OBJECT, RECORD_VALUE_AT(StoredObject, spec), .is_required = true,
      .help = "spec of the object" },
    { RECORD_UNKNOWN_AT(StoredObject, unknown) },
    { 0 },
};

static const RecordFormat object_format = {
    .format = "eden.object/1",
    .what = "the record of an object",
    .fields = object_fields,
    .size = sizeof(StoredObject),
    .text_max = STORED_OBJECT_MAX,
};

void stored_object_print(const StoredObject *object, Buf *out)
{
    record_print(&object_format, object, out);
}

bool stored_object_read(Arena *arena, Str text, StoredObject *out, Error *err)
{
    return record_read(&object_format, arena, arena_copy(arena, text), RECORD_STORED, out, err);
}

Value cluster_settings(Arena *arena, const ClusterStore *cluster_store)
{
    StoredObject config;
    Error err;
    Str key = cluster_key_object(arena, cluster_store->prefix, STR("config"), STR("cluster"));
    const StateEntry *entry = state_find(cluster_store->state, key);
    return entry != NULL && stored_object_read(arena, entry->value, &config, &err)
               ? config.spec
               : value_map(map_new(arena, 0));
}
