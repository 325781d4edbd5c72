#include "service/blob_service.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/str_map.h"
#include "service/blob_message.h"

typedef struct GetCall GetCall;

/* The calls of one node. */
typedef struct NodeCalls {
    uint32_t active, waiting;
} NodeCalls;

struct BlobService {
    ClusterStore at;
    Versions *versions;
    Arena arena;
    StrMap nodes; /* of NodeCalls */
    uint32_t active;
    bool is_starting;
    GetCall *first, **last; /* calls that wait */
};

struct GetCall {
    BlobService *service;
    NodeCalls *node;
    GrpcCall *call; /* NULL once it has ended */
    Arena arena;
    BlobRequest request;
    uint32_t next; /* blob to read */
    Arena blob;    /* memory of the blob that is being sent */
    Str id, data;  /* what is left of it */
    bool has_data;
    bool is_active, is_reading;
    LoopTimer stalled;
    GetCall *following;
};

/* --- Life cycle of calls --------------------------------------------------------------------- */

static void start_next(BlobService *service);

/* Frees the call unless a read is in progress. */
static void release(GetCall *get)
{
    BlobService *service = get->service;
    if (get->is_active) {
        get->is_active = false;
        get->node->active--;
        service->active--;
        loop_timer_stop(&get->stalled);
    }
    if (!get->is_reading) {
        arena_clear(&get->blob);
        arena_clear(&get->arena);
        free(get);
    }
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
    error_set(&err, ERROR_UNAVAILABLE, "the node accepted nothing for %d seconds",
              BLOB_STALLED_MS / 1000);
    finish(get, &err);
}

/* --- Sending --------------------------------------------------------------------------------- */

static void read_next(GetCall *get);

/* Sends as much of the blob as the call accepts. */
static void pump(GetCall *get)
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
            return; /* otherwise until on_writable */
        }
        loop_timer_start(&get->stalled, BLOB_STALLED_MS);
        get->data = str_from_offset(get->data, chunk.data.len);
        get->has_data = !chunk.is_last;
    }
    read_next(get);
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
    uint32_t count = request->count == 0 ? 1 : request->count;
    if (get->next == count) {
        finish(get, NULL);
        return;
    }
    get->id = request->count == 0 ? request->manifest : request->ids[get->next];
    get->next++;
    get->is_reading = true;
    versions_get(get->service->versions, get->id, on_read, get);
}

/* --- Permission ------------------------------------------------------------------------------ */

static bool is_served(GetCall *get, Error *err)
{
    const ClusterStore *at = &get->service->at;
    char manifest[BLOB_ID_TEXT + 1], name[VERSION_NAME_LEN + 1];
    VersionEntry entry;
    memcpy(manifest, get->request.manifest.data, BLOB_ID_TEXT);
    manifest[BLOB_ID_TEXT] = '\0';
    version_name_of(manifest, name);
    return versions_find(&get->arena, at->state, at->prefix, str_from_c(name), &entry, err) &&
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
    get->node->active++;
    get->service->active++;
    loop_timer_start(&get->stalled, BLOB_STALLED_MS);
    if (!is_served(get, &err)) {
        finish(get, &err);
    } else if (get->request.count == 0) {
        read_next(get);
    } else {
        get->is_reading = true;
        versions_blobs(get->service->versions, get->request.manifest, on_blobs, get);
    }
}

static NodeCalls *node_calls(BlobService *service, Str node)
{
    NodeCalls *found = str_map_find(&service->nodes, node);
    if (found == NULL) {
        found = ARENA_NEW(&service->arena, NodeCalls);
        *found = (NodeCalls){ 0 };
        str_map_put(&service->nodes, arena_copy(&service->arena, node), found);
    }
    return found;
}

static void unlink_waiting(GetCall *get)
{
    BlobService *service = get->service;
    for (GetCall **at = &service->first; *at != NULL; at = &(*at)->following) {
        if (*at == get) {
            *at = get->following;
            service->last = *at == NULL ? at : service->last;
            get->node->waiting--;
            return;
        }
    }
}

/* The first call of a node that may have one more. */
static GetCall *next_waiting(const BlobService *service)
{
    GetCall *get = service->first;
    while (get != NULL && get->node->active >= BLOB_NODE_CALLS_MAX) {
        get = get->following;
    }
    return get;
}

/* A call that fails at once starts the next one from within. */
static void start_next(BlobService *service)
{
    GetCall *get;
    if (service->is_starting) {
        return;
    }
    service->is_starting = true;
    while (service->active < BLOB_CALLS_MAX && (get = next_waiting(service)) != NULL) {
        unlink_waiting(get);
        begin(get);
    }
    service->is_starting = false;
}

/* --- Handler --------------------------------------------------------------------------------- */

static void on_get(GrpcCall *call, Str message)
{
    BlobService *service = dispatch_data(call);
    NodeCalls *node = node_calls(service, str_from_c(grpc_call_peer(call)->tls.identity.node));
    Error err;
    if (node->waiting >= BLOB_NODE_WAITING_MAX) {
        error_set(&err, ERROR_LIMIT, "too many requests of this node wait");
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
    get->node = node;
    get->call = call;
    loop_timer_init(&get->stalled, service->at.loop, on_stalled, get);
    grpc_call_set_data(call, get);
    node->waiting++;
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
        if (!get->is_active) {
            unlink_waiting(get);
        }
        release(get);
    }
}

static const GrpcHandler get_handler = { .message = on_get,
                                         .writable = on_writable,
                                         .ended = on_ended };

BlobService *blob_service_new(const ClusterStore *at, Versions *versions)
{
    BlobService *service = memory_new(sizeof *service);
    service->at = *at;
    service->versions = versions;
    service->last = &service->first;
    arena_init(&service->arena, ARENA_UNLIMITED);
    str_map_init(&service->nodes, &service->arena);
    return service;
}

void blob_service_free(BlobService *service)
{
    if (service != NULL) {
        BUG_IF(service->active > 0 || service->first != NULL);
        arena_clear(&service->arena);
        free(service);
    }
}

MethodBinding blob_service_binding(BlobService *service)
{
    return (MethodBinding){ METHOD_BLOBS_GET, &get_handler, service };
}
