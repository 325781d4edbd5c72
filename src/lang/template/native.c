/* Looks up, binds and calls filters, tests and functions written in C. All calls pass through
 * native_call_bound(), which forces lazy arguments, charges for long strings, and applies the
 * secret rules of the row: a secret argument makes the result secret, and secrets are removed from
 * the message if the call fails. */
#include "lang/template/native.h"

#include "base/suggest.h"
#include "lang/template/native_index.h"
#include "lang/template/ops.h"

/* Must match tools/native-index. */
static uint32_t hash_name(Str name)
{
    uint32_t hash = (uint32_t)name.len;
    for (size_t i = 0; i < name.len; i++) {
        hash = hash * 31 + (unsigned char)name.data[i];
    }
    return hash ^ hash >> 15;
}

static const Native *index_find(const NativeIndex *index, Str name)
{
    uint32_t slot = hash_name(name) & index->mask;
    for (; index->slots[slot] != 0; slot = (slot + 1) & index->mask) {
        const Native *native = index->rows[index->slots[slot] - 1];
        if (str_eq_c(name, native->name)) {
            return native;
        }
    }
    return NULL;
}

static bool index_suggest(const NativeIndex *index, Str name, Str *out)
{
    /* `ansible.builtin.to_json`: names have no collection prefix here. */
    size_t dot = str_find_last(name, STR("."));
    Str last = dot == STR_NOT_FOUND ? name : str_from_offset(name, dot + 1);
    if (dot != STR_NOT_FOUND && index_find(index, last) != NULL) {
        *out = last;
        return true;
    }
    Suggest suggest = suggest_make(name);
    for (uint32_t i = 0; i < index->count; i++) {
        suggest_offer(&suggest, str_from_c(index->rows[i]->name));
    }
    return suggest_found(&suggest, out);
}

const Native *filter_find(Str name)
{
    return index_find(&filter_index, name);
}

const Native *test_find(Str name)
{
    return index_find(&test_index, name);
}

const Native *global_find(Str name)
{
    return index_find(&global_index, name);
}

bool filter_suggest(Str name, Str *out)
{
    return index_suggest(&filter_index, name, out);
}

bool test_suggest(Str name, Str *out)
{
    return index_suggest(&test_index, name, out);
}

uint32_t native_param_count(const Native *native)
{
    uint32_t count = 0;
    while (count < NATIVE_PARAMS_MAX && native->params[count].name != NULL) {
        count++;
    }
    return count;
}

/* The hint for every invalid call is the signature, which the user would look up next. */
static bool hint_signature(Render *r, const Native *native, const char *what)
{
    Buf text = render_buf(r);
    native_put_signature(native, strcmp(what, "filter") == 0 || strcmp(what, "test") == 0, &text);
    return render_hint(r, "%s %" STR_FMT, what, STR_ARG(buf_str(&text)));
}

static bool raise_too_many(Render *r, const Native *native, const char *what, uint32_t declared,
                           uint32_t passed)
{
    uint32_t required = 0;
    while (required < declared && native->params[required].fallback == NULL) {
        required++;
    }
    if (required < declared) {
        render_raise(r, FAULT_TYPE,
                     "%s() takes from %u to %u positional arguments but %u were given",
                     native->name, required, declared, passed);
    } else {
        render_raise(r, FAULT_TYPE, "%s() takes %u positional argument%s but %u %s given",
                     native->name, declared, declared == 1 ? "" : "s", passed,
                     passed == 1 ? "was" : "were");
    }
    return hint_signature(r, native, what);
}

static bool raise_missing(Render *r, const Native *native, const char *what, const Value *values,
                          uint32_t declared)
{
    const char *names[NATIVE_PARAMS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < declared; i++) {
        if (native->params[i].fallback == NULL && value_is_missing(values[i])) {
            names[count++] = native->params[i].name;
        }
    }
    Buf text = render_buf(r);
    for (uint32_t i = 0; i < count; i++) {
        const char *separator = i == 0          ? ""
                                : i + 1 < count ? ", "
                                : count == 2    ? " and "
                                                : ", and ";
        buf_put_format(&text, "%s'%s'", separator, names[i]);
    }
    render_raise(r, FAULT_TYPE, "%s() missing %u required positional argument%s: %" STR_FMT,
                 native->name, count, count == 1 ? "" : "s", STR_ARG(buf_str(&text)));
    return hint_signature(r, native, what);
}

static bool bind_named(Render *r, const Native *native, const char *what, const Map *named,
                       uint32_t declared, Args *bound)
{
    for (uint32_t i = 0; i < named->len; i++) {
        Str name = value_str(named->entries[i].key);
        uint32_t index = 0;
        while (index < declared && !str_eq_c(name, native->params[index].name)) {
            index++;
        }
        if (index == declared) {
            if ((native->flags & NATIVE_KEYWORDS) == 0) {
                render_raise(r, FAULT_TYPE,
                             "%s() got an unexpected keyword argument '%" STR_FMT "'", native->name,
                             STR_ARG(name));
                return hint_signature(r, native, what);
            }
            if (bound->named == NULL) {
                bound->named = map_new(r->arena, named->len);
            }
            map_append(r->arena, bound->named, named->entries[i].key, named->entries[i].value);
        } else if (!value_is_missing(bound->values[index])) {
            render_raise(r, FAULT_TYPE, "%s() got multiple values for argument '%" STR_FMT "'",
                         native->name, STR_ARG(name));
            return hint_signature(r, native, what);
        } else {
            bound->values[index] = named->entries[i].value;
        }
    }
    return true;
}

