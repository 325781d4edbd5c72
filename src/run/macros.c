#include "run/macros.h"

#include "base/suggest.h"
#include "lang/json.h"
#include "lang/template/host_object.h"
#include "lang/template/ops.h"
#include "lang/template/plain.h"
#include "modules/call.h"
#include "run/macros_table.h"

/* --- Arguments ------------------------------------------------------------------------------- */

/* `args` inside a macro: positional arguments by index, named ones by name. */
typedef struct CallArgs {
    Object object;
    List *values;
    Map *named;
} CallArgs;

static bool args_get_item(Render *r, Object *object, Value key, Value *out, bool *found)
{
    const CallArgs *args = (CallArgs *)object;
    return op_find_item(
        r, key.kind == VALUE_STRING ? value_map(args->named) : value_list(args->values), key, out,
        found);
}

static bool args_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    return args_get_item(r, object, value_string(name), out, found);
}

static bool args_iterate(Render *r, Object *object, Iter *iter)
{
    return iter_start(r, value_list(((CallArgs *)object)->values), iter);
}

static bool args_length(Render *r, Object *object, int64_t *out)
{
    *out = ((CallArgs *)object)->values->len;
    return true;
}

/* A list, unless there are named arguments. */
static bool args_force(Render *r, Object *object, Value *out)
{
    const CallArgs *args = (CallArgs *)object;
    *out = value_list(args->values);
    if (args->named->len == 0) {
        return true;
    }
    Map *all = map_new(r->arena, args->values->len + args->named->len);
    for (uint32_t i = 0; i < args->values->len; i++) {
        map_append(r->arena, all, value_int(i), args->values->items[i]);
    }
    for (uint32_t i = 0; i < args->named->len; i++) {
        map_append(r->arena, all, args->named->entries[i].key, args->named->entries[i].value);
    }
    *out = value_map(all);
    return true;
}

static const ObjectType args_type = { .name = "args",
                                      .get_attr = args_get_attr,
                                      .get_item = args_get_item,
                                      .force = args_force,
                                      .iterate = args_iterate,
                                      .length = args_length };

/* Plain copies: values that a macro keeps must not be lazy or consumed. */
static bool gather_args(Render *r, const Args *given, CallArgs *out)
{
    *out = (CallArgs){ .object = { &args_type },
                       .values = list_new(r->arena, given->count),
                       .named = map_new(r->arena, given->named == NULL ? 0 : given->named->len) };
    for (uint32_t i = 0; i < given->count; i++) {
        Value value;
        if (!value_plain(r, given->values[i], &value)) {
            return false;
        }
        list_push(r->arena, out->values, value);
    }
    for (uint32_t i = 0; given->named != NULL && i < given->named->len; i++) {
        Value value;
        if (!value_plain(r, given->named->entries[i].value, &value)) {
            return false;
        }
        map_append(r->arena, out->named, given->named->entries[i].key, value);
    }
    return true;
}

/* Assigns the macro's parameter names to positional arguments. */
static bool name_args(Render *r, const Macro *macro, CallArgs *args)
{
    if (macro->arg_count == 0) {
        return true;
    }
    if (args->values->len > macro->arg_count) {
        return render_raise(r, FAULT_TYPE, "macro '%" STR_FMT "' takes %u arguments, not %u",
                            STR_ARG(macro->name), macro->arg_count, args->values->len);
    }
    for (uint32_t i = 0; i < macro->arg_count; i++) {
        const MacroArg *arg = &macro->args[i];
        bool named = map_find_str(args->named, arg->name) != NULL;
        if (i < args->values->len && named) {
            return render_raise(r, FAULT_TYPE,
                                "macro '%" STR_FMT "': argument '%" STR_FMT "' is given twice",
                                STR_ARG(macro->name), STR_ARG(arg->name));
        }
        if (i < args->values->len) {
            map_set_str(r->arena, args->named, arg->name, args->values->items[i]);
        } else if (!named && value_is_missing(arg->fallback)) {
            return render_raise(r, FAULT_TYPE,
                                "macro '%" STR_FMT "' requires the argument '%" STR_FMT "'",
                                STR_ARG(macro->name), STR_ARG(arg->name));
        } else if (!named) {
            map_set_str(r->arena, args->named, arg->name, arg->fallback);
        }
    }
    return true;
}

