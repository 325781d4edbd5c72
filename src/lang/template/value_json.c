#include "lang/template/value_json.h"

#include "lang/template/filter.h"

/* Called for values that JSON does not know. */
static bool replace_object(void *context, Value v, Value *out, Error *err)
{
    if (op_is_lazy(v) && op_force(context, v, out)) {
        return true;
    }
    render_raise(context, FAULT_TYPE, "Object of type %s is not JSON serializable",
                 op_type_name(v));
    return error_set(err, ERROR_INVALID, "not JSON");
}

/* How deep one level is, when it is not a number of spaces that json.h takes. */
typedef struct Level {
    Str text;
    size_t spaces;
} Level;

/* Replaces every space at the beginning of a line. JSON has no line ends within strings, so all
 * lines begin with indentation. */
static void put_reindented(Str text, Level level, Buf *out)
{
    Str line;
    for (bool first = true; str_split_next(&text, '\n', &line) && !out->overflow; first = false) {
        if (!first) {
            buf_put_char(out, '\n');
        }
        size_t depth = 0;
        while (!first && depth < line.len && line.data[depth] == ' ') {
            buf_put(out, level.text);
            buf_put_repeat(out, ' ', level.spaces);
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

bool value_json_put(Render *r, Value v, JsonStyle style, Value indent, Buf *out)
{
    style.replace = replace_object;
    style.context = r;
    if (indent.kind == VALUE_NULL || value_is_missing(indent)) {
        return put_styled(r, v, &style, out);
    }
    style.lines = true;
    Level level = { .text = STR_EMPTY };
    if (indent.kind == VALUE_STRING) {
        level.text = value_str(indent);
    } else {
        int64_t spaces;
        if (!value_to_index(r, indent, &spaces)) {
            return false;
        }
        if (spaces <= UINT8_MAX) {
            style.indent = spaces > 0 ? (uint8_t)spaces : 0;
            return put_styled(r, v, &style, out);
        }
        level.spaces = (size_t)spaces;
    }
    style.indent = 1;
    Buf text = render_buf(r);
    if (!put_styled(r, v, &style, &text)) {
        return false;
    }
    put_reindented(buf_str(&text), level, out);
    return true;
}
