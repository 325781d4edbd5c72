/* Where a package manager has its sources and their keys. */
#pragma once

#include "modules/call.h"

typedef struct RepoPlace {
    const char *provider;  /* the package manager */
    const char *folder;    /* of its sources */
    const char *ending;    /* of the names in there */
    const char *other;     /* another ending that it reads too; NULL: none */
    const char *keys;      /* the folder of keys */
    const char *key_start; /* how their names begin */
} RepoPlace;

/* That of `provider`, or of the machine's own package manager. ERROR_UNAVAILABLE: it has no such
 * files. */
MUST_CHECK bool repo_place_choose(Call *call, const RepoPlace **out, Error *err);

Str repo_source_path(Arena *arena, const RepoPlace *place, Str name, const char *ending);
/* The claims of a source and of its key, wherever they may lie. `provider`: missing when it is the
 * machine's own. */
void repo_claims(Arena *arena, Value name, Value provider, List *claims);
/* `armored`: which of the two forms of it. */
Str repo_key_path(Arena *arena, const RepoPlace *place, Str name, bool armored);
