/* eden nodes: the members of the cluster, and the machines that ask to become one. */
#include <stdlib.h>

#include "cli/answers.h"
#include "cli/kind_command.h"
#include "cli/kind_watch.h"
#include "cli/nodes_choice.h"
#include "cli/nodes_print.h"
#include "cli/nodes_ssh.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "net/address.h"

static int call_node(Invocation *invocation, const char *method, Str name, const char *behind,
                     Str body, Value *answer)
{
    return cluster_call(invocation,
                        &(ClusterRequest){ .method = method,
                                           .target = cluster_target_with(
                                               invocation->arena, "/v1/nodes/", name, behind),
                                           .body = body },
                        answer);
}

/* --- Looking --------------------------------------------------------------------------------- */

static int run_list(Invocation *invocation)
{
    return kind_run_list_as(invocation, kind_find(STR("Node")), nodes_print_table,
                            "there is no node; 'eden tokens create' lets one join");
}

static int run_show(Invocation *invocation)
{
    Value node;
    Str name = str_from_c(invocation->args[1]);
    int code = call_node(invocation, "GET", name, "", STR_EMPTY, &node);
    if (code == EXIT_OK && !kind_print_value(invocation, node, &code)) {
        nodes_print_one(invocation, node);
    }
    return code;
}

/* --- Changing -------------------------------------------------------------------------------- */

static bool is_label(Str word)
{
    return str_find(word, STR("="), 0) != STR_NOT_FOUND || str_ends(word, STR("-"));
}

/* "role=web" sets, "role-" unsets; what is neither is a node, and stays among `nodes`. */
static bool read_labels(const Invocation *invocation, Map *labels, const char **nodes,
                        uint32_t *node_count)
{
    Arena *arena = invocation->arena;
    for (uint32_t i = 1; i < invocation->arg_count; i++) {
        Str word = str_from_c(invocation->args[i]);
        if (!is_label(word)) {
            nodes[(*node_count)++] = invocation->args[i];
            continue;
        }
        size_t equals = str_find(word, STR("="), 0);
        bool unset = equals == STR_NOT_FOUND;
        Str name = str_slice(word, 0, unset ? word.len - 1 : equals);
        if (name.len == 0) {
            usage_error(invocation, "a label is NAME=VALUE, or NAME- to unset it; not '%s'",
                        invocation->args[i]);
            return false;
        }
        if (map_find_str(labels, name) != NULL) {
            usage_error(invocation, "the label '%" STR_FMT "' is given twice", STR_ARG(name));
            return false;
        }
        map_set_str(arena, labels, name,
                    unset ? value_null() : value_string(str_from_offset(word, equals + 1)));
    }
    if (labels->len == 0) {
        usage_error(invocation, "'nodes label' takes NODE and NAME=VALUE or NAME-, one or more");
    }
    return labels->len > 0;
}

static void print_labels(const Invocation *invocation, Str name, Value node)
{
    output_line(invocation->out, "%" STR_FMT ": %" STR_FMT, STR_ARG(name),
                STR_ARG(nodes_labels_text(invocation->arena, node)));
}

/* All of them are tried. */
static int ask_each(Invocation *invocation, const NodesChoice *choice, EachRequest request)
{
    request.before = "/v1/nodes/";
    return answers_ask_each(invocation, &request, choice->names, choice->count);
}

static int run_label(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Map *labels = map_new(arena, 4), *metadata = map_new(arena, 1), *body = map_new(arena, 1);
    const char **words = ARENA_ARRAY(arena, const char *, invocation->arg_count);
    uint32_t count = 0;
    NodesChoice choice;
    if (!read_labels(invocation, labels, words, &count)) {
        return EXIT_USAGE;
    }
    int code = nodes_choose(invocation, words, count, false, &choice);
    if (code != EXIT_OK) {
        return code;
    }
    nodes_choice_show(invocation, &choice, "labels");
    map_set_str(arena, metadata, STR("labels"), value_map(labels));
    map_set_str(arena, body, STR("metadata"), value_map(metadata));
    return ask_each(invocation, &choice,
                    (EachRequest){ .method = "PATCH",
                                   .behind = "",
                                   .body = cluster_body(arena, value_map(body)),
                                   .print = print_labels });
}

/* "10.0.0.7" is that of "10.0.0.7:4242"; "fd00::7" that of "[fd00::7]:4242". */
static bool is_address(Str shown, Str wanted)
{
    Address one, other;
    Error err;
    return address_parse(shown, 1, &one, &err) && address_parse(wanted, 1, &other, &err) &&
           address_same_host(&one, &other);
}

static int refuse_approval(Invocation *invocation, Value node, Error *err)
{
    ClusterRefusal refusal = { .asked = true, .target = STR("/v1/nodes"), .answer = node };
    return cluster_tell_refusal(invocation, &refusal, err);
}

/* What is approved is a key. Without --key it is the one that asks now, from --address if that is
 * given; when there are several, somebody has to say which. */
