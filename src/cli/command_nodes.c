/* eden nodes: the nodes of the cluster, and machines that have requested to join. */
#include <stdlib.h>

#include "cli/cluster_client.h"
#include "cli/host_keys.h"
#include "cli/kind_command.h"
#include "cli/kind_watch.h"
#include "cli/nodes_choice.h"
#include "cli/nodes_print.h"
#include "cli/output.h"
#include "cli/responses.h"
#include "membership/ssh_verifier.h"
#include "net/address.h"

/* --- Approval over SSH ------------------------------------------------------------------------ */

/* `eden nodes approve --ssh` and `eden nodes ssh-key`: approves machines by logging in to them over
 * SSH. */

enum {
    SSH_TIMEOUT_MS = SSH_VERIFY_LIMIT_MS + 15 * 1000
};

/* Returns true after printing a usage error if an option that requires --ssh was given without
 * it. */
static bool refuse_ssh_misuse(const Invocation *invocation)
{
    static const char *const names[] = { "host-key", "known-hosts", "accept-new-host-key" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (invocation_flag(invocation, names[i]) && !invocation_flag(invocation, "ssh")) {
            usage_error(invocation, "--%s requires --ssh", names[i]);
            return true;
        }
    }
    return false;
}

/* --- Host keys -------------------------------------------------------------------------------- */

/* Returns false after reporting an error. */
static bool read_trust(const Invocation *invocation, const SshTarget *target, Map *ssh)
{
    Arena *arena = invocation->arena;
    bool is_given = invocation_flag(invocation, "host-key");
    const char *file = invocation_text(invocation, "known-hosts");
    bool accepts = invocation_flag(invocation, "accept-new-host-key");
    List *keys = list_new(arena, 4);
    Error err;
    if (is_given + (file != NULL) + accepts != 1) {
        usage_error(invocation, "--ssh requires --host-key, --known-hosts or --accept-new-host-key "
                                "to verify the machine");
        return false;
    }
    if (!host_keys_given(invocation, keys)) {
        return false;
    }
    if (file != NULL && !host_keys_find(invocation, file, str_from_c(target->address.host),
                                        target->address.port, keys, &err)) {
        usage_error(invocation, "--known-hosts: %s", err.text);
        return false;
    }
    if (accepts) {
        map_set_str(arena, ssh, STR("accept_new_host_key"), value_bool(true));
    } else {
        map_set_str(arena, ssh, STR("host_keys"), value_list(keys));
    }
    return true;
}

/* --- Commands --------------------------------------------------------------------------------- */

/* Returns the exit code. */
static int nodes_ssh_approve(Invocation *invocation, Str name)
{
    Arena *arena = invocation->arena;
    const char *given = invocation_text(invocation, "ssh");
    Map *ssh = map_new(arena, 2), *body = map_new(arena, 1);
    SshTarget target;
    Value response;
    Error err;
    if (invocation_flag(invocation, "key")) {
        return usage_error(invocation, "--key and --ssh are mutually exclusive");
    }
    if (!ssh_target_parse(str_from_c(given), &target, &err)) {
        return usage_error(invocation, "--ssh: %s", err.text);
    }
    map_set_str(arena, ssh, STR("target"), value_string(str_from_c(given)));
    if (!read_trust(invocation, &target, ssh)) {
        return EXIT_USAGE;
    }
    map_set_str(arena, body, STR("ssh"), value_map(ssh));
    int code = cluster_call(
        invocation,
        &(ClusterRequest){ .method = "POST",
                           .target = cluster_target_with(arena, "/v1/nodes/", name, "/approve"),
                           .body = cluster_body(arena, value_map(body)),
                           .timeout_ms = SSH_TIMEOUT_MS },
        &response);
    if (code != EXIT_OK || output_wants_value(invocation)) {
        return code != EXIT_OK ? code : output_response(invocation, response);
    }
    if (invocation_flag(invocation, "accept-new-host-key")) {
        output_line(invocation->err, "accepted the host key of %s without verification: %" STR_FMT,
                    target.address.host, STR_ARG(value_get_text(response, "fingerprint")));
        output_line(invocation->err, "  %" STR_FMT, STR_ARG(value_get_text(response, "host_key")));
    }
    output_line(invocation->out,
                "%" STR_FMT " is approved with key %" STR_FMT
                ", verified over SSH; it joins when it retries",
                STR_ARG(name), STR_ARG(value_get_text(response, "key")));
    return EXIT_OK;
}

