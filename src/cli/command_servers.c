/* eden servers: lists, adds and removes servers of the cluster. */
#include "cli/cluster_client.h"
#include "cli/kind_command.h"

/* Only servers that run the datastore themselves say so. */
static void warn_about_even(Invocation *invocation)
{
    Value listed;
    uint32_t members = 0;
    if (cluster_call(invocation, &(ClusterRequest){ .method = "GET", .target = STR("/v1/servers") },
                     &listed) != EXIT_OK) {
        return;
    }
    const List *items = value_get_list(listed, "items");
    uint32_t count = items->len;
    for (uint32_t i = 0; i < count; i++) {
        Value status = value_get_map(items->items[i], "status");
        members += value_get_text(status, "datastore").len > 0;
    }
    if (members > 0 && count % 2 == 0) {
        stream_put_format(invocation->err,
                          "warning: with %u servers, one of them does not vote in the datastore, "
                          "and no more failures are tolerated than with %u; add another one\n",
                          count, count - 1);
    }
}

static int run_add(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Map *metadata = map_new(arena, 1), *body = map_new(arena, 1);
    Value created;
    map_set_str(arena, metadata, STR("name"), value_string(str_from_c(invocation->args[0])));
    map_set_str(arena, body, STR("metadata"), value_map(metadata));
    int code = cluster_call(invocation,
                            &(ClusterRequest){ .method = "POST",
                                               .target = STR("/v1/servers"),
                                               .body = cluster_body(arena, value_map(body)) },
                            &created);
    if (code != EXIT_OK || kind_print_value(invocation, created, &code)) {
        return code;
    }
    stream_put_format(invocation->out, "'%s' can now become a server\n", invocation->args[0]);
    stream_put_format(invocation->err,
                      "Next: run 'eden join --as-server' on it, unless that is already running.\n");
    warn_about_even(invocation);
    return EXIT_OK;
}

static int run_remove(Invocation *invocation)
{
    Value removed;
    int code =
        cluster_call(invocation,
                     &(ClusterRequest){ .method = "DELETE",
                                        .target = cluster_target(invocation->arena, "/v1/servers/",
                                                                 str_from_c(invocation->args[0])) },
                     &removed);
    if (code == EXIT_OK) {
        stream_put_format(invocation->out, "'%s' is no longer a server\n", invocation->args[0]);
        stream_put_format(invocation->err, "It had a copy of the CA key. If others may have read "
                                           "its disk, run 'eden pki rotate'.\n");
        warn_about_even(invocation);
    }
    return code;
}

static const Verb verbs[] = {
    KIND_VERB_LIST("servers"),
    KIND_VERB_SHOW("servers", "server", "SERVER", WORD_NODE, "s1"),
    { .name = "add",
      .args = { { "NODE", WORD_NODE } },
      .help = "Permit a node to become a server.",
      .text = "The node can then fetch the CA key from another server, over mutual TLS, with\n"
              "'eden join --as-server', which waits until it is permitted to.",
      .examples = { { "eden servers add s2", "permit s2 to become a server" } },
      .run = run_add },
    { .name = "remove",
      .args = { { "SERVER", WORD_NODE } },
      .help = "Remove a server; its machine remains a node.",
      .text =
          "If the server is running, it stops and deletes its keys; otherwise, it does so at its\n"
          "next start. A copy of its keys is valid until 'eden pki rotate' replaces the CA.\n"
          "\n"
          "If it runs a member of the datastore, that is removed first, provided that the\n"
          "remaining members are a majority.",
      .examples = { { "eden servers remove s2", "remove a server" } },
      .run = run_remove },
    { 0 },
};

const Command command_servers = {
    .name = "servers",
    .alias = "server",
    .group = GROUP_CLUSTER,
    .kind = "Server",
    .help = "Manage the servers of the cluster.",
    .text =
        "A cluster whose store is in etcd can have several servers. All of them are equal; one\n"
        "of them, the leader, runs the controllers, and another takes over if it fails.\n"
        "\n"
        "If the servers run etcd themselves ('eden init --store etcd'), there should be three or\n"
        "five: an even number tolerates no more failures than one less.",
    .options = kind_options,
    .verbs = verbs,
};
