/* PackageKit: a service on the system's D-Bus in front of some package manager.
 *
 * It changes packages and lists those that can be installed. Installed packages are read from the
 * database of the underlying package manager if we support that: PackageKit does not report
 * packages that are held or partially installed, and is slow. */
#include "modules/pkg/packagekit.h"
#include "base/buf.h"
#include "modules/pkg/apt_parse.h"
#include "modules/pkg/blame.h"
#include "sys/bus.h"
#include "sys/clock.h"

#define SERVICE     "org.freedesktop.PackageKit"
#define TRANSACTION SERVICE ".Transaction"
#define LOCKED \
    "another process holds the lock: " /* our own marker in the output that we generate */

#define CONFLICTS_PREFIX "to be removed: " /* another marker */

/* PkFilterEnum, PkTransactionFlagEnum, PkInfoEnum, PkExitEnum and PkErrorEnum of PackageKit's
 * pk-enum.h; sets of the first two are bits. */
enum {
    FILTER_NONE = 0,
    FILTER_INSTALLED = 1 << 2,
    FLAG_ONLY_TRUSTED = 1 << 1,
    FLAG_SIMULATE = 1 << 2,
    FLAG_ALLOW_DOWNGRADE = 1 << 6,
    INFO_INSTALLED = 1,
    INFO_REMOVING = 13,
    EXIT_OK = 1,
    ERROR_CANNOT_GET_LOCK = 26,
};

typedef struct PkResult {
    PkPackages packages;
    uint32_t exit_code, error_code;
    Str error;
} PkResult;

/* --- Package IDs ----------------------------------------------------------------------------- */

bool pk_package_read(Str id, uint32_t info, PkPackage *out)
{
    PkPackage package = { .id = id, .info = info };
    Str rest = id;
    if (!str_split_next(&rest, ';', &package.name) ||
        !str_split_next(&rest, ';', &package.version) ||
        !str_split_next(&rest, ';', &package.arch) || package.name.len == 0) {
        return false;
    }
    package.installed = info == INFO_INSTALLED;
    *out = package;
    return true;
}

const PkPackage *pk_package_find(const PkPackages *packages, Str name, Str version, bool installed)
{
    for (uint32_t i = 0; i < packages->len; i++) {
        const PkPackage *package = &packages->items[i];
        if (package->installed == installed && str_eq(package->name, name) &&
            (version.len == 0 || str_eq(package->version, version))) {
            return package;
        }
    }
    return NULL;
}

/* --- Transactions ---------------------------------------------------------------------------- */

static BusTimeout transaction_timeout(const Call *call, int64_t timeout_ms)
{
    return (BusTimeout){ timeout_ms > 0 ? timeout_ms : -1, call->canceled };
}

static void handle_signal(Call *call, const BusSignal *signal, PkResult *answer)
{
    const BusValue *args = &signal->args;
    PkPackage package;
    if (str_eq(signal->member, STR("Package"))) {
        if (pk_package_read(bus_text(bus_item(args, 1)), (uint32_t)bus_integer(bus_item(args, 0)),
                            &package)) {
            VEC_PUSH(call->arena, &answer->packages, package);
        }
    } else if (str_eq(signal->member, STR("ErrorCode"))) {
        answer->error_code = (uint32_t)bus_integer(bus_item(args, 0));
        answer->error = bus_text(bus_item(args, 1));
    }
}

static bool wait_for_end(Call *call, Bus *bus, int64_t timeout_ms, PkResult *answer, Error *err)
{
    int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000;
    for (;;) {
        BusSignal signal;
        int64_t left_ms = (deadline_us - clock_monotonic_us()) / 1000;
        if (timeout_ms > 0 && left_ms <= 0) {
            return error_set(err, ERROR_TIMEOUT, "PackageKit timed out after %g s",
                             (double)timeout_ms / 1000);
        }
        if (!bus_wait(bus, transaction_timeout(call, timeout_ms > 0 ? left_ms : 0), call->arena,
                      &signal, err)) {
            return error_wrap(err, "PackageKit");
        }
        if (signal.is_service_lost) {
            return error_set(err, ERROR_UNAVAILABLE, "PackageKit exited before it had finished");
        }
        if (str_eq(signal.member, STR("Finished"))) {
            answer->exit_code = (uint32_t)bus_integer(bus_item(&signal.args, 0));
            return true;
        }
        handle_signal(call, &signal, answer);
    }
}

