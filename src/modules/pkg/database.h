/* What is installed on the machine, as its package manager has written it down.
 *
 * It is read once and shared by all steps of a run for as long as the files it was read from are
 * the same (host_shared). A database does not change; whoever uses one holds it:
 *
 *     PackageDatabase *database;
 *     if (!database_get(call, backend, &database, err)) ...
 *     const Package *package = database_find(database, STR("vim"));
 *     database_unref(database);
 *
 * Texts live as long as the database: what shall stay is copied. */
#pragma once

#include <stdatomic.h>

#include "base/str_map.h"
#include "base/vec.h"
#include "modules/call.h"

typedef struct PackageBackend PackageBackend; /* modules/pkg/backend.h */

typedef enum PackageCondition {
    PACKAGE_ABSENT,
    PACKAGE_CONFIG, /* removed, its configuration is left */
    PACKAGE_HALF,   /* a change of it was interrupted, or failed half way */
    PACKAGE_INSTALLED,
} PackageCondition;

typedef struct Package {
    Str name;    /* "vim"; "libc6:i386" when it is not of the machine's own kind */
    Str version; /* empty: absent */
    PackageCondition condition;
    Str detail;     /* of PACKAGE_HALF: "half-configured" */
    bool held;      /* it keeps its version */
    bool automatic; /* nobody asked for it: it came with another one */
    Str record;     /* all that the database says of it, for the backend; may be empty */
} Package;

/* Which state of the files it was read from. */
typedef struct Fingerprint {
    uint64_t words[16];
    uint32_t count;
} Fingerprint;

typedef struct PackageDatabase {
    Arena arena;
    atomic_uint references;
    Fingerprint print;
    StrMap packages;  /* name to Package */
    StrMap provided;  /* name to the installed Package that stands for it */
    StrMap *asked;    /* of database_is_provided; used by one thread at a time */
    Str own_suffix;   /* ":amd64": names may end with it and mean the same; empty: none */
    bool interrupted; /* the package manager was killed, or left packages half done */
    Str interruption; /* "dpkg was interrupted" */
} PackageDatabase;

MUST_CHECK bool database_get(Call *call, const PackageBackend *backend, PackageDatabase **out,
                             Error *err);
/* Somebody changed what its files do not tell: read it again when next asked for. */
void database_forget(Call *call, const PackageBackend *backend);
void database_unref(PackageDatabase *database); /* NULL is fine */
DEFINE_AUTO(PackageDatabase, database_unref)

/* The name that the database has for it: without the machine's own kind behind it. */
Str database_name(const PackageDatabase *database, Str name);
/* NULL: nothing is known of it. */
const Package *database_find(const PackageDatabase *database, Str name);
/* By its name, or by a name that an installed one provides; NULL: neither. */
const Package *database_find_installed(const PackageDatabase *database, Str name);

/* Whether something installed stands for `name`, where only the package manager can tell. It is
 * asked once for each name. */
bool database_is_provided(Call *call, const PackageBackend *backend,
                          const PackageDatabase *database, Str name);

/* --- For backends --------------------------------------------------------------------------- */

/* Owner, size, time and inode of a file; that there is none counts too. */
MUST_CHECK bool fingerprint_add(Call *call, Str path, Fingerprint *print, Error *err);

PackageDatabase *database_new(void); /* with one reference */
/* A later one of the same name takes its place. */
void database_add(PackageDatabase *database, const Package *package);
/* `name` is provided by `package`, unless somebody else is known to provide it. */
void database_add_provided(PackageDatabase *database, Str name, const Package *package);
