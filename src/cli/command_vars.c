/* eden vars: shows the variables of a site on this node and their origin. */
#include "cli/output.h"
#include "cli/site_view.h"
#include "cli/table.h"
#include "lang/json.h"
#include "lang/yaml.h"

/* --- Printing --------------------------------------------------------------------------------- */

static bool is_hidden(const SiteView *view, Value value)
{
    return value_holds_secret(value) && !invocation_flag(view->invocation, "show-secrets");
}

/* Replaces secrets with "(secret)". */
static Value redact(const SiteView *view, Value value)
{
    Arena *arena = view->invocation->arena;
    if (!is_hidden(view, value)) {
        return value;
    }
    if (value_is_secret(value)) {
        return value_string(STR("(secret)"));
    }
    if (value.kind == VALUE_MAP) {
        Map *map = map_new(arena, value.map->len);
        for (uint32_t i = 0; i < value.map->len; i++) {
            map_append(arena, map, redact(view, value.map->entries[i].key),
                       redact(view, value.map->entries[i].value));
        }
        return value_map(map);
    }
    List *list = list_new(arena, value.list->len);
    for (uint32_t i = 0; i < value.list->len; i++) {
        list_push(arena, list, redact(view, value.list->items[i]));
    }
    return value_list(list);
}

/* The value on one line, truncated if it is long. */
static Str summary(const SiteView *view, Value value)
{
    enum {
        BRIEF_MAX = 60
    };
    Arena *arena = view->invocation->arena;
    value = redact(view, value);
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    if (value_is_string(value)) {
        buf_put(&text, value_str(value));
    } else if (!json_print(&text, value, &(JsonStyle){ .spaced = true }, &err)) {
        return STR("...");
    }
    Str all = buf_str(&text);
    size_t end = str_find(all, STR("\n"), 0);
    bool is_truncated = end != STR_NOT_FOUND && end + 1 < all.len;
    end = end == STR_NOT_FOUND ? all.len : end;
    if (end > BRIEF_MAX) {
        end = BRIEF_MAX;
        while (end > 0 && ((unsigned char)all.data[end] & 0xc0) == 0x80) {
            end--;
        }
        is_truncated = true;
    }
    return is_truncated ? arena_format(arena, "%" STR_FMT "...", STR_ARG(str_slice(all, 0, end)))
                        : str_slice(all, 0, end);
}

static Str location_text(const SiteView *view, Value at)
{
    const Source *source = sources_get(&view->inputs.sources, at.source);
    if (source == NULL) {
        return STR("-");
    }
    if (str_starts(source->name, STR("-D"))) {
        return source->name;
    }
    return arena_format(view->invocation->arena, "%" STR_FMT ":%u", STR_ARG(source->name),
                        source_location(source, at.start).line);
}

static void set(SiteView *view, Map *map, const char *key, Value value)
{
    map_set_str(view->invocation->arena, map, str_from_c(key), value);
}

static void set_location(SiteView *view, Map *map, Value at)
{
    const Source *source = sources_get(&view->inputs.sources, at.source);
    LineColumn location = source == NULL ? (LineColumn){ 0 } : source_location(source, at.start);
    set(view, map, "file", source == NULL ? value_null() : value_string(source->name));
    set(view, map, "line", source == NULL ? value_null() : value_int(location.line));
    set(view, map, "column", source == NULL ? value_null() : value_int(location.column));
}

static int print_value(SiteView *view, Value value)
{
    Invocation *invocation = view->invocation;
    value = redact(view, value);
    if (!invocation_prints(invocation, "text")) {
        return output_value(&view->inputs, invocation, OUTPUT_LINES, value);
    }
    Buf text = buf_make_in(invocation->arena, BUF_UNLIMITED);
    Error err;
    if (value_is_string(value)) {
        buf_put(&text, value_str(value));
        if (!str_ends(value_str(value), STR("\n"))) {
            buf_put_char(&text, '\n');
        }
    } else if (!yaml_print(&text, value, NULL, &err)) {
        inputs_add_file_error(&view->inputs, &err);
        return site_view_report(view);
    }
    stream_put(invocation->out, buf_str(&text));
    return site_view_report(view);
}

/* --- Variables of other nodes ----------------------------------------------------------------- */

/* The first component of a path: "network" of "network.mtu", "a.b" of "['a.b'].c". */
static Str first_name(Str path)
{
    if (str_starts(path, STR("['")) || str_starts(path, STR("[\""))) {
        Str rest = str_from_offset(path, 2);
        return str_slice(rest, 0, str_find(rest, str_slice(path, 1, 2), 0));
    }
    size_t dot = str_find(path, STR("."), 0), bracket = str_find(path, STR("["), 0);
    return str_slice(path, 0, dot < bracket ? dot : bracket);
}

