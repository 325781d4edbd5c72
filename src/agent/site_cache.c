/* One fetch at a time: look for the version, request the missing blobs, store them, create the
 * directory. File operations run as work items; the loop continues when they complete. */
#include "agent/site_cache.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "rpc/methods.h"
#include "service/blob_message.h"
#include "source/site_tree.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/file_tree.h"
#include "sys/work_queue.h"

#define SITES  "sites"
#define BLOBS  "blobs"
#define DRAFTS ".new" /* directory of incomplete versions */

enum {
    CALL_MS = 10 * 60 * 1000, /* timeout of one request; the server ends a stalled one earlier */
    UNSTORED_MAX = 4 << 20,   /* maximum number of bytes waiting to be written */
    SITES_MAX = 1000,         /* maximum number of directories in sites/ */
    /* minimum age of blobs that are removed because no retained version has them */
    LEFTOVER_AGE_MS = 60 * 1000,
};

/* A requested version. */
struct SiteFetch {
    SiteCache *cache;
    char manifest[BLOB_ID_TEXT + 1];
    char version[VERSION_NAME_LEN + 1];
    SiteFetched *done; /* NULL: canceled */
    void *context;
    SiteFetch *next;
};

struct SiteCache {
    SiteCacheOptions options;
    Arena arena;
    const char *blobs_path, *sites_path;
    BlobStore *blobs;
    WorkQueue *work;
    SiteFetch *first, **last; /* the first one is active */
    LoopTimer retry;
    int64_t retry_ms;
    Error why;      /* reason for the wait */
    bool is_busy;   /* a step is being executed */
    GrpcCall *call; /* NULL: none */
    bool has_failed;
    Error failure; /* error of storing a blob */
    Arena step;    /* holds the data of the current step */
    Str *missing;  /* blobs to request, or the manifest itself if it is missing */
    uint32_t missing_count, received;
    bool needs_manifest;
    uint32_t expected;  /* current call: index of the next blob in `missing` */
    uint32_t requested; /* current call: index after its last blob */
    Buf blob;           /* current call: the received part of that blob */
    size_t unwritten;   /* number of bytes waiting to be written */
    bool is_paused;
};

/* --- Steps on the thread ---------------------------------------------------------------------- */

/* Looks for the version, and creates its directory if all blobs are present. Old versions are
 * removed only then, so that a run of an existing version is cheap. */
typedef struct BuildStep {
    WorkItem item;
    SiteCache *cache;
    Arena arena;
    char manifest[BLOB_ID_TEXT + 1];
    char version[VERSION_NAME_LEN + 1];
    const char *path; /* if set, the version is complete */
    bool needs_manifest;
    Str *missing;
    uint32_t missing_count;
    bool has_failed;
    Error err;
} BuildStep;

static bool read_manifest(const SiteCache *cache, Arena *arena, Str id, Manifest *out, Error *err)
{
    Str text;
    return blob_store_read(cache->blobs, arena, id, &text, err) &&
           manifest_read(arena, text, out, err);
}

/* Next to the directory of a version, <version>.manifest contains the ID of its manifest; the
 * file's time is when it was last used. */
static bool is_record(Str name)
{
    return str_ends(name, STR(".manifest"));
}

static int compare_newest(const void *a, const void *b)
{
    const DirectoryEntry *first = a, *second = b;
    return first->mtime_ns < second->mtime_ns ? 1 : first->mtime_ns > second->mtime_ns ? -1 : 0;
}

/* Adds the blobs of a retained version. */
static void add_retained(const SiteCache *cache, Arena *arena, const Directory *sites,
                         const char *record, StrMap *keep)
{
    Manifest manifest;
    Error ignored;
    Str id;
    if (!directory_read(sites, arena, record, BLOB_ID_TEXT, &id, &ignored) ||
        !blob_id_is_valid(id)) {
        return;
    }
    str_map_put(keep, id, NULL);
    if (read_manifest(cache, arena, id, &manifest, &ignored)) {
        manifest_add_blobs(&manifest, keep);
    }
}

