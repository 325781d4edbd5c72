#include "service/pki_service.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "service/pki_message.h"

struct PkiService {
    const CertifySettings *settings;
};

/* A call that waits for the store; the store answers in any case, the call may be gone. */
typedef struct Renewing {
    GrpcCall *call; /* NULL: it is */
} Renewing;

static void renewed(void *context, const Certified *certified, const Error *err)
{
    Renewing *renewing = context;
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
        log_info("a node has renewed its certificate", LOG_C("node", certified->own->identity.node),
                 LOG_C("serial", certified->own->serial));
        err = grpc_call_send(call, buf_str(&out), &failure) ? NULL : &failure;
    }
    if (err == NULL) {
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    } else {
        grpc_call_fail(call, err);
    }
}

static void renew_came(GrpcCall *call, Str message)
{
    const PkiService *service = dispatch_data(call);
    const TlsPeer *peer = &grpc_call_peer(call)->tls;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    Str csr;
    if (!renew_request_decode(&arena, message, &csr, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    Renewing *renewing = memory_new(sizeof *renewing);
    renewing->call = call;
    grpc_call_set_data(call, renewing);
    certify_renew(service->settings, str_from_c(peer->identity.node), str_from_c(peer->serial), csr,
                  renewed, renewing);
}

static void renew_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Renewing *renewing = grpc_call_data(call);
    if (renewing != NULL) {
        renewing->call = NULL;
    }
}

static const GrpcHandler renew_handler = { .message = renew_came, .ended = renew_ended };

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
