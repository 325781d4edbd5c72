/* Filters that choose and check values: ternary, secret, bool, to_num, mandatory, type_debug. */
#include "lang/number.h"
#include "lang/template/filter.h"

static bool filter_ternary(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    bool truth;
    if (v.kind == VALUE_NULL && arg_not_none(args, 3)) {
        *out = args->values[3];
        return true;
    }
    if (!op_truth(r, v, &truth)) {
        return false;
    }
    *out = args->values[truth ? 1 : 2];
    return true;
}

static bool filter_secret(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    if (v.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, v);
    }
    *out = value_with_secret(v);
    templates_report_secret(r->templates, *out, false);
    render_note_external(r, *out);
    return true;
}

static bool is_one_of(Str word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq_ignore_case(word, str_from_c(words[i]))) {
            return true;
        }
    }
    return false;
}

/* Ansible's filter: its words for true are true, none stays none, and everything else is false. */
static bool filter_bool(Render *r, const Args *args, Value *out)
{
    static const char *const yes[] = { "yes", "on", "1", "true" };
    Value v = args->values[0];
    switch (v.kind) {
    case VALUE_NULL:
    case VALUE_BOOL: *out = v; return true;
    case VALUE_INT: *out = value_bool(v.integer == 1); return true;
    case VALUE_FLOAT: *out = value_bool(v.number == 1); return true;
    case VALUE_STRING: *out = value_bool(is_one_of(value_str(v), yes, COUNT_OF(yes))); return true;
    case VALUE_UNDEFINED: return undefined_raise(r, v);
    default: *out = value_bool(false); return true;
    }
}

/* Salt's filter: numbers above zero are true as well, and none is false. */
static bool filter_to_bool(Render *r, const Args *args, Value *out)
{
    static const char *const yes[] = { "yes", "1", "true" };
    Value v = args->values[0];
    switch (v.kind) {
    case VALUE_BOOL: *out = v; return true;
    case VALUE_INT: *out = value_bool(v.integer > 0); return true;
    case VALUE_FLOAT: *out = value_bool(v.number > 0); return true;
    case VALUE_STRING: *out = value_bool(is_one_of(value_str(v), yes, COUNT_OF(yes))); return true;
    case VALUE_UNDEFINED: return undefined_raise(r, v);
    default: *out = value_bool(false); return true;
    }
}

static bool filter_to_num(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    if (v.kind >= VALUE_BOOL && v.kind <= VALUE_FLOAT) {
        *out = v.kind == VALUE_BOOL ? value_int(v.boolean) : v;
        return true;
    }
    Str text;
    int64_t integer;
    double number;
    if (!op_text(r, v, &text)) {
        return false;
    }
    if (number_parse_python_int(text, 10, &integer, NULL)) {
        *out = value_int(integer);
    } else if (number_parse_python_float(text, &number)) {
        *out = value_float(number);
    } else {
        *out = v;
    }
    return true;
}

static bool filter_mandatory(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    Str message;
    if (v.kind != VALUE_UNDEFINED) {
        *out = v;
        return true;
    }
    if (!arg_text(r, args, 1, STR_EMPTY, &message)) {
        return false;
    }
    if (message.len > 0 && arg_not_none(args, 1)) {
        return render_raise(r, FAULT_UNDEFINED, "%" STR_FMT, STR_ARG(message));
    }
    undefined_raise(r, v);
    return render_hint(r, "the template requires this value");
}

static bool filter_type_debug(Render *r, const Args *args, Value *out)
{
    *out = value_string(str_from_c(op_type_name(args->values[0])));
    return true;
}

const Native filters_logic[] = {
    { .name = "ternary",
      .call = filter_ternary,
      .params = { { "value" }, { "true_val" }, { "false_val" }, { "none_val", "none" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Returns the first argument for true, the second for false, and the third for none.",
      .example = "{{ true | ternary('on', 'off') }} {{ none | ternary('on', 'off', 'unset') }}",
      .output = "on unset" },
    { .name = "secret",
      .call = filter_secret,
      .params = { { "value" } },
      .help = "Marks a value as secret: usable like any other value, but never shown.",
      .example = "{{ 'abc' | secret | length }}",
      .output = "3" },
    { .name = "bool",
      .call = filter_bool,
      .params = { { "value" } },
      .help = "Converts yes, on, true and 1 to true, and everything else except none to false.",
      .example = "{{ 'yes' | bool }} {{ 'Off' | bool }} {{ 1 | bool }}",
      .output = "True False True" },
    { .name = "to_bool",
      .call = filter_to_bool,
      .params = { { "value" } },
      .help = "Converts yes, true, 1 and numbers above zero to true, everything else to false.",
      .example = "{{ 'yes' | to_bool }} {{ none | to_bool }} {{ 2 | to_bool }}",
      .output = "True False True" },
    { .name = "to_num",
      .call = filter_to_num,
      .params = { { "value" } },
      .help = "Converts a numeric string to a number; other strings are unchanged.",
      .example = "{{ '5' | to_num + 1 }} {{ '2.5' | to_num + 1 }} {{ 'x' | to_num }}",
      .output = "6 3.5 x" },
    { .name = "mandatory",
      .call = filter_mandatory,
      .params = { { "value" }, { "msg", "none" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Fails if the value is undefined, even where undefined values are allowed.",
      .example = "{{ 80 | mandatory('a port is needed') }}",
      .output = "80" },
    { .name = "type_debug",
      .call = filter_type_debug,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "Returns the Python name of a value's type.",
      .example = "{{ 'a' | type_debug }} {{ [] | type_debug }} {{ none | type_debug }}",
      .output = "str list NoneType" },
    { 0 },
};
