/* The pages of the server (ui/ui.h), for anybody: they hold nothing of the cluster, and ask the API for
 * that as everybody does. An address is looked up in a table; no file is opened. */
#pragma once

#include "api/call.h"

/* False: it is no page, and nothing has happened. Else the call is answered, or is being. */
bool pages_answer(ApiCall *call);
