/* Fetches the site, scans its files for uses of the list of nodes, and fetches that list if there
 * are any. */
#include "agent/site_supply.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "rpc/methods.h"
#include "service/blob_message.h"
#include "source/manifest.h"
#include "sys/directory.h"
#include "sys/file_tree.h"
#include "sys/work_queue.h"

#define SERVERS "servers" /* directory of the lists */

enum {
    LIST_MS = 30 * 1000, /* timeout of the request for the current list */
    SCANS_RETAINED = 8,
    PIECE = 64 << 10, /* number of bytes to read at a time */
    WORD_MAX = 32,    /* maximum length of the words below */
};

static const Str list_words[] = { STR("servervars"), STR("servers_get_by_label") };

/* Whether a version uses the list, stored so that it is not scanned again for each run. */
typedef struct Scan {
    char manifest[BLOB_ID_TEXT + 1]; /* empty: none */
    bool uses_list;
} Scan;

struct SiteSupply {
    SiteCacheOptions options;
    Arena arena;
    SiteCache *sites, *servers;
    WorkQueue *work;
    Scan scans[SCANS_RETAINED];
    uint32_t next_scan;
    struct SupplyRequest *first;
};

/* A request. A call in progress may outlive it. */
typedef struct SupplyRequest {
    WorkItem item; /* scans the site */
    SiteSupply *supply;
    SiteSupplyDone *done;
    void *context;
    char manifest[BLOB_ID_TEXT + 1];
    char *path; /* of the site */
    bool is_working, is_requesting, uses_list, has_failed;
    bool is_canceled; /* freed as soon as no work or call is in progress */
    Error err;
    struct SupplyRequest *next;
} SupplyRequest;

/* --- Scanning --------------------------------------------------------------------------------- */

static bool scan_file(const char *root, Str path, char *buffer, bool *uses_list, Error *err)
{
    AUTO_CLEAR(FileTreeFile) file = { -1 };
    if (!file_tree_open(root, path, &file, err)) {
        return false;
    }
    /* A word may be split between two pieces, so each piece overlaps the previous one. */
    size_t received = PIECE;
    for (int64_t at = 0; received == PIECE && !*uses_list; at += PIECE - WORD_MAX) {
        if (!file_tree_read(&file, at, buffer, PIECE, &received, err)) {
            return false;
        }
        for (size_t i = 0; i < COUNT_OF(list_words) && !*uses_list; i++) {
            *uses_list = str_find(str_from(buffer, received), list_words[i], 0) != STR_NOT_FOUND;
        }
    }
    return true;
}

bool site_mentions_servers(const char *root, bool *out, Error *err)
{
    static const FileTreeLimits limits = { .entries_max = MANIFEST_FILES_MAX,
                                           .depth_max = MANIFEST_DEPTH_MAX };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    FileTree tree;
    *out = false;
    if (!file_tree_list(&arena, root, &limits, &tree, err)) {
        return false;
    }
    char *buffer = ARENA_ARRAY(&arena, char, PIECE);
    for (uint32_t i = 0; i < tree.count && !*out; i++) {
        if (tree.items[i].kind == FILE_TREE_FILE &&
            !scan_file(root, tree.items[i].path, buffer, out, err)) {
            return false;
        }
    }
    return true;
}

static void run_scan(WorkItem *item)
{
    SupplyRequest *request = (SupplyRequest *)item;
    request->has_failed = !site_mentions_servers(request->path, &request->uses_list, &request->err);
}

/* --- Life cycle of a request
 * ------------------------------------------------------------------------ */

static void drop(SupplyRequest *request)
{
    if (request->is_canceled && !request->is_working && !request->is_requesting) {
        free(request->path);
        free(request);
    }
}

static void end(SupplyRequest *request, const char *servers, const Error *err)
{
    for (SupplyRequest **at = &request->supply->first; *at != NULL; at = &(*at)->next) {
        if (*at == request) {
            *at = request->next;
            break;
        }
    }
    request->is_canceled = true;
    request->done(request->context, err == NULL ? request->path : NULL, servers, err);
    drop(request);
}

static void fail_list(SupplyRequest *request, const Error *err)
{
    Error why = *err;
    error_wrap(&why, "the list of all nodes");
    end(request, NULL, &why);
}

/* --- The list --------------------------------------------------------------------------------- */

static void list_fetched(void *context, const char *path, const Error *err)
{
    SupplyRequest *request = context;
    if (err != NULL) {
        fail_list(request, err);
    } else {
        end(request, path, NULL);
    }
}

