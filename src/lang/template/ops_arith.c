/* + - * / // % ** on values, as in Python but with 64-bit integers. */
#include <math.h>

#include "lang/template/ops.h"

static const char *operator_name(Operator op)
{
    switch (op) {
    case OP_ADD: return "+";
    case OP_SUB: return "-";
    case OP_MUL: return "*";
    case OP_DIV: return "/";
    case OP_FLOOR_DIV: return "//";
    case OP_MOD: return "%";
    default: return "** or pow()";
    }
}

static bool raise_operands(Render *r, Operator op, Value a, Value b)
{
    return render_raise(r, FAULT_TYPE, "unsupported operand type(s) for %s: '%s' and '%s'",
                        operator_name(op), op_type_name(a), op_type_name(b));
}

static bool raise_overflow(Render *r)
{
    return render_raise(r, FAULT_OVERFLOW, "integer result does not fit in 64 bits");
}

static bool is_number(Value v)
{
    return v.kind == VALUE_FLOAT || op_is_int(v);
}

static double as_float(Value v)
{
    return v.kind == VALUE_FLOAT ? v.number : (double)op_int(v);
}

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static unsigned bit_length(unsigned __int128 v)
{
    uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
    return high != 0  ? 128 - (unsigned)__builtin_clzll(high)
           : low != 0 ? 64 - (unsigned)__builtin_clzll(low)
                      : 0;
}

/* The double nearest to a / b, ties to even. Dividing two rounded doubles would round twice. */
static double divide_exactly(int64_t a, int64_t b)
{
    const uint64_t exact = (uint64_t)1 << 53;
    uint64_t top = magnitude(a), bottom = magnitude(b);
    if (top == 0 || (top <= exact && bottom <= exact)) {
        return (double)a / (double)b;
    }
    /* A quotient of more than 64 bits, whose remainder decides the rounding. */
    unsigned shift = 128 - bit_length(top);
    unsigned __int128 scaled = (unsigned __int128)top << shift;
    unsigned __int128 quotient = scaled / bottom;
    bool sticky = scaled % bottom != 0;
    unsigned drop = bit_length(quotient) - 53;
    unsigned __int128 tail = quotient & (((unsigned __int128)1 << drop) - 1);
    unsigned __int128 half = (unsigned __int128)1 << (drop - 1);
    uint64_t mantissa = (uint64_t)(quotient >> drop);
    if (tail > half || (tail == half && (sticky || (mantissa & 1) != 0))) {
        mantissa++;
    }
    double result = ldexp((double)mantissa, (int)drop - (int)shift);
    return (a < 0) != (b < 0) ? -result : result;
}

static bool int_power(Render *r, int64_t base, int64_t exponent, Value *out)
{
    int64_t result = 1;
    if (base == 0 || base == 1 || base == -1) {
        result = exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? 1 : base;
        *out = value_int(result);
        return true;
    }
    /* The base is at least 2 in magnitude, so at most 64 iterations fit. */
    for (; exponent > 0; exponent--) {
        if (__builtin_mul_overflow(result, base, &result)) {
            return raise_overflow(r);
        }
    }
    *out = value_int(result);
    return true;
}

static bool float_power(Render *r, double base, double exponent, Value *out)
{
    if (base == 0 && exponent < 0) {
        return render_raise(r, FAULT_ZERO_DIVISION, "0.0 cannot be raised to a negative power");
    }
    if (base < 0 && isfinite(base) && isfinite(exponent) && exponent != floor(exponent)) {
        return render_raise(r, FAULT_VALUE,
                            "a fractional power of a negative number is not a real number");
    }
    double result = pow(base, exponent);
    if (isinf(result) && isfinite(base) && isfinite(exponent)) {
        return render_raise(r, FAULT_OVERFLOW, "(34, 'Numerical result out of range')");
    }
    *out = value_float(result);
    return true;
}

