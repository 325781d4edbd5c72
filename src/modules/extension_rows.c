/* Parsed by hand rather than with a record table: descriptions are written by third parties, so
 * each error is reported with its location in the description and in terms that module authors
 * know. */
#include "modules/extension_rows.h"

#include "base/buf.h"
#include "base/suggest.h"
#include "lang/json.h"
#include "model/step_keys.h"

const char *const extension_op_names[EXTENSION_OPS] = {
    [EXTENSION_CHECK] = "check",
    [EXTENSION_APPLY] = "apply",
    [EXTENSION_REACT] = "react",
    [EXTENSION_QUERY] = "query",
};

/* Names of parameter kinds in a description; kinds that are not listed are for built-in modules
 * only. */
static const struct {
    const char *name;
    ParamKind kind;
} kinds[] = {
    { "string", PARAM_STRING },
    { "int", PARAM_INT },
    { "bool", PARAM_BOOL },
    { "duration", PARAM_DURATION },
    { "mode", PARAM_MODE },
    { "path", PARAM_PATH },
    { "strings", PARAM_STRINGS },
    { "map", PARAM_MAP },
    { "versions", PARAM_VERSIONS },
    { "command", PARAM_COMMAND },
    { "any", PARAM_ANY },
    { "site_file", PARAM_SITE_FILE },
    { "site_template", PARAM_SITE_TEMPLATE },
};

typedef struct Reader {
    Arena *arena;
    Error *err;
} Reader;

bool extension_name_is(Str name)
{
    bool good = name.len > 0 && name.len <= EXTENSION_NAME_MAX && name.data[0] >= 'a' &&
                name.data[0] <= 'z';
    for (size_t i = 1; good && i < name.len; i++) {
        char c = name.data[i];
        good = (c >= 'a' && c <= 'z') || ascii_is_digit(c) || c == '_';
    }
    return good;
}

/* --- Fields of a description ----------------------------------------------------------------- */

/* Every key must be one of `keys` (terminated by NULL), so that a misspelled key is not ignored. */
static bool has_only(Reader *r, Value map, const char *const *keys)
{
    if (map.kind != VALUE_MAP) {
        return error_set(r->err, ERROR_INVALID, "must be an object, not %s",
                         value_kind_name((ValueKind)map.kind));
    }
    for (uint32_t i = 0; i < map.map->len; i++) {
        Str key = value_str(map.map->entries[i].key), near;
        Suggest suggest = suggest_make(key);
        bool known = false;
        for (const char *const *name = keys; *name != NULL; name++) {
            known = known || str_eq_c(key, *name);
            suggest_offer(&suggest, str_from_c(*name));
        }
        if (!known && suggest_found(&suggest, &near)) {
            return error_set(r->err, ERROR_INVALID,
                             "has an unknown key '%" STR_FMT "'; did you mean '%" STR_FMT "'?",
                             STR_ARG(str_slice(key, 0, 60)), STR_ARG(near));
        }
        if (!known) {
            return error_set(r->err, ERROR_INVALID, "has an unknown key '%" STR_FMT "'",
                             STR_ARG(str_slice(key, 0, 60)));
        }
    }
    return true;
}

/* The strings become C strings in rows and are displayed. */
static bool is_plain(Str text, bool lines)
{
    bool plain = true;
    for (size_t i = 0; plain && i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        plain = (c >= ' ' && c != 0x7f) || (lines && c == '\n');
    }
    return plain;
}

/* Reads a string; NULL if it is missing. */
static bool read_text(Reader *r, Value map, const char *key, size_t max, bool lines,
                      const char **out)
{
    const Value *value = value_get(map, str_from_c(key));
    *out = NULL;
    if (value == NULL || value->kind == VALUE_NULL) {
        return true;
    }
    if (!value_is_string(*value) || value->len == 0 || value->len > max ||
        !is_plain(value_str(*value), lines)) {
        return error_set(r->err, ERROR_INVALID, "'%s' must be %s of 1 to %zu bytes", key,
                         lines ? "text" : "a single-line string", max);
    }
    *out = arena_copy_c(r->arena, value_str(*value));
    return true;
}

