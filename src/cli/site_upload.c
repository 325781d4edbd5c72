#include "cli/site_upload.h"

#include "cli/daemon_command.h"
#include "cli/output.h"
#include "source/site_tree.h"

enum {
    IDS_PER_REQUEST = 10000,
    PACK_MAX = 1 << 20, /* size of a request with several blobs; a larger blob is sent alone */
    PACK_HEAD = 4,
    SEND_MS = 120 * 1000, /* timeout of one request, for slow connections */
};

#define BYTES "application/octet-stream"

/* Location of the first file with a blob, from which it is read. */
typedef struct BlobLocation {
    const ManifestFile *file;
    uint32_t blob;
} BlobLocation;

static int send_request(Invocation *invocation, const char *method, Str target, const char *type,
                        Str body, Value *response)
{
    return cluster_call(invocation,
                        &(ClusterRequest){ .method = method,
                                           .target = target,
                                           .body = body,
                                           .content_type = type,
                                           .timeout_ms = SEND_MS },
                        response);
}

/* --- What is missing -------------------------------------------------------------------------- */

static void add_locations(Arena *arena, const Manifest *manifest, StrMap *out)
{
    for (uint32_t i = 0; i < manifest->file_count; i++) {
        const ManifestFile *file = &manifest->files[i];
        for (uint32_t blob = 0; blob < file->blob_count; blob++) {
            if (!str_map_has(out, file->blobs[blob])) {
                BlobLocation *location = ARENA_NEW(arena, BlobLocation);
                *location = (BlobLocation){ file, blob };
                str_map_put(out, file->blobs[blob], location);
            }
        }
    }
}

static int add_missing(Invocation *invocation, const List *ids, List *out)
{
    Arena *arena = invocation->arena;
    Map *body = map_new(arena, 1);
    Value response;
    map_set_str(arena, body, STR("blobs"), value_list((List *)ids));
    int code = send_request(invocation, "POST", STR("/v1/blobs/missing"), NULL,
                            cluster_body(arena, value_map(body)), &response);
    const List *missing = code == EXIT_OK ? value_get_list(response, "missing") : NULL;
    for (uint32_t i = 0; code == EXIT_OK && i < missing->len; i++) {
        list_push(arena, out, missing->items[i]);
    }
    return code;
}

static int find_missing(Invocation *invocation, const StrMap *locations, List *out)
{
    uint32_t at = 0;
    int code = EXIT_OK;
    const StrMapEntry *entry = str_map_next(locations, &at);
    while (entry != NULL && code == EXIT_OK) {
        List *ids = list_new(invocation->arena, IDS_PER_REQUEST);
        for (; entry != NULL && ids->len < IDS_PER_REQUEST; entry = str_map_next(locations, &at)) {
            list_push(invocation->arena, ids, value_string(entry->key));
        }
        code = add_missing(invocation, ids, out);
    }
    return code;
}

/* --- Sending ---------------------------------------------------------------------------------- */

static void show_progress(const SiteUpload *upload, uint32_t total, bool is_end)
{
    const Invocation *invocation = upload->invocation;
    if (invocation->moving_err) {
        stream_put_format(invocation->err, "\rsending: %u of %u blobs, %lld KiB%s", upload->sent,
                          total, (long long)((upload->sent_bytes + 1023) >> 10),
                          is_end ? "\n" : "");
        stream_flush(invocation->err);
    }
}

static int send_pack(SiteUpload *upload, Buf *pack, uint32_t count, uint32_t total)
{
    Value response;
    if (count == 0) {
        return EXIT_OK;
    }
    int code =
        send_request(upload->invocation, "POST", STR("/v1/blobs"), BYTES, buf_str(pack), &response);
    if (code == EXIT_OK) {
        upload->sent += count;
        upload->sent_bytes += (int64_t)pack->len - (int64_t)count * PACK_HEAD;
        show_progress(upload, total, upload->sent == total);
    }
    buf_reset(pack);
    return code;
}

static void put_size(Buf *pack, size_t size)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        buf_put_char(pack, (char)(size >> shift & 255));
    }
}

static int send_missing(SiteUpload *upload, const StrMap *locations, const List *missing,
                        char *buffer, Buf *pack)
{
    uint32_t count = 0;
    int code = EXIT_OK;
    for (uint32_t i = 0; code == EXIT_OK && i < missing->len; i++) {
        const BlobLocation *location = str_map_find(locations, value_str(missing->items[i]));
        Str data;
        Error err;
        if (location == NULL) {
            continue; /* not requested */
        }
        if (!site_tree_read_blob(upload->directory, location->file, location->blob, buffer, &data,
                                 &err)) {
            return daemon_command_fail(upload->invocation, "E0881", &err);
        }
        if (pack->len + PACK_HEAD + data.len > PACK_MAX) {
            code = send_pack(upload, pack, count, missing->len);
            count = 0;
        }
        put_size(pack, data.len);
        buf_put(pack, data);
        count++;
    }
    return code == EXIT_OK ? send_pack(upload, pack, count, missing->len) : code;
}

static int send_manifest(SiteUpload *upload)
{
    Arena *arena = upload->invocation->arena;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Value response;
    manifest_print(upload->manifest, &text);
    blob_id_of(buf_str(&text), upload->id);
    if (text.len > BLOB_MANIFEST_MAX) {
        Error err;
        error_set(&err, ERROR_LIMIT, "%s: the list of its files is larger than %d MiB",
                  upload->directory, BLOB_MANIFEST_MAX >> 20);
        return daemon_command_fail(upload->invocation, "E0881", &err);
    }
    return send_request(upload->invocation, "PUT",
                        cluster_target(arena, "/v1/blobs/", str_from_c(upload->id)), BYTES,
                        buf_str(&text), &response);
}

int site_upload(SiteUpload *upload)
{
    AUTO_CLEAR(Buf) pack = buf_make(BUF_UNLIMITED);
    Arena *arena = upload->invocation->arena;
    char *buffer = ARENA_ARRAY(arena, char, BLOB_MAX);
    List *missing = list_new(arena, 0);
    StrMap locations;
    str_map_init(&locations, arena);
    add_locations(arena, upload->manifest, &locations);
    upload->blobs = locations.count;
    int code = find_missing(upload->invocation, &locations, missing);
    if (code == EXIT_OK) {
        code = send_missing(upload, &locations, missing, buffer, &pack);
    }
    return code == EXIT_OK ? send_manifest(upload) : code;
}
