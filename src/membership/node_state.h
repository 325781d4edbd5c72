/* The state of a machine as a node, in files of its agent's directory:
 *
 *     node.pem    its key and certificate
 *     ca.pem      all CAs to trust
 *     node.json   its name, its cluster, and the addresses of servers: "eden.agent/1"
 *     watched-node.json   the cluster's record of it (membership/watched_image.h)
 *
 * node.json is written last when a machine joins and removed first when it leaves: without it the
 * others have no meaning. */
#pragma once

#include "base/buf.h"
#include "base/identity.h"
#include "membership/node_record.h"
#include "sys/directory.h"

/* In the state directory, only for root. */
#define AGENT_DIRECTORY  "agent"
#define AGENT_CREDENTIAL "node.pem"
#define AGENT_BUNDLE     "ca.pem"
#define AGENT_STATE      "node.json"
/* other files in the same directory, which belong to the agent: */
#define AGENT_ENROLLMENT "enrolment"
#define AGENT_JOINING    "joining" /* directory with the state of a pending join */
#define AGENT_SPOOL      "spool"   /* directory with records to send */

enum {
    NODE_STATE_MAX = 64 << 10, /* maximum size in bytes */
    NODE_SERVERS_MAX = 32,
    AGENT_BUNDLE_MAX = 256 << 10, /* maximum size in bytes */
};

typedef struct NodeServer {
    char node[NODE_NAME_MAX + 1]; /* name that its certificate must have */
    Str rpc;                      /* "10.0.0.1:1337" */
    Str api;                      /* "10.0.0.1:1338" */
    Value unknown;                /* fields that a newer eden wrote */
} NodeServer;

typedef struct NodeState {
    char cluster[CLUSTER_NAME_MAX + 1];
    char node[NODE_NAME_MAX + 1];
    const NodeServer *servers; /* at least one */
    uint32_t server_count;
    Value unknown;
} NodeState;

void node_state_print(const NodeState *state, Buf *out);
/* Strings are allocated in the arena. Fails with ERROR_INVALID, naming what is wrong. */
MUST_CHECK bool node_state_read(Arena *arena, Str text, NodeState *out, Error *err);

/* Writes the file in the agent's directory. Durable when it returns. */
MUST_CHECK bool node_state_save(const Directory *agent, const NodeState *state, Error *err);
/* Fails with ERROR_NOT_FOUND if this machine is not a node. */
MUST_CHECK bool node_state_load(const Directory *agent, Arena *arena, NodeState *out, Error *err);

/* The cluster's record of this machine, as its agent last received it; available while the agent is
 * down, and deleted when the machine leaves the cluster. `state_dir` is that of the agent.
 * ERROR_NOT_FOUND: this machine is not a node of a cluster, or has received nothing yet;
 * ERROR_DENIED: only root may read it; ERROR_INVALID: it is damaged. */
MUST_CHECK bool node_state_load_record(const char *state_dir, Arena *arena, NodeRecord *out,
                                       Error *err);
