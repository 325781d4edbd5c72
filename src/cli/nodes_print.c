#include "cli/nodes_print.h"

#include <inttypes.h>

#include "cli/output.h"
#include "cli/table.h"

Str nodes_labels_text(Arena *arena, Value node)
{
    return kind_cell(arena, node, "metadata.labels", NULL);
}

static Str text_or(Value map, const char *key, const char *instead)
{
    Str text = value_get_text(map, key);
    return text.len > 0 ? text : str_from_c(instead);
}

static bool is_state(Value node, const char *state)
{
    return str_eq_c(value_get_text(object_status(node), "state"), state);
}

bool node_is_member(Value node)
{
    return !is_state(node, "pending") && !is_state(node, "approved");
}

/* --- List ------------------------------------------------------------------------------------ */

static void put_count(Buf *out, uint32_t count, const char *what)
{
    if (count > 0) {
        buf_put_format(out, ", %" PRIu32 " %s", count, what);
    }
}

static bool is_site(Value status, const char *state)
{
    return str_eq_c(value_get_text(status, "site"), state);
}

/* Prints "3 nodes, 1 silent, 2 without facts; 1 machine is requesting to join: 'eden nodes show db1'
 * shows how to approve it". */
static void print_summary(const Invocation *invocation, const List *nodes)
{
    uint32_t members = 0, silent = 0, bare = 0, pending = 0, unreadable = 0, revoked = 0,
             outdated = 0, applying = 0, failed = 0;
    Str first = STR_EMPTY;
    for (uint32_t i = 0; i < nodes->len; i++) {
        Value node = nodes->items[i], status = object_status(node);
        members += node_is_member(node);
        silent += is_state(node, "silent");
        unreadable += is_state(node, "unreadable");
        revoked += value_get_bool(status, "revoked");
        outdated += is_site(status, "outdated");
        applying += is_site(status, "pending");
        failed += is_site(status, "failed");
        bare += (is_state(node, "alive") || is_state(node, "silent")) &&
                !value_get_bool(status, "facts");
        if (is_state(node, "pending")) {
            first = pending++ == 0 ? object_name(node) : first;
        }
    }
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    buf_put_format(&line, "%" PRIu32 " node%s", members, members == 1 ? "" : "s");
    put_count(&line, silent, "silent");
    put_count(&line, bare, "without facts");
    put_count(&line, revoked, "revoked");
    put_count(&line, applying, "still to apply the site");
    put_count(&line, outdated, "with another version of the site");
    put_count(&line, failed, "that failed to apply the site");
    put_count(&line, unreadable, "unreadable");
    if (pending > 0) {
        buf_put_format(&line,
                       "; %" PRIu32 " %s to join: 'eden nodes show %" STR_FMT
                       "' shows how to approve it",
                       pending, pending == 1 ? "machine is requesting" : "machines are requesting",
                       STR_ARG(first));
    }
    stream_put(invocation->out, STR("\n"));
    output_line(invocation->out, "%" STR_FMT, STR_ARG(buf_str(&line)));
}

void nodes_print_table(const Invocation *invocation, const Kind *kind, const List *nodes)
{
    kind_print_table(invocation, kind, nodes);
    print_summary(invocation, nodes);
}

/* --- Single node ----------------------------------------------------------------------------- */

static void add_line(Table *table, const char *what, Str text)
{
    table_add(table, str_from_c(what));
    table_add(table, text);
}

/* "3f2a..., which is current". */
static Str site_text(Arena *arena, Value node)
{
    static const struct {
        const char *state, *text;
    } texts[] = {
        { "current", ", the current version" },
        { "outdated", ", which is not the current version" },
        { "pending", "; a version is being applied" },
        { "failed", "; the newest version that was applied failed" },
        { "skipped", "; the newest version has no jobs for this node, or was not applied in time" },
    };
    Str version = text_or(node, "site_version", "none");
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (str_eq_c(value_get_text(node, "site"), texts[i].state)) {
            return arena_join(arena, version, str_from_c(texts[i].text), STR_EMPTY);
        }
    }
    return version;
}

