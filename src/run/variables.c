#include "run/variables.h"

#include "base/suggest.h"
#include "lang/template/host_object.h"
#include "lang/template/ops.h"
#include "model/document_location.h"
#include "run/variables_layers.h"

typedef enum VarState {
    VAR_PLAIN,      /* `value` is final */
    VAR_MAP,        /* contains templates further down: `map` */
    VAR_UNRENDERED, /* `dynamic` has not been rendered yet */
    VAR_RENDERING,  /* being rendered: using it again is a cycle */
    VAR_CYCLE,      /* part of a cycle that was reported already */
} VarState;

typedef struct LazyMap LazyMap;

typedef struct Var {
    VarState state;
    Value value; /* as written; once rendered, the result */
    union {
        Dynamic dynamic;
        LazyMap *map;
    };
    const LazyMap *parent;
    uint32_t index;        /* index among the entries of `parent` */
    struct Var *dependent; /* for VAR_RENDERING: the variable that uses it; NULL: none */
} Var;

struct LazyMap {
    Object object;
    Variables *owner;
    Map *written; /* the merged map; has as many entries as `vars` */
    Var *vars;
    const Var *var; /* the variable whose value it is; NULL for the map of all variables */
    Value forced;   /* missing until all of it is needed */
};

struct Variables {
    VariablesLoad load;
    VariableLayers layers;
    Value scope;
    LazyMap *all;
    Var *rendering; /* the innermost that is being rendered */
};

const char *layer_kind_name(LayerKind kind)
{
    static const char *const names[] = { "site", "host", "file", "define" };
    return names[kind];
}

/* --- Names ---------------------------------------------------------------------------------- */

static void put_path(const LazyMap *map, Buf *out)
{
    if (map->var == NULL) {
        buf_put(out, STR("vars"));
        return;
    }
    put_path(map->var->parent, out);
    Value key = map->var->parent->written->entries[map->var->index].key;
    buf_put_char(out, '.');
    if (value_is_string(key)) {
        buf_put(out, value_str(key));
    }
}

static void put_name(const Var *var, Buf *out)
{
    LazyMap itself = { .var = var };
    put_path(&itself, out);
}

/* --- Rendering ------------------------------------------------------------------------------ */

/* "vars.a -> vars.b -> vars.a", starting with the one that is used again. */
static bool raise_cycle(Render *r, Variables *v, Var *again)
{
    enum {
        SHOWN_MAX = 30
    };
    const Var *way[SHOWN_MAX];
    uint32_t count = 0;
    for (Var *var = v->rendering; var != NULL; var = var->dependent) {
        if (count < SHOWN_MAX) {
            way[count] = var;
        }
        count++;
        var->state = VAR_CYCLE;
        if (var == again) {
            break;
        }
    }
    Buf text = render_buf(r);
    put_name(again, &text);
    if (count > SHOWN_MAX) {
        buf_put(&text, STR(" -> ..."));
    }
    for (uint32_t i = count < SHOWN_MAX ? count : SHOWN_MAX; i-- > 0;) {
        if (way[i] != again) {
            buf_put(&text, STR(" -> "));
            put_name(way[i], &text);
        }
    }
    buf_put(&text, STR(" -> "));
    put_name(again, &text);
    render_raise(r, FAULT_RECURSION, "circular reference between variables: %" STR_FMT,
                 STR_ARG(buf_str(&text)));
    return render_hint(r, "set one of them to a value that does not use the others");
}

static void var_begin(Variables *v, Var *var)
{
    var->state = VAR_RENDERING;
    var->dependent = v->rendering;
    v->rendering = var;
}

/* A cycle stays reported; other failures may succeed next time. */
static void var_end(Variables *v, Var *var, bool ok, Value value)
{
    v->rendering = var->dependent;
    if (ok) {
        value_freeze(value);
        templates_report_secret(v->load.templates, value, !value_is_secret(var->value));
        var->value = value;
        var->state = VAR_PLAIN;
    } else if (var->state == VAR_RENDERING) {
        var->state = VAR_UNRENDERED;
    }
}

