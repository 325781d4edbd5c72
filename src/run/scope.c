#include "run/scope.h"

#include "model/document_location.h"
#include "run/scope_steps.h"

enum {
    WITH_ITEM = 1,
    WITH_STEP = 2,
    STEP_MAPS = 4
};

/* A map of names, with pointers to the values that change from step to step. */
typedef struct StepMap {
    Map *map;
    Value *item; /* NULL: absent */
    Value *step;
} StepMap;

struct Scope {
    ScopeLoad load;
    Variables *variables;
    Macros *macros;
    SelectorSubject subject;
    Value servervars;
    List *servers;   /* the same */
    bool incomplete; /* a part could not be read, which was reported */
    Map *early;      /* before there are variables: for their selectors and paths */
    Map *base;       /* scope of variables, macros and selectors */
    Map *selecting;
    StepsObject forbidden;
    StepsObject steps;
    StepObject own;
    StepMap maps[STEP_MAPS];
};

/* --- Loading ---------------------------------------------------------------------------------- */

static void put(Scope *scope, Map *map, Str name, Value value)
{
    map_set_str(scope->load.arena, map, name, value);
}

static void put_node(Scope *scope, Map *map, Value eden)
{
    const Node *node = scope->load.node;
    put(scope, map, STR("eden"), eden);
    put(scope, map, STR("server"), node->server);
    put(scope, map, STR("Server"), node->server);
    put(scope, map, STR("servervars"), scope->servervars);
    if (scope->load.event.kind != VALUE_NULL) {
        put(scope, map, STR("event"), scope->load.event);
    }
    if (scope->load.events.kind != VALUE_NULL) {
        put(scope, map, STR("events"), scope->load.events);
    }
}

static Map *eden_map(Scope *scope)
{
    Map *eden = map_new(scope->load.arena, 4);
    put(scope, eden, STR("version"), value_string(str_from_c(scope->load.version)));
    put(scope, eden, STR("node"), value_string(scope->load.node->name));
    put(scope, eden, STR("run"), value_string(scope->load.run));
    return eden;
}

static void put_base(Scope *scope, Map *map)
{
    Map *eden = eden_map(scope);
    put(scope, eden, STR("servers_get_by_label"), macros_servers_get_by_label(scope->macros));
    value_freeze(value_map(eden));
    put_node(scope, map, value_map(eden));
    put(scope, map, STR("vars"), variables_value(scope->variables));
    put(scope, map, STR("variables"), variables_value(scope->variables));
    put(scope, map, STR("macros"), macros_value(scope->macros));
}

/* Undefined like any other name, but with the reason. */
static Value no_item(Arena *arena)
{
    Undefined *undefined = ARENA_NEW(arena, Undefined);
    *undefined =
        (Undefined){ .name = STR("item"),
                     .owner = value_missing(),
                     .hint = STR("'item' is undefined: add 'forEach: [...]' to this step") };
    return (Value){ .kind = VALUE_UNDEFINED, .undefined = undefined };
}

static void make_step_map(Scope *scope, unsigned with)
{
    StepMap *made = &scope->maps[with];
    made->map = map_new(scope->load.arena, 16);
    put_base(scope, made->map);
    put(scope, made->map, STR("steps"), steps_object_value(&scope->steps));
    put(scope, made->map, STR("item"),
        (with & WITH_ITEM) != 0 ? value_null() : no_item(scope->load.arena));
    if ((with & WITH_STEP) != 0) {
        put(scope, made->map, STR("step"), value_null());
    }
    /* Looked up once the map is complete: until then its entries move. */
    if ((with & WITH_ITEM) != 0) {
        made->item = &map_find_str(made->map, STR("item"))->value;
    }
    if ((with & WITH_STEP) != 0) {
        made->step = &map_find_str(made->map, STR("step"))->value;
    }
}

static DynamicOutcome select_evaluate(void *context, const Dynamic *expression, Value *out)
{
    Scope *scope = context;
    Rendered *rendered = renders_push(scope->load.renders);
    if (rendered == NULL) {
        return DYNAMIC_FAILED;
    }
    DynamicOutcome outcome =
        dynamic_evaluate(expression, value_map(scope->selecting), scope->load.sources, rendered,
                         scope->load.arena, out, scope->load.problems);
    renders_pop(scope->load.renders);
    return outcome;
}

static bool load_variables(Scope *scope)
{
    const ScopeLoad *load = &scope->load;
    VariablesLoad variables = { .arena = load->arena,
                                .sources = load->sources,
                                .templates = load->templates,
                                .problems = load->problems,
                                .site = load->site,
                                .subject = &scope->subject,
                                .path_scope = value_map(scope->early),
                                .etc = load->etc,
                                .files = load->files,
                                .file_count = load->file_count,
                                .defines = load->defines,
                                .define_count = load->define_count,
                                .renders = load->renders };
    return variables_load(&variables, &scope->variables);
}

