/* Validates and copies requests. The limits of store.h are checked here, so backends need not check
 * them. */
#include "store/request.h"

bool range_has(Str key, Str end, Str candidate)
{
    if (end.len == 0) {
        return str_eq(key, candidate);
    }
    bool open_end = end.len == 1 && end.data[0] == '\0';
    return str_compare(candidate, key) >= 0 && (open_end || str_compare(candidate, end) < 0);
}

Str store_prefix_end(Arena *arena, Str prefix)
{
    /* The smallest string greater than all strings with this prefix: increment the last byte that
     * is not 255 and drop the rest. */
    size_t len = prefix.len;
    while (len > 0 && (unsigned char)prefix.data[len - 1] == 0xff) {
        len--;
    }
    if (len == 0) {
        return STORE_ALL;
    }
    char *end = arena_copy_c(arena, str_from(prefix.data, len));
    end[len - 1] = (char)((unsigned char)end[len - 1] + 1);
    return str_from(end, len);
}

static bool check_key(Str key, Error *err)
{
    if (key.len == 0) {
        return error_set(err, ERROR_INVALID, "the key is empty");
    }
    if (key.len > STORE_KEY_MAX) {
        return error_set(err, ERROR_LIMIT, "the key is %zu bytes long; at most %d are allowed",
                         key.len, STORE_KEY_MAX);
    }
    return true;
}

bool request_check_range(Str key, Str end, Error *err)
{
    if (!check_key(key, err)) {
        return false;
    }
    return end.len == 0 || check_key(end, err) || error_wrap(err, "the end of a range");
}

static bool check_value(Str value, Error *err)
{
    return value.len <= STORE_VALUE_MAX ||
           error_set(err, ERROR_LIMIT, "the value is %zu bytes long; at most %d are allowed",
                     value.len, STORE_VALUE_MAX);
}

static bool check_op(const StoreOp *op, Error *err)
{
    switch (op->kind) {
    case STORE_RANGE:
        if (op->revision < 0 || op->limit < 0) {
            return error_set(err, ERROR_INVALID, "a revision or limit is negative");
        }
        return request_check_range(op->key, op->end, err);
    case STORE_PUT:
        if (op->end.len > 0) {
            return error_set(err, ERROR_INVALID, "a put must have exactly one key");
        }
        if (op->lease < 0) {
            return error_set(err, ERROR_INVALID, "a lease ID is negative");
        }
        return check_key(op->key, err) && check_value(op->value, err);
    case STORE_DELETE: return request_check_range(op->key, op->end, err);
    }
    return error_set(err, ERROR_INVALID, "unknown operation: %d", (int)op->kind);
}

/* A key may be changed only once per transaction, because both changes would have the same
 * revision. */
static bool check_duplicate(const StoreOp *ops, uint32_t count, Error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; ops[i].kind == STORE_PUT && j < count; j++) {
            bool is_duplicate = ops[j].kind == STORE_PUT ? j < i && str_eq(ops[i].key, ops[j].key)
                                : ops[j].kind == STORE_DELETE
                                    ? range_has(ops[j].key, ops[j].end, ops[i].key)
                                    : false;
            if (is_duplicate) {
                return error_set(err, ERROR_INVALID,
                                 "the transaction changes the key of operation %u twice", i + 1);
            }
        }
    }
    return true;
}

static bool check_ops(const StoreOp *ops, uint32_t count, size_t *bytes, Error *err)
{
    if (count > STORE_OPS_MAX) {
        return error_set(err, ERROR_LIMIT, "%u operations; at most %d are allowed", count,
                         STORE_OPS_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!check_op(&ops[i], err)) {
            return error_wrap(err, "operation %u", i + 1);
        }
        *bytes += ops[i].key.len + ops[i].end.len;
        *bytes += ops[i].kind == STORE_PUT ? ops[i].value.len : 0;
    }
    return check_duplicate(ops, count, err);
}

static bool check_compare(const StoreCompare *compare, Error *err)
{
    if (compare->target > STORE_VALUE || compare->relation > STORE_GREATER) {
        return error_set(err, ERROR_INVALID, "unknown comparison");
    }
    return check_key(compare->key, err) && check_value(compare->value, err);
}

bool request_check_txn(const StoreTxn *txn, size_t *bytes, Error *err)
{
    *bytes = 0;
    if (txn->compare_count > STORE_OPS_MAX) {
        return error_set(err, ERROR_LIMIT, "%u comparisons; at most %d are allowed",
                         txn->compare_count, STORE_OPS_MAX);
    }
    for (uint32_t i = 0; i < txn->compare_count; i++) {
        if (!check_compare(&txn->compares[i], err)) {
            return error_wrap(err, "comparison %u", i + 1);
        }
        *bytes += txn->compares[i].key.len + txn->compares[i].value.len;
    }
    if (!check_ops(txn->success, txn->success_count, bytes, err) ||
        !check_ops(txn->failure, txn->failure_count, bytes, err)) {
        return false;
    }
    if (*bytes > STORE_REQUEST_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "the transaction is %zu bytes long; at most %d are allowed", *bytes,
                         STORE_REQUEST_MAX);
    }
    if (txn->relaxed && request_writes(txn)) {
        return error_set(err, ERROR_INVALID, "a relaxed transaction can only read");
    }
    return true;
}

static bool ops_write(const StoreOp *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ops[i].kind != STORE_RANGE) {
            return true;
        }
    }
    return false;
}

bool request_writes(const StoreTxn *txn)
{
    return ops_write(txn->success, txn->success_count) ||
           ops_write(txn->failure, txn->failure_count);
}

static const StoreOp *copy_ops(Arena *arena, const StoreOp *ops, uint32_t count)
{
    StoreOp *copies = ARENA_ARRAY(arena, StoreOp, count);
    for (uint32_t i = 0; i < count; i++) {
        copies[i] = ops[i];
        copies[i].key = arena_copy(arena, ops[i].key);
        copies[i].end = arena_copy(arena, ops[i].end);
        copies[i].value = arena_copy(arena, ops[i].value);
    }
    return copies;
}

StoreTxn request_copy_txn(Arena *arena, const StoreTxn *txn)
{
    StoreTxn copy = *txn;
    StoreCompare *compares = ARENA_ARRAY(arena, StoreCompare, txn->compare_count);
    for (uint32_t i = 0; i < txn->compare_count; i++) {
        compares[i] = txn->compares[i];
        compares[i].key = arena_copy(arena, txn->compares[i].key);
        compares[i].value = arena_copy(arena, txn->compares[i].value);
    }
    copy.compares = compares;
    copy.success = copy_ops(arena, txn->success, txn->success_count);
    copy.failure = copy_ops(arena, txn->failure, txn->failure_count);
    return copy;
}
