/* eden join: makes this machine a node of a cluster. */
#include <stdlib.h>

#include "agent/join.h"
#include "agent/ssh_answer.h"
#include "base/ascii_case.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/output.h"
#include "lang/duration.h"
#include "server/server_settings.h"
#include "sys/file.h"
#include "sys/machine.h"

enum {
    TOKEN_INPUT_MAX = 4096, /* limit of standard input, in bytes */
    HOST_KEY_MAX = 4096     /* limit of the file, in bytes */
};

#define TOKEN_VARIABLE "EDEN_JOIN_TOKEN"

typedef struct Work {
    Invocation *invocation;
    Loop *loop;
    NodeJoinOptions options;
    Token token;
    LoopTimer limit;
    NodeJoinState wait; /* last state printed */
    bool is_node;
    Str cluster, server; /* set once it is a node */
    Error err;
} Work;

/* --- Options --------------------------------------------------------------------------------- */

/* Other users can read the command line of a process, and some its environment, as long as it runs:
 * overwrite the secret there. Both are writable memory of this process. */
static void wipe(const char *secret)
{
    memset((char *)secret, '*', strlen(secret));
}

static bool take_token(Work *work, Str text, const char *whence, Error *err)
{
    if (!token_parse(str_trim(text), &work->token, err)) {
        return error_wrap(err, "%s", whence);
    }
    work->options.token = &work->token;
    return true;
}

/* From --token-file, the environment, or --token; at most one of them. */
static bool read_token(Work *work, Error *err)
{
    const Invocation *invocation = work->invocation;
    const char *given = invocation_text(invocation, "token");
    const char *file = invocation_text(invocation, "token-file");
    const char *set = getenv(TOKEN_VARIABLE);
    set = set != NULL && set[0] != '\0' ? set : NULL;
    bool is_input = given != NULL && strcmp(given, "-") == 0;
    bool is_one = (given != NULL) + (file != NULL) + (set != NULL) <= 1;
    bool ok = true;
    if (!is_one) {
        ok = error_set(err, ERROR_INVALID,
                       "give only one of --token-file, " TOKEN_VARIABLE " and --token");
    } else if (file != NULL || is_input) {
        Str text;
        ok = file_read_secret(invocation->arena, is_input ? given : file, TOKEN_INPUT_MAX, &text,
                              err) &&
             take_token(work, text, is_input ? "--token" : "--token-file", err);
    } else if (set != NULL) {
        ok = take_token(work, str_from_c(set), TOKEN_VARIABLE, err);
    } else if (given != NULL) {
        ok = take_token(work, str_from_c(given), "--token", err);
    }
    if (given != NULL && !is_input) {
        wipe(given);
    }
    if (set != NULL) {
        wipe(set);
        unsetenv(TOKEN_VARIABLE);
    }
    return ok;
}

