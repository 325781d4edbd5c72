/* /v1/join */
#include "api/call.h"
#include "api/handlers.h"

static const int statuses[] = {
    [JOIN_ADMITTED] = 200,
    [JOIN_PENDING] = 202,
    [JOIN_REFUSED] = 403,
};

static void on_joined(void *context, const JoinReply *reply, const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    join_reply_print(reply, &json);
    call_respond(call, statuses[reply->result], &json);
}

void join_post(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    if (settings->admission == NULL) {
        call_refuse(call, 503, "joining is currently not available on this server");
        return;
    }
    call->is_joining = true;
    admission_decide(settings->admission, call_body(call),
                     http_request_peer(call->request)->address, on_joined, call);
}
