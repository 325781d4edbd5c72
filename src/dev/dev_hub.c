/* Starts and stops the nodes, forwards notifications between them and the owner, and relays the API
 * port. Everything that it started ends with its process. */
#include "dev/dev_hub.h"

#include "dev/dev_channel.h"
#include "dev/dev_node.h"
#include "dev/dev_plan.h"
#include "net/relay.h"
#include "sys/fork_child.h"
#include "sys/link.h"

#define BRIDGE "eden0"

typedef struct Hub Hub;

typedef struct Node {
    Hub *hub;
    DevNode settings; /* settings of its process */
    pid_t process;    /* 0: none */
    DevChannel *channel;
} Node;

struct Hub {
    const DevHub *settings;
    Arena arena;
    Loop *loop;
    Relay *relay;
    DevChannel *owner;
    Node *nodes;
};

/* --- Messages -------------------------------------------------------------------------------- */

static void on_node_line(void *context, Str line)
{
    const Node *node = context;
    DevChannel *owner = node->hub->owner;
    if (str_starts(line, STR(DEV_FAILED " "))) {
        dev_channel_send(owner, "%" STR_FMT, STR_ARG(line));
    } else {
        dev_channel_send(owner, "note %u %" STR_FMT, node->settings.number, STR_ARG(line));
    }
}

static void node_ended(void *context)
{
    const Node *node = context;
    dev_channel_send(node->hub->owner, "ended %u", node->settings.number);
}

/* "join TOKEN PIN", for all nodes but the server. */
static void on_owner_line(void *context, Str line)
{
    const Hub *hub = context;
    for (uint32_t i = 1; i < hub->settings->count; i++) {
        dev_channel_send(hub->nodes[i].channel, "%" STR_FMT, STR_ARG(line));
    }
}

static void owner_ended(void *context)
{
    const Hub *hub = context;
    loop_stop(hub->loop);
}

/* --- Starting -------------------------------------------------------------------------------- */

/* Must be called before the hub leaves the network namespace of its clients. */
static bool open_port(Hub *hub, Error *err)
{
    const DevHub *settings = hub->settings;
    if (relay_open(hub->loop, settings->port, &hub->relay, err)) {
        return true;
    }
    return !settings->is_port_fixed && err->kind == ERROR_CONFLICT &&
           relay_open(hub->loop, 0, &hub->relay, err);
}

static bool make_network(Hub *hub, Error *err)
{
    Address server;
    const char *text =
        arena_format(&hub->arena, "%s:%u", dev_node_address(&hub->arena, 0), relay_port(hub->relay))
            .data;
    if ((!hub->settings->is_root && !fork_child_become_root(err)) ||
        !fork_child_leave_network(err)) {
        return false;
    }
    return (link_make_bridge(BRIDGE, err) &&
            link_add_address(BRIDGE, dev_address(&hub->arena, DEV_HUB_ADDRESS), DEV_PREFIX, err) &&
            link_set_up(BRIDGE, err) && address_parse(str_from_c(text), 0, &server, err) &&
            relay_start(hub->relay, &server, err)) ||
           error_wrap(err, "cannot create the network of the nodes, which requires the modules "
                           "bridge and veth");
}

static bool start_node(Hub *hub, uint32_t number, Error *err)
{
    Node *node = &hub->nodes[number];
    int channel;
    node->hub = hub;
    node->settings =
        (DevNode){ .path = hub->settings->path,
                   .number = number,
                   .count = hub->settings->count,
                   .port = relay_port(hub->relay),
                   .group = hub->settings->group == NULL
                                ? NULL
                                : dev_node_directory(&hub->arena, hub->settings->group, number),
                   .shared = hub->settings->shared };
    ForkChildOptions options = { .is_apart = true,
                                 .run = dev_node_run,
                                 .context = &node->settings };
    DevChannelOptions channel_options = {
        .loop = hub->loop, .line = on_node_line, .ended = node_ended, .context = node
    };
    if (!fork_child_start(&options, &node->process, &channel, err)) {
        return false;
    }
    node->channel = dev_channel_open(&channel_options, channel);
    const char *cable = arena_format(&hub->arena, "eden%u", number + 1).data;
    if (!link_create_veth(cable, BRIDGE, DEV_LINK, node->process, err)) {
        return false;
    }
    dev_channel_send(hub->owner, "node %u %ld", number, (long)node->process);
    dev_channel_send(node->channel, "go");
    return true;
}

static bool start_nodes(Hub *hub, Error *err)
{
    for (uint32_t i = 0; i < hub->settings->count; i++) {
        if (!start_node(hub, i, err)) {
            return error_wrap(err, "%s", dev_node_name(&hub->arena, i));
        }
    }
    return true;
}

static void end_nodes(Hub *hub)
{
    for (uint32_t i = 0; i < hub->settings->count; i++) {
        if (hub->nodes[i].process != 0) {
            dev_channel_close(hub->nodes[i].channel);
            fork_child_end(hub->nodes[i].process);
        }
    }
    for (uint32_t i = 0; i < hub->settings->count; i++) {
        if (hub->nodes[i].process != 0) {
            fork_child_wait(hub->nodes[i].process);
        }
    }
}

static bool start(Hub *hub, Error *err)
{
    if (!open_port(hub, err) || !make_network(hub, err)) {
        return false;
    }
    dev_channel_send(hub->owner, "port %u", relay_port(hub->relay));
    return start_nodes(hub, err);
}

/* Remaining processes end with this one. */
int dev_hub_run(void *context, int channel)
{
    Hub hub = { .settings = context };
    Error err;
    arena_init(&hub.arena, ARENA_UNLIMITED);
    hub.loop = loop_new();
    hub.nodes = ARENA_ARRAY(&hub.arena, Node, hub.settings->count);
    DevChannelOptions channel_options = {
        .loop = hub.loop, .line = on_owner_line, .ended = owner_ended, .context = &hub
    };
    hub.owner = dev_channel_open(&channel_options, channel);
    bool ok = start(&hub, &err);
    if (!ok) {
        dev_channel_send(hub.owner, DEV_FAILED " %d %s", (int)err.kind, err.text);
    }
    loop_run(hub.loop); /* until everything is sent to the owner */
    end_nodes(&hub);
    return ok ? 0 : 1;
}
