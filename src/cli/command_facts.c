/* eden facts: facts about this machine or a node. */
#include "base/suggest.h"
#include "cli/cluster_client.h"
#include "cli/kind_print.h"
#include "cli/nodes_choice.h"
#include "cli/output.h"
#include "cli/table.h"
#include "facts/facts.h"
#include "lang/json.h"

/* Returns the fact that a path such as "memory.total" starts with. Also accepts the British
 * spelling of virtualization. */
static Str fact_name(const char *path)
{
    Str name = str_slice(str_from_c(path), 0, str_find(str_from_c(path), STR("."), 0));
    return str_eq(name, STR("virtualisation")) ? STR("virtualization") : name;
}

static UsageFault fact_not_found(const Invocation *invocation, const char *path, Str suggestion)
{
    return (UsageFault){ arena_format(invocation->arena, "fact '%s' not found", path), suggestion };
}

/* Suggests "memory.total" for "memory.totl"; empty if nothing in `map` is similar. */
static Str suggest_path(Arena *arena, const char *path, Str part, Value map)
{
    Suggest suggest = suggest_make(part);
    Str suggestion;
    for (uint32_t i = 0; map.kind == VALUE_MAP && i < map.map->len; i++) {
        suggest_offer(&suggest, value_str(map.map->entries[i].key));
    }
    if (!suggest_found(&suggest, &suggestion)) {
        return STR_EMPTY;
    }
    return arena_join(arena, str_slice(str_from_c(path), 0, (size_t)(part.data - path)), STR_EMPTY,
                      suggestion);
}

/* Selects what the paths refer to. Reports every path that does not exist. */
static bool select_facts(const Invocation *invocation, Map *all, Map **out)
{
    Arena *arena = invocation->arena;
    UsageFault *faults = ARENA_ARRAY(arena, UsageFault, invocation->arg_count);
    uint32_t fault_count = 0;
    *out = invocation->arg_count == 0 ? all : map_new(arena, invocation->arg_count);
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        const char *path = invocation->args[i];
        Str rest = str_from_c(path), part, name = fact_name(path), suggestion = STR_EMPTY;
        const MapEntry *entry = map_find_str(all, name);
        const Value *value = entry == NULL ? NULL : &entry->value;
        (void)str_split_next(&rest, '.', &part);
        bool is_whole_fact = part.len == strlen(path);
        while (!is_whole_fact && value != NULL && str_split_next(&rest, '.', &part)) {
            const Value *member = value->kind == VALUE_MAP ? value_get(*value, part) : NULL;
            suggestion = member == NULL ? suggest_path(arena, path, part, *value) : STR_EMPTY;
            value = member;
        }
        if (value == NULL) {
            faults[fault_count++] = fact_not_found(invocation, path, suggestion);
        } else {
            map_set_str(arena, *out, is_whole_fact ? name : str_from_c(path), *value);
        }
    }
    return fault_count == 0 || usage_errors(invocation, faults, fault_count) == EXIT_OK;
}