static bool var_render(Render *r, Variables *v, Var *var, Value *out)
{
    if (var->state == VAR_RENDERING) {
        return raise_cycle(r, v, var);
    }
    Rendered *rendered = renders_push(v->load.renders);
    if (rendered == NULL) {
        return render_raise(r, FAULT_RECURSION,
                            "more than %d variables and macros depend on each other", RENDERS_MAX);
    }
    var_begin(v, var);
    bool ok = dynamic_evaluate_inside(r, &var->dynamic, v->scope, rendered, v->load.arena, out);
    var_end(v, var, ok, *out);
    renders_pop(v->load.renders);
    return ok;
}

static bool var_get(Render *r, Variables *v, Var *var, Value *out)
{
    switch (var->state) {
    case VAR_PLAIN: *out = var->value; break;
    case VAR_MAP:
        *out = value_object(&var->map->object);
        out->flags |= var->value.flags & VALUE_SECRET;
        break;
    default:
        if (!var_render(r, v, var, out)) {
            return false;
        }
    }
    render_note_external(r, *out);
    return true;
}

/* --- The lazy map --------------------------------------------------------------------------- */

static Var *lazy_find(LazyMap *map, Value key)
{
    const MapEntry *entry = value_is_key(key) ? map_find(map->written, key) : NULL;
    return entry == NULL ? NULL : &map->vars[entry - map->written->entries];
}

/* Undefined, with a message that names the variable. */
static Value no_variable(Render *r, LazyMap *map, Value key)
{
    Buf path = render_buf(r);
    put_path(map, &path);
    Str name = value_is_secret(key) ? STR("...") : value_str(key);
    return undefined_element_hint(r, value_object(&map->object), key,
                                  "variable '%" STR_FMT ".%" STR_FMT "' not found",
                                  STR_ARG(buf_str(&path)), STR_ARG(name));
}

static bool lazy_get_item(Render *r, Object *object, Value key, Value *out, bool *found)
{
    LazyMap *map = (LazyMap *)object;
    Var *var = lazy_find(map, key);
    *found = var != NULL || value_is_string(key);
    if (var == NULL && *found) {
        *out = no_variable(r, map, key);
    }
    return var == NULL || var_get(r, map->owner, var, out);
}

static bool lazy_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    return lazy_get_item(r, object, value_string(name), out, found);
}

/* If called, a method wins over a variable of that name: vars.items(). */
static bool lazy_get_callee(Render *r, Object *object, Value key, Value *out, bool *found)
{
    const Native *method = value_is_string(key) ? method_find(VALUE_MAP, value_str(key)) : NULL;
    *found = method != NULL;
    Value forced;
    if (!*found) {
        return true;
    }
    if (!op_force(r, value_object(object), &forced)) {
        return false;
    }
    *out = bound_method_new(r, forced, method);
    return true;
}

static bool lazy_force(Render *r, Object *object, Value *out)
{
    LazyMap *map = (LazyMap *)object;
    if (!value_is_missing(map->forced)) {
        *out = map->forced;
        render_note_external(r, *out);
        return true;
    }
    if (!render_charge(r, map->written->len)) {
        return false;
    }
    Map *forced = map_new(map->owner->load.arena, map->written->len);
    for (uint32_t i = 0; i < map->written->len; i++) {
        Value value;
        if (!var_get(r, map->owner, &map->vars[i], &value) || !op_force(r, value, &value)) {
            return false;
        }
        map_append(map->owner->load.arena, forced, map->written->entries[i].key, value);
    }
    map->forced = value_map(forced);
    value_freeze(map->forced);
    *out = map->forced;
    return true;
}

static bool lazy_iterate(Render *r, Object *object, Iter *iter)
{
    return iter_start(r, value_map(((LazyMap *)object)->written), iter);
}

static bool lazy_length(Render *r, Object *object, int64_t *out)
{
    *out = ((LazyMap *)object)->written->len;
    return true;
}

static bool lazy_contains(Render *r, Object *object, Value needle, bool *out)
{
    *out = lazy_find((LazyMap *)object, needle) != NULL;
    return true;
}

static const ObjectType lazy_type = { .name = "dict",
                                      .get_attr = lazy_get_attr,
                                      .get_item = lazy_get_item,
                                      .get_callee = lazy_get_callee,
                                      .force = lazy_force,
                                      .iterate = lazy_iterate,
                                      .length = lazy_length,
                                      .contains = lazy_contains,
                                      .mapping = true };

/* --- Loading -------------------------------------------------------------------------------- */

typedef struct Compiler {
    Variables *variables;
    const bool *data; /* indexed by source: contains no templates */
    bool ok;
} Compiler;