static bool load_macros(Scope *scope)
{
    const ScopeLoad *load = &scope->load;
    MacrosLoad macros = { .arena = load->arena,
                          .sources = load->sources,
                          .templates = load->templates,
                          .problems = load->problems,
                          .site = load->site,
                          .subject = &scope->subject,
                          .modules = load->modules,
                          .ask = load->ask,
                          .servers = value_list(scope->servers),
                          .renders = load->renders };
    return macros_load(&macros, &scope->macros);
}

static void take_servers(Scope *scope)
{
    const ScopeLoad *load = &scope->load;
    Map *servers = map_new(load->arena, load->servers == NULL ? 1 : load->servers->len);
    scope->servers = list_new(load->arena, servers->cap);
    if (load->servers == NULL) {
        map_set_str(load->arena, servers, load->node->name, load->node->server);
    }
    for (uint32_t i = 0; load->servers != NULL && i < load->servers->len; i++) {
        map_append(load->arena, servers, load->servers->entries[i].key,
                   load->servers->entries[i].value);
    }
    for (uint32_t i = 0; i < servers->len; i++) {
        list_push(load->arena, scope->servers, servers->entries[i].value);
    }
    scope->servervars = value_map(servers);
    value_freeze(scope->servervars);
}

bool scope_load(const ScopeLoad *load, Scope **out)
{
    Scope *scope = ARENA_NEW(load->arena, Scope);
    *out = scope;
    scope->load = *load;
    take_servers(scope);
    scope->subject = node_subject(load->node);
    scope->subject.evaluate = select_evaluate;
    scope->subject.context = scope;
    steps_object_init(&scope->forbidden, STEPS_FORBIDDEN, load->arena);
    steps_object_init(&scope->steps, STEPS_UNKNOWN, load->arena);
    scope->early = map_new(load->arena, 8);
    put_node(scope, scope->early, value_map(eden_map(scope)));
    scope->selecting = scope->early;
    bool ok = load_variables(scope);
    ok = load_macros(scope) && ok;
    scope->base = map_new(load->arena, 16);
    put_base(scope, scope->base);
    put(scope, scope->base, STR("steps"), steps_object_value(&scope->forbidden));
    scope->selecting = scope->base;
    variables_set_scope(scope->variables, value_map(scope->base));
    macros_set_scope(scope->macros, value_map(scope->base));
    for (unsigned with = 0; with < STEP_MAPS; with++) {
        make_step_map(scope, with);
    }
    scope->incomplete = !ok;
    return ok;
}

bool scope_is_negative_text(Value answer)
{
    static const Str words[] = { STR("no"), STR("off"), STR("false"), STR("none"), STR("0") };
    bool says = false;
    for (size_t i = 0; value_is_string(answer) && i < COUNT_OF(words); i++) {
        says = says || str_eq_ignore_case(str_trim(value_str(answer)), words[i]);
    }
    return says;
}

Variables *scope_variables(Scope *scope)
{
    return scope->variables;
}

Macros *scope_macros(Scope *scope)
{
    return scope->macros;
}

const SelectorSubject *scope_subject(Scope *scope)
{
    return &scope->subject;
}

/* --- Evaluation ------------------------------------------------------------------------------- */

static Value step_scope(Scope *scope, Value item, const StepObject *own)
{
    bool has_item = !value_is_missing(item);
    StepMap *made = &scope->maps[(has_item ? WITH_ITEM : 0) | (own != NULL ? WITH_STEP : 0)];
    if (has_item) {
        value_freeze(item);
        *made->item = item;
    }
    if (own != NULL) {
        *made->step = value_object((Object *)&own->object);
    }
    return value_map(made->map);
}

static DynamicOutcome evaluate(Scope *scope, const Dynamic *dynamic, Value map, Arena *arena,
                               Value *out, Problems *problems)
{
    if (dynamic_is_constant(dynamic)) {
        *out = dynamic->value;
        return DYNAMIC_OK;
    }
    Rendered *rendered = renders_push(scope->load.renders);
    if (rendered == NULL) {
        return DYNAMIC_FAILED;
    }
    DynamicOutcome outcome =
        dynamic_evaluate(dynamic, map, scope->load.sources, rendered, arena, out, problems);
    renders_pop(scope->load.renders);
    return outcome;
}

