/* Calls to an etcd cluster: a connection to one member at a time, and to another one when that fails.
 * Loop thread.
 *
 * A member is used once it has answered a linearizable read, which proves that it is in touch with a
 * majority. When it fails later, calls that are known to have had no effect, and all reads, are
 * repeated elsewhere until their time is over; other writes end with ERROR_UNKNOWN. A member that
 * only lost its leader keeps the calls that it has, and gets no new ones. */
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
    TlsContext *tls; /* of a client, for "h2"; must outlive the client */
    /* of a call, from when it is made until its response; 0: ETCD_TIMEOUT_MS */
    int64_t timeout_ms;
    /* Calls are sent to a member from now on, and streams can be started. `header` is from its first
     * response. */
    void (*ready)(void *context, const EtcdHeader *header);
    /* They are not anymore: streams must be canceled now. */
    void (*lost)(void *context);
    void *context;
} EtcdClientOptions;

EtcdClient *etcd_client_new(const EtcdClientOptions *options);
/* Completes pending calls: those that were sent and write with ERROR_UNKNOWN, others with
 * ERROR_UNAVAILABLE. `lost` is not called. NULL is allowed. */
void etcd_client_free(EtcdClient *client);
DEFINE_AUTO(EtcdClient, etcd_client_free)

/* `err` is NULL on success, and `response` is valid during the call. Errors that are not etcd's:
 * ERROR_UNAVAILABLE (not applied), ERROR_UNKNOWN (only of a call that writes), ERROR_LIMIT (the
 * response of a read is too large). */
typedef void EtcdCallDone(void *context, Str response, const Error *err);

/* `path` is a literal. Copies the request. `done` follows in a later iteration of the loop. */
void etcd_client_call(EtcdClient *client, const char *path, Str request, bool writes,
                      EtcdCallDone *done, void *context);

/* A stream to the member in use. Fails with ERROR_UNAVAILABLE if there is none. */
MUST_CHECK bool etcd_client_stream(EtcdClient *client, const char *path, const GrpcHandler *handler,
                                   void *data, GrpcCall **out, Error *err);
/* A stream of the member in use failed: the member may not be able to serve. */
void etcd_client_suspect(EtcdClient *client, const Error *why);

bool etcd_client_is_ready(const EtcdClient *client);
/* The endpoint in use, or that is being tried. */
uint32_t etcd_client_endpoint(const EtcdClient *client);
/* Why there was no member to use, most recently; empty: never. */
const char *etcd_client_last_error(const EtcdClient *client);
