/* Handlers of the routes: one function per row of routes.def. A handler is called after the caller
 * was authorized and the query and the size of the body were checked. */
#pragma once

#include "api/routes.h"

#define KIND(constant, name, plural, row)
#define ROUTE(constant, method, pattern, kind, verb, query, body_max, types, flags, handler, help) \
    void handler(ApiCall *call);
#include "api/routes.def"
#undef ROUTE

/* Endpoints of all kinds. */
void kind_route_list(ApiCall *call);
void kind_route_create(ApiCall *call);
void kind_route_get(ApiCall *call);
void kind_route_put(ApiCall *call);
void kind_route_patch(ApiCall *call);
void kind_route_delete(ApiCall *call);