static void remove_version(const SiteCache *cache, const Directory *sites, Str record)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error ignored;
    Str version = str_slice(record, 0, record.len - STR(".manifest").len);
    file_tree_remove(
        arena_format(&arena, "%s/%" STR_FMT, cache->sites_path, STR_ARG(version)).data);
    (void)!directory_remove(sites, record.data, &ignored);
}

/* Removes the versions that were used least recently, and blobs that no version has. */
static void remove_old(const SiteCache *cache, Str version)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Directory) sites = { .descriptor = -1 };
    DirectoryEntry *entries;
    uint32_t count, retained = 0;
    StrMap keep;
    BlobSweep sweep;
    Error err;
    str_map_init(&keep, &arena);
    if (!directory_open(cache->sites_path, &sites, &err) ||
        !directory_list(&sites, &arena, SITES_MAX, &entries, &count, &err)) {
        log_warning("cannot remove old versions of the site", LOG_C("error", err.text));
        return;
    }
    if (count > 1) {
        qsort(entries, count, sizeof *entries, compare_newest);
    }
    for (uint32_t i = 0; i < count; i++) {
        Str name = entries[i].name;
        if (is_record(name) && (retained++ < SITE_VERSIONS_RETAINED || str_starts(name, version))) {
            add_retained(cache, &arena, &sites, name.data, &keep);
        } else if (is_record(name)) {
            remove_version(cache, &sites, name);
        }
    }
    if (!blob_store_sweep(cache->blobs, &keep, LEFTOVER_AGE_MS, &sweep, &err)) {
        log_warning("cannot remove old files of the site", LOG_C("error", err.text));
    }
}

static void record_name(const BuildStep *step, char out[VERSION_NAME_LEN + sizeof ".manifest"])
{
    snprintf(out, VERSION_NAME_LEN + sizeof ".manifest", "%s.manifest", step->version);
}

/* Records the manifest of the version and the time of its use. */
static bool record_manifest(const BuildStep *step, Error *err)
{
    AUTO_CLEAR(Directory) sites = { .descriptor = -1 };
    char name[VERSION_NAME_LEN + sizeof ".manifest"];
    record_name(step, name);
    return directory_open(step->cache->sites_path, &sites, err) &&
           directory_write(&sites, name, str_from_c(step->manifest), true, err);
}

/* Reads the recorded manifest of a version. */
static void record_use(const BuildStep *step)
{
    AUTO_CLEAR(Directory) sites = { .descriptor = -1 };
    char name[VERSION_NAME_LEN + sizeof ".manifest"];
    Error ignored;
    record_name(step, name);
    if (directory_open(step->cache->sites_path, &sites, &ignored)) {
        (void)directory_touch(&sites, name);
    }
}

static bool create_tree(BuildStep *step, const Manifest *manifest, const char *path, Error *err)
{
    const char *draft =
        arena_format(&step->arena, "%s/" DRAFTS "/%s", step->cache->sites_path, step->version).data;
    file_tree_remove(draft);
    if (!site_tree_create(manifest, step->cache->blobs, draft, true, err)) {
        return false;
    }
    if (!file_tree_rename(draft, path, err)) {
        file_tree_remove(draft);
        return false;
    }
    return true;
}

/* The name of a version is only a prefix of the hash of its manifest: another version may have the
 * same name, and files of the same sizes. */
static bool matches_manifest(BuildStep *step, Error *why)
{
    AUTO_CLEAR(Directory) sites = { .descriptor = -1 };
    char name[VERSION_NAME_LEN + sizeof ".manifest"];
    Str id;
    record_name(step, name);
    return directory_open(step->cache->sites_path, &sites, why) &&
           directory_read(&sites, &step->arena, name, BLOB_ID_TEXT, &id, why) &&
           (str_eq_c(id, step->manifest) ||
            error_set(why, ERROR_CONFLICT, "it belongs to another manifest"));
}

