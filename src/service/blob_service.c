/* Serves blobs to nodes. Calls wait in a queue, oldest first; at most one per node and
 * BLOB_CALLS_MAX in total hold a blob in memory. A stalled call is ended, so that it frees its
 * slot. */
#include "service/blob_service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/memory.h"
#include "service/blob_message.h"

typedef struct GetCall GetCall;
typedef struct ListCall ListCall;

struct BlobService {
    ClusterStore cluster_store;
    Versions *versions;
    ServerList *servers;
    uint32_t active;
    bool is_starting;
    GetCall *first, **last; /* calls that wait or are served, oldest first */
    ListCall *lists;        /* calls that wait */
    LoopTimer list_due;
};

struct GetCall {
    BlobService *service;
    GrpcCall *call; /* NULL once it has ended */
    char node[NODE_NAME_MAX + 1];
    Arena arena;
    BlobRequest request;
    uint32_t next; /* index of the next blob to read */
    Arena blob;    /* memory of the blob that is being sent */
    Str id, data;  /* ID and unsent data of the current blob */
    bool has_data;
    bool is_listed; /* the blob belongs to a list of nodes */
    bool is_active, is_reading;
    LoopTimer stalled;
    GetCall *following;
};

/* --- Life cycle of calls --------------------------------------------------------------------- */

static void start_next(BlobService *service);

static void unlink_call(GetCall *get)
{
    BlobService *service = get->service;
    for (GetCall **at = &service->first; *at != NULL; at = &(*at)->following) {
        if (*at == get) {
            *at = get->following;
            service->last = *at == NULL ? at : service->last;
            return;
        }
    }
}

/* Frees the call, or defers that until the read in progress is done. */
static void release(GetCall *get)
{
    BlobService *service = get->service;
    loop_timer_stop(&get->stalled);
    if (get->is_reading) {
        return;
    }
    unlink_call(get);
    service->active -= get->is_active;
    arena_clear(&get->blob);
    arena_clear(&get->arena);
    free(get);
    start_next(service);
}

static void finish(GetCall *get, const Error *err)
{
    GrpcCall *call = TAKE(get->call);
    grpc_call_set_data(call, NULL);
    if (err == NULL) {
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    } else {
        grpc_call_fail(call, err);
    }
    release(get);
}

static void on_stalled(void *context)
{
    GetCall *get = context;
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "the node accepted no data for %d seconds",
              BLOB_STALLED_MS / 1000);
    finish(get, &err);
}

/* --- Sending --------------------------------------------------------------------------------- */

static void read_next(GetCall *get);

/* Sends as much of the blob as the call accepts. Returns false if the call has to wait, or has
 * ended. */
static bool send_blob(GetCall *get)
{
    while (get->has_data) {
        AUTO_CLEAR(Buf) message = buf_make(BUF_UNLIMITED);
        Error err;
        BlobChunk chunk = { .id = get->id, .data = str_slice(get->data, 0, BLOB_CHUNK_MAX) };
        chunk.is_last = chunk.data.len == get->data.len;
        blob_chunk_encode(&chunk, &message);
        if (!grpc_call_send(get->call, buf_str(&message), &err)) {
            if (err.kind != ERROR_LIMIT) {
                finish(get, &err);
            }
            return false; /* continued by on_writable */
        }
        loop_timer_start(&get->stalled, BLOB_STALLED_MS);
        get->data = str_from_offset(get->data, chunk.data.len);
        get->has_data = !chunk.is_last;
    }
    return true;
}

/* Reads the next blob of a list of nodes, which is in memory. */
static bool read_listed(GetCall *get, Error *err)
{
    const BlobRequest *request = &get->request;
    Str id = request->count == 0 ? request->manifest : request->ids[get->next], data;
    if (!server_list_find(get->service->servers, request->manifest, id, &data)) {
        return error_set(err, ERROR_NOT_FOUND, "the list of nodes has changed; request it again");
    }
    get->next++;
    arena_clear(&get->blob);
    get->id = id;
    get->data = arena_copy(&get->blob, data);
    get->has_data = true;
    return true;
}

static uint32_t blob_count(const GetCall *get)
{
    return get->request.count == 0 ? 1 : get->request.count;
}

