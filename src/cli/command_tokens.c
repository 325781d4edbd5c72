/* eden tokens: tokens for joining and for the API. */
#include "cli/kind_command.h"
#include "cli/output.h"
#include "cli/responses.h"
#include "cli/table.h"
#include "lang/duration.h"

/* --- create ---------------------------------------------------------------------------------- */

/* With roles it is an API token, otherwise a join token. */
static bool is_api_token(const Invocation *invocation)
{
    uint32_t count;
    invocation_texts(invocation, "role", &count);
    return count > 0;
}

static bool read_spec(const Invocation *invocation, Map *spec)
{
    Arena *arena = invocation->arena;
    const char *label = invocation_text(invocation, "label"),
               *uses = invocation_text(invocation, "uses"),
               *ttl = invocation_text(invocation, "ttl");
    int64_t count, ttl_ms;
    if (uses != NULL && is_api_token(invocation)) {
        usage_error(invocation, "--uses applies only to join tokens, which have no --role");
        return false;
    }
    if (uses != NULL && !str_to_i64(str_from_c(uses), &count)) {
        usage_error(invocation, "--uses must be a number, not '%s'", uses);
        return false;
    }
    if (ttl != NULL && !duration_parse(str_from_c(ttl), &ttl_ms)) {
        usage_error(invocation,
                    "--ttl must be a duration from 1m to 366d, such as 90m or 7d, not '%s'", ttl);
        return false;
    }
    if (uses != NULL) {
        map_set_str(arena, spec, STR("uses"), value_int(count));
    }
    if (ttl != NULL) {
        map_set_str(arena, spec, STR("life"), value_string(str_from_c(ttl)));
    }
    if (label != NULL) {
        map_set_str(arena, spec, STR("description"), value_string(str_from_c(label)));
    }
    return true;
}

static void add_roles(const Invocation *invocation, Map *spec)
{
    Arena *arena = invocation->arena;
    uint32_t count;
    const char **names = invocation_texts(invocation, "role", &count);
    List *roles = list_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        list_push(arena, roles, value_string(str_from_c(names[i])));
    }
    map_set_str(arena, spec, STR("purpose"), value_string(STR("access")));
    map_set_str(arena, spec, STR("roles"), value_list(roles));
}

/* Returns the command to run on the joining machine, or by the user who logs in. The token is
 * passed in the environment because other users of that machine can see command lines. */
static Str next_command(Arena *arena, Value status, bool is_access)
{
    const List *servers = value_get_list(status, "servers");
    Str pin = value_get_text(status, "ca_pin"), server = STR("SERVER");
    if (servers->len > 0 && value_is_string(servers->items[0])) {
        server = value_str(servers->items[0]);
    }
    if (is_access) {
        return arena_format(arena, "eden login https://%" STR_FMT " --ca-pin %" STR_FMT,
                            STR_ARG(server), STR_ARG(pin));
    }
    return arena_format(
        arena, "EDEN_JOIN_TOKEN=%" STR_FMT " eden join --server %" STR_FMT " --ca-pin %" STR_FMT,
        STR_ARG(value_get_text(status, "secret")), STR_ARG(server), STR_ARG(pin));
}

static void print_instructions(const Invocation *invocation, Value created, Str line,
                               bool is_access)
{
    int64_t uses = value_get_int(value_get_map(created, "spec"), "uses");
    Str expires = value_get_text(value_get_map(created, "status"), "expires");
    if (is_access) {
        stream_put_format(invocation->err,
                          "  valid until %" STR_FMT "; not shown again; next: run %" STR_FMT
                          ", which prompts for it\n",
                          STR_ARG(expires), STR_ARG(line));
    } else {
        stream_put_format(invocation->err,
                          "  run this as root on the joining machine; valid for %lld machine%s, "
                          "until %" STR_FMT "\n",
                          (long long)uses, uses == 1 ? "" : "s", STR_ARG(expires));
    }
}

static int run_create(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Map *spec = map_new(arena, 4), *body = map_new(arena, 1);
    bool is_access = is_api_token(invocation);
    Value created;
    if (!read_spec(invocation, spec)) {
        return EXIT_USAGE;
    }
    if (is_access) {
        add_roles(invocation, spec);
    }
    map_set_str(arena, body, STR("spec"), value_map(spec));
    int code = cluster_call(invocation,
                            &(ClusterRequest){ .method = "POST",
                                               .target = STR("/v1/tokens"),
                                               .body = cluster_body(arena, value_map(body)) },
                            &created);
    if (code != EXIT_OK) {
        return code;
    }
    Value status = value_get_map(created, "status");
    Str line = next_command(arena, status, is_access);
    if (output_wants_value(invocation)) {
        if (status.kind == VALUE_MAP) {
            map_set_str(arena, status.map, is_access ? STR("login") : STR("join"),
                        value_string(line));
        }
        return output_response(invocation, created);
    }
    stream_put(invocation->out, is_access ? value_get_text(status, "secret") : line);
    stream_put(invocation->out, STR("\n"));
    if (stream_is_terminal(invocation->err)) {
        print_instructions(invocation, created, line, is_access);
    }
    return EXIT_OK;
}

/* --- list ------------------------------------------------------------------------------------ */

