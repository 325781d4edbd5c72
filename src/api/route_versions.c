/* /v1/versions/<name>/... and /v1/blobs: versions of the site and the content of their files. */
#include "api/api_inner.h"
#include "api/bodies.h"
#include "api/handlers.h"
#include "base/json_out.h"

enum {
    FILE_COST = 4096, /* disk space that even a blob of one byte takes */
};

/* Returns NULL after rejecting the call. */
static Versions *versions_of(ApiCall *call)
{
    Versions *versions = call_settings(call)->versions;
    if (versions == NULL) {
        call_refuse(call, 503, "this server does not store versions");
    }
    return versions;
}

/* --- Versions -------------------------------------------------------------------------------- */

static void on_activated(void *context, const Error *err)
{
    ApiCall *call = context;
    if (call_resume(call, err)) {
        kind_changed(call, call->part, false);
    }
}

void version_activate(ApiCall *call)
{
    Versions *versions = versions_of(call);
    Error err;
    if (versions == NULL) {
        return;
    }
    /* The peer may have disconnected while the call was recorded, so its header is not read. */
    VersionActivation activation = { .version = call->part,
                                     .requested_by = str_from_c(call->caller.principal.who),
                                     .reason =
                                         call->entry == NULL ? STR_EMPTY : call->entry->reason };
    if (!activate_body_read(&call->arena, call_body(call), &activation, &err)) {
        call_fail_body(call, &err);
    } else {
        versions_activate(versions, &activation, on_activated, call);
    }
}

static void on_json(void *context, Str data, const Error *err)
{
    ApiCall *call = context;
    if (call_resume(call, err)) {
        call_respond_as(call, 200, "application/json", arena_copy(&call->arena, data));
    }
}

/* Returns false after rejecting the call. */
static bool find_version(ApiCall *call, VersionEntry *out)
{
    const ClusterStore *cluster_store = call_store(call);
    Error err;
    if (!versions_find(&call->arena, cluster_store->state, cluster_store->prefix, call->part, out,
                       &err)) {
        call_fail(call, &err);
        return false;
    }
    if (out->error.len > 0) {
        error_set(&err, ERROR_INVALID, "%" STR_FMT, STR_ARG(out->error));
        call_fail(call, &err);
        return false;
    }
    return true;
}

void version_manifest_get(ApiCall *call)
{
    Versions *versions = versions_of(call);
    VersionEntry entry;
    if (versions != NULL && find_version(call, &entry)) {
        versions_get(versions, caller_hash(&call->caller), str_from_c(entry.version.manifest),
                     on_json, call);
    }
}

void version_problems_get(ApiCall *call)
{
    Versions *versions = versions_of(call);
    VersionEntry entry;
    if (versions == NULL || !find_version(call, &entry)) {
        return;
    }
    if (entry.version.problems[0] == '\0') {
        Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
        json_out_start(&json, "eden.problems/1");
        json_out_open(&json, "problems", '[');
        json_out_close(&json, ']');
        json_out_close(&json, '}');
        call_respond(call, 200, &json);
    } else {
        versions_get(versions, caller_hash(&call->caller), str_from_c(entry.version.problems),
                     on_json, call);
    }
}

/* --- Blobs ----------------------------------------------------------------------------------- */

static void on_missing(void *context, const Str *missing, uint32_t count, const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.missing-blobs/1");
    json_out_open(&json, "missing", '[');
    for (uint32_t i = 0; i < count; i++) {
        json_out_item(&json, missing[i]);
    }
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    call_respond(call, 200, &json);
}

void blobs_missing_post(ApiCall *call)
{
    Versions *versions = versions_of(call);
    Str *ids;
    uint32_t count;
    Error err;
    if (versions == NULL) {
        return;
    }
    if (!blobs_body_read(&call->arena, call_body(call), &ids, &count, &err)) {
        call_fail_body(call, &err);
    } else {
        versions_missing(versions, caller_hash(&call->caller), ids, count, on_missing, call);
    }
}

/* Limits uploads, because blobs that no version uses are kept for an hour. Returns false after
 * rejecting the call. */
static bool may_upload(ApiCall *call, uint32_t blobs)
{
    const ApiSettings *settings = call_settings(call);
    int64_t cost = (int64_t)call_body(call).len + (int64_t)blobs * FILE_COST;
    if (call->is_local ||
        rate_table_take(&call->api->uploads, caller_hash(&call->caller), settings->uploads,
                        loop_now_ms(settings->cluster_store.loop), cost)) {
        return true;
    }
    call_refuse(call, 429,
                "the caller has sent too much; try again later, or raise the limits "
                "'upload_bytes_per_second' and 'upload_bytes_burst' in server.json");
    return false;
}

void blobs_post(ApiCall *call)
{
    Versions *versions = versions_of(call);
    if (versions != NULL && may_upload(call, versions_pack_count(call_body(call)))) {
        versions_put_pack(versions, caller_hash(&call->caller), call_body(call), call_done, call);
    }
}

static bool is_blob(ApiCall *call)
{
    if (!blob_id_is_valid(call->part)) {
        call_refuse(call, 400, "the name of a blob is a SHA-256 in lowercase hexadecimal digits");
        return false;
    }
    return true;
}

void blob_put(ApiCall *call)
{
    Versions *versions = versions_of(call);
    if (versions != NULL && is_blob(call) && may_upload(call, 1)) {
        versions_put(versions, caller_hash(&call->caller), call->part, call_body(call), call_done,
                     call);
    }
}

static void on_blob(void *context, Str data, const Error *err)
{
    ApiCall *call = context;
    if (call_resume(call, err)) {
        call_respond_as(call, 200, "application/octet-stream", arena_copy(&call->arena, data));
    }
}

void blob_get(ApiCall *call)
{
    Versions *versions = versions_of(call);
    if (versions != NULL && is_blob(call)) {
        versions_get(versions, caller_hash(&call->caller), call->part, on_blob, call);
    }
}
