/* Runs programs. One activation of interpret() is one function of a template; calls of macros,
 * blocks, includes and recursive loops nest activations, bounded by the depth limit. */
#include "lang/template/emit.h"
#include "lang/template/invoke.h"
#include "lang/template/ops.h"
#include "lang/template/runtime.h"
#include "lang/template/transfer.h"

/* Marks the result of an operator: strings and numbers computed from anything secret, and anything
 * computed from a container that is itself secret. */
static void taint(Render *r, Value *result, const Value *operands, uint32_t count)
{
    bool container = result->kind >= VALUE_LIST && result->kind <= VALUE_MAP;
    for (uint32_t i = 0; i < count; i++) {
        if (value_is_secret(operands[i]) || (!container && op_holds_secret(r, operands[i]))) {
            result->flags |= VALUE_SECRET;
            render_report_secret(r, *result);
            return;
        }
    }
}

static inline bool binary(Render *r, Operator op, Value a, Value b, Value *out)
{
    if (a.kind == VALUE_INT && b.kind == VALUE_INT) {
        int64_t result;
        if ((op == OP_ADD && !__builtin_add_overflow(a.integer, b.integer, &result)) ||
            (op == OP_SUB && !__builtin_sub_overflow(a.integer, b.integer, &result)) ||
            (op == OP_MUL && !__builtin_mul_overflow(a.integer, b.integer, &result))) {
            *out = value_int(result);
            if (UNLIKELY(((a.flags | b.flags) & VALUE_SECRET) != 0)) {
                out->flags = VALUE_SECRET;
                render_report_secret(r, *out);
            }
            return true;
        }
    }
    if (!op_binary(r, op, a, b, out)) {
        return false;
    }
    if (UNLIKELY(r->secrets)) {
        taint(r, out, (Value[]){ a, b }, 2);
    }
    return true;
}

enum {
    LONG_TEXT = 1024 /* reading a longer string is charged */
};

static inline bool compare(Render *r, Operator op, Value a, Value b, bool *out)
{
    if (a.kind == VALUE_INT && b.kind == VALUE_INT && op <= OP_GE) {
        switch (op) {
        case OP_EQ: *out = a.integer == b.integer; return true;
        case OP_NE: *out = a.integer != b.integer; return true;
        case OP_LT: *out = a.integer < b.integer; return true;
        case OP_LE: *out = a.integer <= b.integer; return true;
        case OP_GT: *out = a.integer > b.integer; return true;
        default: *out = a.integer >= b.integer; return true;
        }
    }
    if (a.kind == VALUE_STRING && b.kind == VALUE_STRING && a.len < LONG_TEXT &&
        (op == OP_EQ || op == OP_NE)) {
        *out = str_eq(value_str(a), value_str(b)) == (op == OP_EQ);
        return true;
    }
    return op_compare(r, op, a, b, out);
}

static inline bool truth(Render *r, Value v, bool *out)
{
    if (v.kind == VALUE_BOOL) {
        *out = v.boolean;
        return true;
    }
    return op_truth(r, v, out);
}

/* Maps in a list tend to have their keys in the same order, so the index of the last match is tried
 * first. Returns NULL if that entry does not match, or if the owner is not a plain map. */
static ALWAYS_INLINE const Value *attr_fast(const Value *owner, const Name *name)
{
    if (LIKELY((owner->head & VALUE_HEAD(0xff, VALUE_SECRET, 0)) == VALUE_MAP &&
               name->hint < owner->map->len)) {
        const MapEntry *entry = &owner->map->entries[name->hint];
        if (LIKELY(name_matches(name, &entry->key))) {
            return &entry->value;
        }
    }
    return NULL;
}

static COLD bool get_attr_slow(Render *r, const Value *owner, Name *name, Value *out)
{
    if (owner->kind == VALUE_MAP && !name->is_map_attribute) {
        const MapEntry *entry = map_find_str_hashed(owner->map, name->text, name->hash);
        if (entry == NULL) {
            *out = undefined_attribute(r, *owner, name->text);
            return true;
        }
        name->hint = (uint32_t)(entry - owner->map->entries);
        bool secret = value_is_secret(*owner); /* `out` may be the owner */
        *out = entry->value;
        if (UNLIKELY(secret)) {
            out->flags |= VALUE_SECRET;
        }
        return true;
    }
    if (owner->kind == VALUE_OBJECT && owner->object->type == &loop_type &&
        name->loop_attribute != LOOP_NO_ATTRIBUTE) {
        return loop_attribute(r, (Loop *)owner->object, (LoopAttribute)name->loop_attribute, out);
    }
    return op_get_attr(r, *owner, name->text, out);
}

