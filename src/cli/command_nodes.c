/* eden nodes: the members of the cluster, and the machines that ask to become one. */
#include <stdlib.h>

#include "cli/answers.h"
#include "cli/kind_command.h"
#include "cli/kind_watch.h"
#include "cli/nodes_choice.h"
#include "cli/nodes_print.h"
#include "cli/nodes_ssh.h"
#include "cli/output.h"
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
    return kind_list_as(invocation, nodes_print_table,
                        "there is no node; 'eden tokens create' lets one join");
}

static int run_show(Invocation *invocation)
{
    Value node;
    Str name = str_from_c(invocation->args[0]);
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
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        Str word = str_from_c(invocation->args[i]);
        if (!is_label(word)) {
            nodes[(*node_count)++] = invocation->args[i];
            continue;
        }
        size_t equals = str_find(word, STR("="), 0);
        bool unset = equals == STR_NOT_FOUND;
        Str name = str_slice(word, 0, unset ? word.len - 1 : equals);
        if (name.len == 0) {
            usage_error(invocation, "a label is NAME=VALUE, or NAME- to remove it; not '%s'",
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
        usage_error(invocation, "LABEL is missing: NAME=VALUE, or NAME- to remove it");
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
    Str name = str_from_c(invocation->args[0]), key = STR_EMPTY;
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
    int code = nodes_choose(invocation, invocation->args, invocation->arg_count, true, &choice);
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
    int code = nodes_choose(invocation, invocation->args, invocation->arg_count, false, &choice);
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
    int code = nodes_choose(invocation, invocation->args, invocation->arg_count, false, &choice);
    return code != EXIT_OK
               ? code
               : ask_each(
                     invocation, &choice,
                     (EachRequest){ .method = "POST", .behind = "/ping", .print = print_ping });
}

static const Option list_options[] = { NODES_SELECTOR_OPTION, WATCH_OPTION, { 0 } };
static const Option many_options[] = { NODES_SELECTOR_OPTION, { 0 } };
static const Option leaving_options[] = { NODES_SELECTOR_OPTION, YES_OPTION, { 0 } };

static const Option approve_options[] = {
    { .name = "key",
      .argument = "PIN",
      .help = "this key, by its pin or at least 16 digits of it; default: the only one that asks" },
    { .name = "address", .argument = "ADDRESS", .help = "the key that asks from this address" },
    { .name = "ssh",
      .argument = "[USER@]HOST[:PORT]",
      .help = "log in to the machine there first, and compare keys" },
    { .name = "host-key",
      .argument = "KEY",
      .repeats = true,
      .help = "the host key to expect for --ssh: a line of ssh_host_*_key.pub" },
    { .name = "known-hosts",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "host keys to expect for --ssh, from a known_hosts file of OpenSSH" },
    { .name = "accept-new-host-key", .help = "let --ssh accept any host key, and print it" },
    { 0 },
};

static const Option ssh_key_options[] = {
    { .name = "sudo", .help = "print the line for a user other than root, who may use sudo" },
    { 0 },
};

static const Option options[] = {
    OUTPUT_OPTION(KIND_FORMATS, "table", "how to print"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List nodes, and machines that ask to join.",
      .text = "A node is alive while it has a session with a server. For a silent node, SINCE\n"
              "is when it was last heard from. Machines that ask to join follow after the\n"
              "nodes.",
      .options = list_options,
      .examples = { { "eden nodes", "all nodes, since when silent ones are silent, and machines "
                                    "that ask to join" },
                    { "eden nodes list -l role=web", "only those with this label" },
                    { "eden nodes list -o wide", "with keys, versions and certificates" },
                    { "eden nodes -o jsonpath='{.items[*].status.address}'",
                      "one field of each" } },
      .run = run_list },
    { .name = "show",
      .args = { { "NODE", WORD_NODE } },
      .help = "Show one node.",
      .examples = { { "eden nodes show web1", "everything about one node" } },
      .run = run_show },
    { .name = "label",
      .args = { { "[NODE...]", WORD_NODE }, { "LABEL..." } },
      .help = "Set and remove labels of nodes.",
      .text = "LABEL is NAME=VALUE to set a label, NAME- to remove it. On each node, either\n"
              "all changes are made or none.",
      .options = many_options,
      .examples = { { "eden nodes label web1 role=web rack=7 old-", "set two labels, remove one" },
                    { "eden nodes label web1 web2 rack=8",
                      "several nodes; -l role=web selects by label" } },
      .run = run_label },
    { .name = "approve",
      .args = { { "NODE", WORD_NODE } },
      .help = "Admit a machine that asks to join.",
      .text = "A machine that asks without a valid token waits until it is approved. What is\n"
              "approved is its key: compare the pin with what 'eden join' shows on the\n"
              "machine, and give it as --key. If another machine asks for the same name, both\n"
              "are listed. A whole pin can be approved before its machine asks. An approval\n"
              "that is not used expires after 24 hours.\n"
              "\n"
              "With --ssh the server logs in to the machine, whose host key must be the given\n"
              "one, tells it which CA to trust, and approves the key that the machine reports.\n"
              "For this, the line that 'eden nodes ssh-key' prints must be in authorized_keys\n"
              "of that machine. The key of the server can do nothing else there.",
      .options = approve_options,
      .examples = { { "eden nodes approve db1 --key sha256:3f2a77c09e5b1d24",
                      "admit a machine that asks, by its key" },
                    { "eden nodes approve db2 --ssh root@db2 --host-key \"$HOST_KEY\"",
                      "admit it after comparing keys over SSH" } },
      .run = run_approve },
    { .name = "reject",
      .args = { { "[NODE...]", WORD_NODE } },
      .help = "Forget machines that ask to join; they may ask again.",
      .options = leaving_options,
      .examples = { { "eden nodes reject db2", "forget a machine that asks" } },
      .run = run_reject },
    { .name = "remove",
      .args = { { "[NODE...]", WORD_NODE } },
      .help = "Remove nodes from the cluster.",
      .text = "The facts of a removed node are deleted, and none of its certificates is\n"
              "accepted any more. Its name can be used again.",
      .options = leaving_options,
      .examples = { { "eden nodes remove web2", "remove a node from the cluster" } },
      .run = run_remove },
    { .name = "ping",
      .args = { { "[NODE...]", WORD_NODE } },
      .help = "Check whether nodes respond.",
      .text = "The request goes through the node's session; the output is the round-trip time\n"
              "and the time of the node's clock. For a silent node it is the time since when\n"
              "it is silent, and the exit code is 3.",
      .options = many_options,
      .examples = { { "eden nodes ping web1",
                      "whether it responds, how fast, and the time of its clock" } },
      .run = run_ping },
    { .name = "ssh-key",
      .help = "Print the line for authorized_keys that 'approve --ssh' requires.",
      .options = ssh_key_options,
      .examples = { { "eden nodes ssh-key >> authorized_keys",
                      "let the server log in to approve the machine" } },
      .run = nodes_ssh_key },
    { 0 },
};

const Command command_nodes = {
    .name = "nodes",
    .alias = "node",
    .group = GROUP_CLUSTER,
    .kind = "Node",
    .help = "List, label, approve and remove nodes.",
    .text = "label, ping, remove and reject take several nodes, patterns such as 'web*', or\n"
            "--selector. Nodes that a pattern or selector matches are printed first, and\n"
            "'remove' asks for confirmation unless --yes is given. All nodes are tried; the\n"
            "exit code is that of the worst failure. With -o json, yaml or jsonpath= several\n"
            "nodes make one document, 'eden.answers/1': 'items' has the answers, 'problems'\n"
            "has the failures, each with the name of its node. For a single node the\n"
            "document is its answer alone.",
    .options = options,
    .verbs = verbs,
};
