#include "service/pki_service.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/rate.h"
#include "service/pki_message.h"

/* A node needs one every few weeks, and a few more during a CA rotation. */
enum {
    RENEW_BURST = 30,
    RENEW_EVERY_S = 6
};

struct PkiService {
    const CertifySettings *settings;
    RateTable renewals; /* rates of renewals by node name */
};

/* A call that waits for the store. The store always completes it; the call may have ended by
 * then. */
typedef struct RenewCall {
    GrpcCall *call; /* NULL once the call has ended */
} RenewCall;

static void renewed(void *context, const Certified *certified, const Error *err)
{
    RenewCall *renewing = context;
    GrpcCall *call = renewing->call;
    free(renewing);
    if (call == NULL) {
        return;
    }
    grpc_call_set_data(call, NULL);
    Error failure;
    AUTO_CLEAR(Buf) out = buf_make(RENEW_REPLY_MAX);
    if (err == NULL) {
        renew_reply_encode(&(RenewReply){ certified->certificate, certified->bundle }, &out);
        BUG_IF(out.overflow);
        log_info("node certificate renewed", LOG_C("node", certified->leaf->identity.node),
                 LOG_C("serial", certified->leaf->serial));
        err = grpc_call_send(call, buf_str(&out), &failure) ? NULL : &failure;
    }
    if (err == NULL) {
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    } else {
        grpc_call_fail(call, err);
    }
}

/* Each renewal costs a signature and a write, which others have to wait for. */
static bool may_renew(PkiService *service, const char *node, Error *err)
{
    const RateLimit limit = { .per_second = 1, .burst = RENEW_BURST };
    int64_t now = loop_now_ms(service->settings->cluster_store.loop) / RENEW_EVERY_S;
    return rate_table_take(&service->renewals, hash_str(str_from_c(node)), limit, now, 1) ||
           error_set(err, ERROR_LIMIT, "'%s' has renewed its certificate %d times; try again later",
                     node, RENEW_BURST);
}

static void on_renew(GrpcCall *call, Str message)
{
    PkiService *service = dispatch_data(call);
    const TlsPeer *peer = &grpc_call_peer(call)->tls;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    Str csr;
    if (!may_renew(service, peer->identity.node, &err) ||
        !renew_request_decode(&arena, message, &csr, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    RenewCall *renewing = memory_new(sizeof *renewing);
    renewing->call = call;
    grpc_call_set_data(call, renewing);
    certify_renew(service->settings, str_from_c(peer->identity.node), str_from_c(peer->serial), csr,
                  renewed, renewing);
}

static void renew_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    RenewCall *renewing = grpc_call_data(call);
    if (renewing != NULL) {
        renewing->call = NULL;
    }
}

static const GrpcHandler renew_handler = { .message = on_renew, .ended = renew_ended };

PkiService *pki_service_new(const CertifySettings *settings)
{
    PkiService *service = memory_new(sizeof *service);
    service->settings = settings;
    return service;
}

void pki_service_free(PkiService *service)
{
    free(service);
}

MethodBinding pki_service_binding(PkiService *service)
{
    return (MethodBinding){ METHOD_PKI_RENEW, &renew_handler, service };
}
