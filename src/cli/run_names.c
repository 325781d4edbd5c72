#include "cli/run_names.h"

#include "base/str_map.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/matrix_fetch.h"
#include "membership/facts_selector.h"

enum {
    NAMES_SHOWN = 20,
    RUNS_SHOWN = 5,
    RUNS_LISTED = 500,
};

typedef struct Names {
    Str *items;
    uint32_t count;
} Names;

/* "did you mean 'a'? It has the steps a, b and 3 more" */
static int fail_as(Invocation *invocation, const char *code, Str message, Str wrong,
                   const Names *names, const char *which, uint32_t shown)
{
    Buf hint = buf_make_in(invocation->arena, BUF_UNLIMITED);
    Inputs inputs;
    Str near;
    inputs_init(&inputs, invocation->arena);
    if (suggest_best(wrong, names->items, names->count, &near)) {
        buf_put_format(&hint, "did you mean '%" STR_FMT "'? ", STR_ARG(near));
    }
    buf_put_format(&hint, "%s: ", which);
    for (uint32_t i = 0; i < names->count && i < shown; i++) {
        buf_put_format(&hint, "%s%" STR_FMT, i > 0 ? ", " : "", STR_ARG(names->items[i]));
    }
    if (names->count > shown) {
        buf_put_format(&hint, " and %u more", names->count - shown);
    }
    buf_put(&hint, names->count == 0 ? STR("none") : STR_EMPTY);
    problems_add(&inputs.problems, code, NULL, 0, 0, "%" STR_FMT, STR_ARG(message))->hint =
        buf_str(&hint);
    (void)inputs_report(&inputs, invocation);
    return EXIT_FAILED;
}

static int fail(Invocation *invocation, Str message, Str wrong, const Names *names,
                const char *which, uint32_t shown)
{
    return fail_as(invocation, "E0853", message, wrong, names, which, shown);
}

static Names names_of(Arena *arena, const List *items, Str (*name)(Value item))
{
    Names names = { .items = ARENA_ARRAY(arena, Str, items->len + 1) };
    for (uint32_t i = 0; i < items->len; i++) {
        names.items[names.count++] = name(items->items[i]);
    }
    return names;
}

/* Newest first. */
int run_names_no_run(Invocation *invocation, Str id, bool is_ambiguous)
{
    Arena *arena = invocation->arena;
    Value list;
    ClusterRequest request = { .method = "GET",
                               .target = arena_format(arena, "/v1/runs?limit=%d", RUNS_LISTED) };
    int code = cluster_call(invocation, &request, &list);
    if (code != EXIT_OK) {
        return code;
    }
    Names names = names_of(arena, object_items(list), object_name);
    if (!is_ambiguous) {
        Str message = arena_format(arena, "run '%" STR_FMT "' not found", STR_ARG(id));
        return fail(invocation, message, id, &names, "the newest runs are", RUNS_SHOWN);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < names.count; i++) {
        if (str_starts(names.items[i], id)) {
            names.items[count++] = names.items[i];
        }
    }
    names.count = count;
    Str message = arena_format(arena, "several runs match '%" STR_FMT "'", STR_ARG(id));
    (void)fail_as(invocation, "E0854", message, STR_EMPTY, &names, "the newest of them are",
                  RUNS_SHOWN);
    return EXIT_CONFLICT;
}

/* Returns the distinct labels of the nodes, or the distinct values of one label. */
static Names labels_of(Arena *arena, const List *nodes, Str label)
{
    StrMap seen;
    VEC(Str) found = { 0 };
    str_map_init(&seen, arena);
    for (uint32_t i = 0; i < nodes->len; i++) {
        Value labels = value_get_map(value_get_map(nodes->items[i], "metadata"), "labels");
        for (uint32_t k = 0; labels.kind == VALUE_MAP && k < labels.map->len; k++) {
            const MapEntry *entry = &labels.map->entries[k];
            Str name = value_str(entry->key);
            Str text = label.len == 0 ? name : value_str(entry->value);
            if ((label.len == 0 || str_eq(name, label)) && !str_map_has(&seen, text)) {
                str_map_put(&seen, text, NULL);
                VEC_PUSH(arena, &found, text);
            }
        }
    }
    return (Names){ found.items, found.len };
}

int run_names_no_node(Invocation *invocation, Str message, Str selector)
{
    Arena *arena = invocation->arena;
    AUTO(FactsSelector) *parsed = NULL;
    Value list;
    Error err;
    int code = kind_fetch(invocation, kind_find(STR("Node")), NULL, &list);
    if (code != EXIT_OK || !facts_selector_parse(selector, &parsed, &err)) {
        return code == EXIT_OK ? EXIT_NOT_MATCHED : code;
    }
    const List *nodes = object_items(list);
    Str name = selector_name(facts_selector_plain(parsed)), label, value;
    if (selector_label(facts_selector_plain(parsed), &label, &value)) {
        Names values = labels_of(arena, nodes, arena_copy(arena, label)),
              all = labels_of(arena, nodes, STR_EMPTY);
        const char *which =
            arena_format(arena, "the values of label '%" STR_FMT "' are", STR_ARG(label)).data;
        (void)(values.count > 0 ? fail(invocation, message, value, &values, which, NAMES_SHOWN)
                                : fail(invocation, message, label, &all, "the labels of nodes are",
                                       NAMES_SHOWN));
    } else {
        Names names = names_of(arena, nodes, object_name);
        (void)fail(invocation, message, name, &names, "the nodes are", NAMES_SHOWN);
    }
    return EXIT_NOT_MATCHED;
}

static Str node_name(Value node)
{
    return value_get_text(node, "node");
}

int run_names_check_node(Invocation *invocation, Value run, Str node)
{
    Arena *arena = invocation->arena;
    List *nodes;
    int code = fleet_run_nodes(invocation, object_name(run), &nodes);
    if (code != EXIT_OK) {
        return code;
    }
    Names names = names_of(arena, nodes, node_name);
    for (uint32_t i = 0; i < names.count; i++) {
        if (str_eq(names.items[i], node)) {
            return EXIT_OK;
        }
    }
    Str message = arena_format(arena, "node '%" STR_FMT "' is not a target of run %" STR_FMT,
                               STR_ARG(node), STR_ARG(object_name(run)));
    return fail(invocation, message, node, &names, "its targets are", NAMES_SHOWN);
}

int run_names_check_step(Invocation *invocation, Value run, Str node, Str step)
{
    AUTO_CLEAR(RunMatrix) matrix = { 0 };
    Arena *arena = invocation->arena;
    run_matrix_init(&matrix, arena);
    int code = matrix_fetch_node(invocation, run, node, &matrix);
    if (code != EXIT_OK || str_map_has(&matrix.step_indexes, step) || matrix.removed_ms > 0 ||
        (matrix.steps.len == 0 && !fleet_run_has_ended(run))) {
        return code;
    }
    Names names = { .items = ARENA_ARRAY(arena, Str, matrix.steps.len + 1) };
    for (uint32_t i = 0; i < matrix.steps.len; i++) {
        names.items[names.count++] = matrix.steps.items[matrix.order[i]].id;
    }
    Str message =
        arena_format(arena, "node '%" STR_FMT "' has no step '%" STR_FMT "' in run %" STR_FMT,
                     STR_ARG(node), STR_ARG(step), STR_ARG(object_name(run)));
    return fail(invocation, message, step, &names, "its steps are", NAMES_SHOWN);
}
