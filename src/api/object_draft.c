#include "api/object_draft.h"

#include "lang/json.h"
#include "membership/node_record.h"

/* --- Reading --------------------------------------------------------------------------------- */

/* Fields set by the server may have any value; labels and annotations are validated with the
 * draft. */
static const RecordField metadata_fields[] = {
    { .name = "apiVersion" },
    { .name = "kind" },
    { .name = "name" },
    { .name = "labels", .type = RECORD_ANY },
    { .name = "annotations", .type = RECORD_ANY },
    { .name = "uuid", .type = RECORD_ANY },
    { .name = "revision", .type = RECORD_INT, .max = INT64_MAX },
    { .name = "created", .type = RECORD_ANY },
    { 0 },
};

static const RecordField object_fields[] = {
    { .name = "metadata", .type = RECORD_ANY },
    { .name = "spec", .type = RECORD_ANY },
    { .name = "status", .type = RECORD_ANY },
    { 0 },
};

/* Context for reporting problems. */
typedef struct BodyReader {
    Arena *arena;
    FieldProblems *problems;
} BodyReader;

/* Returns false if it is not a map. */
static bool read_map(const BodyReader *reader, Value map, const char *name, Value *out)
{
    const Value *value = value_get(map, str_from_c(name));
    *out = value_missing();
    if (value == NULL || value->kind == VALUE_NULL) {
        return true;
    }
    if (value->kind != VALUE_MAP) {
        field_problem(reader->arena, reader->problems,
                      field_below(reader->arena, STR_EMPTY, str_from_c(name)), "must be an object");
        return false;
    }
    *out = *value;
    return true;
}

static void check_kind(const BodyReader *reader, const Kind *kind, Value metadata)
{
    Str version = value_get_text(metadata, "apiVersion"), name = value_get_text(metadata, "kind");
    if (version.len > 0 && !str_eq_c(version, OBJECT_API_VERSION)) {
        field_problem(reader->arena, reader->problems, STR("/metadata/apiVersion"), "must be '%s'",
                      OBJECT_API_VERSION);
    }
    if (name.len > 0 && !str_eq_c(name, kind->name)) {
        field_problem(reader->arena, reader->problems, STR("/metadata/kind"),
                      "must be '%s' at this endpoint", kind->name);
    }
}

static void read_metadata(const BodyReader *reader, const Kind *kind, ObjectBody *out)
{
    if (value_is_missing(out->metadata)) {
        return;
    }
    const Value *revision = value_get(out->metadata, STR("revision"));
    if (revision != NULL && revision->kind == VALUE_INT) {
        out->revision = revision->integer;
    }
    out->name = value_get_text(out->metadata, "name");
    fields_check(reader->arena, metadata_fields, out->metadata, STR("/metadata"), reader->problems);
    check_kind(reader, kind, out->metadata);
}

/* `apiVersion` and `kind` are allowed next to `metadata`; fields of `spec` at the top level are a
 * common mistake. */
static void check_top_level(const BodyReader *reader, const Kind *kind, Value object)
{
    for (uint32_t i = 0; i < object.map->len; i++) {
        Str name = value_str(object.map->entries[i].key);
        Str pointer = field_below(reader->arena, STR_EMPTY, name);
        const char *section = fields_find(metadata_fields, name) != NULL ? "metadata"
                              : fields_find(kind->spec, name) != NULL    ? "spec"
                                                                         : NULL;
        if (fields_find(object_fields, name) != NULL) {
            continue;
        }
        if (section == NULL) {
            fields_report_unknown(reader->arena, object_fields, name, pointer, reader->problems);
        } else {
            field_problem(reader->arena, reader->problems, pointer, "belongs in '%s'", section)
                ->is_name = true;
        }
    }
}

bool object_parse(Arena *arena, Str body, uint32_t size_max, Value *out, Error *err)
{
    const JsonOptions options = {
        .limits = { .size = size_max, .depth = OBJECT_DEPTH_MAX, .nodes = OBJECT_VALUES_MAX },
    };
    return json_parse_text(arena, body, &options, out, err) &&
           (out->kind == VALUE_MAP || error_set(err, ERROR_INVALID, "must be a JSON object"));
}

bool object_body_read(Arena *arena, const Kind *kind, Str body, ObjectBody *out,
                      FieldProblems *problems, Error *err)
{
    const BodyReader reader = { arena, problems };
    Value object;
    *out = (ObjectBody){ .metadata = value_missing(), .spec = value_missing(), .name = STR_EMPTY };
    /* Copied, because the result borrows the text and outlives the request. */
    if (!object_parse(arena, arena_copy(arena, body), UINT32_MAX, &object, err)) {
        return false;
    }
    check_top_level(&reader, kind, object);
    if (read_map(&reader, object, "metadata", &out->metadata)) {
        read_metadata(&reader, kind, out);
    }
    out->is_spec_invalid = !read_map(&reader, object, "spec", &out->spec);
    return true;
}

/* --- Patching -------------------------------------------------------------------------------- */

/* RFC 7396: what `patch` makes of `target`. */
static Value merge_patch(Arena *arena, Value target, Value patch)
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

/* --- Draft ----------------------------------------------------------------------------------- */

/* Returns false if the kind has no such field: it must not be ignored silently. */
static bool is_supported(Arena *arena, const Kind *kind, Value value, const char *name,
                         FieldProblems *problems)
{
    if (kind->is_labeled || value.map->len == 0) {
        return true;
    }
    field_problem(arena, problems, arena_format(arena, "/metadata/%s", name),
                  "not supported for kind %s", kind->name);
    return false;
}

