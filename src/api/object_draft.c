#include "api/object_draft.h"

#include "cluster/node_record.h"
#include "pki/json_fields.h"

/* --- Reading --------------------------------------------------------------------------------- */

/* Where it is wrong. */
typedef struct BodyReading {
    Arena *arena;
    FieldProblems *problems;
} BodyReading;

static bool take_text(const BodyReading *reading, Value map, const char *name, Str *out)
{
    const Value *value = value_get(map, str_from_c(name));
    *out = STR_EMPTY;
    if (value == NULL || value->kind == VALUE_NULL) {
        return true;
    }
    if (!value_is_string(*value)) {
        field_problem(reading->arena, reading->problems,
                      field_below(reading->arena, STR("/metadata"), str_from_c(name)),
                      "must be a text");
        return false;
    }
    *out = value_str(*value);
    return true;
}

static bool take_map(const BodyReading *reading, Value map, const char *name, Value *out)
{
    const Value *value = value_get(map, str_from_c(name));
    *out = value == NULL || value->kind == VALUE_NULL ? value_missing() : *value;
    if (value_is_missing(*out) || out->kind == VALUE_MAP) {
        return true;
    }
    field_problem(reading->arena, reading->problems,
                  field_below(reading->arena, STR_EMPTY, str_from_c(name)), "must be an object");
    return false;
}

static bool check_kind(const BodyReading *reading, const Kind *kind, Value metadata)
{
    Str version, name;
    if (!take_text(reading, metadata, "apiVersion", &version) ||
        !take_text(reading, metadata, "kind", &name)) {
        return false;
    }
    if (version.len > 0 && !str_eq_c(version, OBJECT_API_VERSION)) {
        field_problem(reading->arena, reading->problems, STR("/metadata/apiVersion"),
                      "must be '%s'", OBJECT_API_VERSION);
        return false;
    }
    if (name.len > 0 && !str_eq_c(name, kind->name)) {
        field_problem(reading->arena, reading->problems, STR("/metadata/kind"),
                      "must be '%s' at this address", kind->name);
        return false;
    }
    return true;
}

static bool read_metadata(const BodyReading *reading, const Kind *kind, ObjectBody *out)
{
    if (value_is_missing(out->metadata)) {
        return true;
    }
    const Value *revision = value_get(out->metadata, STR("revision"));
    if (revision != NULL && revision->kind == VALUE_INT) {
        out->revision = revision->integer;
    }
    return check_kind(reading, kind, out->metadata) &&
           take_text(reading, out->metadata, "name", &out->name);
}

static bool check_words(const BodyReading *reading, Value object)
{
    static const char *const words[] = { "metadata", "spec", "status" };
    for (uint32_t i = 0; i < object.map->len; i++) {
        Str name = value_str(object.map->entries[i].key);
        bool known = false;
        for (size_t k = 0; k < COUNT_OF(words); k++) {
            known = known || str_eq_c(name, words[k]);
        }
        if (!known) {
            field_problem(reading->arena, reading->problems,
                          field_below(reading->arena, STR_EMPTY, name),
                          "an object has 'metadata' and 'spec'");
            return false;
        }
    }
    return true;
}

bool object_body_read(Arena *arena, const Kind *kind, Str body, ObjectBody *out,
                      FieldProblems *problems, Error *err)
{
    const BodyReading reading = { arena, problems };
    Value object;
    *out = (ObjectBody){ .metadata = value_missing(), .spec = value_missing(), .name = STR_EMPTY };
    /* What was read borrows the text, and is looked at when the request and its body may be gone. */
    return json_object_read(arena, arena_copy(arena, body), UINT32_MAX, OBJECT_VALUES_MAX, &object,
                            err) &&
           check_words(&reading, object) &&
           take_map(&reading, object, "metadata", &out->metadata) &&
           take_map(&reading, object, "spec", &out->spec) && read_metadata(&reading, kind, out);
}

/* --- Patching -------------------------------------------------------------------------------- */

Value merge_patch(Arena *arena, Value target, Value patch)
{
    if (patch.kind != VALUE_MAP) {
        return patch;
    }
    Map *out = map_new(arena, patch.map->len);
    for (uint32_t i = 0; target.kind == VALUE_MAP && i < target.map->len; i++) {
        map_set(arena, out, target.map->entries[i].key, target.map->entries[i].value);
    }
    for (uint32_t i = 0; i < patch.map->len; i++) {
        const MapEntry *entry = &patch.map->entries[i];
        const MapEntry *old = map_find(out, entry->key);
        if (entry->value.kind == VALUE_NULL) {
            map_remove(out, entry->key);
        } else {
            map_set(arena, out, entry->key,
                    merge_patch(arena, old == NULL ? value_missing() : old->value, entry->value));
        }
    }
    return value_map(out);
}

/* --- The draft ------------------------------------------------------------------------------- */

