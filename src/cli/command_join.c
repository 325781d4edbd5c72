/* eden join: makes this machine a node of a cluster. */
#include <stdlib.h>

#include "agent/join.h"
#include "agent/ssh_answer.h"
#include "base/ascii_case.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/output.h"
#include "cli/server_user.h"
#include "lang/duration.h"
#include "server/join_server.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/machine.h"

enum {
    TOKEN_INPUT_MAX = 4096, /* limit on standard input, in bytes */
    HOST_KEY_MAX = 4096     /* limit on the file, in bytes */
};

#define TOKEN_VARIABLE "EDEN_JOIN_TOKEN"

typedef struct JoinCommand {
    Invocation *invocation;
    Loop *loop;
    NodeJoinOptions options;
    Token token;
    LoopTimer limit;
    NodeJoinState wait; /* the last state that was printed */
    bool is_node;
    const char *name;    /* name of the node; set while it becomes a server */
    Str cluster, server; /* set once the machine is a node */
    Error err;
} JoinCommand;

/* --- Options --------------------------------------------------------------------------------- */

/* Overwrites a secret in argv or the environment, where other users could read it while the process
 * runs. Both are in writable memory of this process. */
static void overwrite_secret(const char *secret)
{
    memset((char *)secret, '*', strlen(secret));
}

static bool set_token(JoinCommand *command, Str text, const char *source, Error *err)
{
    if (!token_parse(TOKEN_JOIN, str_trim(text), &command->token, err)) {
        return error_wrap(err, "%s", source);
    }
    command->options.token = &command->token;
    return true;
}

/* From --token-file, the environment, or --token; at most one of them. */
static bool read_token(JoinCommand *command, Error *err)
{
    const Invocation *invocation = command->invocation;
    const char *option = invocation_text(invocation, "token");
    const char *file = invocation_text(invocation, "token-file");
    const char *env = getenv(TOKEN_VARIABLE);
    env = env != NULL && env[0] != '\0' ? env : NULL;
    bool is_stdin = option != NULL && strcmp(option, "-") == 0;
    bool is_one = (option != NULL) + (file != NULL) + (env != NULL) <= 1;
    bool ok = true;
    if (!is_one) {
        ok = error_set(err, ERROR_INVALID,
                       "specify only one of --token-file, " TOKEN_VARIABLE " and --token");
    } else if (file != NULL || is_stdin) {
        Str text;
        ok = file_read_secret(invocation->arena, is_stdin ? option : file, TOKEN_INPUT_MAX, &text,
                              err) &&
             set_token(command, text, is_stdin ? "--token" : "--token-file", err);
    } else if (env != NULL) {
        ok = set_token(command, str_from_c(env), TOKEN_VARIABLE, err);
    } else if (option != NULL) {
        ok = set_token(command, str_from_c(option), "--token", err);
    }
    if (option != NULL && !is_stdin) {
        overwrite_secret(option);
    }
    if (env != NULL) {
        overwrite_secret(env);
        unsetenv(TOKEN_VARIABLE);
    }
    return ok;
}

static bool read_options(JoinCommand *command, Error *err)
{
    const Invocation *invocation = command->invocation;
    const char *server = invocation_text(invocation, "server");
    const char *pin = invocation_text(invocation, "ca-pin");
    const char *name = invocation_text(invocation, "name");
    NodeJoinOptions *options = &command->options;
    if (!read_token(command, err)) {
        return false;
    }
    if (server == NULL || (pin == NULL && options->token != NULL)) {
        return error_set(err, ERROR_INVALID,
                         "--server is required; with a token, --ca-pin is also required; 'eden "
                         "tokens create' on a server prints the complete command");
    }
    if (!address_parse(str_from_c(server), PORT_API, &options->server, err)) {
        return error_wrap(err, "--server");
    }
    if (options->server.kind == ADDRESS_UNIX) {
        return error_set(err, ERROR_INVALID, "--server must be a name or an IP address");
    }
    options->ca_is_unknown = pin == NULL;
    if (pin != NULL && !pin_parse(str_from_c(pin), &options->ca, err)) {
        return error_wrap(err, "--ca-pin");
    }
    options->name = name == NULL ? own_node_name(invocation->arena) : str_from_c(name);
    if (!node_name_check(options->name, err)) {
        return name == NULL ? error_wrap(err, "the host name is not a valid node name; use --name")
                            : error_wrap(err, "--name");
    }
    return true;
}

/* --- Progress -------------------------------------------------------------------------------- */

/* The host key, formatted for the approve command; a placeholder if the key is not in the default
 * location. */