static Str cell_text(Arena *arena, Value value)
{
    if (value.kind == VALUE_STRING) {
        return value_str(value);
    }
    if (value.kind == VALUE_NULL) {
        return STR("-");
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    bool printed = json_print(&text, value, &(JsonStyle){ .spaced = true }, &err);
    BUG_IF(!printed);
    return buf_str(&text);
}

/* Each key of a map is a row, such as "memory.total"; deeper values are printed within that row. */
static void print_table(const Invocation *invocation, const Map *map)
{
    static const char *const headings[] = { "FACT", "VALUE", NULL };
    Table table;
    table_init(&table, invocation->arena, headings);
    for (uint32_t i = 0; i < map->len; i++) {
        Str name = value_str(map->entries[i].key);
        Value value = map->entries[i].value;
        if (value.kind != VALUE_MAP || value.map->len == 0) {
            table_add(&table, name);
            table_add(&table, cell_text(invocation->arena, value));
            continue;
        }
        for (uint32_t k = 0; k < value.map->len; k++) {
            Str key = value_str(value.map->entries[k].key);
            table_add(&table, arena_format(invocation->arena, "%" STR_FMT ".%" STR_FMT,
                                           STR_ARG(name), STR_ARG(key)));
            table_add(&table, cell_text(invocation->arena, value.map->entries[k].value));
        }
    }
    table_print(&table, invocation->out);
}

/* Lists all facts with their help. */
static int list_facts(const Invocation *invocation)
{
    static const char *const headings[] = { "FACT", "DESCRIPTION", NULL };
    Arena *arena = invocation->arena;
    List *list = list_new(arena, 0);
    Table table;
    table_init(&table, arena, headings);
    for (size_t i = 0; facts[i] != NULL; i++) {
        table_add(&table, str_from_c(facts[i]->name));
        table_add(&table, str_from_c(facts[i]->help));
        Map *row = map_new(arena, 3);
        Value example;
        Error err;
        bool parsed = json_parse_text(arena, str_from_c(facts[i]->example), NULL, &example, &err);
        BUG_IF(!parsed);
        map_set_str(arena, row, STR("name"), value_string(str_from_c(facts[i]->name)));
        map_set_str(arena, row, STR("help"), value_string(str_from_c(facts[i]->help)));
        map_set_str(arena, row, STR("example"), example);
        list_push(arena, list, value_map(row));
    }
    if (invocation_prints(invocation, "table")) {
        table_print(&table, invocation->out);
        return EXIT_OK;
    }
    return output_response(invocation, value_list(list));
}

static int print_selected(Inputs *inputs, const Invocation *invocation, Map *all)
{
    Map *selected;
    if (!select_facts(invocation, all, &selected)) {
        return EXIT_USAGE;
    }
    if (!invocation_prints(invocation, "table")) {
        return output_value(inputs, invocation, OUTPUT_LINES, value_map(selected));
    }
    print_table(invocation, selected);
    return inputs_report(inputs, invocation);
}

/* Shows the facts that the node sent last. */
static int show_node(Invocation *invocation, const char *node)
{
    Inputs inputs;
    Value object;
    Error err;
    inputs_init(&inputs, invocation->arena);
    int code =
        cluster_call(invocation,
                     &(ClusterRequest){ .method = "GET",
                                        .target = cluster_target(invocation->arena, "/v1/facts/",
                                                                 str_from_c(node)) },
                     &object);
    if (code != EXIT_OK) {
        return code;
    }
    Value sent = value_get_map(object, "status");
    Str unreadable = value_get_text(sent, "error");
    if (sent.kind == VALUE_MAP && unreadable.len == 0) {
        return print_selected(&inputs, invocation, sent.map);
    }
    error_set(&err, ERROR_INVALID, "cannot read the facts of '%s': %" STR_FMT, node,
              STR_ARG(unreadable));
    return cluster_report_error(invocation, &err, true);
}

/* --- Several nodes --------------------------------------------------------------------------- */

static const char *const overview[] = { "os",   "os_version",   "arch", "kernel",
                                        "cpus", "memory.total", NULL };

static Str upper(Arena *arena, const char *text)
{
    Str copy = arena_copy(arena, str_from_c(text));
    char *letters = arena_copy_c(arena, copy);
    for (size_t i = 0; i < copy.len; i++) {
        letters[i] = ascii_upper(letters[i]);
    }
    return str_from_c(letters);
}

static void print_nodes(const Invocation *invocation, const List *items)
{
    Arena *arena = invocation->arena;
    const char *const *paths = invocation->arg_count == 0 ? overview : invocation->args;
    uint32_t count = invocation->arg_count == 0 ? COUNT_OF(overview) - 1 : invocation->arg_count;
    const char **headings = ARENA_ARRAY(arena, const char *, count + 2);
    Table table;
    headings[0] = "NODE";
    for (uint32_t i = 0; i < count; i++) {
        headings[1 + i] = upper(arena, paths[i]).data;
    }
    headings[1 + count] = NULL;
    table_init(&table, arena, headings);
    for (uint32_t i = 0; i < items->len; i++) {
        table_add(&table, object_name(items->items[i]));
        for (uint32_t k = 0; k < count; k++) {
            const char *path = arena_format(arena, "status.%s", paths[k]).data;
            table_add(&table, kind_cell(arena, items->items[i], path, "-"));
        }
    }
    table_print(&table, invocation->out);
}

/* The value at a path such as "memory.total"; null if it does not exist. */
static Value value_at(Value map, Str path)
{
    for (Str part; str_split_next(&path, '.', &part);) {
        const Value *member = map.kind == VALUE_MAP ? value_get(map, part) : NULL;
        if (member == NULL) {
            return value_null();
        }
        map = *member;
    }
    return map;
}

/* Returns a map by node of all facts, or of those at the paths. */
static Value facts_by_node(const Invocation *invocation, const List *items)
{
    Arena *arena = invocation->arena;
    Map *nodes = map_new(arena, items->len);
    for (uint32_t i = 0; i < items->len; i++) {
        Value all = object_status(items->items[i]);
        Map *chosen = map_new(arena, invocation->arg_count);
        for (uint32_t k = 0; k < invocation->arg_count; k++) {
            Str path = str_from_c(invocation->args[k]);
            map_set_str(arena, chosen, path, value_at(all, path));
        }
        map_set_str(arena, nodes, object_name(items->items[i]),
                    invocation->arg_count == 0 ? all : value_map(chosen));
    }
    return value_map(nodes);
}

/* Shows the facts that the selected nodes sent last. */
static int show_nodes(Invocation *invocation, const char *selector)
{
    Value list;
    int code = kind_fetch(invocation, kind_find(STR("Facts")), selector, &list);
    if (code != EXIT_OK) {
        return code;
    }
    const List *items = object_items(list);
    if (items->len == 0) {
        stream_put_format(invocation->err, "eden: no node with facts matches '%s'\n", selector);
        return EXIT_NOT_MATCHED;
    }
    if (!invocation_prints(invocation, "table")) {
        return output_response(invocation, facts_by_node(invocation, items));
    }
    print_nodes(invocation, items);
    return EXIT_OK;
}

static int facts_run(Invocation *invocation)
{
    if (invocation_flag(invocation, "list")) {
        return list_facts(invocation);
    }
    const char *node = invocation_text(invocation, "node");
    const char *selector = invocation_text(invocation, "selector");
    if (node != NULL && selector != NULL) {
        return usage_error(invocation, "--node and --selector are mutually exclusive");
    }
    if ((node != NULL || selector != NULL) && invocation_flag(invocation, "root")) {
        return usage_error(invocation, "--root and --%s are mutually exclusive",
                           node != NULL ? "node" : "selector");
    }
    const Fact **requested = ARENA_ARRAY(invocation->arena, const Fact *, invocation->arg_count);
    UsageFault *faults = ARENA_ARRAY(invocation->arena, UsageFault, invocation->arg_count);
    uint32_t fault_count = 0;
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        Str name = fact_name(invocation->args[i]);
        requested[i] = fact_find(name);
        if (requested[i] == NULL) {
            Str suggestion = STR_EMPTY;
            (void)fact_suggest(name, &suggestion);
            faults[fault_count++] = fact_not_found(invocation, invocation->args[i], suggestion);
        }
    }
    if (fault_count > 0) {
        return usage_errors(invocation, faults, fault_count);
    }
    if (node != NULL) {
        return show_node(invocation, node);
    }
    if (selector != NULL) {
        return show_nodes(invocation, selector);
    }
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    FactSources sources;
    Error err;
    if (!fact_sources_open(invocation_text(invocation, "root"), &sources, &err)) {
        inputs_add_file_error(&inputs, &err);
        return inputs_report(&inputs, invocation);
    }
    Value collected = facts_collect(&sources, invocation->arena, requested, invocation->arg_count,
                                    &inputs.problems);
    fact_sources_close(&sources);
    return print_selected(&inputs, invocation, collected.map);
}

