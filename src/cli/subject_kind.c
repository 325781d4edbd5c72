#include "cli/subject_kind.h"

#include "cli/help_markdown.h"
#include "lang/duration.h"

void subjects_add_object_kinds(Arena *arena, Subjects *out)
{
    for (size_t i = 0; kinds[i] != NULL; i++) {
        Subject subject = { .kind = SUBJECT_OBJECT_KIND,
                            .name = str_from_c(kinds[i]->name),
                            .object_kind = kinds[i] };
        VEC_PUSH(arena, out, subject);
    }
}

/* --- Fields ----------------------------------------------------------------------------------- */

static void put_type(const RecordField *field, Buf *out)
{
    static const char *const types[] = {
        [RECORD_TEXT] = "text",         [RECORD_CHOICE] = "choice", [RECORD_DURATION] = "duration",
        [RECORD_TIME] = "time",         [RECORD_INT] = "number",    [RECORD_BOOL] = "true or false",
        [RECORD_SELECTOR] = "selector", [RECORD_OBJECT] = "object", [RECORD_ANY] = "anything",
    };
    buf_put_c(out, field->shape == RECORD_LIST  ? "list of "
                   : field->shape == RECORD_MAP ? "map of "
                                                : "");
    buf_put_c(out, types[field->type]);
}

static void put_bounds(const RecordField *field, Buf *out)
{
    if (field->type == RECORD_DURATION) {
        duration_put(out, field->min);
        buf_put_c(out, " to ");
        duration_put(out, field->max);
    } else if (field->min == 0 && field->type != RECORD_INT) {
        buf_put_format(out, "at most %lld bytes", (long long)field->max);
    } else {
        buf_put_format(out, "%lld to %lld%s", (long long)field->min, (long long)field->max,
                       field->type == RECORD_INT ? "" : " bytes");
    }
}

/* Appends "required, 1 to 63 bytes"; nothing if there are no limits. */
static void put_limits(const RecordField *field, Buf *out)
{
    const struct {
        bool is_set;
        const char *text;
    } flags[] = {
        { field->is_required, "required" },
        { field->is_fixed, "cannot be changed" },
        { field->is_secret, "secret" },
        { field->is_plain, "no control characters" },
    };
    size_t start = out->len;
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        if (flags[i].is_set) {
            buf_put_format(out, "%s%s", out->len > start ? ", " : "", flags[i].text);
        }
    }
    if (field->choices != NULL || field->max > 0) {
        buf_put_c(out, out->len > start ? ", " : "");
    }
    if (field->choices != NULL) {
        buf_put_c(out, field->choices);
    } else if (field->max > 0) {
        put_bounds(field, out);
    }
}

/* Called for each field; nested fields follow their parent. `path` looks like
 * "spec.rules[].verbs". */
typedef void FieldCallback(void *context, Str path, const RecordField *field);

static void visit_fields(Arena *arena, Str before, const RecordField *fields, FieldCallback *call,
                         void *context)
{
    for (; fields != NULL && fields->name != NULL; fields++) {
        if (fields->name[0] == '\0') {
            continue; /* this entry is for unknown fields */
        }
        const char *shape = fields->shape == RECORD_LIST  ? "[]"
                            : fields->shape == RECORD_MAP ? ".*"
                                                          : "";
        Str path = arena_format(arena, "%" STR_FMT ".%s", STR_ARG(before), fields->name);
        call(context, path, fields);
        visit_fields(arena, arena_format(arena, "%" STR_FMT "%s", STR_ARG(path), shape),
                     fields->fields, call, context);
    }
}

static void visit_kind_fields(Arena *arena, const Kind *kind, FieldCallback *call, void *context)
{
    visit_fields(arena, STR("spec"), kind->spec, call, context);
    visit_fields(arena, STR("status"), kind->status, call, context);
}

static void put_verbs(const Kind *kind, Buf *out)
{
    static const struct {
        KindVerbs verb;
        const char *name;
    } verbs[] = {
        { KIND_LIST, "list" },     { KIND_GET, "get" },       { KIND_CREATE, "create" },
        { KIND_UPDATE, "update" }, { KIND_DELETE, "delete" },
    };
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if ((kind->verbs & verbs[i].verb) != 0) {
            buf_put_format(out, "%s, ", verbs[i].name);
        }
    }
    buf_put_c(out, "watch");
}

/* --- Output formats --------------------------------------------------------------------------- */