/* False: it is given to a kind that takes none, which must not pass for kept. */
static bool is_taken(Arena *arena, const Kind *kind, Value given, const char *name,
                     FieldProblems *problems)
{
    if (kind->is_labeled || given.map->len == 0) {
        return true;
    }
    field_problem(arena, problems, arena_format(arena, "/metadata/%s", name), "a %s has none",
                  kind->name);
    return false;
}

static void check_labels(Arena *arena, Value labels, FieldProblems *problems)
{
    Error err;
    if (labels.map->len > LABELS_MAX) {
        field_problem(arena, problems, STR("/metadata/labels"), "there may be %d", LABELS_MAX);
    }
    for (uint32_t i = 0; i < labels.map->len; i++) {
        const MapEntry *entry = &labels.map->entries[i];
        Str at = field_below(arena, STR("/metadata/labels"), value_str(entry->key));
        if (!value_is_string(entry->value)) {
            field_problem(arena, problems, at, "must be a text");
        } else if (!node_label_check(value_str(entry->key), value_str(entry->value), &err)) {
            field_problem(arena, problems, at, "%s", err.text)->is_name =
                !node_label_check(value_str(entry->key), STR_EMPTY, &err);
        }
    }
}

static void check_annotations(Arena *arena, Value annotations, FieldProblems *problems)
{
    if (annotations.map->len > ANNOTATIONS_MAX) {
        field_problem(arena, problems, STR("/metadata/annotations"), "there may be %d",
                      ANNOTATIONS_MAX);
    }
    for (uint32_t i = 0; i < annotations.map->len; i++) {
        const MapEntry *entry = &annotations.map->entries[i];
        Str name = value_str(entry->key);
        if (name.len == 0 || name.len > LABEL_NAME_MAX || !value_is_string(entry->value) ||
            entry->value.len > ANNOTATION_VALUE_MAX) {
            field_problem(arena, problems, STR("/metadata/annotations"),
                          "each is a text of at most %d bytes under a name of at most %d",
                          ANNOTATION_VALUE_MAX, LABEL_NAME_MAX);
            return;
        }
    }
}

static Value wanted(Arena *arena, Value given, bool is_patch, Value present)
{
    if (value_is_missing(given)) {
        return is_patch && present.kind == VALUE_MAP ? present : value_map(map_new(arena, 0));
    }
    return is_patch ? merge_patch(arena, present, given) : given;
}

/* What is null is not given: nobody behind here looks for that. A patch says by it what goes. */
static Value without_nulls(Arena *arena, Value spec, bool is_patch)
{
    return is_patch || spec.kind != VALUE_MAP ? spec : merge_patch(arena, value_missing(), spec);
}

static Value metadata_map(const ObjectBody *body, const char *name, FieldProblems *problems,
                          Arena *arena)
{
    const Value *value =
        value_is_missing(body->metadata) ? NULL : value_get(body->metadata, str_from_c(name));
    if (value == NULL || value->kind == VALUE_NULL) {
        return value_missing();
    }
    if (value->kind != VALUE_MAP) {
        field_problem(arena, problems, arena_format(arena, "/metadata/%s", name),
                      "must be an object");
        return value_missing();
    }
    return *value;
}

static void check_fixed(Arena *arena, const Kind *kind, const KindDraft *draft,
                        FieldProblems *problems)
{
    for (const KindField *field = kind->spec; field != NULL && field->name != NULL; field++) {
        const Value *old = draft->present->spec.kind == VALUE_MAP
                               ? value_get(draft->present->spec, str_from_c(field->name))
                               : NULL;
        const Value *now = value_get(draft->spec, str_from_c(field->name));
        if (field->is_fixed && old != NULL && value_is_string(*old) &&
            (now == NULL || !value_is_string(*now) || !str_eq(value_str(*old), value_str(*now)))) {
            field_problem(arena, problems, arena_format(arena, "/spec/%s", field->name),
                          "cannot be changed");
        }
    }
}

void object_draft(Arena *arena, const Kind *kind, const ObjectBody *body, bool is_patch,
                  const KindItem *present, KindDraft *out, FieldProblems *problems)
{
    Value none = value_missing();
    *out = (KindDraft){
        .name = present != NULL ? present->name : body->name,
        .labels = wanted(arena, metadata_map(body, "labels", problems, arena), is_patch,
                         present != NULL ? present->labels : none),
        .annotations = wanted(arena, metadata_map(body, "annotations", problems, arena), is_patch,
                              present != NULL ? present->annotations : none),
        .spec = wanted(arena, without_nulls(arena, body->spec, is_patch), is_patch,
                       present != NULL ? present->spec : none),
        .revision = present != NULL ? present->revision : 0,
        .present = present,
    };
    if (is_taken(arena, kind, out->labels, "labels", problems)) {
        check_labels(arena, out->labels, problems);
    }
    if (is_taken(arena, kind, out->annotations, "annotations", problems)) {
        check_annotations(arena, out->annotations, problems);
    }
    fields_check(arena, kind->spec, out->spec, STR("/spec"), problems);
    if (present != NULL) {
        check_fixed(arena, kind, out, problems);
    }
    if (kind->check != NULL) {
        kind->check(arena, out, problems);
    }
}
