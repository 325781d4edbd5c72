/* Numeric filters: logarithms, powers, roots, human-readable sizes, averages. */
#include <math.h>

#include "lang/number.h"
#include "lang/template/filter.h"

static bool read_number(Render *r, Value v, const char *filter, double *out)
{
    if (v.kind == VALUE_STRING) {
        return render_raise(r, FAULT_TYPE, "%s() can only be used on numbers", filter);
    }
    return value_to_float(r, v, out);
}

static bool set_number(Render *r, double number, bool finite, Value *out)
{
    *out = value_float(number);
    if (isnan(number) && finite) {
        return render_raise(r, FAULT_VALUE, "math domain error");
    }
    return !isinf(number) || !finite || render_raise(r, FAULT_OVERFLOW, "math range error");
}

static bool filter_log(Render *r, const Args *args, Value *out)
{
    double x, base = M_E;
    if (!read_number(r, args->values[0], "log", &x) ||
        (arg_not_none(args, 1) && !read_number(r, args->values[1], "log", &base))) {
        return false;
    }
    if (x <= 0 || base <= 0 || base == 1) {
        return render_raise(r, FAULT_VALUE, "math domain error");
    }
    return set_number(r,
                      !arg_not_none(args, 1) ? log(x)
                      : base == 10           ? log10(x)
                                             : log(x) / log(base),
                      isfinite(x), out);
}

static bool filter_pow(Render *r, const Args *args, Value *out)
{
    double x, y;
    return read_number(r, args->values[0], "pow", &x) &&
           read_number(r, args->values[1], "pow", &y) &&
           set_number(r, pow(x, y), isfinite(x) && isfinite(y), out);
}

static bool filter_root(Render *r, const Args *args, Value *out)
{
    double x, base = 2;
    if (!read_number(r, args->values[0], "root", &x) ||
        (arg_not_none(args, 1) && !read_number(r, args->values[1], "root", &base))) {
        return false;
    }
    return set_number(r, base == 2 ? sqrt(x) : pow(x, 1 / base), isfinite(x), out);
}

typedef struct SizeUnit {
    char letter;
    int power; /* exponent of two */
} SizeUnit;

static const SizeUnit size_units[] = {
    { 'Y', 80 }, { 'Z', 70 }, { 'E', 60 }, { 'P', 50 }, { 'T', 40 },
    { 'G', 30 }, { 'M', 20 }, { 'K', 10 }, { 'B', 0 },
};

static const SizeUnit *find_unit(char letter)
{
    for (size_t i = 0; i < COUNT_OF(size_units); i++) {
        if (size_units[i].letter == ascii_upper(letter)) {
            return &size_units[i];
        }
    }
    return NULL;
}

static bool filter_human_readable(Render *r, const Args *args, Value *out)
{
    double size;
    bool bits;
    Str unit_name;
    if (!value_to_float(r, args->values[0], &size) || !arg_truth(r, args, 1, false, &bits) ||
        !arg_text(r, args, 2, STR_EMPTY, &unit_name)) {
        return false;
    }
    const SizeUnit *unit = &size_units[0];
    if (arg_not_none(args, 2)) {
        unit = unit_name.len > 0 ? find_unit(unit_name.data[0]) : NULL;
        if (unit == NULL) {
            return render_raise(r, FAULT_VALUE, "unknown unit '%" STR_FMT "'", STR_ARG(unit_name));
        }
    } else {
        while (unit->power > 0 && !(size >= ldexp(1, unit->power))) {
            unit++;
        }
    }
    Buf text = render_buf(r);
    number_put_float_spec(&text, ldexp(size, -unit->power), (FloatSpec){ 'f', false, 2 });
    if (unit->power == 0) {
        buf_put_c(&text, bits ? " bits" : " Bytes");
    } else {
        buf_put_format(&text, " %c%c", unit->letter, bits ? 'b' : 'B');
    }
    return take_text(r, &text, false, out);
}

/* Splits "1.5 GB" into number and unit. */
static bool split_size(Str text, double *number, Str *unit)
{
    text = str_trim(text);
    size_t pos = 0;
    while (pos < text.len && (ascii_is_digit(text.data[pos]) || text.data[pos] == '.')) {
        pos++;
    }
    *unit = str_trim(str_from_offset(text, pos));
    return pos > 0 && number_parse_float(str_slice(text, 0, pos), number);
}