/* Non-interactive, and in the foreground, since the step waits for it. */
static bool begin_transaction(Call *call, Bus *bus, Str *path, Error *err)
{
    static const Str hints[] = { STR("locale=C.UTF-8"), STR("interactive=false"),
                                 STR("background=false") };
    BusValue reply;
    BusCall create = { SERVICE, STR("/org/freedesktop/PackageKit"),
                       SERVICE, "CreateTransaction",
                       NULL,    0 };
    if (!bus_call(bus, &create, transaction_timeout(call, BUS_TIMEOUT_MS), call->arena, &reply,
                  err)) {
        return false;
    }
    *path = bus_text(bus_item(&reply, 0));
    BusMatch match = { SERVICE, *path, TRANSACTION, NULL };
    BusCall set = { SERVICE, *path, TRANSACTION, "SetHints",
                    BUS_ARGS(bus_strings(call->arena, hints, COUNT_OF(hints))) };
    return bus_subscribe(bus, &match, transaction_timeout(call, BUS_TIMEOUT_MS), err) &&
           bus_call(bus, &set, transaction_timeout(call, BUS_TIMEOUT_MS), call->arena, NULL, err);
}

static void cancel(Call *call, Bus *bus, Str path)
{
    Error err;
    BusCall asked = { SERVICE, path, TRANSACTION, "Cancel", NULL, 0 };
    if (!bus_call(bus, &asked, (BusTimeout){ BUS_TIMEOUT_MS, NULL }, call->arena, NULL, &err)) {
        call_progress(
            call,
            STR("PackageKit cannot be interrupted at this point and continues in the background"));
    }
}

static bool transact_on(Call *call, Bus *bus, BusCall start, int64_t timeout_ms, PkResult *answer,
                        Error *err)
{
    if (!begin_transaction(call, bus, &start.path, err)) {
        return error_wrap(err, "PackageKit");
    }
    if (!bus_call(bus, &start, transaction_timeout(call, BUS_TIMEOUT_MS), call->arena, NULL, err)) {
        return error_wrap(err, "PackageKit, %s", start.member);
    }
    if (wait_for_end(call, bus, timeout_ms, answer, err)) {
        return true;
    }
    cancel(call, bus, start.path);
    return false;
}

/* Creates a transaction, calls one method on it and waits for it to finish. */
static bool transact(Call *call, BusCall start, int64_t timeout_ms, PkResult *answer, Error *err)
{
    Bus *bus;
    *answer = (PkResult){ 0 };
    if (!bus_acquire(host_shared(call->host), BUS_SYSTEM, &bus, err)) {
        return false;
    }
    bool ok = transact_on(call, bus, start, timeout_ms, answer, err);
    bus_release(host_shared(call->host), bus);
    return ok;
}
#define TRANSACT(call, kind, timeout_ms, answer, err, ...)                                         \
    transact(                                                                                      \
        call,                                                                                      \
        (BusCall){                                                                                 \
            .service = SERVICE, .interface = TRANSACTION, .member = kind, BUS_ARGS(__VA_ARGS__) }, \
        timeout_ms, answer, err)

static bool fail(const PkResult *answer, Error *err)
{
    return error_set(
        err, answer->error_code == ERROR_CANNOT_GET_LOCK ? ERROR_CONFLICT : ERROR_OS,
        "PackageKit: %" STR_FMT,
        STR_ARG(answer->error.len > 0 ? answer->error : STR("failed without giving a reason")));
}

static bool resolve(Call *call, const Str *names, uint32_t count, uint64_t filter, PkResult *answer,
                    Error *err)
{
    if (!TRANSACT(call, "Resolve", 0, answer, err, bus_u64(filter),
                  bus_strings(call->arena, names, count))) {
        return false;
    }
    return answer->exit_code == EXIT_OK || fail(answer, err);
}

/* --- The underlying package manager ---------------------------------------------------------- */

/* The backend whose database exists here; NULL if it is not one of ours. */
static const PackageBackend *find_underlying(Call *call)
{
    for (uint32_t i = 0; package_backends[i] != NULL; i++) {
        if (package_backends[i] != &backend_packagekit && package_backends[i]->is_native(call)) {
            return package_backends[i];
        }
    }
    return NULL;
}