static ALWAYS_INLINE bool get_attr(Render *r, const Value *owner, Name *name, Value *out)
{
    const Value *found = attr_fast(owner, name);
    if (LIKELY(found != NULL)) {
        *out = *found;
        return true;
    }
    return get_attr_slow(r, owner, name, out);
}

/* Returns the value in a slot by reference, or for an unset slot an undefined value in
 * `scratch`. */
static inline const Value *slot_value(Render *r, const Frame *frame, uint32_t slot, Value *scratch)
{
    const Value *v = &frame->slots[slot];
    if (UNLIKELY(v->kind == VALUE_UNDEFINED && v->undefined == NULL)) {
        *scratch = undefined_name(r, frame->function->slot_names[slot]);
        return scratch;
    }
    return v;
}

/* Returns the value of a name of the context, which is looked up once and then stored in its
 * slot. */
static inline const Value *name_value(Render *r, const Frame *frame, uint32_t slot,
                                      const Name *name, Value *scratch)
{
    Value *v = &frame->slots[slot];
    if (UNLIKELY(v->kind == VALUE_UNDEFINED && v->undefined == NULL) &&
        !context_lookup(r, frame->context, name, v)) {
        *scratch = undefined_name(r, name->text);
        return scratch;
    }
    return v;
}

static inline bool is_macro(const Value *v)
{
    return v->kind == VALUE_OBJECT && v->object->type == &macro_type;
}

static Frame *enclosing_frame(Frame *frame, unsigned levels)
{
    while (levels-- > 0) {
        frame = frame->outer;
    }
    return frame;
}

/* The arguments of a filter: those on the stack, followed by the constants of the program. */
static ALWAYS_INLINE Value *native_arguments(const NativeCall *call, Value *sp)
{
    Value *first = (Value *)((char *)sp - call->pushed);
    const char *from = (const char *)call->constants;
    for (uint32_t pairs = call->constant_pairs; pairs > 0; pairs--) {
        bytes_copy_16(sp, from);
        bytes_copy_16((char *)sp + 16, from + 16);
        bytes_copy_16((char *)sp + 32, from + 32);
        from += 2 * sizeof(Value);
        sp += 2;
    }
    return first;
}

static bool unpack(Render *r, Value v, uint32_t count, Value *out)
{
    List *items;
    if (value_is_sequence(v)) {
        items = v.list;
    } else if (!iter_collect(r, v, &items)) {
        return false;
    }
    if (items->len != count) {
        return items->len < count
                   ? render_raise(r, FAULT_VALUE,
                                  "not enough values to unpack (expected %u, got %u)", count,
                                  items->len)
                   : render_raise(r, FAULT_VALUE, "too many values to unpack (expected %u)", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        Value item = items->items[i];
        item.flags |= v.flags & VALUE_SECRET;
        out[count - 1 - i] = item;
    }
    return true;
}

static bool build_dict(Render *r, const Value *pairs, uint32_t count, Value *out)
{
    Map *map = map_new(r->arena, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!value_is_key(pairs[2 * i])) {
            return render_raise(r, FAULT_TYPE, "unhashable type: '%s'", op_type_name(pairs[2 * i]));
        }
        if (!op_charge_key(r, pairs[2 * i])) {
            return false;
        }
        map_set(r->arena, map, pairs[2 * i], pairs[2 * i + 1]);
    }
    *out = value_map(map);
    return true;
}

static Value build_list(Render *r, const Value *items, uint32_t count, bool tuple)
{
    List *list = list_new(r->arena, count);
    if (count > 0) {
        memcpy(list->items, items, count * sizeof(Value));
        list->len = count;
    }
    return tuple ? value_tuple(list) : value_list(list);
}

static void export_variable(Render *r, Context *context, const Name *name, Value value, bool public)
{
    context_export(r, context, name->text, value);
    if (public) {
        if (context->exported == NULL) {
            context->exported = map_new(r->arena, 4);
        }
        map_set_str(r->arena, context->exported, name->text, value);
    } else if (context->exported != NULL) {
        map_remove(context->exported, value_string(name->text));
    }
}

