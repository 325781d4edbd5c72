#include "model/contradiction.h"

#include "base/vec.h"
#include "lang/json.h"
#include "model/document_place.h"

/* What one step decides about one thing. */
typedef struct Decided {
    uint32_t step;
    int param; /* -1: the action itself */
    Str thing; /* for people: "/etc/motd" */
    Str aspect;
    Str value;
} Decided;

typedef VEC(Decided) DecidedVec;

typedef struct Reading {
    Arena *arena;
    const Step *step;
    const Action *action;
    const Value *values;
    bool resolved;
    DecidedVec found;
} Reading;

void contradictions_init(Contradictions *contradictions, Arena *arena)
{
    contradictions->arena = arena;
    str_map_init(&contradictions->decided, arena);
}

/* --- Reading a row --------------------------------------------------------------------------- */

static Value value_of(const Reading *reading, Str param)
{
    int at = action_param_index(reading->action, param);
    return at < 0 ? value_missing() : reading->values[at];
}

static Str value_text(Arena *arena, Value value)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    if (value_is_string(value)) {
        return value_str(value);
    }
    return json_print(&text, value, NULL, &err) ? buf_str(&text) : STR("?");
}

/* Of "a|b" the first that is given; false: none is known. */
static bool first_given(const Reading *reading, Str names, Value *out)
{
    Str name;
    while (names.len > 0 && str_split_next(&names, '|', &name)) {
        *out = value_of(reading, name);
        if (!value_is_missing(*out)) {
            return true;
        }
    }
    return false;
}

/* Whether the value stands among those behind '!' of "state!restarted|reloaded", which decide
 * nothing that lasts. */
static bool is_passing(Str exceptions, Value value)
{
    Str one;
    while (exceptions.len > 0 && str_split_next(&exceptions, '|', &one)) {
        if (value_is_string(value) && str_eq(value_str(value), one)) {
            return true;
        }
    }
    return false;
}

/* "!content" of a parameter: while that is false, nobody decides the content. "?kind": while it is
 * given, nobody decides the kind. */
static bool is_left_open(const Reading *reading, Str aspect)
{
    const ParamSpec *params = reading->action->params;
    for (uint32_t i = 0; params[i].name != NULL; i++) {
        const char *decides = params[i].decides == NULL ? "" : params[i].decides;
        Value value = reading->values[i];
        bool given = (reading->step->spec->params_set >> i & 1) != 0;
        bool opens = (decides[0] == '!' && !value_is_true(value)) || (decides[0] == '?' && given);
        if (opens && str_eq_c(aspect, decides + 1)) {
            return true;
        }
    }
    return false;
}

static void put(Reading *reading, Str thing, Str aspect, int param, Str value)
{
    VEC_PUSH(reading->arena, &reading->found,
             (Decided){ .step = reading->step->index,
                        .param = param,
                        .thing = thing,
                        .aspect = aspect,
                        .value = value });
}

/* At load only what is written alike can be compared: a template with a template. */
static Str comparable_aspect(const Reading *reading, const ParamSpec *spec, Str aspect, Value value)
{
    bool is_file = spec->kind == PARAM_SITE_FILE || spec->kind == PARAM_SITE_TEMPLATE;
    if (str_eq(aspect, STR("content")) && !reading->resolved) {
        return arena_format(reading->arena, "%" STR_FMT "%s%s", STR_ARG(aspect),
                            is_file ? " of " : "", is_file ? spec->name : "");
    }
    if (str_eq(aspect, STR("address"))) { /* a host has one of each family */
        bool six = str_find(value_text(reading->arena, value), STR(":"), 0) != STR_NOT_FOUND;
        return six ? STR("IPv6 address") : STR("IPv4 address");
    }
    return aspect;
}

static void read_params(Reading *reading, Str part)
{
    const ParamSpec *params = reading->action->params;
    for (int i = 0; params[i].name != NULL; i++) {
        Value value = reading->values[i];
        if (params[i].decides == NULL || strchr("!?", params[i].decides[0]) != NULL ||
            value_is_missing(value) || value.kind == VALUE_MAP) {
            continue;
        }
        Str aspect = str_from_c(params[i].decides), exceptions = STR_EMPTY;
        size_t mark = str_find(aspect, STR("!"), 0);
        if (mark != STR_NOT_FOUND) {
            exceptions = str_from_offset(aspect, mark + 1);
            aspect = str_slice(aspect, 0, mark);
        }
        if (!is_left_open(reading, aspect) && !is_passing(exceptions, value)) {
            put(reading, part, comparable_aspect(reading, &params[i], aspect, value), i,
                value_text(reading->arena, value));
        }
    }
}

