#include "api/bodies.h"

#include "api/object_draft.h"
#include "api/routes.h"
#include "base/base64.h"
#include "base/hex.h"
#include "lang/record.h"
#include "sys/sha256.h"

enum {
    VALUES_MAX = 512, /* values per body */
};

/* Fields of all request bodies; each body uses some of them. */
typedef struct SshBody {
    Str target;
    Value host_keys;
    bool accept_new_host_key;
} SshBody;

typedef struct Body {
    Str token, key, name, csr, node, serial, certificate, action, hash;
    Value value, value_base64;
    SshBody ssh;
} Body;

#define REQUIRED(member)                                                       \
    {                                                                          \
#member, RECORD_TEXT, RECORD_STR_AT(Body, member), .is_required = true \
    }
#define OPTIONAL(member)                                  \
    {                                                     \
#member, RECORD_TEXT, RECORD_STR_AT(Body, member) \
    }

/* The size is limited by the route (api/routes.h). */
static bool read_body(Arena *arena, Str body, const RecordField *fields, Body *out, Error *err)
{
    const RecordFormat format = { .what = "the request body",
                                  .fields = fields,
                                  .size = sizeof(Body),
                                  .text_max = ROUTE_VALUE_MAX,
                                  .values_max = VALUES_MAX };
    return record_read(&format, arena, body, RECORD_EXTERNAL, out, err);
}

Str body_subject(Arena *arena, Str body)
{
    static const char *const words[] = { "name", "node", "serial", "certificate" };
    AUTO_CLEAR(Arena) scratch;
    Value object;
    Error err;
    arena_init(&scratch, ARENA_UNLIMITED);
    if (!object_parse(&scratch, body, ROUTE_BODY_MAX, &object, &err)) {
        return STR_EMPTY;
    }
    const Value *metadata = value_get(object, STR("metadata"));
    bool is_object = metadata != NULL && metadata->kind == VALUE_MAP;
    for (size_t i = 0; i < (is_object ? 1 : COUNT_OF(words)); i++) {
        const Value *name = value_get(is_object ? *metadata : object, str_from_c(words[i]));
        if (name != NULL && value_is_string(*name) && name->len > 0) {
            return arena_copy(arena, value_str(*name));
        }
    }
    return STR_EMPTY;
}

bool session_body_read(Arena *arena, Str body, Str *token, Error *err)
{
    static const RecordField fields[] = { REQUIRED(token), { 0 } };
    Body parsed;
    if (!read_body(arena, body, fields, &parsed, err)) {
        return false;
    }
    *token = parsed.token;
    return true;
}

static bool read_ssh(Arena *arena, const SshBody *ssh, ApproveRequest *out, Error *err)
{
    if (!ssh_target_parse(ssh->target, &out->target, err)) {
        return false;
    }
    for (uint32_t i = 0; i < ssh->host_keys.list->len; i++) {
        if (!ssh_trust_add(arena, &out->trust, value_str(ssh->host_keys.list->items[i]), err)) {
            return false;
        }
    }
    out->trust.accept_new = ssh->accept_new_host_key;
    return (out->trust.count > 0) != out->trust.accept_new ||
           error_set(err, ERROR_INVALID, "specify either 'host_keys' or 'accept_new_host_key'");
}

bool approve_body_read(Arena *arena, Str body, ApproveRequest *out, Error *err)
{
    static const RecordField ssh_fields[] = {
        { "target", RECORD_TEXT, RECORD_STR_AT(SshBody, target), .is_required = true, .min = 1 },
        { "host_keys", RECORD_TEXT, RECORD_VALUE_AT(SshBody, host_keys), .shape = RECORD_LIST },
        { "accept_new_host_key", RECORD_BOOL, RECORD_BOOL_AT(SshBody, accept_new_host_key) },
        { 0 },
    };
    static const RecordField fields[] = {
        { "key", RECORD_TEXT, RECORD_STR_AT(Body, key), .min = 1 },
        { "ssh", RECORD_OBJECT, RECORD_STRUCT_AT(Body, ssh, SshBody, ssh_fields) },
        { 0 },
    };
    Body parsed;
    ApproveRequest request = { .key = STR_EMPTY };
    if (!read_body(arena, body, fields, &parsed, err)) {
        return false;
    }
    if ((parsed.key.len > 0) == (parsed.ssh.target.len > 0)) {
        return error_set(err, ERROR_INVALID, "the request body: specify either 'key' or 'ssh'");
    }
    request.key = parsed.key;
    if (request.key.len == 0 && !read_ssh(arena, &parsed.ssh, &request, err)) {
        return error_wrap(err, "the request body: 'ssh'");
    }
    *out = request;
    return true;
}

