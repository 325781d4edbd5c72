/* Methods of int and float. Their attributes (real, imag ...) are in ops_lookup.c. */
#include <math.h>

#include "lang/template/methods.h"

static uint64_t magnitude(Value v)
{
    int64_t integer = op_int(v);
    return integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
}

static bool int_bit_count(Render *r, const Args *args, Value *out)
{
    *out = value_int(__builtin_popcountll(magnitude(args->values[0])));
    return true;
}

static bool int_bit_length(Render *r, const Args *args, Value *out)
{
    uint64_t bits = magnitude(args->values[0]);
    *out = value_int(bits == 0 ? 0 : 64 - __builtin_clzll(bits));
    return true;
}

static bool int_conjugate(Render *r, const Args *args, Value *out)
{
    *out = value_int(op_int(args->values[0]));
    return true;
}

static Value pair_of(Render *r, int64_t first, int64_t second)
{
    List *pair = list_new(r->arena, 2);
    list_push(r->arena, pair, value_int(first));
    list_push(r->arena, pair, value_int(second));
    return value_tuple(pair);
}

static bool int_as_integer_ratio(Render *r, const Args *args, Value *out)
{
    *out = pair_of(r, op_int(args->values[0]), 1);
    return true;
}

static bool float_as_integer_ratio(Render *r, const Args *args, Value *out)
{
    double x = args->values[0].number;
    if (isnan(x)) {
        return render_raise(r, FAULT_VALUE, "cannot convert NaN to integer ratio");
    }
    if (isinf(x)) {
        return render_raise(r, FAULT_OVERFLOW, "cannot convert Infinity to integer ratio");
    }
    int exponent;
    double fraction = frexp(x, &exponent);
    /* A double times 2^53 is an integer; removing the factors of two yields the lowest terms. */
    int64_t numerator = (int64_t)ldexp(fraction, 53);
    exponent -= 53;
    while (numerator != 0 && numerator % 2 == 0) {
        numerator /= 2;
        exponent++;
    }
    if (numerator == 0) {
        exponent = 0;
    }
    int64_t denominator = 1;
    for (; exponent > 0; exponent--) {
        if (__builtin_mul_overflow(numerator, 2, &numerator)) {
            return render_raise(r, FAULT_OVERFLOW, "integer result does not fit in 64 bits");
        }
    }
    for (; exponent < 0; exponent++) {
        if (__builtin_mul_overflow(denominator, 2, &denominator)) {
            return render_raise(r, FAULT_OVERFLOW, "integer result does not fit in 64 bits");
        }
    }
    *out = pair_of(r, numerator, denominator);
    return true;
}

static bool float_conjugate(Render *r, const Args *args, Value *out)
{
    *out = value_float(args->values[0].number);
    return true;
}

static bool float_is_integer(Render *r, const Args *args, Value *out)
{
    double x = args->values[0].number;
    *out = value_bool(isfinite(x) && x == floor(x));
    return true;
}

/* clang-format off */
const Native int_methods[] = {
    { "as_integer_ratio", int_as_integer_ratio, { { "self" } }, 0,
      "Returns numerator and denominator.",
      "{{ (3).as_integer_ratio() }}", "(3, 1)" },
    { "bit_count", int_bit_count, { { "self" } }, 0,
      "Returns the number of set bits.",
      "{{ (5).bit_count() }}", "2" },
    { "bit_length", int_bit_length, { { "self" } }, 0,
      "Returns the number of bits needed to represent the integer.",
      "{{ (5).bit_length() }}", "3" },
    { "conjugate", int_conjugate, { { "self" } }, 0,
      "Returns the number itself.",
      "{{ (5).conjugate() }}", "5" },
    { 0 },
};

const Native float_methods[] = {
    { "as_integer_ratio", float_as_integer_ratio, { { "self" } }, 0,
      "Returns two integers whose quotient is exactly the number.",
      "{{ (0.75).as_integer_ratio() }}", "(3, 4)" },
    { "conjugate", float_conjugate, { { "self" } }, 0,
      "Returns the number itself.",
      "{{ (1.5).conjugate() }}", "1.5" },
    { "is_integer", float_is_integer, { { "self" } }, NATIVE_PLAIN,
      "Returns whether the number is an integer.",
      "{{ (2.0).is_integer() }}", "True" },
    { 0 },
};
/* clang-format on */
