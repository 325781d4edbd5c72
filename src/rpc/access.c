#include "rpc/access.h"

#include "rpc/session_message.h"

static bool check_local(const MethodRow *row, const Caller *caller, Error *err)
{
    if (!caller->is_operator) {
        return error_set(err, ERROR_DENIED,
                         "only root and members of the group 'eden' may call this");
    }
    if (row != NULL && (row->callers & CALLER_LOCAL) == 0) {
        return error_set(err, ERROR_DENIED, "only nodes may call this");
    }
    return true;
}

static bool check_membership(const Caller *caller, Error *err)
{
    if (!caller->has_identity) {
        return error_set(err, ERROR_DENIED, "only nodes with a certificate may call this");
    }
    if (!caller->is_member) {
        return error_set(err, ERROR_DENIED, "node '%s' belongs to cluster '%s'",
                         caller->identity.node, caller->identity.cluster);
    }
    if (caller->is_revoked) {
        return error_set(err, ERROR_DENIED, "the certificate of node '%s' is revoked",
                         caller->identity.node);
    }
    if (!caller->is_approved) {
        return error_set(err, ERROR_DENIED, "node '%s' is not approved", caller->identity.node);
    }
    return true;
}

bool access_check(const MethodRow *row, const Caller *caller, bool *only_self, Error *err)
{
    *only_self = false;
    if (caller->is_local) {
        return check_local(row, caller, err);
    }
    if (!check_membership(caller, err)) {
        return false;
    }
    if (row == NULL || (row->callers & CALLER_NODE) != 0 ||
        ((row->callers & CALLER_SERVER) != 0 && caller->is_server)) {
        return true;
    }
    if ((row->callers & CALLER_SELF) != 0) {
        *only_self = true;
        return true;
    }
    return error_set(err, ERROR_DENIED, "only %s may call this, not node '%s'",
                     (row->callers & CALLER_SERVER) != 0 ? "servers" : "operators",
                     caller->identity.node);
}

/* --- Requests about the caller itself -------------------------------------------------------- */

static bool read_varint(Str *bytes, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && bytes->len > 0; shift += 7) {
        unsigned char byte = (unsigned char)bytes->data[0];
        *bytes = str_from_offset(*bytes, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* The wire types of protobuf. */
enum {
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_BYTES = 2,
    WIRE_32 = 5,
};

static bool read_field(Str *bytes, uint64_t *number, unsigned *type, Str *value)
{
    uint64_t tag, len;
    if (!read_varint(bytes, &tag)) {
        return false;
    }
    *number = tag >> 3;
    *type = tag & 7;
    *value = STR_EMPTY;
    switch (*type) {
    case WIRE_VARINT: return read_varint(bytes, &len);
    case WIRE_64: len = 8; break;
    case WIRE_32: len = 4; break;
    case WIRE_BYTES:
        if (!read_varint(bytes, &len)) {
            return false;
        }
        break;
    default: return false;
    }
    if (len > bytes->len) {
        return false;
    }
    *value = str_slice(*bytes, 0, (size_t)len);
    *bytes = str_from_offset(*bytes, (size_t)len);
    return true;
}

bool access_check_self(Str message, const char *node, Error *err)
{
    while (message.len > 0) {
        uint64_t number;
        unsigned type;
        Str value;
        if (!read_field(&message, &number, &type, &value)) {
            return error_set(err, ERROR_INVALID, "not a valid message");
        }
        /* Check all occurrences: a parser may use the first or the last. */
        if (number == 1 && (type != WIRE_BYTES || (value.len > 0 && !str_eq_c(value, node)))) {
            return error_set(err, ERROR_DENIED, "node '%s' may call this only for itself", node);
        }
    }
    return true;
}

bool access_check_protocol(Str header, Error *err)
{
    if (header.len == 0) {
        return error_set(err, ERROR_INVALID,
                         "the call has no header " PROTOCOL_HEADER
                         "; this version supports protocol %d",
                         SESSION_PROTOCOL);
    }
    uint64_t protocol = 0;
    for (size_t i = 0; i < header.len; i++) {
        if (header.data[i] < '0' || header.data[i] > '9' || i >= 9) {
            return error_set(err, ERROR_INVALID,
                             PROTOCOL_HEADER " is not a number; this version supports protocol %d",
                             SESSION_PROTOCOL);
        }
        protocol = protocol * 10 + (uint64_t)(header.data[i] - '0');
    }
    return session_protocol_check((uint32_t)protocol, "the caller", err);
}
