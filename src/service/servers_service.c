#include "service/servers_service.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "service/servers_message.h"
#include "sys/directory.h"

enum {
    FILE_SIZE_MAX = 64 << 10,
};

struct ServersService {
    ServersServiceOptions options;
};

/* A call that waits for its audit entry, which is always completed; the call may have ended by
 * then. */
typedef struct FilesCall {
    ServersServiceOptions options;
    GrpcCall *call; /* NULL once the call has ended */
    char node[NODE_NAME_MAX + 1];
    char address[ADDRESS_TEXT_MAX];
} FilesCall;

static bool read_files(Arena *arena, const ServersServiceOptions *options, ServerFiles *out,
                       Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    *out = (ServerFiles){ .issuer = options->cas->issuer->chain.items[0].pin };
    if (!options->prepare(options->context, err) ||
        !directory_open(options->directory, &directory, err)) {
        return false;
    }
    for (uint32_t i = 0; i < BACKUP_FILES; i++) {
        if (!directory_read(&directory, arena, backup_part_name((BackupPartKind)i), FILE_SIZE_MAX,
                            &out->contents[i], err) &&
            (err->kind != ERROR_NOT_FOUND || backup_part_is_required((BackupPartKind)i))) {
            return false;
        }
    }
    return true;
}

static bool send_files(FilesCall *files, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Buf) reply = buf_make(SERVER_FILES_MAX);
    ServerFiles contents;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!read_files(&arena, &files->options, &contents, err)) {
        return false;
    }
    server_files_encode(&contents, &reply);
    BUG_IF(reply.overflow);
    return grpc_call_send(files->call, buf_str(&reply), err);
}

static void recorded(void *context, uint64_t sequence, const Error *err)
{
    FilesCall *files = context;
    GrpcCall *call = files->call;
    Error failure;
    if (call != NULL) {
        grpc_call_set_data(call, NULL);
        if (err == NULL) {
            log_info("sending the keys of the CA to another server", LOG_C("server", files->node),
                     LOG_C("address", files->address));
            err = send_files(files, &failure) ? NULL : &failure;
        }
        if (err == NULL) {
            grpc_call_finish(call, GRPC_OK, STR_EMPTY);
        } else {
            grpc_call_fail(call, err);
        }
    }
    free(files);
}

/* The record of its node says that it is a server, but its own record can only be created by an
 * administrator. */
static bool check_added(const ServersService *service, const char *node, Error *err)
{
    const ClusterStore *cluster_store = &service->options.cluster_store;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    return state_find(cluster_store->state, cluster_key_server(&arena, cluster_store->prefix,
                                                               str_from_c(node))) != NULL ||
           error_set(err, ERROR_DENIED, "'%s' is not one of the servers of the cluster", node);
}

