#include "base/suggest.h"
#include "model/document_location.h"
#include "run/macros_table.h"

typedef struct MacroReader {
    Macros *macros;
    const MacrosLoad *load;
    bool ok;
} MacroReader;

PRINTF_LIKE(3, 4) static Problem *report(MacroReader *r, Value at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str text = arena_format_v(r->load->arena, format, args);
    va_end(args);
    r->ok = false;
    return document_problem(r->load->problems, r->load->sources, SEVERITY_ERROR, "E0595", at,
                            "%" STR_FMT, STR_ARG(text));
}

static void suggest(MacroReader *r, Problem *problem, Str nearest)
{
    problem->hint =
        arena_format(r->load->problems->arena, "did you mean '%" STR_FMT "'?", STR_ARG(nearest));
}

/* --- Built-in macros ------------------------------------------------------------------------- */

static Macro *add(Macros *macros, Str name)
{
    Macro *macro = ARENA_NEW(macros->load.arena, Macro);
    macro->object.type = &macro_callable_type;
    macro->owner = macros;
    macro->name = name;
    macro->memo = true;
    map_set_str(macros->load.arena, macros->names, name, value_object(&macro->object));
    return macro;
}

static void add_queries(Macros *macros)
{
    for (ModuleTable module = macros->load.modules; module != NULL && *module != NULL; module++) {
        for (const Action *action = (*module)->actions; action->name != NULL; action++) {
            if (action->query == NULL) {
                continue;
            }
            Macro *macro = add(
                macros, arena_format(macros->load.arena, "%s.%s", (*module)->name, action->name));
            macro->action = action;
            macro->is_action = true;
        }
    }
}

/* --- Definitions ----------------------------------------------------------------------------- */

typedef struct ActionName {
    Macro *macro;
    Str name; /* "cmd.run" */
} ActionName;

static void read_param(MacroReader *r, const ActionName *of, Value key, Value value)
{
    Macro *macro = of->macro;
    const Action *action = macro->action;
    Str name = value_is_string(key) ? value_str(key) : STR_EMPTY;
    int place = action_param_index(action, name);
    if (place < 0) {
        Problem *problem = report(r, key, "%" STR_FMT " has no parameter '%" STR_FMT "'",
                                  STR_ARG(of->name), STR_ARG(name));
        Suggest near = suggest_make(name);
        for (const ParamSpec *spec = action->params; spec->name != NULL; spec++) {
            suggest_offer(&near, str_from_c(spec->name));
        }
        Str nearest;
        if (suggest_found(&near, &nearest)) {
            suggest(r, problem, nearest);
        }
        return;
    }
    const ParamSpec *spec = &action->params[place];
    if ((macro->params_set & (uint64_t)1 << place) != 0) {
        report(r, key, "parameter '%s' is given twice", spec->name);
        return;
    }
    macro->params_set |= (uint64_t)1 << place;
    Dynamic *param = &macro->params[place];
    if (!dynamic_compile(r->load->arena, r->load->templates, r->load->sources, value, param,
                         r->load->problems)) {
        r->ok = false;
        return;
    }
    Value converted;
    Error err;
    if (dynamic_is_constant(param) &&
        !param_convert(r->load->arena, r->load->sources, spec, value, &converted, &err)) {
        report(r, value, "parameter '%s' %s", spec->name, err.text);
    }
}

static void read_param_map(MacroReader *r, const ActionName *of, const Map *map)
{
    for (uint32_t i = 0; i < map->len; i++) {
        read_param(r, of, map->entries[i].key, map->entries[i].value);
    }
}

/* A map, or a list of one-key maps. */
static void read_params(MacroReader *r, const ActionName *of, Value params)
{
    of->macro->params = ARENA_ARRAY(r->load->arena, Dynamic, ACTION_PARAMS_MAX);
    if (params.kind == VALUE_MAP) {
        read_param_map(r, of, params.map);
    } else if (params.kind == VALUE_LIST) {
        for (uint32_t i = 0; i < params.list->len; i++) {
            Value item = params.list->items[i];
            if (item.kind == VALUE_MAP) {
                read_param_map(r, of, item.map);
            } else {
                report(r, item, "a parameter must be written as 'name: value'");
            }
        }
    } else if (params.kind != VALUE_NULL) {
        report(r, params, "parameters must be a list or a map, not a %s",
               value_kind_name((ValueKind)params.kind));
    }
}

static void check_required(MacroReader *r, Macro *macro, Value at)
{
    for (uint32_t i = 0; macro->action->params[i].name != NULL; i++) {
        if (macro->action->params[i].required && (macro->params_set & (uint64_t)1 << i) == 0) {
            report(r, at, "macro '%" STR_FMT "' requires the parameter '%s'", STR_ARG(macro->name),
                   macro->action->params[i].name);
        }
    }
}

static void read_action(MacroReader *r, Macro *macro, Value name, Value params)
{
    if (!value_is_string(name)) {
        report(r, name, "'action' must be a string, such as 'cmd.run'");
        return;
    }
    const Module *module;
    const Action *action;
    if (!module_table_find(r->load->modules, value_str(name), &module, &action)) {
        if (module != NULL && module->unusable_reason != NULL) {
            report(r, name, "module '%s' cannot be used: %s", module->name,
                   module->unusable_reason);
            return;
        }
        Problem *problem =
            report(r, name, "unknown action '%" STR_FMT "'", STR_ARG(value_str(name)));
        Str nearest;
        if (module_table_suggest(r->load->modules, value_str(name), r->load->arena, &nearest)) {
            suggest(r, problem, nearest);
        }
        return;
    }
    if (action->query == NULL) {
        report(r, name, "%" STR_FMT " returns no value and cannot be a macro",
               STR_ARG(value_str(name)));
        return;
    }
    macro->action = action;
    read_params(r, &(ActionName){ macro, value_str(name) }, params);
    check_required(r, macro, name);
}

