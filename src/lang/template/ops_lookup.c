/* Implements owner.name, owner[key], slices and length.
 *
 * Jinja2 tries two kinds of lookup: for owner.name a method or property first and then an element
 * of that name; for owner[key] an element first and then, for a string key, an attribute. A failed
 * lookup yields undefined, never an error, except for slices, which are passed on to Python. */
#include "base/utf8.h"
#include "lang/template/methods.h"
#include "lang/template/ops.h"

static void inherit_secret(Value owner, Value *out)
{
    if (UNLIKELY(value_is_secret(owner))) {
        out->flags |= VALUE_SECRET;
    }
}

bool op_force(Render *r, Value v, Value *out)
{
    if (!op_is_lazy(v)) {
        *out = v;
        return true;
    }
    if (!render_charge(r, 1) || !v.object->type->force(r, v.object, out)) {
        return false;
    }
    inherit_secret(v, out);
    return true;
}

/* Looks up a method of the value that a lazy object represents. */
static bool lazy_method(Render *r, Value owner, Str name, Value *out, bool *found)
{
    Value forced;
    return op_force(r, owner, &forced) &&
           (forced.kind == VALUE_OBJECT || op_find_attribute(r, forced, name, out, found));
}

const Native *op_find_method(Value owner, Str name)
{
    if (value_is_markup(owner)) {
        const Native *method = methods_search(markup_methods, name);
        if (method != NULL) {
            return method;
        }
    }
    return method_find((ValueKind)owner.kind, name);
}

/* Whether a dict may have the attribute itself; false for nearly every name, at little cost. */
static bool may_have_attribute(Str name)
{
    switch (name.len) {
    case 3: return name.data[0] == 'g' || name.data[0] == 'p';
    case 4: return name.data[0] == 'k' || name.data[0] == 'c';
    case 5: return name.data[0] == 'i' || name.data[0] == 'c';
    case 6: return name.data[0] == 'v' || name.data[0] == 'u';
    case 7: return name.data[0] == 'p';
    case 8: return name.data[0] == 'f';
    case 9: return name.data[0] == '_'; /* __class__ */
    case 10: return name.data[0] == 's';
    default: return false;
    }
}

/* The properties of Python's numbers, which are all numbers as well. */
static bool number_attribute(Value owner, Str name, Value *out)
{
    bool is_float = owner.kind == VALUE_FLOAT;
    if (str_eq(name, STR("real"))) {
        *out = is_float ? value_float(owner.number) : value_int(op_int(owner));
    } else if (str_eq(name, STR("imag"))) {
        *out = is_float ? value_float(0) : value_int(0);
    } else if (!is_float && str_eq(name, STR("numerator"))) {
        *out = value_int(op_int(owner));
    } else if (!is_float && str_eq(name, STR("denominator"))) {
        *out = value_int(1);
    } else {
        return false;
    }
    return true;
}

static bool group_attribute(Value owner, Str name, Value *out)
{
    bool grouper = str_eq(name, STR("grouper"));
    if (!grouper && !str_eq(name, STR("list"))) {
        return false;
    }
    *out = owner.list->items[grouper ? 0 : 1];
    return true;
}

bool op_find_attribute(Render *r, Value owner, Str name, Value *out, bool *found)
{
    *found = false;
    if (UNLIKELY(name.len == 9 && memcmp(name.data, "__class__", 9) == 0)) {
        *out = class_new(r, owner);
        *found = true;
        return true;
    }
    switch ((ValueKind)owner.kind) {
    case VALUE_OBJECT: {
        const ObjectType *type = owner.object->type;
        if (type->get_attr != NULL && !type->get_attr(r, owner.object, name, out, found)) {
            return false;
        }
        if (LIKELY(type->force == NULL)) {
            return true;
        }
        render_note_lazy(r);
        return *found || method_find(VALUE_MAP, name) == NULL ||
               lazy_method(r, owner, name, out, found);
    }
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_FLOAT:
        if (number_attribute(owner, name, out)) {
            *found = true;
            return true;
        }
        break;
    case VALUE_TUPLE:
        if ((owner.flags & VALUE_GROUP) != 0 && group_attribute(owner, name, out)) {
            *found = true;
            return true;
        }
        break;
    default: break;
    }
    const Native *method = op_find_method(owner, name);
    if (method != NULL) {
        *out = bound_method_new(r, owner, method);
        *found = true;
    }
    return true;
}