static void put_text_field(void *context, Str path, const RecordField *field)
{
    Buf *out = context;
    buf_put_format(out, "  %" STR_FMT "  ", STR_ARG(path));
    put_type(field, out);
    size_t start = out->len;
    put_limits(field, out);
    if (out->len > start) {
        Buf limits = buf_make(BUF_UNLIMITED);
        buf_put(&limits, str_from_offset(buf_str(out), start));
        out->len = start;
        buf_put_format(out, " (%" STR_FMT ")", STR_ARG(buf_str(&limits)));
        buf_clear(&limits);
    }
    buf_put_format(out, "\n      %s\n", field->help);
}

void subject_kind_text(const Subject *subject, Buf *out)
{
    const Kind *kind = subject->object_kind;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    buf_put_format(out,
                   "object kind: %s\n"
                   "\n"
                   "    %s\n"
                   "\n"
                   "endpoint: /v1/%s\n"
                   "verbs: ",
                   kind->name, kind->help, kind->plural);
    put_verbs(kind, out);
    if (kind->name_help != NULL) {
        buf_put_format(out, "\nname: %s", kind->name_help);
    }
    if (kind->is_labeled) {
        buf_put_c(out, "\nhas labels and annotations");
    }
    buf_put_c(out, kind->spec == NULL && kind->status == NULL ? "\n" : "\n\nfields:\n");
    visit_kind_fields(&arena, kind, put_text_field, out);
}

static void put_markdown_field(void *context, Str path, const RecordField *field)
{
    Buf *out = context;
    AUTO_CLEAR(Buf) limits = buf_make(BUF_UNLIMITED);
    buf_put_format(out, "| `%" STR_FMT "` | ", STR_ARG(path));
    put_type(field, out);
    buf_put_c(out, " | ");
    put_limits(field, &limits);
    help_markdown_cell(buf_str(&limits), out);
    buf_put_c(out, limits.len > 0 ? " | " : "| ");
    help_markdown_cell(str_from_c(field->help), out);
    buf_put_c(out, " |\n");
}

void subject_kind_markdown(const Subject *subject, Buf *out)
{
    const Kind *kind = subject->object_kind;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    help_markdown_cell(str_from_c(kind->help), out);
    buf_put_format(out, "\n\n- address: `/v1/%s`\n- verbs: ", kind->plural);
    put_verbs(kind, out);
    buf_put_format(out, "\n- name: %s\n", kind->name_help != NULL ? kind->name_help : "any name");
    buf_put_c(out, kind->is_labeled ? "- has labels and annotations\n\n" : "\n");
    if (kind->spec != NULL || kind->status != NULL) {
        buf_put_c(out, "| field | type | limits | description |\n|--|--|--|--|\n");
        visit_kind_fields(&arena, kind, put_markdown_field, out);
        buf_put_char(out, '\n');
    }
}

typedef struct FieldList {
    Arena *arena;
    List *list;
} FieldList;

static void add_field_value(void *context, Str path, const RecordField *field)
{
    const FieldList *fields = context;
    Arena *arena = fields->arena;
    Map *map = map_new(arena, 4);
    Buf type = buf_make_in(arena, BUF_UNLIMITED), limits = buf_make_in(arena, BUF_UNLIMITED);
    put_type(field, &type);
    put_limits(field, &limits);
    map_set_str(arena, map, STR("name"), value_string(path));
    map_set_str(arena, map, STR("type"), value_string(buf_str(&type)));
    map_set_str(arena, map, STR("limits"), value_string(buf_str(&limits)));
    map_set_str(arena, map, STR("help"), value_string(str_from_c(field->help)));
    list_push(arena, fields->list, value_map(map));
}

void subject_kind_describe(Arena *arena, const Subject *subject, Map *map)
{
    const Kind *kind = subject->object_kind;
    FieldList fields = { arena, list_new(arena, 8) };
    Buf verbs = buf_make_in(arena, BUF_UNLIMITED);
    put_verbs(kind, &verbs);
    visit_kind_fields(arena, kind, add_field_value, &fields);
    map_set_str(arena, map, STR("plural"), value_string(str_from_c(kind->plural)));
    map_set_str(arena, map, STR("help"), value_string(str_from_c(kind->help)));
    map_set_str(arena, map, STR("verbs"), value_string(buf_str(&verbs)));
    map_set_str(arena, map, STR("fields"), value_list(fields.list));
}
