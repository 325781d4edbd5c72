/* Jinja2's tests of the type and properties of a value. */
#include "base/utf8.h"
#include "lang/template/filter.h"

static bool test_defined(Render *r, const Args *args, Value *out)
{
    *out = value_bool(args->values[0].kind != VALUE_UNDEFINED);
    return true;
}

static bool test_undefined(Render *r, const Args *args, Value *out)
{
    *out = value_bool(args->values[0].kind == VALUE_UNDEFINED);
    return true;
}

static bool test_none(Render *r, const Args *args, Value *out)
{
    *out = value_bool(args->values[0].kind == VALUE_NULL);
    return true;
}

static bool test_boolean(Render *r, const Args *args, Value *out)
{
    *out = value_bool(args->values[0].kind == VALUE_BOOL);
    return true;
}

static bool test_true(Render *r, const Args *args, Value *out)
{
    *out = value_bool(args->values[0].kind == VALUE_BOOL && args->values[0].boolean);
    return true;
}

static bool test_false(Render *r, const Args *args, Value *out)
{
    *out = value_bool(args->values[0].kind == VALUE_BOOL && !args->values[0].boolean);
    return true;
}

static bool test_integer(Render *r, const Args *args, Value *out)
{
    *out = value_bool(args->values[0].kind == VALUE_INT);
    return true;
}

static bool test_float(Render *r, const Args *args, Value *out)
{
    *out = value_bool(args->values[0].kind == VALUE_FLOAT);
    return true;
}

static bool test_number(Render *r, const Args *args, Value *out)
{
    uint8_t kind = args->values[0].kind;
    *out = value_bool(kind >= VALUE_BOOL && kind <= VALUE_FLOAT);
    return true;
}

static bool test_string(Render *r, const Args *args, Value *out)
{
    *out = value_bool(args->values[0].kind == VALUE_STRING);
    return true;
}

static bool test_mapping(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    *out = value_bool(v.kind == VALUE_MAP || (v.kind == VALUE_OBJECT && v.object->type->mapping));
    return true;
}

/* Iterating over a strict undefined value fails. */
static bool test_iterable(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    if (v.kind == VALUE_UNDEFINED) {
        *out = value_bool(true);
        return undefined_mode(r, v) != UNDEFINED_STRICT || undefined_raise(r, v);
    }
    *out = value_bool(v.kind == VALUE_OBJECT ? v.object->type->iterate != NULL
                                             : v.kind >= VALUE_STRING);
    return true;
}

/* Anything with a length and elements, including maps. Undefined values have both, unless they are
 * strict. */
static bool test_sequence(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    if (v.kind == VALUE_UNDEFINED) {
        *out = value_bool(undefined_mode(r, v) != UNDEFINED_STRICT);
        return true;
    }
    *out = value_bool(v.kind == VALUE_OBJECT ? v.object->type->sequence : v.kind >= VALUE_STRING);
    return true;
}

static bool test_callable(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    *out = value_bool(v.kind == VALUE_UNDEFINED || value_is_callable(v));
    return true;
}

static bool test_escaped(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    *out = value_bool(value_is_html(r, v));
    return true;
}

/* Whether the string has letters and all of them have the same case. ASCII is handled here,
 * everything else by the str method. */
static bool is_in_case(Render *r, const Args *args, bool upper, Value *out)
{
    Str text;
    if (!op_text(r, args->values[0], &text) || !op_charge_bytes(r, text.len)) {
        return false;
    }
    if (!utf8_is_ascii(text)) {
        return text_method(r, upper ? "isupper" : "islower", text, out);
    }
    bool some = false, other = false;
    for (size_t i = 0; i < text.len && !other; i++) {
        char c = text.data[i];
        bool letter = ascii_is_alpha(c);
        some = some || letter;
        other = letter && (upper ? ascii_upper(c) : ascii_lower(c)) != c;
    }
    *out = value_bool(some && !other);
    return true;
}

static bool test_lower(Render *r, const Args *args, Value *out)
{
    return is_in_case(r, args, false, out);
}

static bool test_upper(Render *r, const Args *args, Value *out)
{
    return is_in_case(r, args, true, out);
}