static void read_arg(MacroReader *r, Macro *macro, Value name, Value fallback)
{
    if (!value_is_string(name) || name.len == 0) {
        report(r, name, "the name of an argument must be a string");
    } else if (macro->arg_count == MACRO_ARGS_MAX) {
        report(r, name, "a macro has at most %d arguments", MACRO_ARGS_MAX);
    } else {
        macro->args[macro->arg_count++] =
            (MacroArg){ .name = value_str(name), .fallback = fallback };
    }
}

/* Names, or `name: value` for optional ones. */
static void read_args(MacroReader *r, Macro *macro, Value args)
{
    macro->args = ARENA_ARRAY(r->load->arena, MacroArg, MACRO_ARGS_MAX);
    if (args.kind != VALUE_LIST) {
        report(r, args, "'args' must be a list of names");
        return;
    }
    for (uint32_t i = 0; i < args.list->len; i++) {
        Value item = args.list->items[i];
        if (item.kind == VALUE_MAP && item.map->len == 1) {
            read_arg(r, macro, item.map->entries[0].key, item.map->entries[0].value);
        } else {
            read_arg(r, macro, item, value_missing());
        }
    }
}

static bool read_flag(MacroReader *r, Str name, Value value)
{
    if (value.kind != VALUE_BOOL) {
        report(r, value, "'%" STR_FMT "' must be true or false", STR_ARG(name));
        return true;
    }
    return value.boolean;
}

typedef struct Definition {
    Value action, params, expression;
    bool has_action, has_params, has_expression;
} Definition;

static void read_key(MacroReader *r, Macro *macro, Value key, Value value, Definition *d)
{
    Str name = value_is_string(key) ? value_str(key) : STR_EMPTY;
    if (str_eq(name, STR("action"))) {
        d->action = value;
        d->has_action = true;
    } else if (str_eq(name, STR("parameters"))) {
        d->params = value;
        d->has_params = true;
    } else if (str_eq(name, STR("expression"))) {
        d->expression = value;
        d->has_expression = true;
    } else if (str_eq(name, STR("args"))) {
        read_args(r, macro, value);
    } else if (str_eq(name, STR("memo"))) {
        macro->memo = read_flag(r, name, value);
    } else if (str_eq(name, STR("secret"))) {
        macro->secret = read_flag(r, name, value);
    } else if (str_find(name, STR("."), 0) != STR_NOT_FOUND && !d->has_action) {
        d->action = key;
        d->params = value;
        d->has_action = d->has_params = true;
    } else {
        static const Str known[] = { { "action", 6 }, { "parameters", 10 }, { "expression", 10 },
                                     { "args", 4 },   { "memo", 4 },        { "secret", 6 } };
        Problem *problem = report(r, key, "unknown key '%" STR_FMT "' in a macro", STR_ARG(name));
        Str nearest;
        if (suggest_best(name, known, COUNT_OF(known), &nearest)) {
            suggest(r, problem, nearest);
        }
    }
}

static void read_macro(MacroReader *r, Value name, Value definition)
{
    if (!value_is_string(name) || name.len == 0) {
        report(r, name, "the name of a macro must be a string");
        return;
    }
    if (definition.kind != VALUE_MAP) {
        report(r, definition.kind == VALUE_NULL ? name : definition,
               "a macro must be a map with an action or an expression");
        return;
    }
    Macro *macro = add(r->macros, value_str(name));
    macro->place = name;
    Definition d = { .params = value_null() };
    bool before = r->ok;
    r->ok = true;
    for (uint32_t i = 0; i < definition.map->len; i++) {
        const MapEntry *entry = &definition.map->entries[i];
        read_key(r, macro, entry->key, entry->value, &d);
    }
    if (d.has_action == d.has_expression) {
        if (r->ok) {
            report(r, name, "a macro must have either an action or an expression");
        }
    } else if (d.has_action) {
        read_action(r, macro, d.action, d.params);
    } else if (d.has_params) {
        report(r, d.params, "'parameters' requires an action; expressions use 'args'");
    } else if (!dynamic_compile_expression(r->load->arena, r->load->templates, r->load->sources,
                                           d.expression, &macro->expression, r->load->problems)) {
        r->ok = false;
    }
    r->ok = r->ok && before;
}

static void read_entry(MacroReader *r, const SiteEntry *entry)
{
    bool matches;
    if (entry->selector == NULL || !selector_match(entry->selector, r->load->subject, &matches)) {
        r->ok = false;
        return;
    }
    if (!matches) {
        return;
    }
    Str path = arena_format(r->load->arena, "macros/%" STR_FMT ".yaml", STR_ARG(entry->name));
    Value document;
    if (!site_read(r->load->site, path, entry->location, &document)) {
        r->ok = false;
    } else if (document.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < document.map->len; i++) {
            read_macro(r, document.map->entries[i].key, document.map->entries[i].value);
        }
    } else if (document.kind != VALUE_NULL) {
        report(r, document, "macros must be a map of names, not a %s",
               value_kind_name((ValueKind)document.kind));
    }
}

bool macros_read(Macros *macros)
{
    MacroReader r = { .macros = macros, .load = &macros->load, .ok = true };
    add(macros, STR("servers_get_by_label"))->is_label_query = true;
    add_queries(macros);
    if (macros->load.site == NULL) {
        return true;
    }
    const SiteEntries *entries = site_macros(macros->load.site);
    for (uint32_t i = 0; i < entries->count; i++) {
        read_entry(&r, &entries->items[i]);
    }
    return r.ok;
}
