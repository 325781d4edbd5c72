/* Parses the parameters of an action: each must be known, occur once and have the right type. */
#include "base/json_out.h"
#include "model/foreign.h"
#include "model/parse.h"

/* Ansible collections qualify module names. */
static Str foreign_action(const SiteLoad *load, Str name)
{
    static const char *const collections[] = { "ansible.builtin.", "ansible.legacy.",
                                               "ansible.posix.", "community.general." };
    Str instead = foreign_word(load->modules, FOREIGN_ACTION, STR_EMPTY, name);
    for (size_t i = 0; i < COUNT_OF(collections) && instead.len == 0; i++) {
        if (str_starts(name, str_from_c(collections[i]))) {
            instead = foreign_word(load->modules, FOREIGN_TASK, STR_EMPTY,
                                   str_from_offset(name, strlen(collections[i])));
        }
    }
    return instead;
}

bool action_call_find(const SiteLoad *load, Value name, ActionCall *out)
{
    Str text = STR_EMPTY;
    (void)site_text(load, name, &text);
    *out = (ActionCall){ .location = name };
    if (module_table_find(load->modules, text, &out->module, &out->action)) {
        return true;
    }
    if (out->module != NULL && out->module->unusable_reason != NULL) {
        site_problem(load, "E0324", name, "module '%s' cannot be used: %s", out->module->name,
                     out->module->unusable_reason);
        return false;
    }
    bool bare = out->module != NULL && str_find(text, STR("."), 0) == STR_NOT_FOUND;
    Problem *problem =
        bare ? site_problem(load, "E0305", name, "'%s' is a module; add the name of an action",
                            out->module->name)
             : site_problem(load, "E0305", name, "unknown action '%" STR_FMT "'",
                            STR_ARG(str_slice(text, 0, 100)));
    Str nearest;
    problem->hint = foreign_action(load, text);
    if (problem->hint.len > 0) {
        site_fix(load, problem, name, hint_replacement(problem->hint));
        out->action = NULL;
        return false;
    }
    if (!bare && module_table_suggest(load->modules, text, load->arena, &nearest)) {
        problem->hint =
            arena_format(load->problems->arena, "did you mean '%" STR_FMT "'?", STR_ARG(nearest));
        site_fix(load, problem, name, nearest);
    } else if (out->module != NULL) {
        Buf hint = buf_make_in(load->problems->arena, PROBLEM_MESSAGE_MAX);
        for (const Action *action = out->module->actions; action->name != NULL; action++) {
            buf_put_format(&hint, "%s%s.%s", hint.len == 0 ? "available: " : ", ",
                           out->module->name, action->name);
        }
        problem->hint = buf_str(&hint);
    }
    out->action = NULL;
    return false;
}

/* --- Values --------------------------------------------------------------------------------- */

/* A file in the site that a parameter refers to must exist. */
static bool is_below(Str path, const char *directory, Str *below)
{
    size_t len = strlen(directory);
    bool is_inside =
        str_starts(path, str_from_c(directory)) && path.len > len && path.data[len] == '/';
    *below = is_inside ? str_from_offset(path, len + 1) : STR_EMPTY;
    return is_inside;
}

static Str foreign_value(const SiteLoad *load, const ActionCall *call, const ParamSpec *spec,
                         Str value)
{
    Str location =
        arena_format(load->arena, "%s.%s.%s", call->module->name, call->action->name, spec->name);
    return foreign_word(load->modules, FOREIGN_VALUE, location, value);
}

static bool check_site_file(const SiteLoad *load, const ActionCall *call, const ParamSpec *spec,
                            Value input, const char *directory)
{
    Str name = STR_EMPTY;
    if (!site_text(load, input, &name) || !document_is_name(name)) {
        Problem *problem =
            site_problem(load, "E0308", input, "'%s' must be the path of a file in the site's %s/",
                         spec->name, directory);
        Str hint = foreign_word(load->modules, FOREIGN_VALUE, str_from_c(directory), name);
        problem->hint = hint.len > 0 ? hint : foreign_value(load, call, spec, name);
        return false;
    }
    Str path = arena_format(load->arena, "%s/%" STR_FMT, directory, STR_ARG(name));
    if (load->reader.exists == NULL || load->reader.exists(load->reader.context, path)) {
        return true;
    }
    Problem *problem = site_problem(load, "E0301", input,
                                    "file '%" STR_FMT "' not found in the site", STR_ARG(path));
    Str below;
    problem->hint = foreign_word(load->modules, FOREIGN_VALUE, str_from_c(directory), name);
    if (problem->hint.len > 0) {
        return false;
    }
    if (is_below(name, directory, &below) && load->reader.exists(load->reader.context, name)) {
        problem->hint =
            arena_format(load->problems->arena, "paths are relative to %s/: write '%" STR_FMT "'",
                         directory, STR_ARG(below));
        site_fix(load, problem, input, below);
    } else if (load->reader.list != NULL) {
        List *paths = list_new(load->arena, 16);
        load->reader.list(load->reader.context, str_from_c(directory), load->arena, paths);
        Suggest suggest = suggest_make(name);
        for (uint32_t i = 0; i < paths->len; i++) {
            suggest_offer(&suggest,
                          str_from_offset(value_str(paths->items[i]), strlen(directory) + 1));
        }
        site_suggest_for(load, problem, input, &suggest);
    }
    return false;
}

