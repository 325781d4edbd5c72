/* Converts values to YAML and back. */
#include "lang/json.h"
#include "lang/template/filter.h"
#include "lang/yaml.h"

static bool replace_object(void *context, Value v, Value *out, Error *err)
{
    if (op_is_lazy(v) && op_force(context, v, out)) {
        return true;
    }
    render_raise(context, FAULT_TYPE, "cannot convert a value of type %s to YAML", op_type_name(v));
    return error_set(err, ERROR_INVALID, "not YAML");
}

static bool put_yaml(Render *r, Value v, YamlStyle style, Buf *out)
{
    Error err;
    style.replace = replace_object;
    style.context = r;
    if (yaml_print(out, v, &style, &err)) {
        return true;
    }
    if (err.kind == ERROR_LIMIT) {
        return out->overflow ? render_out_of_memory(r)
                             : render_raise(r, FAULT_RECURSION, "%s", err.text);
    }
    return render_raise(r, FAULT_TYPE, "%s", err.text);
}

/* Reads the arguments indent, width, sort_keys and allow_unicode, starting with the second. */
static bool put_styled(Render *r, const Args *args, YamlStyle style, Value *out)
{
    int64_t indent, width;
    bool unicode;
    if (!arg_int(r, args, 1, style.indent, &indent) || !arg_int(r, args, 2, 0, &width) ||
        !arg_truth(r, args, 3, true, &style.sort_keys) || !arg_truth(r, args, 4, true, &unicode)) {
        return false;
    }
    style.indent = indent < 2 ? 2 : indent > 8 ? 8 : (uint8_t)indent;
    style.width = width <= 0 ? 0 : width > UINT16_MAX ? UINT16_MAX : (uint16_t)width;
    style.ascii = !unicode;
    Buf text = render_buf(r);
    return put_yaml(r, args->values[0], style, &text) && take_text(r, &text, false, out);
}

static bool filter_to_yaml(Render *r, const Args *args, Value *out)
{
    const YamlStyle style = { .indent = 2, .flow = YAML_FLOW_LEAVES, .flush_lists = true };
    return put_styled(r, args, style, out);
}

static bool filter_to_nice_yaml(Render *r, const Args *args, Value *out)
{
    const YamlStyle style = { .indent = 4, .flow = YAML_FLOW_EMPTY, .flush_lists = true };
    return put_styled(r, args, style, out);
}

static bool put_quoted(Render *r, const Args *args, char quote, Value *out)
{
    Str text;
    if (!op_text(r, args->values[0], &text)) {
        return false;
    }
    Buf quoted = render_buf(r);
    if (quote == '"') {
        json_print_string(&quoted, text, &(JsonStyle){ 0 });
    } else {
        buf_put_char(&quoted, '\'');
        for (size_t i = 0; i < text.len; i++) {
            buf_put_c(&quoted, text.data[i] == '\'' ? "'" : "");
            buf_put_char(&quoted, text.data[i]);
        }
        buf_put_char(&quoted, '\'');
    }
    return take_text(r, &quoted, false, out);
}

/* Salt's filter: on one line by default, and without the final newline. */
static bool filter_yaml(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    bool flow;
    if (!arg_truth(r, args, 1, true, &flow)) {
        return false;
    }
    if (v.kind == VALUE_STRING && memchr(v.text, '\n', v.len) != NULL) {
        return put_quoted(r, args, '"', out); /* in a block scalar the final newline would count */
    }
    const YamlStyle style = { .indent = 2,
                              .flow = flow ? YAML_FLOW_ALL : YAML_FLOW_EMPTY,
                              .flush_lists = true,
                              .sort_keys = true };
    Buf text = render_buf(r);
    if (!put_yaml(r, v, style, &text)) {
        return false;
    }
    while (text.len > 0 && text.data[text.len - 1] == '\n') {
        text.len--;
    }
    return take_text(r, &text, false, out);
}

static bool filter_yaml_dquote(Render *r, const Args *args, Value *out)
{
    return put_quoted(r, args, '"', out);
}

static bool filter_yaml_squote(Render *r, const Args *args, Value *out)
{
    return put_quoted(r, args, '\'', out);
}

/* A scalar that is valid anywhere in a YAML document; strings are always quoted. */
static bool filter_yaml_encode(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    if (v.kind == VALUE_STRING) {
        return put_quoted(r, args, '"', out);
    }
    if (v.kind > VALUE_STRING) {
        return render_raise(r, FAULT_TYPE, "yaml_encode requires a scalar, not %s",
                            op_type_name(v));
    }
    return filter_yaml(r, &(Args){ .values = (Value[]){ v, value_missing() }, .count = 2 }, out);
}

/* Removes locations, which refer to a string that was parsed here and cannot be looked up later.
 * Shared containers are visited once, because their items no longer have a source. */
static void clear_locations(Value *v)
{
    v->source = SOURCE_NONE;
    v->start = v->span = 0;
    if (value_is_sequence(*v) && v->list->len > 0 && v->list->items[0].source != SOURCE_NONE) {
        for (uint32_t i = 0; i < v->list->len; i++) {
            clear_locations(&v->list->items[i]);
        }
    } else if (v->kind == VALUE_MAP && v->map->len > 0 &&
               v->map->entries[0].value.source != SOURCE_NONE) {
        for (uint32_t i = 0; i < v->map->len; i++) {
            clear_locations(&v->map->entries[i].key);
            clear_locations(&v->map->entries[i].value);
        }
    }
}

