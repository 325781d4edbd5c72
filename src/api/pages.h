/* The web pages of the server (ui/ui.h). They are public: they contain no data from the cluster,
 * but get it from the API like any other client. They are compiled in; no file is opened. */
#pragma once

#include "api/call.h"

/* Returns false, without side effects, if there is no such page. Otherwise responds. */
bool pages_respond(ApiCall *call);