static Str roles_text(Arena *arena, Value spec)
{
    const List *roles = value_get_list(spec, "roles");
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < roles->len; i++) {
        buf_put_c(&text, i > 0 ? ", " : "");
        buf_put(&text, value_is_string(roles->items[i]) ? value_str(roles->items[i]) : STR("?"));
    }
    return text.len == 0 ? STR("-") : buf_str(&text);
}

static void print_table(const Invocation *invocation, const Kind *kind, const List *tokens)
{
    static const char *const headings[] = { "TOKEN", "PURPOSE", "STATE", "USES",
                                            "ROLES", "EXPIRES", "FOR",   NULL };
    Arena *arena = invocation->arena;
    Table table;
    (void)kind;
    table_init(&table, arena, headings);
    for (uint32_t i = 0; i < tokens->len; i++) {
        Value token = tokens->items[i], spec = value_get_map(token, "spec"),
              status = value_get_map(token, "status");
        bool is_access = str_eq_c(value_get_text(spec, "purpose"), "access");
        table_add(&table, value_get_text(value_get_map(token, "metadata"), "name"));
        table_add(&table, value_get_text(spec, "purpose"));
        table_add(&table, value_get_text(status, "state"));
        table_add(&table, is_access ? STR("-")
                                    : arena_format(arena, "%lld of %lld",
                                                   (long long)value_get_int(status, "uses"),
                                                   (long long)value_get_int(spec, "uses")));
        table_add(&table, roles_text(arena, spec));
        table_add(&table, value_get_text(status, "expires"));
        table_add(&table, value_get_text(spec, "description"));
    }
    table_print(&table, invocation->out);
}

static int run_list(Invocation *invocation)
{
    return kind_list_as(invocation, print_table,
                        "no tokens found; create one with 'eden tokens create'");
}

/* --- revoke ---------------------------------------------------------------------------------- */

/* Returns the public part of a token. The user may pass the entire token; its secret part is never
 * sent. */
static Str token_id(Str token)
{
    bool is_access = str_starts(token, STR("eden_"));
    Str id = is_access ? str_from_offset(token, 5) : token;
    return str_slice(id, 0, str_find(id, is_access ? STR("_") : STR("."), 0));
}

static int run_revoke(Invocation *invocation)
{
    uint32_t count = invocation->arg_count;
    Str *ids = ARENA_ARRAY(invocation->arena, Str, count);
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = token_id(str_from_c(invocation->args[i]));
    }
    EachRequest request = {
        .method = "DELETE", .prefix = "/v1/tokens/", .suffix = "", .done = "is revoked"
    };
    return responses_request_each(invocation, &request, ids, count);
}

static const Option create_options[] = {
    { .name = "ttl",
      .synonyms = "expires|expiry|expire|duration|life|lifetime",
      .argument = "TIME",
      .help = "lifetime, such as 90m or 7d; default: 1h, with --role 8h" },
    { .name = "uses",
      .argument = "COUNT",
      .help = "number of machines that can join with it; default: 1" },
    { .name = "role",
      .argument = "ROLE",
      .repeats = true,
      .word = WORD_ROLE,
      .help = "create an API token with this role, such as admin or viewer" },
    { .name = "label", .argument = "TEXT", .help = "description, such as 'rack 7'" },
    { 0 },
};

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List tokens by their public IDs.",
      .options = kind_list_options,
      .examples = { { "eden tokens list", "list tokens and their expiry" } },
      .run = run_list },
    { .name = "show",
      .args = { { "TOKEN", WORD_TOKEN } },
      .help = "Show a token, without its secret.",
      .run = kind_run_show },
    { .name = "create",
      .help = "Create a join token or, with --role, an API token.",
      .text = "Prints a complete 'eden join' command with a new token, this server's address,\n"
              "and the pin of the cluster's CA, which the machine uses to verify the server.\n"
              "Run the command as root on the machine. The secret part of the token is shown\n"
              "only once. Creating a join token requires permission to 'approve' Node objects,\n"
              "because the token admits machines.\n"
              "\n"
              "With --role, prints an API token, which has the permissions of its roles ('eden\n"
              "schema Role') and can be used to log in ('eden login').",
      .options = create_options,
      .examples = { { "eden tokens create", "let one machine join within an hour" },
                    { "eden tokens create --uses 20 --ttl 1d --label 'rack 7'",
                      "create a token for a rack of machines" },
                    { "eden tokens create --role viewer --label ann",
                      "create a token for the API, valid for eight hours" } },
      .run = run_create },
    { .name = "revoke",
      .args = { { "TOKEN...", WORD_TOKEN } },
      .help = "Revoke tokens.",
      .text = "Machines that have already joined with a revoked token stay in the cluster.",
      .examples = { { "eden tokens revoke 4l2ygazs",
                      "prevent further machines from joining with a token" } },
      .run = run_revoke },
    { 0 },
};

const Command command_tokens = {
    .name = "tokens",
    .alias = "token",
    .group = GROUP_CLUSTER,
    .kind = "Token",
    .help = "Create, list and revoke join tokens and API tokens.",
    .text = "TOKEN is the public ID of a token, as shown by 'list'. A machine that requests to\n"
            "join without a valid token waits for 'eden nodes approve'.",
    .options = kind_options,
    .verbs = verbs,
};
