#include "membership/lost_settings.h"

#include "membership/authority.h"

#define SETTINGS "server.json" /* as server/server_settings.h has it */

bool lost_settings_are(const Directory *server)
{
    return directory_has(server, AUTHORITY_CA) && !directory_has(server, SETTINGS) &&
           !directory_has(server, FOUNDING_UNFINISHED);
}

bool lost_settings_tell(const Directory *server, Error *err)
{
    return error_set(err, ERROR_INVALID,
                     "%s/" SETTINGS " is missing, but " AUTHORITY_CA
                     " next to it belongs to a cluster. Restore it from a copy%s; or move the "
                     "state directory away and run 'eden backup restore FILE'",
                     server->path,
                     directory_has(server, SETTINGS_KEPT) ? ", such as " SETTINGS_KEPT
                                                            ", which was saved at the last start"
                                                          : "");
}