static bool read_help(Reader *r, Value map, const char **out)
{
    return read_text(r, map, "help", EXTENSION_HELP_MAX, false, out) &&
           (*out != NULL || error_set(r->err, ERROR_INVALID,
                                      "'help' is required and must be a "
                                      "sentence"));
}

/* Ends the last paragraph with a newline, as in the rows of built-in modules. */
static bool read_lines(Reader *r, Value map, const char *key, const char **out)
{
    if (!read_text(r, map, key, EXTENSION_TEXT_MAX, true, out)) {
        return false;
    }
    if (*out != NULL && !str_ends(str_from_c(*out), STR("\n"))) {
        *out = arena_copy_c(r->arena, arena_format(r->arena, "%s\n", *out));
    }
    return true;
}

static bool read_bool(Reader *r, Value map, const char *key, bool *out)
{
    const Value *value = value_get(map, str_from_c(key));
    *out = value != NULL && value->kind == VALUE_BOOL && value->boolean;
    return value == NULL || value->kind == VALUE_BOOL ||
           error_set(r->err, ERROR_INVALID, "'%s' must be true or false", key);
}

static bool read_timeout(Reader *r, Value map, int64_t *out)
{
    static const ParamSpec spec = { "timeout", PARAM_DURATION };
    const Value *value = value_get(map, STR("timeout"));
    *out = 0;
    if (value == NULL) {
        return true;
    }
    Value converted;
    if (!param_convert(r->arena, NULL, &spec, *value, &converted, r->err)) {
        return error_wrap(r->err, "'timeout'");
    }
    *out = converted.integer;
    return *out > 0 || error_set(r->err, ERROR_INVALID, "'timeout' must be positive");
}

/* --- Parameters ------------------------------------------------------------------------------ */

static bool read_kind(Reader *r, Value map, ParamKind *out)
{
    Str name = value_get_text(map, "kind");
    Buf all = buf_make_in(r->arena, BUF_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (str_eq_c(name, kinds[i].name)) {
            *out = kinds[i].kind;
            return true;
        }
        buf_put_format(&all, "%s%s", i == 0 ? "" : ", ", kinds[i].name);
    }
    return error_set(r->err, ERROR_INVALID, "'kind' must be one of %" STR_FMT,
                     STR_ARG(buf_str(&all)));
}

static bool read_choices(Reader *r, Value map, ParamSpec *spec)
{
    const Value *value = value_get(map, STR("choices"));
    if (value == NULL) {
        return true;
    }
    Buf all = buf_make_in(r->arena, BUF_UNLIMITED);
    bool good = value->kind == VALUE_LIST && value->list->len > 0 && spec->kind == PARAM_STRING;
    for (uint32_t i = 0; good && i < value->list->len; i++) {
        Value choice = value->list->items[i];
        good = value_is_string(choice) && choice.len > 0 && is_plain(value_str(choice), false) &&
               str_find(value_str(choice), STR("|"), 0) == STR_NOT_FOUND;
        if (good) {
            buf_put(&all, i == 0 ? STR_EMPTY : STR("|"));
            buf_put(&all, value_str(choice));
        }
    }
    if (!good || all.len > EXTENSION_TEXT_MAX) {
        return error_set(
            r->err, ERROR_INVALID,
            "'choices' must be a list of strings without '|', for a parameter of kind 'string'");
    }
    spec->choices = arena_copy_c(r->arena, buf_str(&all));
    return true;
}

/* Reads a fallback, as it would be written in a site; it must be valid for the parameter. */
static bool read_fallback(Reader *r, Value map, ParamSpec *spec)
{
    const Value *value = value_get(map, STR("fallback"));
    if (value == NULL || value->kind == VALUE_NULL) {
        return true;
    }
    if (spec->required || spec->kind == PARAM_SITE_FILE || spec->kind == PARAM_SITE_TEMPLATE) {
        return error_set(r->err, ERROR_INVALID, "cannot have a 'fallback'");
    }
    Buf text = buf_make_in(r->arena, EXTENSION_TEXT_MAX);
    if (value_is_string(*value)) {
        buf_put(&text, value_str(*value));
    } else if (value->kind != VALUE_BOOL && value->kind != VALUE_INT &&
               value->kind != VALUE_FLOAT) {
        return error_set(r->err, ERROR_INVALID, "'fallback' must be a string, number or boolean");
    } else if (!json_print(&text, *value, NULL, r->err)) {
        return error_wrap(r->err, "'fallback'");
    }
    if (text.overflow || !is_plain(buf_str(&text), true)) {
        return error_set(r->err, ERROR_INVALID,
                         "'fallback' contains control characters or is too long");
    }
    spec->fallback = arena_copy_c(r->arena, buf_str(&text));
    Value ignored;
    return param_convert(r->arena, NULL, spec, value_string(str_from_c(spec->fallback)), &ignored,
                         r->err) ||
           error_wrap(r->err, "'fallback'");
}

