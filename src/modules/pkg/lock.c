/* Serializes package changes, within this process and with other processes.
 *
 * Package managers have one lock. Within this process, callers take turns by locking a shared
 * value. Other processes are detected by polling for the holder of the package manager's own lock.
 * If another process acquires it between the check and the change, the change is retried until the
 * deadline. */
#include "modules/pkg/index.h"
#include "modules/pkg/transaction.h"
#include "sys/clock.h"

enum {
    POLL_INTERVAL_MS = 100,
    RETRY_INTERVAL_MS = 1000,
    CONFFILE_MAX = 16 << 20 /* bytes */
};

static const SharedKind turn_kind = { sizeof(PackageLock), NULL };

int64_t packages_deadline_us(const Call *call, int64_t duration_ms)
{
    int64_t now_us = clock_monotonic_us();
    int64_t most_ms = (INT64_MAX - now_us) / 1000;
    if (call->timeout_ms > 0 && call->timeout_ms < duration_ms) {
        duration_ms = call->timeout_ms;
    }
    return now_us + (duration_ms < most_ms ? duration_ms : most_ms) * 1000;
}

static bool fail_wait(Call *call, const PackageHolder *holder, int64_t waited_us, Error *err)
{
    if (call_canceled(call)) {
        return error_set(err, ERROR_UNAVAILABLE, "canceled while waiting for %" STR_FMT,
                         STR_ARG(holder->process));
    }
    return error_set(err, ERROR_TIMEOUT,
                     "%" STR_FMT " holds %" STR_FMT
                     " and did not release it within %.0f s; 'lock_timeout' sets how long to wait",
                     STR_ARG(holder->process), STR_ARG(holder->lock_path), (double)waited_us / 1e6);
}

static bool wait_for_holder(Call *call, const PackageBackend *backend, int64_t deadline_us,
                            Error *err)
{
    PackageHolder holder;
    Str shown = STR_EMPTY;
    int64_t start_us = clock_monotonic_us();
    while (backend->find_holder(call, &holder)) {
        Error canceled;
        int64_t now_us = clock_monotonic_us();
        if (!str_eq(shown, holder.process)) {
            shown = holder.process;
            call_report_wait(call,
                             arena_format(call->arena, "%" STR_FMT " holds %" STR_FMT,
                                          STR_ARG(holder.process), STR_ARG(holder.lock_path)));
        }
        if (now_us >= deadline_us || !call_sleep(call, POLL_INTERVAL_MS, &canceled)) {
            return fail_wait(call, &holder, now_us - start_us, err);
        }
    }
    return true;
}

/* Polls until no other process holds the lock. */
static bool packages_wait(Call *call, const PackageBackend *backend, int64_t deadline_us,
                          Error *err)
{
    PackageHolder holder;
    if (!backend->find_holder(call, &holder)) {
        return true;
    }
    bool ok = wait_for_holder(call, backend, deadline_us, err);
    call_report_wait(call, STR_EMPTY);
    return ok;
}

bool packages_lock(Call *call, const PackageBackend *backend, int64_t deadline_us,
                   PackageLock **turn, Error *err)
{
    *turn = shared_lock(host_shared(call->host), &turn_kind);
    if (call_canceled(call)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "canceled while waiting for another step that changes packages");
    }
    return packages_wait(call, backend, deadline_us, err);
}

void packages_unlock(Call *call)
{
    shared_unlock(host_shared(call->host), &turn_kind);
}

static bool change_when_unlocked(Call *call, const PackageBackend *backend, PackageChange *change,
                                 int64_t deadline_us, ProcessResult *result, Error *err)
{
    for (;;) {
        if (!packages_wait(call, backend, deadline_us, err)) {
            return false;
        }
        int64_t left_us = deadline_us - clock_monotonic_us();
        change->lock_ms = left_us > 0 ? left_us / 1000 : 0;
        if (!backend->change(call, change, result, err)) {
            return false;
        }
        bool failed = result->ending == PROCESS_EXITED && result->exit_code != 0;
        Error canceled;
        /* The holder may be invisible to us (in another container), and then polling does not find
         * it. */
        if (!failed || !backend->was_locked(result->out) || clock_monotonic_us() >= deadline_us ||
            !call_sleep(call, RETRY_INTERVAL_MS, &canceled)) {
            return true;
        }
    }
}

/* --- Configuration files --------------------------------------------------------------------- */

/* Some package managers save the new version of a changed configuration file next to the old one
 * instead of prompting. With `conffiles: replace`, we replace the old file with it. */

static bool list_conffiles(Call *call, const PackageBackend *backend, const PackageChange *change,
                           List **out, Error *err)
{
    *out = list_new(call->arena, 8);
    return backend->list_conffiles(call, change->items, change->count, *out, err) ||
           error_wrap(err, "cannot list configuration files");
}