static Str local_host_key(Arena *arena)
{
    Str text, word, rest;
    Error err;
    if (!file_read(arena, "/etc/ssh/ssh_host_ed25519_key.pub", HOST_KEY_MAX, &text, &err) ||
        !str_starts(text, STR("ssh-ed25519 "))) {
        return STR("HOST-KEY");
    }
    rest = str_from_offset(text, 12);
    return str_split_next(&rest, ' ', &word) ? str_slice(text, 0, 12 + str_trim(word).len)
                                             : STR("HOST-KEY");
}

static void print_ssh_instructions(const JoinCommand *command, const NodeJoinWait *wait)
{
    char ca[PIN_TEXT + 1], key[PIN_TEXT + 1];
    Arena *arena = command->invocation->arena;
    pin_text(wait->claim, ca);
    pin_text(&wait->key, key);
    stream_put_format(
        command->invocation->err,
        "waiting for the server to log in to this machine over SSH, as '%s'; on a server run\n"
        "  eden nodes approve %s --ssh root@%" STR_FMT " --host-key '%" STR_FMT "'\n"
        "The key of this machine is %s. The CA that the server presented is not trusted yet, %s.\n"
        "Alternatively, start over with --ca-pin or a command from 'eden tokens create'.\n",
        wait->name, wait->name, STR_ARG(machine_host_name(arena)), STR_ARG(local_host_key(arena)),
        key, ca);
}

static void on_wait(void *context, const NodeJoinWait *wait)
{
    JoinCommand *command = context;
    Stream *err = command->invocation->err;
    if (wait->state == NODE_JOIN_PENDING && wait->claim != NULL) {
        print_ssh_instructions(command, wait);
    } else if (wait->state == NODE_JOIN_PENDING) {
        char pin[PIN_TEXT + 1];
        pin_text(&wait->key, pin);
        stream_put_format(err,
                          "waiting for approval as '%s'; on a server run\n"
                          "  eden nodes approve %s --key %s\n",
                          wait->name, wait->name, pin);
    } else {
        output_line(err, "no server reached yet: %s; retrying", wait->why);
    }
    (void)!stream_flush(err);
    command->wait = wait->state;
}

static void on_done(void *context, const NodeState *state, const Error *err)
{
    JoinCommand *command = context;
    command->is_node = state != NULL;
    if (state != NULL) {
        command->cluster = arena_copy(command->invocation->arena, str_from_c(state->cluster));
        command->server = arena_copy(command->invocation->arena, state->servers[0].rpc);
    } else {
        command->err = *err;
    }
    loop_stop(command->loop);
}

static void on_timeout(void *context)
{
    JoinCommand *command = context;
    error_set(&command->err, ERROR_TIMEOUT,
              "%s within --max-wait; run the same command again to continue with the same key",
              command->wait == NODE_JOIN_PENDING ? "this machine was not approved"
                                                 : "no server responded");
    loop_stop(command->loop);
}

static int fail(const JoinCommand *command)
{
    Inputs inputs;
    inputs_init(&inputs, command->invocation->arena);
    problems_add(&inputs.problems, "E0830", NULL, 0, 0, "%s", command->err.text);
    (void)inputs_report(&inputs, command->invocation);
    return error_kind_exit_code(command->err.kind);
}

static int print_joined(const JoinCommand *command)
{
    const Invocation *invocation = command->invocation;
    Arena *arena = invocation->arena;
    if (invocation_prints(invocation, "json")) {
        Map *map = map_new(arena, 4);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.joined/1")));
        map_set_str(arena, map, STR("cluster"), value_string(command->cluster));
        map_set_str(arena, map, STR("node"), value_string(command->options.name));
        map_set_str(arena, map, STR("server"), value_string(command->server));
        return output_json(invocation, value_map(map));
    }
    stream_put_format(invocation->out,
                      "this machine is node '%" STR_FMT "' of cluster '%" STR_FMT "'\n",
                      STR_ARG(command->options.name), STR_ARG(command->cluster));
    stream_put_format(invocation->err,
                      "Next: connect it with %" STR_FMT ", unless the agent is already running.\n",
                      STR_ARG(daemon_command_start(invocation)));
    return EXIT_OK;
}

/* --- Becoming a server ----------------------------------------------------------------------- */

static void on_server_wait(void *context, bool is_denied, const char *why)
{
    const JoinCommand *command = context;
    Stream *err = command->invocation->err;
    if (is_denied) {
        stream_put_format(err,
                          "waiting for permission to become a server (%s); on a server run\n"
                          "  eden servers add %s\n",
                          why, command->name);
    } else {
        output_line(err, "no server reached yet: %s; retrying", why);
    }
    (void)!stream_flush(err);
}

static bool open_agent(const Invocation *invocation, Directory *agent, Error *err)
{
    Str path = arena_format(invocation->arena, "%s/" AGENT_DIRECTORY "%c",
                            invocation_text(invocation, "state-dir"), 0);
    return directory_open(path.data, agent, err);
}