static bool read_claims(Reader *r, Value map, ParamSpec *spec)
{
    if (!read_text(r, map, "claims", EXTENSION_NAME_MAX, false, &spec->claims)) {
        return false;
    }
    if (spec->claims == NULL) {
        return true;
    }
    bool texts =
        spec->kind == PARAM_STRING || spec->kind == PARAM_PATH || spec->kind == PARAM_STRINGS;
    Str rest = str_from_c(spec->claims), part;
    bool good = true;
    while (str_split_next(&rest, ':', &part)) {
        good = good && extension_name_is(part);
    }
    return (good && texts) ||
           error_set(r->err, ERROR_INVALID,
                     "'claims' must be a word such as 'path', 'needs:user' or 'mine', for a "
                     "parameter of kind 'string', 'path' or 'strings'");
}

static bool read_param(Reader *r, Str name, Value given, ParamSpec *out)
{
    static const char *const keys[] = { "kind", "required", "fallback", "choices",
                                        "help", "claims",   NULL };
    if (!extension_name_is(name)) {
        return error_set(r->err, ERROR_INVALID, "a name can contain only a-z, 0-9 and '_'");
    }
    if (requisite_key_is(name)) {
        return error_set(r->err, ERROR_INVALID, "a parameter cannot have the name of a requisite");
    }
    *out = (ParamSpec){ .name = arena_copy_c(r->arena, name) };
    return has_only(r, given, keys) && read_kind(r, given, &out->kind) &&
           read_bool(r, given, "required", &out->required) && read_help(r, given, &out->help) &&
           read_choices(r, given, out) && read_fallback(r, given, out) &&
           read_claims(r, given, out);
}

static bool read_params(Reader *r, Value action, const ParamSpec **out)
{
    const Value *given = value_get(action, STR("params"));
    static const ParamSpec none[] = { { 0 } };
    *out = none;
    if (given == NULL || given->kind == VALUE_NULL) {
        return true;
    }
    if (given->kind != VALUE_MAP) {
        return error_set(r->err, ERROR_INVALID, "'params' must be an object: {NAME: {..}}");
    }
    const Map *map = given->map;
    if (map->len > ACTION_PARAMS_MAX) {
        return error_set(r->err, ERROR_LIMIT, "has %u parameters, the maximum is %d", map->len,
                         ACTION_PARAMS_MAX);
    }
    ParamSpec *specs = ARENA_ARRAY(r->arena, ParamSpec, map->len + 1);
    for (uint32_t i = 0; i < map->len; i++) {
        Str name = value_str(map->entries[i].key);
        if (!read_param(r, name, map->entries[i].value, &specs[i])) {
            return error_wrap(r->err, "parameter '%" STR_FMT "'", STR_ARG(str_slice(name, 0, 60)));
        }
    }
    specs[map->len] = (ParamSpec){ 0 };
    *out = specs;
    return true;
}

/* --- Actions --------------------------------------------------------------------------------- */

static bool read_operations(Reader *r, Value map, ExtensionAction *out)
{
    const Value *value = value_get(map, STR("does"));
    if (value == NULL) {
        out->does[EXTENSION_CHECK] = out->does[EXTENSION_APPLY] = true;
        return true;
    }
    bool good = value->kind == VALUE_LIST;
    for (uint32_t i = 0; good && i < value->list->len; i++) {
        Value word = value->list->items[i];
        bool known = false;
        for (int op = 0; op < EXTENSION_OPS && value_is_string(word); op++) {
            bool is = str_eq_c(value_str(word), extension_op_names[op]);
            out->does[op] = out->does[op] || is;
            known = known || is;
        }
        good = known;
    }
    good = good && (out->does[EXTENSION_CHECK] || out->does[EXTENSION_QUERY]) &&
           (out->does[EXTENSION_CHECK] || !out->does[EXTENSION_APPLY]);
    return good ||
           error_set(r->err, ERROR_INVALID,
                     "'does' may list 'check', 'apply', 'react' and 'query'; it must include "
                     "'check' or 'query', and 'apply' requires 'check'");
}

