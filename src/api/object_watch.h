/* Watches of objects: first their current state, then a stream of changes. Loop thread. */
#pragma once

#include "api/call.h"
#include "api/kind.h"

/* Whether the request is for a watch: it has `watch` or `Accept: text/event-stream`. */
bool object_watch_is_requested(const ApiCall *call);
/* Watches the objects of a kind, or the one that the call names. */
void object_watch(ApiCall *call, const Kind *kind);
