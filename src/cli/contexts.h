/* The clusters that the user is logged in to, stored in "contexts.json" in the user's configuration
 * directory: the servers of each, the CA to verify them, and the user's credential.
 *
 *     {"format":"eden.contexts/1","current":"prod",
 *      "contexts":{"prod":{"server":"https://eden1:1338","ca":"-----BEGIN ...","token":"eden_..."}}}
 *
 * The file contains secrets, so it is rejected if other users can read it. Unknown fields are
 * errors. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "lang/value.h"
#include "net/address.h"
#include "sys/file_lock.h"

enum {
    CONTEXTS_MAX = 1000,
    CONTEXTS_BYTES_MAX = 1 << 20,
    CONTEXT_NAME_MAX = 100,
    CONTEXT_SERVERS_MAX = 8,
    CONTEXT_FILE_MAX =
        256 << 10, /* size limit of the certificate, key and token files that it refers to */
};

#define CONTEXTS_FILE "contexts.json"
#define CONTEXTS_LOCK "contexts.lock" /* locked while the file is being changed */
/* The server on this machine, through its socket. Always exists and is never in the file. */
#define CONTEXT_LOCAL "local"

typedef struct Context {
    Str name;
    Str servers[CONTEXT_SERVERS_MAX]; /* "https://eden1:1338"; tried in order */
    uint32_t server_count;
    Str ca;               /* PEM or the path of a file, like certificate and key */
    Str certificate, key; /* of the user; may be empty */
    Str token;            /* may be empty */
    Str token_file;       /* path; may be empty */
    Str expires;          /* of the token, as reported at login; may be empty */
    Str user, roles;      /* as reported at login, such as "admin, viewer"; may be empty */
} Context;

typedef struct Contexts {
    Context *items; /* in the order of the file */
    uint32_t count, cap;
    Str current; /* name of the current context; may be empty */
} Contexts;

/* Returns $XDG_CONFIG_HOME/eden or ~/.config/eden. Empty if neither variable is set. */
Str contexts_directory(Arena *arena);

/* A missing file has no contexts. Fails with ERROR_DENIED if other users can read the file,
 * ERROR_INVALID if it is malformed, or like the file system. */
MUST_CHECK bool contexts_load(Arena *arena, Str directory, Contexts *out, Error *err);
/* Hold the lock from loading until saving. Other processes wait for it for a few seconds only, so
 * do not prompt or use the network while holding it. Creates the directory. Fails with
 * ERROR_CONFLICT if another process does not release the lock, or like the file system. */
MUST_CHECK bool contexts_lock(Arena *arena, Str directory, FileLock *out, Error *err);
/* Replaces the file atomically, with mode 0600. Fails with ERROR_LIMIT if there are more contexts
 * than contexts_load() accepts. */
MUST_CHECK bool contexts_save(Arena *arena, Str directory, const Contexts *contexts, Error *err);

/* Parses the content of the file. */
MUST_CHECK bool contexts_read(Arena *arena, Str text, Contexts *out, Error *err);
void contexts_print(const Contexts *contexts, Buf *out);

Context *contexts_find(const Contexts *contexts, Str name); /* NULL if not found */
/* Returns a similar name, for "did you mean"; may be empty. */
Str contexts_suggest(const Contexts *contexts, Str name);
/* Replaces the context of the same name, or appends it. */
void contexts_put(Arena *arena, Contexts *contexts, const Context *context);
/* If it was the current context, no context is current afterwards. */
void contexts_remove(Contexts *contexts, Str name);

/* Accepts letters, digits and "-_.@", up to CONTEXT_NAME_MAX; rejects CONTEXT_LOCAL. */
MUST_CHECK bool context_name_check(Str name, Error *err);
/* Accepts "https://eden1:1338", "eden1:1338" and "eden1". Fails with ERROR_INVALID. */
MUST_CHECK bool context_server_parse(Str text, Address *out, Error *err);
/* Returns "https://eden1:1338". */
Str context_server_text(Arena *arena, const Address *server);

/* The credentials of a context, read from their files if necessary. */
typedef struct ContextCredentials {
    Str ca;               /* PEM */
    Str certificate, key; /* PEM, or empty */
    Str token;            /* "eden_ID_SECRET", or empty */
} ContextCredentials;
/* Relative paths are relative to `directory`. */
MUST_CHECK bool context_credentials(Arena *arena, Str directory, const Context *context,
                                    ContextCredentials *out, Error *err);
/* Returns the roles as a list; null if unknown. */
Value context_roles(Arena *arena, const Context *context);
