/* An etcd cluster on loopback with mutual TLS, of processes that end with this one: the real etcd
 * that EDEN_ETCD names. Functions block, and fail the test if something goes wrong. */
#pragma once

#include "base/arena.h"
#include "net/tls.h"
#include "store/store.h"

enum {
    ETCD_MEMBERS_MAX = 3
};

typedef struct EtcdCluster EtcdCluster;

EtcdCluster *etcd_cluster_start(uint32_t members);
void etcd_cluster_stop(EtcdCluster *cluster); /* NULL is allowed */

/* Both belong to the caller; the store must be closed first. */
TlsContext *etcd_cluster_tls(EtcdCluster *cluster, Loop *loop);
Store *etcd_cluster_open(EtcdCluster *cluster, Loop *loop, TlsContext *tls,
                         const StoreSettings *settings, int64_t timeout_ms);

/* The member that leads; waits until all running members agree on it. */
uint32_t etcd_cluster_leader(EtcdCluster *cluster);
/* Moves leadership to the next member. */
void etcd_cluster_move_leader(EtcdCluster *cluster);
/* Kills a member at once. */
void etcd_cluster_kill(EtcdCluster *cluster, uint32_t at);
/* Starts a killed one again, without waiting for it. */
void etcd_cluster_restart(EtcdCluster *cluster, uint32_t member);
/* Waits until all members run and agree on a leader. */
void etcd_cluster_settle(EtcdCluster *cluster);
/* Stops a member's process from running, or lets it continue. */
void etcd_cluster_pause(EtcdCluster *cluster, uint32_t member, bool is_paused);