static int nodes_ssh_key(Invocation *invocation)
{
    Value response;
    int code = cluster_call(
        invocation, &(ClusterRequest){ .method = "GET", .target = STR("/v1/ssh-key") }, &response);
    if (code != EXIT_OK || output_wants_value(invocation)) {
        return code != EXIT_OK ? code : output_response(invocation, response);
    }
    bool by_sudo = invocation_flag(invocation, "sudo");
    output_line(invocation->out, "%" STR_FMT,
                STR_ARG(value_get_text(response, by_sudo ? "sudo_line" : "line")));
    return EXIT_OK;
}

static int call_node(Invocation *invocation, const char *method, Str name, const char *suffix,
                     Str body, Value *response)
{
    return cluster_call(invocation,
                        &(ClusterRequest){ .method = method,
                                           .target = cluster_target_with(
                                               invocation->arena, "/v1/nodes/", name, suffix),
                                           .body = body },
                        response);
}

/* --- Reading ---------------------------------------------------------------------------------- */

static int run_list(Invocation *invocation)
{
    const char *site = invocation_text(invocation, "site");
    if (site != NULL) {
        return invocation_flag(invocation, "watch")
                   ? usage_error(invocation, "--watch shows all nodes, without --site")
                   : kind_list_part(invocation, nodes_print_table, "site", site, INT64_MAX);
    }
    return kind_list_as(invocation, nodes_print_table,
                        "no nodes found; 'eden tokens create' prints the command to join one");
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

/* --- Changing --------------------------------------------------------------------------------- */

static bool is_label(Str word)
{
    return str_find(word, STR("="), 0) != STR_NOT_FOUND || str_ends(word, STR("-"));
}

/* "role=web" sets a label, "role-" removes it. All other arguments are nodes. */
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
            usage_error(invocation, "a label must be NAME=VALUE, or NAME- to remove it, not '%s'",
                        invocation->args[i]);
            return false;
        }
        if (map_find_str(labels, name) != NULL) {
            usage_error(invocation, "label '%" STR_FMT "' is given twice", STR_ARG(name));
            return false;
        }
        map_set_str(arena, labels, name,
                    unset ? value_null() : value_string(str_from_offset(word, equals + 1)));
    }
    if (labels->len == 0) {
        usage_error(invocation, "LABEL is required: NAME=VALUE, or NAME- to remove it");
    }
    return labels->len > 0;
}

static void print_labels(const Invocation *invocation, Str name, Value node)
{
    output_line(invocation->out, "%" STR_FMT ": %" STR_FMT, STR_ARG(name),
                STR_ARG(nodes_labels_text(invocation->arena, node)));
}

static int request_each(Invocation *invocation, const NodesChoice *choice, EachRequest request)
{
    request.prefix = "/v1/nodes/";
    return responses_request_each(invocation, &request, choice->names, choice->count);
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
    return request_each(invocation, &choice,
                        (EachRequest){ .method = "PATCH",
                                       .suffix = "",
                                       .body = cluster_body(arena, value_map(body)),
                                       .print = print_labels });
}

/* "10.0.0.7" matches "10.0.0.7:4242", "fd00::7" matches "[fd00::7]:4242". */
static bool is_same_host(Str listed, Str expected)
{
    Address one, other;
    Error err;
    return address_parse(listed, 1, &one, &err) && address_parse(expected, 1, &other, &err) &&
           address_same_host(&one, &other);
}

static int refuse_approval(Invocation *invocation, Value node, Error *err)
{
    ClusterRefusal refusal = { .responded = true, .target = STR("/v1/nodes"), .response = node };
    return cluster_report_refusal(invocation, &refusal, err);
}

/* Finds the key to approve: --key, or the only key with which this name was requested (from
 * --address, if given). If there are several, the user has to choose one. */
static int find_key(Invocation *invocation, Str name, Str *key)
{
    const char *option = invocation_text(invocation, "key");
    const char *address = invocation_text(invocation, "address");
    Value node;
    Error err;
    if (option != NULL) {
        *key = str_from_c(option);
        return EXIT_OK;
    }
    int code = call_node(invocation, "GET", name, "", STR_EMPTY, &node);
    if (code != EXIT_OK) {
        return code;
    }
    const List *requests = value_get_list(object_status(node), "requests");
    Buf keys = buf_make_in(invocation->arena, BUF_UNLIMITED);
    uint32_t found = 0;
    for (uint32_t i = 0; i < requests->len; i++) {
        Str source = value_get_text(requests->items[i], "address");
        if (address == NULL || is_same_host(source, str_from_c(address))) {
            *key = value_get_text(requests->items[i], "key");
            buf_put_format(&keys, "%s%" STR_FMT " from %" STR_FMT, found++ > 0 ? ", " : "",
                           STR_ARG(*key), STR_ARG(source));
        }
    }
    if (found == 1) {
        return EXIT_OK;
    }
    if (found > 1) {
        error_set(&err, ERROR_CONFLICT,
                  "%u machines are requesting to join as '%" STR_FMT "': %" STR_FMT
                  "; select one with --key and the pin that 'eden join' prints on the machine",
                  found, STR_ARG(name), STR_ARG(buf_str(&keys)));
    } else if (requests->len > 0) {
        error_set(&err, ERROR_CONFLICT,
                  "no machine is requesting to join as '%" STR_FMT "' from %s", STR_ARG(name),
                  address);
    } else {
        error_set(&err, ERROR_CONFLICT, "'%" STR_FMT "' is already a node", STR_ARG(name));
    }
    return refuse_approval(invocation, node, &err);
}

