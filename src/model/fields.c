#include "model/fields.h"

#include "lang/duration.h"
#include "lang/number.h"
#include "model/document.h"
#include "model/document_location.h"
#include "model/foreign.h"

Problem *site_problem(const SiteLoad *load, const char *code, Value location, const char *format,
                      ...)
{
    va_list args;
    va_start(args, format);
    Str message = arena_format_v(load->arena, format, args);
    va_end(args);
    return document_problem(load->problems, load->sources, SEVERITY_ERROR, code, location,
                            "%" STR_FMT, STR_ARG(message));
}

Problem *site_hint(const SiteLoad *load, const char *code, Value location, const char *format, ...)
{
    if (!load->lint) {
        return NULL;
    }
    va_list args;
    va_start(args, format);
    Str message = arena_format_v(load->arena, format, args);
    va_end(args);
    return document_problem(load->problems, load->sources, SEVERITY_HINT, code, location,
                            "%" STR_FMT, STR_ARG(message));
}

void site_fix(const SiteLoad *load, Problem *problem, Value location, Str text)
{
    document_fix(load->problems->arena, problem, load->sources, location, text);
}

void site_suggest_for(const SiteLoad *load, Problem *problem, Value location,
                      const Suggest *suggest)
{
    Str nearest;
    if (suggest_found(suggest, &nearest)) {
        problem->hint =
            arena_format(load->problems->arena, "did you mean '%" STR_FMT "'?", STR_ARG(nearest));
        site_fix(load, problem, location, nearest);
    }
}

void site_hint_duplicate(const SiteLoad *load, Problem *problem, Value other)
{
    uint32_t line = site_line(load, other);
    if (line > 0) {
        problem->hint = arena_format(load->problems->arena, "the other one is on line %u", line);
    }
}

/* Splits 'name:web', which lacks a space, if its key is allowed there. */
static bool split_entry(const SiteLoad *load, const char *key, Str text, Str *found, Str *rest)
{
    size_t colon = str_find(text, STR(":"), 0);
    if (colon == STR_NOT_FOUND || colon + 1 == text.len) {
        return false;
    }
    *found = str_slice(text, 0, colon);
    *rest = str_from_offset(text, colon + 1);
    return str_eq_c(*found, key) ||
           (strcmp(key, "step") == 0 &&
            (str_eq_c(*found, "job") || module_table_find_module(load->modules, *found) != NULL));
}

void site_hint_entry(const SiteLoad *load, Problem *problem, const char *key, Value input,
                     bool in_list)
{
    Arena *arena = load->problems->arena;
    Str text, found, rest;
    if (input.kind == VALUE_MAP) {
        bool braces = str_starts(value_original(load->sources, input), STR("{"));
        problem->hint = braces ? STR("put '[' and ']' around it") : STR("put a '-' before it");
    } else if (site_text(load, input, &text)) {
        size_t written_len = text.len;
        if (split_entry(load, key, text, &found, &rest)) {
            key = arena_copy_c(arena, found);
            text = rest;
        }
        Str written = arena_format(arena, in_list ? "%s: %" STR_FMT : "[{%s: %" STR_FMT "}]", key,
                                   STR_ARG(text));
        const Source *source = sources_get(load->sources, input.source);
        if (source != NULL && written_len == value_original(load->sources, input).len) {
            problem_fix_at(arena, problem, source, input.start, input.span, written);
        }
        text = str_slice(text, 0, 100);
        problem->hint = in_list
                            ? arena_format(arena, "write '%s: %" STR_FMT "'", key, STR_ARG(text))
                            : arena_format(arena,
                                           "write '[{%s: %" STR_FMT "}]', or '- %s: %" STR_FMT
                                           "' on the next line",
                                           key, STR_ARG(text), key, STR_ARG(text));
    }
}

const char *site_kind_name(Value v)
{
    switch ((ValueKind)v.kind) {
    case VALUE_NULL: return "nothing";
    case VALUE_BOOL: return "a boolean";
    case VALUE_INT: return "a number";
    case VALUE_FLOAT: return "a floating-point number";
    case VALUE_STRING: return "a string";
    case VALUE_LIST:
    case VALUE_TUPLE: return "a list";
    default: return "a map";
    }
}

bool site_text(const SiteLoad *load, Value v, Str *out)
{
    if (value_is_string(v)) {
        *out = value_str(v);
        return true;
    }
    if (v.kind == VALUE_INT || v.kind == VALUE_FLOAT || v.kind == VALUE_BOOL) {
        *out = value_original(load->sources, v);
        return out->len > 0;
    }
    return false;
}

bool site_has_template(Str text)
{
    return str_find(text, STR("{{"), 0) != STR_NOT_FOUND ||
           str_find(text, STR("{%"), 0) != STR_NOT_FOUND ||
           str_find(text, STR("{#"), 0) != STR_NOT_FOUND;
}

uint32_t site_line(const SiteLoad *load, Value location)
{
    const Source *source = sources_get(load->sources, location.source);
    return source == NULL ? 0 : source_location(source, location.start).line;
}

