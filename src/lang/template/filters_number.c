/* Jinja2's numeric filters. */
#include <math.h>

#include "lang/number.h"
#include "lang/template/filter.h"

static bool filter_abs(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    switch (v.kind) {
    case VALUE_BOOL: *out = value_int(v.boolean); return true;
    case VALUE_INT:
        if (v.integer == INT64_MIN) {
            return render_raise(r, FAULT_OVERFLOW, "abs() result does not fit in 64 bits");
        }
        *out = value_int(v.integer < 0 ? -v.integer : v.integer);
        return true;
    case VALUE_FLOAT: *out = value_float(fabs(v.number)); return true;
    default:
        return render_raise(r, FAULT_TYPE, "bad operand type for abs(): '%s'", op_type_name(v));
    }
}

/* int(x) of a finite number; sets `*fits` to false if it exceeds 64 bits. */
static Value truncate_float(double x, bool *fits)
{
    *fits = x > -9223372036854775809.0 && x < 9223372036854775808.0;
    return value_int(*fits ? (int64_t)x : 0);
}

static bool raise_too_large(Render *r, Value v)
{
    return render_raise(r, FAULT_OVERFLOW, "integer %" STR_FMT " does not fit in 64 bits",
                        STR_ARG(repr_for_message(r, v)));
}

/* A string that is not an integer is tried as a float; otherwise the fallback is returned. */
static bool int_from_text(Render *r, Value v, int64_t base, Value fallback, Value *out)
{
    int64_t integer;
    bool overflow = false, fits;
    bool base_fits = base == 0 || (base >= 2 && base <= 36);
    Str text = value_str(v);
    if (base_fits && number_parse_python_int(text, (int)base, &integer, &overflow)) {
        *out = value_int(integer);
        return true;
    }
    if (overflow) {
        return raise_too_large(r, v);
    }
    double number;
    if (!number_parse_python_float(text, &number) || !isfinite(number)) {
        *out = fallback;
        return true;
    }
    *out = truncate_float(number, &fits);
    return fits || raise_too_large(r, v);
}

static bool filter_int(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    Value fallback = arg_or(args, 1, value_int(0));
    bool fits;
    switch (v.kind) {
    case VALUE_INT: *out = v; return true;
    case VALUE_BOOL: *out = value_int(v.boolean); return true;
    case VALUE_FLOAT:
        if (isnan(v.number)) {
            *out = fallback;
            return true;
        }
        if (isinf(v.number)) {
            return render_raise(r, FAULT_OVERFLOW, "cannot convert float infinity to integer");
        }
        *out = truncate_float(v.number, &fits);
        return fits || raise_too_large(r, v);
    case VALUE_STRING: {
        Value base = arg_or(args, 2, value_int(10));
        int64_t number = base.kind == VALUE_INT ? base.integer : -1;
        return int_from_text(r, v, number, fallback, out);
    }
    case VALUE_UNDEFINED: return undefined_raise(r, v);
    default: *out = fallback; return true;
    }
}

static bool filter_float(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    double number;
    if (v.kind == VALUE_STRING ? !number_parse_python_float(value_str(v), &number)
                               : v.kind < VALUE_BOOL || v.kind > VALUE_FLOAT) {
        if (v.kind == VALUE_UNDEFINED) {
            return undefined_raise(r, v);
        }
        *out = arg_or(args, 1, value_float(0));
        return true;
    }
    if (v.kind != VALUE_STRING && !value_to_float(r, v, &number)) {
        return false;
    }
    *out = value_float(number);
    return true;
}

static bool read_round_method(Render *r, const Args *args, RoundMethod *out)
{
    static const struct {
        Str name;
        RoundMethod method;
    } methods[] = {
        { { "common", 6 }, ROUND_COMMON },
        { { "ceil", 4 }, ROUND_CEIL },
        { { "floor", 5 }, ROUND_FLOOR },
    };
    *out = ROUND_COMMON;
    if (!arg_passed(args, 2)) {
        return true;
    }
    Value method = args->values[2];
    for (size_t i = 0; i < COUNT_OF(methods) && method.kind == VALUE_STRING; i++) {
        if (str_eq(value_str(method), methods[i].name)) {
            *out = methods[i].method;
            return true;
        }
    }
    return render_raise(r, FAULT_FILTER_ARGUMENT, "method must be common, ceil or floor");
}

static bool raise_cannot_round(Render *r, double x)
{
    if (isnan(x)) {
        return render_raise(r, FAULT_VALUE, "cannot convert float NaN to integer");
    }
    if (isinf(x)) {
        return render_raise(r, FAULT_OVERFLOW, "cannot convert float infinity to integer");
    }
    return render_raise(r, FAULT_OVERFLOW, "rounded value too large to represent");
}

/* Python's round(x, none) and round(x) return an integer. */
static bool round_to_int(Render *r, Value v, Value *out)
{
    double rounded;
    bool fits;
    if (v.kind != VALUE_FLOAT) {
        *out = value_int(v.kind == VALUE_INT ? v.integer : v.boolean);
        return true;
    }
    if (!isfinite(v.number) || !number_round(v.number, 0, ROUND_COMMON, &rounded)) {
        return raise_cannot_round(r, v.number);
    }
    *out = truncate_float(rounded, &fits);
    return fits || raise_too_large(r, v);
}

