#include "cli/why.h"

#include "lang/template/names.h"

enum {
    CHAIN_MAX = 100 /* maximum length of the chain of causes */
};

typedef struct Explanation {
    const Recorded *recorded;
    const Graph *graph;
    Arena *arena;
} Explanation;

static void set(const Explanation *explanation, Map *map, const char *key, Value value)
{
    map_set_str(explanation->arena, map, str_from_c(key), value);
}

static void set_text(const Explanation *explanation, Map *map, const char *key, Str text)
{
    set(explanation, map, key, value_string(text));
}

/* Copies fields of the record, skipping missing ones. */
static void copy(const Explanation *explanation, Map *to, Value from, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        const Value *value = value_get(from, str_from_c(*keys));
        if (value != NULL) {
            set(explanation, to, *keys, *value);
        }
    }
}

static Value step_value(const Explanation *explanation, uint32_t step)
{
    return explanation->recorded->steps[step].value;
}

static Str step_text(const Explanation *explanation, uint32_t step, const char *key)
{
    return value_get_text(step_value(explanation, step), key);
}

static StepResult result_of(const Explanation *explanation, uint32_t step)
{
    return explanation->recorded->recording.results[step].result;
}

/* The decision about a step; NULL if the run made none. */
static const Decision *decision_of(const Explanation *explanation, uint32_t step)
{
    uint32_t turn = explanation->recorded->steps[step].last_turn;
    return turn == UINT32_MAX ? NULL : &explanation->recorded->turns.list.items[turn].decision;
}

/* --- Chain of causes ------------------------------------------------------------------------- */

static Str cause_text(Str cause)
{
    return str_eq(cause, STR("drift"))    ? STR("the machine had changed since the last run")
           : str_eq(cause, STR("intent")) ? STR("the site has changed since the last run")
           : str_eq(cause, STR("new"))    ? STR("it was never applied here before")
                                          : STR_EMPTY;
}

static Str error_text(const Explanation *explanation, uint32_t step)
{
    const Value *error = value_get(step_value(explanation, step), STR("error"));
    if (error == NULL) {
        return STR_EMPTY;
    }
    Str message = value_get_text(*error, "message"), code = value_get_text(*error, "code");
    return arena_format(explanation->arena, "%" STR_FMT " (%" STR_FMT ")", STR_ARG(message),
                        STR_ARG(code));
}

/* Returns "failed: no such file (E0601)", "changed: the machine had ..., ran because 'x'
 * changed". */
static Str add_step(const Explanation *explanation, uint32_t step)
{
    static const char *const words[] = {
        [RESULT_PENDING] = "did not finish",    [RESULT_OK] = "ran and found nothing to change",
        [RESULT_CHANGED] = "changed",           [RESULT_FAILED] = "failed",
        [RESULT_SKIPPED] = "was skipped",       [RESULT_BLOCKED] = "was blocked",
        [RESULT_WAITING] = "was still waiting", [RESULT_UNKNOWN] = "unknown before the run",
    };
    StepResult result = result_of(explanation, step);
    const Decision *decision = decision_of(explanation, step);
    bool ran = decision != NULL && decision->kind == DECIDE_RUN;
    Str why = result == RESULT_FAILED    ? error_text(explanation, step)
              : result == RESULT_CHANGED ? cause_text(step_text(explanation, step, "cause"))
                                         : step_text(explanation, step, "reason");
    bool found_nothing = result == RESULT_OK && why.len == 0;
    why = found_nothing ? step_text(explanation, step, "comment") : why;
    Buf text = buf_make_in(explanation->arena, BUF_UNLIMITED);
    buf_put_c(&text, found_nothing && why.len > 0 ? "is ok" : words[result]);
    if (why.len > 0) {
        buf_put(&text, STR(": "));
        buf_put(&text, why);
    }
    if (ran && decision->reason.len > 0) {
        buf_put_format(&text, "%s because %" STR_FMT,
                       decision->react ? "; it ran and had to react" : "; it ran",
                       STR_ARG(decision->reason));
    }
    return buf_str(&text);
}

/* Returns why the step reacted at the end; empty if it did not react. */
static Str add_reaction(const Explanation *explanation, uint32_t step)
{
    const Turns *turns = &explanation->recorded->turns;
    for (uint32_t i = turns->list.len; i > 0; i--) {
        const Turn *turn = &turns->list.items[i - 1];
        if (turn->work.step == step && turn->work.phase == PHASE_REACT && turn->decided &&
            turn->decision.kind == DECIDE_RUN) {
            return turn->decision.reason;
        }
    }
    return STR_EMPTY;
}