static bool check_links(const SiteLoad *load, const Dynamic *dynamic)
{
    bool ok =
        dynamic->template == NULL || document_check_links(load, dynamic->template, dynamic->value);
    for (uint32_t i = 0; i < dynamic_child_count(dynamic); i++) {
        ok = check_links(load, &dynamic->children[i]) && ok;
    }
    return ok;
}

static bool check_names(const SiteLoad *load, const Dynamic *dynamic)
{
    if (load->lint && !check_links(load, dynamic)) {
        return false;
    }
    NamesCheck check = { .arena = load->arena,
                         .sources = load->sources,
                         .problems = load->problems,
                         .names = load->names,
                         .facts = load->facts,
                         .open = load->name_uses };
    return load->names == NULL || names_check(&check, dynamic);
}

bool site_compile(const SiteLoad *load, Value value, Dynamic *out)
{
    bool ok =
        dynamic_compile(load->arena, load->templates, load->sources, value, out, load->problems);
    return check_names(load, out) && ok;
}

bool site_compile_expression(const SiteLoad *load, Value value, Dynamic *out)
{
    bool ok = dynamic_compile_expression(load->arena, load->templates, load->sources, value, out,
                                         load->problems);
    return check_names(load, out) && ok;
}

static int find_field(const SiteLoad *load, const Field *fields, Value key)
{
    Str name;
    if (!site_text(load, key, &name)) {
        return -1;
    }
    for (int i = 0; fields[i].name != NULL; i++) {
        if (str_eq_c(name, fields[i].name)) {
            return i;
        }
        if (fields[i].alias != NULL && str_eq_c(name, fields[i].alias)) {
            Problem *hint = site_hint(load, "E0311", key, "'%s' is an old spelling of '%s'",
                                      fields[i].alias, fields[i].name);
            if (hint != NULL) {
                hint->hint = arena_format(load->problems->arena, "write '%s'", fields[i].name);
                site_fix(load, hint, key, str_from_c(fields[i].name));
            }
            return i;
        }
    }
    return -1;
}

static Str known_keys(const SiteLoad *load, const Field *fields)
{
    Str keys = str_from_c(fields[0].name);
    for (const Field *field = fields + 1; fields[0].name != NULL && field->name != NULL; field++) {
        keys = arena_format(load->problems->arena, "%" STR_FMT "%s%s", STR_ARG(keys),
                            field[1].name == NULL ? " or " : ", ", field->name);
    }
    return arena_format(load->problems->arena, "allowed keys: %" STR_FMT, STR_ARG(keys));
}

static void suggest_key(const SiteLoad *load, const FieldSet *set, Str name, Value key,
                        Problem *problem)
{
    Suggest suggest = suggest_make(name);
    for (const Field *field = set->fields; field->name != NULL; field++) {
        suggest_offer(&suggest, str_from_c(field->name));
    }
    if (set->suggest_names != NULL) {
        set->suggest_names(set->context, &suggest);
    }
    site_suggest_for(load, problem, key, &suggest);
    if (problem->hint.len == 0 && set->explain == NULL && set->handle_key == NULL) {
        problem->hint = known_keys(load, set->fields);
    }
}

static void unknown_key(const SiteLoad *load, const FieldSet *set, Value key)
{
    Str name = STR_EMPTY;
    if (!site_text(load, key, &name)) {
        site_problem(load, "E0302", key, "a key of %s must be a string, not %s", set->what,
                     site_kind_name(key));
        return;
    }
    Problem *problem = site_problem(load, "E0302", key, "unknown key '%" STR_FMT "' in %s",
                                    STR_ARG(str_slice(name, 0, 100)), set->what);
    if (set->explain != NULL) {
        problem->hint = set->explain(set->context, name);
    }
    if (problem->hint.len == 0) {
        problem->hint = foreign_word(load->modules, FOREIGN_KEY, str_from_c(set->what), name);
        site_fix(load, problem, key, hint_replacement(problem->hint));
    }
    if (problem->hint.len == 0 && set->names_actions) {
        problem->hint = foreign_word(load->modules, FOREIGN_TASK, STR_EMPTY, name);
    }
    if (problem->hint.len == 0) {
        suggest_key(load, set, name, key, problem);
    }
}

static Problem *report_wrong_kind(const SiteLoad *load, const Field *field, Value value,
                                  const char *wanted)
{
    return site_problem(load, "E0303", value, "'%s' must be %s, not %s", field->name, wanted,
                        site_kind_name(value));
}

static bool wrong_kind(const SiteLoad *load, const Field *field, Value value, const char *wanted)
{
    (void)report_wrong_kind(load, field, value, wanted);
    return false;
}

