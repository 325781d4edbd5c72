/* Undefined values: creating them, and Jinja2's messages for them. */
#include "base/suggest.h"
#include "lang/template/ops.h"

static Value undefined_make(Render *r, Undefined what)
{
    Undefined *undefined = arena_alloc(r->arena, sizeof *undefined);
    *undefined = what;
    return (Value){ .kind = VALUE_UNDEFINED, .undefined = undefined };
}

Value undefined_name(Render *r, Str name)
{
    return undefined_make(r, (Undefined){ .name = name, .owner = value_missing() });
}

Value undefined_attribute(Render *r, Value owner, Str name)
{
    return undefined_make(
        r,
        (Undefined){ .name = name, .owner = owner, .key = value_string(name), .attribute = true });
}

Value undefined_element(Render *r, Value owner, Value key)
{
    Str name = value_is_string(key) ? value_str(key) : STR_EMPTY;
    return undefined_make(r, (Undefined){ .name = name, .owner = owner, .key = key });
}

Value undefined_element_hint(Render *r, Value owner, Value key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str hint = arena_format_v(r->arena, format, args);
    va_end(args);
    bool shown = value_is_string(key) && !value_is_secret(key);
    return undefined_make(r, (Undefined){ .name = shown ? value_str(key) : STR_EMPTY,
                                          .hint = hint,
                                          .owner = owner,
                                          .key = key });
}

Value undefined_hint(Render *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str hint = arena_format_v(r->arena, format, args);
    va_end(args);
    return undefined_make(r, (Undefined){ .hint = hint, .owner = value_missing() });
}

Value undefined_lenient_hint(Render *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str hint = arena_format_v(r->arena, format, args);
    va_end(args);
    return undefined_make(r,
                          (Undefined){ .hint = hint, .owner = value_missing(), .lenient = true });
}

const char *undefined_prefix(const Render *r, Value v)
{
    switch (undefined_mode(r, v)) {
    case UNDEFINED_STRICT: return "Strict";
    case UNDEFINED_CHAINABLE: return "Chainable";
    case UNDEFINED_DEBUG: return "Debug";
    default: return "";
    }
}

/* "dict object", "jinja2.utils.Namespace object", "None". */
static void type_put(Value v, Buf *out)
{
    if (v.kind == VALUE_NULL) {
        buf_put(out, STR("None"));
        return;
    }
    if (v.kind == VALUE_OBJECT && v.object->type->module != NULL) {
        buf_put_format(out, "%s.", v.object->type->module);
    } else if (value_is_markup(v)) {
        buf_put(out, STR("markupsafe."));
    }
    buf_put_format(out, "%s object", op_type_name(v));
}

/* The key as written, unless it is secret: messages are shown and logged. */
static bool key_put(Render *r, Value key, Buf *out)
{
    if (op_holds_secret(r, key)) {
        buf_put(out, STR("(secret)"));
        return true;
    }
    return op_repr(r, key, out);
}

/* The message of `v`: "'x' is undefined", "'dict object' has no attribute 'x'" ... */
static bool undefined_message(Render *r, Value v, Buf *out)
{
    const Undefined *what = v.undefined;
    if (what == NULL) {
        buf_put(out, STR("an argument that was not passed is undefined"));
    } else if (what->hint.len > 0) {
        buf_put(out, what->hint);
    } else if (value_is_missing(what->owner)) {
        repr_text(what->name, out);
        buf_put(out, STR(" is undefined"));
    } else if (!value_is_string(what->key)) {
        type_put(what->owner, out);
        buf_put(out, STR(" has no element "));
        return key_put(r, what->key, out);
    } else {
        buf_put_char(out, '\'');
        type_put(what->owner, out);
        buf_put(out, STR("' has no attribute "));
        return key_put(r, what->key, out);
    }
    return true;
}

static bool has_keys(Value owner)
{
    return owner.kind == VALUE_MAP || (owner.kind == VALUE_OBJECT && owner.object->type->mapping &&
                                       owner.object->type->iterate != NULL);
}

static void nearest_key_hint(Render *r, const Undefined *what)
{
    if (what == NULL || !has_keys(what->owner) || !value_is_string(what->key) ||
        value_is_secret(what->owner) || value_is_secret(what->key)) {
        return;
    }
    Suggest suggest = suggest_make(value_str(what->key));
    Iter iter;
    Value key;
    if (!iter_start(r, what->owner, &iter)) {
        return;
    }
    for (uint32_t i = 0; i < SUGGEST_OFFERS_MAX && iter_next(r, &iter, &key); i++) {
        if (value_is_string(key) && !value_is_secret(key)) {
            suggest_offer(&suggest, value_str(key));
        }
    }
    Str nearest;
    if (suggest_found(&suggest, &nearest)) {
        render_did_you_mean(r, nearest);
    }
}

bool undefined_raise(Render *r, Value v)
{
    if (render_failed(r)) {
        return false;
    }
    Buf message = render_buf(r);
    if (undefined_message(r, v, &message)) {
        render_raise(r, FAULT_UNDEFINED, "%" STR_FMT, STR_ARG(buf_str(&message)));
        nearest_key_hint(r, v.undefined);
        r->undefined = v.undefined;
    }
    return false;
}

bool undefined_print(Render *r, Value v, Buf *out)
{
    switch (undefined_mode(r, v)) {
    case UNDEFINED_STRICT: return undefined_raise(r, v);
    case UNDEFINED_DEBUG: break;
    default: return true;
    }
    const Undefined *what = v.undefined;
    if (what == NULL) {
        return true;
    }
    buf_put(out, STR("{{ "));
    if (what->hint.len > 0) {
        buf_put(out, STR("undefined value printed: "));
        buf_put(out, what->hint);
    } else if (value_is_missing(what->owner)) {
        buf_put(out, what->name);
    } else {
        buf_put(out, STR("no such element: "));
        type_put(what->owner, out);
        buf_put_char(out, '[');
        if (!key_put(r, what->key, out)) {
            return false;
        }
        buf_put_char(out, ']');
    }
    buf_put(out, STR(" }}"));
    return true;
}

bool undefined_attribute_of(Render *r, Value v, Str name, Value *out, bool *found)
{
    const Undefined *what = v.undefined;
    *found = true;
    if (str_eq(name, STR("__class__"))) {
        *out = class_new(r, v);
    } else if (what == NULL || !str_starts(name, STR("_undefined_"))) {
        *found = false;
    } else if (str_eq(name, STR("_undefined_name"))) {
        *out = what->hint.len > 0 && what->name.len == 0 ? value_null()
               : value_is_missing(what->owner)           ? value_string(what->name)
                                                         : what->key;
    } else if (str_eq(name, STR("_undefined_hint"))) {
        *out = what->hint.len > 0 ? value_string(what->hint) : value_null();
    } else if (str_eq(name, STR("_undefined_message"))) {
        Buf message = render_buf(r);
        return undefined_message(r, v, &message) && render_take(r, &message, out);
    } else {
        *found = false;
    }
    return true;
}
