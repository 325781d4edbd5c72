#include "datastore/member_link.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "etcd/failure.h"
#include "net/grpc_client.h"

enum {
    OPEN_MS = 2000,
    RESPONSE_MAX = 1 << 20,
};

struct MemberLink {
    Loop *loop;
    Address address;
    TlsContext *tls;
    GrpcClient *grpc; /* NULL: not connected */
    bool is_closed;   /* the connection was lost; it is freed before the next call */
    bool is_freed;
    MemberLinkDone *done; /* of the pending call; NULL if there is none */
    void *context;
    LoopTask failure_task;
    Error failure; /* why a call could not be sent */
};

static void complete(MemberLink *link, Str response, const Error *err)
{
    MemberLinkDone *done = TAKE(link->done);
    if (done != NULL && !link->is_freed) {
        done(link->context, response, err);
    }
}

static void response_received(void *context, GrpcStatus status, Str text, Str response)
{
    MemberLink *link = context;
    if (status == GRPC_OK) {
        complete(link, response, NULL);
    } else {
        EtcdFailure failure = etcd_failure(status, text);
        complete(link, STR_EMPTY, &failure.err);
    }
}

static void closed(void *context, const Error *why)
{
    ((MemberLink *)context)->is_closed = true;
}

static void report_failure(void *context)
{
    MemberLink *link = context;
    complete(link, STR_EMPTY, &link->failure);
}

static void reconnect(MemberLink *link)
{
    grpc_client_free(link->grpc);
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = link->loop;
    options.address = link->address;
    options.tls = link->tls;
    options.tls_host = link->address.host;
    options.open_timeout_ms = OPEN_MS;
    options.response_max = RESPONSE_MAX;
    options.closed = closed;
    options.context = link;
    link->is_closed = false;
    link->grpc = grpc_client_new(&options);
}

MemberLink *member_link_new(Loop *loop, const Address *address, TlsContext *tls)
{
    MemberLink *link = memory_new(sizeof *link);
    link->loop = loop;
    link->address = *address;
    link->tls = tls;
    loop_task_init(&link->failure_task, report_failure, link);
    return link;
}

void member_link_free(MemberLink *link)
{
    if (link != NULL) {
        link->is_freed = true;
        grpc_client_free(link->grpc);
        loop_task_stop(link->loop, &link->failure_task);
        free(link);
    }
}

const Address *member_link_address(const MemberLink *link)
{
    return &link->address;
}

void member_link_call(MemberLink *link, const char *path, Str request, int64_t timeout_ms,
                      MemberLinkDone *done, void *context)
{
    BUG_IF(link->done != NULL);
    link->done = done;
    link->context = context;
    if (link->grpc == NULL || link->is_closed) {
        reconnect(link);
    }
    if (!grpc_client_unary(link->grpc, path, request, timeout_ms, response_received, link,
                           &link->failure)) {
        link->is_closed = true;
        loop_defer(link->loop, &link->failure_task);
    }
}

bool member_url_parse(Str url, Address *out, Error *err)
{
    Str scheme = STR("https://");
    return str_starts(url, scheme)
               ? address_parse(str_from_offset(url, scheme.len), 0, out, err)
               : error_set(err, ERROR_INVALID, "'%" STR_FMT "' does not start with https://",
                           STR_ARG(url));
}
