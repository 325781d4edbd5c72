/* Becoming a node: asks a server until it is let in or refused, and keeps what it gains. Loop
 * thread.
 *
 *     asking -> pending -> asking ...     somebody has to approve this machine's key
 *            -> away    -> asking ...     no server answers at present
 *            -> done
 *
 * The server must show that the pinned CA vouches for it under the name by which it is asked. Without
 * a pin, the CA that the server shows is a claim: with it this machine asks, once, and then it waits
 * until a server has asked it over SSH (ssh_answer.h) and so vouched for that CA. What
 * it gains is on disk when `done` is called, and is nothing before all of it is: a joiner that is
 * killed at any moment is started again and goes on with the same key (joining.h). */
#pragma once

#include "agent/joining.h"
#include "cluster/node_state.h"
#include "sys/loop.h"

typedef struct NodeJoin NodeJoin;

enum {
    JOIN_ASK_MS = 20 * 1000, /* for one request and its answer */
    JOIN_POLL_MS = 1000,     /* until the first question whether somebody has approved it */
    JOIN_POLL_MAX_MS = 15 * 1000,
};

typedef enum NodeJoinState {
    NODE_JOIN_ASKING,
    NODE_JOIN_PENDING,
    NODE_JOIN_AWAY,
    NODE_JOIN_DONE,
} NodeJoinState;

typedef struct NodeJoinWait {
    NodeJoinState state; /* NODE_JOIN_PENDING or NODE_JOIN_AWAY */
    const char *name;    /* that it asks for */
    Pin key;             /* of its key: what has to be approved */
    const Pin *claim;    /* the CA that the server has shown and nobody vouched for; else NULL */
    const char *why;     /* in the words of the server, or why there is none */
} NodeJoinWait;

typedef struct NodeJoinOptions {
    Loop *loop;
    const char *state_dir;
    Address server; /* of its API */
    Str name;       /* the one to have */
    Pin ca;
    bool knows_no_ca;   /* `ca` is not looked at, and there is no token */
    const Token *token; /* copied; NULL: somebody has to approve it */
    /* It waits, and not for what it waited for last. May be NULL. */
    void (*waits)(void *context, const NodeJoinWait *wait);
    /* Once. `state` is NULL after a failure: ERROR_DENIED when the server refuses it, or is not who
     * it should be; ERROR_INVALID for an answer that is none; and as the file system fails. The
     * joiner may be freed here. */
    void (*done)(void *context, const NodeState *state, const Error *err);
    void *context;
} NodeJoinOptions;

/* Begins to ask. Fails with ERROR_CONFLICT when this machine is a node already, or is being joined
 * by somebody else; with ERROR_INVALID for a name that is none; and as the file system does. */
MUST_CHECK bool node_join_new(const NodeJoinOptions *options, NodeJoin **out, Error *err);
void node_join_free(NodeJoin *join); /* also before it is done; NULL is fine */
DEFINE_AUTO(NodeJoin, node_join_free)
