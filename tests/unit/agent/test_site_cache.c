/* A node fetches versions from a server, over a Unix socket, while connections break and files are
 * damaged. */
#include "agent/site_cache.h"

#include <sys/stat.h>

#include "base/log.h"
#include "cluster/cluster_keys.h"
#include "net/grpc_server.h"
#include "net/world.h"
#include "ready_state.h"
#include "service/blob_message.h"
#include "service/blob_service.h"
#include "source/site_tree.h"
#include "source/versions.h"
#include "sys/file.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    ClusterStore cluster_store;
    Versions *versions;
    BlobService *service;
    Dispatch *dispatch;
    GrpcServer *server;
    GrpcClient *client;
    Address address;
    BlobStore *blobs; /* on the server */
    SiteCache *cache;
    LoopTimer poll;
    uint32_t disconnect_after; /* blobs after which the connection is closed */
    bool is_done;
    const char *path;
    Error err;
    GrpcStatus status;
} Fixture;

static const Http2Header protocol[] = { { { PROTOCOL_HEADER, 13 }, { "1", 1 } } };

static void describe(void *context, const Peer *peer, Caller *out)
{
    *out = (Caller){
        .has_identity = true, .identity = { "blue", "web1" }, .is_member = true, .is_approved = true
    };
}

static void connect_client(Fixture *f)
{
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = f->world.loop;
    options.address = f->address;
    options.metadata = protocol;
    options.metadata_count = 1;
    f->client = grpc_client_new(&options);
}

static GrpcClient *client_of(void *context)
{
    const Fixture *f = context;
    return f->client;
}

static void open_cache(Fixture *f)
{
    Error err;
    assert_true(
        site_cache_open(&(SiteCacheOptions){ .loop = f->world.loop,
                                             .directory = scratch_place(f->scratch, "agent"),
                                             .client = client_of,
                                             .context = f },
                        &f->cache, &err));
}