static bool is_data(const Compiler *c, Value value)
{
    return c->data[value.source];
}

static LazyMap *compile_map(Compiler *c, Value written, const Var *var);

/* A map without templates is plain data, however deep. */
static bool is_lazy(const LazyMap *map)
{
    for (uint32_t i = 0; i < map->written->len; i++) {
        if (map->vars[i].state != VAR_PLAIN) {
            return true;
        }
    }
    return false;
}

static void compile_var(Compiler *c, Var *var)
{
    Variables *v = c->variables;
    if (var->value.kind == VALUE_MAP) {
        LazyMap *map = compile_map(c, var->value, var);
        if (is_lazy(map)) {
            var->state = VAR_MAP;
            var->map = map;
        }
        return;
    }
    if (is_data(c, var->value)) {
        return;
    }
    Dynamic dynamic;
    if (!dynamic_compile(v->load.arena, v->load.templates, v->load.sources, var->value, &dynamic,
                         v->load.problems)) {
        c->ok = false;
    } else if (!dynamic_is_constant(&dynamic)) {
        var->state = VAR_UNRENDERED;
        var->dynamic = dynamic;
    }
}

static LazyMap *compile_map(Compiler *c, Value written, const Var *var)
{
    Arena *arena = c->variables->load.arena;
    LazyMap *map = ARENA_NEW(arena, LazyMap);
    uint32_t count = written.map->len;
    *map = (LazyMap){ .object = { &lazy_type },
                      .owner = c->variables,
                      .written = written.map,
                      .vars = ARENA_ARRAY(arena, Var, count),
                      .var = var,
                      .forced = value_missing() };
    for (uint32_t i = 0; i < count; i++) {
        map->vars[i] = (Var){
            .state = VAR_PLAIN, .value = written.map->entries[i].value, .parent = map, .index = i
        };
        compile_var(c, &map->vars[i]);
    }
    return map;
}

/* Values of these layers come from separate sources. */
static bool *data_sources(const Variables *v)
{
    bool *data = arena_alloc_zero(v->load.arena, v->load.sources->count + 1);
    for (uint32_t i = 0; i < v->layers.len; i++) {
        const VariableLayer *layer = &v->layers.items[i];
        if (layer->kind == LAYER_HOST || layer->kind == LAYER_DEFINE) {
            data[layer->document.source] = true;
        }
    }
    return data;
}

/* A text with templates is a secret only once it is rendered. */
static void report_secrets(const Compiler *c, Value v, bool secret)
{
    secret |= value_is_secret(v);
    if (v.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < v.map->len; i++) {
            report_secrets(c, v.map->entries[i].value, secret);
        }
    } else if (value_is_sequence(v)) {
        for (uint32_t i = 0; i < v.list->len; i++) {
            report_secrets(c, v.list->items[i], secret);
        }
    } else if (secret &&
               (is_data(c, v) || !value_is_string(v) || !dynamic_has_template(value_str(v)))) {
        templates_report_secret(c->variables->load.templates, value_with_secret(v), false);
    }
}

/* Of all layers: overridden values may also appear in a message or an old file. */
static void report_layer_secrets(const Compiler *c)
{
    const VariableLayers *layers = &c->variables->layers;
    for (uint32_t i = 0; i < layers->len; i++) {
        if (value_holds_secret(layers->items[i].document)) {
            report_secrets(c, layers->items[i].document, false);
        }
    }
}

bool variables_load(const VariablesLoad *load, Variables **out)
{
    Variables *v = ARENA_NEW(load->arena, Variables);
    v->load = *load;
    v->scope = value_map(map_new(load->arena, 0));
    bool ok = variables_read_layers(load, &v->layers);
    variables_share_marks(load->arena, &v->layers);
    Value merged = variables_merge(load->arena, load->sources, &v->layers);
    value_freeze(merged);
    Compiler c = { .variables = v, .data = data_sources(v), .ok = true };
    report_layer_secrets(&c);
    v->all = compile_map(&c, merged, NULL);
    *out = v;
    return ok && c.ok;
}

void variables_set_scope(Variables *variables, Value scope)
{
    variables->scope = scope;
}

Value variables_value(Variables *variables)
{
    return value_object(&variables->all->object);
}

/* --- Access from outside templates ----------------------------------------------------------- */