static Map *new_link(const Explanation *explanation, uint32_t step)
{
    static const char *const keys[] = { "action", "file", "line", "result", NULL };
    Map *map = map_new(explanation->arena, 9);
    set_text(explanation, map, "step", graph_step(explanation->graph, step)->id);
    copy(explanation, map, step_value(explanation, step), keys);
    set_text(explanation, map, "text", add_step(explanation, step));
    return map;
}

static void set_edge(const Explanation *explanation, Map *map, const Edge *edge)
{
    set_text(explanation, map, "kind", str_from_c(requisite_kind_name((RequisiteKind)edge->kind)));
    set_text(explanation, map, "origin", str_from_c(edge_origin_name((EdgeOrigin)edge->origin)));
    if (edge->detail.len > 0) {
        set_text(explanation, map, "detail", edge->detail);
    }
}

/* Builds the chain from the step to its root cause. The causes of a decision always precede it, so
 * this terminates; CHAIN_MAX guards against a forged record. */
static Value chain_value(const Explanation *explanation, uint32_t step)
{
    List *chain = list_new(explanation->arena, 4);
    const Edge *edge = NULL;
    do {
        Map *link = new_link(explanation, step);
        if (edge != NULL) {
            set_edge(explanation, link, edge);
        }
        list_push(explanation->arena, chain, value_map(link));
        const Decision *decision = decision_of(explanation, step);
        edge = decision == NULL ? NULL : decision->decisive_edge;
        if (edge != NULL) {
            step = edge->to == step ? edge->from : edge->to;
        }
    } while (edge != NULL && chain->len < CHAIN_MAX);
    return value_list(chain);
}

/* --- Origin of values ------------------------------------------------------------------------ */

static bool starts_path(Str name, const char *root, Str *rest)
{
    Str start = str_from_c(root);
    if (!str_starts(name, start)) {
        return false;
    }
    *rest = str_from_offset(name, start.len);
    if (rest->len > 0 && rest->data[0] == '.') {
        *rest = str_from_offset(*rest, 1);
        return rest->len > 0;
    }
    return rest->len > 0 && rest->data[0] == '[';
}

/* Returns the name in ['a b'] at the start of a path. */
static Str unquoted(Str path)
{
    size_t end = str_find(path, STR("']"), 0);
    return str_starts(path, STR("['")) && end != STR_NOT_FOUND ? str_slice(path, 2, end) : path;
}

/* Returns a command that shows more about a name; empty if there is none. */
static Str followup_command(const Explanation *explanation, Str name)
{
    Value site = value_map(map_new(explanation->arena, 0));
    const Value *given = value_get(explanation->recorded->value, STR("site"));
    site = given == NULL ? site : *given;
    Str path = value_get_text(site, "path"), rest;
    if (starts_path(name, "vars", &rest) || starts_path(name, "variables", &rest)) {
        const char *quote = memchr(rest.data, '[', rest.len) != NULL ? "\"" : "";
        Str key = str_starts(rest, STR("['")) && str_ends(rest, STR("']")) ? unquoted(rest) : rest;
        if (memchr(key.data, '.', key.len) != NULL && key.data != rest.data) {
            key = rest; /* a key with dots needs brackets */
        } else if (key.data != rest.data) {
            quote = "";
        }
        return arena_format(explanation->arena, "eden vars why %s%" STR_FMT "%s %" STR_FMT, quote,
                            STR_ARG(key), quote, STR_ARG(path));
    }
    if (starts_path(name, "steps", &rest)) {
        Str step = unquoted(rest);
        if (step.data == rest.data) {
            size_t end = str_find(rest, STR("."), 0);
            step = end == STR_NOT_FOUND ? rest : str_slice(rest, 0, end);
        }
        return arena_format(explanation->arena, "eden why '%" STR_FMT "'", STR_ARG(step));
    }
    if (starts_path(name, "server", &rest) || starts_path(name, "Server", &rest)) {
        return STR("eden facts");
    }
    return STR_EMPTY;
}

static bool is_known(Str name)
{
    static const char *const roots[] = { "vars",       "variables", "steps",  "server",
                                         "Server",     "item",      "macros", "eden",
                                         "servervars", "event",     NULL };
    for (int i = 0; roots[i] != NULL; i++) {
        Str rest;
        if (str_eq_c(name, roots[i]) || starts_path(name, roots[i], &rest)) {
            return true;
        }
    }
    return false;
}