static bool read_wish(Work *work, Error *err)
{
    const Invocation *invocation = work->invocation;
    const char *server = invocation_text(invocation, "server");
    const char *pin = invocation_text(invocation, "ca-pin");
    const char *name = invocation_text(invocation, "name");
    NodeJoinOptions *options = &work->options;
    if (!read_token(work, err)) {
        return false;
    }
    if (server == NULL || (pin == NULL && options->token != NULL)) {
        return error_set(err, ERROR_INVALID,
                         "--server is required, and with a token also --ca-pin; 'eden tokens "
                         "create' on a server prints the complete command");
    }
    if (!address_parse(str_from_c(server), PORT_API, &options->server, err)) {
        return error_wrap(err, "--server");
    }
    if (options->server.kind == ADDRESS_UNIX) {
        return error_set(err, ERROR_INVALID, "--server must be a name or an IP address");
    }
    options->knows_no_ca = pin == NULL;
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

/* Formatted for the approve command; a placeholder if the key is not in the default location. */
static Str own_host_key(Arena *arena)
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

static void tell_claim(const Work *work, const NodeJoinWait *wait)
{
    char ca[PIN_TEXT + 1], key[PIN_TEXT + 1];
    Arena *arena = work->invocation->arena;
    pin_text(wait->claim, ca);
    pin_text(&wait->key, key);
    stream_put_format(
        work->invocation->err,
        "waiting for the server to log in to this machine over SSH, as '%s'; on a server run\n"
        "  eden nodes approve %s --ssh root@%" STR_FMT " --host-key '%" STR_FMT "'\n"
        "The key of this machine is %s. The CA that the server presented is not trusted yet, %s.\n"
        "Alternatively, start over with --ca-pin or a command from 'eden tokens create'.\n",
        wait->name, wait->name, STR_ARG(machine_host_name(arena)), STR_ARG(own_host_key(arena)),
        key, ca);
}

static void waits(void *context, const NodeJoinWait *wait)
{
    Work *work = context;
    Stream *to = work->invocation->err;
    if (wait->state == NODE_JOIN_PENDING && wait->claim != NULL) {
        tell_claim(work, wait);
    } else if (wait->state == NODE_JOIN_PENDING) {
        char pin[PIN_TEXT + 1];
        pin_text(&wait->key, pin);
        stream_put_format(to,
                          "waiting for approval as '%s'; on a server run\n"
                          "  eden nodes approve %s --key %s\n",
                          wait->name, wait->name, pin);
    } else {
        output_line(to, "no server reached yet: %s; retrying", wait->why);
    }
    (void)!stream_flush(to);
    work->wait = wait->state;
}

static void done(void *context, const NodeState *state, const Error *err)
{
    Work *work = context;
    work->is_node = state != NULL;
    if (state != NULL) {
        work->cluster = arena_copy(work->invocation->arena, str_from_c(state->cluster));
        work->server = arena_copy(work->invocation->arena, state->servers[0].rpc);
    } else {
        work->err = *err;
    }
    loop_stop(work->loop);
}

static void expire(void *context)
{
    Work *work = context;
    error_set(&work->err, ERROR_TIMEOUT,
              "%s within --max-wait; run the same command again to continue with the same key",
              work->wait == NODE_JOIN_PENDING ? "this machine was not approved"
                                              : "no server responded");
    loop_stop(work->loop);
}

static int fail(const Work *work)
{
    Inputs inputs;
    inputs_init(&inputs, work->invocation->arena);
    problems_add(&inputs.problems, "E0830", NULL, 0, 0, "%s", work->err.text);
    (void)inputs_report(&inputs, work->invocation);
    return error_kind_exit_code(work->err.kind);
}

static int succeed(const Work *work)
{
    const Invocation *invocation = work->invocation;
    Arena *arena = invocation->arena;
    if (invocation_prints(invocation, "json")) {
        Map *map = map_new(arena, 4);
        map_set_str(arena, map, STR("format"), value_string(STR("eden.joined/1")));
        map_set_str(arena, map, STR("cluster"), value_string(work->cluster));
        map_set_str(arena, map, STR("node"), value_string(work->options.name));
        map_set_str(arena, map, STR("server"), value_string(work->server));
        return output_json(invocation, value_map(map));
    }
    stream_put_format(invocation->out,
                      "this machine is node '%" STR_FMT "' of cluster '%" STR_FMT "'\n",
                      STR_ARG(work->options.name), STR_ARG(work->cluster));
    stream_put_format(invocation->err,
                      "Next: connect it with %" STR_FMT ", unless the agent is already running.\n",
                      STR_ARG(daemon_command_start(invocation)));
    return EXIT_OK;
}

/* A server that has logged in over SSH sends its request on standard input. */
static int answer_run(Invocation *invocation)
{
    Work work = { .invocation = invocation };
    Buf answer = buf_make_in(invocation->arena, BUF_UNLIMITED);
    JoinAnswerResult result;
    Str question;
    if (!file_read(invocation->arena, "-", JOIN_QUESTION_MAX, &question, &work.err) ||
        !ssh_answer(invocation_text(invocation, "state-dir"), question, &result, &answer,
                    &work.err)) {
        return fail(&work);
    }
    stream_put_format(invocation->out, "%" STR_FMT "\n", STR_ARG(buf_str(&answer)));
    return result == JOIN_ANSWER_TRUSTED ? EXIT_OK : EXIT_CONFLICT;
}

static int join_run(Invocation *invocation)
{
    if (invocation_flag(invocation, "answer")) {
        return answer_run(invocation);
    }
    AUTO(Loop) *loop = NULL;
    Work work = { .invocation = invocation };
    NodeJoin *join = NULL;
    const char *limit = invocation_text(invocation, "max-wait");
    int64_t limit_ms = 0;
    Error err;
    if (!read_wish(&work, &err)) {
        return usage_error(invocation, "%s", err.text);
    }
    if (limit != NULL && !duration_parse(str_from_c(limit), &limit_ms)) {
        return usage_error(invocation, "--max-wait: '%s' is not a duration (example: 10m)", limit);
    }
    work.loop = loop = loop_new();
    work.options.loop = loop;
    work.options.state_dir = invocation_text(invocation, "state-dir");
    work.options.waits = waits;
    work.options.done = done;
    work.options.context = &work;
    loop_timer_init(&work.limit, loop, expire, &work);
    if (node_join_new(&work.options, &join, &work.err)) {
        if (limit != NULL) {
            loop_timer_start(&work.limit, limit_ms);
        }
        loop_run(loop);
        loop_timer_stop(&work.limit);
        node_join_free(join);
    }
    token_clear(&work.token);
    return work.is_node ? succeed(&work) : fail(&work);
}

static const Option options[] = {
    { .name = "server",
      .argument = "HOST[:PORT]",
      .help = "name or address of a server of the cluster, and the port of its API (1338)" },
    { .name = "token",
      .argument = "TOKEN",
      .help = "token to join with, overwritten in argv after use; '-' reads standard input" },
    { .name = "token-file",
      .argument = "FILE",
      .help = "file with the token, readable only by its owner; default: EDEN_JOIN_TOKEN" },
    { .name = "ca-pin",
      .argument = "PIN",
      .help = "pin of the CA to trust: sha256: and 64 digits; without it a server has to log in "
              "over SSH" },
    { .name = "name",
      .argument = "NAME",
      .help = "name of the node; default: the host name without its domain" },
    { .name = "max-wait",
      .argument = "DURATION",
      .help = "give up after this time, with exit code 124; default: no limit" },
    { .name = "answer",
      .help = "answer a server that has logged in over SSH on standard input, then exit" },
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
    .help = "Make this machine a node of a cluster.",
    .text =
        "'eden tokens create' on a server prints the complete command to run here: with a token,\n"
        "the address of the server, and the pin of the cluster's CA. The token itself is never\n"
        "sent, and nothing is sent to a server whose certificate the pinned CA did not sign. "
        "Other\n"
        "users of this machine can read command lines: use EDEN_JOIN_TOKEN, --token-file or\n"
        "'--token -'. A token in the command line or the environment is overwritten as soon as it\n"
        "is read.\n"
        "\n"
        "Without a token, an operator has to approve the key that this machine generated: the\n"
        "command prints what to run on a server, and waits. If it is interrupted, run the same\n"
        "command again: it continues with the same key.\n"
        "\n"
        "Without --ca-pin this machine cannot verify the server. Instead, the server has to log "
        "in\n"
        "here over SSH ('eden nodes approve --ssh'): it provides the CA to trust and reads the "
        "key\n"
        "that this machine generated. Until then nothing from the server is trusted.\n"
        "\n"
        "The results are in agent/ below --state-dir: the node's key and certificate, the CAs to\n"
        "trust, and the addresses of the servers. A running agent picks them up.",
    .options = options,
    .examples = examples,
    .run = join_run,
};