/* The cache key of a call: the macro, its arguments, and whether they are secret. */
static bool question_text(Render *r, const Macro *macro, const CallArgs *args, Str *out)
{
    Buf text = render_buf(r);
    Error err;
    Value values = value_list(args->values), named = value_map(args->named);
    bool secret = op_holds_secret(r, values) || op_holds_secret(r, named);
    buf_put(&text, macro->name);
    buf_put(&text, secret ? STR("\001") : STR("\002"));
    if (!json_print(&text, values, NULL, &err) || !json_print(&text, named, NULL, &err)) {
        return render_raise(r, FAULT_TYPE, "macro '%" STR_FMT "': %s", STR_ARG(macro->name),
                            err.text);
    }
    *out = buf_str(&text);
    return !text.overflow || render_out_of_memory(r);
}

/* --- Evaluation ------------------------------------------------------------------------------ */

/* "a -> b -> a": starting with the outermost. */
static Str call_way(Render *r, const MacroCall *innermost, const Macro *last)
{
    enum {
        SHOWN_MAX = 12
    };
    const Macro *shown[SHOWN_MAX];
    uint32_t count = 0;
    for (const MacroCall *call = innermost; call != NULL; call = call->caller) {
        if (count < SHOWN_MAX) {
            shown[count] = call->macro;
        }
        count++;
    }
    Buf text = render_buf(r);
    if (count > SHOWN_MAX) {
        buf_put(&text, STR("... -> "));
    }
    for (uint32_t i = count < SHOWN_MAX ? count : SHOWN_MAX; i-- > 0;) {
        buf_put(&text, shown[i]->name);
        buf_put(&text, STR(" -> "));
    }
    buf_put(&text, last->name);
    return buf_str(&text);
}

/* Detects a macro whose result depends on itself. */
static bool check_circle(Render *r, const Macros *macros, const Macro *macro, Str key)
{
    for (const MacroCall *call = macros->active_call; call != NULL; call = call->caller) {
        if (call->macro == macro && str_eq(call->key, key)) {
            return render_raise(
                r, FAULT_RECURSION, "macro '%" STR_FMT "' depends on its own result: %" STR_FMT,
                STR_ARG(macro->name), STR_ARG(call_way(r, macros->active_call, macro)));
        }
    }
    return true;
}

static Value call_scope(Render *r, const Macros *macros, CallArgs *args)
{
    const Map *base = macros->scope.map;
    Map *scope = map_new(r->arena, base->len + args->named->len + 1);
    for (uint32_t i = 0; i < base->len; i++) {
        map_append(r->arena, scope, base->entries[i].key, base->entries[i].value);
    }
    for (uint32_t i = 0; i < args->named->len; i++) {
        map_set(r->arena, scope, args->named->entries[i].key, args->named->entries[i].value);
    }
    map_set_str(r->arena, scope, STR("args"), value_object(&args->object));
    return value_map(scope);
}

/* Kinds that are resolved elsewhere are passed unchanged. */
static bool convert(Render *r, const Macro *macro, const ParamSpec *spec, Arena *arena, Value given,
                    Value *out)
{
    Error err;
    if (spec->kind >= PARAM_SITE_FILE) {
        *out = given;
        return true;
    }
    return param_convert(arena, macro->owner->load.sources, spec, given, out, &err) ||
           render_raise(r, FAULT_VALUE, "macro '%" STR_FMT "': parameter '%s' %s",
                        STR_ARG(macro->name), spec->name, err.text);
}

typedef struct Asking {
    const Macro *macro;
    CallArgs *args;
    Value scope;
    Rendered *rendered;
    Arena *arena;
} Asking;

/* A parameter as set by the macro, or by the caller for an action under its own name. */
static bool find_param(Render *r, const Asking *a, uint32_t place, Value *out)
{
    const Macro *macro = a->macro;
    const ParamSpec *spec = &macro->action->params[place];
    *out = value_missing();
    if (!macro->is_action) {
        return (macro->params_set & (uint64_t)1 << place) == 0 ||
               dynamic_evaluate_inside(r, &macro->params[place], a->scope, a->rendered, a->arena,
                                       out);
    }
    const MapEntry *named = map_find_str(a->args->named, str_from_c(spec->name));
    if (named != NULL && place < a->args->values->len) {
        return render_raise(r, FAULT_TYPE, "%" STR_FMT ": parameter '%s' is given twice",
                            STR_ARG(macro->name), spec->name);
    }
    if (named != NULL) {
        *out = named->value;
    } else if (place < a->args->values->len) {
        *out = a->args->values->items[place];
    } else if (spec->required) {
        return render_raise(r, FAULT_TYPE, "%" STR_FMT " requires the parameter '%s'",
                            STR_ARG(macro->name), spec->name);
    }
    return true;
}

