/* eden tokens: what machines join with. */
#include "cli/cluster_client.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "model/duration.h"

/* --- create ---------------------------------------------------------------------------------- */

static bool read_wish(const Invocation *invocation, Map *wish)
{
    Arena *arena = invocation->arena;
    const char *label = invocation_text(invocation, "label");
    int64_t uses;
    if (!str_to_i64(str_from_c(invocation_text(invocation, "uses")), &uses)) {
        usage_error(invocation, "--uses takes a number, not '%s'",
                    invocation_text(invocation, "uses"));
        return false;
    }
    int64_t life_ms;
    Str ttl = str_from_c(invocation_text(invocation, "ttl"));
    if (!duration_parse(ttl, &life_ms)) {
        usage_error(invocation, "--ttl takes a span of time as 90m or 7d, not '%" STR_FMT "'",
                    STR_ARG(ttl));
        return false;
    }
    map_set_str(arena, wish, STR("uses"), value_int(uses));
    map_set_str(arena, wish, STR("life"), value_string(ttl));
    if (label != NULL) {
        map_set_str(arena, wish, STR("label"), value_string(str_from_c(label)));
    }
    return true;
}

/* What is to be run on the machine that joins. */
static Str join_line(Arena *arena, Value made)
{
    const List *servers = cluster_list(made, "servers");
    Str token = cluster_text(made, "token"), pin = cluster_text(made, "ca_pin");
    Buf line = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_c(&line, "eden join --server ");
    buf_put(&line, servers->len > 0 && value_is_string(servers->items[0])
                       ? value_str(servers->items[0])
                       : STR("SERVER"));
    buf_put_format(&line, " --token %" STR_FMT " --ca-pin %" STR_FMT, STR_ARG(token), STR_ARG(pin));
    return buf_str(&line);
}

static int run_create(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Map *wish = map_new(arena, 3);
    Value made;
    if (!read_wish(invocation, wish)) {
        return EXIT_USAGE;
    }
    int code = cluster_call(invocation,
                            &(ClusterRequest){ .method = "POST",
                                               .target = STR("/v1/tokens"),
                                               .body = cluster_body(arena, value_map(wish)) },
                            &made);
    if (code != EXIT_OK) {
        return code;
    }
    Str line = join_line(arena, made);
    if (output_wants_value(invocation)) {
        map_set_str(arena, made.map, STR("join"), value_string(line));
        return output_answer(invocation, made);
    }
    stream_put(invocation->out, line);
    stream_put(invocation->out, STR("\n"));
    if (stream_is_terminal(invocation->err)) {
        int64_t uses = cluster_int(made, "uses_max");
        stream_put_format(invocation->err,
                          "  run this as root on the machine that joins; good for %lld machine%s, "
                          "until %" STR_FMT "\n",
                          (long long)uses, uses == 1 ? "" : "s",
                          STR_ARG(cluster_text(made, "expires")));
    }
    return EXIT_OK;
}

/* --- list ------------------------------------------------------------------------------------ */

static void print_table(const Invocation *invocation, const List *tokens)
{
    static const char *const headings[] = { "TOKEN", "STATE", "USES", "EXPIRES", "LABEL", NULL };
    Arena *arena = invocation->arena;
    Table table;
    table_init(&table, arena, headings);
    for (uint32_t i = 0; i < tokens->len; i++) {
        Value token = tokens->items[i];
        table_add(&table, cluster_text(token, "id"));
        table_add(&table, cluster_text(token, "state"));
        table_add(&table, arena_format(arena, "%lld of %lld", (long long)cluster_int(token, "uses"),
                                       (long long)cluster_int(token, "uses_max")));
        table_add(&table, cluster_text(token, "expires"));
        table_add(&table, cluster_text(token, "label"));
    }
    table_print(&table, invocation->out);
    if (tokens->len == 0) {
        stream_put_format(invocation->err, "there is no token; 'eden tokens create' makes one\n");
    }
}

static int run_list(Invocation *invocation)
{
    Value answer;
    int code = cluster_call(
        invocation, &(ClusterRequest){ .method = "GET", .target = STR("/v1/tokens") }, &answer);
    if (code != EXIT_OK) {
        return code;
    }
    const List *tokens = cluster_list(answer, "tokens");
    if (invocation_prints(invocation, "table")) {
        print_table(invocation, tokens);
        return EXIT_OK;
    }
    if (invocation_prints(invocation, "name")) {
        for (uint32_t i = 0; i < tokens->len; i++) {
            stream_put(invocation->out, cluster_text(tokens->items[i], "id"));
            stream_put(invocation->out, STR("\n"));
        }
        return EXIT_OK;
    }
    return output_answer(invocation, answer);
}

/* --- revoke ---------------------------------------------------------------------------------- */

/* All of them are tried. */
static int run_revoke(Invocation *invocation)
{
    int worst = EXIT_OK;
    for (uint32_t i = 1; i < invocation->arg_count; i++) {
        Str id = str_from_c(invocation->args[i]);
        /* Who has the whole token at hand may give that. */
        id = str_slice(id, 0, str_find(id, STR("."), 0));
        Value answer;
        int code = cluster_call(
            invocation,
            &(ClusterRequest){ .method = "DELETE",
                               .target = cluster_target(invocation->arena, "/v1/tokens/", id) },
            &answer);
        if (code != EXIT_OK) {
            worst = code;
        } else if (!invocation_wants_json(invocation)) {
            stream_put_format(invocation->out, "%" STR_FMT " is revoked\n", STR_ARG(id));
        } else {
            output_json(invocation, answer);
        }
    }
    return worst;
}

static int tokens_run(Invocation *invocation)
{
    static const Verb verbs[] = {
        { "create", "", 0, 0, run_create },
        { "list", "", 0, 0, run_list },
        { "revoke", "TOKEN...", 1, UINT32_MAX, run_revoke },
        { 0 },
    };
    return verbs_run(invocation, verbs);
}

static const Option options[] = {
    { .name = "ttl",
      .argument = "TIME",
      .fallback = "1h",
      .help = "create: how long it is good, as 90m or 7d" },
    { .name = "uses",
      .argument = "COUNT",
      .fallback = "1",
      .help = "create: how many machines may join with it" },
    { .name = "label", .argument = "TEXT", .help = "create: what it is for, as 'rack 7'" },
    OUTPUT_OPTION("table|json|yaml|name", "table", "how to print"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden tokens create", "a line to run on one other machine, within an hour" },
    { "eden tokens create --uses 20 --ttl 1d --label 'rack 7'", "for a rack of machines" },
    { "eden tokens list", "which there are, and what they are still good for" },
    { "eden tokens revoke 4l2ygazs", "nobody else can join with it" },
    { 0 },
};

const Command command_tokens = {
    .name = "tokens",
    .group = GROUP_CLUSTER,
    .args = "create|list|revoke [TOKEN...]",
    .args_min = 1,
    .args_max = UINT32_MAX,
    .word = WORD_TOKEN,
    .choices = "create|list|revoke",
    .help = "Make, list and revoke what machines join with.",
    .text =
        "'create' prints a whole 'eden join' line: the address of this server, a new token, and\n"
        "the pin of the cluster's CA, by which the machine knows the right server. Run it there\n"
        "as root. The secret half of the token is shown this once.\n"
        "\n"
        "'list' shows tokens by their public half, which 'revoke' takes. Machines that have "
        "joined\n"
        "stay; a machine without a good token waits for 'eden nodes approve'.",
    .options = options,
    .examples = examples,
    .run = tokens_run,
};
