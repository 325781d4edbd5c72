#include "cli/nodes_print.h"

#include <inttypes.h>

#include "cli/table.h"

int nodes_fetch(Invocation *invocation, List **nodes, List **waiting)
{
    Arena *arena = invocation->arena;
    Str next = STR_EMPTY;
    *nodes = list_new(arena, 0);
    *waiting = list_new(arena, 0);
    do {
        Value answer;
        Str target = next.len == 0 ? STR("/v1/nodes?limit=1000")
                                   : cluster_target(arena, "/v1/nodes?limit=1000&continue=", next);
        int code = cluster_call(invocation, &(ClusterRequest){ .method = "GET", .target = target },
                                &answer);
        if (code != EXIT_OK) {
            return code;
        }
        const List *more = cluster_list(answer, "nodes");
        for (uint32_t i = 0; i < more->len; i++) {
            list_push(arena, *nodes, more->items[i]);
        }
        more = cluster_list(answer, "waiting");
        for (uint32_t i = 0; i < more->len; i++) {
            list_push(arena, *waiting, more->items[i]);
        }
        next = cluster_text(answer, "continue");
    } while (next.len > 0);
    return EXIT_OK;
}

Str nodes_labels_text(Arena *arena, Value node)
{
    Value labels = cluster_map(node, "labels");
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; labels.kind == VALUE_MAP && i < labels.map->len; i++) {
        const MapEntry *entry = &labels.map->entries[i];
        if (value_is_string(entry->key) && value_is_string(entry->value)) {
            buf_put_format(&text, "%s%" STR_FMT "=%" STR_FMT, text.len == 0 ? "" : ", ",
                           STR_ARG(value_str(entry->key)), STR_ARG(value_str(entry->value)));
        }
    }
    return text.len == 0 ? STR("-") : buf_str(&text);
}

static Str text_or(Value map, const char *key, const char *instead)
{
    Str text = cluster_text(map, key);
    return text.len > 0 ? text : str_from_c(instead);
}

static Str state_of(Value node)
{
    return cluster_bool(node, "alive") ? STR("alive") : STR("silent");
}

static Str waiting_state(Value waiting)
{
    return cluster_bool(waiting, "approved") ? STR("approved") : STR("asks");
}

/* --- The list -------------------------------------------------------------------------------- */

static void add_node(Table *table, Value node, bool wide)
{
    table_add(table, cluster_text(node, "name"));
    table_add(table, state_of(node));
    table_add(table, text_or(node, "since", "not known"));
    table_add(table, cluster_bool(node, "has_facts") ? STR("yes") : STR("never sent"));
    table_add(table, text_or(node, "address", "-"));
    if (wide) {
        table_add(table, text_or(node, "version", "-"));
        table_add(table, cluster_text(node, "joined"));
        table_add(table, cluster_text(node, "certificate_expires"));
        table_add(table, cluster_text(node, "key"));
    }
    table_add(table, nodes_labels_text(table->arena, node));
}

static void add_waiting(Table *table, Value waiting, bool wide)
{
    table_add(table, cluster_text(waiting, "name"));
    table_add(table, waiting_state(waiting));
    table_add(table, cluster_text(waiting, "asked"));
    table_add(table, STR("-"));
    table_add(table, text_or(waiting, "address", "-"));
    if (wide) {
        for (int i = 0; i < 3; i++) {
            table_add(table, STR("-"));
        }
        table_add(table, cluster_text(waiting, "key"));
    }
    table_add(table, STR("-"));
}

static void put_count(Buf *out, uint32_t count, const char *what)
{
    if (count > 0) {
        buf_put_format(out, ", %" PRIu32 " %s", count, what);
    }
}

/* "3 nodes, 1 silent, 2 without facts; 1 asks to join: 'eden nodes show db1' tells how it is let
 * in" */
static void print_summary(const Invocation *invocation, const List *nodes, const List *waiting)
{
    uint32_t silent = 0, bare = 0, asking = 0;
    Str first = STR_EMPTY;
    for (uint32_t i = 0; i < nodes->len; i++) {
        silent += !cluster_bool(nodes->items[i], "alive");
        bare += !cluster_bool(nodes->items[i], "has_facts");
    }
    for (uint32_t i = 0; i < waiting->len; i++) {
        if (!cluster_bool(waiting->items[i], "approved")) {
            first = asking++ == 0 ? cluster_text(waiting->items[i], "name") : first;
        }
    }
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    buf_put_format(&line, "\n%" PRIu32 " node%s", nodes->len, nodes->len == 1 ? "" : "s");
    put_count(&line, silent, "silent");
    put_count(&line, bare, "without facts");
    if (asking > 0) {
        buf_put_format(&line,
                       "; %" PRIu32 " %s to join: 'eden nodes show %" STR_FMT
                       "' tells how to let it in",
                       asking, asking == 1 ? "asks" : "ask", STR_ARG(first));
    }
    buf_put_char(&line, '\n');
    stream_put(invocation->out, buf_str(&line));
}

