#include "server/server_store.h"

#include "base/log.h"
#include "cluster/cluster_keys.h"
#include "datastore/certificate.h"
#include "datastore/member_settings.h"
#include "etcd/etcd_store.h"
#include "server/create_cluster.h"
#include "sys/file.h"
#include "sys/sha256.h"

enum {
    FILE_MAX = 1 << 20, /* of a certificate, key or CA */
    PROBE_VALUES = 2,
    PROBE_BYTES = 900 * 1024, /* of a value: together more than etcd permits by default */
};

/* --- TLS ------------------------------------------------------------------------------------- */

static bool read_material(Arena *arena, const ServerSettings *settings, TlsMaterial *out,
                          char digest[SHA256_HEX + 1], Error *err)
{
    const struct {
        Str path;
        Str *text;
    } files[] = { { settings->etcd_ca, &out->ca },
                  { settings->etcd_certificate, &out->certificate },
                  { settings->etcd_key, &out->key } };
    Sha256 sha;
    bool ok = true;
    sha256_start(&sha);
    for (size_t i = 0; ok && i < COUNT_OF(files); i++) {
        ok = file_read(arena, arena_copy_c(arena, files[i].path), FILE_MAX, files[i].text, err);
        if (ok) {
            sha256_add(&sha, *files[i].text);
        }
    }
    sha256_finish(&sha, digest);
    return ok;
}

/* The certificate of this server's own member is renewed by this process. */
static bool use_own_files(ServerStore *store, bool *changed, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Sha256 sha;
    Str text;
    char digest[SHA256_HEX + 1];
    arena_init(&arena, ARENA_UNLIMITED);
    Str path = arena_format(&arena, "%s/" SERVER_DIRECTORY "/" DATASTORE_CERTIFICATES "%c",
                            store->state_dir, '\0');
    *changed = false;
    if (!directory_open(path.data, &directory, err) ||
        !directory_read(&directory, &arena, DATASTORE_CREDENTIAL, FILE_MAX, &text, err)) {
        return false;
    }
    sha256_start(&sha);
    sha256_add(&sha, text);
    sha256_finish(&sha, digest);
    if (strcmp(digest, store->material) == 0) {
        return true;
    }
    *changed = datastore_certificate_use(store->loop, &directory, &store->tls, err);
    if (*changed) {
        memcpy(store->material, digest, sizeof store->material);
    }
    return *changed;
}

static bool use_files(ServerStore *store, bool *changed, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    TlsMaterial material = { 0 };
    TlsOptions options = { .role = TLS_CLIENT, .protocol = "h2" };
    char digest[SHA256_HEX + 1];
    arena_init(&arena, ARENA_UNLIMITED);
    *changed = false;
    if (server_settings_own_etcd(store->settings)) {
        return use_own_files(store, changed, err);
    }
    if (!read_material(&arena, store->settings, &material, digest, err)) {
        return false;
    }
    if (strcmp(digest, store->material) == 0) {
        return true;
    }
    bool ok = store->tls == NULL
                  ? tls_context_new(store->loop, &options, &material, &store->tls, err)
                  : tls_context_reload(store->tls, &material, err);
    if (ok) {
        memcpy(store->material, digest, sizeof store->material);
        *changed = true;
    }
    return ok || error_wrap(err, "the files for connections to etcd");
}

void server_store_reload(ServerStore *store)
{
    Error err;
    bool changed;
    if (store->tls == NULL) {
        return;
    }
    if (!use_files(store, &changed, &err)) {
        log_warning("continuing with the previous certificate for etcd", LOG_C("error", err.text));
    } else if (changed) {
        log_info("new certificate for etcd loaded");
    }
}

/* --- Opening --------------------------------------------------------------------------------- */

/* Those of the settings; with its own member, also those of the others. */
static bool find_endpoints(Arena *arena, const ServerStore *store, Str *out, uint32_t *count,
                           Error *err)
{
    const ServerSettings *settings = store->settings;
    MemberSettings members;
    Str text, path = arena_format(arena, "%s/" SERVER_DIRECTORY "/" DATASTORE_SETTINGS "%c",
                                  store->state_dir, '\0');
    *count = settings->etcd_count;
    memcpy(out, settings->etcd, *count * sizeof *out);
    if (!server_settings_own_etcd(settings)) {
        return true;
    }
    if (!file_read(arena, path.data, MEMBER_SETTINGS_MAX, &text, err) ||
        !member_settings_read(arena, text, &members, err)) {
        return false;
    }
    for (uint32_t i = 0; i < members.endpoint_count && *count < ETCD_ENDPOINTS_MAX; i++) {
        if (!str_eq(members.endpoints[i], settings->etcd[0])) {
            out[(*count)++] = members.endpoints[i];
        }
    }
    return true;
}

static bool open_etcd(const StoreSettings *local, ServerStore *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    Str texts[ETCD_ENDPOINTS_MAX];
    Address endpoints[ETCD_ENDPOINTS_MAX];
    EtcdStoreOptions options = { .endpoints = endpoints };
    bool changed;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!use_files(out, &changed, err) ||
        !find_endpoints(&arena, out, texts, &options.endpoint_count, err)) {
        return false;
    }
    for (uint32_t i = 0; i < options.endpoint_count; i++) {
        if (!etcd_endpoint_parse(texts[i], &endpoints[i], err)) {
            return false;
        }
    }
    options.tls = out->tls;
    options.settings = local == NULL ? (StoreSettings){ 0 } : *local;
    out->store = etcd_store_open(out->loop, &options);
    return true;
}

