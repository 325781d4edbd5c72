/* The packages that are installed on the machine, as recorded by its package manager.
 *
 * A database is read once and shared by all steps of a run (host_shared) until the files that it
 * was read from change. It is immutable and reference-counted:
 *
 *     PackageDatabase *database;
 *     if (!database_get(call, backend, &database, err)) ...
 *     const Package *package = database_find(database, STR("vim"));
 *     database_unref(database);
 *
 * Strings live as long as the database; copy those that must outlive it. */
#pragma once

#include <stdatomic.h>

#include "base/str_map.h"
#include "base/vec.h"
#include "modules/call.h"

typedef struct PackageBackend PackageBackend; /* modules/pkg/backend.h */

typedef enum PackageCondition {
    PACKAGE_ABSENT,
    PACKAGE_CONFIG,     /* removed, but its configuration remains */
    PACKAGE_INCOMPLETE, /* a change was interrupted or failed */
    PACKAGE_INSTALLED,
} PackageCondition;

typedef struct Package {
    Str name;    /* "vim"; "libc6:i386" if not of the native architecture */
    Str version; /* empty: not installed */
    PackageCondition condition;
    Str detail;     /* for PACKAGE_INCOMPLETE: "half-configured" */
    bool held;      /* must not be upgraded or removed */
    bool automatic; /* installed only as a dependency */
    Str record;     /* the package's complete record, for the backend; may be empty */
} Package;

/* Identifies the state of the files from which a database was read. */
typedef struct Fingerprint {
    uint64_t words[16];
    uint32_t count;
} Fingerprint;

typedef struct PackageDatabase {
    Arena arena;
    atomic_uint references;
    Fingerprint fingerprint;
    StrMap packages;        /* name to Package */
    StrMap provided;        /* name to the installed Package that provides it */
    StrMap *provides_cache; /* results of database_is_provided; used by one thread at a time */
    Str native_suffix;      /* ":amd64": optional suffix of names of native packages; empty: none */
    bool interrupted; /* the package manager was killed, or left packages partially installed */
    Str interruption; /* "dpkg was interrupted" */
} PackageDatabase;

MUST_CHECK bool database_get(Call *call, const PackageBackend *backend, PackageDatabase **out,
                             Error *err);
/* Discards the shared database after a change that its fingerprint does not show. */
void database_invalidate(Call *call, const PackageBackend *backend);
void database_unref(PackageDatabase *database); /* accepts NULL */
DEFINE_AUTO(PackageDatabase, database_unref)

/* Returns the name as it is in the database, without the suffix for the native architecture. */
Str database_name(const PackageDatabase *database, Str name);
/* Finds the record of a package; NULL if there is none. */
const Package *database_find(const PackageDatabase *database, Str name);
/* Finds a package by its name, or by a name that an installed package provides. NULL if there is
 * none. */
const Package *database_find_installed(const PackageDatabase *database, Str name);

/* Returns true if an installed package provides `name`, for package managers that have to be
 * queried for that. They are queried once per name. */
bool database_is_provided(Call *call, const PackageBackend *backend,
                          const PackageDatabase *database, Str name);

/* --- For backends ---------------------------------------------------------------------------- */

/* Adds owner, size, mtime and inode of a file. A missing file has a fingerprint too. */
MUST_CHECK bool fingerprint_add(Call *call, Str path, Fingerprint *fingerprint, Error *err);

PackageDatabase *database_new(void); /* returns a database with one reference */
/* Replaces an earlier package of the same name. */
void database_add(PackageDatabase *database, const Package *package);
/* Records that `package` provides `name`, unless another package already does. */
void database_add_provided(PackageDatabase *database, Str name, const Package *package);
