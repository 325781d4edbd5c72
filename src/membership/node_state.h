/* What a machine knows of itself as a node, in files of its agent's directory:
 *
 *     node.pem    its key and certificate
 *     ca.pem      every CA to trust
 *     node.json   which node of which cluster it is, and where the servers are: "eden.agent/1"
 *     watched-node.json   what the cluster's record of it says (membership/watched_image.h)
 *
 * node.json is written last when a machine becomes a node and goes first when it is none any more:
 * without it the others mean nothing. */
#pragma once

#include "base/buf.h"
#include "base/identity.h"
#include "membership/node_record.h"
#include "sys/directory.h"

/* Below the state directory, for root alone. */
#define AGENT_DIRECTORY  "agent"
#define AGENT_CREDENTIAL "node.pem"
#define AGENT_BUNDLE     "ca.pem"
#define AGENT_STATE      "node.json"
#define AGENT_ENROLMENT  "enrolment" /* of which other files of the agent are, and so the spool */
#define AGENT_JOINING    "joining" /* a directory: what a machine keeps that asks to become a node */
#define AGENT_SPOOL      "spool"   /* a directory: what it has to tell */

enum {
    NODE_STATE_MAX = 64 << 10, /* bytes */
    NODE_SERVERS_MAX = 32,
    AGENT_BUNDLE_MAX = 256 << 10, /* bytes */
};

typedef struct NodeServer {
    char node[NODE_NAME_MAX + 1]; /* whose certificate it must show */
    Str rpc;                      /* "10.0.0.1:1337" */
    Str api;                      /* "10.0.0.1:1338" */
    Value unknown;                /* what a newer eden wrote beside that */
} NodeServer;

typedef struct NodeState {
    char cluster[CLUSTER_NAME_MAX + 1];
    char node[NODE_NAME_MAX + 1];
    const NodeServer *servers; /* at least one */
    uint32_t server_count;
    Value unknown;
} NodeState;

void node_state_print(const NodeState *state, Buf *out);
/* Texts are the arena's. Fails with ERROR_INVALID, naming what is wrong. */
MUST_CHECK bool node_state_read(Arena *arena, Str text, NodeState *out, Error *err);

/* Of the agent's directory. Durable when it returns. */
MUST_CHECK bool node_state_save(const Directory *agent, const NodeState *state, Error *err);
/* Fails with ERROR_NOT_FOUND when this machine is no node. */
MUST_CHECK bool node_state_load(const Directory *agent, Arena *arena, NodeState *out, Error *err);

/* What the cluster's record of this machine says, as its agent was told last: also while the agent is
 * down. Leaving the cluster takes it away. `state_dir` is that of the agent. False with ERROR_NOT_FOUND:
 * this machine is no node of a cluster, or was told nothing yet; ERROR_DENIED: it is for root alone;
 * ERROR_INVALID: it is damaged. */
MUST_CHECK bool node_state_load_record(const char *state_dir, Arena *arena, NodeRecord *out,
                                       Error *err);