static bool check_direct(Render *r, const Asking *a)
{
    const Action *action = a->macro->action;
    if (a->args->values->len > action_param_count(action)) {
        return render_raise(r, FAULT_TYPE, "%" STR_FMT " takes %u parameters, not %u",
                            STR_ARG(a->macro->name), action_param_count(action),
                            a->args->values->len);
    }
    for (uint32_t i = 0; i < a->args->named->len; i++) {
        Str name = value_str(a->args->named->entries[i].key);
        if (action_param_index(action, name) < 0) {
            return render_raise(r, FAULT_TYPE, "%" STR_FMT " has no parameter '%" STR_FMT "'",
                                STR_ARG(a->macro->name), STR_ARG(name));
        }
    }
    return true;
}

static bool ask_action(Render *r, const Asking *a, Value *out)
{
    const Macro *macro = a->macro;
    const MacroQuery *ask = &macro->owner->load.ask;
    uint32_t count = action_param_count(macro->action);
    Value *params = ARENA_ARRAY(a->arena, Value, count);
    bool secret = false;
    if (macro->is_action && !check_direct(r, a)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const ParamSpec *spec = &macro->action->params[i];
        if (!find_param(r, a, i, &params[i])) {
            return false;
        }
        secret = secret || value_holds_secret(params[i]);
        if (value_is_missing(params[i]) && spec->fallback != NULL) {
            params[i] = value_string(str_from_c(spec->fallback));
        }
        if (!value_is_missing(params[i]) &&
            !convert(r, macro, spec, a->arena, value_copy(a->arena, params[i]), &params[i])) {
            return false;
        }
    }
    Error err;
    if (ask->ask == NULL) {
        return render_raise(r, FAULT_RUNTIME,
                            "macro '%" STR_FMT "': macros with actions are not available here",
                            STR_ARG(macro->name));
    }
    if (!ask->ask(ask->context, macro->action, params, a->arena, out, &err)) {
        if (err.kind == ERROR_UNAVAILABLE) {
            return render_raise(r, FAULT_UNKNOWN, "%s", err.text);
        }
        return render_raise(r, FAULT_RUNTIME, "macro '%" STR_FMT "': %s", STR_ARG(macro->name),
                            err.text);
    }
    out->flags |= secret ? VALUE_SECRET : 0;
    return true;
}

static bool ask_rendered(Render *r, Macros *macros, const Asking *asking, Str key, Value *out)
{
    MacroCall call = { asking->macro, key, macros->active_call };
    macros->active_call = &call;
    bool ok = asking->macro->action != NULL
                  ? ask_action(r, asking, out)
                  : dynamic_evaluate_inside(r, &asking->macro->expression, asking->scope,
                                            asking->rendered, asking->arena, out);
    macros->active_call = call.caller;
    return ok;
}

static void keep_answer(Macros *macros, Str key, Value answer)
{
    value_freeze(answer);
    map_set_str(macros->load.arena, macros->results, arena_copy(macros->load.arena, key), answer);
}

static bool ask(Render *r, const Macro *macro, CallArgs *args, Value *out)
{
    Macros *macros = macro->owner;
    Str key;
    if (!question_text(r, macro, args, &key)) {
        return false;
    }
    bool memo = macro->memo && !macros->bypass_cache;
    const MapEntry *known = memo ? map_find_str(macros->results, key) : NULL;
    if (known != NULL) {
        *out = known->value;
        return true;
    }
    if (!check_circle(r, macros, macro, key) || !name_args(r, macro, args)) {
        return false;
    }
    Rendered *rendered = renders_push(macros->load.renders);
    if (rendered == NULL) {
        return render_raise(r, FAULT_RECURSION,
                            "more than %d macros and variables depend on each other: %" STR_FMT,
                            RENDERS_MAX, STR_ARG(call_way(r, macros->active_call, macro)));
    }
    bool keep = memo && macros->results->len < MACRO_RESULTS_MAX;
    Asking asking = { .macro = macro,
                      .args = args,
                      .scope = call_scope(r, macros, args),
                      .rendered = rendered,
                      .arena = keep ? macros->load.arena : r->arena };
    bool ok = ask_rendered(r, macros, &asking, key, out);
    if (ok && macro->secret) {
        out->flags |= VALUE_SECRET;
        templates_report_secret(macros->load.templates, *out, false);
    }
    renders_pop(macros->load.renders);
    if (ok && keep) {
        keep_answer(macros, key, *out);
    }
    return ok;
}