DynamicOutcome scope_evaluate_at_load(void *context, const Dynamic *dynamic, Value item,
                                      Arena *arena, Value *out, Problems *problems)
{
    Scope *scope = context;
    Problems unreported;
    if (scope->incomplete) {
        /* A missing variable is not reported if its file could not be read. */
        problems_init(&unreported, arena);
        problems = &unreported;
    }
    return evaluate(scope, dynamic, step_scope(scope, item, NULL), arena, out, problems);
}

void scope_set_run(Scope *scope, const Steps *steps, const StepReport *reports, bool planning)
{
    steps_object_set_run(&scope->steps, steps, reports, planning);
}

/* The map in which a step's templates are evaluated. Valid until the next call for this scope. */
static Value scope_of_step(Scope *scope, uint32_t step, bool own)
{
    scope->steps.asking = step;
    if (own) {
        step_object_init(&scope->own, &scope->steps, step);
    }
    return step_scope(scope, scope->steps.steps->items[step].item, own ? &scope->own : NULL);
}

DynamicOutcome scope_evaluate(Scope *scope, uint32_t step, const Dynamic *dynamic, bool own,
                              Arena *arena, Value *out, Problems *problems)
{
    return evaluate(scope, dynamic, scope_of_step(scope, step, own), arena, out, problems);
}

static Value with_context(Value map, Value context, Arena *arena)
{
    if (context.kind != VALUE_MAP || context.map->len == 0) {
        return map;
    }
    Map *all = map_new(arena, map.map->len + context.map->len);
    for (uint32_t i = 0; i < map.map->len; i++) {
        map_append(arena, all, map.map->entries[i].key, map.map->entries[i].value);
    }
    for (uint32_t i = 0; i < context.map->len; i++) {
        map_set(arena, all, context.map->entries[i].key, context.map->entries[i].value);
    }
    return value_map(all);
}

/* The path of a template file, as the user would write it; documents have theirs already. */
static Str shown_name(const Scope *scope, Str name, Arena *arena)
{
    for (uint32_t i = 0; i < scope->load.sources->count; i++) {
        if (str_eq(scope->load.sources->items[i]->name, name)) {
            return name;
        }
    }
    Str root =
        scope->load.site == NULL ? STR_EMPTY : site_load_settings(scope->load.site)->reader.root;
    return arena_format(arena, "%" STR_FMT "%stemplates/%" STR_FMT, STR_ARG(root),
                        root.len > 0 ? "/" : "", STR_ARG(name));
}

static void report_fault(const Scope *scope, Fault *fault, Value place, Problems *problems)
{
    Arena *arena = problems->arena;
    fault->template_name = shown_name(scope, fault->template_name, arena);
    for (FaultOrigin *origin = fault->origin; origin != NULL; origin = origin->next) {
        origin->template_name = shown_name(scope, origin->template_name, arena);
    }
    for (FaultLoop *loop = fault->loops; loop != NULL; loop = loop->next) {
        loop->template_name = shown_name(scope, loop->template_name, arena);
    }
    document_add_fault(problems, scope->load.sources, fault, place);
}

DynamicOutcome scope_render_file(Scope *scope, uint32_t step, Str name, Value context, Value place,
                                 Arena *arena, Value *out, Problems *problems)
{
    const Template *template;
    Fault fault;
    value_freeze(context);
    Rendered *rendered = renders_push(scope->load.renders);
    if (rendered == NULL) {
        return DYNAMIC_FAILED;
    }
    bool ok =
        templates_get(scope->load.templates, name, &template, &fault) &&
        template_render(template, with_context(scope_of_step(scope, step, false), context, arena),
                        rendered, &fault);
    if (ok) {
        *out = value_string(arena_copy(arena, buf_str(&rendered->text)));
        out->flags |= rendered->secret_count > 0 ? VALUE_SECRET : 0;
    } else if (fault.class != FAULT_UNKNOWN) {
        report_fault(scope, &fault, place, problems);
    }
    renders_pop(scope->load.renders);
    return ok ? DYNAMIC_OK : fault.class == FAULT_UNKNOWN ? DYNAMIC_UNKNOWN : DYNAMIC_FAILED;
}

bool scope_render_standalone(Scope *scope, Str name, const Str *text, Rendered *rendered,
                             Problems *problems)
{
    const Template *template;
    Fault fault;
    Templates *templates = scope->load.templates;
    if ((text != NULL ? templates_compile(templates, name, *text, &template, &fault)
                      : templates_get(templates, name, &template, &fault)) &&
        template_render(template, step_scope(scope, value_missing(), NULL), rendered, &fault)) {
        return true;
    }
    report_fault(scope, &fault, value_missing(), problems);
    return false;
}
