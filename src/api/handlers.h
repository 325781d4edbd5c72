/* What answers each route: one function per row of routes.def. It is called when the caller may, the
 * query fits and the body is not too large. */
#pragma once

#include "api/routes.h"

#define ROUTE(constant, method, pattern, callers, query, body_max, handler, help) \
    void handler(ApiCall *call);
#include "api/routes.def"
#undef ROUTE
