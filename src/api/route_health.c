/* /v1/health */
#include "api/call.h"
#include "api/handlers.h"
#include "base/json_out.h"

/* Public, so it reveals nothing that any client could not find out. */
void health_show(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    Str stale_since = call_stale_since(call);
    bool ok = store_check_status(settings->cluster_store.store).writable && stale_since.len == 0;
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.health/1");
    json_out_text(&json, "cluster", settings->cluster);
    json_out_bool(&json, "healthy", ok);
    json_out_int(&json, "time_ms", loop_wall_ms(settings->cluster_store.loop));
    if (stale_since.len > 0) {
        json_out_text(&json, "stale_since", stale_since);
    }
    json_out_close(&json, '}');
    call_respond(call, ok ? 200 : 503, &json);
}