static void check_labels(Arena *arena, Value labels, FieldProblems *problems)
{
    Error err;
    if (labels.map->len > LABELS_MAX) {
        field_problem(arena, problems, STR("/metadata/labels"), "at most %d are allowed",
                      LABELS_MAX);
    }
    for (uint32_t i = 0; i < labels.map->len; i++) {
        const MapEntry *entry = &labels.map->entries[i];
        Str pointer = field_below(arena, STR("/metadata/labels"), value_str(entry->key));
        if (!value_is_string(entry->value)) {
            field_problem(arena, problems, pointer, "must be a string");
        } else if (!node_label_check(value_str(entry->key), value_str(entry->value), &err)) {
            field_problem(arena, problems, pointer, "%s", err.text)->is_name =
                !node_label_check(value_str(entry->key), STR_EMPTY, &err);
        }
    }
}

static void check_annotations(Arena *arena, Value annotations, FieldProblems *problems)
{
    if (annotations.map->len > ANNOTATIONS_MAX) {
        field_problem(arena, problems, STR("/metadata/annotations"), "at most %d are allowed",
                      ANNOTATIONS_MAX);
    }
    for (uint32_t i = 0; i < annotations.map->len; i++) {
        const MapEntry *entry = &annotations.map->entries[i];
        Str name = value_str(entry->key);
        if (name.len == 0 || name.len > LABEL_NAME_MAX || !value_is_string(entry->value) ||
            entry->value.len > ANNOTATION_VALUE_MAX) {
            field_problem(arena, problems, STR("/metadata/annotations"),
                          "each must be a string of at most %d bytes, with a name of at most %d",
                          ANNOTATION_VALUE_MAX, LABEL_NAME_MAX);
            return;
        }
    }
}

static Value merged_map(Arena *arena, Value value, bool is_patch, Value present)
{
    if (value.kind == VALUE_NULL) {
        return value_map(map_new(arena, 0)); /* RFC 7396: removed */
    }
    if (value_is_missing(value)) {
        return is_patch && present.kind == VALUE_MAP ? present : value_map(map_new(arena, 0));
    }
    return is_patch ? merge_patch(arena, present, value) : value;
}

/* A null field counts as missing, so that other code need not handle it. In a patch it removes the
 * field. */
static Value without_nulls(Arena *arena, Value spec, bool is_patch)
{
    return is_patch || spec.kind != VALUE_MAP ? spec : merge_patch(arena, value_missing(), spec);
}

static Value metadata_map(const ObjectBody *body, const char *name, FieldProblems *problems,
                          Arena *arena)
{
    const Value *value =
        value_is_missing(body->metadata) ? NULL : value_get(body->metadata, str_from_c(name));
    if (value == NULL) {
        return value_missing();
    }
    if (value->kind != VALUE_MAP && value->kind != VALUE_NULL) {
        field_problem(arena, problems, arena_format(arena, "/metadata/%s", name),
                      "must be an object");
        return value_missing();
    }
    return *value;
}

static void check_fixed(Arena *arena, const Kind *kind, const KindDraft *draft,
                        FieldProblems *problems)
{
    for (const RecordField *field = kind->spec; field != NULL && field->name != NULL; field++) {
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

/* The name of a new object. */
static void check_name(Arena *arena, const Kind *kind, Str name, FieldProblems *problems)
{
    Error err;
    if (kind->name_check == NULL && name.len > 0) {
        field_problem(arena, problems, STR("/metadata/name"), "is assigned by the server");
    } else if (kind->name_check != NULL && !kind->name_check(name, &err)) {
        field_problem(arena, problems, STR("/metadata/name"), "%s", err.text);
    }
}

static void check_spec(Arena *arena, const Kind *kind, const KindDraft *draft,
                       FieldProblems *problems)
{
    fields_check(arena, kind->spec, draft->spec, STR("/spec"), problems);
    if (draft->present != NULL) {
        check_fixed(arena, kind, draft, problems);
    }
    if (kind->check != NULL) {
        kind->check(arena, draft, problems);
    }
}

void object_draft(Arena *arena, const Kind *kind, const ObjectBody *body, bool is_patch,
                  const KindItem *present, KindDraft *out, FieldProblems *problems)
{
    Value none = value_missing();
    *out = (KindDraft){
        .name = present != NULL ? present->name : body->name,
        .labels = merged_map(arena, metadata_map(body, "labels", problems, arena), is_patch,
                             present != NULL ? present->labels : none),
        .annotations = merged_map(arena, metadata_map(body, "annotations", problems, arena),
                                  is_patch, present != NULL ? present->annotations : none),
        .spec = merged_map(arena, without_nulls(arena, body->spec, is_patch), is_patch,
                           present != NULL ? present->spec : none),
        .revision = present != NULL ? present->revision : 0,
        .present = present,
    };
    if (present == NULL && !field_has_problem(problems, STR("/metadata/name"))) {
        check_name(arena, kind, out->name, problems);
    }
    if (is_supported(arena, kind, out->labels, "labels", problems)) {
        check_labels(arena, out->labels, problems);
    }
    if (is_supported(arena, kind, out->annotations, "annotations", problems)) {
        check_annotations(arena, out->annotations, problems);
    }
    if (!body->is_spec_invalid) {
        check_spec(arena, kind, out, problems);
    }
}