static bool check_site_template(const SiteLoad *load, const ActionCall *call, const ParamSpec *spec,
                                Value input)
{
    return check_site_file(load, call, spec, input, "templates") &&
           (load->reader.exists == NULL || !value_is_string(input) ||
            document_check_template(load, value_str(input)));
}

/* [{file: STEP}, ..] */
static bool check_published(const SiteLoad *load, Value input)
{
    bool ok = input.kind == VALUE_LIST;
    for (uint32_t i = 0; ok && i < input.list->len; i++) {
        Value item = input.list->items[i];
        ok = item.kind == VALUE_MAP && item.map->len == 1 &&
             value_is_string(item.map->entries[0].key) &&
             str_eq(value_str(item.map->entries[0].key), STR("file")) &&
             value_is_string(item.map->entries[0].value);
    }
    if (!ok) {
        Problem *problem =
            site_problem(load, "E0308", input, "this must be a list of steps that publish files");
        problem->hint = STR("write '[{file: NAME OF THE STEP}]'");
    }
    return ok;
}

static bool convert_constant(const SiteLoad *load, const ActionCall *call, const ParamSpec *spec,
                             Value input, Value *out)
{
    *out = input;
    switch (spec->kind) {
    case PARAM_SITE_FILE: return check_site_file(load, call, spec, input, "files");
    case PARAM_SITE_TEMPLATE: return check_site_template(load, call, spec, input);
    case PARAM_PUBLISHED: return check_published(load, input);
    default: break;
    }
    Error err;
    if (param_convert(load->arena, load->sources, spec, input, out, &err)) {
        /* 0644 and 'no' have the same meaning as in other parameters. */
        const char *known = spec->kind == PARAM_MODE   ? "E0132"
                            : spec->kind == PARAM_BOOL ? "E0131"
                                                       : NULL;
        if (known != NULL) {
            problems_remove_warning(load->problems, known, sources_get(load->sources, input.source),
                                    input.start);
        }
        return true;
    }
    *out = value_missing();
    Problem *problem = site_problem(load, "E0308", input, "'%s' %s", spec->name, err.text);
    if (value_is_string(input)) {
        problem->hint = foreign_value(load, call, spec, value_str(input));
        Str path = arena_format(load->arena, "files/%" STR_FMT, STR_ARG(value_str(input)));
        if (problem->hint.len > 0 && param_is_path(spec) && load->reader.exists != NULL &&
            document_is_name(value_str(input)) && load->reader.exists(load->reader.context, path)) {
            problem->hint =
                arena_format(load->problems->arena, "'%" STR_FMT "' is in the site: %" STR_FMT,
                             STR_ARG(path), STR_ARG(problem->hint));
        }
    }
    return false;
}

/* Defaults are written in our own tables: an invalid one is a bug. */
static Value default_value(const SiteLoad *load, const ParamSpec *spec)
{
    Value out = value_missing();
    Error err;
    if (spec->fallback != NULL &&
        !param_convert(load->arena, NULL, spec, value_string(str_from_c(spec->fallback)), &out,
                       &err)) {
        BUG("default of '%s': %s", spec->name, err.text);
    }
    return out;
}

/* --- Keys ----------------------------------------------------------------------------------- */

/* Whether the name of a parameter differs only by an 's', such as "uri" and "uris". */
static bool differs_in_plural(const Action *action, Str name)
{
    bool found = false;
    for (const ParamSpec *spec = action->params; spec->name != NULL && !found; spec++) {
        Str own = str_from_c(spec->name);
        Str longer = own.len > name.len ? own : name, shorter = own.len > name.len ? name : own;
        found = longer.len == shorter.len + 1 && str_starts(longer, shorter) &&
                str_ends(longer, STR("s"));
    }
    return found;
}

