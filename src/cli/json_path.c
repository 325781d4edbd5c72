#include "cli/json_path.h"

#include "base/vec.h"
#include "lang/json.h"

enum {
    RANGES_MAX = 8,           /* maximum nesting */
    VALUES_MAX = 10000000,    /* maximum number of values visited */
    EXPRESSION_MAX = 64 << 10 /* in bytes */
};

typedef VEC(Value) Values;

typedef struct Path {
    Arena *arena;
    Str text;
    size_t at;
    uint32_t ranges;
    uint64_t visited;
    Buf *out; /* NULL: parse without printing */
    Error *err;
} Path;

static bool fail(Path *path, const char *what)
{
    return error_set(path->err, ERROR_INVALID, "%s at character %zu of '%" STR_FMT "'", what,
                     path->at + 1, STR_ARG(str_slice(path->text, 0, 200)));
}

static char peek(const Path *path)
{
    return path->at < path->text.len ? path->text.data[path->at] : '\0';
}

static bool accept(Path *path, const char *word)
{
    if (!str_starts(str_from_offset(path->text, path->at), str_from_c(word))) {
        return false;
    }
    path->at += strlen(word);
    return true;
}

static void skip_blanks(Path *path)
{
    while (peek(path) == ' ') {
        path->at++;
    }
}

/* --- Path steps ------------------------------------------------------------------------------ */

static bool add(Path *path, Values *to, Value value)
{
    if (++path->visited > VALUES_MAX) {
        return error_set(path->err, ERROR_LIMIT, "the expression selects more than %d values",
                         VALUES_MAX);
    }
    VEC_PUSH(path->arena, to, value);
    return true;
}

static bool step_name(Path *path, const Values *from, Str name, Values *to)
{
    for (uint32_t i = 0; i < from->len; i++) {
        const Value *found =
            from->items[i].kind == VALUE_MAP ? value_get(from->items[i], name) : NULL;
        if (found != NULL && !add(path, to, *found)) {
            return false;
        }
    }
    return true;
}

static bool step_all(Path *path, const Values *from, Values *to)
{
    for (uint32_t i = 0; i < from->len; i++) {
        Value value = from->items[i];
        uint32_t count = value.kind == VALUE_LIST  ? value.list->len
                         : value.kind == VALUE_MAP ? value.map->len
                                                   : 0;
        for (uint32_t k = 0; k < count; k++) {
            if (!add(path, to,
                     value.kind == VALUE_LIST ? value.list->items[k]
                                              : value.map->entries[k].value)) {
                return false;
            }
        }
    }
    return true;
}

static bool step_index(Path *path, const Values *from, int64_t index, Values *to)
{
    for (uint32_t i = 0; i < from->len; i++) {
        int64_t len = from->items[i].kind == VALUE_LIST ? from->items[i].list->len : 0;
        int64_t at = index < 0 ? len + index : index;
        if (at >= 0 && at < len && !add(path, to, from->items[i].list->items[at])) {
            return false;
        }
    }
    return true;
}

/* Reads "text" or 'text'. A backslash escapes any character; \n and \t are a newline and a tab. */
static bool read_quoted(Path *path, Str *out)
{
    char quote = peek(path);
    Buf text = buf_make_in(path->arena, BUF_UNLIMITED);
    path->at++;
    while (peek(path) != quote) {
        char c = peek(path);
        if (c == '\0') {
            return fail(path, "unterminated quote");
        }
        path->at++;
        if (c == '\\' && peek(path) != '\0') {
            c = path->text.data[path->at++];
            c = (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c);
        }
        buf_put_char(&text, c);
    }
    path->at++;
    *out = buf_str(&text);
    return true;
}

static bool read_name(Path *path, Str *out)
{
    Buf name = buf_make_in(path->arena, BUF_UNLIMITED);
    while (peek(path) != '\0' && strchr(".[]{} \"'", peek(path)) == NULL) {
        if (peek(path) == '\\' && path->at + 1 < path->text.len) {
            path->at++;
        }
        buf_put_char(&name, path->text.data[path->at++]);
    }
    *out = buf_str(&name);
    return name.len > 0 || fail(path, "expected a name");
}

static bool read_bracket(Path *path, const Values *from, Values *to)
{
    Str text;
    int64_t index;
    bool ok;
    if (accept(path, "*")) {
        ok = step_all(path, from, to);
    } else if (peek(path) == '\'' || peek(path) == '"') {
        ok = read_quoted(path, &text) && step_name(path, from, text, to);
    } else {
        size_t end = str_find(path->text, STR("]"), path->at);
        text = str_slice(path->text, path->at, end == STR_NOT_FOUND ? path->at : end);
        if (!str_to_i64(text, &index)) {
            return fail(path, "expected a number, '*' or a quoted name in brackets");
        }
        path->at = end;
        ok = step_index(path, from, index, to);
    }
    return ok && (accept(path, "]") || fail(path, "expected ']'"));
}

