/* URLs of git repositories, as an administrator writes them. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

typedef enum GitTransport {
    GIT_LOCAL, /* a path on the server */
    GIT_HTTPS,
    GIT_SSH,
} GitTransport;

typedef struct GitUrl {
    GitTransport transport;
    Str user; /* empty: none */
    Str host; /* without brackets for an IPv6 address */
    uint16_t port;
} GitUrl;

/* Accepts https://..., ssh://..., user@host:path, file:///... and absolute paths, without a
 * password. Strings are borrowed. Fails with ERROR_INVALID. */
MUST_CHECK bool git_url_parse(Str url, GitUrl *out, Error *err);
/* "https://git.example.net:443": the server that a credential for the repository is sent to. */
Str git_url_origin(Arena *arena, const GitUrl *url);