static void on_files(GrpcCall *call, Str message)
{
    const ServersService *service = dispatch_data(call);
    const Identity *identity = &grpc_call_peer(call)->tls.identity;
    Error err;
    if (!check_added(service, identity->node, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    FilesCall *files = memory_new(sizeof *files);
    char who[NODE_NAME_MAX + 6];
    *files = (FilesCall){ .options = service->options, .call = call };
    memcpy(files->node, identity->node, sizeof files->node);
    memcpy(files->address, grpc_call_peer(call)->address, sizeof files->address);
    grpc_call_set_data(call, files);
    if (*service->options.audit == NULL) {
        recorded(files, 0, NULL);
        return;
    }
    snprintf(who, sizeof who, "node:%s", files->node);
    AuditEntry entry = { .who = str_from_c(who),
                         .principal_kind = PRINCIPAL_NODE,
                         .address = str_from_c(files->address),
                         .verb = STR("get"),
                         .kind = STR("Server"),
                         .name = str_from_c(files->node),
                         .outcome = AUDIT_DONE,
                         .detail = STR("the keys of the CA were sent to it") };
    audit_append(*service->options.audit, &entry, recorded, files);
}

static void files_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    FilesCall *files = grpc_call_data(call);
    if (files != NULL) {
        files->call = NULL;
    }
}

static const GrpcHandler files_handler = { .message = on_files, .ended = files_ended };

/* --- Blobs ------------------------------------------------------------------------------------ */

/* A call that waits for the disk; it may end before that. */
typedef struct BlobCall {
    GrpcCall *call; /* NULL once the call has ended */
} BlobCall;

static void blob_read(void *context, Str data, const Error *err)
{
    BlobCall *blob = context;
    GrpcCall *call = blob->call;
    Error failure;
    free(blob);
    if (call == NULL) {
        return;
    }
    grpc_call_set_data(call, NULL);
    AUTO_CLEAR(Buf) reply = buf_make(BUF_UNLIMITED);
    if (err == NULL) {
        server_blob_encode(data, &reply);
        err = grpc_call_send(call, buf_str(&reply), &failure) ? NULL : &failure;
    }
    if (err == NULL) {
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    } else {
        grpc_call_fail(call, err);
    }
}

static void on_blob(GrpcCall *call, Str message)
{
    const ServersService *service = dispatch_data(call);
    const char *node = grpc_call_peer(call)->tls.identity.node;
    AUTO_CLEAR(Arena) arena;
    Str id;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!check_added(service, node, &err) ||
        !server_blob_request_decode(&arena, message, &id, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    BlobCall *blob = memory_new(sizeof *blob);
    blob->call = call;
    grpc_call_set_data(call, blob);
    versions_get_local(service->options.versions, hash_str(str_from_c(node)), id, blob_read, blob);
}

static void blob_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    BlobCall *blob = grpc_call_data(call);
    if (blob != NULL) {
        blob->call = NULL;
    }
}

static const GrpcHandler blob_handler = { .message = on_blob, .ended = blob_ended };

/* --- Pings ------------------------------------------------------------------------------------ */

/* A call that waits for a node; it may end before that. */
typedef struct PingCall {
    GrpcCall *call; /* NULL once the call has ended */
} PingCall;

static void pinged(void *context, const SessionPing *result, const Error *err)
{
    PingCall *ping = context;
    GrpcCall *call = ping->call;
    Error failure;
    free(ping);
    if (call == NULL) {
        return;
    }
    grpc_call_set_data(call, NULL);
    AUTO_CLEAR(Buf) reply = buf_make(BUF_UNLIMITED);
    if (err == NULL) {
        server_ping_encode(result, &reply);
        err = grpc_call_send(call, buf_str(&reply), &failure) ? NULL : &failure;
    }
    if (err == NULL) {
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    } else {
        grpc_call_fail(call, err);
    }
}

static void on_ping(GrpcCall *call, Str message)
{
    const ServersService *service = dispatch_data(call);
    AUTO_CLEAR(Arena) arena;
    Str node;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!check_added(service, grpc_call_peer(call)->tls.identity.node, &err) ||
        !server_ping_request_decode(&arena, message, &node, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    PingCall *ping = memory_new(sizeof *ping);
    ping->call = call;
    grpc_call_set_data(call, ping);
    session_service_ping(service->options.sessions, node, pinged, ping);
}

static void ping_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    PingCall *ping = grpc_call_data(call);
    if (ping != NULL) {
        ping->call = NULL;
    }
}

static const GrpcHandler ping_handler = { .message = on_ping, .ended = ping_ended };

/* --- Lifecycle -------------------------------------------------------------------------------- */

ServersService *servers_service_new(const ServersServiceOptions *options)
{
    ServersService *service = memory_new(sizeof *service);
    service->options = *options;
    return service;
}

void servers_service_free(ServersService *service)
{
    free(service);
}

void servers_service_bind(ServersService *service,
                          MethodBinding bindings[static SERVERS_SERVICE_METHODS])
{
    bindings[0] = (MethodBinding){ METHOD_SERVERS_FILES, &files_handler, service };
    bindings[2] = (MethodBinding){ METHOD_SERVERS_PING, &ping_handler, service };
    bindings[1] = (MethodBinding){ METHOD_SERVERS_BLOB, &blob_handler, service };
}