static bool has_name(const SiteView *view, Str name)
{
    uint32_t count;
    const VariableLayer *layers = variables_layers(scope_variables(view->scope), &count);
    for (uint32_t i = 0; i < count; i++) {
        if (value_get(layers[i].document, name) != NULL) {
            return true;
        }
    }
    return false;
}

/* If this node does not have the variable, adds a note about nodes that have it. */
static void add_other_nodes_hint(SiteView *view, Str key)
{
    Problems *problems = &view->inputs.problems;
    const SiteEntries *entries = site_variables(view->site);
    if (problems->count == 0 || !str_eq_c(problems->items[problems->count - 1].code, "E0594") ||
        has_name(view, first_name(key))) {
        return;
    }
    Problem *problem = &problems->items[problems->count - 1];
    for (uint32_t i = 0; i < entries->count; i++) {
        const SiteEntry *entry = &entries->items[i];
        bool matches = true;
        if (entry->selector == NULL || entry->path_count > 0 ||
            !selector_match(entry->selector, scope_subject(view->scope), &matches) || matches) {
            continue;
        }
        Str path = arena_format(view->invocation->arena, "variables/%" STR_FMT ".yaml",
                                STR_ARG(entry->name));
        const SiteReader *reader = &site_load_settings(view->site)->reader;
        Value document;
        if (reader->exists(reader->context, path) &&
            site_read(view->site, path, entry->location, &document) && document.kind == VALUE_MAP &&
            value_get(document, first_name(key)) != NULL) {
            problem->hint = arena_format(view->invocation->arena,
                                         "%" STR_FMT " defines it, for nodes with '%" STR_FMT "'",
                                         STR_ARG(path), STR_ARG(selector_text(entry->selector)));
            return;
        }
    }
}

/* --- Verbs ------------------------------------------------------------------------------------ */

static int vars_get(SiteView *view, Str key)
{
    Value value;
    if (!variables_get(scope_variables(view->scope), key, &value)) {
        add_other_nodes_hint(view, key);
        return site_view_report(view);
    }
    return print_value(view, value);
}

/* Location of the key in a layer; the value may be several lines below it. */
static Str definition_location(const SiteView *view, const VariableDefinition *definition)
{
    bool has_key = sources_get(&view->inputs.sources, definition->key.source) != NULL;
    return location_text(view, has_key ? definition->key : definition->value);
}

/* All locations that contribute to the value: one, or several if maps were merged. */
static Str winning_locations(SiteView *view, Str name)
{
    Arena *arena = view->invocation->arena;
    VariableDefinition *definitions;
    uint32_t count;
    Str path = arena_format(arena, "['%" STR_FMT "']", STR_ARG(name));
    if (!variables_explain(scope_variables(view->scope), path, &definitions, &count)) {
        return STR("-");
    }
    Buf locations = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < count; i++) {
        if (definitions[i].is_effective) {
            buf_put(&locations, locations.len == 0 ? STR_EMPTY : STR(", "));
            buf_put(&locations, definition_location(view, &definitions[i]));
        }
    }
    return locations.len == 0 ? STR("-") : buf_str(&locations);
}

static int vars_list(SiteView *view, Str key)
{
    static const char *const headings[] = { "VARIABLE", "VALUE", "FROM", NULL };
    Invocation *invocation = view->invocation;
    Value all;
    bool ok = variables_all(scope_variables(view->scope), &all);
    if (!ok || !invocation_prints(invocation, "text")) {
        return ok ? print_value(view, all) : site_view_report(view);
    }
    Table table;
    table_init(&table, invocation->arena, headings);
    for (uint32_t i = 0; i < all.map->len; i++) {
        Str name = value_str(all.map->entries[i].key);
        table_add(&table, name);
        table_add(&table, summary(view, all.map->entries[i].value));
        table_add(&table, winning_locations(view, name));
    }
    table_print(&table, invocation->out);
    return site_view_report(view);
}

static const char *definition_effect(const VariableDefinition *definition)
{
    return !definition->is_effective             ? "overridden"
           : definition->shadows                 ? "overrides"
           : definition->value.kind == VALUE_MAP ? "merged"
                                                 : "wins";
}

static void print_why(SiteView *view, Str key, const VariableDefinition *definitions,
                      uint32_t count, const Value *value)
{
    static const char *const headings[] = { "FROM", "VALUE", "", "SELECTED BY", NULL };
    Invocation *invocation = view->invocation;
    if (value != NULL) {
        Str line = arena_format(invocation->arena, "%" STR_FMT " = %" STR_FMT "\n\n", STR_ARG(key),
                                STR_ARG(summary(view, *value)));
        stream_put(invocation->out, line);
    }
    Table table;
    table_init(&table, invocation->arena, headings);
    for (uint32_t i = 0; i < count; i++) {
        table_add(&table, definition_location(view, &definitions[i]));
        table_add(&table, summary(view, definitions[i].value));
        table_add(&table, str_from_c(definition_effect(&definitions[i])));
        table_add(&table, definitions[i].layer->kind == LAYER_SITE
                              ? location_text(view, definitions[i].layer->named_at)
                              : STR("-"));
    }
    table_print(&table, invocation->out);
}