static void pump(GetCall *get)
{
    Error err;
    while (send_blob(get)) {
        if (!get->is_listed || get->next == blob_count(get)) {
            read_next(get);
            return;
        }
        if (!read_listed(get, &err)) {
            finish(get, &err);
            return;
        }
    }
}

static void on_read(void *context, Str data, const Error *err)
{
    GetCall *get = context;
    get->is_reading = false;
    if (get->call == NULL) {
        release(get);
    } else if (err != NULL) {
        finish(get, err);
    } else {
        arena_clear(&get->blob);
        get->data = arena_copy(&get->blob, data);
        get->has_data = true;
        pump(get);
    }
}

static void read_next(GetCall *get)
{
    const BlobRequest *request = &get->request;
    if (get->next == blob_count(get)) {
        finish(get, NULL);
        return;
    }
    get->id = request->count == 0 ? request->manifest : request->ids[get->next];
    get->next++;
    get->is_reading = true;
    versions_get(get->service->versions, hash_str(str_from_c(get->node)), get->id, on_read, get);
}

/* --- Permission ------------------------------------------------------------------------------ */

static bool is_served(GetCall *get, Error *err)
{
    const ClusterStore *cluster_store = &get->service->cluster_store;
    char manifest[BLOB_ID_TEXT + 1], name[VERSION_NAME_LEN + 1];
    VersionEntry entry;
    memcpy(manifest, get->request.manifest.data, BLOB_ID_TEXT);
    manifest[BLOB_ID_TEXT] = '\0';
    version_name_of(manifest, name);
    return versions_find(&get->arena, cluster_store->state, cluster_store->prefix, str_from_c(name),
                         &entry, err) &&
           ((entry.version.state == VERSION_VALID &&
             strcmp(entry.version.manifest, manifest) == 0) ||
            error_set(err, ERROR_NOT_FOUND, "no valid version has this manifest"));
}

static void on_blobs(void *context, const StrMap *blobs, const Error *err)
{
    GetCall *get = context;
    Error denied;
    get->is_reading = false;
    for (uint32_t i = 0; err == NULL && i < get->request.count; i++) {
        if (!str_map_has(blobs, get->request.ids[i])) {
            error_set(&denied, ERROR_DENIED, "a requested blob is not part of that version");
            err = &denied;
        }
    }
    if (get->call == NULL) {
        release(get);
    } else if (err != NULL) {
        finish(get, err);
    } else {
        read_next(get);
    }
}

static void begin(GetCall *get)
{
    Error err;
    get->is_active = true;
    get->service->active++;
    loop_timer_start(&get->stalled, BLOB_STALLED_MS);
    get->is_listed = server_list_has(get->service->servers, get->request.manifest);
    if (get->is_listed) {
        pump(get);
    } else if (!is_served(get, &err)) {
        finish(get, &err);
    } else if (get->request.count == 0) {
        read_next(get);
    } else {
        get->is_reading = true;
        versions_blobs(get->service->versions, hash_str(str_from_c(get->node)),
                       get->request.manifest, on_blobs, get);
    }
}

static uint32_t count_calls(const BlobService *service, const char *node, bool only_active)
{
    uint32_t count = 0;
    for (const GetCall *get = service->first; get != NULL; get = get->following) {
        count += (get->is_active || !only_active) && strcmp(get->node, node) == 0;
    }
    return count;
}

/* The oldest waiting call of a node that is not being served; NULL if there is none. */
static GetCall *next_call(const BlobService *service)
{
    GetCall *get = service->first;
    while (get != NULL && (get->is_active || count_calls(service, get->node, true) > 0)) {
        get = get->following;
    }
    return get;
}

/* A call that fails immediately starts the next one from within this function. */
static void start_next(BlobService *service)
{
    GetCall *get;
    if (service->is_starting) {
        return;
    }
    service->is_starting = true;
    while (service->active < BLOB_CALLS_MAX && (get = next_call(service)) != NULL) {
        begin(get);
    }
    service->is_starting = false;
}

/* --- Handler --------------------------------------------------------------------------------- */