/* Converts a Python index to one from the start; returns false if it is out of range. */
static bool index_in(int64_t index, uint64_t length, uint64_t *out)
{
    if (index < 0) {
        uint64_t back = 0 - (uint64_t)index;
        if (back > length) {
            return false;
        }
        *out = length - back;
        return true;
    }
    *out = (uint64_t)index;
    return *out < length;
}

static bool string_item(Render *r, Value owner, int64_t index, Value *out, bool *found)
{
    Str text = value_str(owner);
    *found = false;
    if (!op_charge_bytes(r, text.len)) {
        return false;
    }
    size_t ascii = utf8_ascii_prefix(text);
    uint64_t pos;
    if (!index_in(index, ascii == text.len ? text.len : utf8_count(text), &pos)) {
        return true;
    }
    size_t start = ascii == text.len ? pos : utf8_index_to_offset(text, pos);
    size_t end = start;
    utf8_next(text, &end);
    *out = value_string(str_slice(text, start, end));
    out->flags |= owner.flags & VALUE_MARKUP;
    *found = true;
    return true;
}

bool op_find_item(Render *r, Value owner, Value key, Value *out, bool *found)
{
    *found = false;
    switch ((ValueKind)owner.kind) {
    case VALUE_MAP: {
        /* Keys that cannot be in a map are not found in it, because Jinja2 catches the
         * TypeError. */
        if (key.kind > VALUE_STRING && !value_is_key(key)) {
            return key.kind == VALUE_UNDEFINED && undefined_mode(r, key) == UNDEFINED_STRICT
                       ? undefined_raise(r, key)
                       : true;
        }
        if (!op_charge_key(r, key)) {
            return false;
        }
        const MapEntry *entry = map_find(owner.map, key);
        if (entry != NULL) {
            *out = entry->value;
            *found = true;
        }
        return true;
    }
    case VALUE_LIST:
    case VALUE_TUPLE: {
        uint64_t pos;
        if (op_is_int(key) && index_in(op_int(key), owner.list->len, &pos)) {
            *out = owner.list->items[pos];
            *found = true;
        }
        return true;
    }
    case VALUE_STRING: return !op_is_int(key) || string_item(r, owner, op_int(key), out, found);
    case VALUE_OBJECT: {
        const ObjectType *type = owner.object->type;
        if (UNLIKELY(type->force != NULL)) {
            render_note_lazy(r);
        }
        return type->get_item == NULL || type->get_item(r, owner.object, key, out, found);
    }
    default: return true;
    }
}

static bool undefined_lookup(Render *r, Value owner, Value *out)
{
    if (undefined_mode(r, owner) == UNDEFINED_CHAINABLE) {
        *out = owner;
        return true;
    }
    return undefined_raise(r, owner);
}

static bool get_attr_slow(Render *r, Value owner, Str name, Value *out)
{
    bool found;
    if (owner.kind == VALUE_UNDEFINED) {
        return undefined_attribute_of(r, owner, name, out, &found) &&
               (found || undefined_lookup(r, owner, out));
    }
    if (!op_find_attribute(r, owner, name, out, &found)) {
        return false;
    }
    if (!found && !op_find_item(r, owner, value_string(name), out, &found)) {
        return false;
    }
    if (!found) {
        *out = undefined_attribute(r, owner, name);
        return true;
    }
    inherit_secret(owner, out);
    return true;
}