static bool int_binary(Render *r, Operator op, int64_t a, int64_t b, Value *out)
{
    int64_t result;
    switch (op) {
    case OP_ADD:
        if (__builtin_add_overflow(a, b, &result)) {
            return raise_overflow(r);
        }
        break;
    case OP_SUB:
        if (__builtin_sub_overflow(a, b, &result)) {
            return raise_overflow(r);
        }
        break;
    case OP_MUL:
        if (__builtin_mul_overflow(a, b, &result)) {
            return raise_overflow(r);
        }
        break;
    case OP_DIV:
        if (b == 0) {
            return render_raise(r, FAULT_ZERO_DIVISION, "division by zero");
        }
        *out = value_float(divide_exactly(a, b));
        return true;
    case OP_FLOOR_DIV:
        if (b == 0) {
            return render_raise(r, FAULT_ZERO_DIVISION, "integer division or modulo by zero");
        }
        if (b == -1) {
            if (__builtin_sub_overflow(0, a, &result)) {
                return raise_overflow(r);
            }
            break;
        }
        result = a / b;
        if (a % b != 0 && (a < 0) != (b < 0)) {
            result--;
        }
        break;
    case OP_MOD:
        if (b == 0) {
            return render_raise(r, FAULT_ZERO_DIVISION, "integer modulo by zero");
        }
        result = b == -1 ? 0 : a % b;
        if (result != 0 && (result < 0) != (b < 0)) {
            result += b;
        }
        break;
    default: return b < 0 ? float_power(r, (double)a, (double)b, out) : int_power(r, a, b, out);
    }
    *out = value_int(result);
    return true;
}

/* The remainder has the sign of the divisor. */
static double float_modulo(double a, double b)
{
    double remainder = fmod(a, b);
    if (remainder == 0) {
        return copysign(0.0, b);
    }
    return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

static double float_floor_divide(double a, double b)
{
    double remainder = fmod(a, b);
    double quotient = (a - remainder) / b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
        quotient -= 1;
    }
    if (quotient == 0) {
        return copysign(0.0, a / b);
    }
    double floored = floor(quotient);
    return quotient - floored > 0.5 ? floored + 1 : floored;
}

static bool float_binary(Render *r, Operator op, double a, double b, Value *out)
{
    double result;
    switch (op) {
    case OP_ADD: result = a + b; break;
    case OP_SUB: result = a - b; break;
    case OP_MUL: result = a * b; break;
    case OP_DIV:
        if (b == 0) {
            return render_raise(r, FAULT_ZERO_DIVISION, "float division by zero");
        }
        result = a / b;
        break;
    case OP_FLOOR_DIV:
        if (b == 0) {
            return render_raise(r, FAULT_ZERO_DIVISION, "float floor division by zero");
        }
        result = float_floor_divide(a, b);
        break;
    case OP_MOD:
        if (b == 0) {
            return render_raise(r, FAULT_ZERO_DIVISION, "float modulo");
        }
        result = float_modulo(a, b);
        break;
    default: return float_power(r, a, b, out);
    }
    *out = value_float(result);
    return true;
}

/* Plain strings added to markup are escaped first, and the result is markup. */
static bool add_strings(Render *r, Value a, Value b, Value *out)
{
    bool markup = value_is_markup(a) || value_is_markup(b);
    if (markup && (!op_escape(r, a, &a) || !op_escape(r, b, &b))) {
        return false;
    }
    size_t len = (size_t)a.len + b.len;
    char *text = op_alloc_text(r, len);
    if (text == NULL) {
        return false;
    }
    if (a.len > 0) {
        memcpy(text, a.text, a.len);
    }
    if (b.len > 0) {
        memcpy(text + a.len, b.text, b.len);
    }
    *out = markup ? value_markup(str_from(text, len)) : value_string(str_from(text, len));
    return true;
}

static bool add_lists(Render *r, Value a, Value b, Value *out)
{
    size_t len = (size_t)a.list->len + b.list->len;
    if (!render_reserve(r, len * sizeof(Value)) || !render_charge(r, len / 16)) {
        return false;
    }
    List *list = list_new(r->arena, (uint32_t)len);
    if (a.list->len > 0) {
        memcpy(list->items, a.list->items, a.list->len * sizeof(Value));
    }
    if (b.list->len > 0) {
        memcpy(list->items + a.list->len, b.list->items, b.list->len * sizeof(Value));
    }
    list->len = (uint32_t)len;
    *out = a.kind == VALUE_LIST ? value_list(list) : value_tuple(list);
    return true;
}

static bool is_repeatable(Value v)
{
    return value_is_string(v) || value_is_sequence(v);
}

static bool add_others(Render *r, Value a, Value b, Value *out)
{
    if (value_is_string(a) && value_is_string(b)) {
        return add_strings(r, a, b, out);
    }
    if (value_is_sequence(a) && a.kind == b.kind) {
        return add_lists(r, a, b, out);
    }
    if (is_repeatable(a) && !value_is_markup(a)) {
        const char *name = op_type_name(a);
        return render_raise(r, FAULT_TYPE, "can only concatenate %s (not \"%s\") to %s", name,
                            op_type_name(b), name);
    }
    return raise_operands(r, OP_ADD, a, b);
}

