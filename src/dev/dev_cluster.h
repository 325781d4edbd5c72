/* A temporary cluster on this machine: a server and agents, each in a copy of the machine with its
 * own namespaces. It ends with the process that opened it, however that ends; if its directory is
 * left behind, the next one removes it.
 *
 * Blocking, with its own loop; the process must have no threads when it is opened. The waiting
 * functions fail with ERROR_UNAVAILABLE if the cluster cannot be started, with ERROR_TIMEOUT, and
 * if the process was asked to stop (SIGINT, SIGTERM), see dev_cluster_is_interrupted.
 *
 *     dev_cluster_open, dev_cluster_wait_server, create a token, dev_cluster_join,
 *     dev_cluster_wait_nodes, dev_cluster_publish, dev_cluster_wait or _run, dev_cluster_close */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "lang/value.h"

typedef struct DevCluster DevCluster;

typedef struct DevOptions {
    uint32_t nodes;
    uint16_t port;      /* port of the API, on 127.0.0.1 */
    bool is_port_fixed; /* otherwise any free port is used if that is taken */
    bool systemd;       /* boots in each node; requires root */
    /* A directory that nodes see live and read-only. In other directories, running programs see
     * changes with a short delay. NULL: none. */
    const char *shared;
    /* A node has exited on its own while the cluster was running; may be NULL. */
    void (*on_node_exit)(void *context, const char *node);
    /* The command of dev_cluster_run was interrupted and is still running; it is killed after
     * `left_ms`, or by the next interrupt. May be NULL. */
    void (*on_interrupt_delay)(void *context, pid_t process, int64_t left_ms);
    void *context;
} DevOptions;

MUST_CHECK bool dev_cluster_open(Arena *arena, const DevOptions *options, DevCluster **out,
                                 Error *err);
/* Removes everything. NULL is allowed. */
void dev_cluster_close(DevCluster *cluster);
DEFINE_AUTO(DevCluster, dev_cluster_close)

MUST_CHECK bool dev_cluster_wait_server(DevCluster *cluster, Error *err);
void dev_cluster_join(DevCluster *cluster, Str token, Str ca_pin);
/* Waits until each has a session with the server. */
MUST_CHECK bool dev_cluster_wait_nodes(DevCluster *cluster, Error *err);

bool dev_cluster_is_interrupted(const DevCluster *cluster);

/* The directory of the server's socket for commands. */
const char *dev_cluster_run_dir(const DevCluster *cluster);
/* Publishes a description (dev_describe) for other processes, including a token for the API. */
MUST_CHECK bool dev_cluster_publish(DevCluster *cluster, Str ca_pin, Str token, Value *description,
                                    Error *err);

/* Waits until it is interrupted, which is success, or until the server has exited. */
MUST_CHECK bool dev_cluster_wait(DevCluster *cluster, Error *err);
/* Like dev_cluster_wait, while a command runs with additional environment variables. `*code` is its
 * exit code; 128 plus the number of the signal that killed it, or of SIGINT if an interrupt did.
 * The command receives the interrupt itself, from the terminal; if it does not exit within ten
 * seconds it is killed, with all its descendants, or immediately upon another interrupt. A
 * command that has the terminal in raw mode, such as a shell or an editor, is not killed. */
MUST_CHECK bool dev_cluster_run(DevCluster *cluster, const char *const *argv,
                                const char *const *variables, int *code, Error *err);
