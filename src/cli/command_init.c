/* eden init: creates a cluster with this machine as its first server. */
#include "base/ascii_case.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/output.h"
#include "cli/server_user.h"
#include "pki/ca.h"
#include "sys/clock.h"

static bool build_spec(const Invocation *invocation, ClusterSpec *out, Error *err)
{
    Arena *arena = invocation->arena;
    ServerSettings *settings = &out->settings;
    const char *cluster = invocation_text(invocation, "cluster");
    const char *name = invocation_text(invocation, "name");
    char random_name[CLUSTER_ID_TEXT + 1];
    if (cluster == NULL && !cluster_id_make(random_name, err)) {
        return false;
    }
    Str cluster_name = str_from_c(cluster == NULL ? random_name : cluster);
    Str node_name = name == NULL ? own_node_name(arena) : str_from_c(name);
    if (!cluster_name_check(cluster_name, err) || !node_name_check(node_name, err)) {
        return false;
    }
    memcpy(settings->cluster, cluster_name.data, cluster_name.len);
    memcpy(settings->node, node_name.data, node_name.len);
    server_names_read(invocation, settings);
    settings->rpc = str_from_c(invocation_text(invocation, "rpc"));
    settings->api = str_from_c(invocation_text(invocation, "api"));
    settings->health = str_from_c(invocation_text(invocation, "health"));
    if (!server_store_read(invocation, settings, err)) {
        return false;
    }
    out->state_dir = invocation_text(invocation, "state-dir");
    out->now_ms = clock_now_ms();
    return server_user_find(arena, invocation_text(invocation, "user"), out, err);
}

/* --- Output ----------------------------------------------------------------------------------- */

static int print_json(const Invocation *invocation, const ClusterSpec *spec, const char *ca)
{
    Arena *arena = invocation->arena;
    const ServerSettings *settings = &spec->settings;
    Map *map = map_new(arena, 10);
    List *names = list_new(arena, settings->name_count);
    for (uint32_t i = 0; i < settings->name_count; i++) {
        list_push(arena, names, value_string(settings->names[i]));
    }
    map_set_str(arena, map, STR("format"), value_string(STR("eden.init/1")));
    map_set_str(arena, map, STR("cluster"), value_string(str_from_c(settings->cluster)));
    map_set_str(arena, map, STR("node"), value_string(str_from_c(settings->node)));
    map_set_str(arena, map, STR("ca_pin"), value_string(str_from_c(ca)));
    map_set_str(arena, map, STR("rpc"), value_string(settings->rpc));
    map_set_str(arena, map, STR("api"), value_string(settings->api));
    if (settings->health.len > 0) {
        map_set_str(arena, map, STR("health"), value_string(settings->health));
    }
    map_set_str(arena, map, STR("names"), value_list(names));
    if (server_settings_use_etcd(settings)) {
        List *etcd = list_new(arena, settings->etcd_count);
        for (uint32_t i = 0; i < settings->etcd_count; i++) {
            list_push(arena, etcd, value_string(settings->etcd[i]));
        }
        map_set_str(arena, map, STR("etcd_endpoints"), value_list(etcd));
    }
    map_set_str(arena, map, STR("state_dir"), value_string(str_from_c(spec->state_dir)));
    return output_json(invocation, value_map(map));
}

