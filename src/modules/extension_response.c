/* Parsed by hand rather than with a record table: a response is a stream of lines, and the allowed
 * fields of the last one depend on the request. */
#include "modules/extension_response.h"

#include "base/buf.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "lang/json.h"

static JsonOptions json_options(void)
{
    JsonOptions options = json_options_default;
    options.limits = (JsonLimits){ .size = EXTENSION_OUTPUT_MAX,
                                   .depth = EXTENSION_DEPTH_MAX,
                                   .nodes = EXTENSION_NODES_MAX };
    return options;
}

static bool read_progress(Value value, Str *out)
{
    const Value *text = value_get(value, STR("progress"));
    if (text == NULL || !value_is_string(*text) || value.map->len != 1) {
        return false;
    }
    *out = value_str(*text);
    return true;
}

bool extension_progress_read(Arena *arena, Str line, Str *out)
{
    Error err;
    Value value;
    JsonOptions options = json_options();
    return str_find(line, STR("\"progress\""), 0) != STR_NOT_FOUND &&
           json_parse_text(arena, line, &options, &value, &err) && read_progress(value, out);
}

static bool set_problem(const Problems *problems, Error *err)
{
    const Problem *problem = problems->count > 0 ? &problems->items[0] : NULL;
    if (problem == NULL) {
        return error_set(err, ERROR_INVALID, "its response cannot be read");
    }
    return error_set(err, ERROR_INVALID, "its response is not JSON: line %u, column %u: %" STR_FMT,
                     problem->line, problem->column, STR_ARG(problem->message));
}

bool extension_object_read(Arena *arena, Str text, Value *out, Error *err)
{
    Sources sources;
    sources_init(&sources, arena);
    Problems problems;
    problems_init(&problems, arena);
    uint16_t source = sources_add(&sources, STR("answer"), text);
    JsonOptions options = json_options();
    *out = value_missing();
    for (size_t at = 0; (at = json_skip_space(text, at)) < text.len;) {
        Value value;
        Str progress;
        if (!value_is_missing(*out)) {
            return error_set(err, ERROR_INVALID, "it wrote data after its response");
        }
        if (!json_parse_next(arena, &sources, source, &at, &options, &value, &problems)) {
            return set_problem(&problems, err);
        }
        if (value.kind != VALUE_MAP) {
            return error_set(err, ERROR_INVALID, "its response must be an object, not %s",
                             value_kind_name((ValueKind)value.kind));
        }
        if (!read_progress(value, &progress)) {
            *out = value;
        }
    }
    return !value_is_missing(*out) || error_set(err, ERROR_INVALID, "it did not respond");
}

/* --- Responses ------------------------------------------------------------------------------- */

static bool invalid(const char *key, const char *form, Error *err)
{
    return error_set(err, ERROR_INVALID, "'%s' in its response must be %s", key, form);
}

static bool check_keys(Value answer, Error *err)
{
    static const char *const keys[] = { "changed", "unknown", "comment", "state", "diff",
                                        "changes", "value",   "found",   "keeps", "failed" };
    for (uint32_t i = 0; i < answer.map->len; i++) {
        Str key = value_str(answer.map->entries[i].key), near = STR_EMPTY;
        Suggest suggest = suggest_make(key);
        bool known = false;
        for (size_t j = 0; j < COUNT_OF(keys); j++) {
            known = known || str_eq_c(key, keys[j]);
            suggest_offer(&suggest, str_from_c(keys[j]));
        }
        if (known) {
            continue;
        }
        bool found = suggest_found(&suggest, &near);
        return error_set(err, ERROR_INVALID,
                         "its response has an unknown key '%" STR_FMT "'%s%" STR_FMT "%s",
                         STR_ARG(str_slice(key, 0, 60)), found ? "; did you mean '" : "",
                         STR_ARG(near), found ? "'?" : "");
    }
    return true;
}

/* Treats null as missing. */
static const Value *find(Value answer, const char *key)
{
    const Value *value = value_get(answer, str_from_c(key));
    return value == NULL || value->kind == VALUE_NULL ? NULL : value;
}

static bool read_bool(Value answer, const char *key, bool *out, Error *err)
{
    const Value *value = find(answer, key);
    *out = value != NULL && value->kind == VALUE_BOOL && value->boolean;
    return value == NULL || value->kind == VALUE_BOOL || invalid(key, "true or false", err);
}

