#include "model/module.h"

#include <string.h>

#include "base/bug.h"
#include "base/suggest.h"

Value params_get(const ParamSpec *specs, const Value *values, const char *name)
{
    for (uint32_t i = 0; specs[i].name != NULL; i++) {
        if (strcmp(specs[i].name, name) == 0) {
            return values[i];
        }
    }
    BUG("no parameter '%s'", name);
}

Str params_text(const ParamSpec *specs, const Value *values, const char *name)
{
    Value value = params_get(specs, values, name);
    return value_is_string(value) ? value_str(value) : STR_EMPTY;
}

void claims_add(Arena *arena, List *claims, const char *prefix, Str name)
{
    list_push(arena, claims,
              value_string(arena_format(arena, "%s%" STR_FMT, prefix, STR_ARG(name))));
}

void claims_add_param(Arena *arena, List *claims, const char *prefix, Value param)
{
    if (value_is_string(param) && param.len > 0) {
        claims_add(arena, claims, prefix, value_str(param));
    }
}

bool module_table_find(ModuleTable table, Str name, const Module **out_module,
                       const Action **out_action)
{
    size_t dot = str_find(name, STR("."), 0);
    Str module_name = str_slice(name, 0, dot);
    Str action_name = dot == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(name, dot + 1);
    *out_module = module_table_find_module(table, module_name);
    *out_action = NULL;
    if (*out_module == NULL) {
        return false;
    }
    for (const Action *action = (*out_module)->actions; action->name != NULL; action++) {
        if (str_eq_c(action_name, action->name)) {
            *out_action = action;
            return true;
        }
    }
    return false;
}

const Module *module_table_find_module(ModuleTable table, Str name)
{
    for (; *table != NULL; table++) {
        if (str_eq_c(name, (*table)->name)) {
            return *table;
        }
    }
    return NULL;
}

/* Within an existing module only the action is compared: with a long module name, so many edits
 * would be allowed that "append" would match "absent". */
static bool suggest_within(const Module *module, Str name, Arena *arena, Str *out)
{
    Str nearest;
    Suggest suggest = suggest_make(name);
    for (const Action *action = module->actions; action->name != NULL; action++) {
        suggest_offer(&suggest, str_from_c(action->name));
    }
    if (!suggest_found(&suggest, &nearest)) {
        return false;
    }
    *out = arena_format(arena, "%s.%" STR_FMT, module->name, STR_ARG(nearest));
    return true;
}

bool module_table_suggest(ModuleTable table, Str name, Arena *arena, Str *out)
{
    size_t dot = str_find(name, STR("."), 0);
    const Module *known = module_table_find_module(table, str_slice(name, 0, dot));
    if (known != NULL && dot != STR_NOT_FOUND) {
        return suggest_within(known, str_from_offset(name, dot + 1), arena, out);
    }
    Suggest suggest = suggest_make(name);
    for (; *table != NULL; table++) {
        for (const Action *action = (*table)->actions; action->name != NULL; action++) {
            suggest_offer(&suggest, arena_format(arena, "%s.%s", (*table)->name, action->name));
        }
    }
    return suggest_found(&suggest, out);
}

int action_param_index(const Action *action, Str name)
{
    for (int i = 0; action->params != NULL && action->params[i].name != NULL; i++) {
        if (str_eq_c(name, action->params[i].name)) {
            return i;
        }
    }
    return -1;
}

bool action_is_quick(const Action *action, const Value *params)
{
    bool brief = !action->always_changes && !action->may_sleep && action->cost_ms == 0;
    for (uint32_t i = 0; brief && action->params[i].name != NULL; i++) {
        brief = action->params[i].kind != PARAM_COMMAND || value_is_missing(params[i]);
    }
    return brief;
}

uint32_t action_param_count(const Action *action)
{
    uint32_t count = 0;
    while (action->params != NULL && action->params[count].name != NULL) {
        count++;
    }
    return count;
}

const char *action_id_params(const Module *module, const Action *action)
{
    return action->id_param != NULL ? action->id_param : module->id_param;
}

bool id_params_include(const char *id_params, Str name)
{
    Str rest = str_from_c(id_params);
    Str part;
    while (str_split_next(&rest, '|', &part)) {
        if (str_eq(part, name)) {
            return true;
        }
    }
    return false;
}

static const char *const kind_names[] = {
    [PARAM_STRING] = "string",
    [PARAM_INT] = "integer",
    [PARAM_BOOL] = "boolean",
    [PARAM_DURATION] = "duration",
    [PARAM_MODE] = "file mode",
    [PARAM_PATH] = "path",
    [PARAM_DESTINATION] = "path",
    [PARAM_FILE] = "path",
    [PARAM_STRINGS] = "list of strings",
    [PARAM_MAP] = "map",
    [PARAM_VERSIONS] = "names, with or without versions",
    [PARAM_COMMAND] = "command",
    [PARAM_ANY] = "anything",
    [PARAM_SITE_FILE] = "file in the site",
    [PARAM_SITE_TEMPLATE] = "template in the site",
    [PARAM_PUBLISHED] = "published files",
};

const char *param_kind_name(ParamKind kind)
{
    return kind_names[kind];
}

bool param_is_path(const ParamSpec *spec)
{
    return spec->kind == PARAM_PATH || spec->kind == PARAM_DESTINATION || spec->kind == PARAM_FILE;
}
