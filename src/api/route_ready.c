/* /healthz and /readyz, for monitoring: short and public, on the API and on a port without TLS.
 * Only operators see details about files and disks. */
#include "api/api_inner.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/readiness.h"
#include "base/json_out.h"
#include "base/utc.h"
#include "cluster/leader.h"
#include "cluster/state.h"

#define JSON_TYPE "application/json"

static bool is_operator(const ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    Caller caller = { 0 };
    settings->describe(settings->context, http_request_peer(call->request), &caller);
    return caller.is_local && caller.is_operator;
}

/* Always succeeds, even if the store is not writable: restarting the server would not help then.
 * Returns the HTTP status, like put_ready(). */
static int put_alive(const ApiSettings *settings, bool in_detail, Buf *out)
{
    StoreStatus store = store_status(settings->cluster_store.store);
    json_out_start(out, "eden.alive/1");
    json_out_bool(out, "alive", true);
    json_out_bool(out, "writable", store.writable);
    if (!store.writable) {
        json_out_text(out, "why", in_detail ? str_from_c(store.reason) : STR("not writable"));
    }
    buf_put_c(out, "}\n");
    return 200;
}

static uint32_t list_certificates(const OwnCertificates *own, ReadyCertificate out[OWN_KINDS])
{
    static const char *const names[OWN_KINDS] = {
        [OWN_KIND_NODE] = "server", [OWN_KIND_SERVING] = "serving"
    };
    if (own == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < OWN_KINDS; i++) {
        const Certificate *certificate =
            &own_certificates_credential(own, (OwnCertificateKind)i)->chain.items[0];
        out[i] =
            (ReadyCertificate){ names[i], certificate->not_before_ms, certificate->not_after_ms };
    }
    return OWN_KINDS;
}

static bool has_unreadable_revocations(const ApiSettings *settings)
{
    const Roster *roster = settings->cluster_store.roster;
    return roster != NULL && roster_revoked(roster)->is_unreadable;
}

static int put_ready(const ApiSettings *settings, bool in_detail, Buf *out)
{
    StoreStatus store = store_check_status(settings->cluster_store.store);
    ReadyCertificate certificates[OWN_KINDS];
    LeaderRecord leader;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    state_check(settings->cluster_store.state);
    StateAge age = state_age(settings->cluster_store.state);
    bool has_leader =
        leader_find(&arena, settings->cluster_store.state, settings->cluster_store.prefix, &leader);
    ReadyState state = { .is_stopping = settings->is_stopping != NULL && *settings->is_stopping,
                         .is_writable = store.writable,
                         .condition = store_condition_name(store.condition),
                         .store_error = store.reason,
                         .stale_since = age.stale_since_ms == 0
                                            ? NULL
                                            : utc_text(&arena, age.stale_since_ms).data,
                         .stale_error = age.why,
                         .has_unreadable_revocations = has_unreadable_revocations(settings),
                         .leader = has_leader ? leader.server : NULL,
                         .now_ms = loop_wall_ms(settings->cluster_store.loop),
                         .certificates = certificates,
                         .certificate_count = list_certificates(settings->own, certificates) };
    bool is_ready = readiness_put(out, &state, in_detail);
    buf_put_char(out, '\n');
    return is_ready ? 200 : 503;
}

/* --- On the API ------------------------------------------------------------------------------ */

void alive_get(ApiCall *call)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    int status = put_alive(call_settings(call), is_operator(call), &json);
    call_respond_as(call, status, JSON_TYPE, buf_str(&json));
}

void ready_get(ApiCall *call)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    int status = put_ready(call_settings(call), is_operator(call), &json);
    call_respond_as(call, status, JSON_TYPE, buf_str(&json));
}

/* --- Without TLS ----------------------------------------------------------------------------- */

static void alive_plain(void *context, HttpRequest *request)
{
    const Api *api = context;
    AUTO_CLEAR(Buf) json = buf_make(BUF_UNLIMITED);
    int status = put_alive(&api->settings, false, &json);
    http_request_respond(request, status, JSON_TYPE, buf_str(&json));
}

static void ready_plain(void *context, HttpRequest *request)
{
    const Api *api = context;
    AUTO_CLEAR(Buf) json = buf_make(BUF_UNLIMITED);
    int status = put_ready(&api->settings, false, &json);
    http_request_respond(request, status, JSON_TYPE, buf_str(&json));
}

const PlainRoute api_health_routes[] = {
    { "/healthz", alive_plain, "Whether this server responds, and whether its store is writable." },
    { "/readyz", ready_plain, "Whether this server is ready; if not, 503 and the reasons." },
    { 0 },
};
