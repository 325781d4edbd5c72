/* Jinja2's filters that select values: map, select, reject, default, attr and related ones. */
#include "lang/template/attribute_path.h"
#include "lang/template/filter.h"

/* A filter or test named by an argument, with its other arguments bound once for all items. */
typedef struct BoundNative {
    const Native *native;
    Args bound;
} BoundNative;

/* Raises the error for an unknown name. An undefined name was most likely written without
 * quotes. */
static bool raise_unknown_name(Render *r, const char *what, Value name)
{
    if (name.kind == VALUE_UNDEFINED) {
        undefined_raise(r, name);
        Str reason = r->fault.message;
        r->fault = (Fault){ .class = FAULT_NONE };
        render_raise(r, FAULT_RUNTIME, "expected the name of a %s: %" STR_FMT, what,
                     STR_ARG(reason));
        render_hint(r, "names are strings; put it in quotes");
        return false;
    }
    return render_raise(r, FAULT_RUNTIME, "unknown %s %" STR_FMT, what,
                        STR_ARG(repr_for_message(r, name)));
}

/* args->values[index] is the name of the filter; its arguments follow. */
static bool bound_native_init(Render *r, bool test, const Args *args, uint32_t index,
                              BoundNative *out)
{
    const char *what = test ? "test" : "filter";
    Value name = args->values[index];
    *out = (BoundNative){ 0 };
    if (name.kind == VALUE_STRING) {
        out->native = test ? test_find(value_str(name)) : filter_find(value_str(name));
    }
    if (out->native == NULL) {
        raise_unknown_name(r, what, name);
        Str nearest;
        if (name.kind == VALUE_STRING && (test ? test_suggest(value_str(name), &nearest)
                                               : filter_suggest(value_str(name), &nearest))) {
            render_hint(r, "did you mean '%" STR_FMT "'?", STR_ARG(nearest));
        }
        return false;
    }
    /* The item replaces the name, which directly precedes the arguments. */
    Args call_args = { .values = args->values + index,
                       .count = args->count - index,
                       .named = args->named };
    return native_bind(r, out->native, what, &call_args, &out->bound);
}

static inline bool bound_native_call(Render *r, const BoundNative *bound_native, Value item,
                                     Value *out)
{
    bound_native->bound.values[0] = item;
    return native_call_bound(r, bound_native->native, &bound_native->bound, out);
}

/* The path of map(attribute=..., default=...), and whether that form was used. */
static bool read_map_attribute(Render *r, const Args *args, AttributePath *path, Value *fallback,
                               bool *used)
{
    const MapEntry *attribute =
        args->named == NULL ? NULL : map_find_str(args->named, STR("attribute"));
    *used = attribute != NULL && args->count == 1;
    if (!*used) {
        return true;
    }
    if (!attribute_path_make(r, attribute->value, path)) {
        return false;
    }
    *fallback = value_null();
    for (uint32_t i = 0; i < args->named->len; i++) {
        const MapEntry *entry = &args->named->entries[i];
        if (str_eq(value_str(entry->key), STR("default"))) {
            *fallback = entry->value;
        } else if (entry != attribute) {
            return render_raise(r, FAULT_FILTER_ARGUMENT,
                                "Unexpected keyword argument '%" STR_FMT "'",
                                STR_ARG(value_str(entry->key)));
        }
    }
    return true;
}

static bool map_attribute(Render *r, Value v, const AttributePath *path, Value fallback,
                          List *mapped)
{
    Iter iter;
    Value item;
    if (!iter_start(r, v, &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &item)) {
        if (!charge_iteration(r) || !attribute_path_get(r, path, &item, fallback, &item) ||
            !push_item(r, mapped, item)) {
            return false;
        }
    }
    return !render_failed(r);
}

/* As in Jinja2, the filter is looked up only when there is a first item. */
static bool map_filter(Render *r, Value v, const Args *args, List *mapped)
{
    if (args->count < 2) {
        return render_raise(r, FAULT_FILTER_ARGUMENT, "map requires a filter argument");
    }
    BoundNative bound_native = { 0 };
    Iter iter;
    Value item;
    if (!iter_start(r, v, &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &item)) {
        if ((bound_native.native == NULL && !bound_native_init(r, false, args, 1, &bound_native)) ||
            !charge_iteration(r) || !bound_native_call(r, &bound_native, item, &item) ||
            !push_item(r, mapped, item)) {
            return false;
        }
    }
    return !render_failed(r);
}

/* As in Jinja2, the arguments are not checked if the value is empty. */
static bool filter_map(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    List *mapped = list_new(r->arena, value_is_sequence(v) ? v.list->len : 0);
    bool truth;
    if (!op_truth(r, v, &truth)) {
        return false;
    }
    if (truth) {
        AttributePath path;
        Value fallback;
        bool by_attribute;
        if (!read_map_attribute(r, args, &path, &fallback, &by_attribute) ||
            !(by_attribute ? map_attribute(r, v, &path, fallback, mapped)
                           : map_filter(r, v, args, mapped))) {
            return false;
        }
    }
    *out = generator_new(r, mapped, "sync_do_map");
    return true;
}

typedef struct SelectRule {
    const char *name; /* of the generator */
    bool reject;
    bool attribute; /* the first argument is the name of an attribute to test */
} SelectRule;

