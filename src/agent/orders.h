/* Executes the orders of the cluster on this node: starts a runner for each run (`eden apply` and
 * `eden plan` with --events, as a process that survives this one), uploads its events, and reports
 * its result. run_queue.h decides what to do next; local_run.h describes the files on disk. Loop
 * thread. */
#pragma once

#include "agent/refused_orders.h"
#include "agent/runner.h"
#include "membership/watched_image.h"
#include "net/grpc_client.h"

typedef struct Orders Orders;

enum {
    ORDERS_RETRY_MS = 10 * 1000, /* delay after the disk has failed */
};

/* The directories of a site version, and of the list of all nodes (NULL: not used); borrowed. On
 * failure `path` is NULL. */
typedef void OrdersFetchDone(void *context, const char *path, const char *servers,
                             const Error *err);

typedef struct OrdersOptions {
    Loop *loop;
    RunnerNode node;        /* borrowed, like everything here except its name */
    const Directory *state; /* the state directory of the node */
    Str boot_id;            /* copied */
    /* Makes the files of a version available; `fetched` is called in a later iteration. */
    void (*fetch)(void *context, Str manifest, Str version, OrdersFetchDone *fetched,
                  void *fetched_context);
    /* Adds a result to the outbox. Fails if that is full; orders_room() is called later. */
    OrderReport *report;
    /* The connection to the server, or NULL. */
    GrpcClient *(*client)(void *context);
    void *context;
} OrdersOptions;

/* Finds the runs of an earlier agent, and their runners. */
Orders *orders_open(const OrdersOptions *options);
/* Runners continue to run. NULL is allowed. */
void orders_close(Orders *orders);
DEFINE_AUTO(Orders, orders_close)

/* Sets all orders of the node, as last received; borrowed until the next call. Runs are started
 * from then on. */
void orders_set(Orders *orders, const WatchedImage *image);
/* Called when records up to this number are durable. */
void orders_stored(Orders *orders, uint64_t sequence);
void orders_room(Orders *orders);
void orders_connected(Orders *orders);