static void add_member(Table *table, Value object)
{
    Arena *arena = table->arena;
    Value node = object_status(object);
    Str token = value_get_text(node, "token"), state = value_get_text(node, "state");
    Str name = object_name(object);
    add_line(table, "state",
             arena_format(arena, "%" STR_FMT ", since %" STR_FMT, STR_ARG(state),
                          STR_ARG(text_or(node, "since", "unknown time"))));
    add_line(table, "role", value_get_bool(node, "server") ? STR("server") : STR("node"));
    add_line(table, "version", text_or(node, "version", "-"));
    add_line(table, "site", site_text(arena, node));
    add_line(table, "labels", nodes_labels_text(arena, object));
    add_line(table, "joined",
             arena_format(arena, "%" STR_FMT " from %" STR_FMT ", %s%" STR_FMT,
                          STR_ARG(value_get_text(node, "joined")),
                          STR_ARG(text_or(node, "address", "this machine")),
                          token.len > 0 ? "with token " : "without token", STR_ARG(token)));
    add_line(table, "certificate",
             arena_format(arena, "%" STR_FMT ", until %" STR_FMT "%s",
                          STR_ARG(value_get_text(node, "serial")),
                          STR_ARG(value_get_text(node, "certificate_expires")),
                          value_get_bool(node, "revoked") ? "; it is revoked" : ""));
    add_line(table, "key", value_get_text(node, "key"));
    if (value_get_text(node, "limited").len > 0) {
        bool refused = str_eq_c(value_get_text(node, "limit"), "results");
        add_line(table, "budget",
                 arena_format(arena, "exceeded, last at %" STR_FMT ": %s",
                              STR_ARG(value_get_text(node, "limited")),
                              refused ? "results are rejected because its quota is used up"
                                      : "its data is delayed"));
    }
    add_line(table, "facts",
             value_get_bool(node, "facts")
                 ? arena_format(arena, "'eden facts --node %" STR_FMT "' shows them", STR_ARG(name))
                 : STR("never sent"));
}

static void add_pending(Table *table, Str name, Value waiting)
{
    Arena *arena = table->arena;
    bool approved = value_get_bool(waiting, "approved");
    add_line(table, "requested",
             arena_format(arena, "%" STR_FMT " from %" STR_FMT "%s",
                          STR_ARG(value_get_text(waiting, "requested")),
                          STR_ARG(value_get_text(waiting, "address")),
                          approved ? "; approved, joins when it retries" : ""));
    add_line(table, "with key", value_get_text(waiting, "key"));
    if (!approved) {
        add_line(table, "",
                 STR("if 'eden join' prints the same key on that machine, approve it with:"));
        add_line(table, "",
                 arena_format(arena, "  eden nodes approve %" STR_FMT " --key %" STR_FMT,
                              STR_ARG(name), STR_ARG(value_get_text(waiting, "key"))));
        add_line(table, "",
                 STR("without --ca-pin, 'eden join' prints a command with --ssh instead"));
    }
}

void nodes_print_one(const Invocation *invocation, Value node)
{
    Value status = object_status(node);
    const List *pending = value_get_list(status, "requests");
    Str error = value_get_text(status, "error");
    Table table;
    const char *name = arena_copy_c(invocation->arena, object_name(node));
    const char *headings[] = { "NODE", name, NULL };
    table_init(&table, invocation->arena, headings);
    if (error.len > 0) {
        add_line(&table, "state", STR("unreadable"));
        add_line(&table, "error", error);
    } else if (node_is_member(node)) {
        add_member(&table, node);
    }
    for (uint32_t i = 0; pending != NULL && i < pending->len; i++) {
        add_pending(&table, object_name(node), pending->items[i]);
    }
    table_print(&table, invocation->out);
}