static bool packagekit_is_native(Call *call)
{
    FileInfo info;
    Error err;
    return host_is_live(call->host) &&
           host_stat(call->host, STR("/usr/share/dbus-1/system-services/" SERVICE ".service"),
                     &info, &err) &&
           info.kind != FILE_ABSENT;
}

static const VersionOrder *packagekit_find_order(Call *call)
{
    const PackageBackend *underlying = find_underlying(call);
    return underlying == NULL ? &backend_packagekit.order : &underlying->order;
}

/* ';' separates the fields of a package ID. */
static bool packagekit_check_name(Str name, Error *err)
{
    bool ok = name.len > 0 && name.data[0] != '-';
    for (size_t i = 0; i < name.len; i++) {
        ok = ok && (ascii_is_name(name.data[i]) || memchr("+.-:", name.data[i], 4) != NULL);
    }
    return ok ||
           error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a package name", STR_ARG(name));
}

static bool packagekit_fingerprint(Call *call, Fingerprint *out, Error *err)
{
    const PackageBackend *underlying = find_underlying(call);
    if (underlying != NULL) {
        return underlying->fingerprint(call, out, err);
    }
    /* There is no file that identifies the state, so the fingerprint never matches. */
    out->words[out->count++] = (uint64_t)clock_monotonic_us();
    return true;
}

static bool packagekit_read(Call *call, PackageDatabase *into, Error *err)
{
    const PackageBackend *underlying = find_underlying(call);
    PkResult answer;
    if (underlying != NULL) {
        return underlying->read(call, into, err);
    }
    if (!TRANSACT(call, "GetPackages", 0, &answer, err, bus_u64(FILTER_INSTALLED))) {
        return false;
    }
    for (uint32_t i = 0; i < answer.packages.len; i++) {
        const PkPackage *found = &answer.packages.items[i];
        Package package = { .name = arena_copy(&into->arena, found->name),
                            .version = arena_copy(&into->arena, found->version),
                            .condition = PACKAGE_INSTALLED };
        database_add(into, &package);
    }
    return answer.exit_code == EXIT_OK || fail(&answer, err);
}

static void packagekit_list_needs(Arena *arena, const Package *package, List *names)
{
    if (str_starts(package->record, STR("Package:"))) {
        backend_apt.list_needs(arena, package, names);
    } else if (str_starts(package->record, STR("%"))) {
        backend_pacman.list_needs(arena, package, names);
    } else {
        backend_dnf.list_needs(arena, package, names);
    }
}

static int64_t packagekit_index_time(Call *call)
{
    const PackageBackend *underlying = find_underlying(call);
    return underlying == NULL ? 0 : underlying->index_time(call);
}

static bool packagekit_find_holder(Call *call, PackageHolder *out)
{
    const PackageBackend *underlying = find_underlying(call);
    return underlying != NULL && underlying->find_holder(call, out);
}

/* --- Operations ------------------------------------------------------------------------------ */

static bool packagekit_find_offers(Call *call, PackageOffer *offers, uint32_t count, Error *err)
{
    PkResult answer;
    Str *names = ARENA_ARRAY(call->arena, Str, count);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = offers[i].name;
    }
    if (!resolve(call, names, count, FILTER_NONE, &answer, err)) {
        return false;
    }
    pk_offers_fill(call->arena, packagekit_find_order(call), &answer.packages, offers, count);
    return true;
}

void pk_offers_fill(Arena *arena, const VersionOrder *order, const PkPackages *packages,
                    PackageOffer *offers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        VEC(Str) versions = { 0 };
        for (uint32_t k = 0; k < packages->len; k++) {
            const PkPackage *package = &packages->items[k];
            if (!str_eq(package->name, offers[i].name)) {
                continue;
            }
            offers[i].known = true;
            bool is_known = versions.len > 0 && str_eq(VEC_LAST(&versions), package->version);
            if (!package->installed && !is_known) {
                VEC_PUSH(arena, &versions, arena_copy(arena, package->version));
            }
            if (offers[i].candidate.len == 0 ||
                order->compare(offers[i].candidate, package->version) < 0) {
                offers[i].candidate = arena_copy(arena, package->version);
            }
        }
        offers[i].versions = versions.items;
        offers[i].version_count = versions.len;
    }
}