bool native_bind(Render *r, const Native *native, const char *what, const Args *args, Args *bound)
{
    uint32_t declared = native_param_count(native);
    uint32_t count = declared;
    if (args->count > declared) {
        if ((native->flags & NATIVE_VARIADIC) == 0) {
            return raise_too_many(r, native, what, declared, args->count);
        }
        count = args->count;
    }
    *bound = (Args){ .values = ARENA_ARRAY(r->arena, Value, count), .count = count };
    if (args->count > 0) {
        memcpy(bound->values, args->values, args->count * sizeof(Value));
    }
    for (uint32_t i = args->count; i < count; i++) {
        bound->values[i] = value_missing();
    }
    if (args->named != NULL && !bind_named(r, native, what, args->named, declared, bound)) {
        return false;
    }
    for (uint32_t i = args->count; i < declared; i++) {
        if (native->params[i].fallback == NULL && value_is_missing(bound->values[i])) {
            return raise_missing(r, native, what, bound->values, declared);
        }
    }
    return true;
}

static bool args_hold_secret(Render *r, const Args *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        if (op_holds_secret(r, args->values[i])) {
            return true;
        }
    }
    return args->named != NULL && op_holds_secret(r, value_map(args->named));
}

/* For NATIVE_PASS_THROUGH only the mark of the container itself is propagated, so that a secret
 * list stays secret when it is sorted. */
static bool call_with_secrets(Render *r, const Native *native, const Args *bound, Value *out)
{
    bool secret;
    if ((native->flags & NATIVE_PASS_THROUGH) != 0) {
        secret = bound->count > 0 && value_is_secret(bound->values[0]);
    } else {
        secret = args_hold_secret(r, bound); /* before the call, which may consume an iterator */
    }
    if (render_failed(r) || !native->call(r, bound, out)) {
        return false;
    }
    if (secret) {
        *out = value_with_secret(*out);
        render_report_secret(r, *out);
    }
    return true;
}

/* Charges for a long string here, so that functions that scan it once need not do so. */
static bool charge_text(Render *r, const Args *bound)
{
    enum {
        BYTES_PER_STEP = 4
    };
    return LIKELY(bound->count == 0 || bound->values[0].kind != VALUE_STRING ||
                  bound->values[0].len < NATIVE_SHORT_TEXT) ||
           render_charge(r, bound->values[0].len / BYTES_PER_STEP);
}

static bool force_arguments(Render *r, const Args *bound)
{
    for (uint32_t i = 0; i < bound->count; i++) {
        if (op_is_lazy(bound->values[i]) && !op_force(r, bound->values[i], &bound->values[i])) {
            return false;
        }
    }
    return true;
}

bool native_call_bound(Render *r, const Native *native, const Args *bound, Value *out)
{
    if (UNLIKELY(r->has_lazy_objects) && !force_arguments(r, bound)) {
        return false;
    }
    if (!charge_text(r, bound)) {
        return false;
    }
    if (LIKELY(!r->secrets)) {
        return native->call(r, bound, out);
    }
    bool plain = (native->flags & NATIVE_PLAIN) != 0;
    if (plain ? native->call(r, bound, out) : call_with_secrets(r, native, bound, out)) {
        return true;
    }
    fault_hide_secrets(r, bound->values, bound->count);
    return false;
}

bool native_call(Render *r, const Native *native, const char *what, const Args *args, Value *out)
{
    Args bound;
    return native_bind(r, native, what, args, &bound) && native_call_bound(r, native, &bound, out);
}

/* --- Documentation ---------------------------------------------------------------------------- */

void native_put_signature(const Native *native, bool without_first, Buf *out)
{
    buf_put_c(out, native->name);
    uint32_t count = native_param_count(native);
    uint32_t from = without_first ? 1 : 0;
    bool is_open = (native->flags & (NATIVE_VARIADIC | NATIVE_KEYWORDS)) != 0;
    if (count <= from && !is_open && without_first) {
        return;
    }
    const char *separator = "(";
    for (uint32_t i = from; i < count; i++) {
        const Param *param = &native->params[i];
        buf_put_format(out, "%s%s", separator, param->name);
        if (param->fallback != NULL) {
            buf_put_format(out, "=%s", param->fallback);
        }
        separator = ", ";
    }
    if ((native->flags & NATIVE_VARIADIC) != 0) {
        buf_put_format(out, "%s...", separator);
        separator = ", ";
    }
    if ((native->flags & NATIVE_KEYWORDS) != 0) {
        buf_put_format(out, "%sname=...", separator);
        separator = ", ";
    }
    buf_put_c(out, separator[0] == '(' ? "()" : ")");
}