static bool read_text(const SiteLoad *load, const Field *field, Value input, Value *out)
{
    Str text;
    if (!site_text(load, input, &text)) {
        return wrong_kind(load, field, input, "a string");
    }
    if (str_trim(text).len == 0) {
        site_problem(load, "E0303", input, "'%s' must not be empty", field->name);
        return false;
    }
    if (field->kind == FIELD_NAME && site_has_template(text)) {
        Problem *problem =
            site_problem(load, "E0315", input, "'%s' cannot contain a template", field->name);
        problem->hint = STR("write a literal string; templates are allowed in parameters");
        return false;
    }
    *out = input;
    if (!value_is_string(input)) {
        *out = value_string(text);
        out->source = input.source;
        out->location = input.location;
    }
    if (field->choices == NULL) {
        return true;
    }
    Suggest suggest = suggest_make(text);
    Str rest = str_from_c(field->choices);
    Str choice;
    while (str_split_next(&rest, '|', &choice)) {
        if (str_eq(choice, text)) {
            return true;
        }
        suggest_offer(&suggest, choice);
    }
    bool several = strchr(field->choices, '|') != NULL;
    Problem *problem =
        site_problem(load, "E0303", input, "'%s' must be %s%s, not '%" STR_FMT "'", field->name,
                     several ? "one of " : "", field->choices, STR_ARG(str_slice(text, 0, 100)));
    site_suggest_for(load, problem, input, &suggest);
    if (!several) {
        problem->hint = arena_format(load->problems->arena, "write '%s'", field->choices);
        site_fix(load, problem, input, str_from_c(field->choices));
    }
    return false;
}

static bool read_duration(const SiteLoad *load, const Field *field, Value input, Value *out)
{
    ParamSpec spec = { .name = field->name, .kind = PARAM_DURATION };
    Error err;
    if (!param_convert(load->arena, load->sources, &spec, input, out, &err)) {
        site_problem(load, "E0303", input, "'%s' %s", field->name, err.text);
        return false;
    }
    return true;
}

static bool read_value(const SiteLoad *load, const Field *field, Value input, Value *out)
{
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_NAME: return read_text(load, field, input, out);
    case FIELD_INT:
        if (input.kind == VALUE_INT && input.integer < 0) {
            site_problem(load, "E0303", input, "'%s' must be a non-negative integer, not %lld",
                         field->name, (long long)input.integer);
            return false;
        }
        if (input.kind != VALUE_INT) {
            return wrong_kind(load, field, input, "a non-negative integer");
        }
        break;
    case FIELD_BOOL:
        if (input.kind != VALUE_BOOL) {
            return wrong_kind(load, field, input, "true or false");
        }
        break;
    case FIELD_DURATION: return read_duration(load, field, input, out);
    case FIELD_LIST:
        if (input.kind != VALUE_LIST) {
            Problem *problem = report_wrong_kind(load, field, input, "a list");
            if (input.kind == VALUE_MAP) {
                problem->hint = STR("begin each item of the list with '- '");
            }
            return false;
        }
        break;
    case FIELD_MAP:
        if (input.kind != VALUE_MAP) {
            return wrong_kind(load, field, input, "a map");
        }
        break;
    case FIELD_ANY: break;
    }
    *out = input;
    return true;
}

bool fields_read(const SiteLoad *load, const FieldSet *set, Value map, Value *out)
{
    if (map.kind == VALUE_NULL || value_is_missing(map)) {
        return true;
    }
    if (map.kind != VALUE_MAP) {
        site_problem(load, "E0303", map, "%s must be a map, not %s", set->what,
                     site_kind_name(map));
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; i < map.map->len; i++) {
        const MapEntry *entry = &map.map->entries[i];
        int field = find_field(load, set->fields, entry->key);
        if (field < 0) {
            if (set->handle_key == NULL || !set->handle_key(set->context, entry)) {
                unknown_key(load, set, entry->key);
                ok = false;
            }
        } else if (entry->value.kind == VALUE_NULL) {
            continue;
        } else if (!value_is_missing(out[field])) {
            site_hint_duplicate(load,
                                site_problem(load, "E0310", entry->key, "'%s' is given twice",
                                             set->fields[field].name),
                                out[field]);
            ok = false;
        } else {
            ok = read_value(load, &set->fields[field], entry->value, &out[field]) && ok;
        }
    }
    return ok;
}

void fields_clear(const Field *fields, Value *out)
{
    for (uint32_t i = 0; fields[i].name != NULL; i++) {
        out[i] = value_missing();
    }
}

/* Reports missing required keys, at `location`. */
static bool fields_complete(const SiteLoad *load, const FieldSet *set, Value location,
                            const Value *out)
{
    bool ok = true;
    for (uint32_t i = 0; set->fields[i].name != NULL; i++) {
        if (set->fields[i].required && value_is_missing(out[i])) {
            site_problem(load, "E0304", location, "%s needs '%s'", set->what, set->fields[i].name);
            ok = false;
        }
    }
    return ok;
}

bool fields_read_all(const SiteLoad *load, const FieldSet *set, Value map, Value *out)
{
    fields_clear(set->fields, out);
    return fields_read(load, set, map, out) && fields_complete(load, set, map, out);
}