/* Each of the names, which are separated by '|', must be a parameter. */
static bool check_id(Reader *r, const Action *action, const char *id_param)
{
    Str rest = str_from_c(id_param), part;
    while (id_param != NULL && str_split_next(&rest, '|', &part)) {
        if (action_param_index(action, part) < 0) {
            return error_set(r->err, ERROR_INVALID, "'id_param' is not one of its parameters");
        }
    }
    return true;
}

static bool read_action(Reader *r, Str name, Value given, Action *out, ExtensionAction *extra)
{
    static const char *const keys[] = { "help",    "text",  "example", "id_param", "params", "does",
                                        "repeats", "waits", "roots",   "timeout",  NULL };
    if (!extension_name_is(name)) {
        return error_set(r->err, ERROR_INVALID, "a name can contain only a-z, 0-9 and '_'");
    }
    *out = (Action){ .name = arena_copy_c(r->arena, name) };
    *extra = (ExtensionAction){ .name = out->name };
    return has_only(r, given, keys) && read_help(r, given, &out->help) &&
           read_lines(r, given, "text", &out->text) &&
           read_lines(r, given, "example", &out->example) &&
           read_text(r, given, "id_param", EXTENSION_TEXT_MAX, false, &out->id_param) &&
           read_bool(r, given, "repeats", &out->always_changes) &&
           read_bool(r, given, "waits", &out->may_sleep) &&
           read_bool(r, given, "roots", &extra->roots) &&
           read_timeout(r, given, &extra->timeout_ms) && read_operations(r, given, extra) &&
           read_params(r, given, &out->params) && check_id(r, out, out->id_param);
}

static bool read_actions(Reader *r, Value description, ExtensionRows *out)
{
    const Value *given = value_get(description, STR("actions"));
    if (given == NULL || given->kind != VALUE_MAP || given->map->len == 0) {
        return error_set(r->err, ERROR_INVALID, "'actions' must be an object: {NAME: {..}}");
    }
    const Map *map = given->map;
    if (map->len > EXTENSION_ACTIONS_MAX) {
        return error_set(r->err, ERROR_LIMIT, "it has %u actions, the maximum is %d", map->len,
                         EXTENSION_ACTIONS_MAX);
    }
    out->count = map->len;
    out->actions = ARENA_ARRAY(r->arena, Action, map->len + 1);
    out->extras = ARENA_ARRAY(r->arena, ExtensionAction, map->len + 1);
    for (uint32_t i = 0; i < map->len; i++) {
        Str name = value_str(map->entries[i].key);
        if (!read_action(r, name, map->entries[i].value, &out->actions[i], &out->extras[i])) {
            return error_wrap(r->err, "action '%" STR_FMT "'", STR_ARG(str_slice(name, 0, 60)));
        }
    }
    out->actions[map->len] = (Action){ 0 };
    return true;
}

bool extension_rows_read(Arena *arena, const char *name, Value description, ExtensionRows *out,
                         Error *err)
{
    static const char *const keys[] = { "format", "help", "id_param", "actions", NULL };
    Reader r = { arena, err };
    *out = (ExtensionRows){ .module = { .name = name } };
    if (!has_only(&r, description, keys)) {
        return error_wrap(err, "the description");
    }
    const Value *format = value_get(description, STR("format"));
    if (format == NULL || !value_is_string(*format) ||
        !str_eq(value_str(*format), STR(EXTENSION_FORMAT))) {
        return error_set(err, ERROR_INVALID, "the description must have \"format\": \"%s\"",
                         EXTENSION_FORMAT);
    }
    if (!read_help(&r, description, &out->module.help) ||
        !read_text(&r, description, "id_param", EXTENSION_TEXT_MAX, false, &out->module.id_param)) {
        return error_wrap(err, "the description");
    }
    if (!read_actions(&r, description, out)) {
        return false;
    }
    out->module.actions = out->actions;
    return true;
}