static void on_list(void *context, GrpcStatus status, Str text, Str response)
{
    SupplyRequest *request = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char version[MANIFEST_NAME_TEXT + 1];
    Error err;
    Str manifest;
    request->is_requesting = false;
    if (request->is_canceled) {
        drop(request);
    } else if (status == GRPC_UNIMPLEMENTED) {
        log_warning("the server is too old to list all nodes: templates can access only this one");
        end(request, NULL, NULL);
    } else if (status != GRPC_OK) {
        error_set(&err, grpc_status_kind(status), "%" STR_FMT, STR_ARG(text));
        fail_list(request, &err);
    } else if (!list_reply_decode(&arena, response, &manifest, &err)) {
        fail_list(request, &err);
    } else {
        snprintf(version, sizeof version, "%.*s", MANIFEST_NAME_TEXT, manifest.data);
        SiteRequest site_request = { .manifest = arena_copy_c(&arena, manifest),
                                     .version = version };
        (void)site_cache_fetch(request->supply->servers, &site_request, list_fetched, request);
    }
}

static void request_list(SupplyRequest *request)
{
    const SiteCacheOptions *options = &request->supply->options;
    GrpcClient *client = options->client(options->context);
    Error err;
    if (client == NULL) {
        error_set(&err, ERROR_UNAVAILABLE, "not connected to a server");
        fail_list(request, &err);
        return;
    }
    request->is_requesting = grpc_client_unary(client, method_rows[METHOD_NODES_LIST].path,
                                               STR_EMPTY, LIST_MS, on_list, request, &err);
    if (!request->is_requesting) {
        fail_list(request, &err);
    }
}

/* --- The site --------------------------------------------------------------------------------- */

static Scan *find_scan(SiteSupply *supply, const char *manifest)
{
    for (size_t i = 0; i < SCANS_RETAINED; i++) {
        if (strcmp(supply->scans[i].manifest, manifest) == 0) {
            return &supply->scans[i];
        }
    }
    return NULL;
}

static void proceed(SupplyRequest *request, bool uses_list)
{
    if (uses_list) {
        request_list(request);
    } else {
        end(request, NULL, NULL);
    }
}

static void scanned(WorkItem *item)
{
    SupplyRequest *request = (SupplyRequest *)item;
    SiteSupply *supply = request->supply;
    request->is_working = false;
    if (request->is_canceled) {
        drop(request);
    } else if (request->has_failed) {
        end(request, NULL, &request->err);
    } else {
        Scan *scan = &supply->scans[supply->next_scan++ % SCANS_RETAINED];
        memcpy(scan->manifest, request->manifest, sizeof scan->manifest);
        scan->uses_list = request->uses_list;
        proceed(request, request->uses_list);
    }
}

static void site_fetched(void *context, const char *path, const Error *err)
{
    SupplyRequest *request = context;
    SiteSupply *supply = request->supply;
    if (err != NULL) {
        end(request, NULL, err);
        return;
    }
    request->path = strdup(path);
    if (request->path == NULL) {
        memory_exhausted(strlen(path));
    }
    const Scan *scan = find_scan(supply, request->manifest);
    if (scan != NULL) {
        proceed(request, scan->uses_list);
        return;
    }
    request->is_working = true;
    request->item = (WorkItem){ .run = run_scan, .done = scanned };
    work_queue_add(supply->work, &request->item);
}

void site_supply_fetch(SiteSupply *supply, Str manifest, Str version, SiteSupplyDone *done,
                       void *context)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    SupplyRequest *request = memory_new(sizeof *request);
    request->supply = supply;
    request->done = done;
    request->context = context;
    request->next = supply->first;
    supply->first = request;
    snprintf(request->manifest, sizeof request->manifest, "%.*s", (int)manifest.len, manifest.data);
    SiteRequest site_request = { .manifest = request->manifest,
                                 .version = arena_copy_c(&arena, version) };
    (void)site_cache_fetch(supply->sites, &site_request, site_fetched, request);
}

void site_supply_wake(SiteSupply *supply)
{
    site_cache_wake(supply->sites);
    site_cache_wake(supply->servers);
}

/* --- Life cycle ------------------------------------------------------------------------------- */

void site_supply_delete(const Directory *agent)
{
    site_cache_delete(agent);
    directory_remove_child(agent, SERVERS);
}

bool site_supply_open(const SiteCacheOptions *options, SiteSupply **out, Error *err)
{
    SiteSupply *supply = memory_new(sizeof *supply);
    arena_init(&supply->arena, ARENA_UNLIMITED);
    supply->options = *options;
    SiteCacheOptions servers = *options;
    servers.directory = arena_format(&supply->arena, "%s/" SERVERS, options->directory).data;
    if (!site_cache_open(options, &supply->sites, err) ||
        !site_cache_open(&servers, &supply->servers, err)) {
        site_supply_close(supply);
        return false;
    }
    supply->work = work_queue_new(options->loop);
    *out = supply;
    return true;
}

void site_supply_close(SiteSupply *supply)
{
    if (supply == NULL) {
        return;
    }
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "the agent is stopping");
    site_cache_close(supply->sites);
    site_cache_close(supply->servers);
    while (supply->first != NULL) {
        end(supply->first, NULL, &err);
    }
    work_queue_free(supply->work);
    arena_clear(&supply->arena);
    free(supply);
}
