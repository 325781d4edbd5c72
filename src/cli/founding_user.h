/* As whom a server is going to run, of those commands that set one up. */
#pragma once

#include "cli/command.h"
#include "server/founding.h"

#define FOUNDING_USER_OPTION                                      \
    {                                                             \
        .name = "user", .argument = "NAME", .fallback = "eden",   \
        .help = "run the server as this user when root starts it" \
    }

/* Looked up when root asks; else the server runs as who does. Fails with ERROR_NOT_FOUND and what to
 * do about it. */
MUST_CHECK bool founding_user_find(Arena *arena, const char *name, Founding *founding, Error *err);