/* Whether parameters, in any form, have that key. */
static bool has_key(Value input, Str name)
{
    for (uint32_t i = 0; input.kind == VALUE_LIST && i < input.list->len; i++) {
        if (input.list->items[i].kind == VALUE_MAP && has_key(input.list->items[i], name)) {
            return true;
        }
    }
    return input.kind == VALUE_MAP && value_get(input, name) != NULL;
}

static void unknown_parameter(const SiteLoad *load, const FieldSet *others, ActionCall *call,
                              Value key, Str name)
{
    Problem *problem =
        site_problem(load, "E0306", key, "'%s.%s' has no parameter '%" STR_FMT "'",
                     call->module->name, call->action->name, STR_ARG(str_slice(name, 0, 100)));
    Str action = arena_format(load->arena, "%s.%s", call->module->name, call->action->name);
    problem->hint = foreign_word(load->modules, FOREIGN_PARAMETER, action, name);
    if (problem->hint.len == 0 && others != NULL && !differs_in_plural(call->action, name)) {
        problem->hint = foreign_word(load->modules, FOREIGN_KEY, STR("a step"), name);
    }
    Str replacement = hint_replacement(problem->hint);
    if (replacement.len > 0 && has_key(call->input, replacement)) {
        problem->hint = arena_format(load->arena, "'%" STR_FMT "' is also set; merge them",
                                     STR_ARG(replacement));
        return;
    }
    if (problem->hint.len > 0) {
        int suggestion = action_param_index(call->action, replacement);
        call->params_by_foreign_name |= suggestion < 0 ? 0 : UINT64_C(1) << suggestion;
        site_fix(load, problem, key, replacement);
        return;
    }
    Suggest suggest = suggest_make(name);
    for (const ParamSpec *spec = call->action->params; spec != NULL && spec->name != NULL; spec++) {
        suggest_offer(&suggest, str_from_c(spec->name));
    }
    if (others != NULL && others->suggest_names != NULL) {
        others->suggest_names(others->context, &suggest);
    }
    site_suggest_for(load, problem, key, &suggest);
}

static bool read_parameter(const SiteLoad *load, const FieldSet *others, ActionCall *call,
                           Value *values, const MapEntry *entry)
{
    Str name;
    if (!site_text(load, entry->key, &name)) {
        site_problem(load, "E0306", entry->key, "the name of a parameter must be a string, not %s",
                     site_kind_name(entry->key));
        return false;
    }
    int index = call->action == NULL ? -1 : action_param_index(call->action, name);
    if (index < 0) {
        if (others != NULL && others->handle_key(others->context, entry)) {
            return true;
        }
        if (call->action != NULL) {
            unknown_parameter(load, others, call, entry->key, name);
        }
        Dynamic ignored; /* checks its content anyway */
        return site_compile(load, entry->value, &ignored) && call->action == NULL;
    }
    if (entry->value.kind == VALUE_NULL) {
        return true;
    }
    if ((call->params_set & (UINT64_C(1) << index)) != 0) {
        Problem *problem = site_problem(load, "E0310", entry->key, "parameter '%s' is given twice",
                                        call->action->params[index].name);
        site_hint_duplicate(load, problem, call->params[index]->value);
        return false;
    }
    call->params_set |= UINT64_C(1) << index;
    Dynamic *param = arena_alloc(load->arena, sizeof *param);
    call->params[index] = param;
    if (!site_compile(load, entry->value, param)) {
        return false;
    }
    return !dynamic_is_constant(param) ||
           convert_constant(load, call, &call->action->params[index], entry->value, &values[index]);
}

static bool read_entries(const SiteLoad *load, const FieldSet *others, ActionCall *call,
                         Value *values, const Map *map)
{
    bool ok = true;
    for (uint32_t i = 0; i < map->len; i++) {
        ok = read_parameter(load, others, call, values, &map->entries[i]) && ok;
    }
    return ok;
}

