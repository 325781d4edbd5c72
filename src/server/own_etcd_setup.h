/* Files of this server's own member of the datastore, and etcd while a cluster is created. */
#pragma once

#include "server/server_settings.h"
#include "sys/directory.h"

/* `server` is the directory of the server's files, here and below. Creates the CA of the datastore
 * of a new cluster. */
MUST_CHECK bool own_etcd_make_ca(const Directory *server, const ServerSettings *settings,
                                 int64_t now_ms, Error *err);
/* Issues the certificate of this server's member. */
MUST_CHECK bool own_etcd_issue(const Directory *server, const ServerSettings *settings,
                               int64_t now_ms, Error *err);
/* Writes the settings that the agent reads (datastore/member_settings.h). */
MUST_CHECK bool own_etcd_write_settings(const Directory *server, const ServerSettings *settings,
                                        const Str *endpoints, uint32_t count, Error *err);
/* Both. The CA must be there. */
MUST_CHECK bool own_etcd_prepare(const Directory *server, const ServerSettings *settings,
                                 const Str *endpoints, uint32_t count, int64_t now_ms, Error *err);

/* etcd as the first member of a new datastore. */
typedef struct OwnEtcdRun OwnEtcdRun;
/* Blocks until it responds. Fails with ERROR_NOT_FOUND if etcd is not installed, ERROR_UNAVAILABLE
 * if it does not start, and on file errors. */
MUST_CHECK bool own_etcd_run_start(const char *state_dir, OwnEtcdRun **out, Error *err);
/* Blocks until it has ended. */
MUST_CHECK bool own_etcd_run_stop(OwnEtcdRun *run, Error *err);
void own_etcd_run_free(OwnEtcdRun *run); /* etcd continues to run. NULL is allowed */
