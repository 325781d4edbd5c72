/* Shared by create_cluster.c and restore_cluster.c: the steps to create a cluster on
 * this machine, whether its CA and its store are new or come from a backup. */
#pragma once

#include "membership/node_record.h"
#include "pki/credential.h"
#include "server/create_cluster.h"
#include "server/own_etcd_setup.h"
#include "sys/file_lock.h"

#define CREATE_LOCK "founding" /* in the agent's directory */

typedef struct ClusterSetup {
    const ClusterSpec *spec;
    ServerSettings settings;
    Arena arena;
    Directory server, agent;
    FileLock lock; /* prevents concurrent attempts */
    Credential ca; /* the CA that signs */
    NodeRecord node;
    Str report;         /* trust report of the node */
    bool replaces_lost; /* a cluster without a store does not count as one */
    bool is_joining;    /* the machine is a node of an existing cluster, and becomes a server */
    bool has_state;     /* the agent's state was written */
    Str revocations;    /* updated list; empty: unchanged */
    Str others;         /* certificates of other trusted CAs; PEM */
    OwnEtcdRun *etcd;   /* while the cluster is created; NULL: not its own */
} ClusterSetup;

/* Creates a key and the certificate of the node on this machine, as a file. */
typedef struct NodeIssue {
    const Directory *directory;
    const char *file;
    const Credential *ca;
    const ServerSettings *settings; /* settings of the server */
    Str enrollment;
    int64_t now_ms;
} NodeIssue;
MUST_CHECK bool node_issue(Arena *arena, const NodeIssue *issue, Certificate *out, Pin *pin,
                           Error *err);
/* Sets the server address that the agent of this machine uses. */
MUST_CHECK bool own_node_state_save(Arena *arena, const Directory *agent,
                                    const ServerSettings *settings, Error *err);

void setup_init(ClusterSetup *setup, const ClusterSpec *spec);
void setup_clear(ClusterSetup *setup);

typedef bool SetupStep(ClusterSetup *setup, Error *err);

/* Opens the directories, and creates them if missing; ERROR_CONFLICT if there is a cluster. */
MUST_CHECK bool setup_open(ClusterSetup *setup, Error *err);
/* Removes leftovers, so that files found later are complete. */
MUST_CHECK bool setup_drop_leftover(const ClusterSetup *setup, Error *err);
/* Runs a step as the user that the server will run as. */
MUST_CHECK bool setup_as_server(ClusterSetup *setup, SetupStep *step, Error *err);
/* Sets the known fields of the node's record, and generates a store ID. */
MUST_CHECK bool setup_begin(ClusterSetup *setup, Error *err);
/* Creates the keys and certificates of the server, issued by the CA; runs as the server. */
MUST_CHECK bool setup_make_server(ClusterSetup *setup, Error *err);
/* Creates the certificate and state of the agent of this machine. */
MUST_CHECK bool setup_make_agent(ClusterSetup *setup, Error *err);
/* Starts the first member of a new datastore, if the settings call for one; it runs until the
 * settings are written. */
MUST_CHECK bool setup_start_etcd(ClusterSetup *setup, Error *err);
/* Stops it: the agent starts it again. */
MUST_CHECK bool setup_stop_etcd(ClusterSetup *setup, Error *err);
/* Called after a failed step, so that this machine does not count as a node. */
void setup_undo(ClusterSetup *setup);
/* Writes the node to the store that `where` names, and replaces all content unless `keep` is set;
 * in etcd, there must be none. Runs as the server. */
MUST_CHECK bool setup_write_store(ClusterSetup *setup, const ServerSettings *where, bool keep,
                                  Error *err);
/* The last step, after which the cluster exists. Runs as the server. */
MUST_CHECK bool setup_write_settings(ClusterSetup *setup, Error *err);