static void find_names(const Explanation *explanation, Value written, bool expression, List *names,
                       unsigned depth)
{
    if (value_is_string(written)) {
        template_names(explanation->arena, value_str(written), expression, names);
    } else if (written.kind == VALUE_LIST && depth > 0) {
        for (uint32_t i = 0; i < written.list->len; i++) {
            find_names(explanation, written.list->items[i], expression, names, depth - 1);
        }
    } else if (written.kind == VALUE_MAP && depth > 0) {
        for (uint32_t i = 0; i < written.map->len; i++) {
            find_names(explanation, written.map->entries[i].value, expression, names, depth - 1);
        }
    }
}

/* Names that an expression uses, and how to find out more about each. */
static void set_uses(const Explanation *explanation, Map *map, Value written, bool expression)
{
    List *names = list_new(explanation->arena, 4), *uses = list_new(explanation->arena, 4);
    List *ask = list_new(explanation->arena, 4);
    find_names(explanation, written, expression, names, 64);
    for (uint32_t i = 0; i < names->len; i++) {
        Str name = value_str(names->items[i]);
        if (!is_known(name)) {
            continue;
        }
        list_push(explanation->arena, uses, value_string(name));
        Str command = followup_command(explanation, name);
        bool added = command.len > 0;
        for (uint32_t j = 0; j < ask->len; j++) {
            added = added && !str_eq(value_str(ask->items[j]), command);
        }
        if (added) {
            list_push(explanation->arena, ask, value_string(command));
        }
    }
    if (uses->len > 0) {
        set(explanation, map, "uses", value_list(uses));
    }
    if (ask->len > 0) {
        set(explanation, map, "ask", value_list(ask));
    }
}

static Value params_value(const Explanation *explanation, uint32_t step)
{
    static const char *const keys[] = { "value", "template", "bytes", "file", "line", NULL };
    Value of = step_value(explanation, step);
    const Value *params = value_get(of, STR("params"));
    const Value *values = value_get(of, STR("values"));
    List *list = list_new(explanation->arena, 4);
    for (uint32_t i = 0; params != NULL && params->kind == VALUE_MAP && i < params->map->len; i++) {
        const MapEntry *entry = &params->map->entries[i];
        Map *map = map_new(explanation->arena, 8);
        set(explanation, map, "name", entry->key);
        set(explanation, map, "file", value_string(value_get_text(of, "file")));
        copy(explanation, map, entry->value, keys);
        const Value *outcome_of = values == NULL ? NULL : value_get(*values, value_str(entry->key));
        if (outcome_of != NULL) {
            set(explanation, map, "value", *outcome_of);
        }
        const Value *written = value_get(entry->value, STR("template"));
        if (written != NULL) {
            set_uses(explanation, map, *written, false);
        }
        list_push(explanation->arena, list, value_map(map));
    }
    return value_list(list);
}

/* --- Document -------------------------------------------------------------------------------- */

/* Each condition with its last result. */
static Value conditions_value(const Explanation *explanation, uint32_t step)
{
    const Turns *turns = &explanation->recorded->turns;
    List *list = list_new(explanation->arena, 2);
    for (uint32_t i = 0; i < turns->list.len; i++) {
        const Turn *turn = &turns->list.items[i];
        for (uint32_t j = 0; turn->work.step == step && j < turn->evaluation_count; j++) {
            const ConditionEvaluation *asked =
                &turns->evaluations.items[turn->first_evaluation + j];
            Value name = value_string(str_from_c(condition_name(asked->condition)));
            Map *map = NULL;
            for (uint32_t k = 0; k < list->len && map == NULL; k++) {
                Value other = list->items[k];
                bool same = str_eq(value_get_text(other, "condition"), value_str(name)) &&
                            str_eq(value_get_text(other, "text"), asked->text);
                map = same ? other.map : NULL;
            }
            if (map == NULL) {
                map = map_new(explanation->arena, 6);
                set(explanation, map, "condition", name);
                set_text(explanation, map, "text", asked->text);
                set_uses(explanation, map, value_string(asked->text), true);
                list_push(explanation->arena, list, value_map(map));
            }
            const Value *times = value_get(value_map(map), STR("times"));
            set_text(explanation, map, "answer", str_from_c(answer_name(asked->answer)));
            set(explanation, map, "times", value_int(times == NULL ? 1 : times->integer + 1));
        }
    }
    return value_list(list);
}