static void on_get(GrpcCall *call, Str message)
{
    BlobService *service = dispatch_data(call);
    const char *node = grpc_call_peer(call)->tls.identity.node;
    Error err;
    if (count_calls(service, node, false) >= BLOB_CALLS_NODE_MAX) {
        error_set(&err, ERROR_LIMIT, "more than %d concurrent requests for blobs",
                  BLOB_CALLS_NODE_MAX);
        grpc_call_fail(call, &err);
        return;
    }
    GetCall *get = memory_new(sizeof *get);
    arena_init(&get->arena, ARENA_UNLIMITED);
    arena_init(&get->blob, ARENA_UNLIMITED);
    if (!blob_request_decode(&get->arena, message, &get->request, &err)) {
        arena_clear(&get->arena);
        free(get);
        grpc_call_fail(call, &err);
        return;
    }
    get->service = service;
    get->call = call;
    snprintf(get->node, sizeof get->node, "%s", node);
    loop_timer_init(&get->stalled, service->cluster_store.loop, on_stalled, get);
    grpc_call_set_data(call, get);
    *service->last = get;
    service->last = &get->following;
    start_next(service);
}

static void on_writable(GrpcCall *call)
{
    GetCall *get = grpc_call_data(call);
    if (get != NULL && get->has_data) {
        pump(get);
    }
}

static void on_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    GetCall *get = grpc_call_data(call);
    if (get != NULL) {
        get->call = NULL;
        release(get);
    }
}

static const GrpcHandler get_handler = { .message = on_get,
                                         .writable = on_writable,
                                         .ended = on_ended };

/* --- The list of all nodes -------------------------------------------------------------------- */

/* A request that waits until the list may be created again. */
struct ListCall {
    GrpcCall *call;
    ListCall *next;
};

static void respond_list(BlobService *service, GrpcCall *call)
{
    AUTO_CLEAR(Buf) reply = buf_make(BUF_UNLIMITED);
    char manifest[BLOB_ID_TEXT + 1];
    Error err;
    bool ok = server_list_make(service->servers, manifest, &err);
    if (ok) {
        list_reply_encode(str_from_c(manifest), &reply);
        ok = grpc_call_send(call, buf_str(&reply), &err);
    }
    if (ok) {
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    } else {
        grpc_call_fail(call, &err);
    }
}

static void respond_lists(void *context)
{
    BlobService *service = context;
    ListCall *waiting = TAKE(service->lists);
    while (waiting != NULL) {
        ListCall *list_call = waiting;
        waiting = list_call->next;
        grpc_call_set_data(list_call->call, NULL);
        respond_list(service, list_call->call);
        free(list_call);
    }
}

static void on_list(GrpcCall *call, Str message)
{
    BlobService *service = dispatch_data(call);
    int64_t delay_ms = server_list_delay_ms(service->servers);
    if (delay_ms == 0) {
        respond_list(service, call);
        return;
    }
    ListCall *list_call = memory_new(sizeof *list_call);
    *list_call = (ListCall){ call, service->lists };
    service->lists = list_call;
    grpc_call_set_data(call, list_call);
    loop_timer_start(&service->list_due, delay_ms);
}

static void list_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    BlobService *service = dispatch_data(call);
    ListCall *ended = grpc_call_data(call);
    for (ListCall **at = &service->lists; ended != NULL && *at != NULL; at = &(*at)->next) {
        if (*at == ended) {
            *at = ended->next;
            free(ended);
            break;
        }
    }
}

static const GrpcHandler list_handler = { .message = on_list, .ended = list_ended };

BlobService *blob_service_new(const ClusterStore *cluster_store, Versions *versions)
{
    BlobService *service = memory_new(sizeof *service);
    service->cluster_store = *cluster_store;
    service->versions = versions;
    service->servers = server_list_new(cluster_store);
    service->last = &service->first;
    loop_timer_init(&service->list_due, cluster_store->loop, respond_lists, service);
    return service;
}

void blob_service_free(BlobService *service)
{
    if (service != NULL) {
        BUG_IF(service->active > 0 || service->first != NULL || service->lists != NULL);
        loop_timer_stop(&service->list_due);
        server_list_free(service->servers);
        free(service);
    }
}

MethodBinding blob_service_binding(BlobService *service)
{
    return (MethodBinding){ METHOD_BLOBS_GET, &get_handler, service };
}

MethodBinding blob_service_list_binding(BlobService *service)
{
    return (MethodBinding){ METHOD_NODES_LIST, &list_handler, service };
}