static bool read_text(Value answer, const char *key, Str *out, Error *err)
{
    const Value *value = find(answer, key);
    *out = value != NULL && value_is_string(*value) ? value_str(*value) : STR_EMPTY;
    return value == NULL || value_is_string(*value) || invalid(key, "text", err);
}

/* Reads a text that is displayed as one line: lines are joined with " | ". */
static bool read_line(Arena *arena, Value answer, const char *key, Str *out, Error *err)
{
    Str text;
    if (!read_text(answer, key, &text, err)) {
        return false;
    }
    text = str_trim(text);
    Buf line = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < text.len && line.len < EXTENSION_LINE_MAX; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '\n') {
            buf_put(&line, STR(" | "));
        } else {
            buf_put_char(&line, c < ' ' || c == 0x7f ? ' ' : (char)c);
        }
    }
    *out = buf_str(&line);
    if (out->len >= EXTENSION_LINE_MAX) {
        out->len = utf8_valid_prefix(*out); /* do not split a UTF-8 character */
    }
    return true;
}

/* Conditions compare it, so it must be a single word. */
static bool read_state(Value answer, Str *out, Error *err)
{
    if (!read_text(answer, "state", out, err)) {
        return false;
    }
    bool good = out->len <= EXTENSION_STATE_MAX;
    for (size_t i = 0; good && i < out->len; i++) {
        good = ascii_is_name(out->data[i]) || out->data[i] == '-';
    }
    return good || invalid("state", "a word of at most 32 letters", err);
}

static bool read_changes(Value answer, Map **out, Error *err)
{
    const Value *value = find(answer, "changes");
    *out = value != NULL && value->kind == VALUE_MAP && value->map->len > 0 ? value->map : NULL;
    return value == NULL || value->kind == VALUE_MAP ||
           invalid("changes", "an object: {WHAT: {\"old\": .., \"new\": ..}}", err);
}

static bool read_keeps(Value answer, List **out, Error *err)
{
    const Value *value = find(answer, "keeps");
    *out = NULL;
    if (value == NULL) {
        return true;
    }
    bool good = value->kind == VALUE_LIST && value->list->len <= EXTENSION_KEEPS_MAX;
    for (uint32_t i = 0; good && i < value->list->len; i++) {
        Value path = value->list->items[i];
        good = value_is_string(path) && str_starts(value_str(path), STR("/")) &&
               memchr(path.text, '\0', path.len) == NULL;
    }
    *out = good ? value->list : NULL;
    return good || invalid("keeps", "a list of at most 1000 absolute paths", err);
}

/* Fields that the request requires must be present. */
static bool check_complete(Value answer, ExtensionOp op, const ExtensionResponse *out, Error *err)
{
    if (out->failed) {
        return true;
    }
    if (op == EXTENSION_QUERY) {
        return value_get(answer, STR("value")) != NULL ||
               error_set(err, ERROR_INVALID, "its response lacks 'value'");
    }
    return find(answer, "changed") != NULL || (op == EXTENSION_CHECK && out->unknown) ||
           error_set(err, ERROR_INVALID, "its response lacks 'changed'");
}

bool extension_response_read(Arena *arena, Str text, ExtensionOp op, ExtensionResponse *out,
                             Error *err)
{
    Value answer;
    *out = (ExtensionResponse){ .value = value_null(), .found = value_null() };
    if (!extension_object_read(arena, text, &answer, err) || !check_keys(answer, err) ||
        !read_bool(answer, "changed", &out->changed, err) ||
        !read_bool(answer, "unknown", &out->unknown, err) ||
        !read_line(arena, answer, "comment", &out->comment, err) ||
        !read_line(arena, answer, "failed", &out->failure, err) ||
        !read_text(answer, "diff", &out->diff, err) || !read_state(answer, &out->state, err) ||
        !read_changes(answer, &out->changes, err) || !read_keeps(answer, &out->keeps, err)) {
        return false;
    }
    out->failed = find(answer, "failed") != NULL;
    const Value *value = find(answer, "value"), *found = find(answer, "found");
    out->value = value != NULL ? *value : value_null();
    out->found = found != NULL ? *found : value_null();
    return check_complete(answer, op, out, err);
}
