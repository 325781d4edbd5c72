/* Known damage of the file, and the high-water mark that detects a rolled-back file.
 *
 * The mark is a small file next to the database with the highest acknowledged revision. It is
 * written after the commit that creates the revision and before callers are notified, so it is
 * never ahead of the disk: a database that ends before its mark has lost acknowledged writes, which
 * happens when its log is removed or truncated while the store is closed. The mark reaches the disk
 * within about a second. It survives kill -9 at once; a power failure may leave an older mark,
 * which detects less but never reports a false loss.
 *
 * A mark belongs to one store, by the id that a server assigns. A foreign database in its place is
 * rejected by the server, and proves nothing about the mark.
 *
 * Damage is recorded in the mark too: it persists across restarts until a backup is restored or
 * store_accept is called. */
#include <inttypes.h>
#include <stdio.h>

#include "store/keys.h"
#include "store/local_store.h"
#include "store/sqlite_engine.h"
#include "sys/clock.h"

#define MARK_FORMAT STR("eden.mark/1 ")

enum {
    SYNC_US = 1000 * 1000,
    /* number of revisions to skip: more than may be missing from an outdated mark */
    ACCEPT_STEP = 1000 * 1000,
};

/* "eden.mark/1 REVISION ID DAMAGE"; the ID is "-" if the store has none. This is a line rather than
 * a JSON record because it is overwritten in place with each group of commits. */
static bool parse(Str text, StoreMark *mark, Str *damage)
{
    Str number, id;
    if (!str_starts(text, MARK_FORMAT)) {
        return false;
    }
    Str rest = str_from_offset(text, MARK_FORMAT.len);
    if (!str_split_next(&rest, ' ', &number) || !str_split_next(&rest, ' ', &id) ||
        id.len >= sizeof mark->id || !str_to_i64(number, &mark->revision) || mark->revision < 0) {
        return false;
    }
    snprintf(mark->id, sizeof mark->id, "%" STR_FMT, STR_ARG(id));
    *damage = rest;
    return true;
}

/* Requires the mutex, unless threads are not running yet. */
static bool write_mark(LocalStore *store, Error *err)
{
    char text[MARK_DAMAGE_MAX + MARK_ID_MAX + 64];
    int len = snprintf(text, sizeof text, "%" STR_FMT "%" PRId64 " %s %s", STR_ARG(MARK_FORMAT),
                       store->mark.revision, store->mark.id[0] == '\0' ? "-" : store->mark.id,
                       store->damage.text);
    return slot_file_write(&store->mark.file, str_from(text, (size_t)len), err);
}

static void copy_id(char out[MARK_ID_MAX], Str id)
{
    bool fits = id.len < MARK_ID_MAX;
    for (size_t i = 0; i < id.len; i++) {
        fits = fits && (ascii_is_name(id.data[i]) || id.data[i] == '-');
    }
    snprintf(out, MARK_ID_MAX, "%" STR_FMT, STR_ARG(fits ? id : STR_EMPTY));
}

/* The ID of the store, or an empty string if it has none. */
static bool read_id(Engine *engine, char out[MARK_ID_MAX], Error *err)
{
    AUTO_CLEAR(Arena) arena;
    KeyRow row;
    ChangeRow change;
    arena_init(&arena, ARENA_UNLIMITED);
    out[0] = '\0';
    if (!engine->kind->begin(engine, false, err)) {
        return false;
    }
    Str key = key_make(&arena, KEYS_PREFIX, KEY_STORE_ID, NULL, 0);
    bool ok = engine->kind->find_key(engine, key, &row, err);
    if (ok && row.id != 0 && row.version != 0) {
        ok = engine->kind->get_change(engine, row.id, &change, err);
        if (ok && change.id != 0) {
            copy_id(out, change.value);
        }
    }
    engine->kind->rollback(engine);
    return ok;
}

static void set_loss_error(LocalStore *store, const char *path, int64_t revision)
{
    store->damage.exists = true;
    snprintf(store->damage.text, sizeof store->damage.text,
             "%.180s lost acknowledged writes: it ends at revision %" PRId64 ", but %" PRId64
             " was acknowledged; restore a backup ('eden backup restore FILE'), or continue "
             "without those writes ('eden cluster repair --accept-loss')",
             path, revision, store->mark.revision);
}

/* Called once the database is open. */
static bool read_mark(LocalStore *store, bool *found, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    Str text, damage = STR_EMPTY;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!slot_file_read(&store->mark.file, &arena, &text, err)) {
        return false;
    }
    *found = parse(text, &store->mark, &damage);
    store->damage.exists = damage.len > 0;
    snprintf(store->damage.text, sizeof store->damage.text, "%" STR_FMT, STR_ARG(damage));
    return true;
}

static bool open_mark(LocalStore *store, bool *found, Error *err)
{
    return slot_file_open(&store->directory, STORE_MARK, &store->mark.file, err) &&
           read_mark(store, found, err);
}

/* Whether the mark belongs to a store other than the open one. */
static bool is_foreign(const StoreMark *mark, const char *id)
{
    return id[0] != '\0' && strcmp(mark->id, "-") != 0 && strcmp(mark->id, id) != 0;
}