static bool repeat_string(Render *r, Value v, uint64_t times, Value *out)
{
    size_t len;
    if (__builtin_mul_overflow((size_t)v.len, (size_t)times, &len)) {
        return render_out_of_memory(r);
    }
    char *text = op_alloc_text(r, len);
    if (text == NULL) {
        return false;
    }
    if (v.len == 1) {
        memset(text, v.text[0], len);
    } else {
        for (size_t pos = 0; pos < len; pos += v.len) {
            memcpy(text + pos, v.text, v.len);
        }
    }
    *out = value_string(str_from(text, len));
    out->flags |= v.flags & VALUE_MARKUP;
    return true;
}

static bool repeat_list(Render *r, Value v, uint64_t times, Value *out)
{
    size_t len, bytes;
    if (__builtin_mul_overflow((size_t)v.list->len, (size_t)times, &len) ||
        __builtin_mul_overflow(len, sizeof(Value), &bytes) || len > INT32_MAX) {
        return render_out_of_memory(r);
    }
    if (!render_reserve(r, bytes) || !render_charge(r, len / 16)) {
        return false;
    }
    List *list = list_new(r->arena, (uint32_t)len);
    for (size_t pos = 0; pos < len; pos += v.list->len) {
        memcpy(list->items + pos, v.list->items, v.list->len * sizeof(Value));
    }
    list->len = (uint32_t)len;
    *out = v.kind == VALUE_LIST ? value_list(list) : value_tuple(list);
    return true;
}

static bool multiply_others(Render *r, Value a, Value b, Value *out)
{
    Value sequence = is_repeatable(a) ? a : b;
    Value times = is_repeatable(a) ? b : a;
    if (!is_repeatable(sequence)) {
        return raise_operands(r, OP_MUL, a, b);
    }
    if (!op_is_int(times)) {
        if (value_is_markup(a) && !is_repeatable(b)) {
            /* markup handles it first, with a different message */
            return raise_operands(r, OP_MUL, a, b);
        }
        return render_raise(r, FAULT_TYPE, "can't multiply sequence by non-int of type '%s'",
                            op_type_name(times));
    }
    uint64_t count = op_int(times) < 0 ? 0 : (uint64_t)op_int(times);
    return value_is_string(sequence) ? repeat_string(r, sequence, count, out)
                                     : repeat_list(r, sequence, count, out);
}

static bool other_binary(Render *r, Operator op, Value a, Value b, Value *out)
{
    if (op == OP_MOD && value_is_string(a)) {
        return op_printf(r, a, b, out);
    }
    if (a.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, a);
    }
    if (b.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, b);
    }
    switch (op) {
    case OP_ADD: return add_others(r, a, b, out);
    case OP_MUL: return multiply_others(r, a, b, out);
    default: return raise_operands(r, op, a, b);
    }
}

bool op_binary(Render *r, Operator op, Value a, Value b, Value *out)
{
    bool ok;
    if (LIKELY(op_is_int(a) && op_is_int(b))) {
        ok = int_binary(r, op, op_int(a), op_int(b), out);
    } else if (is_number(a) && is_number(b)) {
        ok = float_binary(r, op, as_float(a), as_float(b), out);
    } else {
        ok = other_binary(r, op, a, b, out);
    }
    if (UNLIKELY(r->secrets) && ok && (op_holds_secret(r, a) || op_holds_secret(r, b))) {
        out->flags |= VALUE_SECRET;
    }
    return ok;
}

static bool unary(Render *r, Value v, bool negate, Value *out)
{
    if (op_is_int(v)) {
        int64_t result = op_int(v);
        if (negate && __builtin_sub_overflow(0, result, &result)) {
            return raise_overflow(r);
        }
        *out = value_int(result);
    } else if (v.kind == VALUE_FLOAT) {
        *out = value_float(negate ? -v.number : v.number);
    } else if (v.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, v);
    } else {
        return render_raise(r, FAULT_TYPE, "bad operand type for unary %s: '%s'",
                            negate ? "-" : "+", op_type_name(v));
    }
    out->flags |= v.flags & VALUE_SECRET;
    return true;
}

bool op_negate(Render *r, Value v, Value *out)
{
    return unary(r, v, true, out);
}

bool op_positive(Render *r, Value v, Value *out)
{
    return unary(r, v, false, out);
}
