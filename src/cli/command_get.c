/* eden get: reads keys from the store. */
#include "cli/key_value.h"
#include "cli/output.h"
#include "cli/table.h"

enum {
    VALUE_SHOWN_MAX = 100 /* in a table, in bytes */
};

static int bad_response(Invocation *invocation)
{
    Error err;
    error_set(&err, ERROR_OS, "the server's response has no key or value");
    return cluster_report_error(invocation, &err, true);
}

/* --- Single key ------------------------------------------------------------------------------ */

static int get_one(Invocation *invocation, Str key)
{
    Arena *arena = invocation->arena;
    Value response;
    Str value;
    int code =
        cluster_call(invocation,
                     &(ClusterRequest){ .method = "GET",
                                        .target = cluster_target(arena, "/v1/store?key=", key),
                                        .response_max = KEYS_RESPONSE_MAX },
                     &response);
    if (code != EXIT_OK) {
        return code;
    }
    if (invocation_prints(invocation, "json")) {
        return output_json(invocation, response);
    }
    if (!key_value_bytes(arena, response, "value", &value)) {
        return bad_response(invocation);
    }
    if (invocation_prints(invocation, "raw")) {
        stream_put(invocation->out, value);
        return EXIT_OK;
    }
    output_text(invocation->out, value);
    if (!str_ends(value, STR("\n"))) {
        stream_put(invocation->out, STR("\n"));
    }
    return EXIT_OK;
}

/* --- Prefix ---------------------------------------------------------------------------------- */

static Str page_target(const Invocation *invocation, Str prefix, Str next)
{
    Arena *arena = invocation->arena;
    Buf target = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&target, "/v1/keys?limit=200");
    if (prefix.len > 0) {
        buf_put(&target, cluster_target(arena, "&prefix=", prefix));
    }
    if (next.len > 0) {
        buf_put(&target, cluster_target(arena, "&continue=", next));
    }
    buf_put_c(&target, invocation_prints(invocation, "name") ? "&only=keys" : "");
    return buf_str(&target);
}

static bool add_row(Table *table, Value entry)
{
    Str key, value;
    if (!key_value_bytes(table->arena, entry, "key", &key) ||
        !key_value_bytes(table->arena, entry, "value", &value)) {
        return false;
    }
    table_add(table, key);
    table_add(table,
              arena_format(table->arena, "%lld", (long long)value_get_int(entry, "version")));
    table_add(table,
              arena_format(table->arena, "%lld", (long long)value_get_int(entry, "mod_revision")));
    table_add(table, value.len <= VALUE_SHOWN_MAX
                         ? value
                         : arena_format(table->arena, "%" STR_FMT "... (%zu bytes)",
                                        STR_ARG(str_slice(value, 0, VALUE_SHOWN_MAX)), value.len));
    return true;
}

static int print_table(Invocation *invocation, const List *values)
{
    static const char *const headings[] = { "KEY", "VERSION", "REVISION", "VALUE", NULL };
    Table table;
    table_init(&table, invocation->arena, headings);
    for (uint32_t i = 0; i < values->len; i++) {
        if (!add_row(&table, values->items[i])) {
            return bad_response(invocation);
        }
    }
    table_print(&table, invocation->out);
    return EXIT_OK;
}

static int print_names(Invocation *invocation, const List *values)
{
    for (uint32_t i = 0; i < values->len; i++) {
        Str key;
        if (!key_value_bytes(invocation->arena, values->items[i], "key", &key)) {
            return bad_response(invocation);
        }
        if (stream_is_terminal(invocation->out)) {
            output_line(invocation->out, "%" STR_FMT, STR_ARG(key));
        } else {
            stream_put(invocation->out, key);
            stream_put(invocation->out, STR("\n"));
        }
    }
    return EXIT_OK;
}

static int get_all(Invocation *invocation, Str prefix)
{
    Arena *arena = invocation->arena;
    List *values = list_new(arena, 0);
    Value response;
    Str next = STR_EMPTY;
    do {
        int code = cluster_call(invocation,
                                &(ClusterRequest){ .method = "GET",
                                                   .target = page_target(invocation, prefix, next),
                                                   .response_max = KEYS_RESPONSE_MAX },
                                &response);
        if (code != EXIT_OK) {
            return code;
        }
        const List *more = value_get_list(response, "values");
        for (uint32_t i = 0; i < more->len; i++) {
            list_push(arena, values, more->items[i]);
        }
        next = value_get_text(response, "continue");
    } while (next.len > 0);
    if (invocation_prints(invocation, "json")) {
        map_set_str(arena, response.map, STR("values"), value_list(values));
        map_remove(response.map, value_string(STR("continue")));
        return output_json(invocation, response);
    }
    if (values->len == 0) {
        output_line(invocation->err, "no key starts with '%" STR_FMT "'", STR_ARG(prefix));
        return EXIT_OK;
    }
    return invocation_prints(invocation, "name") ? print_names(invocation, values)
                                                 : print_table(invocation, values);
}

static int get_run(Invocation *invocation)
{
    Str key = str_from_c(invocation->args[0]);
    return invocation_flag(invocation, "prefix") ? get_all(invocation, key)
                                                 : get_one(invocation, key);
}

static const Option options[] = {
    { .name = "prefix", .help = "list all keys that start with KEY; '' lists all keys" },
    OUTPUT_OPTION("text|raw|json|name", "text",
                  "output format; raw: the exact bytes, name: only the keys"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden get /eden/nodes/web1", "print the record of a node" },
    { "eden get /eden/nodes/ --prefix", "list all keys with a prefix" },
    { "eden get '' --prefix -o name", "list the names of all keys" },
    { 0 },
};

const Command command_get = {
    .name = "get",
    .group = GROUP_CLUSTER,
    .args = { { "KEY" } },
    .help = "Read keys from the store, for debugging.",
    .text = "The value is printed verbatim; a newline is added if it does not end with one. With\n"
            "-o json, the revisions are included, and values that are not valid UTF-8 are\n"
            "encoded in base64. On a terminal, control characters in keys and values are\n"
            "escaped, except with -o raw.",
    .options = options,
    .examples = examples,
    .run = get_run,
};