/* A variable that uses a failing one fails with it: the same problem is reported once. */
static void add_new_problems(Problems *into, const Problems *found)
{
    for (uint32_t i = 0; i < found->count; i++) {
        const Problem *problem = &found->items[i];
        bool known = false;
        for (uint32_t k = 0; k < into->count && !known; k++) {
            const Problem *other = &into->items[k];
            known = other->line == problem->line && other->column == problem->column &&
                    str_eq(other->file, problem->file) && str_eq(other->message, problem->message);
        }
        if (!known) {
            problems_add_copy(into, problem);
        }
    }
}

static DynamicOutcome var_evaluate(Variables *v, Var *var, Value *out)
{
    if (var->state == VAR_PLAIN) {
        *out = var->value;
        return DYNAMIC_OK;
    }
    if (var->state == VAR_CYCLE) {
        return DYNAMIC_FAILED;
    }
    Rendered *rendered = renders_push(v->load.renders);
    if (rendered == NULL) {
        return DYNAMIC_FAILED;
    }
    Problems found;
    problems_init(&found, v->load.problems->arena);
    var_begin(v, var);
    DynamicOutcome outcome = dynamic_evaluate(&var->dynamic, v->scope, v->load.sources, rendered,
                                              v->load.arena, out, &found);
    var_end(v, var, outcome == DYNAMIC_OK, *out);
    renders_pop(v->load.renders);
    add_new_problems(v->load.problems, &found);
    return outcome;
}

static bool check_map(Variables *v, LazyMap *map)
{
    bool ok = true;
    for (uint32_t i = 0; i < map->written->len; i++) {
        Value ignored;
        Var *var = &map->vars[i];
        ok = (var->state == VAR_MAP ? check_map(v, var->map)
                                    : var_evaluate(v, var, &ignored) != DYNAMIC_FAILED) &&
             ok;
    }
    return ok;
}

bool variables_check(Variables *variables)
{
    return check_map(variables, variables->all);
}

static bool evaluate_map(Variables *v, LazyMap *map, Value *out)
{
    Map *all = map_new(v->load.arena, map->written->len);
    bool ok = true;
    for (uint32_t i = 0; i < map->written->len; i++) {
        Value value;
        Var *var = &map->vars[i];
        DynamicOutcome outcome = var->state != VAR_MAP               ? var_evaluate(v, var, &value)
                                 : evaluate_map(v, var->map, &value) ? DYNAMIC_OK
                                                                     : DYNAMIC_FAILED;
        if (outcome == DYNAMIC_OK) {
            map_append(v->load.arena, all, map->written->entries[i].key, value);
        }
        ok = ok && outcome != DYNAMIC_FAILED;
    }
    *out = value_map(all);
    return ok;
}

bool variables_all(Variables *variables, Value *out)
{
    return evaluate_map(variables, variables->all, out);
}

static bool report_path(const Variables *v, Str path)
{
    problems_add(v->load.problems, "E0594", NULL, 0, 0,
                 "'%" STR_FMT
                 "' is not a path of keys, such as network.mtu or sysctl['fs.file-max']",
                 STR_ARG(path));
    return false;
}

/* `near` is where the path could not be followed; NULL if that was not a map. */
static bool report_absent(const Variables *v, Str path, Str behind, const Map *near, Value part)
{
    Str upto = str_slice(path, 0, path.len - behind.len);
    Problem *problem = problems_add(v->load.problems, "E0594", NULL, 0, 0,
                                    "variable '%" STR_FMT "' not found", STR_ARG(upto));
    if (near == NULL || !value_is_string(part)) {
        return false;
    }
    Suggest suggest = suggest_make(value_str(part));
    for (uint32_t i = 0; i < near->len; i++) {
        if (value_is_string(near->entries[i].key)) {
            suggest_offer(&suggest, value_str(near->entries[i].key));
        }
    }
    Str nearest;
    if (suggest_found(&suggest, &nearest)) {
        problem->hint =
            arena_format(v->load.problems->arena, "did you mean '%" STR_FMT "'?", STR_ARG(nearest));
    }
    return false;
}

static const Value *element(Value owner, Value part)
{
    if (owner.kind == VALUE_MAP) {
        const MapEntry *entry = variable_find(owner.map, part);
        return entry == NULL ? NULL : &entry->value;
    }
    bool inside = value_is_sequence(owner) && part.kind == VALUE_INT && part.integer >= 0 &&
                  part.integer < owner.list->len;
    return inside ? &owner.list->items[part.integer] : NULL;
}

