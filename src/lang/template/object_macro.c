/* Macros, super(), self and imported modules: the callable values and references that templates
 * define. */
#include "lang/template/ops.h"
#include "lang/template/runtime.h"

Value macro_new(Render *r, const Function *function, Frame *frame)
{
    Macro *macro = ARENA_NEW(r->arena, Macro);
    *macro = (Macro){ { &macro_type }, function, frame };
    return value_object(&macro->object);
}

/* 'name' as Python's repr would print it; a call block has no name. */
static const char *quoted_name(Render *r, const Function *function)
{
    if (function->kind == FUNCTION_CALLER) {
        return "None";
    }
    Str quoted = arena_format(r->arena, "'%" STR_FMT "'", STR_ARG(function->name));
    return arena_copy_c(r->arena, quoted);
}

static bool is_unbound_parameter(const Function *function, uint32_t bound_count, Str name)
{
    for (uint32_t i = bound_count; i < function->param_count; i++) {
        if (str_eq(function->params[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* Whether the body uses `caller` without declaring a parameter of that name, which would take
 * precedence. */
static bool uses_caller(const Function *function)
{
    return function->caller_slot != NO_SLOT && function->caller_slot >= function->param_count;
}

static bool raise_keyword(Render *r, const Function *function, Str name)
{
    if (str_eq(name, STR("caller"))) {
        return render_raise(r, FAULT_TYPE,
                            "macro %s was invoked with two values for the special caller "
                            "argument. This is most likely a bug.",
                            quoted_name(r, function));
    }
    return render_raise(r, FAULT_TYPE, "macro %s takes no keyword argument '%" STR_FMT "'",
                        quoted_name(r, function), STR_ARG(name));
}

/* Handles keyword arguments that match no unbound parameter: they belong to `kwargs` or `caller`,
 * or are an error. */
static bool bind_keywords(Render *r, const Function *function, Frame *frame, const Args *args)
{
    Map *extra = function->kwargs_slot == NO_SLOT ? NULL : map_new(r->arena, 0);
    bool implicit_caller = uses_caller(function);
    for (uint32_t i = 0; args->named != NULL && i < args->named->len; i++) {
        const MapEntry *entry = &args->named->entries[i];
        Str name = value_str(entry->key);
        if (is_unbound_parameter(function, args->count, name)) {
            continue;
        }
        if (implicit_caller && str_eq(name, STR("caller"))) {
            frame->slots[function->caller_slot] = entry->value;
        } else if (extra != NULL) {
            map_set(r->arena, extra, entry->key, entry->value);
        } else {
            return raise_keyword(r, function, name);
        }
    }
    if (extra != NULL) {
        frame->slots[function->kwargs_slot] = value_map(extra);
    }
    if (implicit_caller && value_is_missing(frame->slots[function->caller_slot])) {
        frame->slots[function->caller_slot] = undefined_hint(r, "No caller defined");
    }
    return true;
}

static bool bind_macro(Render *r, const Function *function, Frame *frame, const Args *args)
{
    for (uint32_t i = 0; i < function->param_count; i++) {
        if (i < args->count) {
            frame->slots[i] = args->values[i];
        } else if (args->named != NULL) {
            const MapEntry *entry = map_find_str(args->named, function->params[i].name);
            if (entry != NULL) {
                frame->slots[i] = entry->value;
            }
        }
    }
    if ((args->named != NULL || function->kwargs_slot != NO_SLOT ||
         function->caller_slot != NO_SLOT) &&
        !bind_keywords(r, function, frame, args)) {
        return false;
    }
    if (function->varargs_slot != NO_SLOT) {
        List *extra = list_new(r->arena, 0);
        for (uint32_t i = function->param_count; i < args->count; i++) {
            list_push(r->arena, extra, args->values[i]);
        }
        frame->slots[function->varargs_slot] = value_tuple(extra);
    } else if (args->count > function->param_count) {
        return render_raise(r, FAULT_TYPE, "macro %s takes not more than %u argument(s)",
                            quoted_name(r, function), function->param_count);
    }
    return true;
}

static COLD bool capture_macro(Render *r, Frame *frame, Value *out)
{
    capture_begin(r);
    if (!interpret(r, frame, NULL)) {
        capture_drop(r);
        return false;
    }
    return capture_end(r, out);
}

/* Runs the body in a frame whose parameters are set, and releases the frame. */
static inline bool macro_run(Render *r, Frame *frame, FrameMark mark, bool emit, Value *out)
{
    bool ok = LIKELY(emit) ? interpret(r, frame, NULL) : capture_macro(r, frame, out);
    frame_close(r, mark);
    return ok;
}

bool macro_call(Render *r, Macro *macro, const Args *args, bool emit, Value *out)
{
    FrameMark mark;
    Frame *frame = frame_open(r, macro->function, macro->frame, macro->frame->context, &mark);
    if (!bind_macro(r, macro->function, frame, args)) {
        frame_close(r, mark);
        return false;
    }
    return macro_run(r, frame, mark, emit, out);
}

/* Determines the slots of a call's keywords: parameters without a positional argument, and
 * `caller`. */
static COLD bool bind_site(Render *r, const Function *function, CallSite *site)
{
    for (uint32_t i = 0; i < site->keyword_count; i++) {
        Str name = site->keywords[i];
        uint32_t slot = site->positional;
        while (slot < function->param_count && !str_eq(function->params[slot].name, name)) {
            slot++;
        }
        if (slot < function->param_count) {
            site->keyword_slots[i] = (uint16_t)slot;
        } else if (uses_caller(function) && str_eq(name, STR("caller"))) {
            site->keyword_slots[i] = function->caller_slot;
        } else {
            return raise_keyword(r, function, name);
        }
    }
    site->bound = function;
    return true;
}

bool macro_call_site(Render *r, Macro *macro, CallSite *site, const Value *values, bool emit,
                     Value *out)
{
    const Function *function = macro->function;
    if (UNLIKELY(site->bound != function) && !bind_site(r, function, site)) {
        return false;
    }
    FrameMark mark;
    uint32_t positional = site->positional;
    Frame *frame =
        frame_open_for(r, function, macro->frame, macro->frame->context, positional, &mark);
    Value *slots = frame->slots;
    for (uint32_t i = 0; i < positional; i++) {
        slots[i] = values[i];
    }
    for (uint32_t i = 0; i < site->keyword_count; i++) {
        slots[site->keyword_slots[i]] = values[positional + i];
    }
    if (uses_caller(function) && value_is_missing(slots[function->caller_slot])) {
        slots[function->caller_slot] = undefined_hint(r, "No caller defined");
    }
    return macro_run(r, frame, mark, emit, out);
}

static bool macro_call_object(Render *r, Object *object, const Args *args, Value *out)
{
    return macro_call(r, (Macro *)object, args, false, out);
}

static bool macro_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    const Function *function = ((Macro *)object)->function;
    *found = true;
    if (str_eq(name, STR("name"))) {
        *out = function->kind == FUNCTION_CALLER ? value_null() : value_string(function->name);
    } else if (str_eq(name, STR("arguments"))) {
        List *names = list_new(r->arena, function->param_count);
        for (uint32_t i = 0; i < function->param_count; i++) {
            list_push(r->arena, names, value_string(function->params[i].name));
        }
        *out = value_tuple(names);
    } else if (str_eq(name, STR("catch_kwargs"))) {
        *out = value_bool(function->kwargs_slot != NO_SLOT);
    } else if (str_eq(name, STR("catch_varargs"))) {
        *out = value_bool(function->varargs_slot != NO_SLOT);
    } else if (str_eq(name, STR("caller"))) {
        *out = value_bool(function->caller_slot != NO_SLOT);
    } else {
        *found = false;
    }
    return true;
}

static bool macro_print(Render *r, Object *object, Buf *out)
{
    const Function *function = ((Macro *)object)->function;
    if (function->kind == FUNCTION_CALLER) {
        buf_put(out, STR("<Macro anonymous>"));
    } else {
        buf_put_format(out, "<Macro '%" STR_FMT "'>", STR_ARG(function->name));
    }
    return true;
}

const ObjectType macro_type = {
    .name = "jinja2.runtime.Macro",
    .get_attr = macro_get_attr,
    .call = macro_call_object,
    .print = macro_print,
};

Value block_super(Render *r, const BlockChain *chain, uint32_t depth, Context *context)
{
    if (chain == NULL || depth >= chain->count) {
        return undefined_hint(r, "there is no parent block called '%" STR_FMT "'.",
                              STR_ARG(chain == NULL ? STR("super") : chain->name));
    }
    BlockReference *reference = ARENA_NEW(r->arena, BlockReference);
    *reference = (BlockReference){ { &block_reference_type }, context, chain, depth };
    return value_object(&reference->object);
}

static bool reference_call(Render *r, Object *object, const Args *args, Value *out)
{
    const BlockReference *reference = (BlockReference *)object;
    return block_render(r, reference->context, reference->chain, reference->depth, false, out);
}

static bool reference_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    const BlockReference *reference = (BlockReference *)object;
    *found = str_eq(name, STR("super"));
    if (*found) {
        *out = block_super(r, reference->chain, reference->depth + 1, reference->context);
    }
    return true;
}

const ObjectType block_reference_type = {
    .name = "jinja2.runtime.BlockReference",
    .get_attr = reference_get_attr,
    .call = reference_call,
};

bool block_render(Render *r, Context *context, const BlockChain *chain, uint32_t depth, bool emit,
                  Value *out)
{
    const Function *function = chain->versions[depth];
    if (!emit) {
        capture_begin(r);
    }
    FrameMark mark;
    Frame *frame = frame_open(r, function, NULL, context, &mark);
    frame->block = chain;
    frame->block_depth = depth;
    bool ok = interpret(r, frame, NULL);
    frame_close(r, mark);
    if (!ok && !emit) {
        capture_drop(r);
    }
    return ok && (emit || capture_end(r, out));
}

typedef struct SelfReference {
    Object object;
    Context *context;
} SelfReference;

static bool self_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    Context *context = ((SelfReference *)object)->context;
    const BlockChain *chain = block_table_find(context->blocks, name);
    *found = chain != NULL;
    if (*found) {
        *out = block_super(r, chain, 0, context);
    }
    return true;
}

static bool self_print(Render *r, Object *object, Buf *out)
{
    const SelfReference *self = (SelfReference *)object;
    Str name = self->context->template->name;
    if (name.len == 0) {
        buf_put(out, STR("<TemplateReference None>"));
    } else {
        buf_put_format(out, "<TemplateReference '%" STR_FMT "'>", STR_ARG(name));
    }
    return true;
}

static const ObjectType self_type = {
    .name = "jinja2.runtime.TemplateReference",
    .get_attr = self_get_attr,
    .print = self_print,
};

Value self_new(Render *r, Context *context)
{
    SelfReference *self = ARENA_NEW(r->arena, SelfReference);
    *self = (SelfReference){ { &self_type }, context };
    return value_object(&self->object);
}

typedef struct Module {
    Object object;
    const Template *template;
    Map *exports;
    Value body;
} Module;

static bool module_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    const MapEntry *entry = map_find_str(((Module *)object)->exports, name);
    *found = entry != NULL;
    if (*found) {
        *out = entry->value;
    }
    return true;
}

static bool module_print(Render *r, Object *object, Buf *out)
{
    return op_print(r, ((Module *)object)->body, out);
}

static bool module_holds_secret(Render *r, const Object *object)
{
    return value_is_secret(((const Module *)object)->body);
}

static const ObjectType module_type = {
    .name = "jinja2.environment.TemplateModule",
    .get_attr = module_get_attr,
    .print = module_print,
    .holds_secret = module_holds_secret,
    .markup = true,
};

Value module_new(Render *r, Context *context, Value body)
{
    Module *module = ARENA_NEW(r->arena, Module);
    *module = (Module){ { &module_type }, context->template, context->exported, body };
    if (module->exports == NULL) {
        module->exports = map_new(r->arena, 0);
    }
    return value_object(&module->object);
}

Map *module_exports(Value module)
{
    return ((Module *)module.object)->exports;
}

const Template *module_template(Value module)
{
    return ((Module *)module.object)->template;
}