/* Names are looked up in a map: a value that cannot be a key is an error. */
static bool check_name(Render *r, Value v)
{
    if (v.kind == VALUE_UNDEFINED && undefined_mode(r, v) == UNDEFINED_STRICT) {
        return undefined_raise(r, v);
    }
    return v.kind == VALUE_UNDEFINED || v.kind == VALUE_OBJECT || op_check_key(r, v);
}

static bool test_filter(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    *out = value_bool(v.kind == VALUE_STRING && filter_find(value_str(v)) != NULL);
    return check_name(r, v);
}

static bool test_test(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    *out = value_bool(v.kind == VALUE_STRING && test_find(value_str(v)) != NULL);
    return check_name(r, v);
}

const Native tests_value[] = {
    { .name = "defined",
      .call = test_defined,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is defined.",
      .example = "{{ missing is defined }} {{ 1 is defined }}",
      .output = "False True" },
    { .name = "undefined",
      .call = test_undefined,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is undefined.",
      .example = "{{ missing is undefined }}",
      .output = "True" },
    { .name = "none",
      .call = test_none,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is none.",
      .example = "{{ none is none }} {{ 0 is none }}",
      .output = "True False" },
    { .name = "boolean",
      .call = test_boolean,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is true or false.",
      .example = "{{ true is boolean }} {{ 1 is boolean }}",
      .output = "True False" },
    { .name = "true",
      .call = test_true,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is the boolean true.",
      .example = "{{ true is true }} {{ 1 is true }}",
      .output = "True False" },
    { .name = "false",
      .call = test_false,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is the boolean false.",
      .example = "{{ false is false }} {{ 0 is false }}",
      .output = "True False" },
    { .name = "integer",
      .call = test_integer,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is an integer.",
      .example = "{{ 42 is integer }} {{ true is integer }} {{ 4.2 is integer }}",
      .output = "True False False" },
    { .name = "float",
      .call = test_float,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is a float.",
      .example = "{{ 4.2 is float }} {{ 42 is float }}",
      .output = "True False" },
    { .name = "number",
      .call = test_number,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is a number; true and false are numbers.",
      .example = "{{ 42 is number }} {{ '42' is number }}",
      .output = "True False" },
    { .name = "string",
      .call = test_string,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is a string.",
      .example = "{{ 'a' is string }} {{ 1 is string }}",
      .output = "True False" },
    { .name = "mapping",
      .call = test_mapping,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value is a map.",
      .example = "{{ {} is mapping }} {{ [] is mapping }}",
      .output = "True False" },
    { .name = "sequence",
      .call = test_sequence,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value has a length and elements: a list, a string or a map.",
      .example = "{{ [] is sequence }} {{ 'a' is sequence }} {{ 1 is sequence }}",
      .output = "True True False" },
    { .name = "iterable",
      .call = test_iterable,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value can be iterated over.",
      .example = "{{ [1] is iterable }} {{ 5 is iterable }}",
      .output = "True False" },
    { .name = "callable",
      .call = test_callable,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The value can be called, like a macro.",
      .example = "{{ range is callable }} {{ 1 is callable }}",
      .output = "True False" },
    { .name = "escaped",
      .call = test_escaped,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "The string is marked as safe HTML.",
      .example = "{{ 'a' | escape is escaped }} {{ 'a' is escaped }}",
      .output = "True False" },
    { .name = "lower",
      .call = test_lower,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "All letters of the string are lowercase.",
      .example = "{{ 'abc' is lower }} {{ 'aBc' is lower }}",
      .output = "True False" },
    { .name = "upper",
      .call = test_upper,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "All letters of the string are uppercase.",
      .example = "{{ 'ABC' is upper }} {{ 'aBc' is upper }}",
      .output = "True False" },
    { .name = "filter",
      .call = test_filter,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "A filter with that name exists.",
      .example = "{{ 'upper' is filter }} {{ 'uper' is filter }}",
      .output = "True False" },
    { .name = "test",
      .call = test_test,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "A test with that name exists.",
      .example = "{{ 'even' is test }} {{ 'evn' is test }}",
      .output = "True False" },
    { 0 },
};
