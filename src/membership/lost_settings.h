/* server.json makes a machine a server, as node.json makes it a node. If it is missing but the CA
 * exists, it was lost: nothing may be created in its place. */
#pragma once

#include "sys/directory.h"

#define SETTINGS_COPY     "server.json.kept" /* copy made by the last server that started */
#define CREATE_UNFINISHED "unfinished" /* the CA exists already, or still, but not the cluster */

/* Whether they are lost, from the server's directory. */
bool settings_are_lost(const Directory *server);
/* Sets the error, including what to do. Always returns false. */
bool lost_settings_error(const Directory *server, Error *err);