/* --- servers_get_by_label -------------------------------------------------------------------- */

typedef struct ServerSubject {
    Macros *macros;
    Value server;
    Problems *problems;
} ServerSubject;

/* An expression of the selector, for one server. */
static DynamicOutcome evaluate_about(void *context, const Dynamic *expression, Value *out)
{
    ServerSubject *about = context;
    Macros *macros = about->macros;
    Rendered *rendered = renders_push(macros->load.renders);
    if (rendered == NULL) {
        return DYNAMIC_FAILED;
    }
    Map *scope = map_new(about->problems->arena, 1);
    map_set_str(about->problems->arena, scope, STR("server"), about->server);
    DynamicOutcome outcome =
        dynamic_evaluate(expression, value_map(scope), macros->load.sources, rendered,
                         about->problems->arena, out, about->problems);
    renders_pop(macros->load.renders);
    return outcome;
}

static bool raise_selector(Render *r, const Problems *problems)
{
    Str message = problems->count > 0 ? problems->items[0].message : STR("it cannot be read");
    render_raise(r, FAULT_VALUE, "servers_get_by_label: %" STR_FMT, STR_ARG(message));
    return problems->count > 0 && problems->items[0].hint.len > 0
               ? render_hint(r, "%" STR_FMT, STR_ARG(problems->items[0].hint))
               : false;
}

/* Each selector is parsed once. */
static bool find_selector(Render *r, Macros *macros, Value text, Problems *problems,
                          const Selector **out)
{
    Arena *arena = macros->load.arena;
    const MapEntry *known = map_find_str(macros->selectors, value_str(text));
    if (known != NULL) {
        *out = macros->parsed[known->value.integer];
        return true;
    }
    uint32_t count = macros->selectors->len;
    Value kept = value_string(arena_copy(arena, value_str(text)));
    if (!selector_parse(arena, macros->load.templates, macros->load.sources, kept, out, problems)) {
        return raise_selector(r, problems);
    }
    if (count == macros->parsed_cap) {
        uint32_t cap = count == 0 ? 8 : count * 2;
        macros->parsed =
            arena_grow(arena, macros->parsed, count * sizeof(Selector *), cap * sizeof(Selector *));
        macros->parsed_cap = cap;
    }
    macros->parsed[count] = *out;
    map_set(arena, macros->selectors, kept, value_int(count));
    return true;
}

static bool servers_by_label(Render *r, Macros *macros, const CallArgs *args, Value *out)
{
    if (args->values->len != 1 || args->named->len != 0 ||
        !value_is_string(args->values->items[0])) {
        return render_raise(
            r, FAULT_TYPE,
            "servers_get_by_label requires a selector as a string, such as 'role=web'");
    }
    Problems problems;
    problems_init(&problems, r->arena);
    const Selector *selector;
    if (!find_selector(r, macros, args->values->items[0], &problems, &selector)) {
        return false;
    }
    List *chosen = list_new(r->arena, 4);
    const List *servers =
        macros->load.servers.kind == VALUE_LIST ? macros->load.servers.list : chosen;
    for (uint32_t i = 0, count = servers->len; i < count; i++) {
        Value server = servers->items[i];
        const Value *labels = value_get(server, STR("labels"));
        ServerSubject about = { macros, server, &problems };
        SelectorSubject subject = { .name = value_get_text(server, "name"),
                                    .fqdn = value_get_text(server, "fqdn"),
                                    .labels = labels != NULL && labels->kind == VALUE_MAP
                                                  ? labels->map
                                                  : NULL,
                                    .evaluate = evaluate_about,
                                    .context = &about };
        bool matches;
        if (!render_charge(r, 1)) {
            return false;
        }
        if (!selector_match(selector, &subject, &matches)) {
            return raise_selector(r, &problems);
        }
        if (matches) {
            list_push(r->arena, chosen, server);
        }
    }
    *out = value_list(chosen);
    return true;
}