static bool packagekit_find_upgrades(Call *call, bool full, Map *changes, Error *err)
{
    AUTO(PackageDatabase) *database = NULL;
    PkResult answer;
    if (!database_get(call, &backend_packagekit, &database, err) ||
        !TRANSACT(call, "GetUpdates", 0, &answer, err, bus_u64(FILTER_NONE))) {
        return false;
    }
    for (uint32_t i = 0; i < answer.packages.len; i++) {
        const PkPackage *package = &answer.packages.items[i];
        const Package *now = database_find(database, package->name);
        Map *change = map_new(call->arena, 2);
        if (now != NULL) {
            map_set_str(call->arena, change, STR("old"),
                        value_string(arena_copy(call->arena, now->version)));
        }
        map_set_str(call->arena, change, STR("new"), value_string(package->version));
        map_set_str(call->arena, changes, package->name, value_map(change));
    }
    return answer.exit_code == EXIT_OK || fail(&answer, err);
}

static bool packagekit_refresh(Call *call, int64_t timeout_ms, Error *err)
{
    PkResult answer;
    return TRANSACT(call, "RefreshCache", timeout_ms, &answer, err, bus_bool(true)) &&
           (answer.exit_code == EXIT_OK || fail(&answer, err));
}

typedef VEC(Str) Ids;

/* Collects the IDs of the packages to change. Packages already installed in the requested version
 * are left out. */
static bool find_ids(Call *call, const PackageChange *change, Ids *ids, Str *missing, Error *err)
{
    bool installs = change->operation == PACKAGES_INSTALL;
    PkResult answer;
    Str *names = ARENA_ARRAY(call->arena, Str, change->count + 1);
    for (uint32_t i = 0; i < change->count; i++) {
        names[i] = change->items[i].name;
    }
    if (!resolve(call, names, change->count, installs ? FILTER_NONE : FILTER_INSTALLED, &answer,
                 err)) {
        return false;
    }
    for (uint32_t i = 0; i < change->count; i++) {
        const PackageItem *item = &change->items[i];
        const PkPackage *package =
            pk_package_find(&answer.packages, item->name, item->version, !installs);
        bool installed =
            installs && pk_package_find(&answer.packages, item->name, item->version, true) != NULL;
        if (installed) {
            continue;
        }
        if (package == NULL) {
            *missing = item->name;
            return true;
        }
        VEC_PUSH(call->arena, ids, package->id);
    }
    return true;
}

static bool run_change(Call *call, const PackageChange *change, const Ids *ids, PkResult *answer,
                       Error *err)
{
    BusValue list = bus_strings(call->arena, ids->items, ids->len);
    uint64_t flags = FLAG_ONLY_TRUSTED | (change->allow_downgrade ? FLAG_ALLOW_DOWNGRADE : 0);
    switch (change->operation) {
    case PACKAGES_INSTALL:
        return TRANSACT(call, "InstallPackages", change->timeout_ms, answer, err, bus_u64(flags),
                        list);
    case PACKAGES_REMOVE:
        return TRANSACT(call, "RemovePackages", change->timeout_ms, answer, err, bus_u64(0), list,
                        bus_bool(true), bus_bool(false));
    case PACKAGES_UPGRADE: break;
    }
    return TRANSACT(call, "UpdatePackages", change->timeout_ms, answer, err, bus_u64(flags), list);
}

/* PackageKit removes conflicting packages silently, so simulate first. `*names` is empty if there
 * are none. */
static bool find_conflicts(Call *call, const PackageChange *change, const Ids *ids, Str *names,
                           Error *err)
{
    PkResult answer;
    Buf found = buf_make_in(call->arena, BLAME_MAX);
    uint64_t flags =
        FLAG_SIMULATE | FLAG_ONLY_TRUSTED | (change->allow_downgrade ? FLAG_ALLOW_DOWNGRADE : 0);
    if (change->operation == PACKAGES_INSTALL && !change->allow_removals) {
        if (!TRANSACT(call, "InstallPackages", change->timeout_ms, &answer, err, bus_u64(flags),
                      bus_strings(call->arena, ids->items, ids->len))) {
            return false;
        }
        for (uint32_t i = 0; i < answer.packages.len; i++) {
            if (answer.packages.items[i].info == INFO_REMOVING) {
                buf_put_format(&found, "%s'%" STR_FMT "'", found.len > 0 ? ", " : "",
                               STR_ARG(answer.packages.items[i].name));
            }
        }
    }
    *names = buf_str(&found);
    return true;
}

