/* /v1/openapi.json: the API, described for programs. */
#include "api/api_inner.h"
#include "api/handlers.h"
#include "api/openapi.h"

/* It is always the same, long, and for anybody: made once, it costs no more than other answers. */
void openapi_get(ApiCall *call)
{
    Buf *json = &call->api->openapi;
    if (json->len == 0) {
        *json = buf_make(BUF_UNLIMITED);
        openapi_print(json, STR(EDEN_VERSION));
    }
    call_answer(call, 200, json);
}