static void open_server(Fixture *f)
{
    GrpcServerOptions options = grpc_server_defaults();
    ListenerOptions listening = listener_defaults();
    const Listener *listener;
    Error err;
    f->service = blob_service_new(&f->cluster_store, f->versions);
    MethodBinding binding = blob_service_binding(f->service);
    f->dispatch = dispatch_new(&binding, 1, describe, f);
    options.loop = f->world.loop;
    dispatch_serve(f->dispatch, &options);
    f->server = grpc_server_new(&options);
    assert_true(
        address_parse(str_from_c(scratch_place(f->scratch, "socket")), 0, &f->address, &err));
    assert_true(grpc_server_listen(f->server, &listening, &f->address, &listener, &err));
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    f->cluster_store = (ClusterStore){ .loop = f->world.loop,
                                       .store = store_open_memory(f->world.loop, NULL),
                                       .prefix = STR("/eden") };
    f->cluster_store.state = new_state(&f->cluster_store, NULL);
    while (!state_age(f->cluster_store.state).is_ready) {
        world_pass(&f->world, 1);
    }
    const char *server = scratch_place(f->scratch, "server");
    f->versions =
        versions_new(&(VersionsSettings){ .cluster_store = f->cluster_store, .directory = server });
    assert_true(blob_store_open(scratch_place(f->scratch, "server/blobs"), &f->blobs, &err));
    open_server(f);
    connect_client(f);
    open_cache(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    site_cache_close(f->cache);
    grpc_client_free(f->client);
    grpc_server_free(f->server);
    world_pass(&f->world, 0);
    versions_free(f->versions);
    blob_service_free(f->service);
    dispatch_free(f->dispatch);
    blob_store_close(f->blobs);
    state_stop(f->cluster_store.state);
    store_close(f->cluster_store.store);
    state_free(f->cluster_store.state);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

/* --- Versions -------------------------------------------------------------------------------- */

static void stored(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    loop_stop(f->world.loop);
}

static void put_big(Scratch *scratch, const char *name, int fill)
{
    FILE *file = fopen(scratch_reach(scratch, name), "w");
    for (int i = 0; i < BLOB_MAX; i++) {
        fputc(fill, file);
    }
    fclose(file);
}

/* Records the files in "site" as a version; returns its name and its manifest. */
static const char *record(Fixture *f, VersionState state, const char **manifest)
{
    Arena *arena = &f->scratch->arena;
    Buf text = buf_make_in(arena, BUF_UNLIMITED), record = buf_make_in(arena, BUF_UNLIMITED);
    Manifest scanned;
    Version version = { .state = state, .created_ms = 1 };
    char *name = ARENA_ARRAY(arena, char, VERSION_NAME_LEN + 1);
    Error err;
    assert_true(site_tree_scan(arena, scratch_place(f->scratch, "site"), f->blobs, &scanned, &err));
    manifest_print(&scanned, &text);
    blob_id_of(buf_str(&text), version.manifest);
    assert_true(blob_store_put(f->blobs, str_from_c(version.manifest), buf_str(&text), &err));
    version_name_of(version.manifest, name);
    version_print(&version, &record);
    assert_true(store_put(f->cluster_store.store,
                          cluster_key_version(arena, STR("/eden"), str_from_c(name)),
                          buf_str(&record), 0, stored, f, &err));
    world_run(&f->world);
    while (state_find(f->cluster_store.state,
                      cluster_key_version(arena, STR("/eden"), str_from_c(name))) == NULL) {
        world_pass(&f->world, 1);
    }
    *manifest = arena_copy_c(arena, str_from_c(version.manifest));
    return name;
}

static void put_site(Fixture *f, const char *motd)
{
    scratch_put(f->scratch, "site/jobs/base.yaml", "jobs: {}\n");
    scratch_put(f->scratch, "site/files/motd", motd);
    scratch_put(f->scratch, "site/files/empty", "");
    unlink(scratch_place(f->scratch, "site/files/link"));
    scratch_link(f->scratch, "site/files/link", "motd");
}

/* --- Fetching -------------------------------------------------------------------------------- */

static void fetched(void *context, const char *path, const Error *err)
{
    Fixture *f = context;
    assert_false(f->is_done);
    f->is_done = true;
    f->path = path == NULL ? NULL : arena_copy_c(&f->scratch->arena, str_from_c(path));
    f->err = err == NULL ? (Error){ .kind = ERROR_NONE } : *err;
    loop_stop(f->world.loop);
}

static SiteFetch *start(Fixture *f, const char *name, const char *manifest)
{
    f->is_done = false;
    return site_cache_fetch(f->cache, &(SiteRequest){ manifest, name }, fetched, f);
}

static void finish(Fixture *f)
{
    while (!f->is_done) {
        world_run(&f->world);
    }
}

static void fetch(Fixture *f, const char *name, const char *manifest)
{
    start(f, name, manifest);
    finish(f);
    if (f->err.kind != ERROR_NONE) {
        fail_msg("%s", f->err.text);
    }
}

static Str text_of(Fixture *f, const char *name)
{
    Arena *arena = &f->scratch->arena;
    Error err;
    Str text;
    Str path = arena_format(arena, "%s/%s", f->path, name);
    assert_true(file_read(arena, path.data, 1 << 20, &text, &err));
    return text;
}

static void test_a_version_becomes_a_directory(void **state)
{
    Fixture *f = *state;
    const char *manifest;
    put_site(f, "welcome\n");
    const char *name = record(f, VERSION_VALID, &manifest);
    fetch(f, name, manifest);
    assert_true(str_ends(str_from_c(f->path), str_from_c(name)));
    assert_true(str_eq(text_of(f, "files/link"), STR("welcome\n")));
    assert_true(str_eq(text_of(f, "files/empty"), STR_EMPTY));
    assert_false(site_cache_status(f->cache).is_active);
}

static void test_a_known_version_needs_no_server(void **state)
{
    Fixture *f = *state;
    const char *manifest;
    put_site(f, "welcome\n");
    const char *name = record(f, VERSION_VALID, &manifest);
    fetch(f, name, manifest);
    grpc_client_free(TAKE(f->client));
    fetch(f, name, manifest);
    site_cache_close(f->cache);
    open_cache(f);
    fetch(f, name, manifest);
    assert_true(str_eq(text_of(f, "files/motd"), STR("welcome\n")));
}

static void disconnect(void *context)
{
    Fixture *f = context;
    if (site_cache_status(f->cache).received >= f->disconnect_after) {
        grpc_client_free(TAKE(f->client));
        loop_stop(f->world.loop);
    } else {
        loop_timer_start(&f->poll, 0);
    }
}

static void put_large_site(Fixture *f)
{
    put_site(f, "welcome\n");
    for (int i = 0; i < 20; i++) {
        put_big(f->scratch, arena_format(&f->scratch->arena, "site/files/%d", i).data, 'a' + i);
    }
}

static void start_and_disconnect(Fixture *f, const char *name, const char *manifest)
{
    start(f, name, manifest);
    f->disconnect_after = 3;
    loop_timer_init(&f->poll, f->world.loop, disconnect, f);
    loop_timer_start(&f->poll, 0);
    while (f->client != NULL) {
        world_run(&f->world);
    }
    assert_false(f->is_done);
}

static void test_a_fetch_continues_after_a_lost_connection(void **state)
{
    Fixture *f = *state;
    const char *manifest;
    put_large_site(f);
    const char *name = record(f, VERSION_VALID, &manifest);
    start_and_disconnect(f, name, manifest);
    while (site_cache_status(f->cache).why.kind == ERROR_NONE) {
        world_pass(&f->world, 1);
    }
    connect_client(f);
    site_cache_wake(f->cache);
    while (!f->is_done) {
        /* Blobs received before are not requested again: there are 22 blobs. */
        assert_true(site_cache_status(f->cache).missing <= 22);
        world_run(&f->world);
    }
    assert_int_equal(f->err.kind, ERROR_NONE);
    assert_int_equal(text_of(f, "files/19").len, BLOB_MAX);
}

static void test_a_new_agent_continues_a_fetch(void **state)
{
    Fixture *f = *state;
    const char *manifest;
    uint32_t kept = 0;
    put_large_site(f);
    const char *name = record(f, VERSION_VALID, &manifest);
    start_and_disconnect(f, name, manifest);
    site_cache_close(f->cache);
    scratch_put(f->scratch,
                arena_format(&f->scratch->arena, "agent/sites/.new/%s/jobs/x", name).data, "x");
    connect_client(f);
    open_cache(f);
    assert_int_equal(
        access(scratch_place(f->scratch,
                             arena_format(&f->scratch->arena, "agent/sites/.new/%s", name).data),
               F_OK),
        -1);
    AUTO(BlobStore) *blobs = NULL;
    Error err;
    assert_true(blob_store_open(scratch_place(f->scratch, "agent/blobs"), &blobs, &err));
    for (int i = 0; i < 20; i++) {
        char data[BLOB_MAX], id[BLOB_ID_TEXT + 1];
        memset(data, 'a' + i, sizeof data);
        blob_id_of(str_from(data, sizeof data), id);
        kept += blob_store_has(blobs, str_from_c(id));
    }
    assert_true(kept >= 2);
    fetch(f, name, manifest);
    assert_int_equal(text_of(f, "files/0").len, BLOB_MAX);
}

static void test_a_fetch_waits_for_a_connection(void **state)
{
    Fixture *f = *state;
    const char *manifest;
    put_site(f, "welcome\n");
    const char *name = record(f, VERSION_VALID, &manifest);
    grpc_client_free(TAKE(f->client));
    start(f, name, manifest);
    while (site_cache_status(f->cache).why.kind != ERROR_UNAVAILABLE) {
        world_pass(&f->world, 1);
    }
    connect_client(f);
    site_cache_wake(f->cache);
    finish(f);
    assert_int_equal(f->err.kind, ERROR_NONE);
}

static void count_damage(void *context, Str line)
{
    *(int *)context += str_find(line, STR("is damaged"), 0) != STR_NOT_FOUND;
}

static void test_a_damaged_directory_is_recreated(void **state)
{
    Fixture *f = *state;
    const char *manifest;
    int lines = 0;
    put_site(f, "welcome\n");
    const char *name = record(f, VERSION_VALID, &manifest);
    log_set_sink((LogSink){ .level = LOG_LEVEL_WARNING, .context = &lines, .write = count_damage });
    fetch(f, name, manifest);
    assert_int_equal(lines, 0); /* a new one is not */
    const char *motd = arena_format(&f->scratch->arena, "agent/sites/%s/files/motd", name).data;
    scratch_put(f->scratch, motd, "");
    fetch(f, name, manifest);
    assert_int_equal(lines, 1);
    log_set_sink((LogSink){ .level = LOG_LEVEL_WARNING });
    assert_true(str_eq(text_of(f, "files/motd"), STR("welcome\n")));
    scratch_put(f->scratch, motd, "WELCOME\n");
    fetch(f, name, manifest);
    assert_true(str_eq(text_of(f, "files/motd"), STR("welcome\n")));
}

/* Names are 48 bits of a hash. */
static void test_versions_of_the_same_name_are_not_confused(void **state)
{
    Fixture *f = *state;
    const char *first, *second;
    put_site(f, "welcome\n");
    const char *name = record(f, VERSION_VALID, &first);
    fetch(f, name, first);
    put_site(f, "WELCOME\n");
    (void)record(f, VERSION_VALID, &second);
    fetch(f, name, second);
    assert_true(str_eq(text_of(f, "files/motd"), STR("WELCOME\n")));
}

static void damage(Fixture *f, const char *where, Str content)
{
    Arena *arena = &f->scratch->arena;
    char id[BLOB_ID_TEXT + 1];
    blob_id_of(content, id);
    scratch_put(f->scratch, arena_format(arena, "%s/blobs/%.2s/%s", where, id, id).data, "damage");
}

static void test_a_damaged_blob_is_fetched_again(void **state)
{
    Fixture *f = *state;
    const char *manifest;
    put_site(f, "welcome\n");
    const char *name = record(f, VERSION_VALID, &manifest);
    fetch(f, name, manifest);
    damage(f, "agent", STR("welcome\n"));
    scratch_put(f->scratch,
                arena_format(&f->scratch->arena, "agent/sites/%s/files/motd", name).data, "");
    fetch(f, name, manifest);
    assert_true(str_eq(text_of(f, "files/motd"), STR("welcome\n")));
}

static void test_a_blob_that_the_server_has_lost_is_an_error(void **state)
{
    Fixture *f = *state;
    const char *manifest;
    put_site(f, "welcome\n");
    const char *name = record(f, VERSION_VALID, &manifest);
    damage(f, "server", STR("welcome\n"));
    start(f, name, manifest);
    finish(f);
    assert_int_equal(f->err.kind, ERROR_NOT_FOUND);
    record(f, VERSION_VALID, &manifest);
    fetch(f, name, manifest);
}

static void test_rejected_and_unknown_versions_are_not_sent(void **state)
{
    Fixture *f = *state;
    const char *manifest;
    put_site(f, "welcome\n");
    const char *name = record(f, VERSION_REJECTED, &manifest);
    start(f, name, manifest);
    finish(f);
    assert_int_equal(f->err.kind, ERROR_NOT_FOUND);
    char unknown[BLOB_ID_TEXT + 1];
    blob_id_of(STR("unknown"), unknown);
    start(f, name, unknown);
    finish(f);
    assert_int_equal(f->err.kind, ERROR_NOT_FOUND);
}

static void call_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Fixture *f = grpc_call_data(call);
    f->status = status;
    loop_stop(f->world.loop);
}

static void test_blobs_of_others_are_not_sent(void **state)
{
    static const GrpcHandler handler = { .ended = call_ended };
    Fixture *f = *state;
    AUTO_CLEAR(Buf) message = buf_make(BUF_UNLIMITED);
    const char *manifest;
    char secret[BLOB_ID_TEXT + 1];
    GrpcCall *call;
    Error err;
    put_site(f, "welcome\n");
    record(f, VERSION_VALID, &manifest);
    blob_id_of(STR("secret"), secret);
    assert_true(blob_store_put(f->blobs, str_from_c(secret), STR("secret"), &err));
    Str id = str_from_c(secret);
    BlobRequest request = { str_from_c(manifest), &id, 1 };
    blob_request_encode(&request, &message);
    assert_true(grpc_client_start(f->client, method_rows[METHOD_BLOBS_GET].path, GRPC_SERVER_STREAM,
                                  &handler, f, 0, &call, &err));
    assert_true(grpc_call_send(call, buf_str(&message), &err));
    world_run(&f->world);
    assert_int_equal(f->status, GRPC_PERMISSION_DENIED);
}

static void test_old_versions_are_removed(void **state)
{
    Fixture *f = *state;
    const char *names[SITE_VERSIONS_RETAINED + 1], *manifest;
    for (int i = 0; i < SITE_VERSIONS_RETAINED + 1; i++) {
        put_site(f, arena_format(&f->scratch->arena, "version %d\n", i).data);
        names[i] = record(f, VERSION_VALID, &manifest);
        fetch(f, names[i], manifest);
    }
    for (int i = 0; i < SITE_VERSIONS_RETAINED + 1; i++) {
        const char *path = scratch_place(
            f->scratch, arena_format(&f->scratch->arena, "agent/sites/%s", names[i]).data);
        assert_int_equal(access(path, F_OK), i == 0 ? -1 : 0);
    }
}

static struct stat age(Fixture *f, const char *name)
{
    static const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    struct stat status;
    const char *path = scratch_place(f->scratch, name);
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_int_equal(stat(path, &status), 0);
    return status;
}

static void test_a_known_version_costs_no_writes_and_no_sweep(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    const char *manifest;
    struct stat now;
    Error err;
    AUTO(BlobStore) *blobs = NULL;
    char stray[BLOB_ID_TEXT + 1];
    put_site(f, "welcome\n");
    const char *name = record(f, VERSION_VALID, &manifest);
    fetch(f, name, manifest);
    blob_id_of(STR("stray"), stray);
    assert_true(blob_store_open(scratch_place(f->scratch, "agent/blobs"), &blobs, &err));
    assert_true(blob_store_put(blobs, str_from_c(stray), STR("stray"), &err));
    age(f, arena_format(arena, "agent/blobs/%.2s/%s", stray, stray).data);
    const char *note = arena_format(arena, "agent/sites/%s.manifest", name).data;
    struct stat before = age(f, note);
    fetch(f, name, manifest);
    assert_int_equal(stat(scratch_place(f->scratch, note), &now), 0);
    assert_true(now.st_ino == before.st_ino);
    assert_true(now.st_mtime > before.st_mtime); /* it is the last one to be removed */
    assert_true(blob_store_has(blobs, str_from_c(stray)));
    put_site(f, "good morning\n");
    name = record(f, VERSION_VALID, &manifest);
    fetch(f, name, manifest);
    assert_false(blob_store_has(blobs, str_from_c(stray)));
}

static void test_a_canceled_fetch_does_not_block_the_next_one(void **state)
{
    Fixture *f = *state;
    const char *first, *second;
    put_large_site(f);
    const char *large = record(f, VERSION_VALID, &first);
    for (int i = 0; i < 20; i++) {
        unlink(
            scratch_place(f->scratch, arena_format(&f->scratch->arena, "site/files/%d", i).data));
    }
    const char *small = record(f, VERSION_VALID, &second);
    SiteFetch *canceled = start(f, large, first);
    start(f, small, second);
    while (site_cache_status(f->cache).received < 2) {
        world_pass(&f->world, 0);
    }
    site_fetch_cancel(canceled);
    finish(f);
    assert_int_equal(f->err.kind, ERROR_NONE);
    assert_true(str_ends(str_from_c(f->path), str_from_c(small)));
}

static void test_after_a_canceled_fetch_nothing_waits_for_its_retry(void **state)
{
    enum {
        TIMES = 6
    };
    Fixture *f = *state;
    const char *first, *second;
    put_site(f, "welcome\n");
    const char *known = record(f, VERSION_VALID, &first);
    fetch(f, known, first);
    put_site(f, "hello\n");
    const char *unknown = record(f, VERSION_VALID, &second);
    grpc_client_free(TAKE(f->client));
    int64_t started_ms = loop_now_ms(f->world.loop);
    for (int i = 0; i < TIMES; i++) {
        SiteFetch *canceled = start(f, unknown, second);
        while (site_cache_status(f->cache).why.kind != ERROR_UNAVAILABLE) {
            world_pass(&f->world, 1);
        }
        site_fetch_cancel(canceled);
        fetch(f, known, first);
    }
    assert_true(loop_now_ms(f->world.loop) - started_ms < TIMES * SITE_RETRY_MIN_MS);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Counts calls that the server has rejected, and ends when those that it accepted have ended
 * too. */
typedef struct Flood {
    Fixture *f;
    uint32_t ended, rejected;
} Flood;

static void flood_message(GrpcCall *call, Str message)
{
}

static void flood_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Flood *flood = grpc_call_data(call);
    flood->ended++;
    flood->rejected += status == GRPC_RESOURCE_EXHAUSTED;
    if (flood->ended == 2 * BLOB_CALLS_NODE_MAX) {
        loop_stop(flood->f->world.loop);
    }
}

static void test_a_node_has_few_calls_at_a_time(void **state)
{
    static const GrpcHandler handler = { .message = flood_message, .ended = flood_ended };
    Fixture *f = *state;
    Flood flood = { .f = f };
    AUTO_CLEAR(Buf) message = buf_make(BUF_UNLIMITED);
    const char *manifest;
    put_site(f, "hello\n");
    record(f, VERSION_VALID, &manifest);
    blob_request_encode(&(BlobRequest){ .manifest = str_from_c(manifest) }, &message);
    for (uint32_t i = 0; i < 2 * BLOB_CALLS_NODE_MAX; i++) {
        GrpcCall *call;
        Error err;
        assert_true(grpc_client_start(f->client, method_rows[METHOD_BLOBS_GET].path,
                                      GRPC_SERVER_STREAM, &handler, &flood, 0, &call, &err));
        assert_true(grpc_call_send(call, buf_str(&message), &err));
        grpc_call_end_sending(call);
    }
    world_run(&f->world);
    assert_int_equal(flood.ended, 2 * BLOB_CALLS_NODE_MAX);
    assert_int_equal(flood.rejected, BLOB_CALLS_NODE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(test_a_version_becomes_a_directory),
        ROW(test_a_known_version_needs_no_server),
        ROW(test_a_fetch_continues_after_a_lost_connection),
        ROW(test_a_new_agent_continues_a_fetch),
        ROW(test_a_fetch_waits_for_a_connection),
        ROW(test_a_damaged_directory_is_recreated),
        ROW(test_versions_of_the_same_name_are_not_confused),
        ROW(test_a_damaged_blob_is_fetched_again),
        ROW(test_a_blob_that_the_server_has_lost_is_an_error),
        ROW(test_rejected_and_unknown_versions_are_not_sent),
        ROW(test_blobs_of_others_are_not_sent),
        ROW(test_a_node_has_few_calls_at_a_time),
        ROW(test_old_versions_are_removed),
        ROW(test_a_known_version_costs_no_writes_and_no_sweep),
        ROW(test_a_canceled_fetch_does_not_block_the_next_one),
        ROW(test_after_a_canceled_fetch_nothing_waits_for_its_retry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
