/* server.json makes a machine a server, as node.json makes it a node. If it is
 * missing but the CA exists, it was lost: nothing may be created in its place. */
#pragma once

#include "sys/directory.h"

#define SETTINGS_KEPT       "server.json.kept" /* as the last server that started had read it */
#define FOUNDING_UNFINISHED "unfinished" /* the CA is there already, or still, and no cluster yet */

/* Of the server's directory. */
bool lost_settings_are(const Directory *server);
/* What is said of it, with what to do. Always false. */
bool lost_settings_tell(const Directory *server, Error *err);