bool issue_body_read(Arena *arena, Str body, Str *name, Str *csr, Error *err)
{
    static const RecordField fields[] = { REQUIRED(name), REQUIRED(csr), { 0 } };
    Body parsed;
    if (!read_body(arena, body, fields, &parsed, err)) {
        return false;
    }
    *name = parsed.name;
    *csr = parsed.csr;
    return true;
}

bool revoke_body_read(Arena *arena, Str body, Str *node, Str *serial, Error *err)
{
    static const RecordField fields[] = { OPTIONAL(node), OPTIONAL(serial), { 0 } };
    Body parsed;
    if (!read_body(arena, body, fields, &parsed, err)) {
        return false;
    }
    *node = parsed.node;
    *serial = parsed.serial;
    return (node->len > 0) != (serial->len > 0) ||
           error_set(err, ERROR_INVALID, "the request body: specify either 'node' or 'serial'");
}

bool renew_body_read(Arena *arena, Str body, OwnCertificateKind *out, Error *err)
{
    static const RecordField fields[] = { REQUIRED(certificate), { 0 } };
    Body parsed;
    if (!read_body(arena, body, fields, &parsed, err)) {
        return false;
    }
    *out = str_eq_c(parsed.certificate, "serving") ? OWN_KIND_SERVING : OWN_KIND_NODE;
    return *out == OWN_KIND_SERVING || str_eq_c(parsed.certificate, "server") ||
           error_set(err, ERROR_INVALID, "'certificate' must be \"serving\" or \"server\"");
}

bool rotate_body_read(Arena *arena, Str body, RotateAction *out, Str *node, Error *err)
{
    static const char *const actions[] = {
        [ROTATE_BEGIN] = "begin", [ROTATE_ABORT] = "abort", [ROTATE_SKIP_NODE] = "without"
    };
    static const RecordField fields[] = { REQUIRED(action), OPTIONAL(node), { 0 } };
    Body parsed;
    if (!read_body(arena, body, fields, &parsed, err)) {
        return false;
    }
    *node = parsed.node;
    for (RotateAction request = 0; request < COUNT_OF(actions); request++) {
        if (str_eq_c(parsed.action, actions[request]) &&
            (node->len > 0) == (request == ROTATE_SKIP_NODE)) {
            *out = request;
            return true;
        }
    }
    return error_set(err, ERROR_INVALID,
                     "'action' must be \"begin\", \"abort\", or \"without\" with a 'node'");
}

bool archive_body_read(Arena *arena, Str body, Str *hash, Error *err)
{
    static const RecordField fields[] = { REQUIRED(hash), { 0 } };
    Body parsed;
    if (!read_body(arena, body, fields, &parsed, err)) {
        return false;
    }
    *hash = parsed.hash;
    return (hash->len == SHA256_HEX && hex_is_valid(*hash)) ||
           error_set(err, ERROR_INVALID,
                     "the request body: 'hash' must be a SHA-256 digest of %d hexadecimal digits",
                     (int)SHA256_HEX);
}

bool value_body_read(Arena *arena, Str body, Str *value, Error *err)
{
    static const RecordField fields[] = {
        { "value", RECORD_TEXT, RECORD_VALUE_AT(Body, value) },
        { "value_base64", RECORD_TEXT, RECORD_VALUE_AT(Body, value_base64) },
        { 0 },
    };
    Body parsed;
    if (!read_body(arena, body, fields, &parsed, err)) {
        return false;
    }
    if (value_is_string(parsed.value) == value_is_string(parsed.value_base64)) {
        return error_set(err, ERROR_INVALID,
                         "the request body: specify either 'value' or 'value_base64'");
    }
    if (value_is_string(parsed.value)) {
        *value = value_str(parsed.value);
        return true;
    }
    return base64_decode(arena, value_str(parsed.value_base64), value) ||
           error_set(err, ERROR_INVALID, "the request body: 'value_base64' is not valid base64");
}

