#include "cli/run_names.h"

#include "base/suggest.h"
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/matrix_fetch.h"

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
static int fail(Invocation *invocation, Str message, Str wrong, const Names *names,
                const char *which, uint32_t shown)
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
    problems_add(&inputs.problems, "E0853", NULL, 0, 0, "%" STR_FMT, STR_ARG(message))->hint =
        buf_str(&hint);
    (void)inputs_report(&inputs, invocation);
    return EXIT_FAILED;
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
int run_names_no_run(Invocation *invocation, Str id)
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
    Str message = arena_format(arena, "run '%" STR_FMT "' not found", STR_ARG(id));
    return fail(invocation, message, id, &names, "the newest runs are", RUNS_SHOWN);
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
