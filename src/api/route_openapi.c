/* /v1/openapi.json: the API, described for programs. */
#include "api/call.h"
#include "api/handlers.h"
#include "api/openapi.h"

void openapi_get(ApiCall *call)
{
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    openapi_print(&json, STR(EDEN_VERSION));
    call_answer(call, 200, &json);
}
