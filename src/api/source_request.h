/* Requests to fetch the newest commit of a source. */
#pragma once

#include "api/call.h"

/* Records the request as made by `by`, which is copied. `done` is called once, and must begin with
 * call_resume(): `revision` is that of the request, which is durable. Fails with ERROR_NOT_FOUND if
 * there is no such source. */
void source_request(ApiCall *call, Str name, Str by,
                    void (*done)(ApiCall *call, int64_t revision, const Error *err));
