/* Joins a cluster: sends join requests until the server admits or rejects this machine, and saves
 * the result. Loop thread.
 *
 *     requesting -> pending     -> requesting ...     an operator has to approve this machine's key
 *                -> unreachable -> requesting ...     no server responds
 *                -> done
 *
 * The server must present a certificate of the pinned CA for the requested name. Without a pin, the
 * CA that the server presents is only a claim: the machine sends one request with it, then waits
 * until a server has logged in to it over SSH (ssh_answer.h) and so verified that CA. The result is
 * completely on disk when `done` is called: a join that is killed at any moment can be restarted
 * and continues with the same key (joining.h). */
#pragma once

#include "agent/joining.h"
#include "membership/node_state.h"
#include "sys/loop.h"

typedef struct NodeJoin NodeJoin;

enum {
    JOIN_REQUEST_MS = 20 * 1000, /* for one request and its response */
    JOIN_POLL_MS = 1000,         /* delay before it first checks for an approval */
    JOIN_POLL_MAX_MS = 15 * 1000,
};

typedef enum NodeJoinState {
    NODE_JOIN_REQUESTING,
    NODE_JOIN_PENDING,
    NODE_JOIN_UNREACHABLE,
    NODE_JOIN_DONE,
} NodeJoinState;

typedef struct NodeJoinWait {
    NodeJoinState state; /* NODE_JOIN_PENDING or NODE_JOIN_UNREACHABLE */
    const char *name;    /* requested name */
    Pin key;             /* pin of its key, which an operator has to approve */
    const Pin *claim;    /* unverified CA presented by the server; NULL if verified */
    const char *why;     /* the server's message, or why it did not respond */
} NodeJoinWait;

typedef struct NodeJoinOptions {
    Loop *loop;
    const char *state_dir;
    Address server; /* address of the server's API */
    Str name;       /* requested name */
    Pin ca;
    bool ca_is_unknown; /* `ca` is not used, and there is no token */
    const Token *token; /* copied; NULL: an operator has to approve it */
    /* Called when the reason for waiting changes. May be NULL. */
    void (*waits)(void *context, const NodeJoinWait *wait);
    /* Called once. `state` is NULL after a failure: ERROR_DENIED if the
     * server rejects it or is not the expected one; ERROR_INVALID for an
     * invalid response; and file system errors. The joiner may be freed here. */
    void (*done)(void *context, const NodeState *state, const Error *err);
    void *context;
} NodeJoinOptions;

/* Starts joining. Fails with ERROR_CONFLICT if this machine is already a node, or another
 * join is running; with ERROR_INVALID for an invalid name; and with file system errors. */
MUST_CHECK bool node_join_new(const NodeJoinOptions *options, NodeJoin **out, Error *err);
void node_join_free(NodeJoin *join); /* may be called before it is done; NULL is allowed */
DEFINE_AUTO(NodeJoin, node_join_free)
