/* The clusters that somebody works with from here, "contexts.json" among the user's settings: where
 * their servers are, which CA vouches for them, and what proves who asks.
 *
 *     {"format":"eden.contexts/1","current":"prod",
 *      "contexts":{"prod":{"server":"https://eden1:1338","ca":"-----BEGIN ...","token":"eden_..."}}}
 *
 * It holds secrets, so one that others may read is refused. What is in it is checked as a whole: a
 * word that means nothing is told, not passed over. */
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
    CONTEXT_FILE_MAX = 256 << 10, /* of a certificate, key or token that it names */
};

#define CONTEXTS_FILE "contexts.json"
#define CONTEXTS_LOCK "contexts.lock" /* beside it, of who is about to change it */
/* The server on this machine, by its socket. Always there, and never in the file. */
#define CONTEXT_LOCAL "local"

typedef struct Context {
    Str name;
    Str servers[CONTEXT_SERVERS_MAX]; /* "https://eden1:1338"; the first is asked first */
    uint32_t server_count;
    Str ca;               /* PEM, or the path of a file with it; those that follow likewise */
    Str certificate, key; /* of a user; or empty */
    Str token;            /* or empty */
    Str token_file;       /* a path; or empty */
    Str expires;          /* of the token, as the server said at login; or empty */
    Str user, roles;      /* whom it took us for then; "admin, viewer"; or empty */
} Context;

typedef struct Contexts {
    Context *items; /* in the order of the file */
    uint32_t count, cap;
    Str current; /* the name of one; empty: none is */
} Contexts;

/* Where it lies: $XDG_CONFIG_HOME/eden, else ~/.config/eden. Empty: nobody has a home here. */
Str contexts_directory(Arena *arena);

/* A file that is not there has none. Fails with ERROR_DENIED when others may read it, ERROR_INVALID
 * when it makes no sense, and as the file system does. */
MUST_CHECK bool contexts_load(Arena *arena, Str directory, Contexts *out, Error *err);
/* Whoever changes it holds this from before it is loaded until it is saved, and asks nobody meanwhile:
 * others wait for a few seconds. Makes the directory. Fails with ERROR_CONFLICT when it is not let go
 * of, and as the file system does. */
MUST_CHECK bool contexts_lock(Arena *arena, Str directory, FileLock *out, Error *err);
/* For its owner alone, as a whole or not at all. Fails with ERROR_LIMIT when there are more than can
 * be read again. */
MUST_CHECK bool contexts_save(Arena *arena, Str directory, const Contexts *contexts, Error *err);

/* The text of the file. */
MUST_CHECK bool contexts_read(Arena *arena, Str text, Contexts *out, Error *err);
void contexts_print(const Contexts *contexts, Buf *out);

Context *contexts_find(const Contexts *contexts, Str name); /* NULL: there is none */
/* The one that is near to a name that nobody has; empty: none is. */
Str contexts_near(const Contexts *contexts, Str name);
/* In place of the one with that name, or behind the last. */
void contexts_put(Arena *arena, Contexts *contexts, const Context *context);
/* The current one is no longer the current one then. */
void contexts_remove(Contexts *contexts, Str name);

/* Letters, digits and "-_.@", at most CONTEXT_NAME_MAX; not CONTEXT_LOCAL. */
MUST_CHECK bool context_name_check(Str name, Error *err);
/* "https://eden1:1338", "eden1:1338", "eden1". Fails with ERROR_INVALID. */
MUST_CHECK bool context_server_parse(Str text, Address *out, Error *err);
/* "https://eden1:1338". */
Str context_server_text(Arena *arena, const Address *server);

/* What a context has, or names, as text. */
typedef struct ContextMaterial {
    Str ca;               /* PEM */
    Str certificate, key; /* PEM, or empty */
    Str token;            /* "eden_ID_SECRET", or empty */
} ContextMaterial;
/* Paths are taken from the directory of the file. */
MUST_CHECK bool context_material(Arena *arena, Str directory, const Context *context,
                                 ContextMaterial *out, Error *err);
/* Its roles as a list; null: they are not known. */
Value context_roles(Arena *arena, const Context *context);