static bool is_intact(BuildStep *step, const Manifest *manifest, const char *path)
{
    Error why;
    if (!file_is_directory(path)) {
        return false;
    }
    if (matches_manifest(step, &why) && site_tree_verify(manifest, path, &why)) {
        return true;
    }
    log_warning("a version of the site is damaged; creating it again",
                LOG_C("version", step->version), LOG_C("error", why.text));
    file_tree_remove(path);
    return false;
}

static bool build(BuildStep *step, Error *err)
{
    SiteCache *cache = step->cache;
    Str id = str_from_c(step->manifest);
    const char *path = arena_format(&step->arena, "%s/%s", cache->sites_path, step->version).data;
    Manifest manifest;
    if (!read_manifest(cache, &step->arena, id, &manifest, err)) {
        step->needs_manifest = err->kind == ERROR_NOT_FOUND;
        return step->needs_manifest;
    }
    (void)blob_store_touch(cache->blobs, id);
    if (is_intact(step, &manifest, path)) {
        record_use(step);
        step->path = path;
        return true;
    }
    step->missing_count = site_tree_missing(&step->arena, &manifest, cache->blobs, &step->missing);
    if (step->missing_count > 0) {
        return true;
    }
    if (!create_tree(step, &manifest, path, err)) {
        /* A blob was damaged, and is now missing. */
        step->missing_count =
            err->kind != ERROR_NOT_FOUND
                ? 0
                : site_tree_missing(&step->arena, &manifest, cache->blobs, &step->missing);
        return step->missing_count > 0;
    }
    if (!record_manifest(step, err)) {
        return false;
    }
    remove_old(cache, str_from_c(step->version));
    step->path = path;
    return true;
}

static void run_build(WorkItem *item)
{
    BuildStep *step = (BuildStep *)item;
    step->has_failed = !build(step, &step->err);
}

/* --- Progress --------------------------------------------------------------------------------- */

static void advance(SiteCache *cache);

static void finish_first(SiteCache *cache, const char *path, const Error *err)
{
    SiteFetch *fetch = cache->first;
    cache->first = fetch->next;
    if (cache->first == NULL) {
        cache->last = &cache->first;
    }
    cache->why = (Error){ .kind = ERROR_NONE };
    cache->missing_count = cache->received = 0;
    cache->retry_ms = SITE_RETRY_MIN_MS;
    loop_timer_stop(&cache->retry);
    if (fetch->done != NULL) {
        fetch->done(fetch->context, path, err);
    }
    free(fetch);
}

static void wait_and_retry(SiteCache *cache, const Error *why)
{
    cache->why = *why;
    loop_timer_start(&cache->retry, cache->retry_ms);
    cache->retry_ms *= 2;
    cache->retry_ms = cache->retry_ms > SITE_RETRY_MAX_MS ? SITE_RETRY_MAX_MS : cache->retry_ms;
}

static void on_retry(void *context)
{
    advance(context);
}

/* --- Receiving -------------------------------------------------------------------------------- */

typedef struct StoreStep {
    WorkItem item;
    SiteCache *cache;
    char id[BLOB_ID_TEXT + 1];
    Buf data;
    bool has_failed;
    Error err;
} StoreStep;

static void run_store(WorkItem *item)
{
    StoreStep *step = (StoreStep *)item;
    step->has_failed =
        !blob_store_put(step->cache->blobs, str_from_c(step->id), buf_str(&step->data), &step->err);
}

static void end_call(SiteCache *cache);

