/* Compares the results of two runs by node: outcomes, digests of changes, and errors. */
#include "cli/runs_verbs.h"

#include "base/str_map.h"
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/table.h"

typedef struct ComparedRun {
    Value run;
    List *nodes;
    StrMap indexes; /* of nodes by name; values are plus 1 */
} ComparedRun;

static int fetch(Invocation *invocation, Str id, ComparedRun *side)
{
    int code = fleet_run_get(invocation, id, &side->run);
    if (code == EXIT_OK) {
        code = fleet_run_nodes(invocation, object_name(side->run), &side->nodes);
    }
    str_map_init(&side->indexes, invocation->arena);
    for (uint32_t i = 0; code == EXIT_OK && i < side->nodes->len; i++) {
        str_map_put(&side->indexes, value_get_text(side->nodes->items[i], "node"),
                    (void *)(uintptr_t)(i + 1));
    }
    return code;
}

/* Returns the target of that name; null if the run did not include it. */
static Value find(const ComparedRun *side, Str node)
{
    uintptr_t index = (uintptr_t)str_map_find(&side->indexes, node);
    return index > 0 ? side->nodes->items[index - 1] : value_null();
}

/* Equal changes have equal digests. Errors are compared too, because a failed step may not have
 * changed anything. */
static bool are_equal(Value a, Value b)
{
    static const char *const keys[] = { "outcome", "digest", "step", "code", "error" };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (a.kind != b.kind || !str_eq(value_get_text(a, keys[i]), value_get_text(b, keys[i]))) {
            return false;
        }
    }
    return true;
}

static Str cell(Arena *arena, Value node)
{
    if (node.kind != VALUE_MAP) {
        return STR("-");
    }
    Str counts = fleet_run_step_counts(arena, node), what = fleet_run_node_result(arena, node);
    return arena_format(arena, "%" STR_FMT "%s%" STR_FMT "%s%s%" STR_FMT,
                        STR_ARG(value_get_text(node, "outcome")), counts.len > 0 ? " (" : "",
                        STR_ARG(counts), counts.len > 0 ? ")" : "", what.len > 0 ? ": " : "",
                        STR_ARG(what));
}

typedef struct Comparison {
    List *different; /* maps {"node","before","after"} */
    uint32_t equal;
} Comparison;

static void add_difference(Arena *arena, Comparison *comparison, Str node, Value before,
                           Value after)
{
    if (are_equal(before, after)) {
        comparison->equal++;
        return;
    }
    Map *row = map_new(arena, 3);
    map_set_str(arena, row, STR("node"), value_string(node));
    map_set_str(arena, row, STR("before"), before);
    map_set_str(arena, row, STR("after"), after);
    list_push(arena, comparison->different, value_map(row));
}

/* Targets are sorted by name, so both lists are merged. */
static Comparison compare(Arena *arena, const ComparedRun *before, const ComparedRun *after)
{
    Comparison comparison = { .different = list_new(arena, 0) };
    uint32_t i = 0, k = 0;
    while (i < before->nodes->len || k < after->nodes->len) {
        Str left =
            i < before->nodes->len ? value_get_text(before->nodes->items[i], "node") : STR_EMPTY;
        Str right =
            k < after->nodes->len ? value_get_text(after->nodes->items[k], "node") : STR_EMPTY;
        bool is_left = right.len == 0 || (left.len > 0 && str_compare(left, right) <= 0);
        Str node = is_left ? left : right;
        i += str_eq(left, node);
        k += str_eq(right, node);
        add_difference(arena, &comparison, node, find(before, node), find(after, node));
    }
    return comparison;
}

static int print_value(const Invocation *invocation, const ComparedRun *before,
                       const ComparedRun *after, const Comparison *comparison)
{
    Arena *arena = invocation->arena;
    Map *map = map_new(arena, 5);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.run-comparison/1")));
    map_set_str(arena, map, STR("before"), before->run);
    map_set_str(arena, map, STR("after"), after->run);
    map_set_str(arena, map, STR("equal"), value_int(comparison->equal));
    map_set_str(arena, map, STR("different"), value_list(comparison->different));
    return output_response(invocation, value_map(map));
}

static void print_table(const Invocation *invocation, const ComparedRun *before,
                        const ComparedRun *after, const Comparison *comparison)
{
    Arena *arena = invocation->arena;
    const char *headings[] = { "NODE", arena_copy_c(arena, object_name(before->run)),
                               arena_copy_c(arena, object_name(after->run)), NULL };
    Table table;
    table_init(&table, arena, headings);
    for (uint32_t i = 0; i < comparison->different->len; i++) {
        Value row = comparison->different->items[i];
        table_add(&table, value_get_text(row, "node"));
        table_add(&table, cell(arena, value_get_map(row, "before")));
        table_add(&table, cell(arena, value_get_map(row, "after")));
    }
    table_print(&table, invocation->out);
    output_line(invocation->out, "%u of %u nodes differ", comparison->different->len,
                comparison->different->len + comparison->equal);
}

int runs_compare(Invocation *invocation, Str before_id, Str after_id)
{
    ComparedRun before, after;
    int code = fetch(invocation, before_id, &before);
    if (code == EXIT_OK) {
        code = fetch(invocation, after_id, &after);
    }
    if (code != EXIT_OK) {
        return code;
    }
    Comparison comparison = compare(invocation->arena, &before, &after);
    if (output_wants_value(invocation)) {
        return print_value(invocation, &before, &after, &comparison);
    }
    if (invocation_prints(invocation, "name")) {
        for (uint32_t i = 0; i < comparison.different->len; i++) {
            output_line(invocation->out, "%" STR_FMT,
                        STR_ARG(value_get_text(comparison.different->items[i], "node")));
        }
        return EXIT_OK;
    }
    print_table(invocation, &before, &after, &comparison);
    return EXIT_OK;
}