static bool load_documents(Render *r, Value v, List **out)
{
    if (v.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, v);
    }
    if (v.kind != VALUE_STRING) {
        return render_raise(r, FAULT_TYPE, "the YAML text must be str, not %s", op_type_name(v));
    }
    if (!render_charge(r, v.len / 8)) {
        return false;
    }
    Sources sources;
    Problems problems;
    sources_init(&sources, r->arena);
    problems_init(&problems, r->arena);
    uint16_t source = sources_add(&sources, STR("<text>"), value_str(v));
    YamlOptions options = yaml_options_default;
    options.strict_tags = true;
    if (!yaml_load_all(r->arena, &sources, source, &options, out, &problems)) {
        const Problem *first = &problems.items[0];
        for (uint32_t i = 0; i < problems.count && first->severity != SEVERITY_ERROR; i++) {
            first = &problems.items[i];
        }
        bool limit = str_eq(first->code, STR("E0105"));
        render_raise(r, limit ? FAULT_LIMIT : FAULT_VALUE, "line %u, column %u: %" STR_FMT,
                     first->line, first->column, STR_ARG(first->message));
        return first->hint.len == 0 || render_hint(r, "%" STR_FMT, STR_ARG(first->hint));
    }
    for (uint32_t i = 0; i < (*out)->len; i++) {
        clear_locations(&(*out)->items[i]);
        render_note_external(r, (*out)->items[i]);
    }
    return true;
}

static bool filter_from_yaml(Render *r, const Args *args, Value *out)
{
    List *documents = NULL;
    if (!load_documents(r, args->values[0], &documents) || render_failed(r)) {
        return false;
    }
    if (documents->len > 1) {
        return render_raise(r, FAULT_VALUE,
                            "the string contains %u YAML documents; use from_yaml_all",
                            documents->len);
    }
    *out = documents->len == 0 ? value_null() : documents->items[0];
    return true;
}

static bool filter_from_yaml_all(Render *r, const Args *args, Value *out)
{
    List *documents = NULL;
    if (!load_documents(r, args->values[0], &documents) || render_failed(r)) {
        return false;
    }
    *out = value_list(documents);
    return true;
}

const Native filters_yaml[] = {
    { .name = "to_yaml",
      .call = filter_to_yaml,
      .params = { { "value" },
                  { "indent", "2" },
                  { "width", "none" },
                  { "sort_keys", "true" },
                  { "allow_unicode", "true" } },
      .help = "Formats a value as YAML; lists and maps of scalars are written in brackets.",
      .example = "{{ {'ports': [80, 443], 'host': {'name': 'web'}} | to_yaml }}",
      .output = "host: {name: web}\nports: [80, 443]\n" },
    { .name = "to_nice_yaml",
      .call = filter_to_nice_yaml,
      .params = { { "value" },
                  { "indent", "4" },
                  { "width", "none" },
                  { "sort_keys", "true" },
                  { "allow_unicode", "true" } },
      .help = "Formats a value as human-readable YAML: one item per line.",
      .example = "{{ {'ports': [80, 443], 'host': {'name': 'web'}} | to_nice_yaml }}",
      .output = "host:\n    name: web\nports:\n- 80\n- 443\n" },
    { .name = "yaml",
      .call = filter_yaml,
      .params = { { "value" }, { "flow_style", "true" } },
      .help = "Formats a value as YAML on one line, or in block style, without a trailing newline.",
      .example = "{{ {'b': [1, 2], 'a': 'x'} | yaml }}",
      .output = "{a: x, b: [1, 2]}" },
    { .name = "yaml_dquote",
      .call = filter_yaml_dquote,
      .params = { { "value" } },
      .help = "Formats a string as a double-quoted YAML scalar.",
      .example = "{{ 'a: \"b\"' | yaml_dquote }}",
      .output = "\"a: \\\"b\\\"\"" },
    { .name = "yaml_squote",
      .call = filter_yaml_squote,
      .params = { { "value" } },
      .help = "Formats a string as a single-quoted YAML scalar.",
      .example = "{{ \"it's\" | yaml_squote }}",
      .output = "'it''s'" },
    { .name = "yaml_encode",
      .call = filter_yaml_encode,
      .params = { { "value" } },
      .help = "Formats a scalar for YAML; strings are always double-quoted.",
      .example = "{{ 'yes' | yaml_encode }} {{ true | yaml_encode }} {{ none | yaml_encode }}",
      .output = "\"yes\" true null" },
    { .name = "from_yaml",
      .call = filter_from_yaml,
      .params = { { "value" } },
      .help = "Parses a string as a single YAML document.",
      .example = "{{ 'port: 80\\nhosts: [a, b]' | from_yaml }}",
      .output = "{'port': 80, 'hosts': ['a', 'b']}" },
    { .name = "from_yaml_all",
      .call = filter_from_yaml_all,
      .params = { { "value" } },
      .help = "Parses a string as a list of YAML documents.",
      .example = "{{ 'a: 1\\n---\\n[2]' | from_yaml_all }}",
      .output = "[{'a': 1}, [2]]" },
    { 0 },
};