void nodes_print_table(const Invocation *invocation, const List *nodes, const List *waiting)
{
    static const char *const brief[] = { "NODE",    "STATE",  "SINCE", "FACTS",
                                         "ADDRESS", "LABELS", NULL };
    static const char *const all[] = { "NODE",    "STATE",   "SINCE",  "FACTS",
                                       "ADDRESS", "VERSION", "JOINED", "CERTIFICATE UNTIL",
                                       "KEY",     "LABELS",  NULL };
    bool wide = invocation_prints(invocation, "wide");
    Table table;
    if (nodes->len == 0 && waiting->len == 0) {
        stream_put_format(invocation->err,
                          "there is no node; 'eden tokens create' lets one join\n");
        return;
    }
    table_init(&table, invocation->arena, wide ? all : brief);
    for (uint32_t i = 0; i < nodes->len; i++) {
        add_node(&table, nodes->items[i], wide);
    }
    for (uint32_t i = 0; i < waiting->len; i++) {
        add_waiting(&table, waiting->items[i], wide);
    }
    table_print(&table, invocation->out);
    print_summary(invocation, nodes, waiting);
}

void nodes_print_names(const Invocation *invocation, const List *nodes, const List *waiting)
{
    const List *lists[] = { nodes, waiting };
    for (size_t k = 0; k < COUNT_OF(lists); k++) {
        for (uint32_t i = 0; i < lists[k]->len; i++) {
            stream_put(invocation->out, cluster_text(lists[k]->items[i], "name"));
            stream_put(invocation->out, STR("\n"));
        }
    }
}

/* --- One of them ----------------------------------------------------------------------------- */

static void add_line(Table *table, const char *what, Str text)
{
    table_add(table, str_from_c(what));
    table_add(table, text);
}

static void add_member(Table *table, Value node, Value detail)
{
    Arena *arena = table->arena;
    Str token = cluster_text(node, "token"), error = cluster_text(detail, "facts_error");
    Value facts = cluster_map(detail, "facts");
    Str name = cluster_text(node, "name");
    add_line(table, "state",
             arena_format(arena, "%" STR_FMT ", since %" STR_FMT, STR_ARG(state_of(node)),
                          STR_ARG(text_or(node, "since", "when is not known"))));
    add_line(table, "role", cluster_bool(node, "server") ? STR("server") : STR("node"));
    add_line(table, "version", text_or(node, "version", "-"));
    add_line(table, "labels", nodes_labels_text(arena, node));
    add_line(table, "joined",
             arena_format(arena, "%" STR_FMT " from %" STR_FMT ", %s%" STR_FMT,
                          STR_ARG(cluster_text(node, "joined")),
                          STR_ARG(text_or(node, "address", "this machine")),
                          token.len > 0 ? "with token " : "without token", STR_ARG(token)));
    add_line(table, "certificate",
             arena_format(arena, "%" STR_FMT ", until %" STR_FMT,
                          STR_ARG(cluster_text(node, "serial")),
                          STR_ARG(cluster_text(node, "certificate_expires"))));
    add_line(table, "key", cluster_text(node, "key"));
    add_line(table, "facts",
             facts.kind == VALUE_MAP
                 ? arena_format(arena, "%" PRIu32 "; 'eden facts --node %" STR_FMT "' shows them",
                                facts.map->len, STR_ARG(name))
             : error.len > 0 ? arena_format(arena, "cannot be read: %" STR_FMT, STR_ARG(error))
                             : STR("never sent"));
}

static void add_asking(Table *table, Value waiting)
{
    Arena *arena = table->arena;
    Str name = cluster_text(waiting, "name");
    bool approved = cluster_bool(waiting, "approved");
    add_line(table, "asks",
             arena_format(arena, "%" STR_FMT " from %" STR_FMT "%s",
                          STR_ARG(cluster_text(waiting, "asked")),
                          STR_ARG(cluster_text(waiting, "address")),
                          approved ? "; is approved, and in when it asks again" : ""));
    add_line(table, "with key", cluster_text(waiting, "key"));
    if (!approved) {
        add_line(table, "",
                 STR("if 'eden join' shows the same key on that machine, this lets it in:"));
        add_line(table, "",
                 arena_format(arena, "  eden nodes approve %" STR_FMT " --key %" STR_FMT,
                              STR_ARG(name), STR_ARG(cluster_text(waiting, "key"))));
        add_line(table, "",
                 STR("one that was given no --ca-pin shows a line with --ssh, and waits for that"));
    }
}

void nodes_print_one(const Invocation *invocation, Value detail)
{
    Value node = cluster_map(detail, "node"), waiting = cluster_map(detail, "waiting");
    Table table;
    const char *name = arena_copy_c(invocation->arena,
                                    cluster_text(node.kind == VALUE_MAP ? node : waiting, "name"));
    const char *headings[] = { "NODE", name, NULL };
    table_init(&table, invocation->arena, headings);
    if (node.kind == VALUE_MAP) {
        add_member(&table, node, detail);
    }
    if (waiting.kind == VALUE_MAP) {
        add_asking(&table, waiting);
    }
    table_print(&table, invocation->out);
}
