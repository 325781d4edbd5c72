/* Distinguishes a machine that never was a server from one whose settings were lost. */
#include "membership/lost_settings.h"

#include "membership/authority.h"

#define SETTINGS "server.json" /* see server/server_settings.h */

bool settings_are_lost(const Directory *server)
{
    return directory_has(server, AUTHORITY_CA) && !directory_has(server, SETTINGS) &&
           !directory_has(server, CREATE_UNFINISHED);
}

bool lost_settings_error(const Directory *server, Error *err)
{
    return error_set(err, ERROR_INVALID,
                     "%s/" SETTINGS " is missing, but " AUTHORITY_CA
                     " next to it belongs to a cluster. Restore it from a copy%s; or move the "
                     "state directory away and run 'eden backup restore FILE'",
                     server->path,
                     directory_has(server, SETTINGS_COPY) ? ", such as " SETTINGS_COPY
                                                            ", which was saved at the last start"
                                                          : "");
}