/* "state=absent version=latest". */
static void read_wants(Reading *reading, Str thing)
{
    Str rest = reading->action->wants == NULL ? STR_EMPTY : str_from_c(reading->action->wants);
    Value state = value_of(reading, STR("state"));
    if (value_is_string(state) && str_eq(value_str(state), STR("absent"))) {
        return; /* a part is to be gone: that says nothing about the whole */
    }
    Str pair;
    while (rest.len > 0 && str_split_next(&rest, ' ', &pair)) {
        size_t equals = str_find(pair, STR("="), 0);
        Str aspect = str_slice(pair, 0, equals);
        if (!is_left_open(reading, aspect)) {
            put(reading, thing, aspect, -1, str_from_offset(pair, equals + 1));
        }
    }
}

/* One resource: what the action wants of the whole, and its parameters of the part they name. */
static void read_thing(Reading *reading, Str class, Str name)
{
    if (str_eq(class, STR("unit")) && str_find(name, STR("."), 0) == STR_NOT_FOUND) {
        name = arena_join(reading->arena, name, STR(".service"), STR_EMPTY);
    }
    Str thing =
        arena_format(reading->arena, "%" STR_FMT " '%" STR_FMT "'", STR_ARG(class), STR_ARG(name));
    read_wants(reading, thing);
    Str names = reading->action->part == NULL ? STR_EMPTY : str_from_c(reading->action->part), one;
    Str part = thing;
    while (names.len > 0 && str_split_next(&names, ' ', &one)) {
        Value value;
        bool given = first_given(reading, one, &value);
        part = arena_format(reading->arena, "%" STR_FMT ", %" STR_FMT, STR_ARG(part),
                            STR_ARG(given ? value_text(reading->arena, value) : STR("-")));
    }
    read_params(reading, part);
}

/* `thing` is "path name": a class, and the parameter that names it; several names of packages and
 * their versions may be one value. "timezone": there is one. */
static void read_row(Reading *reading)
{
    Str rest = str_from_c(reading->action->thing), class;
    Value name;
    (void)str_split_next(&rest, ' ', &class);
    if (rest.len == 0) {
        read_thing(reading, class, STR("of this machine"));
        return;
    }
    if (!first_given(reading, rest, &name)) {
        return;
    }
    if (name.kind != VALUE_MAP) {
        read_thing(reading, class, value_text(reading->arena, name));
        return;
    }
    for (uint32_t i = 0; i < name.map->len; i++) {
        const MapEntry *entry = &name.map->entries[i];
        Str key = value_text(reading->arena, entry->key);
        read_thing(reading, class, key);
        if (value_is_string(entry->value)) {
            Str thing = arena_format(reading->arena, "%" STR_FMT " '%" STR_FMT "'", STR_ARG(class),
                                     STR_ARG(key));
            put(reading, thing, STR("version"), action_param_index(reading->action, STR("pkgs")),
                value_str(entry->value));
        }
    }
}

/* --- Comparing ------------------------------------------------------------------------------- */

static bool is_number(Str text)
{
    int64_t number;
    return str_to_i64(text, &number);
}

/* Whom something belongs to may be said by name or by number. */
static bool can_compare(const Decided *a, const Decided *b)
{
    bool people = str_eq(a->aspect, STR("owner")) || str_eq(a->aspect, STR("group"));
    return !people || is_number(a->value) == is_number(b->value);
}

static Value place_of(const Graph *graph, const Decided *decided)
{
    const StepSpec *spec = graph_step(graph, decided->step)->spec;
    return decided->param >= 0 && (spec->params_set >> decided->param & 1) != 0
               ? spec->params[decided->param]->value
               : spec->action_place;
}

