/* A temporary cluster on this machine: a server and agents, each in a copy of the machine with
 * its own namespaces. It ends with the process that opened it, however that ends; if its
 * directory is left behind, the next one removes it.
 *
 * Blocking, with its own loop; the process must have no threads when it is opened. The waiting
 * functions fail with ERROR_UNAVAILABLE if the cluster cannot be started, with ERROR_TIMEOUT,
 * and if the process was asked to stop (SIGINT, SIGTERM), see dev_cluster_is_asked_to_end.
 *
 *     dev_cluster_open, dev_cluster_wait_server, create a token, dev_cluster_join,
 *     dev_cluster_wait_nodes, dev_cluster_tell, dev_cluster_stay or _run, dev_cluster_close */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "lang/value.h"

typedef struct DevCluster DevCluster;

typedef struct DevOptions {
    uint32_t nodes;
    uint16_t port;      /* of the API, on 127.0.0.1 */
    bool is_port_fixed; /* else any other when it is taken */
    bool systemd;       /* boots in each node; takes root */
    /* A node has ended by itself while the cluster stayed; may be NULL. */
    void (*lost)(void *context, const char *node);
    /* The command of dev_cluster_run was asked to end, and goes on; it is killed after `left_ms`, or
     * when it is asked once more. May be NULL. */
    void (*waits)(void *context, pid_t process, int64_t left_ms);
    void *context;
} DevOptions;

MUST_CHECK bool dev_cluster_open(Arena *arena, const DevOptions *options, DevCluster **out,
                                 Error *err);
/* All of it is gone afterwards. NULL is allowed. */
void dev_cluster_close(DevCluster *cluster);
DEFINE_AUTO(DevCluster, dev_cluster_close)

MUST_CHECK bool dev_cluster_wait_server(DevCluster *cluster, Error *err);
void dev_cluster_join(DevCluster *cluster, Str token, Str ca_pin);
/* Until each has a session with the server. */
MUST_CHECK bool dev_cluster_wait_nodes(DevCluster *cluster, Error *err);

bool dev_cluster_is_asked_to_end(const DevCluster *cluster);

/* Where the server listens for commands. */
const char *dev_cluster_run_dir(const DevCluster *cluster);
/* What it is (dev_describe), for others to find it by; with a token for the API. */
MUST_CHECK bool dev_cluster_tell(DevCluster *cluster, Str ca_pin, Str token, Value *card,
                                 Error *err);

/* Until it is asked to end, which is true, or the server has ended. */
MUST_CHECK bool dev_cluster_stay(DevCluster *cluster, Error *err);
/* The same while a command runs for the user, which gets these variables besides. `*code` is its exit
 * code; 128 and the number of a signal that has ended it, that of SIGINT when an interrupt did in the
 * end. An interrupt is heard by the command itself, from the terminal; whoever does not end then within
 * ten seconds is killed, with all that comes from it, and at once when there is another. One that reads
 * the terminal key by key, as a shell or an editor, is left to itself. */
MUST_CHECK bool dev_cluster_run(DevCluster *cluster, const char *const *argv,
                                const char *const *variables, int *code, Error *err);
