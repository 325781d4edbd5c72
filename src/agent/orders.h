/* Executes the orders of the cluster on this node: starts a runner for each run (`eden apply` and
 * `eden plan` with --events, as a process that survives this one), uploads its events, and reports
 * what became of it. What happens next is decided in run_queue.h; what is on disk is described in
 * local_run.h. Loop thread. */
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
typedef void OrdersFetched(void *context, const char *path, const char *servers, const Error *err);

typedef struct OrdersOptions {
    Loop *loop;
    RunnerNode node;        /* borrowed, like everything here, but for its name */
    const Directory *state; /* the state directory of the node */
    Str boot_id;            /* copied */
    /* Makes the files of a version available; `fetched` follows in a later iteration. */
    void (*fetch)(void *context, Str manifest, Str version, OrdersFetched *fetched,
                  void *fetched_context);
    /* Adds a result to the outbox. Fails if that is full; orders_room() follows. */
    OrderReport *report;
    /* The connection to the server; NULL if there is none. */
    GrpcClient *(*client)(void *context);
    void *context;
} OrdersOptions;

/* Finds the runs that an earlier agent has left, and their runners. */
Orders *orders_open(const OrdersOptions *options);
/* The runners continue. NULL is allowed. */
void orders_close(Orders *orders);
DEFINE_AUTO(Orders, orders_close)

/* All orders of the node, as received last; borrowed until the next call. From then on runs are
 * started. */
void orders_take(Orders *orders, const WatchedImage *image);
/* Records up to this number are durable. */
void orders_stored(Orders *orders, uint64_t sequence);
void orders_room(Orders *orders);
void orders_connected(Orders *orders);
