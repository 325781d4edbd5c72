/* The datastore of a server that runs a member of it: renews the certificate, tells the agent where
 * the other members are, and changes the membership while its own member leads, so that an odd
 * number of servers has one. The agent runs etcd itself. Loop thread only. */
#pragma once

#include "cluster/cluster_store.h"
#include "membership/server_record.h"
#include "server/server_store.h"

typedef struct OwnEtcd OwnEtcd;

typedef struct OwnEtcdOptions {
    ClusterStore cluster_store;
    const ServerStore *store;
    const Directory *directory;     /* of the server's files */
    void (*changed)(void *context); /* own_etcd_describe has a new result */
    void *context;
} OwnEtcdOptions;

/* The options must be valid until it is freed. */
OwnEtcd *own_etcd_new(const OwnEtcdOptions *options);
/* Must be called before the state and the store are freed. NULL is allowed here and below. */
void own_etcd_free(OwnEtcd *etcd);
DEFINE_AUTO(OwnEtcd, own_etcd_free)

/* Renews the member's certificate if it is due; called periodically. */
void own_etcd_check(OwnEtcd *etcd);
/* Sets the fields about the datastore in the record of this server. */
void own_etcd_describe(const OwnEtcd *etcd, ServerRecord *out);
/* This server was removed from the cluster: waits until its member was removed from the datastore,
 * handing over first if it leads. `left` is called once, in a later iteration. */
void own_etcd_leave(OwnEtcd *etcd, LoopRun *left, void *context);
