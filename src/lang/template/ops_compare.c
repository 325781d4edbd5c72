/* Truth, equality, order and membership, as in Python. */
#include <math.h>

#include "lang/template/ops.h"

bool op_truth(Render *r, Value v, bool *out)
{
    switch ((ValueKind)v.kind) {
    case VALUE_NULL: *out = false; return true;
    case VALUE_BOOL: *out = v.boolean; return true;
    case VALUE_INT: *out = v.integer != 0; return true;
    case VALUE_FLOAT: *out = v.number != 0; return true;
    case VALUE_STRING: *out = v.len > 0; return true;
    case VALUE_LIST:
    case VALUE_TUPLE: *out = v.list->len > 0; return true;
    case VALUE_MAP: *out = v.map->len > 0; return true;
    case VALUE_UNDEFINED:
        *out = false;
        return undefined_mode(r, v) == UNDEFINED_STRICT ? undefined_raise(r, v) : true;
    case VALUE_OBJECT: break;
    }
    const ObjectType *type = v.object->type;
    if (type->truth != NULL) {
        return type->truth(r, v.object, out);
    }
    if (type->length != NULL) {
        int64_t length;
        if (!type->length(r, v.object, &length)) {
            return false;
        }
        *out = length != 0;
        return true;
    }
    *out = true;
    return type->force == NULL || (op_force(r, v, &v) && op_truth(r, v, out));
}

static bool list_equal(Render *r, const List *a, const List *b, bool *out)
{
    *out = a->len == b->len;
    if (!*out || a == b) {
        return true;
    }
    Nest nest;
    if (!render_enter(r, &nest, NULL)) {
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; i < a->len && i < b->len && *out && ok; i++) {
        ok = render_charge(r, 1) && op_equal(r, a->items[i], b->items[i], out);
    }
    render_leave(r, &nest);
    return ok;
}

static bool map_equal(Render *r, const Map *a, const Map *b, bool *out)
{
    *out = a->len == b->len;
    if (!*out || a == b) {
        return true;
    }
    Nest nest;
    if (!render_enter(r, &nest, NULL)) {
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; i < a->len && *out && ok; i++) {
        if (!op_charge_key(r, a->entries[i].key)) {
            ok = false;
            break;
        }
        const MapEntry *other = map_find(b, a->entries[i].key);
        if (other == NULL) {
            *out = false;
        } else {
            ok = render_charge(r, 1) && op_equal(r, a->entries[i].value, other->value, out);
        }
    }
    render_leave(r, &nest);
    return ok;
}

/* One of the two is undefined: strict ones fail, others equal only undefined values. */
static bool undefined_equal(Render *r, Value a, Value b, bool *out)
{
    if (a.kind == VALUE_UNDEFINED && undefined_mode(r, a) == UNDEFINED_STRICT) {
        return undefined_raise(r, a);
    }
    if (b.kind == VALUE_UNDEFINED && undefined_mode(r, b) == UNDEFINED_STRICT) {
        return undefined_raise(r, b);
    }
    *out = a.kind == b.kind && undefined_mode(r, a) == undefined_mode(r, b);
    return true;
}

bool op_equal(Render *r, Value a, Value b, bool *out)
{
    if (a.kind == VALUE_STRING && b.kind == VALUE_STRING) {
        *out = str_eq(value_str(a), value_str(b));
        return a.len != b.len || op_charge_bytes(r, a.len);
    }
    if (a.kind == VALUE_UNDEFINED || b.kind == VALUE_UNDEFINED) {
        return undefined_equal(r, a, b, out);
    }
    if (a.kind == VALUE_OBJECT || b.kind == VALUE_OBJECT) {
        Value object = a.kind == VALUE_OBJECT ? a : b;
        Value other = a.kind == VALUE_OBJECT ? b : a;
        if (other.kind == VALUE_OBJECT && other.object == object.object) {
            *out = true;
            return true;
        }
        *out = false;
        if (op_is_lazy(a) || op_is_lazy(b)) {
            return op_force(r, a, &a) && op_force(r, b, &b) && op_equal(r, a, b, out);
        }
        return object.object->type->equal == NULL ||
               object.object->type->equal(r, object.object, other, out);
    }
    if (a.kind == b.kind) {
        switch ((ValueKind)a.kind) {
        case VALUE_LIST:
        case VALUE_TUPLE: return list_equal(r, a.list, b.list, out);
        case VALUE_MAP: return map_equal(r, a.map, b.map, out);
        default: break;
        }
    } else if (a.kind > VALUE_FLOAT || b.kind > VALUE_FLOAT) {
        *out = false;
        return true;
    }
    *out = value_key_equal(a, b);
    return true;
}