static int run_approve(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Str name = str_from_c(invocation->args[0]), key = STR_EMPTY;
    Value node;
    if (refuse_ssh_misuse(invocation)) {
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
    const List *requests = value_get_list(object_status(node), "requests");
    for (uint32_t i = 0; i < requests->len; i++) {
        if (value_get_bool(requests->items[i], "approved")) {
            key = value_get_text(requests->items[i], "key");
        }
    }
    output_line(invocation->out,
                "%" STR_FMT " is approved with key %" STR_FMT "; it joins when it retries",
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
    return request_each(invocation, &choice,
                        (EachRequest){ .method = "POST",
                                       .suffix = "/reject",
                                       .done = "is rejected; it can request to join again" });
}

static int run_remove(Invocation *invocation)
{
    NodesChoice choice;
    int code = nodes_choose(invocation, invocation->args, invocation->arg_count, false, &choice);
    if (code != EXIT_OK || !nodes_choice_confirm(invocation, &choice, "removes", &code)) {
        return code;
    }
    return request_each(
        invocation, &choice,
        (EachRequest){ .method = "DELETE",
                       .suffix = "",
                       .done = "is removed; its certificates are no longer accepted" });
}

/* --- Ping ------------------------------------------------------------------------------------- */

static void print_ping(const Invocation *invocation, Str name, Value response)
{
    int64_t round_trip = value_get_int(response, "round_trip_ms"),
            ahead = value_get_int(response, "clock_ahead_ms");
    Buf line = buf_make_in(invocation->arena, BUF_UNLIMITED);
    buf_put_format(&line, "%" STR_FMT " responded after ", STR_ARG(name));
    if (round_trip == 0) {
        buf_put_c(&line, "less than 1 ms");
    } else {
        buf_put_format(&line, "%lld ms", (long long)round_trip);
    }
    buf_put_format(&line, "; its clock is %" STR_FMT,
                   STR_ARG(value_get_text(response, "node_time")));
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
               : request_each(
                     invocation, &choice,
                     (EachRequest){ .method = "POST", .suffix = "/ping", .print = print_ping });
}

static const Option list_options[] = {
    NODES_SELECTOR_OPTION,
    { .name = "site",
      .argument = "STATE",
      .choices = "current|outdated|pending|failed|skipped|none",
      .help = "list only nodes with this SITE" },
    WATCH_OPTION,
    { 0 },
};
static const Option select_options[] = { NODES_SELECTOR_OPTION, { 0 } };
static const Option remove_options[] = { NODES_SELECTOR_OPTION, YES_OPTION, { 0 } };

static const Option approve_options[] = {
    { .name = "key",
      .argument = "PIN",
      .help =
          "pin of the key to approve, or at least 16 digits of it; default: the only pending key" },
    { .name = "address",
      .argument = "ADDRESS",
      .help = "approve the key of the machine with this address" },
    { .name = "ssh",
      .argument = "[USER@]HOST[:PORT]",
      .help = "log in to the machine over SSH first and compare keys" },
    { .name = "host-key",
      .argument = "KEY",
      .repeats = true,
      .help = "with --ssh: the expected host key, a line of ssh_host_*_key.pub" },
    { .name = "known-hosts",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "with --ssh: a known_hosts file with the expected host keys" },
    { .name = "accept-new-host-key", .help = "with --ssh: accept any host key, and print it" },
    { 0 },
};

static const Option ssh_key_options[] = {
    { .name = "sudo", .help = "print the line for a non-root user who can use sudo" },
    { 0 },
};

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List nodes and pending join requests.",
      .text = "A node is alive while it has a session with a server. For a silent node, SINCE\n"
              "is the time of its last contact. Join requests are listed after the nodes.\n"
              "\n"
              "SITE shows whether a node has applied the current version of the site; the version\n"
              "itself is shown with -o wide and -o json.",
      .options = list_options,
      .examples = { { "eden nodes", "list all nodes and pending join requests" },
                    { "eden nodes list -l role=web", "list only nodes with this label" },
                    { "eden nodes list --site none", "list only nodes that have no site yet" },
                    { "eden nodes list -o wide", "also show keys, versions and certificates" },
                    { "eden nodes -o jsonpath='{.items[*].status.address}'",
                      "print one field of each node" } },
      .run = run_list },
    { .name = "show",
      .args = { { "NODE", WORD_NODE } },
      .help = "Show a node.",
      .examples = { { "eden nodes show web1", "show all details of a node" } },
      .run = run_show },
    { .name = "label",
      .args = { { "[NODE...]", WORD_NODE }, { "LABEL..." } },
      .help = "Set or remove node labels.",
      .text = "LABEL is NAME=VALUE to set a label, or NAME- to remove it. The changes to each\n"
              "node are atomic.",
      .options = select_options,
      .examples = { { "eden nodes label web1 role=web rack=7 old-", "set two labels, remove one" },
                    { "eden nodes label web1 web2 rack=8",
                      "label several nodes; '-l role=web' selects them by label" } },
      .run = run_label },
    { .name = "approve",
      .args = { { "NODE", WORD_NODE } },
      .help = "Approve a machine's request to join.",
      .text = "A machine without a valid token waits until it is approved. You approve its key:\n"
              "compare the pin with the one that 'eden join' prints on the machine, and pass it\n"
              "with --key. If several machines request the same name, all of them are listed. A\n"
              "complete pin can be approved in advance. An unused approval expires after 24\n"
              "hours.\n"
              "\n"
              "With --ssh, the server verifies the machine's host key, logs in, provides the\n"
              "cluster's CA, and approves the key that the machine reports. The authorized_keys\n"
              "file on that machine must contain the line printed by 'eden nodes ssh-key',\n"
              "which restricts the server's key to this purpose.",
      .options = approve_options,
      .examples = { { "eden nodes approve db1 --key sha256:3f2a77c09e5b1d24",
                      "approve a pending machine by its key" },
                    { "eden nodes approve db2 --ssh root@db2 --host-key \"$HOST_KEY\"",
                      "approve it after comparing keys over SSH" } },
      .run = run_approve },
    { .name = "reject",
      .args = { { "[NODE...]", WORD_NODE } },
      .help = "Reject requests to join.",
      .options = remove_options,
      .examples = { { "eden nodes reject db2", "reject a pending machine; it can try again" } },
      .run = run_reject },
    { .name = "remove",
      .args = { { "[NODE...]", WORD_NODE } },
      .help = "Remove nodes from the cluster.",
      .text = "The node's facts are deleted, its certificates are no longer accepted, and its\n"
              "name can be used again.",
      .options = remove_options,
      .examples = { { "eden nodes remove web2", "remove a node from the cluster" } },
      .run = run_remove },
    { .name = "ping",
      .args = { { "[NODE...]", WORD_NODE } },
      .help = "Check whether nodes respond.",
      .text = "The request is sent over the node's session. The output shows the round-trip\n"
              "time and the node's clock. For a silent node, it shows the time of the last\n"
              "contact, and the exit code is 3.",
      .options = select_options,
      .examples = { { "eden nodes ping web1",
                      "check whether a node responds, and show its clock" } },
      .run = run_ping },
    { .name = "ssh-key",
      .help = "Print the authorized_keys line that 'approve --ssh' requires.",
      .options = ssh_key_options,
      .examples = { { "eden nodes ssh-key >> authorized_keys",
                      "allow the server to log in to approve the machine" } },
      .run = nodes_ssh_key },
    { 0 },
};

const Command command_nodes = {
    .name = "nodes",
    .alias = "node",
    .group = GROUP_CLUSTER,
    .kind = "Node",
    .help = "List, label, approve and remove nodes.",
    .text = "label, ping, remove and reject accept several nodes, patterns such as 'web*', or\n"
            "--selector. The nodes that match a pattern or selector are printed first, and\n"
            "'remove' asks for confirmation unless --yes is given. If the command fails for a\n"
            "node, the others are still processed; the exit code reflects the worst failure.\n"
            "With -o json, yaml or jsonpath=, the results for several nodes are printed as\n"
            "one document, 'eden.answers/1': 'items' contains the responses and 'problems'\n"
            "the failures, each with the node's name. For a single node, only its response is\n"
            "printed.",
    .options = kind_options,
    .verbs = verbs,
};