static void store_done(WorkItem *item)
{
    StoreStep *step = (StoreStep *)item;
    SiteCache *cache = step->cache;
    bool is_closing = item->is_canceled;
    cache->unwritten -= step->data.len;
    if (step->has_failed && !cache->has_failed) {
        cache->has_failed = true;
        cache->failure = step->err;
        /* Data with a different hash was damaged in transit, or on the server. */
        cache->failure.kind = step->err.kind == ERROR_INVALID ? ERROR_UNAVAILABLE : step->err.kind;
    }
    cache->received += !step->has_failed;
    buf_clear(&step->data);
    free(step);
    if (is_closing) {
        return;
    }
    if (cache->is_paused && cache->unwritten <= UNSTORED_MAX / 2 && cache->call != NULL) {
        cache->is_paused = false;
        grpc_call_resume(cache->call);
    }
    end_call(cache);
}

static void store_blob(SiteCache *cache)
{
    StoreStep *step = memory_new(sizeof *step);
    Str id = cache->missing[cache->expected++];
    step->item = (WorkItem){ .run = run_store, .done = store_done };
    step->cache = cache;
    step->data = cache->blob;
    memcpy(step->id, id.data, BLOB_ID_TEXT);
    cache->blob = buf_make(BLOB_MANIFEST_MAX);
    cache->unwritten += step->data.len;
    if (cache->unwritten > UNSTORED_MAX && !cache->is_paused) {
        cache->is_paused = true;
        grpc_call_pause(cache->call);
    }
    work_queue_add(cache->work, &step->item);
}

static void fail_call(SiteCache *cache, const Error *err)
{
    if (!cache->has_failed) {
        cache->has_failed = true;
        cache->failure = *err;
    }
}

/* Ends the call from this side. */
static void cancel_call(SiteCache *cache, const Error *err)
{
    fail_call(cache, err);
    grpc_call_cancel(TAKE(cache->call));
    end_call(cache);
}

static void on_chunk(GrpcCall *call, Str message)
{
    SiteCache *cache = grpc_call_data(call);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    BlobChunk chunk;
    Error err;
    size_t max = cache->needs_manifest ? BLOB_MANIFEST_MAX : BLOB_MAX;
    if (!blob_chunk_decode(&arena, message, &chunk, &err)) {
        err.kind = ERROR_UNAVAILABLE;
        cancel_call(cache, &err);
        return;
    }
    if (cache->expected == cache->requested || !str_eq(chunk.id, cache->missing[cache->expected]) ||
        cache->blob.len + chunk.data.len > max) {
        error_set(&err, ERROR_UNAVAILABLE, "the server sent a blob that was not requested");
        cancel_call(cache, &err);
        return;
    }
    buf_put(&cache->blob, chunk.data);
    if (chunk.is_last) {
        store_blob(cache);
    }
}

/* Connection errors are retried; an error response from the server is final. */
static void on_call_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    SiteCache *cache = grpc_call_data(call);
    Error err;
    cache->call = NULL;
    if (status != GRPC_OK) {
        ErrorKind kind = grpc_status_kind(status);
        bool is_final = kind == ERROR_NOT_FOUND || kind == ERROR_DENIED || kind == ERROR_INVALID;
        error_set(&err, is_final ? kind : ERROR_UNAVAILABLE, "%" STR_FMT, STR_ARG(text));
        fail_call(cache, &err);
    } else if (cache->expected < cache->requested) {
        error_set(&err, ERROR_UNAVAILABLE, "the server did not send all blobs");
        fail_call(cache, &err);
    }
    end_call(cache);
}

static const GrpcHandler call_handler = { .message = on_chunk, .ended = on_call_ended };

/* Continues when the call has ended and all received data is stored. */
static void end_call(SiteCache *cache)
{
    if (cache->call != NULL || cache->unwritten > 0) {
        return;
    }
    cache->is_busy = false;
    if (!cache->has_failed) {
        cache->retry_ms = SITE_RETRY_MIN_MS;
        advance(cache);
    } else if (cache->failure.kind == ERROR_UNAVAILABLE) {
        wait_and_retry(cache, &cache->failure);
    } else {
        finish_first(cache, NULL, &cache->failure);
        advance(cache);
    }
}