static const Option options[] = {
    { .name = "list", .help = "list all facts, with an example of each" },
    { .name = "root",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .fallback = "/",
      .help = "root directory of the system to inspect" },
    OUTPUT_OPTION("table|json|yaml", "table", "output format"),
    { .name = "node",
      .argument = "NODE",
      .word = WORD_NODE,
      .help = "show the facts last sent by this node" },
    NODES_SELECTOR_OPTION,
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden facts", "show all facts about this machine" },
    { "eden facts os os_version -o yaml", "show two facts" },
    { "eden facts memory.total", "show part of a fact" },
    { "eden facts interfaces -o json", "print JSON, for scripts" },
    { "eden facts --node web1 os kernel", "show two facts about a node" },
    { "eden facts -l 'web*' os kernel", "compare facts of several nodes" },
    { 0 },
};

const Command command_facts = {
    .name = "facts",
    .group = GROUP_OPERATE,
    .args = { { "[NAME...]", WORD_FACT } },
    .help = "Show facts about this machine or a node.",
    .text =
        "Facts describe a machine: its name, operating system, processors, memory, disks,\n"
        "interfaces and so on. In a site they are available as 'server'. 'eden facts --list'\n"
        "describes each one.\n"
        "\n"
        "With --root, facts about the installed system (names, release, users, time zone) are\n"
        "read under DIR; facts about the running kernel still describe this machine. If a source\n"
        "cannot be read, a warning is printed and the fact is null.\n"
        "\n"
        "With --node, shows the facts last sent by a node of the cluster; with --selector, shows\n"
        "the facts of several nodes, one node per line. Run this on a server, or log in to a\n"
        "cluster first ('eden login').",
    .options = options,
    .examples = examples,
    .run = facts_run,
};