static const char *order_name(Operator op)
{
    switch (op) {
    case OP_LT: return "<";
    case OP_LE: return "<=";
    case OP_GT: return ">";
    default: return ">=";
    }
}

static bool order_holds(Operator op, int sign)
{
    switch (op) {
    case OP_LT: return sign < 0;
    case OP_LE: return sign <= 0;
    case OP_GT: return sign > 0;
    default: return sign >= 0;
    }
}

/* Exact even where a conversion to double is not. `number` is not NaN. */
static int int_float_sign(int64_t integer, double number)
{
    if (number >= 9223372036854775808.0) {
        return -1;
    }
    if (number < -9223372036854775808.0) {
        return 1;
    }
    int64_t whole = (int64_t)floor(number);
    if (integer != whole) {
        return integer < whole ? -1 : 1;
    }
    return number > floor(number) ? -1 : 0;
}

static bool number_order(Operator op, Value a, Value b)
{
    if (a.kind == VALUE_FLOAT && b.kind == VALUE_FLOAT) {
        if (isnan(a.number) || isnan(b.number)) {
            return false;
        }
        return order_holds(op, (a.number > b.number) - (a.number < b.number));
    }
    if (a.kind == VALUE_FLOAT) {
        return !isnan(a.number) && order_holds(op, -int_float_sign(op_int(b), a.number));
    }
    if (b.kind == VALUE_FLOAT) {
        return !isnan(b.number) && order_holds(op, int_float_sign(op_int(a), b.number));
    }
    return order_holds(op, (op_int(a) > op_int(b)) - (op_int(a) < op_int(b)));
}

/* The first pair of items that differ decides; if there is none, the lengths do. */
static bool list_order(Render *r, Operator op, const List *a, const List *b, bool *out)
{
    Nest nest;
    if (!render_enter(r, &nest, NULL)) {
        return false;
    }
    bool ok = true, equal = true;
    uint32_t i = 0;
    for (; i < a->len && i < b->len; i++) {
        ok = render_charge(r, 1) && op_equal(r, a->items[i], b->items[i], &equal);
        if (!ok || !equal) {
            break;
        }
    }
    if (ok && i < a->len && i < b->len) {
        ok = op_order(r, op, a->items[i], b->items[i], out);
    } else if (ok) {
        *out = order_holds(op, (a->len > b->len) - (a->len < b->len));
    }
    render_leave(r, &nest);
    return ok;
}

static bool is_number(Value v)
{
    return v.kind == VALUE_FLOAT || op_is_int(v);
}

bool op_order(Render *r, Operator op, Value a, Value b, bool *out)
{
    if (is_number(a) && is_number(b)) {
        *out = number_order(op, a, b);
        return true;
    }
    if (a.kind == VALUE_STRING && b.kind == VALUE_STRING) {
        /* The byte order of UTF-8 is the order of code points. */
        *out = order_holds(op, str_compare(value_str(a), value_str(b)));
        return op_charge_bytes(r, a.len < b.len ? a.len : b.len);
    }
    if (a.kind == b.kind && value_is_sequence(a)) {
        return list_order(r, op, a.list, b.list, out);
    }
    if (a.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, a);
    }
    if (b.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, b);
    }
    return render_raise(r, FAULT_TYPE, "'%s' not supported between instances of '%s' and '%s'",
                        order_name(op), op_type_name(a), op_type_name(b));
}

bool op_compare(Render *r, Operator op, Value a, Value b, bool *out)
{
    switch (op) {
    case OP_EQ: return op_equal(r, a, b, out);
    case OP_NE:
        if (!op_equal(r, a, b, out)) {
            return false;
        }
        *out = !*out;
        return true;
    case OP_IN: return op_contains(r, a, b, out);
    case OP_NOT_IN:
        if (!op_contains(r, a, b, out)) {
            return false;
        }
        *out = !*out;
        return true;
    default: return op_order(r, op, a, b, out);
    }
}

