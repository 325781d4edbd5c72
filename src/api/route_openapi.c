/* /v1/openapi.json: the OpenAPI document. */
#include "api/api_inner.h"
#include "api/handlers.h"
#include "api/openapi.h"

/* Built once: it is long, constant and public. */
void openapi_get(ApiCall *call)
{
    Buf *json = &call->api->openapi;
    if (json->len == 0) {
        *json = buf_make(BUF_UNLIMITED);
        openapi_print(json, STR(EDEN_VERSION));
    }
    call_respond(call, 200, json);
}
