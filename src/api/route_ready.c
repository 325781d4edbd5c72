/* /healthz and /readyz, for those who watch over servers: short, and for anybody. Only operators are told
 * of files and disks. */
#include "api/call.h"
#include "api/handlers.h"
#include "api/readiness.h"
#include "base/json_out.h"

#define JSON_TYPE "application/json"

static bool is_operator(const ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    Caller caller = { 0 };
    settings->describe(settings->context, http_request_peer(call->request), &caller);
    return caller.is_local && caller.is_operator;
}

/* That it answers is what it tells: a server that cannot write is no better when it is started anew. */
void alive_get(ApiCall *call)
{
    StoreStatus store = store_status(call_settings(call)->at.store);
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.alive/1");
    json_out_bool(&json, "alive", true);
    json_out_bool(&json, "writable", store.writable);
    if (!store.writable) {
        json_out_text(&json, "why",
                      is_operator(call) ? str_from_c(store.reason) : STR("it cannot be written"));
    }
    buf_put_c(&json, "}\n");
    call_answer_as(call, 200, JSON_TYPE, buf_str(&json));
}

static uint32_t look_at(const OwnCertificates *own, ReadyCertificate out[OWN_KINDS])
{
    static const char *const names[OWN_KINDS] = {
        [OWN_KIND_NODE] = "server", [OWN_KIND_SERVING] = "serving"
    };
    if (own == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < OWN_KINDS; i++) {
        const Certificate *one = &own_credential(own, (OwnKind)i)->chain.items[0];
        out[i] = (ReadyCertificate){ names[i], one->not_before_ms, one->not_after_ms };
    }
    return OWN_KINDS;
}

static bool has_unreadable_revocations(const ApiSettings *settings)
{
    const Roster *roster = settings->roster == NULL ? NULL : *settings->roster;
    return roster != NULL && roster_revoked(roster)->is_unreadable;
}

void ready_get(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    StoreStatus store = store_look(settings->at.store);
    ReadyCertificate certificates[OWN_KINDS];
    ReadyState state = { .stops = settings->stops != NULL && *settings->stops,
                         .is_writable = store.writable,
                         .condition = store_condition_name(store.condition),
                         .why_not = store.reason,
                         .admits_nobody = has_unreadable_revocations(settings),
                         .now_ms = loop_wall_ms(settings->at.loop),
                         .certificates = certificates,
                         .certificate_count = look_at(settings->own, certificates) };
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    bool ok = readiness_put(&json, &state, is_operator(call));
    buf_put_char(&json, '\n');
    call_answer_as(call, ok ? 200 : 503, JSON_TYPE, buf_str(&json));
}