static int find_key(Invocation *invocation, Str name, Str *key)
{
    const char *given = invocation_text(invocation, "key");
    const char *address = invocation_text(invocation, "address");
    Value node;
    Error err;
    if (given != NULL) {
        *key = str_from_c(given);
        return EXIT_OK;
    }
    int code = call_node(invocation, "GET", name, "", STR_EMPTY, &node);
    if (code != EXIT_OK) {
        return code;
    }
    const List *asking = value_get_list(object_status(node), "asking");
    Buf keys = buf_make_in(invocation->arena, BUF_UNLIMITED);
    uint32_t found = 0;
    for (uint32_t i = 0; i < asking->len; i++) {
        Str from = value_get_text(asking->items[i], "address");
        if (address == NULL || is_address(from, str_from_c(address))) {
            *key = value_get_text(asking->items[i], "key");
            buf_put_format(&keys, "%s%" STR_FMT " from %" STR_FMT, found++ > 0 ? ", " : "",
                           STR_ARG(*key), STR_ARG(from));
        }
    }
    if (found == 1) {
        return EXIT_OK;
    }
    if (found > 1) {
        error_set(&err, ERROR_CONFLICT,
                  "%u machines ask to join as '%" STR_FMT "': %" STR_FMT
                  "; give --key, as 'eden join' shows it on the machine",
                  found, STR_ARG(name), STR_ARG(buf_str(&keys)));
    } else if (asking->len > 0) {
        error_set(&err, ERROR_CONFLICT, "no machine asks to join as '%" STR_FMT "' from %s",
                  STR_ARG(name), address);
    } else {
        error_set(&err, ERROR_CONFLICT, "'%" STR_FMT "' is a node already, and does not ask",
                  STR_ARG(name));
    }
    return refuse_approval(invocation, node, &err);
}

static int run_approve(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Str name = str_from_c(invocation->args[1]), key = STR_EMPTY;
    Value node;
    if (nodes_ssh_is_misused(invocation)) {
        return EXIT_USAGE;
    }
    if (invocation_flag(invocation, "ssh")) {
        return nodes_ssh_approve(invocation, name);
    }
    int code = find_key(invocation, name, &key);
    if (code != EXIT_OK) {
        return code;
    }
    Map *body = map_new(arena, 1);
    map_set_str(arena, body, STR("key"), value_string(key));
    code = call_node(invocation, "POST", name, "/approve", cluster_body(arena, value_map(body)),
                     &node);
    if (code != EXIT_OK || kind_print_value(invocation, node, &code)) {
        return code;
    }
    const List *asking = value_get_list(object_status(node), "asking");
    for (uint32_t i = 0; i < asking->len; i++) {
        if (value_get_bool(asking->items[i], "approved")) {
            key = value_get_text(asking->items[i], "key");
        }
    }
    output_line(invocation->out,
                "%" STR_FMT " is approved with key %" STR_FMT
                "; it is admitted when it asks the next time",
                STR_ARG(name), STR_ARG(key));
    return EXIT_OK;
}

static int run_reject(Invocation *invocation)
{
    NodesChoice choice;
    int code =
        nodes_choose(invocation, invocation->args + 1, invocation->arg_count - 1, true, &choice);
    if (code != EXIT_OK) {
        return code;
    }
    nodes_choice_show(invocation, &choice, "rejects");
    return ask_each(invocation, &choice,
                    (EachRequest){ .method = "POST",
                                   .behind = "/reject",
                                   .done = "is rejected; it may ask again" });
}

static int run_remove(Invocation *invocation)
{
    NodesChoice choice;
    int code =
        nodes_choose(invocation, invocation->args + 1, invocation->arg_count - 1, false, &choice);
    if (code != EXIT_OK || !nodes_choice_confirm(invocation, &choice, "removes", &code)) {
        return code;
    }
    return ask_each(
        invocation, &choice,
        (EachRequest){ .method = "DELETE",
                       .behind = "",
                       .done = "is removed; its certificates are refused from now on" });
}

/* --- Asking ---------------------------------------------------------------------------------- */

static void print_ping(const Invocation *invocation, Str name, Value answer)
{
    int64_t trip = value_get_int(answer, "round_trip_ms"),
            ahead = value_get_int(answer, "clock_ahead_ms");
    Buf line = buf_make_in(invocation->arena, BUF_UNLIMITED);
    buf_put_format(&line, "%" STR_FMT " answers after ", STR_ARG(name));
    if (trip == 0) {
        buf_put_c(&line, "less than 1 ms");
    } else {
        buf_put_format(&line, "%lld ms", (long long)trip);
    }
    buf_put_format(&line, "; its clock says %" STR_FMT,
                   STR_ARG(value_get_text(answer, "node_time")));
    if (llabs(ahead) > 1000) {
        buf_put_format(&line, ", %.1f s %s", (double)llabs(ahead) / 1000,
                       ahead > 0 ? "ahead" : "behind");
    }
    output_line(invocation->out, "%" STR_FMT, STR_ARG(buf_str(&line)));
}

