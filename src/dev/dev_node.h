/* One node of a temporary cluster, in its child process
 * (sys/fork_child.h). Internal to this directory. */
#pragma once

#include <stdint.h>

typedef struct DevNode {
    const char *path; /* directory of the cluster */
    uint32_t number, count;
    uint16_t port;
    const char *group;  /* cgroup in which systemd boots; NULL: no systemd */
    const char *shared; /* see DevOptions */
} DevNode;

/* See ForkChildRun; `context` is a DevNode. */
int dev_node_run(void *context, int channel);