bool blobs_body_read(Arena *arena, Str body, Str **ids, uint32_t *count, Error *err)
{
    enum {
        IDS_MAX = ROUTE_BLOB_IDS_MAX / BLOB_ID_TEXT
    };
    typedef struct BlobsBody {
        Str *blobs;
        uint32_t count;
    } BlobsBody;
    static const RecordField fields[] = {
        { "blobs", RECORD_TEXT, RECORD_POINTER_AT(BlobsBody, blobs, count, IDS_MAX, Str, NULL),
          .is_printed = true },
        { 0 },
    };
    static const RecordFormat format = { .what = "the request body",
                                         .fields = fields,
                                         .size = sizeof(BlobsBody),
                                         .text_max = ROUTE_BLOB_IDS_MAX,
                                         .values_max = IDS_MAX + VALUES_MAX };
    BlobsBody parsed;
    if (!record_read(&format, arena, body, RECORD_EXTERNAL, &parsed, err)) {
        return false;
    }
    for (uint32_t i = 0; i < parsed.count; i++) {
        if (!blob_id_is_valid(parsed.blobs[i])) {
            return error_set(err, ERROR_INVALID,
                             "the request body: item %u of 'blobs' is not a SHA-256 of %d "
                             "hexadecimal digits",
                             i + 1, (int)BLOB_ID_TEXT);
        }
    }
    *ids = parsed.blobs;
    *count = parsed.count;
    return true;
}

bool propose_body_read(Arena *arena, Str body, GitProposal *out, Error *err)
{
    static const RecordField fields[] = {
        { "commit", RECORD_TEXT, RECORD_STR_AT(GitProposal, commit), .max = GIT_COMMIT_MAX,
          .check_text = git_commit_check },
        { "branch", RECORD_TEXT, RECORD_STR_AT(GitProposal, branch), .max = GIT_BRANCH_MAX,
          .check_text = git_branch_check },
        { 0 },
    };
    static const RecordFormat format = { .what = "the request body",
                                         .fields = fields,
                                         .size = sizeof(GitProposal),
                                         .text_max = ROUTE_BODY_MAX,
                                         .values_max = VALUES_MAX };
    return record_read(&format, arena, body.len == 0 ? STR("{}") : body, RECORD_EXTERNAL, out,
                       err) &&
           (out->commit.len == 0 || out->branch.len == 0 ||
            error_set(err, ERROR_INVALID, "the request body: specify either 'commit' or 'branch'"));
}

bool activate_body_read(Arena *arena, Str body, VersionActivation *out, Error *err)
{
    typedef struct ActivateBody {
        Value pin, run;
    } ActivateBody;
    static const RecordField fields[] = {
        { "pin", RECORD_BOOL, RECORD_VALUE_AT(ActivateBody, pin) },
        { "run", RECORD_BOOL, RECORD_VALUE_AT(ActivateBody, run) },
        { 0 },
    };
    static const RecordFormat format = { .what = "the request body",
                                         .fields = fields,
                                         .size = sizeof(ActivateBody),
                                         .text_max = ROUTE_BODY_MAX,
                                         .values_max = VALUES_MAX };
    ActivateBody parsed;
    if (!record_read(&format, arena, body.len == 0 ? STR("{}") : body, RECORD_EXTERNAL, &parsed,
                     err)) {
        return false;
    }
    out->pin = parsed.pin.kind != VALUE_BOOL ? PIN_UNCHANGED
               : parsed.pin.boolean          ? PIN_SET
                                             : PIN_CLEAR;
    out->run = parsed.run.kind != VALUE_BOOL || parsed.run.boolean;
    return true;
}
