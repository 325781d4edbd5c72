#include "cluster/stored_object.h"

#include "base/bug.h"
#include "base/json_text.h"
#include "lang/json.h"
#include "pki/json_fields.h"

#define FORMAT "eden.object/1"

enum {
    VALUES_MAX = 20000
};

static void put_value(Buf *out, const char *name, Value value)
{
    Error err;
    buf_put_format(out, ",\"%s\":", name);
    bool printed = json_print(out, value, NULL, &err);
    BUG_IF(!printed); /* it was read from JSON */
}

void stored_object_print(const StoredObject *object, Buf *out)
{
    buf_put_c(out, "{\"format\":\"" FORMAT "\",\"uuid\":");
    json_text_put(out, str_from_c(object->uuid));
    buf_put_format(out, ",\"created_ms\":%lld", (long long)object->created_ms);
    put_value(out, "labels", object->labels);
    put_value(out, "annotations", object->annotations);
    put_value(out, "spec", object->spec);
    buf_put_char(out, '}');
}

static bool check_texts(const char *name, Value map, Error *err)
{
    for (uint32_t i = 0; i < map.map->len; i++) {
        if (!value_is_string(map.map->entries[i].value)) {
            return error_set(err, ERROR_INVALID, "'%s' has something else than texts", name);
        }
    }
    return true;
}

bool stored_object_read(Arena *arena, Str text, StoredObject *out, Error *err)
{
    Value object, format, uuid, created;
    *out = (StoredObject){ .labels = value_missing(),
                           .annotations = value_missing(),
                           .spec = value_missing() };
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &format },
        { "uuid", VALUE_STRING, false, &uuid },
        { "created_ms", VALUE_INT, false, &created },
        { "labels", VALUE_MAP, false, &out->labels },
        { "annotations", VALUE_MAP, false, &out->annotations },
        { "spec", VALUE_MAP, false, &out->spec },
    };
    if (!json_object_read(arena, arena_copy(arena, text), STORED_OBJECT_MAX, VALUES_MAX, &object,
                          err) ||
        !json_format_check(object, FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !check_texts("labels", out->labels, err) ||
        !check_texts("annotations", out->annotations, err)) {
        return false;
    }
    out->created_ms = created.integer;
    return json_copy(uuid, out->uuid, sizeof out->uuid) ||
           error_set(err, ERROR_INVALID, "invalid 'uuid'");
}
