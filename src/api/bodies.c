#include "api/bodies.h"

#include "api/object_draft.h"
#include "api/routes.h"
#include "base/base64.h"
#include "base/hex.h"
#include "lang/duration.h"
#include "pki/json_fields.h"
#include "sys/sha256.h"

enum {
    VALUES_MAX = 512, /* in a body */
};

static bool read_fields(Arena *arena, Str body, uint32_t size_max, const JsonField *fields,
                        size_t count, Error *err)
{
    Value object;
    return (json_object_read(arena, body, size_max, VALUES_MAX, &object, err) &&
            json_fields_read(object, fields, count, err)) ||
           error_wrap(err, "the body of the request");
}

Str body_subject(Arena *arena, Str body)
{
    static const char *const words[] = { "name", "node", "serial", "certificate" };
    AUTO_CLEAR(Arena) own;
    Value object;
    Error err;
    arena_init(&own, ARENA_UNLIMITED);
    if (!json_object_read(&own, body, ROUTE_BODY_MAX, OBJECT_VALUES_MAX, &object, &err)) {
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
    Value given;
    const JsonField fields[] = { { "token", VALUE_STRING, false, &given } };
    if (!read_fields(arena, body, ROUTE_BODY_MAX, fields, COUNT_OF(fields), err)) {
        return false;
    }
    *token = value_str(given);
    return true;
}

static bool read_ssh(Arena *arena, Value ssh, ApproveWish *out, Error *err)
{
    Value target, keys = value_missing(), accept_new = value_bool(false);
    const JsonField fields[] = { { "target", VALUE_STRING, false, &target },
                                 { "host_keys", VALUE_LIST, true, &keys },
                                 { "accept_new_host_key", VALUE_BOOL, true, &accept_new } };
    if (!json_fields_read(ssh, fields, COUNT_OF(fields), err) ||
        !ssh_target_parse(value_str(target), &out->target, err)) {
        return false;
    }
    for (uint32_t i = 0; !value_is_missing(keys) && i < keys.list->len; i++) {
        Value key = keys.list->items[i];
        if (!value_is_string(key)) {
            return error_set(err, ERROR_INVALID, "a host key is a text");
        }
        if (!ssh_trust_add(arena, &out->trust, value_str(key), err)) {
            return false;
        }
    }
    out->trust.accept_new = accept_new.boolean;
    return (out->trust.count > 0) != out->trust.accept_new ||
           error_set(err, ERROR_INVALID, "give 'host_keys' or 'accept_new_host_key', one of them");
}

bool approve_body_read(Arena *arena, Str body, ApproveWish *out, Error *err)
{
    Value key = value_missing(), ssh = value_missing();
    const JsonField fields[] = { { "key", VALUE_STRING, true, &key },
                                 { "ssh", VALUE_MAP, true, &ssh } };
    ApproveWish wish = { .key = STR_EMPTY };
    if (!read_fields(arena, body, ROUTE_BODY_MAX, fields, COUNT_OF(fields), err)) {
        return false;
    }
    if (value_is_missing(key) == value_is_missing(ssh)) {
        return error_set(err, ERROR_INVALID,
                         "the body of the request: give 'key' or 'ssh', one of them");
    }
    if (value_is_missing(key)) {
        if (!read_ssh(arena, ssh, &wish, err)) {
            return error_wrap(err, "the body of the request: 'ssh'");
        }
    } else {
        wish.key = value_str(key);
        if (wish.key.len == 0) {
            return error_set(err, ERROR_INVALID, "the body of the request: 'key' is empty");
        }
    }
    *out = wish;
    return true;
}

bool issue_body_read(Arena *arena, Str body, Str *name, Str *csr, Error *err)
{
    Value said, request;
    const JsonField fields[] = { { "name", VALUE_STRING, false, &said },
                                 { "csr", VALUE_STRING, false, &request } };
    if (!read_fields(arena, body, ROUTE_BODY_MAX, fields, COUNT_OF(fields), err)) {
        return false;
    }
    *name = value_str(said);
    *csr = value_str(request);
    return true;
}

bool revoke_body_read(Arena *arena, Str body, Str *node, Str *serial, Error *err)
{
    Value name = value_string(STR_EMPTY), number = value_string(STR_EMPTY);
    const JsonField fields[] = { { "node", VALUE_STRING, true, &name },
                                 { "serial", VALUE_STRING, true, &number } };
    if (!read_fields(arena, body, ROUTE_BODY_MAX, fields, COUNT_OF(fields), err)) {
        return false;
    }
    *node = value_str(name);
    *serial = value_str(number);
    return (node->len > 0) != (serial->len > 0) ||
           error_set(err, ERROR_INVALID, "the body of the request: give 'node' or 'serial'");
}

bool renew_body_read(Arena *arena, Str body, OwnKind *out, Error *err)
{
    Value which;
    const JsonField fields[] = { { "certificate", VALUE_STRING, false, &which } };
    if (!read_fields(arena, body, ROUTE_BODY_MAX, fields, COUNT_OF(fields), err)) {
        return false;
    }
    *out = str_eq_c(value_str(which), "serving") ? OWN_KIND_SERVING : OWN_KIND_NODE;
    return *out == OWN_KIND_SERVING || str_eq_c(value_str(which), "server") ||
           error_set(err, ERROR_INVALID, "'certificate' is \"serving\" or \"server\"");
}

bool rotate_body_read(Arena *arena, Str body, RotateWish *out, Str *node, Error *err)
{
    static const char *const actions[] = {
        [ROTATE_BEGIN] = "begin", [ROTATE_ABORT] = "abort", [ROTATE_WITHOUT] = "without"
    };
    Value action, name = value_string(STR_EMPTY);
    const JsonField fields[] = { { "action", VALUE_STRING, false, &action },
                                 { "node", VALUE_STRING, true, &name } };
    if (!read_fields(arena, body, ROUTE_BODY_MAX, fields, COUNT_OF(fields), err)) {
        return false;
    }
    *node = value_str(name);
    for (RotateWish wish = 0; wish < COUNT_OF(actions); wish++) {
        if (str_eq_c(value_str(action), actions[wish]) &&
            (node->len > 0) == (wish == ROTATE_WITHOUT)) {
            *out = wish;
            return true;
        }
    }
    return error_set(err, ERROR_INVALID,
                     "'action' is \"begin\", \"abort\", or \"without\" with a 'node'");
}

bool archive_body_read(Arena *arena, Str body, Str *hash, Error *err)
{
    Value said;
    const JsonField fields[] = { { "hash", VALUE_STRING, false, &said } };
    if (!read_fields(arena, body, ROUTE_BODY_MAX, fields, COUNT_OF(fields), err)) {
        return false;
    }
    *hash = value_str(said);
    return (hash->len == SHA256_HEX && hex_is(*hash)) ||
           error_set(err, ERROR_INVALID,
                     "the body of the request: 'hash' is no SHA-256 of %d digits", (int)SHA256_HEX);
}

bool value_body_read(Arena *arena, Str body, Str *value, Error *err)
{
    Value text = value_missing(), base64 = value_missing();
    const JsonField fields[] = { { "value", VALUE_STRING, true, &text },
                                 { "value_base64", VALUE_STRING, true, &base64 } };
    if (!read_fields(arena, body, ROUTE_VALUE_MAX, fields, COUNT_OF(fields), err)) {
        return false;
    }
    if (value_is_missing(text) == value_is_missing(base64)) {
        return error_set(err, ERROR_INVALID,
                         "the body of the request: give 'value' or 'value_base64'");
    }
    if (!value_is_missing(text)) {
        *value = value_str(text);
        return true;
    }
    return base64_decode(arena, value_str(base64), value) ||
           error_set(err, ERROR_INVALID, "the body of the request: 'value_base64' is no base64");
}