static bool select_items(Render *r, const Args *args, const SelectRule *rule, List *selected)
{
    AttributePath path = { NULL, 0 };
    uint32_t index = 1;
    if (rule->attribute) {
        if (args->count < 2) {
            return render_raise(r, FAULT_FILTER_ARGUMENT, "Missing parameter for attribute name");
        }
        if (!attribute_path_make(r, args->values[1], &path)) {
            return false;
        }
        index = 2;
    }
    BoundNative bound_native = { 0 };
    Iter iter;
    Value item;
    if (!iter_start(r, args->values[0], &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &item)) {
        Value tested = item;
        bool truth;
        if (path.count > 0 && !attribute_path_get(r, &path, &item, value_null(), &tested)) {
            return false;
        }
        if (args->count > index && ((bound_native.native == NULL &&
                                     !bound_native_init(r, true, args, index, &bound_native)) ||
                                    !bound_native_call(r, &bound_native, tested, &tested))) {
            return false;
        }
        if (tested.kind == VALUE_BOOL) {
            truth = tested.boolean;
        } else if (!op_truth(r, tested, &truth)) {
            return false;
        }
        if (!charge_iteration(r) || (truth != rule->reject && !push_item(r, selected, item))) {
            return false;
        }
    }
    return !render_failed(r);
}

static bool select_by_rule(Render *r, const Args *args, const SelectRule *rule, Value *out)
{
    List *selected = list_new(r->arena, 0);
    bool truth;
    if (!op_truth(r, args->values[0], &truth) ||
        (truth && !select_items(r, args, rule, selected))) {
        return false;
    }
    *out = generator_new(r, selected, rule->name);
    return true;
}

static bool filter_select(Render *r, const Args *args, Value *out)
{
    return select_by_rule(r, args, &(SelectRule){ "sync_do_select", false, false }, out);
}

static bool filter_reject(Render *r, const Args *args, Value *out)
{
    return select_by_rule(r, args, &(SelectRule){ "sync_do_reject", true, false }, out);
}

static bool filter_selectattr(Render *r, const Args *args, Value *out)
{
    return select_by_rule(r, args, &(SelectRule){ "sync_do_selectattr", false, true }, out);
}

static bool filter_rejectattr(Render *r, const Args *args, Value *out)
{
    return select_by_rule(r, args, &(SelectRule){ "sync_do_rejectattr", true, true }, out);
}

static bool filter_default(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    bool replace = v.kind == VALUE_UNDEFINED;
    if (!replace && arg_passed(args, 2)) {
        bool boolean, truth;
        if (!op_truth(r, args->values[2], &boolean) || (boolean && !op_truth(r, v, &truth))) {
            return false;
        }
        replace = boolean && !truth;
    }
    *out = replace ? arg_or(args, 1, value_string(STR_EMPTY)) : v;
    return true;
}

/* Looks up attributes and methods only, never elements. */
static bool filter_attr(Render *r, const Args *args, Value *out)
{
    Value owner = args->values[0];
    Str name;
    if (!op_text(r, args->values[1], &name)) {
        return false;
    }
    if (owner.kind == VALUE_UNDEFINED) {
        return op_get_attr(r, owner, name, out);
    }
    bool found = false;
    if (owner.kind == VALUE_OBJECT) {
        if (owner.object->type->get_attr != NULL &&
            !owner.object->type->get_attr(r, owner.object, name, out, &found)) {
            return false;
        }
    } else {
        const Native *method = method_find(owner.kind, name);
        found = method != NULL;
        if (found) {
            *out = bound_method_new(r, owner, method);
        }
    }
    if (!found) {
        /* A secret name stays marked, so that no message shows it. */
        *out = value_is_secret(args->values[1])
                   ? undefined_element(r, owner, value_with_secret(value_string(name)))
                   : undefined_attribute(r, owner, name);
    }
    return true;
}

const Native filters_select[] = {
    { .name = "map",
      .call = filter_map,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH | NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help = "Applies a filter to every item, or returns one attribute of each.",
      .example = "{{ ['a', 'b'] | map('upper') | join }} "
                 "{{ [{'n': 1}, {}] | map(attribute='n', default=0) | list }}",
      .output = "AB [1, 0]" },
    { .name = "select",
      .call = filter_select,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH | NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help = "Keeps the items that pass a test; without a test, the items that are true.",
      .example = "{{ [1, 2, 3, 4] | select('even') | list }} {{ ['', 'a'] | select | list }}",
      .output = "[2, 4] ['a']" },
    { .name = "reject",
      .call = filter_reject,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH | NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help = "Drops the items that pass a test; without a test, the items that are true.",
      .example = "{{ [1, 2, 3, 4] | reject('gt', 2) | list }}",
      .output = "[1, 2]" },
    { .name = "selectattr",
      .call = filter_selectattr,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH | NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help = "Keeps the items with an attribute that passes a test, or is true.",
      .example = "{{ [{'n': 'a', 'up': true}, {'n': 'b'}] | selectattr('up') "
                 "| map(attribute='n') | list }}",
      .output = "['a']" },
    { .name = "rejectattr",
      .call = filter_rejectattr,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH | NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help = "Drops the items with an attribute that passes a test, or is true.",
      .example = "{{ [{'port': 80}, {'port': 443}] | rejectattr('port', 'eq', 80) | list }}",
      .output = "[{'port': 443}]" },
    { .name = "default",
      .call = filter_default,
      .params = { { "value" }, { "default_value", "''" }, { "boolean", "false" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Returns the default for an undefined value; with `boolean`, also for a false one.",
      .example = "{{ missing | default('none') }} {{ '' | default('empty', true) }}",
      .output = "none empty" },
    { .name = "d",
      .call = filter_default,
      .params = { { "value" }, { "default_value", "''" }, { "boolean", "false" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH | NATIVE_ALIAS,
      .help = "The same as default.",
      .example = "{{ missing | d(0) }}",
      .output = "0" },
    { .name = "attr",
      .call = filter_attr,
      .params = { { "value" }, { "name" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Returns an attribute or method by name, never an element of a map.",
      .example = "{{ ('abc' | attr('upper'))() }} {{ {'a': 1} | attr('a') is defined }}",
      .output = "ABC False" },
    { 0 },
};