/* Whether the rest of the unit after its letter matches bits or bytes: "MB", "Mb", "Megabytes". */
static bool unit_matches(Str unit, bool bits)
{
    if (unit.len == 1) {
        return true;
    }
    if (unit.len == 2) {
        return unit.data[1] == (bits ? 'b' : 'B');
    }
    Str word = bits ? STR("bit") : STR("byte");
    for (size_t pos = 0; pos + word.len <= unit.len; pos++) {
        if (str_eq_ignore_case(str_slice(unit, pos, pos + word.len), word)) {
            return true;
        }
    }
    return false;
}

static bool filter_human_to_bytes(Render *r, const Args *args, Value *out)
{
    Str text, unit_name, fallback;
    bool bits;
    double number;
    if (!op_text(r, args->values[0], &text) || !arg_text(r, args, 1, STR("B"), &fallback) ||
        !arg_truth(r, args, 2, false, &bits)) {
        return false;
    }
    if (!split_size(text, &number, &unit_name)) {
        return render_raise(r, FAULT_VALUE, "'%" STR_FMT "' is not a size", STR_ARG(text));
    }
    bool has_unit = unit_name.len > 0;
    unit_name = has_unit ? unit_name : arg_not_none(args, 1) ? fallback : STR("B");
    const SizeUnit *unit = unit_name.len > 0 ? find_unit(unit_name.data[0]) : NULL;
    if (unit == NULL || (has_unit && !unit_matches(unit_name, bits))) {
        return render_raise(r, FAULT_VALUE, "'%" STR_FMT "' is not in %s", STR_ARG(text),
                            bits ? "bits" : "bytes");
    }
    double size = nearbyint(ldexp(number, unit->power));
    if (!(size < 9223372036854775808.0)) {
        return render_raise(r, FAULT_OVERFLOW, "'%" STR_FMT "' does not fit in 64 bits",
                            STR_ARG(text));
    }
    *out = value_int((int64_t)size);
    return true;
}

static bool filter_avg(Render *r, const Args *args, Value *out)
{
    List *items;
    double sum = 0, number;
    if (!iter_collect(r, args->values[0], &items)) {
        return false;
    }
    if (items->len == 0) {
        return render_raise(r, FAULT_VALUE, "cannot compute the average of an empty sequence");
    }
    for (uint32_t i = 0; i < items->len; i++) {
        if (!read_number(r, items->items[i], "avg", &number)) {
            return false;
        }
        sum += number;
    }
    *out = value_float(sum / items->len);
    return true;
}

const Native filters_math[] = {
    { .name = "log",
      .call = filter_log,
      .params = { { "value" }, { "base", "e" } },
      .help = "Returns the logarithm, natural or to the given base.",
      .example = "{{ 8 | log(2) }} {{ 1000 | log(10) }}",
      .output = "3.0 3.0" },
    { .name = "pow",
      .call = filter_pow,
      .params = { { "value" }, { "y" } },
      .help = "Raises to a power; the result is a float.",
      .example = "{{ 2 | pow(10) }}",
      .output = "1024.0" },
    { .name = "root",
      .call = filter_root,
      .params = { { "value" }, { "base", "2" } },
      .help = "Returns the square root, or the root of the given degree.",
      .example = "{{ 81 | root }} {{ 32 | root(5) }}",
      .output = "9.0 2.0" },
    { .name = "human_readable",
      .call = filter_human_readable,
      .params = { { "value" }, { "isbits", "false" }, { "unit", "none" } },
      .help = "Formats a size with a binary unit (1024); the largest that fits, or the given one.",
      .example = "{{ 1232345345 | human_readable }} {{ 1048576 | human_readable(unit='K') }}",
      .output = "1.15 GB 1024.00 KB" },
    { .name = "human_to_bytes",
      .call = filter_human_to_bytes,
      .params = { { "value" }, { "default_unit", "none" }, { "isbits", "false" } },
      .help = "Parses a size with a binary unit (1024) into bytes.",
      .example = "{{ '1.5 GB' | human_to_bytes }} {{ '10' | human_to_bytes('K') }}",
      .output = "1610612736 10240" },
    { .name = "avg",
      .call = filter_avg,
      .params = { { "value" } },
      .help = "Returns the average of numbers.",
      .example = "{{ [1, 2, 6] | avg }}",
      .output = "3.0" },
    { 0 },
};