/* Checks the total size of the frames: a template determines the size of each, and calls nest. */
static bool frames_fit(Render *r)
{
    return LIKELY(r->rendered->frames.chunk_bytes <= r->settings->limits.memory) ||
           render_out_of_memory(r);
}

/* Dispatch by label address: one indirect jump per instruction, each predicted separately. */
#define CASE(name) L_##name:
#define NEXT       goto *labels[(++ip)->op]
#define GOTO(target)          \
    do {                      \
        ip = code + (target); \
        goto *labels[ip->op]; \
    } while (0)
/* A mark covers several consecutive outputs. If a value escaped, a new mark is set, so that nothing
 * before it is released. */
#define RELEASE_TO_MARK                      \
    do {                                     \
        if (LIKELY(r->escapes == escapes)) { \
            arena_release(r->arena, mark);   \
        } else {                             \
            mark = arena_mark(r->arena);     \
            escapes = r->escapes;            \
        }                                    \
    } while (0)
#define TRY(condition)                \
    do {                              \
        if (UNLIKELY(!(condition))) { \
            goto failed;              \
        }                             \
    } while (0)

bool interpret(Render *r, Frame *frame, Value *result)
{
    static const void *const labels[] = {
#define X(name) &&L_##name,
        INSTRUCTIONS(X)
#undef X
    };
    const Function *function = frame->function;
    const Template *template = function->template;
    const Instruction *code = function->code;
    const Instruction *ip = code;
    Value *slots = frame->slots;
    Value *sp = frame->stack; /* next free operand */
    ArenaMark mark = { 0 };
    uint32_t escapes = 0; /* value at the mark */
    /* for filters and tests, all of whose arguments are bound */
    Args args = { 0 };
    Value value;
    bool flag;
    if (UNLIKELY(++r->depth > r->settings->limits.depth)) {
        r->depth--;
        return render_raise(r, FAULT_RECURSION, "maximum recursion depth exceeded");
    }
    const bool autoescape = r->autoescape;
    r->autoescape = frame->context->autoescape;
    TRY(render_charge(r, function->cost) && frames_fit(r));
    goto *labels[ip->op];

    CASE(CONST)
    *sp++ = *ip->constant;
    NEXT;
    CASE(LOAD)
    *sp++ = *slot_value(r, frame, ip->c, &value);
    NEXT;
    CASE(LOAD_OUTER)
    *sp++ = *slot_value(r, enclosing_frame(frame, ip->b), ip->c, &value);
    NEXT;
    CASE(LOAD_NAME)
    *sp++ = *name_value(r, frame, ip->b, ip->name, &value);
    NEXT;
    CASE(UNDEFINED)
    value = template->constants[ip->c];
    *sp++ = ip->a != 0 ? undefined_lenient_hint(r, "%" STR_FMT, STR_ARG(value_str(value)))
                       : undefined_hint(r, "%" STR_FMT, STR_ARG(value_str(value)));
    NEXT;
    CASE(RESOLVE)
    if (!context_lookup(r, frame->context, &template->names[ip->c], &slots[ip->b])) {
        slots[ip->b] = value_missing();
    }
    NEXT;
    CASE(STORE)
    slots[ip->c] = *--sp;
    NEXT;
    CASE(UNSET)
    slots[ip->c] = value_missing();
    NEXT;
    CASE(COPY)
    slots[ip->b] = slots[ip->c];
    NEXT;
    CASE(COPY_OUTER)
    slots[ip->b] = enclosing_frame(frame, ip->a)->slots[ip->c];
    NEXT;
    CASE(EXPORT)
    export_variable(r, frame->context, &template->names[ip->c], slots[ip->b], ip->a);
    NEXT;
    CASE(POP)
    sp--;
    NEXT;
    CASE(DUP)
    *sp = sp[-1];
    sp++;
    NEXT;
    CASE(GET_ATTR)
    TRY(get_attr(r, &sp[-1], ip->name, &sp[-1]));
    NEXT;
    CASE(LOAD_ATTR)
    {
        const Value *found = attr_fast(&slots[ip->b], ip->name);
        if (LIKELY(found != NULL)) {
            *sp++ = *found;
            NEXT;
        }
        TRY(get_attr_slow(r, slot_value(r, frame, ip->b, &value), ip->name, sp));
        sp++;
        NEXT;
    }
    CASE(GET_ITEM)
    TRY(op_get_item(r, sp[-2], sp[-1], &value));
    *--sp = value_missing();
    sp[-1] = value;
    NEXT;
    CASE(GET_CALLEE)
    TRY(op_get_callee(r, sp[-2], sp[-1], &value));
    sp--;
    sp[-1] = value;
    NEXT;
    CASE(GET_SLICE)
    TRY(op_slice(r, sp[-4], sp[-3], sp[-2], sp[-1], &value));
    if (UNLIKELY(r->secrets)) {
        taint(r, &value, &sp[-4], 1);
    }
    sp -= 3;
    sp[-1] = value;
    NEXT;
    CASE(BINARY)
    TRY(binary(r, (Operator)ip->a, sp[-2], sp[-1], &value));
    sp--;
    sp[-1] = value;
    NEXT;
    CASE(COMPARE)
    TRY(compare(r, (Operator)ip->a, sp[-2], sp[-1], &flag));
    sp--;
    sp[-1] = value_bool(flag);
    NEXT;
    CASE(COMPARE_CHAIN)
    TRY(compare(r, (Operator)ip->a, sp[-2], sp[-1], &flag));
    sp--;
    if (!flag) {
        sp[-1] = value_bool(false);
        GOTO(ip->c);
    }
    sp[-1] = sp[0];
    NEXT;
    CASE(NOT)
    TRY(truth(r, sp[-1], &flag));
    sp[-1] = value_bool(!flag);
    NEXT;
    CASE(NEGATE)
    TRY(op_negate(r, sp[-1], &value));
    if (UNLIKELY(value_is_secret(sp[-1]))) {
        value.flags |= VALUE_SECRET;
    }
    sp[-1] = value;
    NEXT;
    CASE(POSITIVE)
    TRY(op_positive(r, sp[-1], &value));
    if (UNLIKELY(value_is_secret(sp[-1]))) {
        value.flags |= VALUE_SECRET;
    }
    sp[-1] = value;
    NEXT;
    CASE(CONCAT)
    sp -= ip->b;
    TRY(op_concat(r, sp, ip->b, &value));
    if (UNLIKELY(r->secrets)) {
        taint(r, &value, sp, ip->b);
    }
    *sp++ = value;
    NEXT;
    CASE(JUMP)
    GOTO(ip->c);
    CASE(JUMP_FALSE)
    TRY(truth(r, *--sp, &flag));
    if (!flag) {
        GOTO(ip->c);
    }
    NEXT;
    CASE(JUMP_FALSE_OR_POP)
    TRY(truth(r, sp[-1], &flag));
    if (!flag) {
        GOTO(ip->c);
    }
    sp--;
    NEXT;
    CASE(JUMP_TRUE_OR_POP)
    TRY(truth(r, sp[-1], &flag));
    if (flag) {
        GOTO(ip->c);
    }
    sp--;
    NEXT;
    CASE(JUMP_SET)
    if (!value_is_missing(slots[ip->b])) {
        GOTO(ip->c);
    }
    NEXT;
    CASE(JUMP_EXTENDED)
    if (root_frame(frame)->parent != NULL) {
        GOTO(ip->c);
    }
    NEXT;
    CASE(BUILD_LIST)
    CASE(BUILD_TUPLE)
    TRY(render_charge(r, ip->c));
    sp -= ip->c;
    value = build_list(r, sp, ip->c, ip->op == INS_BUILD_TUPLE);
    *sp++ = value;
    NEXT;
    CASE(BUILD_DICT)
    TRY(render_charge(r, ip->c));
    sp -= 2 * ip->c;
    TRY(build_dict(r, sp, ip->c, &value));
    *sp++ = value;
    NEXT;
    CASE(FILTER_EMIT)
    args.values = native_arguments(ip->native_call, sp);
    args.count = ip->native_call->count;
    sp = args.values;
    TRY(native_call_fast(r, ip->native_call->native, &args, &value) &&
        emit_value(r, &value, ip->a) && (!arena_exceeded(r->arena) || render_out_of_memory(r)));
    RELEASE_TO_MARK;
    NEXT;
    CASE(FILTER)
    CASE(TEST)
    args.values = native_arguments(ip->native_call, sp);
    args.count = ip->native_call->count;
    sp = args.values;
    TRY(native_call_fast(r, ip->native_call->native, &args, &value));
    *sp++ = value;
    NEXT;
    CASE(FILTER_SITE)
    CASE(TEST_SITE)
    sp -= template->sites[ip->c].width + 1;
    TRY(invoke_native(r, &template->sites[ip->c], ip->op == INS_FILTER_SITE ? "filter" : "test", sp,
                      &value));
    *sp++ = value;
    NEXT;
    CASE(IS_DEFINED)
    sp[-1] = value_bool((sp[-1].kind != VALUE_UNDEFINED) != ip->a);
    NEXT;
    CASE(CHECK_ATTR)
    if (UNLIKELY(sp[-1].kind == VALUE_UNDEFINED)) {
        TRY(op_get_attr(r, sp[-1], template->names[ip->c].text, &value));
    }
    NEXT;
    CASE(CALL)
    {
        CallSite *site = ip->site;
        sp -= site->width + 1;
        if (is_macro(sp) && macro_accepts((Macro *)sp->object, site)) {
            TRY(macro_call_site(r, (Macro *)sp->object, site, sp + 1, false, &value));
        } else {
            Args call_args;
            TRY(invoke_gather(r, site, sp + 1, &call_args) &&
                value_call(r, *sp, &call_args, &value));
        }
        *sp++ = value;
        NEXT;
    }
    CASE(CALL_EMIT)
    {
        CallSite *site = ip->site;
        sp -= site->width + 1;
        if (is_macro(sp) && macro_accepts((Macro *)sp->object, site) &&
            emit_escapes(r, ip->a) == r->autoescape) {
            TRY(macro_call_site(r, (Macro *)sp->object, site, sp + 1, true, NULL));
        } else {
            Args call_args;
            TRY(invoke_gather(r, site, sp + 1, &call_args) &&
                invoke_emit(r, *sp, &call_args, ip->a));
        }
        NEXT;
    }
    CASE(CALL_METHOD)
    CASE(CALL_METHOD_EMIT)
    {
        const CallSite *site = &template->sites[ip->c];
        bool emits = ip->op == INS_CALL_METHOD_EMIT;
        sp -= site->width + 1;
        TRY(invoke_method(r, site, &template->names[site->name], sp, emits, ip->a, &value));
        if (!emits) {
            *sp++ = value;
        }
        NEXT;
    }
    CASE(EMIT_DATA)
    TRY(buf_put_padded(r->out, ip->data, ip->c) || render_out_of_output(r));
    NEXT;
    CASE(EMIT)
    TRY(emit_value(r, --sp, ip->a));
    NEXT;
    CASE(EMIT_LOAD)
    TRY(emit_value(r, slot_value(r, frame, ip->c, &value), ip->a));
    NEXT;
    CASE(EMIT_NAME)
    TRY(emit_value(r, name_value(r, frame, ip->b, ip->name, &value), ip->a));
    NEXT;
    CASE(EMIT_ATTR)
    {
        const Value *found = attr_fast(&slots[ip->b], ip->name);
        if (UNLIKELY(found == NULL)) {
            TRY(get_attr_slow(r, slot_value(r, frame, ip->b, &value), ip->name, &value));
            found = &value;
        }
        TRY(emit_value(r, found, ip->a));
        NEXT;
    }
    CASE(MARK)
    mark = arena_mark(r->arena);
    escapes = r->escapes;
    NEXT;
    CASE(RELEASE)
    TRY(!arena_exceeded(r->arena) || render_out_of_memory(r));
    RELEASE_TO_MARK;
    NEXT;
    CASE(CAPTURE)
    capture_begin(r);
    NEXT;
    CASE(CAPTURE_DROP)
    capture_drop(r);
    NEXT;
    CASE(CAPTURE_END)
    TRY(capture_end(r, sp));
    if (ip->a != EMIT_DYNAMIC) {
        sp->flags =
            (uint8_t)((sp->flags & ~VALUE_MARKUP) | (ip->a == EMIT_ESCAPED ? VALUE_MARKUP : 0));
    }
    sp++;
    NEXT;
    CASE(MARKUP)
    if (r->autoescape) {
        TRY(make_markup(r, &sp[-1]));
    }
    NEXT;
    CASE(LOOP_BEGIN)
    {
        Loop *loop;
        TRY(loop_start(r, sp[-1], &loop));
        if (function->kind == FUNCTION_LOOP && ip->b != NO_SLOT) {
            loop->depth0 = frame->depth0;
            loop->function = function;
            loop->frame = frame->outer;
        }
        sp[-1] = value_object(&loop->object);
        if (ip->b != NO_SLOT) {
            slots[ip->b] = sp[-1];
        }
        NEXT;
    }
    CASE(LOOP_NEXT)
    TRY(render_charge(r, ip->b));
    if (loop_advance(r, (Loop *)sp[-1].object, sp)) {
        sp++;
        NEXT;
    }
    TRY(!render_failed(r));
    GOTO(ip->c);
    CASE(LOOP_RAN)
    ((Loop *)sp[-1].object)->ran = true;
    NEXT;
    CASE(LOOP_ELSE)
    sp--;
    if (((Loop *)sp->object)->ran) {
        GOTO(ip->c);
    }
    NEXT;
    CASE(LOOP_END)
    sp--;
    NEXT;
    CASE(LOOP_COLLECT)
    {
        Loop *loop = (Loop *)sp[-2].object;
        if (loop->collected == NULL) {
            loop->collected = list_new(r->arena, 4);
        }
        list_push(r->arena, loop->collected, *--sp);
        NEXT;
    }
    CASE(LOOP_COLLECTED)
    {
        Loop *loop = (Loop *)sp[-1].object;
        sp[-1] = value_list(loop->collected != NULL ? loop->collected : list_new(r->arena, 0));
        NEXT;
    }
    CASE(LOOP_RECURSIVE)
    sp--;
    TRY(loop_render(r, template->functions[ip->c], frame, *sp, 0));
    NEXT;
    CASE(UNPACK)
    value = *--sp;
    TRY(unpack(r, value, ip->c, sp));
    sp += ip->c;
    NEXT;
    CASE(MACRO)
    *sp++ = macro_new(r, template->functions[ip->c], frame);
    NEXT;
    CASE(BLOCK)
    TRY(transfer_block(r, frame, &template->names[ip->c], ip->a, &template->local_sets[ip->b]));
    NEXT;
    CASE(SUPER)
    *sp++ = block_super(r, frame->block, frame->block_depth + 1, frame->context);
    NEXT;
    CASE(SELF)
    *sp++ = self_new(r, frame->context);
    NEXT;
    CASE(INCLUDE)
    TRY(transfer_include(r, frame, *--sp, ip->a, &template->local_sets[ip->c]));
    NEXT;
    CASE(IMPORT)
    TRY(transfer_import(r, frame, sp[-1], ip->a, &template->local_sets[ip->c], &value));
    sp[-1] = value;
    NEXT;
    CASE(IMPORT_NAME)
    *sp = transfer_import_name(r, frame, sp[-1], &template->names[ip->c],
                               function->origins[ip - code].offset);
    sp++;
    NEXT;
    CASE(EXTENDS)
    TRY(transfer_extends(r, frame, *--sp));
    NEXT;
    CASE(CHECK_NAMESPACE)
    TRY(check_namespace(r, *--sp));
    NEXT;
    CASE(SET_ATTR)
    sp -= 2;
    TRY(set_attribute(r, sp[1], &template->names[ip->c], sp[0]));
    NEXT;
    CASE(AUTOESCAPE)
    TRY(truth(r, sp[-1], &flag));
    sp[-1] = value_bool(r->autoescape);
    r->autoescape = frame->context->autoescape = flag;
    NEXT;
    CASE(AUTOESCAPE_END)
    r->autoescape = frame->context->autoescape = (--sp)->boolean;
    NEXT;
    CASE(RAISE)
    value = template->constants[ip->c];
    render_raise(r, (FaultClass)ip->a, "%" STR_FMT, STR_ARG(value_str(value)));
    goto failed;
    CASE(RETURN_VALUE)
    *result = *--sp;
    CASE(RETURN)
    r->autoescape = autoescape;
    r->depth--;
    return true;

failed:
    fault_locate(r, frame, (uint32_t)(ip - code));
    r->autoescape = autoescape;
    r->depth--;
    return false;
}
