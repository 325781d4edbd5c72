#include "modules/pkg/index.h"

#include "sys/clock.h"

typedef struct Index {
    bool refresh_attempted; /* a refresh was attempted in this run */
    bool failed;
    bool is_outdated;
    Error error; /* result of that refresh */
    bool has_arena;
    Arena arena;   /* owns the following fields */
    StrMap offers; /* name to PackageOffer */
} Index;

typedef struct Indexes {
    Index by_backend[PACKAGE_BACKENDS_MAX];
} Indexes;

static void clear_index(Index *index)
{
    if (index->has_arena) {
        arena_clear(&index->arena);
        index->has_arena = false;
    }
}

static void indexes_clear(void *value)
{
    Indexes *indexes = value;
    for (size_t i = 0; i < COUNT_OF(indexes->by_backend); i++) {
        clear_index(&indexes->by_backend[i]);
    }
}

static const SharedKind indexes_kind = { sizeof(Indexes), indexes_clear };

static Index *lock_index(Call *call, const PackageBackend *backend)
{
    Indexes *indexes = shared_lock(host_shared(call->host), &indexes_kind);
    return &indexes->by_backend[backend_number(backend)];
}

static void unlock_index(Call *call)
{
    shared_unlock(host_shared(call->host), &indexes_kind);
}

bool index_is_fresh(Call *call, const PackageBackend *backend)
{
    const Index *index = lock_index(call, backend);
    bool fresh = index->refresh_attempted && !index->failed;
    unlock_index(call);
    return fresh;
}

bool index_is_outdated(Call *call, const PackageBackend *backend)
{
    bool outdated = lock_index(call, backend)->is_outdated;
    unlock_index(call);
    return outdated;
}

bool index_refresh(Call *call, const PackageBackend *backend, int64_t timeout_ms, Error *err)
{
    Index *index = lock_index(call, backend);
    bool ok = index->refresh_attempted && !index->failed;
    if (!index->refresh_attempted) {
        ok = backend->refresh(call, timeout_ms, &index->error);
        /* Waiting for the lock does not count as an attempt. */
        index->refresh_attempted = ok || index->error.kind != ERROR_CONFLICT;
        index->failed = !ok;
        index->is_outdated = index->is_outdated && !index->refresh_attempted;
        clear_index(index);
    }
    if (!ok) {
        *err = index->error;
        error_wrap(err, "cannot refresh the package index");
    }
    unlock_index(call);
    return ok;
}

int64_t index_age_ms(Call *call, const PackageBackend *backend)
{
    int64_t time_ms = backend->index_time(call);
    int64_t now_ms = clock_now_ms();
    return time_ms == 0 ? INT64_MAX : now_ms > time_ms ? now_ms - time_ms : 0;
}

void index_sources_changed(Call *call)
{
    Indexes *indexes = shared_lock(host_shared(call->host), &indexes_kind);
    for (size_t i = 0; i < COUNT_OF(indexes->by_backend); i++) {
        indexes->by_backend[i].refresh_attempted = indexes->by_backend[i].failed = false;
        indexes->by_backend[i].is_outdated = true;
        clear_index(&indexes->by_backend[i]);
    }
    unlock_index(call);
}

void index_invalidate(Call *call, const PackageBackend *backend)
{
    clear_index(lock_index(call, backend));
    unlock_index(call);
}

/* --- Offers ---------------------------------------------------------------------------------- */

static PackageOffer offer_copy(Arena *arena, const PackageOffer *offer)
{
    PackageOffer copy = *offer;
    copy.name = arena_copy(arena, offer->name);
    copy.candidate = arena_copy(arena, offer->candidate);
    copy.versions = ARENA_ARRAY(arena, Str, offer->version_count + 1);
    for (uint32_t i = 0; i < offer->version_count; i++) {
        copy.versions[i] = arena_copy(arena, offer->versions[i]);
    }
    return copy;
}

typedef VEC(PackageOffer) Offers;

static void add_wanted(Call *call, const Index *index, StrMap *wanted, Offers *offers, Str name)
{
    if (!str_map_has(&index->offers, name) && str_map_put(wanted, name, NULL)) {
        VEC_PUSH(call->arena, offers, (PackageOffer){ .name = name });
    }
}

/* Queries the offers that are not cached yet. */
static bool run_query(Call *call, const PackageBackend *backend, Index *index,
                      const PackageDatabase *installed, const PackageOffer *offers, uint32_t count,
                      Error *err)
{
    Offers missing = { 0 };
    StrMap wanted;
    str_map_init(&wanted, call->arena);
    for (uint32_t i = 0; i < count; i++) {
        add_wanted(call, index, &wanted, &missing, offers[i].name);
    }
    if (missing.len == 0) {
        return true;
    }
    StrMapEntry *entry;
    for (uint32_t at = 0;
         installed != NULL && (entry = str_map_next(&installed->packages, &at)) != NULL;) {
        if (((const Package *)entry->value)->condition >= PACKAGE_INCOMPLETE) {
            add_wanted(call, index, &wanted, &missing, entry->key);
        }
    }
    if (!backend->find_offers(call, missing.items, missing.len, err)) {
        return error_wrap(err, "cannot query available packages");
    }
    for (uint32_t i = 0; i < missing.len; i++) {
        PackageOffer *kept = ARENA_NEW(&index->arena, PackageOffer);
        *kept = offer_copy(&index->arena, &missing.items[i]);
        str_map_put(&index->offers, kept->name, kept);
    }
    return true;
}

bool index_find(Call *call, const PackageBackend *backend, const PackageDatabase *installed,
                PackageOffer *offers, uint32_t count, Error *err)
{
    Index *index = lock_index(call, backend);
    if (!index->has_arena) {
        arena_init(&index->arena, ARENA_UNLIMITED);
        str_map_init(&index->offers, &index->arena);
        index->has_arena = true;
    }
    bool ok = run_query(call, backend, index, installed, offers, count, err);
    for (uint32_t i = 0; ok && i < count; i++) {
        offers[i] = offer_copy(call->arena, str_map_find(&index->offers, offers[i].name));
    }
    unlock_index(call);
    return ok;
}