bool op_get_attr(Render *r, Value owner, Str name, Value *out)
{
    /* Nearly all attributes in a template are keys of a map that has no method of that name. */
    if (LIKELY(owner.kind == VALUE_MAP && !may_have_attribute(name))) {
        const MapEntry *entry = map_find_str(owner.map, name);
        if (LIKELY(entry != NULL)) {
            *out = entry->value;
            inherit_secret(owner, out);
        } else {
            *out = undefined_attribute(r, owner, name);
        }
        return true;
    }
    return get_attr_slow(r, owner, name, out);
}

bool op_get_item(Render *r, Value owner, Value key, Value *out)
{
    if (owner.kind == VALUE_UNDEFINED) {
        return undefined_lookup(r, owner, out);
    }
    bool found;
    if (!op_find_item(r, owner, key, out, &found)) {
        return false;
    }
    if (UNLIKELY(!found) && value_is_string(key) &&
        !op_find_attribute(r, owner, value_str(key), out, &found)) {
        return false;
    }
    if (UNLIKELY(!found)) {
        *out = undefined_element(r, owner, key);
        return true;
    }
    inherit_secret(owner, out);
    return true;
}

bool op_get_callee(Render *r, Value owner, Value key, Value *out)
{
    if (owner.kind == VALUE_OBJECT && owner.object->type->get_callee != NULL) {
        bool found = false;
        if (!owner.object->type->get_callee(r, owner.object, key, out, &found)) {
            return false;
        }
        if (found) {
            return true;
        }
    }
    return op_get_item(r, owner, key, out);
}

bool op_length(Render *r, Value v, int64_t *out)
{
    switch ((ValueKind)v.kind) {
    case VALUE_STRING: *out = (int64_t)utf8_count(value_str(v)); return op_charge_bytes(r, v.len);
    case VALUE_LIST:
    case VALUE_TUPLE: *out = v.list->len; return true;
    case VALUE_MAP: *out = v.map->len; return true;
    case VALUE_OBJECT:
        if (v.object->type->length != NULL) {
            return v.object->type->length(r, v.object, out);
        }
        if (op_is_lazy(v)) {
            return op_force(r, v, &v) && op_length(r, v, out);
        }
        break;
    case VALUE_UNDEFINED:
        *out = 0;
        return undefined_mode(r, v) == UNDEFINED_STRICT ? undefined_raise(r, v) : true;
    default: break;
    }
    return render_raise(r, FAULT_TYPE, "object of type '%s' has no len()", op_type_name(v));
}

static bool slice_bound(Render *r, Value bound, int64_t *out, bool *is_present)
{
    *is_present = false;
    if (bound.kind == VALUE_NULL || value_is_missing(bound)) {
        return true;
    }
    if (!op_is_int(bound)) {
        return render_raise(r, FAULT_TYPE,
                            "slice indices must be integers or None or have an __index__ method");
    }
    *out = op_int(bound);
    *is_present = true;
    return true;
}

/* Clamps a bound to [low, high], after counting a negative one from the end. */
static int64_t clamp_bound(int64_t bound, int64_t length, int64_t low, int64_t high)
{
    if (bound < 0) {
        bound += length;
    }
    return bound < low ? low : bound > high ? high : bound;
}

bool slice_resolve(Render *r, Value start, Value stop, Value step, int64_t length, Slice *out)
{
    bool has_start, has_stop, has_step;
    Slice s = { .step = 1 };
    if (!slice_bound(r, step, &s.step, &has_step)) {
        return false;
    }
    if (s.step == 0) {
        return render_raise(r, FAULT_VALUE, "slice step cannot be zero");
    }
    if (!slice_bound(r, start, &s.start, &has_start) || !slice_bound(r, stop, &s.stop, &has_stop)) {
        return false;
    }
    if (s.step == INT64_MIN) {
        s.step = -INT64_MAX; /* so that it can be negated; selects the same items */
    }
    bool back = s.step < 0;
    int64_t low = back ? -1 : 0, high = back ? length - 1 : length;
    s.start = has_start ? clamp_bound(s.start, length, low, high) : back ? high : low;
    s.stop = has_stop ? clamp_bound(s.stop, length, low, high) : back ? low : high;
    if (back) {
        s.count = s.start > s.stop ? (s.start - s.stop - 1) / -s.step + 1 : 0;
    } else {
        s.count = s.stop > s.start ? (s.stop - s.start - 1) / s.step + 1 : 0;
    }
    *out = s;
    return true;
}