static Value why_value(SiteView *view, Str key, const VariableDefinition *definitions,
                       uint32_t count, const Value *value)
{
    Arena *arena = view->invocation->arena;
    List *layers = list_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        const VariableDefinition *definition = &definitions[i];
        Map *map = map_new(arena, 8);
        set(view, map, "kind", value_string(str_from_c(layer_kind_name(definition->layer->kind))));
        set_location(view, map, definition->value);
        set(view, map, "value", redact(view, definition->value));
        set(view, map, "wins", value_bool(definition->is_effective));
        set(view, map, "hides", value_bool(definition->shadows));
        Value from = value_null();
        if (definition->layer->kind == LAYER_SITE) {
            Map *named = map_new(arena, 3);
            set_location(view, named, definition->layer->named_at);
            from = value_map(named);
        }
        set(view, map, "from", from);
        list_push(arena, layers, value_map(map));
    }
    Map *why = map_new(arena, 4);
    set(view, why, "format", value_string(STR("eden.vars/1")));
    set(view, why, "key", value_string(key));
    set(view, why, "value", value == NULL ? value_null() : redact(view, *value));
    set(view, why, "layers", value_list(layers));
    return value_map(why);
}

/* Layers are listed even if the value cannot be rendered, because they help to find the cause. */
static int vars_why(SiteView *view, Str key)
{
    Variables *variables = scope_variables(view->scope);
    VariableDefinition *definitions;
    uint32_t count;
    if (!variables_explain(variables, key, &definitions, &count)) {
        add_other_nodes_hint(view, key);
        return site_view_report(view);
    }
    Value value;
    const Value *found = variables_get(variables, key, &value) ? &value : NULL;
    if (invocation_prints(view->invocation, "text")) {
        print_why(view, key, definitions, count, found);
    } else if (found != NULL) {
        return output_value(&view->inputs, view->invocation, OUTPUT_LINES,
                            why_value(view, key, definitions, count, found));
    }
    return site_view_report(view);
}

/* Opens the site (default: the current directory) and calls `show` with the key. */
static int run_on_site(Invocation *invocation, const char *site, const char *key,
                       int (*show)(SiteView *view, Str key))
{
    SiteView view;
    if (!inputs_check_defines(invocation)) {
        return EXIT_USAGE;
    }
    int code = site_view_open(&view, invocation, site == NULL ? "." : site)
                   ? show(&view, str_from_c(key))
                   : site_view_report(&view);
    site_view_clear(&view);
    return code;
}

static int run_get(Invocation *invocation)
{
    return run_on_site(invocation, invocation->args[1], invocation->args[0], vars_get);
}

static int run_list(Invocation *invocation)
{
    return run_on_site(invocation, invocation->args[0], NULL, vars_list);
}

static int run_why(Invocation *invocation)
{
    return run_on_site(invocation, invocation->args[1], invocation->args[0], vars_why);
}

static const Option options[] = {
    VARIABLE_OPTIONS,
    SITE_WORLD_OPTIONS,
    { .name = "show-secrets", .help = "print secret values in clear text" },
    OUTPUT_OPTION("text|json|yaml", "text", "output format"),
    { 0 },
};

static const Verb verbs[] = {
    { .name = "get",
      .args = { { "KEY" }, { "[SITE]", WORD_DIRECTORY } },
      .help = "Print the value of a variable.",
      .examples = { { "eden vars get network.mtu site", "print one rendered value" } },
      .run = run_get },
    { .name = "list",
      .args = { { "[SITE]", WORD_DIRECTORY } },
      .help = "List all variables and the file that defines each.",
      .examples = { { "eden vars list site", "list all variables of this node" } },
      .run = run_list },
    { .name = "why",
      .args = { { "KEY" }, { "[SITE]", WORD_DIRECTORY } },
      .help = "Show a variable's value in every layer and which layer wins.",
      .examples = { { "eden vars why network.mtu site --label role=web",
                      "show a variable's value in every layer" } },
      .run = run_why },
    { 0 },
};

const Command command_vars = {
    .name = "vars",
    .group = GROUP_AUTHOR,
    .help = "Show a node's variables and where they come from.",
    .text = "KEY is a variable name. Separate nested keys with dots, or use brackets for keys\n"
            "that contain special characters: sysctl['fs.file-max']. SITE is a directory;\n"
            "default: the current one.\n"
            "\n"
            "Each layer overrides the previous ones: the site's files in the order of\n"
            "variables/base.yaml, then the node's vars.d/*.yaml, -v files, and -D. Maps are\n"
            "merged; other values are replaced. Values from vars.d and -D are never rendered\n"
            "as templates; all others can use server, eden, vars and macros.",
    .options = options,
    .verbs = verbs,
};
