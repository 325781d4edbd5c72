#include "api/kind.h"

#include "api/kind_rows.h"
#include "base/ascii_case.h"
#include "base/bug.h"
#include "base/utc.h"
#include "lang/json.h"
#include "sys/sha256.h"

const Kind *const kinds[] = {
#define KIND(constant, name, plural, row) &(row),
#include "api/kinds.def"
#undef KIND
    NULL
};

void kind_list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
               KindListed *done, void *context)
{
    KindItems items;
    Error err;
    if (kind->list == NULL) {
        kind->list_async(kind, settings, arena, page, done, context);
    } else if (kind->list(kind, settings, arena, page, &items, &err)) {
        done(context, &items, NULL);
    } else {
        done(context, NULL, &err);
    }
}

void kind_get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
              KindGetDone *done, void *context)
{
    KindItem item;
    Error err;
    if (kind->get == NULL) {
        kind->get_async(kind, settings, arena, name, done, context);
    } else if (kind->get(kind, settings, arena, name, &item, &err)) {
        done(context, &item, NULL);
    } else {
        done(context, NULL, &err);
    }
}

const Kind *kind_find(Str name)
{
    for (size_t i = 0; kinds[i] != NULL; i++) {
        if (str_eq_c(name, kinds[i]->plural) || str_eq_c(name, kinds[i]->name)) {
            return kinds[i];
        }
    }
    return NULL;
}

static void add_column(KindColumn column, bool wide, KindColumn *out, uint32_t *count)
{
    if (wide || !column.is_wide) {
        BUG_IF(*count == KIND_COLUMNS_MAX);
        out[(*count)++] = column;
    }
}

uint32_t kind_columns(Arena *arena, const Kind *kind, bool wide, KindColumn out[KIND_COLUMNS_MAX])
{
    const struct {
        const char *part;
        const RecordField *fields;
        bool after_status;
    } parts[] = {
        { "spec", kind->spec, false },
        { "status", kind->status, false },
        { "spec", kind->spec, true },
    };
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        for (const RecordField *field = parts[i].fields; field != NULL && field->name != NULL;
             field++) {
            const RecordColumn *column = &field->column;
            if (column->title != NULL && column->after_status == parts[i].after_status) {
                Str path = arena_format(arena, "%s.%s", parts[i].part, field->name);
                add_column((KindColumn){ column->title, path.data, column->is_wide, column->none },
                           wide, out, &count);
            }
        }
    }
    for (const KindColumn *own = kind->columns; own != NULL && own->title != NULL; own++) {
        add_column(*own, wide, out, &count);
    }
    return count;
}

/* Version 8 of RFC 9562: the content is implementation-defined. */
void object_uuid(const Kind *kind, Str unique, char out[OBJECT_UUID_TEXT + 1])
{
    static const char groups[] = "xxxxxxxx-xxxx-8xxx-yxxx-xxxxxxxxxxxx";
    char digits[SHA256_HEX + 1];
    Sha256 sha;
    const char *next = digits;
    sha256_start(&sha);
    sha256_add(&sha, str_from_c(kind->name));
    sha256_add(&sha, STR("/"));
    sha256_add(&sha, unique);
    sha256_finish(&sha, digits);
    for (size_t i = 0; i < OBJECT_UUID_TEXT; i++) {
        out[i] = groups[i];
        if (groups[i] == 'x') {
            out[i] = *next++;
        } else if (groups[i] == 'y') {
            out[i] = "89ab"[ascii_hex_value(*next++) & 3];
        }
    }
    out[OBJECT_UUID_TEXT] = '\0';
}

bool object_name_check(Str name, Error *err)
{
    if (name.len == 0 || name.len > OBJECT_NAME_MAX) {
        return error_set(err, ERROR_INVALID, "a name must be 1 to %d characters long",
                         OBJECT_NAME_MAX);
    }
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool plain = (c >= 'a' && c <= 'z') || ascii_is_digit(c);
        bool inner = c == '-' || c == '.' || c == '_';
        if (!plain && (!inner || i == 0 || i + 1 == name.len)) {
            return error_set(
                err, ERROR_INVALID,
                "a name consists of lowercase letters and digits, with '-', '.', '_' between them");
        }
    }
    return true;
}

uint32_t kind_affected(const Kind *kind, Arena *arena, Str prefix, const StoreEvent *event,
                       Str names[KIND_AFFECTED_MAX])
{
    if (kind->is_log && event->deleted) {
        return 0;
    }
    if (kind->event_to_names != NULL) {
        return kind->event_to_names(kind, arena, prefix, event, names);
    }
    return kind->key_to_name(kind, arena, prefix, event->kv.key, &names[0]) ? 1 : 0;
}

bool kind_item_shows_labels(const KindItem *item)
{
    return item->error.len == 0 && !item->labels_unreadable;
}

static Value map_or_empty(Arena *arena, Value value)
{
    return value.kind == VALUE_MAP ? value : value_map(map_new(arena, 0));
}

static Value metadata_value(Arena *arena, const Kind *kind, const KindItem *item)
{
    Map *map = map_new(arena, 8);
    map_set_str(arena, map, STR("apiVersion"), value_string(STR(OBJECT_API_VERSION)));
    map_set_str(arena, map, STR("kind"), value_string(str_from_c(kind->name)));
    map_set_str(arena, map, STR("name"), value_string(item->name));
    map_set_str(arena, map, STR("labels"), map_or_empty(arena, item->labels));
    map_set_str(arena, map, STR("annotations"), map_or_empty(arena, item->annotations));
    map_set_str(arena, map, STR("uuid"), value_string(arena_copy(arena, str_from_c(item->uuid))));
    if (item->revision > 0) {
        map_set_str(arena, map, STR("revision"), value_int(item->revision));
    }
    map_set_str(arena, map, STR("created"),
                item->created_ms == 0 ? value_null()
                                      : value_string(utc_text(arena, item->created_ms)));
    return value_map(map);
}

/* Status of an unreadable object. */
static Value unreadable_status(Arena *arena, Str error)
{
    Map *map = map_new(arena, 2);
    map_set_str(arena, map, STR("state"), value_string(STR("unreadable")));
    map_set_str(arena, map, STR("error"), value_string(error));
    return value_map(map);
}

static Value object_value(Arena *arena, const Kind *kind, const KindItem *item)
{
    Map *map = map_new(arena, 3);
    map_set_str(arena, map, STR("metadata"), metadata_value(arena, kind, item));
    map_set_str(arena, map, STR("spec"), map_or_empty(arena, item->spec));
    map_set_str(arena, map, STR("status"),
                item->error.len > 0 ? unreadable_status(arena, item->error)
                                    : map_or_empty(arena, item->status));
    return value_map(map);
}

void object_print(Arena *arena, Buf *out, const Kind *kind, const KindItem *item)
{
    Error err;
    bool printed = json_print(out, object_value(arena, kind, item), NULL, &err);
    BUG_IF(!printed); /* it was parsed from JSON, or consists of strings and numbers */
}

void object_set_text(Arena *arena, Map *map, const char *name, Str text)
{
    map_set_str(arena, map, str_from_c(name), value_string(arena_copy(arena, text)));
}