static bool start_call(SiteCache *cache, Error *err)
{
    AUTO_CLEAR(Buf) message = buf_make(BUF_UNLIMITED);
    GrpcClient *client = cache->options.client(cache->options.context);
    if (client == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "not connected to a server");
    }
    cache->requested = cache->missing_count < BLOB_IDS_MAX ? cache->missing_count : BLOB_IDS_MAX;
    BlobRequest request = { .manifest = str_from_c(cache->first->manifest),
                            .ids = cache->missing,
                            .count = cache->needs_manifest ? 0 : cache->requested };
    blob_request_encode(&request, &message);
    if (!grpc_client_start(client, method_rows[METHOD_BLOBS_GET].path, GRPC_SERVER_STREAM,
                           &call_handler, cache, CALL_MS, &cache->call, err)) {
        return false;
    }
    if (!grpc_call_send(cache->call, buf_str(&message), err)) {
        grpc_call_cancel(TAKE(cache->call));
        return false;
    }
    grpc_call_end_sending(cache->call);
    return true;
}

static void request_blobs(SiteCache *cache)
{
    Error err;
    cache->expected = cache->requested = 0;
    cache->has_failed = cache->is_paused = false;
    buf_reset(&cache->blob);
    if (start_call(cache, &err)) {
        cache->is_busy = true;
    } else {
        err.kind = ERROR_UNAVAILABLE;
        wait_and_retry(cache, &err);
    }
}

/* --- Building --------------------------------------------------------------------------------- */

static void copy_missing(SiteCache *cache, const BuildStep *step)
{
    uint32_t count = step->needs_manifest ? 1 : step->missing_count;
    arena_clear(&cache->step);
    cache->needs_manifest = step->needs_manifest;
    cache->missing = ARENA_ARRAY(&cache->step, Str, count);
    cache->missing_count = count;
    for (uint32_t i = 0; i < count; i++) {
        cache->missing[i] = arena_copy(
            &cache->step, step->needs_manifest ? str_from_c(step->manifest) : step->missing[i]);
    }
}

static void build_done(WorkItem *item)
{
    BuildStep *step = (BuildStep *)item;
    SiteCache *cache = step->cache;
    if (!item->is_canceled) {
        cache->is_busy = false;
        if (step->has_failed || step->path != NULL) {
            finish_first(cache, step->path, step->has_failed ? &step->err : NULL);
            advance(cache);
        } else if (cache->first->done == NULL) {
            advance(cache); /* canceled */
        } else {
            copy_missing(cache, step);
            request_blobs(cache);
        }
    }
    arena_clear(&step->arena);
    free(step);
}

/* Executes the next step of the first fetch, unless one is being executed. */
static void advance(SiteCache *cache)
{
    while (!cache->is_busy && cache->first != NULL && cache->first->done == NULL) {
        finish_first(cache, NULL, NULL);
    }
    if (cache->is_busy || cache->first == NULL) {
        return;
    }
    const SiteFetch *fetch = cache->first;
    BuildStep *step = memory_new(sizeof *step);
    loop_timer_stop(&cache->retry);
    cache->is_busy = true;
    cache->why = (Error){ .kind = ERROR_NONE };
    step->item = (WorkItem){ .run = run_build, .done = build_done };
    step->cache = cache;
    arena_init(&step->arena, ARENA_UNLIMITED);
    memcpy(step->manifest, fetch->manifest, sizeof step->manifest);
    memcpy(step->version, fetch->version, sizeof step->version);
    work_queue_add(cache->work, &step->item);
}

/* --- Interface -------------------------------------------------------------------------------- */