/* A leading `vars.` is ignored. */
static Str without_prefix(Str path)
{
    return str_starts(path, STR("vars.")) ? str_from_offset(path, 5) : path;
}

bool variables_get(Variables *variables, Str path, Value *out)
{
    path = without_prefix(path);
    Str rest = path;
    LazyMap *map = variables->all;
    Value value = value_missing();
    Value part;
    bool wrong;
    bool secret = false;
    while (variable_path_next(&rest, &part, &wrong)) {
        if (map == NULL) {
            const Value *next = element(value, part);
            if (next == NULL) {
                return report_absent(variables, path, rest,
                                     value.kind == VALUE_MAP ? value.map : NULL, part);
            }
            value = *next;
        } else {
            const MapEntry *entry = variable_find(map->written, part);
            if (entry == NULL) {
                return report_absent(variables, path, rest, map->written, part);
            }
            Var *var = &map->vars[entry - map->written->entries];
            map = var->state == VAR_MAP ? var->map : NULL;
            value = var->value;
            if (map == NULL && var_evaluate(variables, var, &value) != DYNAMIC_OK) {
                return false;
            }
        }
        secret = secret || value_is_secret(value);
    }
    if (wrong || path.len == 0) {
        return report_path(variables, path);
    }
    if (map != NULL && !evaluate_map(variables, map, &value)) {
        return false;
    }
    *out = value;
    out->flags |= secret ? VALUE_SECRET : 0;
    return true;
}

const VariableLayer *variables_layers(const Variables *variables, uint32_t *count)
{
    *count = variables->layers.len;
    return variables->layers.items;
}

/* The content of one layer at a path. */
typedef enum Reach {
    REACH_NOTHING,
    REACH_VALUE,
    REACH_SHADOW, /* something else on the way to it */
} Reach;

static Reach reach(const Variables *v, const VariableLayer *layer, Str path,
                   VariableDefinition *out)
{
    Value owner = layer->document;
    Value part;
    bool wrong;
    *out = (VariableDefinition){ .layer = layer };
    while (variable_path_next(&path, &part, &wrong)) {
        if (owner.kind != VALUE_MAP) {
            /* Lists are merged as a whole: their items come from here. */
            const Value *item = element(owner, part);
            if (item == NULL) {
                out->shadows = true;
                return REACH_SHADOW;
            }
            out->value = owner = *item;
            continue;
        }
        const MapEntry *entry = variable_find(owner.map, part);
        if (entry == NULL || variable_is_blank(v->load.sources, entry->value)) {
            return REACH_NOTHING;
        }
        out->key = entry->key;
        out->value = owner = entry->value;
    }
    return REACH_VALUE;
}

/* Everything before is overridden. */
static void silence(VariableDefinition *definitions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        definitions[i].is_effective = false;
    }
}

bool variables_explain(Variables *variables, Str path, VariableDefinition **out, uint32_t *count)
{
    path = without_prefix(path);
    Value part;
    bool wrong;
    Str rest = path;
    while (variable_path_next(&rest, &part, &wrong)) {
    }
    if (wrong || path.len == 0) {
        return report_path(variables, path);
    }
    VariableDefinition *definitions =
        ARENA_ARRAY(variables->load.arena, VariableDefinition, variables->layers.len);
    uint32_t found = 0;
    bool any = false;
    for (uint32_t i = 0; i < variables->layers.len; i++) {
        VariableDefinition *definition = &definitions[found];
        Reach reached = reach(variables, &variables->layers.items[i], path, definition);
        if (reached == REACH_NOTHING) {
            continue;
        }
        bool merges = reached == REACH_VALUE && definition->value.kind == VALUE_MAP && found > 0 &&
                      definitions[found - 1].is_effective &&
                      definitions[found - 1].value.kind == VALUE_MAP;
        if (!merges) {
            silence(definitions, found);
        }
        definition->is_effective = true;
        any = any || reached == REACH_VALUE;
        found++;
    }
    Value value;
    if (!any && !variables_get(variables, path, &value)) {
        return false;
    }
    /* A template on the way may return a map that contains it. */
    if (!any && found > 0) {
        definitions[found - 1].shadows = false;
    }
    *out = definitions;
    *count = found;
    return true;
}
