/* Calls to an etcd cluster, over a connection to one member at a time, with failover. Loop thread.
 *
 * A member is used once it has answered a linearizable read, which proves that it can reach a
 * majority. If it fails later, reads, and calls that are known to have had no effect, are retried
 * on another member until they time out; other writes end with ERROR_UNKNOWN. If a member only lost
 * its leader, its pending calls continue, but new calls are sent to another member. */
#pragma once

#include "etcd/message.h"
#include "net/address.h"
#include "net/grpc.h"
#include "net/tls.h"

enum {
    ETCD_ENDPOINTS_MAX = 16,
    ETCD_TIMEOUT_MS = 5000,
};

typedef struct EtcdClient EtcdClient;

typedef struct EtcdClientOptions {
    Loop *loop;
    const Address *endpoints; /* copied; 1 to ETCD_ENDPOINTS_MAX. Certificates must contain them. */
    uint32_t endpoint_count;
    TlsContext *tls; /* client context, protocol "h2"; must outlive the client */
    /* timeout of a call, including retries; 0: ETCD_TIMEOUT_MS */
    int64_t timeout_ms;
    /* A member is connected: calls are sent to it, and streams can be started. `header` is from its
     * first response. */
    void (*ready)(void *context, const EtcdHeader *header);
    /* The connection to the member was lost: streams must be canceled now. */
    void (*lost)(void *context);
    void *context;
} EtcdClientOptions;

EtcdClient *etcd_client_new(const EtcdClientOptions *options);
/* Completes pending calls: with ERROR_UNKNOWN for writes already sent, with
 * ERROR_UNAVAILABLE for others. `lost` is not called. NULL is allowed. */
void etcd_client_free(EtcdClient *client);
DEFINE_AUTO(EtcdClient, etcd_client_free)

/* `err` is NULL on success, and `response` is valid during the call. Errors that are not etcd's:
 * ERROR_UNAVAILABLE (not applied), ERROR_UNKNOWN (only of a call that writes), ERROR_LIMIT (the
 * response of a read is too large). */
typedef void EtcdCallDone(void *context, Str response, const Error *err);

/* `path` must be a string literal. Copies the request. `done` is called in a later iteration of the
 * loop. */
void etcd_client_call(EtcdClient *client, const char *path, Str request, bool writes,
                      EtcdCallDone *done, void *context);

/* Starts a stream to the connected member. Fails with ERROR_UNAVAILABLE if no member is
 * connected. */
MUST_CHECK bool etcd_client_stream(EtcdClient *client, const char *path, const GrpcHandler *handler,
                                   void *data, GrpcCall **out, Error *err);
/* Reports that a stream of the connected member failed, so the member may be faulty. */
void etcd_client_report_failure(EtcdClient *client, const Error *why);

/* Replaces the endpoints. The connection in use is kept if its endpoint is one of them. */
void etcd_client_set_endpoints(EtcdClient *client, const Address *endpoints, uint32_t count);

bool etcd_client_is_ready(const EtcdClient *client);
/* Why the last member could not be used; empty if there was no failure. */
const char *etcd_client_last_error(const EtcdClient *client);