static bool read_list(const SiteLoad *load, const FieldSet *others, ActionCall *call, Value *values,
                      const List *list)
{
    bool ok = true;
    for (uint32_t i = 0; i < list->len; i++) {
        Value item = list->items[i];
        if (item.kind == VALUE_NULL) {
            continue;
        }
        if (item.kind != VALUE_MAP) {
            Problem *problem = site_problem(
                load, "E0303", item, "an entry of 'parameters' must be a map with one key, not %s",
                site_kind_name(item));
            problem->hint = STR("write 'NAME: VALUE'");
            ok = false;
        } else if (item.map->len > 1) {
            Problem *problem = site_problem(
                load, "E0303", item.map->entries[1].key,
                "an entry of 'parameters' must be a map with one key, not %u", item.map->len);
            bool braces = str_starts(value_original(load->sources, item), STR("{"));
            problem->hint = braces ? STR("put '}, {' before it instead of the comma")
                                   : STR("put a '-' before it");
            ok = false;
            (void)read_entries(load, others, call, values, item.map);
        } else {
            ok = read_entries(load, others, call, values, item.map) && ok;
        }
    }
    return ok;
}

/* Prints a string as YAML requires it inside brackets. */
static void put_flow_string(Buf *out, Str text)
{
    bool plain = text.len > 0 && !ascii_is_digit(text.data[0]);
    for (size_t i = 0; i < text.len && plain; i++) {
        plain = ascii_is_name(text.data[i]) || (i > 0 && strchr("./+-", text.data[i]) != NULL);
    }
    if (plain) {
        buf_put(out, text);
    } else {
        json_text_put(out, text);
    }
}

static bool accepts_list(ParamKind kind)
{
    return kind == PARAM_STRINGS || kind == PARAM_VERSIONS || kind == PARAM_COMMAND;
}

/* The main parameter of the action: the required one, its name, or its IDs. */
static const ParamSpec *main_parameter(const ActionCall *call, bool list)
{
    const char *ids = action_id_params(call->module, call->action);
    for (const ParamSpec *spec = call->action->params; spec != NULL && spec->name != NULL; spec++) {
        bool is_main = spec->required || strcmp(spec->name, "name") == 0 ||
                       (list && id_params_include(ids, str_from_c(spec->name)));
        if (is_main && (!list || accepts_list(spec->kind))) {
            return spec;
        }
    }
    return NULL;
}

/* A string in place of the parameters is usually the value of the main one: "pkg.installed:
 * nginx", "pkg.installed: [nginx, vim]". Returns the correct form, empty if it is unknown. */
static Str suggest_parameters(const SiteLoad *load, const ActionCall *call, Value input, bool list)
{
    enum {
        SHOWN_MAX = 80
    };
    const ParamSpec *spec = call->action == NULL ? NULL : main_parameter(call, list);
    if (spec == NULL || value_holds_secret(input)) {
        return STR_EMPTY;
    }
    Buf out = buf_make_in(load->problems->arena, BUF_UNLIMITED);
    buf_put_format(&out, "{%s: %s", spec->name, list ? "[" : "");
    uint32_t count = list ? input.list->len : 1;
    for (uint32_t i = 0; i < count; i++) {
        Str text;
        if (!site_text(load, list ? input.list->items[i] : input, &text)) {
            return STR_EMPTY;
        }
        buf_put_c(&out, i > 0 ? ", " : "");
        put_flow_string(&out, text);
    }
    buf_put_c(&out, list ? "]}" : "}");
    return out.len <= SHOWN_MAX ? buf_str(&out)
                                : arena_format(load->problems->arena, "{%s: ...}", spec->name);
}

/* Returns true for "name=vim state=present", as Ansible writes parameters. `suggestion` is the
 * correct form; empty: it is unknown. */
static bool suggest_pairs(const SiteLoad *load, const ActionCall *call, Value input,
                          Str *suggestion)
{
    Str rest = value_is_string(input) ? value_str(input) : STR_EMPTY, pair;
    const ParamSpec *main = call->action == NULL ? NULL : main_parameter(call, false);
    Buf out = buf_make_in(load->problems->arena, BUF_UNLIMITED);
    bool known = main != NULL && !value_holds_secret(input), any = false;
    while (rest.len > 0 && str_split_next(&rest, ' ', &pair)) {
        size_t equals = str_find(pair, STR("="), 0);
        Str key = str_slice(pair, 0, equals);
        if (pair.len == 0) {
            continue;
        }
        for (size_t i = 0; i < key.len; i++) {
            known = known && ascii_is_name(key.data[i]);
        }
        if (equals == STR_NOT_FOUND || key.len == 0 ||
            (main != NULL && main->kind == PARAM_COMMAND)) {
            return false;
        }
        any = true;
        bool has_param = known && action_param_index(call->action, key) >= 0;
        known = has_param || (known && str_eq(pair, STR("state=present")));
        if (has_param) {
            buf_put_format(&out, "%s%" STR_FMT ": ", out.len > 0 ? ", " : "", STR_ARG(key));
            put_flow_string(&out, str_from_offset(pair, equals + 1));
        }
    }
    *suggestion = known && out.len > 0 ? arena_format(load->problems->arena, "{%" STR_FMT "}",
                                                      STR_ARG(buf_str(&out)))
                                       : STR_EMPTY;
    return any;
}