/* A node that becomes a server needs no token. */
static bool is_node(const Invocation *invocation)
{
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    Error err;
    return open_agent(invocation, &agent, &err) && directory_has(&agent, AGENT_STATE);
}

/* These options have no defaults in their rows, so that read_server_options() can tell whether they
 * were given. */
static Str option_or_default(const Invocation *invocation, const char *name, const char *fallback)
{
    const char *text = invocation_text(invocation, name);
    return str_from_c(text == NULL ? fallback : text);
}

static bool read_server_options(const Invocation *invocation, ClusterSpec *out, Error *err)
{
    ServerSettings *settings = &out->settings;
    out->state_dir = invocation_text(invocation, "state-dir");
    out->now_ms = clock_now_ms();
    settings->rpc = option_or_default(invocation, "rpc", "0.0.0.0:1337");
    settings->api = option_or_default(invocation, "api", "0.0.0.0:1338");
    settings->health = option_or_default(invocation, "health", "");
    server_names_read(invocation, settings);
    return server_etcd_read(invocation, false, settings, err) &&
           server_etcd_address_read(invocation, true, settings, err) &&
           server_user_find(invocation->arena, option_or_default(invocation, "user", "eden").data,
                            out, err);
}

static int become_server(JoinCommand *command, int64_t limit_ms)
{
    Invocation *invocation = command->invocation;
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    NodeState node;
    if (!open_agent(invocation, &agent, &command->err) ||
        !node_state_load(&agent, invocation->arena, &node, &command->err)) {
        return fail(command);
    }
    command->name = node.node;
    ServerJoinSpec spec = { .limit_ms = limit_ms, .waits = on_server_wait, .context = command };
    ServerSettings settings;
    if (!read_server_options(invocation, &spec.spec, &command->err) ||
        !server_join(invocation->arena, &spec, &settings, &command->err)) {
        return fail(command);
    }
    if (invocation_prints(invocation, "json")) {
        Map *map = map_new(invocation->arena, 3);
        map_set_str(invocation->arena, map, STR("format"), value_string(STR("eden.joined/1")));
        map_set_str(invocation->arena, map, STR("cluster"),
                    value_string(str_from_c(settings.cluster)));
        map_set_str(invocation->arena, map, STR("node"), value_string(str_from_c(settings.node)));
        return output_json(invocation, value_map(map));
    }
    stream_put_format(invocation->out, "this machine is server '%s' of cluster '%s'\n",
                      settings.node, settings.cluster);
    stream_put_format(invocation->err, "Next: start it with %" STR_FMT ", or restart the agent.\n",
                      STR_ARG(daemon_command_start(invocation)));
    return EXIT_OK;
}

/* Returns an option that was given but applies only to servers, or NULL. */
static const char *find_server_option(const Invocation *invocation)
{
    static const char *const names[] = { "rpc",     "api",       "health",   "user",
                                         "etcd-ca", "etcd-cert", "etcd-key", "etcd-address" };
    static const char *const lists[] = { "address", "endpoints" };
    uint32_t count;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (invocation_text(invocation, names[i]) != NULL) {
            return names[i];
        }
    }
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        (void)invocation_texts(invocation, lists[i], &count);
        if (count > 0) {
            return lists[i];
        }
    }
    return NULL;
}

/* Handles the request that a server sends on standard input after it has logged in over SSH. */
static int run_answer(Invocation *invocation)
{
    JoinCommand command = { .invocation = invocation };
    Buf response = buf_make_in(invocation->arena, BUF_UNLIMITED);
    JoinAnswerResult result;
    Str question;
    if (!file_read(invocation->arena, "-", JOIN_QUESTION_MAX, &question, &command.err) ||
        !ssh_answer(invocation_text(invocation, "state-dir"), question, &result, &response,
                    &command.err)) {
        return fail(&command);
    }
    stream_put_format(invocation->out, "%" STR_FMT "\n", STR_ARG(buf_str(&response)));
    return result == JOIN_ANSWER_TRUSTED ? EXIT_OK : EXIT_CONFLICT;
}

