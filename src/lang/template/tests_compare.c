/* Jinja2's tests that compare a value with another one. */
#include "lang/template/filter.h"

static bool compare(Render *r, const Args *args, Operator op, Value *out)
{
    bool answer;
    if (!op_compare(r, op, args->values[0], args->values[1], &answer)) {
        return false;
    }
    *out = value_bool(answer);
    return true;
}

static bool test_eq(Render *r, const Args *args, Value *out)
{
    return compare(r, args, OP_EQ, out);
}

static bool test_ne(Render *r, const Args *args, Value *out)
{
    return compare(r, args, OP_NE, out);
}

static bool test_lt(Render *r, const Args *args, Value *out)
{
    return compare(r, args, OP_LT, out);
}

static bool test_le(Render *r, const Args *args, Value *out)
{
    return compare(r, args, OP_LE, out);
}

static bool test_gt(Render *r, const Args *args, Value *out)
{
    return compare(r, args, OP_GT, out);
}

static bool test_ge(Render *r, const Args *args, Value *out)
{
    return compare(r, args, OP_GE, out);
}

static bool test_in(Render *r, const Args *args, Value *out)
{
    return compare(r, args, OP_IN, out);
}

/* Python's `is`. Scalars have no identity here: equal ones of the same type are identical. */
static bool test_sameas(Render *r, const Args *args, Value *out)
{
    Value a = args->values[0];
    Value b = args->values[1];
    bool same = a.kind == b.kind;
    if (same) {
        switch (a.kind) {
        case VALUE_NULL: break;
        case VALUE_BOOL: same = a.boolean == b.boolean; break;
        case VALUE_INT: same = a.integer == b.integer; break;
        case VALUE_FLOAT: same = a.number == b.number; break;
        case VALUE_STRING: same = str_eq(value_str(a), value_str(b)); break;
        case VALUE_MAP: same = a.map == b.map; break;
        case VALUE_OBJECT: same = a.object == b.object; break;
        case VALUE_UNDEFINED: same = a.undefined == b.undefined; break;
        default: same = a.list == b.list; break;
        }
    }
    *out = value_bool(same);
    return true;
}

static bool remainder_is(Render *r, Value v, Value divisor, int64_t wanted, Value *out)
{
    if (v.kind == VALUE_INT && divisor.kind == VALUE_INT && divisor.integer > 0) {
        int64_t rest = v.integer % divisor.integer;
        *out = value_bool((rest < 0 ? rest + divisor.integer : rest) == wanted);
        return true;
    }
    Value rest;
    bool equal;
    if (!op_binary(r, OP_MOD, v, divisor, &rest) || !op_equal(r, rest, value_int(wanted), &equal)) {
        return false;
    }
    *out = value_bool(equal);
    return true;
}

static bool test_even(Render *r, const Args *args, Value *out)
{
    return remainder_is(r, args->values[0], value_int(2), 0, out);
}

static bool test_odd(Render *r, const Args *args, Value *out)
{
    return remainder_is(r, args->values[0], value_int(2), 1, out);
}

static bool test_divisibleby(Render *r, const Args *args, Value *out)
{
    return remainder_is(r, args->values[0], args->values[1], 0, out);
}

const Native tests_compare[] = {
    { .name = "eq",
      .call = test_eq,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The values are equal.",
      .example = "{{ 1 is eq 1.0 }} {{ 'a' is eq('b') }}",
      .output = "True False" },
    { .name = "equalto",
      .call = test_eq,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as eq.",
      .example = "{{ 2 is equalto 2 }}",
      .output = "True" },
    { .name = "==",
      .call = test_eq,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as eq.",
      .example = "{{ [1, 2, 1] | select('==', 1) | list }}",
      .output = "[1, 1]" },
    { .name = "ne",
      .call = test_ne,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The values differ.",
      .example = "{{ 1 is ne 2 }}",
      .output = "True" },
    { .name = "!=",
      .call = test_ne,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as ne.",
      .example = "{{ [1, 2] | select('!=', 1) | list }}",
      .output = "[2]" },
    { .name = "lt",
      .call = test_lt,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is less than the other.",
      .example = "{{ 1 is lt 2 }}",
      .output = "True" },
    { .name = "lessthan",
      .call = test_lt,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as lt.",
      .example = "{{ 1 is lessthan 2 }}",
      .output = "True" },
    { .name = "<",
      .call = test_lt,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as lt.",
      .example = "{{ [1, 2, 3] | select('<', 2) | list }}",
      .output = "[1]" },
    { .name = "le",
      .call = test_le,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is less than or equal to the other.",
      .example = "{{ 2 is le 2 }}",
      .output = "True" },
    { .name = "<=",
      .call = test_le,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as le.",
      .example = "{{ [1, 2, 3] | select('<=', 2) | list }}",
      .output = "[1, 2]" },
    { .name = "gt",
      .call = test_gt,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is greater than the other.",
      .example = "{{ 3 is gt 2 }}",
      .output = "True" },
    { .name = "greaterthan",
      .call = test_gt,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as gt.",
      .example = "{{ 1 is greaterthan 2 }}",
      .output = "False" },
    { .name = ">",
      .call = test_gt,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as gt.",
      .example = "{{ [1, 2, 3] | select('>', 2) | list }}",
      .output = "[3]" },
    { .name = "ge",
      .call = test_ge,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is greater than or equal to the other.",
      .example = "{{ 2 is ge 3 }}",
      .output = "False" },
    { .name = ">=",
      .call = test_ge,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as ge.",
      .example = "{{ [1, 2, 3] | select('>=', 2) | list }}",
      .output = "[2, 3]" },
    { .name = "in",
      .call = test_in,
      .params = { { "value" }, { "seq" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The other value contains this one.",
      .example = "{{ 2 is in [1, 2] }} {{ 'b' is in 'abc' }}",
      .output = "True True" },
    { .name = "sameas",
      .call = test_sameas,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "Both are the same object.",
      .example = "{{ none is sameas none }} {{ 1 is sameas true }}",
      .output = "True False" },
    { .name = "even",
      .call = test_even,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The number is even.",
      .example = "{{ 2 is even }}",
      .output = "True" },
    { .name = "odd",
      .call = test_odd,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The number is odd.",
      .example = "{{ 2 is odd }}",
      .output = "False" },
    { .name = "divisibleby",
      .call = test_divisibleby,
      .params = { { "value" }, { "num" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The number is divisible by the other.",
      .example = "{{ 21 is divisibleby 7 }}",
      .output = "True" },
    { 0 },
};