static bool filter_round(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    RoundMethod method;
    int64_t precision;
    if (!read_round_method(r, args, &method)) {
        return false;
    }
    bool number = v.kind >= VALUE_BOOL && v.kind <= VALUE_FLOAT;
    if (method != ROUND_COMMON && v.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, v);
    }
    if (method != ROUND_COMMON && arg_passed(args, 1) && args->values[1].kind == VALUE_UNDEFINED) {
        return undefined_raise(r, args->values[1]);
    }
    if (!number) {
        return render_raise(r, FAULT_TYPE, "type %s doesn't define __round__ method",
                            op_type_name(v));
    }
    if (method == ROUND_COMMON && arg_passed(args, 1) && args->values[1].kind == VALUE_NULL) {
        return round_to_int(r, v, out);
    }
    if (!arg_int(r, args, 1, 0, &precision)) {
        return false;
    }
    if (method == ROUND_COMMON && v.kind != VALUE_FLOAT) {
        int64_t rounded;
        if (!number_round_int(v.kind == VALUE_INT ? v.integer : v.boolean, precision, &rounded)) {
            return raise_too_large(r, v);
        }
        *out = value_int(rounded);
        return true;
    }
    double x = v.number, rounded;
    if (v.kind != VALUE_FLOAT && !value_to_float(r, v, &x)) {
        return false;
    }
    enum {
        /* in steps: beyond the exact range of doubles, digits are counted one by one */
        DIGITS_COST = 150
    };
    if ((precision < -22 || precision > 22) && !render_charge(r, DIGITS_COST)) {
        return false;
    }
    if (!number_round(x, precision, method, &rounded)) {
        return raise_cannot_round(r, x);
    }
    *out = value_float(rounded);
    return true;
}

static bool filter_filesizeformat(Render *r, const Args *args, Value *out)
{
    static const char *const units[2][8] = {
        { "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB" },
        { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB" },
    };
    double bytes;
    bool binary, fits;
    if (!value_to_float(r, args->values[0], &bytes) || !arg_truth(r, args, 1, false, &binary)) {
        return false;
    }
    double base = binary ? 1024 : 1000;
    if (isinf(bytes) && bytes < 0) {
        return raise_cannot_round(r, bytes);
    }
    Buf text = render_buf(r);
    if (bytes == 1) {
        buf_put(&text, STR("1 Byte"));
    } else if (bytes < base) {
        Value integral = truncate_float(bytes, &fits);
        if (!fits) {
            return raise_too_large(r, args->values[0]);
        }
        buf_put_i64(&text, integral.integer);
        buf_put(&text, STR(" Bytes"));
    } else {
        size_t last = COUNT_OF(units[0]) - 1;
        double unit = base * base;
        size_t i = 0;
        for (; i < last && !(bytes < unit); i++) {
            unit *= base;
        }
        number_put_float_spec(&text, base * bytes / unit, (FloatSpec){ 'f', false, 1 });
        buf_put_format(&text, " %s", units[binary][i]);
    }
    return take_text(r, &text, false, out);
}

const Native filters_number[] = {
    { .name = "abs",
      .call = filter_abs,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Returns the absolute value.",
      .example = "{{ -3 | abs }} {{ -2.5 | abs }}",
      .output = "3 2.5" },
    { .name = "int",
      .call = filter_int,
      .params = { { "value" }, { "default", "0" }, { "base", "10" } },
      .flags = NATIVE_JINJA,
      .help = "Converts a string or number to an integer; returns the default if that fails.",
      .example =
          "{{ '42' | int }} {{ '7.9' | int }} {{ 'x' | int(-1) }} {{ '0x1f' | int(base=16) }}",
      .output = "42 7 -1 31" },
    { .name = "float",
      .call = filter_float,
      .params = { { "value" }, { "default", "0.0" } },
      .flags = NATIVE_JINJA,
      .help = "Converts a string or number to a float; returns the default if that fails.",
      .example = "{{ '2.5' | float }} {{ 3 | float }} {{ 'x' | float(1.5) }}",
      .output = "2.5 3.0 1.5" },
    { .name = "round",
      .call = filter_round,
      .params = { { "value" }, { "precision", "0" }, { "method", "'common'" } },
      .flags = NATIVE_JINJA,
      .help = "Rounds to a number of digits; methods: 'common', 'ceil', 'floor'.",
      .example = "{{ 42.55 | round }} {{ 42.55 | round(1, 'floor') }} {{ 42.55 | round | int }}",
      .output = "43.0 42.5 43" },
    { .name = "filesizeformat",
      .call = filter_filesizeformat,
      .params = { { "value" }, { "binary", "false" } },
      .flags = NATIVE_JINJA,
      .help = "Formats a number of bytes with a decimal or binary unit.",
      .example = "{{ 1500000 | filesizeformat }} {{ 1048576 | filesizeformat(true) }}",
      .output = "1.5 MB 1.0 MiB" },
    { 0 },
};