bool damage_open(LocalStore *store, Error *err)
{
    char id[MARK_ID_MAX];
    bool found;
    if (store->path == NULL) {
        return true;
    }
    if (!read_id(store->reader, id, err) || !open_mark(store, &found, err)) {
        return false;
    }
    if (found && is_foreign(&store->mark, id)) {
        slot_file_close(&store->mark.file);
        store->damage = (StoreDamage){ 0 };
        return true;
    }
    int64_t revision = store->state.revision;
    bool is_new = !found || revision > store->mark.revision ||
                  (id[0] != '\0' && strcmp(store->mark.id, id) != 0);
    if (found && revision < store->mark.revision && !store->damage.exists) {
        set_loss_error(store, store->path, revision);
        is_new = true;
    }
    if (!is_new) {
        return true;
    }
    store->mark.revision = revision > store->mark.revision ? revision : store->mark.revision;
    if (id[0] != '\0') {
        memcpy(store->mark.id, id, sizeof id);
    }
    return write_mark(store, err) && slot_file_sync(&store->mark.file, err);
}

void damage_close(LocalStore *store)
{
    Error ignored;
    if (store->mark.file.descriptor >= 0) {
        (void)!slot_file_sync(&store->mark.file, &ignored);
        slot_file_close(&store->mark.file);
    }
}

void damage_acknowledge(LocalStore *store, int64_t revision)
{
    Error ignored; /* an outdated mark detects less, which is acceptable */
    if (store->mark.file.descriptor < 0 || revision <= store->mark.revision) {
        return;
    }
    pthread_mutex_lock(&store->mutex);
    store->mark.revision = revision;
    (void)!write_mark(store, &ignored);
    pthread_mutex_unlock(&store->mutex);
}

void damage_sync_mark(LocalStore *store)
{
    Error ignored;
    int64_t now_us = clock_monotonic_us();
    if (store->mark.file.descriptor >= 0 && now_us - store->mark.synced_us >= SYNC_US) {
        store->mark.synced_us = now_us;
        (void)!slot_file_sync(&store->mark.file, &ignored);
    }
}

void damage_record(LocalStore *store, const Error *why)
{
    Error ignored;
    pthread_mutex_lock(&store->mutex);
    bool is_new = !store->damage.exists;
    if (is_new) {
        store->damage.exists = true;
        snprintf(store->damage.text, sizeof store->damage.text, "%.*s", MARK_DAMAGE_MAX - 1,
                 why->text);
        if (store->mark.file.descriptor >= 0) {
            (void)!(write_mark(store, &ignored) && slot_file_sync(&store->mark.file, &ignored));
        }
    }
    pthread_mutex_unlock(&store->mutex);
}

bool damage_refuses(LocalStore *store, Error *err)
{
    pthread_mutex_lock(&store->mutex);
    bool refuses = store->damage.exists;
    if (refuses) {
        error_set(err, ERROR_UNAVAILABLE, "the store is damaged and read-only: %s",
                  store->damage.text);
    }
    pthread_mutex_unlock(&store->mutex);
    return refuses;
}

/* --- While the store is closed --------------------------------------------------------------- */

bool damage_check(LocalStore *store, int64_t revision, Error *err)
{
    char id[MARK_ID_MAX];
    bool found;
    if (!slot_file_open_reading(&store->directory, STORE_MARK, &store->mark.file, err)) {
        return err->kind == ERROR_NOT_FOUND;
    }
    if (!sqlite_engine_open_closed(store->path, &store->reader, err) ||
        !read_id(store->reader, id, err) || !read_mark(store, &found, err)) {
        return false;
    }
    if (!found || is_foreign(&store->mark, id)) {
        return true;
    }
    if (revision < store->mark.revision && !store->damage.exists) {
        set_loss_error(store, store->path, revision);
    }
    return !store->damage.exists || error_set(err, ERROR_OS, "%s", store->damage.text);
}

/* Clients that have seen earlier revisions resync, because none of them is in the log. */
static bool skip_revisions(Engine *engine, int64_t revision, Str key, Str value, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StoreOp put = { .kind = STORE_PUT, .key = key, .value = value };
    StoreTxn txn = { .success = &put, .success_count = 1 };
    EngineState state;
    StoreReply reply;
    Changes changes = { 0 };
    if (!engine->kind->begin(engine, true, err)) {
        return false;
    }
    bool ok = engine->kind->get_state(engine, &state, err);
    if (ok) {
        state.revision = revision - 1;
        ok = execute_txn(engine, &state, &txn, &arena, &reply, &changes, err) &&
             execute_compact(engine, &state, revision, err);
    }
    if (!ok) {
        engine->kind->rollback(engine);
        return false;
    }
    return engine->kind->commit(engine, err);
}

bool damage_find_loss(LocalStore *store, StoreAccepted *out, Error *err)
{
    EngineState state;
    bool found;
    if (!sqlite_engine_check(store->path, NULL, NULL, &state, err) ||
        !open_mark(store, &found, err)) {
        return false;
    }
    bool lost = found && state.revision < store->mark.revision;
    if (!lost && !store->damage.exists) {
        return error_set(err, ERROR_CONFLICT, "%s is not damaged; there is nothing to accept",
                         store->path);
    }
    int64_t acknowledged = lost ? store->mark.revision : state.revision;
    *out = (StoreAccepted){ .found = state.revision,
                            .acknowledged = acknowledged,
                            .revision = acknowledged + ACCEPT_STEP };
    return true;
}

bool damage_accept(LocalStore *store, Str key, Str value, StoreAccepted *out, Error *err)
{
    if (!damage_find_loss(store, out, err) ||
        !sqlite_engine_open(store->path, 0, &store->writer, err) ||
        !skip_revisions(store->writer, out->revision, key, value, err)) {
        return false;
    }
    store->damage = (StoreDamage){ 0 };
    store->mark.revision = out->revision;
    copy_id(store->mark.id, value);
    return write_mark(store, err) && slot_file_sync(&store->mark.file, err);
}
