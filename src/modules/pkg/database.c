#include "modules/pkg/database.h"

#include <stdlib.h>

#include "base/bug.h"
#include "modules/pkg/backend.h"

/* --- Lookup ---------------------------------------------------------------------------------- */

PackageDatabase *database_new(void)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    PackageDatabase *database = ARENA_NEW(&arena, PackageDatabase);
    database->arena = arena;
    atomic_init(&database->references, 1);
    str_map_init(&database->packages, &database->arena);
    str_map_init(&database->provided, &database->arena);
    database->provides_cache = ARENA_NEW(&database->arena, StrMap);
    str_map_init(database->provides_cache, &database->arena);
    return database;
}

static PackageDatabase *database_ref(PackageDatabase *database)
{
    atomic_fetch_add_explicit(&database->references, 1, memory_order_relaxed);
    return database;
}

void database_unref(PackageDatabase *database)
{
    if (database == NULL ||
        atomic_fetch_sub_explicit(&database->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    Arena arena = database->arena; /* the arena that also contains `database` */
    arena_clear(&arena);
}

void database_add(PackageDatabase *database, const Package *package)
{
    Package *known = str_map_find(&database->packages, package->name);
    if (known == NULL) {
        known = ARENA_NEW(&database->arena, Package);
        str_map_put(&database->packages, package->name, known);
    }
    *known = *package;
}

void database_add_provided(PackageDatabase *database, Str name, const Package *package)
{
    if (!str_map_has(&database->provided, name)) {
        str_map_put(&database->provided, name, (void *)package);
    }
}

Str database_name(const PackageDatabase *database, Str name)
{
    Str suffix = database->native_suffix;
    return suffix.len > 1 && str_ends(name, suffix) ? str_slice(name, 0, name.len - suffix.len)
                                                    : name;
}

const Package *database_find(const PackageDatabase *database, Str name)
{
    return str_map_find(&database->packages, database_name(database, name));
}

const Package *database_find_installed(const PackageDatabase *database, Str name)
{
    const Package *package = database_find(database, name);
    if (package == NULL || package->condition < PACKAGE_INCOMPLETE) {
        package = str_map_find(&database->provided, name);
    }
    return package;
}

/* --- Fingerprints ---------------------------------------------------------------------------- */

bool fingerprint_add(Call *call, Str path, Fingerprint *fingerprint, Error *err)
{
    FileInfo info;
    if (!host_stat(call->host, path, &info, err)) {
        return false;
    }
    BUG_IF(fingerprint->count + 2 > COUNT_OF(fingerprint->words));
    fingerprint->words[fingerprint->count++] =
        info.kind == FILE_ABSENT ? 0 : (uint64_t)info.mtime_ns ^ info.inode << 1 ^ 1;
    fingerprint->words[fingerprint->count++] = (uint64_t)info.size;
    return true;
}

static bool fingerprint_equal(const Fingerprint *a, const Fingerprint *b)
{
    return a->count == b->count && memcmp(a->words, b->words, a->count * sizeof a->words[0]) == 0;
}

/* --- Shared databases ------------------------------------------------------------------------ */

typedef struct Databases {
    PackageDatabase *by_backend[PACKAGE_BACKENDS_MAX];
} Databases;

static void databases_clear(void *value)
{
    Databases *databases = value;
    for (size_t i = 0; i < COUNT_OF(databases->by_backend); i++) {
        database_unref(databases->by_backend[i]);
    }
}

static const SharedKind databases_kind = { sizeof(Databases), databases_clear };

/* The files may change while they are read, so the result is stored under the fingerprint taken
 * before. */
static bool read_again(Call *call, const PackageBackend *backend, const Fingerprint *fingerprint,
                       PackageDatabase **slot, Error *err)
{
    AUTO(PackageDatabase) *database = database_new();
    if (!backend->read(call, database, err)) {
        return error_wrap(err, "cannot read the list of installed packages");
    }
    database->fingerprint = *fingerprint;
    database_unref(*slot);
    *slot = TAKE(database);
    return true;
}

bool database_get(Call *call, const PackageBackend *backend, PackageDatabase **out, Error *err)
{
    Fingerprint fingerprint = { 0 };
    Shared *shared = host_shared(call->host);
    Databases *databases = shared_lock(shared, &databases_kind);
    PackageDatabase **slot = &databases->by_backend[backend_number(backend)];
    bool ok = backend->fingerprint(call, &fingerprint, err);
    if (ok && (*slot == NULL || !fingerprint_equal(&(*slot)->fingerprint, &fingerprint))) {
        ok = read_again(call, backend, &fingerprint, slot, err);
    }
    if (ok) {
        *out = database_ref(*slot);
    }
    shared_unlock(shared, &databases_kind);
    return ok;
}

bool database_is_provided(Call *call, const PackageBackend *backend,
                          const PackageDatabase *database, Str name)
{
    static const char yes[] = "yes", no[] = "no";
    if (backend->is_provided == NULL) {
        return false;
    }
    Shared *shared = host_shared(call->host);
    (void)shared_lock(shared, &databases_kind);
    const char *answer = str_map_find(database->provides_cache, name);
    if (answer == NULL) {
        answer = backend->is_provided(call, name) ? yes : no;
        str_map_put(database->provides_cache, arena_copy(database->provides_cache->arena, name),
                    (void *)answer);
    }
    shared_unlock(shared, &databases_kind);
    return answer == yes;
}

void database_invalidate(Call *call, const PackageBackend *backend)
{
    Shared *shared = host_shared(call->host);
    Databases *databases = shared_lock(shared, &databases_kind);
    PackageDatabase **slot = &databases->by_backend[backend_number(backend)];
    database_unref(TAKE(*slot));
    shared_unlock(shared, &databases_kind);
}
