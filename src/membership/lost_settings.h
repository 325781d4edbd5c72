/* server.json makes a machine a server, as node.json makes it a node. If it is missing but the CA
 * exists, it was lost: nothing may be created in its place. */
#pragma once

#include "sys/directory.h"

#define SETTINGS_COPY "server.json.kept" /* copy made by the last server that started */
/* a CA exists, but the cluster is not created yet, or no longer */
#define CREATE_UNFINISHED "unfinished"

/* Checks the server's directory for settings that were lost. */
bool settings_are_lost(const Directory *server);
/* Sets the error, including the command to run. Always returns false. */
bool lost_settings_error(const Directory *server, Error *err);