static void tell(const Graph *graph, const Decided *first, const Decided *second,
                 Problems *problems)
{
    Problems other;
    problems_init(&other, problems->arena);
    const Problem *where = document_problem(&other, graph->sources, SEVERITY_ERROR, "",
                                            place_of(graph, first), "first");
    Str id = graph_step(graph, first->step)->id;
    bool plain = first->param < 0 && second->param < 0;
    Problem *problem =
        plain ? document_problem(problems, graph->sources, SEVERITY_ERROR, "E0407",
                                 place_of(graph, second),
                                 "%" STR_FMT " cannot be '%" STR_FMT "' here: in step '%" STR_FMT
                                 "' it is '%" STR_FMT "'",
                                 STR_ARG(second->thing), STR_ARG(second->value), STR_ARG(id),
                                 STR_ARG(first->value))
              : document_problem(problems, graph->sources, SEVERITY_ERROR, "E0407",
                                 place_of(graph, second),
                                 "%" STR_FMT " cannot have another %" STR_FMT
                                 " here than in step '%" STR_FMT "'",
                                 STR_ARG(second->thing), STR_ARG(second->aspect), STR_ARG(id));
    problem_add_note(problems->arena, problem, STR("the other step is here"), where->file,
                     where->line);
}

bool contradiction_counts(const Graph *graph, uint32_t step, bool running)
{
    const StepSpec *spec = graph_step(graph, step)->spec;
    if (spec->action->thing == NULL) {
        return false;
    }
    Edges edges = graph_edges(graph, step);
    for (uint32_t i = 0; i < edges.count; i++) {
        RequisiteKind kind = edges.items[i].kind;
        if (kind == REQUISITE_ONFAIL || kind == REQUISITE_ONCHANGES || kind == REQUISITE_PREREQ) {
            return false;
        }
    }
    return running || (!spec->when->given && spec->job->gate_count == 0 &&
                       spec->run->target_count == 0 && graph_step(graph, step)->untargeted == 0);
}

static bool contradicts(const Graph *graph, const Decided *first, const Decided *second)
{
    bool same_job =
        graph_step(graph, first->step)->spec->job == graph_step(graph, second->step)->spec->job;
    return first->step != second->step && can_compare(first, second) &&
           !str_eq(first->value, second->value) &&
           (same_job || !graph->steps.without_node); /* jobs may be for different nodes */
}

static void keep(Contradictions *contradictions, Str key, const Decided *decided)
{
    Arena *arena = contradictions->arena;
    Decided *kept = ARENA_NEW(arena, Decided);
    *kept = (Decided){ .step = decided->step,
                       .param = decided->param,
                       .thing = arena_copy(arena, decided->thing),
                       .aspect = arena_copy(arena, decided->aspect),
                       .value = arena_copy(arena, decided->value) };
    str_map_put(&contradictions->decided, arena_copy(arena, key), kept);
}

/* A step that is tried again says the same again, perhaps for ever: only what is new is kept. */
bool contradictions_add(Contradictions *contradictions, const Graph *graph, uint32_t step,
                        const Value *values, bool resolved, Problems *problems)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    const Step *of = graph_step(graph, step);
    Reading reading = { .arena = &scratch,
                        .step = of,
                        .action = of->spec->action,
                        .values = values,
                        .resolved = resolved };
    read_row(&reading);
    bool ok = true;
    for (uint32_t i = 0; i < reading.found.len; i++) {
        const Decided *now = &reading.found.items[i];
        Str key = arena_format(&scratch, "%" STR_FMT "\n%" STR_FMT, STR_ARG(now->thing),
                               STR_ARG(now->aspect));
        Decided *first = str_map_find(&contradictions->decided, key);
        if (first == NULL) {
            keep(contradictions, key, now);
        } else if (first->step == step && !str_eq(first->value, now->value)) {
            first->value = arena_copy(contradictions->arena, now->value);
        } else if (ok && contradicts(graph, first, now)) {
            tell(graph, first, now, problems);
            ok = false; /* the others follow from it */
        }
    }
    return ok;
}

bool contradictions_check(const Graph *graph, Problems *problems)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Contradictions contradictions;
    contradictions_init(&contradictions, &arena);
    bool ok = true;
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        ok = (!contradiction_counts(graph, i, false) ||
              contradictions_add(&contradictions, graph, i, graph_step(graph, i)->values, false,
                                 problems)) &&
             ok;
    }
    return ok;
}
