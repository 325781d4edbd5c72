/* The process that the nodes of a cluster to throw away belong to. It has a network of its own, with a
 * switch in it to which each node has a cable, and passes connections to the port of the API on to
 * the server. For the files here alone.
 *
 * Lines to the hub:
 *     join TOKEN PIN         the nodes but the first are to join
 * Lines from it:
 *     port NUMBER            the API is going to be there
 *     node NUMBER PROCESS    it is started; numbers are from 0
 *     note NUMBER TEXT       what its agent tells: "STATUS=..."
 *     ended NUMBER
 *     failed KIND TEXT       as an Error: there is not going to be a cluster
 * The same last one comes from a node, which otherwise sends what its agent tells as it is; to nodes
 * it sends "join" as above, and before that one line when the cable is there.
 *
 * When the channel ends it ends its nodes, and itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DEV_LINK   "eth0" /* of a node */
#define DEV_FAILED "failed"

enum {
    DEV_LINE_MAX = 2048
};

typedef struct DevHub {
    const char *folder;
    uint32_t count;
    uint16_t port;
    bool is_port_fixed; /* else another one is as good when that is taken */
    bool is_root;       /* has the rights that it takes; else a user namespace gives them */
    const char *group;  /* of processes: below it those of nodes with systemd; NULL: without */
} DevHub;

/* An OffshootRun; `context` is a DevHub. */
int dev_hub_run(void *context, int channel);