static int print_text(const Invocation *invocation, const ClusterSpec *spec, const char *ca)
{
    const ServerSettings *settings = &spec->settings;
    Stream *out = invocation->out;
    stream_put_format(out, "Created cluster '%s'; this machine is its server '%s'.\n",
                      settings->cluster, settings->node);
    stream_put_format(out, "  CA            %s\n", ca);
    stream_put_format(out, "  addresses     ");
    for (uint32_t i = 0; i < settings->name_count; i++) {
        stream_put_format(out, "%s%" STR_FMT, i > 0 ? ", " : "", STR_ARG(settings->names[i]));
    }
    if (server_settings_use_etcd(settings)) {
        stream_put_format(out, "\n  etcd          ");
        for (uint32_t i = 0; i < settings->etcd_count; i++) {
            stream_put_format(out, "%s%" STR_FMT, i > 0 ? ", " : "", STR_ARG(settings->etcd[i]));
        }
    }
    stream_put_format(out, "\n  directory     %s\n\n", spec->state_dir);
    bool is_default = strcmp(spec->state_dir, STATE_DIR_DEFAULT) == 0;
    stream_put_format(
        out,
        "Next: start it with %" STR_FMT ".\n"
        "      'eden tokens create%s%s' then prints the command for other machines to join.\n",
        STR_ARG(daemon_command_start(invocation)), is_default ? "" : " --state-dir ",
        is_default ? "" : spec->state_dir);
    return EXIT_OK;
}

static int init_run(Invocation *invocation)
{
    ClusterSpec spec = { 0 };
    Pin ca;
    Error err;
    if (!build_spec(invocation, &spec, &err) || !cluster_create(&spec, &ca, &err)) {
        return daemon_command_fail(invocation, "E0820", &err);
    }
    char pin[PIN_TEXT + 1];
    pin_text(&ca, pin);
    return invocation_prints(invocation, "json") ? print_json(invocation, &spec, pin)
                                                 : print_text(invocation, &spec, pin);
}

static const Option options[] = {
    { .name = "cluster",
      .argument = "NAME",
      .help = "name of the cluster; default: a random name" },
    { .name = "name", .argument = "NAME", .help = "name of this node; default: the host name" },
    { .name = "address",
      .argument = "ADDRESS",
      .repeats = true,
      .help = "name or IP address at which nodes reach this machine; default: all" },
    { .name = "rpc",
      .argument = "ADDRESS",
      .fallback = "0.0.0.0:1337",
      .help = "address to listen on for nodes" },
    { .name = "api",
      .argument = "ADDRESS",
      .fallback = "0.0.0.0:1338",
      .help = "address to listen on for the API and joining machines" },
    { .name = "health",
      .argument = "ADDRESS",
      .help = "address for health checks without TLS, such as 127.0.0.1:8080; default: none" },
    STORE_OPTIONS,
    ETCD_OPTIONS,
    SERVER_USER_OPTION,
    STATE_DIR_OPTION,
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden init", "create a cluster of one machine" },
    { "eden init --cluster blue --address 10.0.0.5",
      "set the cluster name and the advertised address" },
    { "eden init --rpc '[::]:1337' --api '[::]:1338' -o json", "also listen on IPv6" },
    { "eden init --store etcd --address 10.0.0.5", "run etcd, so that servers can be added" },
    { "eden init --health 127.0.0.1:8080", "answer health checks on loopback" },
    { 0 },
};

const Command command_init = {
    .name = "init",
    .group = GROUP_CLUSTER,
    .help = "Create a cluster on this machine.",
    .text =
        "Creates the cluster's CA, its store and the certificates of this machine, its first\n"
        "server, in --state-dir. Nothing is started; 'eden agent' starts the server.\n"
        "\n"
        "The CA key is stored there in server/ca.pem, readable only by the server's user.\n"
        "Anyone with this key controls the cluster. 'eden backup create' includes it.\n"
        "\n"
        "All ports use TLS except --health, which serves only /healthz and /readyz, for load\n"
        "balancers and monitoring without TLS.\n"
        "\n"
        "With --store etcd, the servers run etcd themselves, so that there can be several: the\n"
        "agent of each server starts it, with certificates of its own. It must be installed\n"
        "(Debian package etcd-server, 3.4 or later), and not run as a service.\n"
        "\n"
        "With --endpoints, the store is in an etcd cluster (3.4 or later) that you operate and\n"
        "that contains nothing else. Each member must run with '--max-request-bytes 4194304\n"
        "--max-txn-ops 512'. The server reads the three files as its own user, and again when\n"
        "they change.\n"
        "\n"
        "If 'eden init' is interrupted, no cluster is created; run it again.",
    .options = options,
    .examples = examples,
    .run = init_run,
};
