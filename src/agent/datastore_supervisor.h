/* Keeps this server's member of the datastore running, if it has one: etcd starts before the server
 * and continues when the agent is restarted or stopped. It is stopped when this machine is no longer
 * a server. Loop thread. */
#pragma once

#include "base/buf.h"
#include "sys/loop.h"

typedef struct DatastoreSupervisor DatastoreSupervisor;

enum {
    DATASTORE_RETRY_MS = 10 * 1000, /* after a failed start, for example because etcd is missing */
};

/* The path is borrowed. */
DatastoreSupervisor *datastore_supervisor_new(Loop *loop, const char *state_dir);
/* etcd continues to run. NULL is allowed. */
void datastore_supervisor_free(DatastoreSupervisor *supervisor);
DEFINE_AUTO(DatastoreSupervisor, datastore_supervisor_free)

/* Checks whether this server has a member; called when files of the server have changed. */
void datastore_supervisor_check(DatastoreSupervisor *supervisor);
/* The process id of etcd; 0: it is not running. */
int64_t datastore_supervisor_pid(const DatastoreSupervisor *supervisor);
/* Appends the status's "datastore" object; nothing if there is no member. */
void datastore_supervisor_print(const DatastoreSupervisor *supervisor, Buf *out);
