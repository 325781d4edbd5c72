/* A node of fleet.c: the real decisions of an agent about its runs (agent/run_queue.h) in a
 * simulated machine: a disk, processes that are killed, a lock that others hold, an outbox and an
 * upload whose messages are lost and repeated. Checks what it does, and reports violations to its
 * host. */
#pragma once

#include "agent/run_queue.h"

enum {
    SIM_RUNS_MAX = 12,
    SIM_STEPS = 3, /* of each run */
};

typedef enum SimNodeEvent {
    SIM_STARTED,
    SIM_QUEUED,
    SIM_LOCKED,
    SIM_REQUEUED,
    SIM_SIGNALED,
    SIM_FORGOTTEN,
    SIM_AGENT_KILLED,
    SIM_RUNNER_KILLED,
    SIM_REBOOTED,
    SIM_ACTED_AGAIN,
    SIM_LOST,
    SIM_REPEATED,
    SIM_NODE_EVENTS,
} SimNodeEvent;

extern const char *const sim_node_event_names[SIM_NODE_EVENTS];

typedef struct SimNodeHost {
    int64_t (*random_below)(void *context, int64_t below);
    int64_t (*now_ms)(void *context);
    /* The server accepts a result of this node. */
    void (*report)(void *context, uint32_t run, const NodeResult *result);
    void (*note)(void *context, SimNodeEvent event);
    void (*fail)(void *context, const char *what, uint32_t run);
    void *context;
} SimNodeHost;

typedef struct SimNode SimNode;

SimNode *sim_node_new(const SimNodeHost *host);
void sim_node_free(SimNode *node);
/* Sets the orders that the node receives: all of them, between begin and end. */
void sim_node_orders_begin(SimNode *node);
void sim_node_order(SimNode *node, uint32_t at, const Order *order);
void sim_node_orders_end(SimNode *node);
bool sim_node_has_agent(const SimNode *node);
void sim_node_fault(SimNode *node);
/* Runs everything that is due. */
void sim_node_step(SimNode *node, bool is_connected);
/* Whether the run was abandoned before it started, because its order was withdrawn. */
bool sim_node_has_forgotten(const SimNode *node, uint32_t run);
/* Fails if a run is not finished or not reported. */
void sim_node_check_end(SimNode *node);
