/* The pages of the server (ui/ui.h), public: they contain no data of the cluster, and get
 * it from the API like any client. A path is looked up in a table; no file is opened. */
#pragma once

#include "api/call.h"

/* Returns false, without side effects, if there is no such page. Otherwise responds. */
bool pages_answer(ApiCall *call);