static int run_ping(Invocation *invocation)
{
    NodesChoice choice;
    int code =
        nodes_choose(invocation, invocation->args + 1, invocation->arg_count - 1, false, &choice);
    return code != EXIT_OK
               ? code
               : ask_each(
                     invocation, &choice,
                     (EachRequest){ .method = "POST", .behind = "/ping", .print = print_ping });
}

static int nodes_run(Invocation *invocation)
{
    static const Verb verbs[] = {
        { "list", "", 0, 0, run_list },
        { "show", "NODE", 1, 1, run_show },
        { "label", "NODE... and NAME=VALUE or NAME-, one or more", 1, UINT32_MAX, run_label },
        { "approve", "NODE", 1, 1, run_approve },
        { "reject", "NODE...", 0, UINT32_MAX, run_reject },
        { "remove", "NODE...", 0, UINT32_MAX, run_remove },
        { "ping", "NODE...", 0, UINT32_MAX, run_ping },
        { "ssh-key", "", 0, 0, nodes_ssh_key },
        { 0 },
    };
    return verbs_run(invocation, verbs);
}

static const Option options[] = {
    { .name = "key",
      .verbs = "approve",
      .argument = "PIN",
      .help = "this key, by its pin or at least 16 digits of it; default: the only one that asks" },
    { .name = "address",
      .verbs = "approve",
      .argument = "ADDRESS",
      .help = "the key that asks from this address" },
    NODES_SSH_OPTIONS,
    { .name = "selector",
      .verbs = "list|label|reject|remove|ping",
      .letter = 'l',
      .argument = "SELECTOR",
      .help = "nodes such as role=web or 'web*' (eden help selectors)" },
    YES_OPTION,
    WATCH_OPTION,
    OUTPUT_OPTION(KIND_FORMATS, "table", "how to print"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden nodes", "who is there, who is silent since when, and who asks to join" },
    { "eden nodes list -l role=web", "only those with this label" },
    { "eden nodes list -o wide", "with keys, versions and certificates" },
    { "eden nodes -o jsonpath='{.items[*].status.address}'", "one thing of each" },
    { "eden nodes show web1", "all about one" },
    { "eden nodes label web1 role=web rack=7 old-", "set two labels, unset one" },
    { "eden nodes label web1 web2 rack=8", "several; -l 'role=web' chooses by labels" },
    { "eden nodes approve db1 --key sha256:3f2a77c09e5b1d24",
      "let in a machine that asks, by its key" },
    { "eden nodes ssh-key >> authorized_keys", "so that the server may ask the machine itself" },
    { "eden nodes approve db2 --ssh root@db2 --host-key \"$HOST_KEY\"",
      "approve it, after comparing keys over SSH" },
    { "eden nodes reject db2", "forget one that asks" },
    { "eden nodes remove web2", "a node no more" },
    { "eden nodes ping web1", "whether it answers, how fast, and what its clock says" },
    { 0 },
};

const Command command_nodes = {
    .name = "nodes",
    .alias = "node",
    .group = GROUP_CLUSTER,
    .args = "[list|show|label|approve|reject|remove|ping|ssh-key] [NODE...]",
    .args_min = 0,
    .args_max = UINT32_MAX,
    .word = WORD_NODE,
    .choices = "list|show|label|approve|reject|remove|ping|ssh-key",
    .help = "List, label, approve and remove nodes.",
    .text =
        "'list', which may be left out, shows members first, then machines that ask. A node is\n"
        "alive while it has a session with a server; for one that is silent, SINCE is when it was\n"
        "heard of last.\n"
        "\n"
        "A machine that asks without a good token waits until it is approved. What is approved is\n"
        "its key: compare the pin with what 'eden join' shows on the machine, and give it as\n"
        "--key. Another machine that asks for the same name is listed beside it, and cannot "
        "change\n"
        "that. A whole pin can be approved before its machine asks; an approval that is not used\n"
        "ends after 24 hours. 'reject' forgets a machine that asks. 'remove' takes a node out with "
        "its facts, "
        "and\n"
        "none of its certificates is believed from then on; the name can be given again.\n"
        "\n"
        "With --ssh the server asks the machine itself: it logs in there, to the host whose key "
        "was\n"
        "given, tells it which CA to trust, and approves the key that it says it asks with. For\n"
        "that the line that 'ssh-key' prints must be in authorized_keys of that machine; the key\n"
        "of the server can do nothing else there.\n"
        "\n"
        "'ping' asks a node through its session: how long the answer takes, and what its clock\n"
        "says. For a silent node it prints since when, and the exit code is 3.\n"
        "\n"
        "'label' sets NAME=VALUE and unsets NAME-, on each node all or none of them.\n"
        "\n"
        "label, ping, remove and reject take several nodes, patterns as 'web*', or --selector. "
        "What "
        "is\n"
        "chosen that way is shown first, and 'remove' asks, or wants --yes. All are tried; the "
        "exit\n"
        "code is that of the worst failure. With -o json, yaml or jsonpath= several nodes make "
        "one\n"
        "document, 'eden.answers/1': 'items' are the answers, 'problems' has what failed, each\n"
        "with the name of its node. One node is its answer alone.",
    .options = options,
    .examples = examples,
    .run = nodes_run,
};