SiteFetch *site_cache_fetch(SiteCache *cache, const SiteRequest *request, SiteFetched *done,
                            void *context)
{
    SiteFetch *fetch = memory_new(sizeof *fetch);
    fetch->cache = cache;
    fetch->done = done;
    fetch->context = context;
    snprintf(fetch->manifest, sizeof fetch->manifest, "%s", request->manifest);
    snprintf(fetch->version, sizeof fetch->version, "%s", request->version);
    *cache->last = fetch;
    cache->last = &fetch->next;
    if (!loop_timer_started(&cache->retry)) {
        advance(cache);
    }
    return fetch;
}

void site_fetch_cancel(SiteFetch *fetch)
{
    if (fetch == NULL) {
        return;
    }
    SiteCache *cache = fetch->cache;
    fetch->done = NULL;
    if (fetch == cache->first && cache->call != NULL) {
        Error err;
        error_set(&err, ERROR_CONFLICT, "canceled");
        cancel_call(cache, &err);
    } else if (fetch == cache->first && loop_timer_started(&cache->retry)) {
        advance(cache);
    }
}

void site_cache_wake(SiteCache *cache)
{
    if (loop_timer_started(&cache->retry)) {
        cache->retry_ms = SITE_RETRY_MIN_MS;
        loop_timer_start(&cache->retry, 0);
    }
}

SiteFetchStatus site_cache_status(const SiteCache *cache)
{
    return (SiteFetchStatus){ .is_active = cache->first != NULL,
                              .version = cache->first == NULL ? "" : cache->first->version,
                              .missing = cache->missing_count,
                              .received = cache->received,
                              .why = cache->why };
}

/* Removes incomplete files of a killed process. */
static bool clean_sites(const char *path, Arena *arena, Error *err)
{
    AUTO_CLEAR(Directory) sites = { .descriptor = -1 };
    AUTO_CLEAR(Directory) drafts = { .descriptor = -1 };
    file_tree_remove(arena_format(arena, "%s/" DRAFTS, path).data);
    if (!directory_make(path, &sites, err) || !directory_make_child(&sites, DRAFTS, &drafts, err)) {
        return false;
    }
    directory_remove_temporaries(&sites);
    return true;
}

void site_cache_delete(const Directory *agent)
{
    directory_remove_child(agent, SITES);
    directory_remove_child(agent, BLOBS);
}

bool site_cache_open(const SiteCacheOptions *options, SiteCache **out, Error *err)
{
    SiteCache *cache = memory_new(sizeof *cache);
    cache->options = *options;
    arena_init(&cache->arena, ARENA_UNLIMITED);
    arena_init(&cache->step, ARENA_UNLIMITED);
    cache->last = &cache->first;
    cache->blob = buf_make(BLOB_MANIFEST_MAX);
    cache->retry_ms = SITE_RETRY_MIN_MS;
    cache->blobs_path = arena_format(&cache->arena, "%s/" BLOBS, options->directory).data;
    cache->sites_path = arena_format(&cache->arena, "%s/" SITES, options->directory).data;
    loop_timer_init(&cache->retry, options->loop, on_retry, cache);
    if (!blob_store_open(cache->blobs_path, &cache->blobs, err) ||
        !clean_sites(cache->sites_path, &cache->arena, err)) {
        site_cache_close(cache);
        return false;
    }
    cache->work = work_queue_new(options->loop);
    *out = cache;
    return true;
}

void site_cache_close(SiteCache *cache)
{
    if (cache == NULL) {
        return;
    }
    if (cache->call != NULL) {
        grpc_call_cancel(TAKE(cache->call));
    }
    loop_timer_stop(&cache->retry);
    for (SiteFetch *fetch = cache->first; fetch != NULL; fetch = fetch->next) {
        fetch->done = NULL;
    }
    work_queue_free(cache->work);
    for (SiteFetch *fetch = cache->first; fetch != NULL;) {
        SiteFetch *next = fetch->next;
        free(fetch);
        fetch = next;
    }
    blob_store_close(cache->blobs);
    buf_clear(&cache->blob);
    arena_clear(&cache->step);
    arena_clear(&cache->arena);
    free(cache);
}