bool server_store_lock(ServerStore *store, const Directory *server, const ServerSettings *settings,
                       Error *err)
{
    AUTO_CLEAR(Arena) arena;
    Str holder;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!server_settings_use_etcd(settings)) {
        return true;
    }
    store->is_locked =
        file_lock_take(server, SERVER_LOCK, STR("eden serve"), &arena, &store->lock, &holder, err);
    return store->is_locked ||
           (err->kind == ERROR_CONFLICT &&
            error_set(err, ERROR_CONFLICT, "a server is already running in %s", server->path));
}

bool server_store_open(Loop *loop, const char *state_dir, const ServerSettings *settings,
                       const StoreSettings *local, ServerStore *out, Error *err)
{
    out->loop = loop;
    out->state_dir = state_dir;
    out->settings = settings;
    if (server_settings_use_etcd(settings)) {
        if (open_etcd(local, out, err)) {
            return true;
        }
        server_store_close(out);
        return false;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str path = arena_format(&arena, "%s/" SERVER_DIRECTORY "/" SERVER_STORE "%c", state_dir, '\0');
    return store_open_sqlite(loop, path.data, local, &out->store, err);
}

void server_store_close(ServerStore *store)
{
    store_close(TAKE(store->store));
    tls_context_free(TAKE(store->tls));
    if (store->is_locked) {
        store->is_locked = false;
        file_lock_release(&store->lock);
    }
}

/* --- A new store ----------------------------------------------------------------------------- */

typedef struct StoreResult {
    Loop *loop;
    int64_t count;
    bool ok;
    Error err;
} StoreResult;

static void reply_received(void *context, const StoreReply *reply, const Error *err)
{
    StoreResult *result = context;
    result->ok = err == NULL;
    if (err != NULL) {
        result->err = *err;
    } else {
        result->count = reply->op_count > 0 ? reply->ops[0].count : 0;
    }
    loop_stop(result->loop);
}

static bool run_txn(const ServerStore *store, const StoreTxn *txn, StoreResult *out, Error *err)
{
    *out = (StoreResult){ .loop = store->loop };
    if (!store_txn(store->store, txn, reply_received, out, err)) {
        return false;
    }
    loop_run(store->loop);
    *err = out->err;
    return out->ok;
}

/* A request as large as possible, whose comparisons do not hold: it is checked for its size and
 * changes nothing. */
static bool probe_limits(const ServerStore *store, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StoreCompare compares[STORE_OPS_MAX];
    StoreOp ops[PROBE_VALUES + 1];
    char *bytes = arena_alloc(&arena, PROBE_BYTES);
    memset(bytes, 'x', PROBE_BYTES);
    for (uint32_t i = 0; i < COUNT_OF(compares); i++) {
        compares[i] = (StoreCompare){ .target = STORE_VERSION,
                                      .relation = STORE_EQUAL,
                                      .key = arena_format(&arena, "probe%u", i),
                                      .number = 1 };
    }
    for (uint32_t i = 0; i < PROBE_VALUES; i++) {
        ops[i] = (StoreOp){ .kind = STORE_PUT,
                            .key = arena_format(&arena, "probe%u", i),
                            .value = str_from(bytes, PROBE_BYTES) };
    }
    ops[PROBE_VALUES] = (StoreOp){ .kind = STORE_RANGE, .key = STR("a"), .end = STORE_ALL };
    StoreTxn txn = { .compares = compares,
                     .compare_count = COUNT_OF(compares),
                     .success = ops,
                     .success_count = COUNT_OF(ops) };
    StoreResult result;
    if (run_txn(store, &txn, &result, err)) {
        return true;
    }
    return err->kind == ERROR_LIMIT
               ? error_set(err, ERROR_LIMIT,
                           "etcd does not accept requests of this size: start each member with "
                           "'--max-request-bytes 4194304 --max-txn-ops 512'")
               : false;
}

bool server_store_check_unused(const ServerStore *store, Error *err)
{
    const StoreOp count = {
        .kind = STORE_RANGE, .key = STORE_ALL, .end = STORE_ALL, .count_only = true
    };
    StoreResult result;
    if (!run_txn(store, &(StoreTxn){ .success = &count, .success_count = 1 }, &result, err)) {
        StoreStatus status = store_status(store->store);
        if (err->kind == ERROR_UNAVAILABLE && !status.writable) {
            return error_set(err, ERROR_UNAVAILABLE, "%s", status.reason);
        }
        return false;
    }
    if (result.count > 0) {
        return error_set(err, ERROR_CONFLICT,
                         "etcd at %" STR_FMT " is not empty: it contains %lld keys. eden needs an "
                         "etcd cluster without other data; if these are leftovers of an "
                         "interrupted attempt, 'etcdctl del --from-key \"\"' deletes all keys",
                         STR_ARG(store->settings->etcd[0]), (long long)result.count);
    }
    return probe_limits(store, err);
}

/* --- Probing ---------------------------------------------------------------------------------- */

static void probed(void *context, const StoreReply *reply, const Error *err)
{
    if (err == NULL && store_status(context).writable) {
        log_info("store is writable again");
    }
}

void store_probe(Store *store, Str server)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    Str key = cluster_key_probe(&arena, KEYS_PREFIX, server);
    if (!store_check_status(store).writable &&
        !store_put(store, key, STR("1"), 0, probed, store, &err)) {
        log_debug("store not probed", LOG_C("error", err.text));
    }
}
