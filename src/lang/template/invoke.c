#include "lang/template/invoke.h"

#include "lang/template/emit.h"
#include "lang/template/methods.h"
#include "lang/template/ops.h"
#include "lang/template/transfer.h"

bool value_call(Render *r, Value callee, const Args *args, Value *out)
{
    if (callee.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, callee);
    }
    if (callee.kind != VALUE_OBJECT || callee.object->type->call == NULL) {
        return render_raise(r, FAULT_TYPE, "'%s' object is not callable", op_type_name(callee));
    }
    return render_charge(r, 1) && callee.object->type->call(r, callee.object, args, out);
}

bool invoke_gather(Render *r, const CallSite *site, Value *values, Args *out)
{
    *out = (Args){ .values = values, .count = site->positional };
    if (site->keyword_count == 0 && !site->dynamic && !site->dynamic_keywords) {
        return true;
    }
    const Value *next = values + site->positional;
    if (site->keyword_count > 0 || site->dynamic_keywords) {
        out->named = map_new(r->arena, site->keyword_count);
    }
    for (uint32_t i = 0; i < site->keyword_count; i++) {
        map_set_str(r->arena, out->named, site->keywords[i], *next++);
    }
    if (site->dynamic) {
        List *all_args = list_new(r->arena, site->positional + 4);
        for (uint32_t i = 0; i < site->positional; i++) {
            list_push(r->arena, all_args, values[i]);
        }
        Iter iter;
        Value item;
        if (!iter_start(r, *next++, &iter)) {
            return false;
        }
        while (iter_next(r, &iter, &item) && list_reserve(r, all_args)) {
            list_push(r->arena, all_args, item);
        }
        if (render_failed(r)) {
            return false;
        }
        out->values = all_args->items;
        out->count = all_args->len;
    }
    return !site->dynamic_keywords || arguments_add_mapping(r, *next, out->named);
}

bool invoke_emit(Render *r, Value callee, const Args *args, unsigned mode)
{
    bool direct = callee.kind == VALUE_OBJECT && emit_escapes(r, mode) == r->autoescape;
    if (direct && callee.object->type == &macro_type) {
        return macro_call(r, (Macro *)callee.object, args, true, NULL);
    }
    if (direct && callee.object->type == &loop_type) {
        return loop_call(r, (Loop *)callee.object, args, true, NULL);
    }
    if (direct && callee.object->type == &block_reference_type) {
        const BlockReference *reference = (BlockReference *)callee.object;
        return block_render(r, reference->context, reference->chain, reference->depth, true, NULL);
    }
    Value result;
    return value_call(r, callee, args, &result) && emit_value(r, &result, mode);
}

/* Methods of plain values are called without creating a bound method. */
bool invoke_method(Render *r, const CallSite *site, const Name *name, Value *owner,
                   bool emit_result, unsigned mode, Value *out)
{
    Args args;
    if (!invoke_gather(r, site, owner + 1, &args)) {
        return false;
    }
    const Native *method = owner->kind < VALUE_OBJECT ? name->methods[owner->kind] : NULL;
    if (method == NULL) {
        Value callee;
        bool special = owner->kind == VALUE_OBJECT && owner->object->type->get_callee != NULL;
        if (!(special ? op_get_callee(r, *owner, value_string(name->text), &callee)
                      : op_get_attr(r, *owner, name->text, &callee))) {
            return false;
        }
        return emit_result ? invoke_emit(r, callee, &args, mode)
                           : value_call(r, callee, &args, out);
    }
    uint32_t params = native_param_count(method);
    Args with_owner = { .count = args.count + 1, .named = args.named };
    if (args.values == owner + 1) {
        with_owner.values = owner;
    } else {
        with_owner.values = ARENA_ARRAY(r->arena, Value, with_owner.count);
        with_owner.values[0] = *owner;
        memcpy(with_owner.values + 1, args.values, args.count * sizeof(Value));
    }
    Value result;
    bool is_bound = args.named == NULL && with_owner.values == owner &&
                    with_owner.count <= params &&
                    !(method->flags & (NATIVE_VARIADIC | NATIVE_KEYWORDS));
    for (uint32_t i = with_owner.count; is_bound && i < params; i++) {
        owner[i] = value_missing();
        is_bound = method->params[i].fallback != NULL;
    }
    if (is_bound) {
        with_owner.count = params;
        if (!native_call_bound(r, method, &with_owner, &result)) {
            return false;
        }
    } else if (!native_call(r, method, "method", &with_owner, &result)) {
        return false;
    }
    if (emit_result) {
        return emit_value(r, &result, mode);
    }
    *out = result;
    return true;
}

bool invoke_native(Render *r, const CallSite *site, const char *what, Value *input, Value *out)
{
    Args call_args;
    if (!invoke_gather(r, site, input + 1, &call_args)) {
        return false;
    }
    Args all_args = { .count = call_args.count + 1, .named = call_args.named };
    all_args.values = ARENA_ARRAY(r->arena, Value, all_args.count);
    all_args.values[0] = *input;
    if (call_args.count > 0) {
        memcpy(all_args.values + 1, call_args.values, call_args.count * sizeof(Value));
    }
    return native_call(r, site->native, what, &all_args, out);
}