static bool find_update_ids(Call *call, Ids *ids, Error *err)
{
    PkResult answer;
    if (!TRANSACT(call, "GetUpdates", 0, &answer, err, bus_u64(FILTER_NONE))) {
        return false;
    }
    for (uint32_t i = 0; i < answer.packages.len; i++) {
        VEC_PUSH(call->arena, ids, answer.packages.items[i].id);
    }
    return true;
}

/* Fail on unsupported options instead of ignoring them. */
static bool packagekit_check_change(const PackageChange *change, Error *err)
{
    if (change->replace_conffiles || change->purge || change->set_recommends || change->full) {
        const char *what = change->replace_conffiles ? "conffiles: replace"
                           : change->purge           ? "purge"
                           : change->full            ? "full"
                                                     : "recommends";
        return error_set(err, ERROR_UNAVAILABLE, "PackageKit does not support '%s'", what);
    }
    return true;
}

static bool packagekit_change(Call *call, const PackageChange *change, ProcessResult *result,
                              Error *err)
{
    Ids ids = { 0 };
    PkResult answer = { 0 };
    Str missing = STR_EMPTY, others;
    *result = (ProcessResult){ .ending = PROCESS_EXITED };
    if (change->operation == PACKAGES_UPGRADE ? !find_update_ids(call, &ids, err)
                                              : !find_ids(call, change, &ids, &missing, err)) {
        return false;
    }
    if (missing.len > 0) {
        result->exit_code = 1;
        result->out =
            arena_format(call->arena, "Error: '%" STR_FMT "' not found", STR_ARG(missing));
        return true;
    }
    if (ids.len == 0) {
        return true;
    }
    if (!find_conflicts(call, change, &ids, &others, err)) {
        return false;
    }
    if (others.len > 0) {
        result->exit_code = 1;
        result->out = arena_format(call->arena, CONFLICTS_PREFIX "%" STR_FMT, STR_ARG(others));
        return true;
    }
    if (!run_change(call, change, &ids, &answer, err)) {
        return false;
    }
    result->exit_code = answer.exit_code == EXIT_OK ? 0 : 1;
    result->out = answer.error_code == ERROR_CANNOT_GET_LOCK
                      ? arena_format(call->arena, LOCKED "%" STR_FMT, STR_ARG(answer.error))
                      : answer.error;
    return true;
}

static bool packagekit_was_locked(Str output)
{
    return str_starts(output, STR(LOCKED)) ||
           str_find(output, STR("Could not get lock"), 0) != STR_NOT_FOUND;
}

static bool packagekit_find_removals(Arena *arena, Str output, Str *names)
{
    bool refused = str_starts(output, STR(CONFLICTS_PREFIX));
    *names = refused ? str_from_offset(output, STR(CONFLICTS_PREFIX).len) : STR_EMPTY;
    return refused;
}

static bool packagekit_repair(Call *call, const PackageChange *like, Error *err)
{
    const PackageBackend *underlying = find_underlying(call);
    return underlying != NULL && underlying->repair != NULL ? underlying->repair(call, like, err)
                                                            : true;
}

/* Uses the messages of the underlying package manager, if PackageKit passes them on. */
static bool packagekit_blame(Arena *arena, Str output, Str name, Str *words)
{
    return apt_blame(arena, output, name, words) || blame_by_lines(arena, output, name, words);
}

const PackageBackend backend_packagekit = {
    .name = "packagekit",
    .live_only = true,
    .order = { version_compare_dpkg, false },
    .find_order = packagekit_find_order,
    .is_native = packagekit_is_native,
    .check_name = packagekit_check_name,
    .fingerprint = packagekit_fingerprint,
    .read = packagekit_read,
    .list_needs = packagekit_list_needs,
    .find_offers = packagekit_find_offers,
    .find_upgrades = packagekit_find_upgrades,
    .index_time = packagekit_index_time,
    .refresh = packagekit_refresh,
    .find_holder = packagekit_find_holder,
    .was_locked = packagekit_was_locked,
    .change = packagekit_change,
    .repair = packagekit_repair,
    .blame = packagekit_blame,
    .find_removals = packagekit_find_removals,
    .check_change = packagekit_check_change,
};
