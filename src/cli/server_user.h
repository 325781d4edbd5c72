/* The user that the server will run as, for commands that set up a server. */
#pragma once

#include "cli/command.h"
#include "server/create_cluster.h"

#define SERVER_USER_OPTION                                      \
    {                                                           \
        .name = "user", .argument = "NAME", .fallback = "eden", \
        .help = "user to run the server as, if started by root" \
    }

/* Looked up only if run by root; otherwise the server runs as the current user. Fails with
 * ERROR_NOT_FOUND and a hint. */
MUST_CHECK bool server_user_find(Arena *arena, const char *name, ClusterSpec *spec, Error *err);