static int join_run(Invocation *invocation)
{
    if (invocation_flag(invocation, "answer")) {
        return run_answer(invocation);
    }
    AUTO(Loop) *loop = NULL;
    JoinCommand command = { .invocation = invocation };
    NodeJoin *join = NULL;
    const char *limit = invocation_text(invocation, "max-wait");
    int64_t limit_ms = 0;
    Error err;
    bool as_server = invocation_flag(invocation, "as-server");
    bool is_joined = as_server && is_node(invocation);
    const char *server_option = find_server_option(invocation);
    if (!as_server && server_option != NULL) {
        return usage_error(invocation, "--%s requires --as-server", server_option);
    }
    if (!is_joined && !read_options(&command, &err)) {
        return usage_error(invocation, "%s", err.text);
    }
    if (limit != NULL && !duration_parse(str_from_c(limit), &limit_ms)) {
        return usage_error(invocation, "--max-wait: '%s' is not a duration (example: 10m)", limit);
    }
    if (is_joined) {
        return become_server(&command, limit_ms);
    }
    command.loop = loop = loop_new();
    command.options.loop = loop;
    command.options.state_dir = invocation_text(invocation, "state-dir");
    command.options.waits = on_wait;
    command.options.done = on_done;
    command.options.context = &command;
    loop_timer_init(&command.limit, loop, on_timeout, &command);
    if (node_join_new(&command.options, &join, &command.err)) {
        if (limit != NULL) {
            loop_timer_start(&command.limit, limit_ms);
        }
        loop_run(loop);
        loop_timer_stop(&command.limit);
        node_join_free(join);
    }
    token_clear(&command.token);
    if (!command.is_node) {
        return fail(&command);
    }
    return as_server ? become_server(&command, limit_ms) : print_joined(&command);
}

static const Option options[] = {
    { .name = "server",
      .argument = "HOST[:PORT]",
      .help = "name or address of a server, and its API port (default: 1338)" },
    { .name = "token",
      .argument = "TOKEN",
      .help = "join token, overwritten in argv after use; '-' reads standard input" },
    { .name = "token-file",
      .argument = "FILE",
      .help = "file with the token, readable only by its owner; default: the variable "
              "EDEN_JOIN_TOKEN" },
    { .name = "ca-pin",
      .argument = "PIN",
      .help = "pin of the trusted CA: sha256: and 64 digits; without it, a server must log in "
              "over SSH" },
    { .name = "name",
      .argument = "NAME",
      .help = "name of the node; default: the host name without the domain" },
    { .name = "max-wait",
      .argument = "DURATION",
      .help = "give up after this long, with exit code 124; default: no limit" },
    { .name = "as-server",
      .help = "also become a server, once an administrator has run 'eden servers add'" },
    { .name = "address",
      .argument = "ADDRESS",
      .repeats = true,
      .help = "with --as-server: name or IP address at which nodes reach it; default: all" },
    { .name = "rpc",
      .argument = "ADDRESS",
      .help = "with --as-server: address to listen on for nodes; default: 0.0.0.0:1337" },
    { .name = "api",
      .argument = "ADDRESS",
      .help = "with --as-server: address to listen on for the API; default: 0.0.0.0:1338" },
    { .name = "health",
      .argument = "ADDRESS",
      .help = "with --as-server: address for health checks without TLS; default: none" },
    { .name = "user",
      .argument = "NAME",
      .help = "with --as-server: user to run it as, if started by root; default: eden" },
    ETCD_ADDRESS_OPTION,
    ETCD_OPTIONS,
    { .name = "answer",
      .help = "answer a server's request on standard input, over SSH, then exit" },
    STATE_DIR_OPTION,
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden join --server eden1 --token - --ca-pin \"$PIN\" < token", "use a token from a file" },
    { "eden join --server eden1 --ca-pin \"$PIN\" --name web1 --max-wait 1h",
      "wait up to an hour for approval" },
    { "eden join --server eden1 --name web1", "let the server verify this machine over SSH" },
    { 0 },
};

const Command command_join = {
    .name = "join",
    .group = GROUP_CLUSTER,
    .help = "Join this machine to a cluster.",
    .text =
        "'eden tokens create' on a server prints the complete command to run on this machine,\n"
        "including a token, the server's address and the pin of the cluster's CA. The token\n"
        "itself is never sent, and nothing is sent to a server unless the pinned CA signed its\n"
        "certificate. Other users on this machine can see command lines; use EDEN_JOIN_TOKEN,\n"
        "--token-file or '--token -' instead. A token on the command line or in the environment\n"
        "is overwritten as soon as it is read.\n"
        "\n"
        "Without a token, an operator must approve this machine's key: 'eden join' prints the\n"
        "command to run on a server, and waits. If it is interrupted, run the same command\n"
        "again; it uses the same key.\n"
        "\n"
        "Without --ca-pin, this machine cannot verify the server. Instead, the server must log\n"
        "in to this machine over SSH ('eden nodes approve --ssh') to provide its CA and read\n"
        "this machine's key. Until then, this machine does not trust the server.\n"
        "\n"
        "With --as-server, this machine gets the key of the CA from a server, over mutual TLS,\n"
        "and becomes a server itself. The store must be in etcd. Its endpoints and certificate\n"
        "paths default to those of the other server; use the options below to override them. On\n"
        "a machine that is already a node, no other option is needed.\n"
        "\n"
        "The node's key and certificate, the trusted CAs and the server addresses are stored in\n"
        "agent/ under --state-dir. A running agent picks them up.",
    .options = options,
    .examples = examples,
    .run = join_run,
};