static bool slice_list(Render *r, Value owner, const Slice *slice, Value *out)
{
    if (!render_charge(r, (uint64_t)slice->count / 16) ||
        !render_reserve(r, (size_t)slice->count * sizeof(Value))) {
        return false;
    }
    List *list = list_new(r->arena, (uint32_t)slice->count);
    for (int64_t i = 0, pos = slice->start; i < slice->count; i++) {
        list->items[i] = owner.list->items[pos];
        if (i + 1 < slice->count) {
            pos += slice->step;
        }
    }
    list->len = (uint32_t)slice->count;
    *out = owner.kind == VALUE_LIST ? value_list(list) : value_tuple(list);
    return true;
}

/* Steps other than 1, including negative ones, over code points of any width. */
static bool slice_string_steps(Render *r, Str text, const Slice *slice, Value *out)
{
    Buf buf = render_buf(r);
    size_t pos = utf8_index_to_offset(text, (size_t)slice->start);
    for (int64_t i = 0; i < slice->count; i++) {
        size_t end = pos;
        utf8_next(text, &end);
        buf_put(&buf, str_slice(text, pos, end));
        if (i + 1 == slice->count) {
            break;
        }
        for (int64_t n = slice->step; n > 0; n--) {
            utf8_next(text, &pos);
        }
        for (int64_t n = slice->step; n < 0; n++) {
            utf8_previous(text, &pos);
        }
    }
    return render_take(r, &buf, out);
}

static bool slice_string(Render *r, Value owner, Value start, Value stop, Value step, Value *out)
{
    Str text = value_str(owner);
    Slice slice;
    if (!op_charge_bytes(r, text.len) ||
        !slice_resolve(r, start, stop, step, (int64_t)utf8_count(text), &slice)) {
        return false;
    }
    if (slice.count == 0) {
        *out = value_string(STR_EMPTY);
    } else if (slice.step == 1) {
        size_t from = utf8_index_to_offset(text, (size_t)slice.start);
        Str rest = str_from_offset(text, from);
        *out = value_string(str_slice(rest, 0, utf8_index_to_offset(rest, (size_t)slice.count)));
    } else if (!render_charge(r, text.len) || !slice_string_steps(r, text, &slice, out)) {
        return false;
    }
    out->flags |= owner.flags & VALUE_MARKUP;
    return true;
}

bool op_slice(Render *r, Value owner, Value start, Value stop, Value step, Value *out)
{
    switch ((ValueKind)owner.kind) {
    case VALUE_STRING:
        if (!slice_string(r, owner, start, stop, step, out)) {
            return false;
        }
        break;
    case VALUE_LIST:
    case VALUE_TUPLE: {
        Slice slice;
        if (!slice_resolve(r, start, stop, step, owner.list->len, &slice) ||
            !slice_list(r, owner, &slice, out)) {
            return false;
        }
        break;
    }
    case VALUE_OBJECT:
        if (op_is_lazy(owner)) {
            return op_force(r, owner, &owner) && op_slice(r, owner, start, stop, step, out);
        }
        if (owner.object->type->slice == NULL) {
            return render_raise(r, FAULT_TYPE, "'%s' object is not subscriptable",
                                op_type_name(owner));
        }
        if (!owner.object->type->slice(r, owner.object, start, stop, step, out)) {
            return false;
        }
        break;
    case VALUE_MAP: return render_raise(r, FAULT_TYPE, "unhashable type: 'slice'");
    case VALUE_UNDEFINED: return undefined_lookup(r, owner, out);
    default:
        return render_raise(r, FAULT_TYPE, "'%s' object is not subscriptable", op_type_name(owner));
    }
    inherit_secret(owner, out);
    render_report_secret(r, *out);
    return true;
}