bool op_charge_long_key(Render *r, Value key)
{
    if (key.kind == VALUE_STRING) {
        return render_charge(r, key.len / 16);
    }
    if (key.kind == VALUE_TUPLE && value_is_key(key)) { /* which bounds the number of its items */
        for (uint32_t i = 0; i < key.list->len; i++) {
            if (!render_charge(r, 1) || !op_charge_key(r, key.list->items[i])) {
                return false;
            }
        }
    }
    return true;
}

/* Functions, ranges and similar values can be looked up in a map without success, but never stored
 * as keys. */
static bool check_key(Render *r, Value key, bool stored, unsigned depth)
{
    if (key.kind <= VALUE_STRING) {
        return op_charge_key(r, key);
    }
    if (key.kind == VALUE_UNDEFINED) {
        return undefined_mode(r, key) == UNDEFINED_STRICT ? undefined_raise(r, key) : true;
    }
    if (key.kind == VALUE_OBJECT && !stored && !key.object->type->unhashable && !op_is_lazy(key)) {
        return true;
    }
    if (key.kind != VALUE_TUPLE) {
        return render_raise(r, FAULT_TYPE, "unhashable type: '%s'", op_type_name(key));
    }
    if (depth >= NEST_MAX) {
        return render_raise(r, FAULT_RECURSION, "maximum recursion depth exceeded");
    }
    for (uint32_t i = 0; i < key.list->len; i++) {
        if (!render_charge(r, 1) || !check_key(r, key.list->items[i], stored, depth + 1)) {
            return false;
        }
    }
    return true;
}

bool op_check_key(Render *r, Value key)
{
    return check_key(r, key, true, 0);
}

bool op_check_hashable(Render *r, Value key)
{
    return check_key(r, key, false, 0);
}

static bool list_contains(Render *r, Value needle, const List *list, bool *out)
{
    *out = false;
    for (uint32_t i = 0; i < list->len && !*out; i++) {
        if (!render_charge(r, 1) || !op_equal(r, list->items[i], needle, out)) {
            return false;
        }
    }
    return true;
}

static bool iterable_contains(Render *r, Value needle, Value haystack, bool *out)
{
    Iter iter;
    Value item;
    if (!iter_start(r, haystack, &iter)) {
        return false;
    }
    *out = false;
    while (!*out && iter_next(r, &iter, &item)) {
        if (!op_equal(r, item, needle, out)) {
            return false;
        }
    }
    return !render_failed(r);
}

bool op_contains(Render *r, Value needle, Value haystack, bool *out)
{
    switch ((ValueKind)haystack.kind) {
    case VALUE_STRING:
        if (!value_is_string(needle)) {
            return render_raise(r, FAULT_TYPE,
                                "'in <string>' requires string as left operand, not %s%s",
                                needle.kind == VALUE_UNDEFINED ? undefined_prefix(r, needle) : "",
                                op_type_name(needle));
        }
        *out = str_find(value_str(haystack), value_str(needle), 0) != STR_NOT_FOUND;
        return op_charge_bytes(r, haystack.len);
    case VALUE_LIST:
    case VALUE_TUPLE: return list_contains(r, needle, haystack.list, out);
    case VALUE_MAP:
        if (!op_check_hashable(r, needle)) {
            return false;
        }
        *out = map_find(haystack.map, needle) != NULL;
        return true;
    case VALUE_OBJECT:
        if (haystack.object->type->contains != NULL) {
            return haystack.object->type->contains(r, haystack.object, needle, out);
        }
        if (haystack.object->type->iterate != NULL) {
            return iterable_contains(r, needle, haystack, out);
        }
        if (op_is_lazy(haystack)) {
            return op_force(r, haystack, &haystack) && op_contains(r, needle, haystack, out);
        }
        break;
    case VALUE_UNDEFINED:
        *out = false;
        return undefined_mode(r, haystack) == UNDEFINED_STRICT ? undefined_raise(r, haystack)
                                                               : true;
    default: break;
    }
    return render_raise(r, FAULT_TYPE, "argument of type '%s' is not iterable",
                        op_type_name(haystack));
}
