/* Converts values to JSON and back. Printing uses lang/json.h, with Python's exceptions and
 * `indent` argument. */
#include "lang/json.h"
#include "lang/template/filter.h"

/* Called for values that JSON cannot represent. */
static bool replace_object(void *context, Value v, Value *out, Error *err)
{
    if (op_is_lazy(v) && op_force(context, v, out)) {
        return true;
    }
    render_raise(context, FAULT_TYPE, "Object of type %s is not JSON serializable",
                 op_type_name(v));
    return error_set(err, ERROR_INVALID, "not JSON");
}

/* The indentation of one level, for values that JsonStyle cannot express. */
typedef struct Indentation {
    Str text;
    size_t spaces;
} Indentation;

/* Replaces each space of the indentation. JSON strings contain no raw newlines, so every line
 * starts with indentation. */
static void put_reindented(Str text, Indentation indentation, Buf *out)
{
    Str line;
    for (bool first = true; str_split_next(&text, '\n', &line) && !out->overflow; first = false) {
        if (!first) {
            buf_put_char(out, '\n');
        }
        size_t depth = 0;
        while (!first && depth < line.len && line.data[depth] == ' ') {
            buf_put(out, indentation.text);
            buf_put_repeat(out, ' ', indentation.spaces);
            depth++;
        }
        buf_put(out, str_from_offset(line, depth));
    }
}

static bool put_styled(Render *r, Value v, const JsonStyle *style, Buf *out)
{
    Error err;
    if (json_print(out, v, style, &err)) {
        return true;
    }
    if (err.kind == ERROR_LIMIT) {
        return out->overflow ? render_out_of_memory(r)
                             : render_raise(r, FAULT_VALUE, "Circular reference detected");
    }
    return render_raise(r, FAULT_TYPE, "%s", err.text);
}

/* `indent` is a number of spaces or a string; none or absent prints a single line. Raises TypeError
 * for values that JSON cannot represent. */
static bool value_json_put(Render *r, Value v, JsonStyle style, Value indent, Buf *out)
{
    style.replace = replace_object;
    style.context = r;
    if (indent.kind == VALUE_NULL || value_is_missing(indent)) {
        return put_styled(r, v, &style, out);
    }
    style.lines = true;
    Indentation indentation = { .text = STR_EMPTY };
    if (indent.kind == VALUE_STRING) {
        indentation.text = value_str(indent);
    } else {
        int64_t spaces;
        if (!value_to_index(r, indent, &spaces)) {
            return false;
        }
        if (spaces <= UINT8_MAX) {
            style.indent = spaces > 0 ? (uint8_t)spaces : 0;
            return put_styled(r, v, &style, out);
        }
        indentation.spaces = (size_t)spaces;
    }
    style.indent = 1;
    Buf text = render_buf(r);
    if (!put_styled(r, v, &style, &text)) {
        return false;
    }
    put_reindented(buf_str(&text), indentation, out);
    return true;
}

static bool filter_tojson(Render *r, const Args *args, Value *out)
{
    const JsonStyle style = {
        .spaced = true, .sort_keys = true, .ascii = true, .html_safe = true, .allow_nan = true
    };
    Buf text = render_buf(r);
    return value_json_put(r, args->values[0], style, args->values[1], &text) &&
           take_text(r, &text, true, out);
}

/* Reads the arguments indent, sort_keys and ensure_ascii, starting with the second. */
static bool put_json(Render *r, const Args *args, Value indent, bool sort_keys, Value *out)
{
    JsonStyle style = { .spaced = true, .allow_nan = true };
    Buf text = render_buf(r);
    return arg_truth(r, args, 2, sort_keys, &style.sort_keys) &&
           arg_truth(r, args, 3, true, &style.ascii) &&
           value_json_put(r, args->values[0], style, arg_or(args, 1, indent), &text) &&
           take_text(r, &text, false, out);
}

static bool filter_to_json(Render *r, const Args *args, Value *out)
{
    return put_json(r, args, value_null(), false, out);
}

static bool filter_to_nice_json(Render *r, const Args *args, Value *out)
{
    return put_json(r, args, value_int(4), true, out);
}

static bool filter_json(Render *r, const Args *args, Value *out)
{
    return put_json(r, args, value_null(), true, out);
}

static bool filter_from_json(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    if (v.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, v);
    }
    if (v.kind != VALUE_STRING) {
        return render_raise(r, FAULT_TYPE, "the JSON object must be str, not %s", op_type_name(v));
    }
    JsonOptions options = json_options_default;
    options.allow_duplicates = true;
    options.wide_integers = true;
    options.python_constants = true;
    Error err;
    if (!op_charge_bytes(r, v.len)) {
        return false;
    }
    if (json_parse_text(r->arena, value_str(v), &options, out, &err)) {
        return true;
    }
    return render_raise(r, err.kind == ERROR_LIMIT ? FAULT_LIMIT : FAULT_VALUE, "%s", err.text);
}

const Native filters_json[] = {
    { .name = "tojson",
      .call = filter_tojson,
      .params = { { "value" }, { "indent", "none" } },
      .flags = NATIVE_JINJA,
      .help = "Formats a value as JSON that is safe in an HTML page; keys are sorted.",
      .example = "{{ {'b': [1, none], 'a': '<x>'} | tojson }}",
      .output = "{\"a\": \"\\u003cx\\u003e\", \"b\": [1, null]}" },
    { .name = "to_json",
      .call = filter_to_json,
      .params = { { "value" },
                  { "indent", "none" },
                  { "sort_keys", "false" },
                  { "ensure_ascii", "true" } },
      .help = "Formats a value as JSON on one line, or on several with `indent`.",
      .example = "{{ {'b': [1, none], 'a': '<x>'} | to_json }}",
      .output = "{\"b\": [1, null], \"a\": \"<x>\"}" },
    { .name = "to_nice_json",
      .call = filter_to_nice_json,
      .params = { { "value" },
                  { "indent", "4" },
                  { "sort_keys", "true" },
                  { "ensure_ascii", "true" } },
      .help = "Formats a value as human-readable JSON: indented, with sorted keys.",
      .example = "{{ {'b': 1, 'a': 2} | to_nice_json(indent=2) }}",
      .output = "{\n  \"a\": 2,\n  \"b\": 1\n}" },
    { .name = "json",
      .call = filter_json,
      .params = { { "value" },
                  { "indent", "none" },
                  { "sort_keys", "true" },
                  { "ensure_ascii", "true" } },
      .help = "Formats a value as JSON with sorted keys.",
      .example = "{{ {'b': 1, 'a': true} | json }}",
      .output = "{\"a\": true, \"b\": 1}" },
    { .name = "from_json",
      .call = filter_from_json,
      .params = { { "value" } },
      .help = "Parses a string as JSON.",
      .example = "{{ ('{\"port\": 80}' | from_json).port + 1 }}",
      .output = "81" },
    { 0 },
};
