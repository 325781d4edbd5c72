/* The process that runs the nodes of a temporary cluster. It has its own network namespace with a
 * bridge that connects the nodes, and forwards connections from the API port to the server.
 * Internal to this directory.
 *
 * Lines to the hub:
 *     join TOKEN PIN         make all nodes except the first join
 * Lines from it:
 *     port NUMBER            port of the API
 *     node NUMBER PROCESS    a node was started; numbers start at 0
 *     note NUMBER TEXT       a notification from its agent: "STATUS=..."
 *     ended NUMBER
 *     failed KIND TEXT       an Error: the cluster cannot be started
 * The last one also comes from a node, which otherwise sends the notifications from its agent
 * unchanged; nodes receive "join" as above, and before that one line when their network is up.
 *
 * When the channel is closed, the hub stops its nodes and exits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DEV_LINK   "eth0" /* network interface of a node */
#define DEV_FAILED "failed"

enum {
    DEV_LINE_MAX = 2048
};

typedef struct DevHub {
    const char *path;
    uint32_t count;
    uint16_t port;
    bool is_port_fixed; /* otherwise any free port if that is in use */
    bool is_root;       /* has root privileges; otherwise in a user namespace */
    /* cgroup, below which nodes with systemd have theirs; NULL: without systemd */
    const char *group;
    const char *shared; /* see DevOptions */
} DevHub;

/* See ForkChildRun; `context` is a DevHub. */
int dev_hub_run(void *context, int channel);