static Value requisites_value(const Explanation *explanation, uint32_t step)
{
    static const char *const keys[] = { "file", "line", NULL };
    Edges edges = graph_edges(explanation->graph, step);
    const Decision *decision = decision_of(explanation, step);
    const Value *written = value_get(step_value(explanation, step), STR("edges"));
    List *list = list_new(explanation->arena, edges.count);
    for (uint32_t i = 0; i < edges.count; i++) {
        const Edge *edge = &edges.items[i];
        Map *map = map_new(explanation->arena, 9);
        set_edge(explanation, map, edge);
        set_text(explanation, map, "step", graph_step(explanation->graph, edge->to)->id);
        set_text(explanation, map, "result",
                 str_from_c(step_result_name(result_of(explanation, edge->to))));
        set(explanation, map, "file", value_string(step_text(explanation, step, "file")));
        copy(explanation, map, written->list->items[i], keys);
        set(explanation, map, "decided",
            value_bool(decision != NULL && decision->decisive_edge == edge));
        list_push(explanation->arena, list, value_map(map));
    }
    return value_list(list);
}

Value why_value(const Recorded *recorded, uint32_t step, Arena *arena)
{
    static const char *const run_keys[] = { "run", "at", "node", "site", NULL };
    static const char *const keys[] = { "action",  "item",   "file",    "line",  "result",
                                        "cause",   "reason", "comment", "state", "changed",
                                        "reacted", "tries",  NULL };
    static const char *const more[] = { "owed",   "changes",   "diff",  "stdout",
                                        "stderr", "exit_code", "error", NULL };
    Explanation explanation = { recorded, recorded->recording.graph, arena };
    Map *map = map_new(arena, 32);
    set_text(&explanation, map, "format", STR("eden.why/1"));
    copy(&explanation, map, recorded->value, run_keys);
    set_text(&explanation, map, "step", graph_step(explanation.graph, step)->id);
    copy(&explanation, map, step_value(&explanation, step), keys);
    Str reaction = add_reaction(&explanation, step);
    if (reaction.len > 0) {
        set_text(&explanation, map, "reaction", reaction);
    }
    set(&explanation, map, "chain", chain_value(&explanation, step));
    set(&explanation, map, "conditions", conditions_value(&explanation, step));
    set(&explanation, map, "requisites", requisites_value(&explanation, step));
    set(&explanation, map, "parameters", params_value(&explanation, step));
    copy(&explanation, map, step_value(&explanation, step), more);
    return value_map(map);
}

/* Returns the last entry of the chain; missing if it is the step itself. */
static Value root_value(const Explanation *explanation, uint32_t step)
{
    Value chain = chain_value(explanation, step);
    return chain.list->len > 1 ? chain.list->items[chain.list->len - 1] : value_missing();
}

static Value counts_value(const Explanation *explanation)
{
    int64_t counts[RESULT_COUNT] = { 0 };
    for (uint32_t i = 0; i < explanation->graph->steps.count; i++) {
        counts[result_of(explanation, i)]++;
    }
    Map *map = map_new(explanation->arena, RESULT_COUNT);
    for (uint32_t i = 0; i < RESULT_COUNT; i++) {
        set(explanation, map, step_result_name((StepResult)i), value_int(counts[i]));
    }
    return value_map(map);
}

Value why_run_value(const Recorded *recorded, Arena *arena)
{
    static const char *const keys[] = { "run", "at", "node", "site", "result", NULL };
    Explanation explanation = { recorded, recorded->recording.graph, arena };
    Map *map = map_new(arena, 8);
    List *steps = list_new(arena, 8);
    set_text(&explanation, map, "format", STR("eden.why-run/1"));
    copy(&explanation, map, recorded->value, keys);
    set(&explanation, map, "counts", counts_value(&explanation));
    for (uint32_t i = 0; i < explanation.graph->steps.count; i++) {
        StepResult result = result_of(&explanation, i);
        if (result != RESULT_FAILED && result != RESULT_BLOCKED && result != RESULT_WAITING &&
            result != RESULT_PENDING) {
            continue;
        }
        Map *step = new_link(&explanation, i);
        Value root = root_value(&explanation, i);
        if (!value_is_missing(root)) {
            set(&explanation, step, "root", root);
        }
        list_push(arena, steps, value_map(step));
    }
    set(&explanation, map, "steps", value_list(steps));
    return value_map(map);
}