static bool is_string_list(Value input)
{
    bool texts = input.kind == VALUE_LIST && input.list->len > 0;
    for (uint32_t i = 0; texts && i < input.list->len; i++) {
        texts = input.list->items[i].kind == VALUE_STRING;
    }
    return texts;
}

static void hint_at_parameters(const SiteLoad *load, const ActionCall *call, Value input,
                               Problem *problem)
{
    Arena *arena = load->problems->arena;
    bool list = input.kind == VALUE_LIST;
    Str suggestion;
    if (!suggest_pairs(load, call, input, &suggestion)) {
        suggestion = suggest_parameters(load, call, input, list);
    } else if (suggestion.len == 0) {
        problem->hint = STR("write a map: '{NAME: VALUE, NAME: VALUE}'");
        return;
    }
    if (suggestion.len > 0) {
        problem->hint = arena_format(arena, "write '%" STR_FMT "'", STR_ARG(suggestion));
        if (!list && value_original(load->sources, input).len == problem->span) {
            problem_fix(arena, problem, suggestion);
        }
        return;
    }
    suggestion = list ? suggest_parameters(load, call, input.list->items[0], false) : STR_EMPTY;
    if (suggestion.len > 0) {
        problem->hint =
            arena_format(arena, "write '%" STR_FMT "'%s", STR_ARG(suggestion),
                         input.list->len > 1 ? ", and one step for each of the others" : "");
    }
}

bool action_call_params(const SiteLoad *load, Value input, const FieldSet *others, ActionCall *call)
{
    uint32_t count = call->action == NULL ? 0 : action_param_count(call->action);
    BUG_IF(count > ACTION_PARAMS_MAX);
    call->input = input;
    call->params = arena_alloc_zero(load->arena, (count + 1) * sizeof *call->params);
    Value *values = ARENA_ARRAY(load->arena, Value, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = value_missing();
    }
    bool ok = true;
    if (input.kind == VALUE_MAP) {
        ok = read_entries(load, others, call, values, input.map);
    } else if (input.kind == VALUE_LIST && !is_string_list(input)) {
        ok = read_list(load, others, call, values, input.list);
    } else if (input.kind != VALUE_NULL && !value_is_missing(input)) {
        Problem *problem =
            site_problem(load, "E0303", input,
                         "parameters must be a map, or a list of maps with one key each, not %s",
                         input.kind == VALUE_LIST ? "a list of strings" : site_kind_name(input));
        hint_at_parameters(load, call, input, problem);
        call->params_unreadable = true;
        ok = false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if ((call->params_set & (UINT64_C(1) << i)) == 0) {
            values[i] = default_value(load, &call->action->params[i]);
        }
    }
    call->values = values;
    return ok;
}

static void add_to_id(const SiteLoad *load, Buf *joined, Value name)
{
    Str text;
    if (site_text(load, name, &text)) {
        buf_put_format(joined, "%s%" STR_FMT, joined->len == 0 ? "" : ", ", STR_ARG(text));
    }
}

Str action_call_id(const SiteLoad *load, const ActionCall *call)
{
    Str rest = str_from_c(action_id_params(call->module, call->action));
    Str part;
    while (str_split_next(&rest, '|', &part)) {
        int index = action_param_index(call->action, part);
        if (index < 0 || (call->params_set & (UINT64_C(1) << index)) == 0) {
            continue;
        }
        Value input = call->params[index]->value;
        Str text;
        if (site_text(load, input, &text)) {
            return str_trim(text);
        }
        Buf joined = buf_make_in(load->arena, 1024);
        if (value_is_sequence(input)) {
            for (uint32_t i = 0; i < input.list->len; i++) {
                Value item = input.list->items[i];
                bool is_pair = item.kind == VALUE_MAP && item.map->len == 1;
                add_to_id(load, &joined, is_pair ? item.map->entries[0].key : item);
            }
        } else if (input.kind == VALUE_MAP) {
            for (uint32_t i = 0; i < input.map->len; i++) {
                add_to_id(load, &joined, input.map->entries[i].key);
            }
        }
        return buf_str(&joined);
    }
    return STR_EMPTY;
}