static bool read_path(Path *path, Value value, Values *out)
{
    Values from = { 0 };
    VEC_PUSH(path->arena, &from, value);
    if (peek(path) == '$' || peek(path) == '@') {
        path->at++;
    } else if (peek(path) != '.' && peek(path) != '[') {
        return fail(path, "a path must start with '.'");
    }
    for (;;) {
        Values to = { 0 };
        Str name;
        if (accept(path, ".*")) {
            if (!step_all(path, &from, &to)) {
                return false;
            }
        } else if (accept(path, "[")) {
            if (!read_bracket(path, &from, &to)) {
                return false;
            }
        } else if (peek(path) == '.') {
            path->at++;
            /* A single "." selects the value itself. */
            bool is_whole = peek(path) == '}' || peek(path) == '\0' || peek(path) == '[';
            if (is_whole) {
                continue;
            }
            if (!read_name(path, &name) || !step_name(path, &from, name, &to)) {
                return false;
            }
        } else {
            *out = from;
            return true;
        }
        from = to;
    }
}

/* --- Printing -------------------------------------------------------------------------------- */

static bool print_values(Path *path, const Values *values)
{
    for (uint32_t i = 0; path->out != NULL && i < values->len; i++) {
        buf_put_c(path->out, i > 0 ? " " : "");
        if (value_is_string(values->items[i])) {
            buf_put(path->out, value_str(values->items[i]));
        } else if (!json_print(path->out, values->items[i], NULL, path->err)) {
            return false;
        }
    }
    return true;
}

static bool print_part(Path *path, Value value, bool *ended);

/* Prints up to the matching {end} or the end of the expression. */
static bool print_parts(Path *path, Value value, bool in_range)
{
    bool ended = false;
    while (path->at < path->text.len) {
        if (!print_part(path, value, &ended)) {
            return false;
        }
        if (ended) {
            return in_range || fail(path, "{end} without {range}");
        }
    }
    return !in_range || fail(path, "missing {end}");
}

static bool print_range(Path *path, Value value)
{
    Values values;
    skip_blanks(path);
    if (!read_path(path, value, &values)) {
        return false;
    }
    skip_blanks(path);
    if (!accept(path, "}")) {
        return fail(path, "missing '}'");
    }
    if (path->ranges == RANGES_MAX) {
        return fail(path, "too many nested ranges");
    }
    path->ranges++;
    size_t body = path->at;
    Buf *out = path->out;
    if (values.len == 0) {
        path->out = NULL;
        VEC_PUSH(path->arena, &values, value_null());
    }
    for (uint32_t i = 0; i < values.len; i++) {
        path->at = body;
        if (!print_parts(path, values.items[i], true)) {
            return false;
        }
    }
    path->out = out;
    path->ranges--;
    return true;
}

static bool print_part(Path *path, Value value, bool *ended)
{
    Values values;
    Str text;
    if (!accept(path, "{")) {
        size_t end = str_find(path->text, STR("{"), path->at);
        text = str_slice(path->text, path->at, end == STR_NOT_FOUND ? path->text.len : end);
        path->at += text.len;
        if (path->out != NULL) {
            buf_put(path->out, text);
        }
        return true;
    }
    skip_blanks(path);
    if (accept(path, "range ")) {
        return print_range(path, value);
    }
    if (accept(path, "end")) {
        *ended = true;
    } else if (peek(path) == '"' || peek(path) == '\'') {
        if (!read_quoted(path, &text)) {
            return false;
        }
        if (path->out != NULL) {
            buf_put(path->out, text);
        }
    } else if (!read_path(path, value, &values) || !print_values(path, &values)) {
        return false;
    }
    skip_blanks(path);
    return accept(path, "}") || fail(path, "missing '}'");
}

bool json_path_check(Arena *arena, Str expression, Error *err)
{
    return json_path_print(arena, expression, value_null(), NULL, err);
}

bool json_path_print(Arena *arena, Str expression, Value value, Buf *out, Error *err)
{
    Path path = { .arena = arena, .text = expression, .out = out, .err = err };
    Values values;
    if (expression.len > EXPRESSION_MAX) {
        return error_set(err, ERROR_LIMIT, "the expression is too long");
    }
    if (str_find(expression, STR("{"), 0) != STR_NOT_FOUND) {
        return print_parts(&path, value, false);
    }
    return read_path(&path, value, &values) &&
           (path.at == expression.len || fail(&path, "unexpected character")) &&
           print_values(&path, &values);
}