static Str new_path(Call *call, const PackageBackend *backend, Value path)
{
    return arena_format(call->arena, "%" STR_FMT "%s", STR_ARG(value_str(path)),
                        backend->conffile_suffix);
}

/* Before the change: records, by path, which new versions already exist, since the change did not
 * cause those. */
static bool conffiles_record(Call *call, const PackageBackend *backend, const PackageChange *change,
                             StrMap *inodes, Error *err)
{
    List *paths;
    str_map_init(inodes, call->arena);
    if (!list_conffiles(call, backend, change, &paths, err)) {
        return false;
    }
    for (uint32_t i = 0; i < paths->len; i++) {
        FileInfo info;
        Str path = new_path(call, backend, paths->items[i]);
        if (!host_stat(call->host, path, &info, err)) {
            return false;
        }
        if (info.kind != FILE_ABSENT) {
            str_map_put(inodes, path, (void *)(uintptr_t)info.inode);
        }
    }
    return true;
}

static bool replace(Call *call, Str path, Str from, const FileInfo *info, Error *err)
{
    FileWrite write = { .mode = info->mode, .uid = info->uid, .gid = info->gid };
    return call_journal(call, path, err) &&
           host_read(call->host, call->arena, from, CONFFILE_MAX, &write.content, err) &&
           host_write(call->host, path, &write, err) && host_remove(call->host, from, err);
}

/* After the change: replaces files with their new versions, journaling each first. */
static bool conffiles_replace(Call *call, const PackageBackend *backend,
                              const PackageChange *change, const StrMap *inodes, Error *err)
{
    List *paths;
    if (!list_conffiles(call, backend, change, &paths, err)) {
        return false;
    }
    for (uint32_t i = 0; i < paths->len; i++) {
        FileInfo info;
        Str path = value_str(paths->items[i]), from = new_path(call, backend, paths->items[i]);
        if (!host_stat(call->host, from, &info, err)) {
            return false;
        }
        bool is_new = info.kind == FILE_REGULAR &&
                      (uintptr_t)str_map_find(inodes, from) != (uintptr_t)info.inode;
        if (is_new && !replace(call, path, from, &info, err)) {
            return false;
        }
    }
    return true;
}

/* An upgrade of everything has no list of packages, so use all packages that were installed
 * before. */
static bool find_items(Call *call, const PackageBackend *backend, PackageChange *change, Error *err)
{
    AUTO(PackageDatabase) *database = NULL;
    if (change->operation != PACKAGES_UPGRADE) {
        return true;
    }
    if (!database_get(call, backend, &database, err)) {
        return false;
    }
    VEC(PackageItem) items = { 0 };
    StrMapEntry *entry;
    for (uint32_t at = 0; (entry = str_map_next(&database->packages, &at)) != NULL;) {
        VEC_PUSH(call->arena, &items, (PackageItem){ arena_copy(call->arena, entry->key), { 0 } });
    }
    change->items = items.items;
    change->count = items.len;
    return true;
}

bool packages_change(Call *call, const PackageBackend *backend, PackageChange *change,
                     int64_t deadline_us, ProcessResult *result, Error *err)
{
    StrMap before;
    if (!change->replace_conffiles || backend->conffile_suffix == NULL) {
        return change_when_unlocked(call, backend, change, deadline_us, result, err);
    }
    return find_items(call, backend, change, err) &&
           conffiles_record(call, backend, change, &before, err) &&
           change_when_unlocked(call, backend, change, deadline_us, result, err) &&
           conffiles_replace(call, backend, change, &before, err);
}

bool packages_repair(Call *call, const PackageBackend *backend, PackageLock *turn,
                     const PackageChange *like, PackageDatabase **database, Str *repaired,
                     Error *err)
{
    *repaired = STR_EMPTY;
    if (!(*database)->interrupted || turn->repair_failed || backend->repair == NULL) {
        return true;
    }
    Str wrong = arena_copy(call->arena, (*database)->interruption);
    PackageDatabase *after;
    Error ignored; /* the database shows what could not be repaired */
    call_progress(
        call, arena_format(call->arena, "%" STR_FMT "; completing the operation", STR_ARG(wrong)));
    bool tried = backend->repair(call, like, &ignored);
    if (!database_get(call, backend, &after, err)) {
        return false;
    }
    database_unref(*database);
    *database = after;
    turn->repair_failed = after->interrupted;
    *repaired = tried && !after->interrupted ? wrong : STR_EMPTY;
    return true;
}

bool packages_refresh(Call *call, const PackageBackend *backend, int64_t deadline_us, Error *err)
{
    while (!index_refresh(call, backend, call->timeout_ms, err)) {
        Error canceled;
        if (err->kind != ERROR_CONFLICT || clock_monotonic_us() >= deadline_us ||
            !call_sleep(call, RETRY_INTERVAL_MS, &canceled) ||
            !packages_wait(call, backend, deadline_us, err)) {
            return false;
        }
    }
    return true;
}
