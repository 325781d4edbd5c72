/* The pages of the server (ui/ui.h), public: they contain no data of the cluster, and get
 * it from the API like any client. A path is looked up in a table; no file is opened. */
#pragma once

#include "api/call.h"

/* False: it is no page, and nothing has happened. Else the call is answered, or is being. */
bool pages_answer(ApiCall *call);