/* --- Template objects ------------------------------------------------------------------------- */

static bool answer(Render *r, const Macro *macro, const Args *given, Value *out)
{
    CallArgs *args = arena_alloc(r->arena, sizeof *args);
    if (!gather_args(r, given, args) ||
        !(macro->is_label_query ? servers_by_label(r, macro->owner, args, out)
                                : ask(r, macro, args, out))) {
        return false;
    }
    render_note_external(r, *out);
    return true;
}

static bool callable_call(Render *r, Object *object, const Args *args, Value *out)
{
    return answer(r, (Macro *)object, args, out);
}

const ObjectType macro_callable_type = { .name = "macro", .call = callable_call };

static const Macro *find_macro(const Macros *macros, Value key)
{
    const MapEntry *entry =
        value_is_string(key) ? map_find_str(macros->names, value_str(key)) : NULL;
    return entry == NULL ? NULL : (const Macro *)entry->value.object;
}

/* Undefined, with a message that names the macro. */
static Value no_macro(Render *r, Object *macros, Value key)
{
    Str name = value_is_string(key) && !value_is_secret(key) ? value_str(key) : STR("...");
    return undefined_element_hint(r, value_object(macros), key,
                                  "macro '%" STR_FMT "' is not defined", STR_ARG(name));
}

static bool macros_get_item(Render *r, Object *object, Value key, Value *out, bool *found)
{
    const Macro *macro = find_macro((Macros *)object, key);
    *found = true;
    if (macro == NULL) {
        *out = no_macro(r, object, key);
        return true;
    }
    return answer(r, macro, &(Args){ 0 }, out);
}

static bool macros_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    return macros_get_item(r, object, value_string(name), out, found);
}

static bool macros_get_callee(Render *r, Object *object, Value key, Value *out, bool *found)
{
    const Macro *macro = find_macro((Macros *)object, key);
    *found = true;
    *out = macro == NULL ? no_macro(r, object, key) : value_object((Object *)&macro->object);
    return true;
}

static bool macros_iterate(Render *r, Object *object, Iter *iter)
{
    return iter_start(r, value_map(((Macros *)object)->names), iter);
}

static bool macros_contains(Render *r, Object *object, Value needle, bool *out)
{
    *out = find_macro((Macros *)object, needle) != NULL;
    return true;
}

static const ObjectType macros_type = { .name = "macros",
                                        .get_attr = macros_get_attr,
                                        .get_item = macros_get_item,
                                        .get_callee = macros_get_callee,
                                        .iterate = macros_iterate,
                                        .contains = macros_contains,
                                        .mapping = true };

bool macros_load(const MacrosLoad *load, Macros **out)
{
    Macros *macros = ARENA_NEW(load->arena, Macros);
    *macros = (Macros){ .object = { &macros_type },
                        .load = *load,
                        .names = map_new(load->arena, 32),
                        .scope = value_map(map_new(load->arena, 0)),
                        .results = map_new(load->arena, 8),
                        .selectors = map_new(load->arena, 0) };
    *out = macros;
    return macros_read(macros);
}

void macros_set_scope(Macros *macros, Value scope)
{
    macros->scope = scope;
}

Value macros_value(Macros *macros)
{
    return value_object(&macros->object);
}

Value macros_servers_get_by_label(Macros *macros)
{
    return map_find_str(macros->names, STR("servers_get_by_label"))->value;
}

void macros_set_fresh(Macros *macros, bool fresh)
{
    macros->bypass_cache = fresh;
    if (fresh && macros->results->len > 0) {
        macros->results = map_new(macros->load.arena, 8);
    }
}

bool macro_query_host(void *context, const Action *action, const Value *params, Arena *arena,
                      Value *out, Error *err)
{
    Call call = { .action = action, .params = params, .arena = arena, .host = context };
    Outcome outcome = { .value = value_null() };
    if (!action->query(&call, &outcome, err)) {
        /* A missing answer is a failure with its reason, not something that only the run knows. */
        err->kind = err->kind == ERROR_UNAVAILABLE ? ERROR_OS : err->kind;
        return false;
    }
    *out = outcome.value;
    return true;
}
