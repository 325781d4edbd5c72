/* Blocks, includes, imports and inheritance.
 *
 * A template that extends another one sets frame->parent and adds the parent's blocks to the chains
 * of its context; when its top level has run, template_run() continues with the parent in the same
 * context. Blocks are looked up by name in these chains, where the first entry belongs to the most
 * derived template. An include runs in a new context that sees the variables of the enclosing
 * scopes. An import does so only `with context`, and then sees a snapshot, because its macros
 * outlive the statement. */
#include "lang/template/transfer.h"

#include "lang/template/methods.h"
#include "lang/template/ops.h"

const Frame *root_frame(const Frame *frame)
{
    while (frame->outer != NULL) {
        frame = frame->outer;
    }
    return frame;
}

/* The variables of the enclosing scopes as a separate context, without unset ones. */
static Context *context_with_locals(Render *r, Frame *frame, const LocalSet *locals)
{
    /* if the budget is exhausted, the next function to run fails */
    render_charge(r, locals->count);
    Context *context = context_new(r, frame->context->template, frame->context, NULL);
    context->blocks = frame->context->blocks;
    context->autoescape = frame->context->autoescape;
    if (locals->count > 0) {
        context->vars = map_new(r->arena, locals->count);
    }
    for (uint32_t i = 0; i < locals->count; i++) {
        const LocalRef *ref = &locals->refs[i];
        const Frame *owner = frame;
        for (uint32_t level = ref->level; level > 0; level--) {
            owner = owner->outer;
        }
        Value value = owner->slots[ref->slot];
        if (!value_is_missing(value)) {
            const Name *name = &frame->function->template->names[ref->name];
            map_append(r->arena, context->vars, value_string(name->text), value);
        }
    }
    return context;
}

bool transfer_block(Render *r, Frame *frame, const Name *name, unsigned flags,
                    const LocalSet *locals)
{
    Context *context = frame->context;
    const BlockChain *chain = block_table_find(context->blocks, name->text);
    if (chain == NULL) {
        return render_raise(r, FAULT_KEY, "'%" STR_FMT "'", STR_ARG(name->text));
    }
    if ((flags & BLOCK_REQUIRED) && chain->count <= 1) {
        return render_raise(r, FAULT_RUNTIME, "Required block '%" STR_FMT "' not found",
                            STR_ARG(name->text));
    }
    if (flags & BLOCK_SCOPED) {
        context = context_with_locals(r, frame, locals);
    }
    return block_render(r, context, chain, 0, true, NULL);
}

/* The message for a missing template is its name, which may be a secret. */
static void hide_name(Render *r, Value name)
{
    if (r->secrets && op_holds_secret(r, name)) {
        r->fault.message = STR("(secret)");
    }
}

enum {
    LOAD_COST = 64 /* in steps; the lookup of a missing template is not cached */
};

/* Loads one template by name. The class of the fault distinguishes a missing template from an
 * invalid one. */
static bool load_one(Render *r, Value name, const Template **out)
{
    if (name.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, name);
    }
    Str text;
    if (!op_text(r, name, &text) || !render_charge(r, LOAD_COST + text.len / 8)) {
        return false;
    }
    Fault fault = { 0 };
    if (!templates_get(r->templates, text, out, &fault)) {
        r->fault = fault;
        if (fault.class == FAULT_NOT_FOUND) {
            hide_name(r, name);
        }
        return false;
    }
    return true;
}

static bool load_first(Render *r, List *names, const Template **out)
{
    if (names->len == 0) {
        return render_raise(r, FAULT_NONE_FOUND,
                            "Tried to select from an empty list of templates.");
    }
    for (uint32_t i = 0; i < names->len; i++) {
        if (load_one(r, names->items[i], out)) {
            return true;
        }
        if (r->fault.class != FAULT_NOT_FOUND) {
            return false;
        }
        r->fault = (Fault){ 0 };
    }
    Buf list = render_buf(r);
    for (uint32_t i = 0; i < names->len; i++) {
        buf_put_c(&list, i == 0 ? "" : ", ");
        if (!op_print(r, names->items[i], &list)) {
            return false;
        }
    }
    render_raise(r, FAULT_NONE_FOUND, "none of the templates given were found: %" STR_FMT,
                 STR_ARG(buf_str(&list)));
    hide_name(r, value_list(names));
    return false;
}

static bool load_template(Render *r, Value name, bool *missing, const Template **out)
{
    *missing = false;
    bool loaded;
    if (value_is_sequence(name)) {
        loaded = load_first(r, name.list, out);
    } else {
        loaded = load_one(r, name, out);
    }
    if (!loaded) {
        *missing = r->fault.class == FAULT_NOT_FOUND || r->fault.class == FAULT_NONE_FOUND;
    }
    return loaded;
}

static Context *context_for(Render *r, Frame *frame, const Template *template, unsigned flags,
                            const LocalSet *locals, bool outlives_statement)
{
    Context *around = NULL;
    if (flags & INCLUDE_WITH_CONTEXT) {
        around = context_with_locals(r, frame, locals);
        if (outlives_statement) {
            around = context_snapshot(r, around);
        }
    }
    return context_new(r, template, around, NULL);
}

/* Runs the top level of a template, then of its ancestors. */
bool template_run(Render *r, const Template *template, Context *context)
{
    context->blocks = ARENA_NEW(r->arena, BlockTable);
    block_table_add(r, context->blocks, template);
    bool ok = true;
    while (template != NULL && ok) {
        FrameMark mark;
        Frame *frame = frame_open(r, template->root, NULL, context, &mark);
        ok = interpret(r, frame, NULL);
        template = frame->parent;
        frame_close(r, mark);
    }
    return ok;
}

bool transfer_include(Render *r, Frame *frame, Value name, unsigned flags, const LocalSet *locals)
{
    const Template *template;
    bool missing;
    if (!load_template(r, name, &missing, &template)) {
        if (missing && (flags & INCLUDE_IGNORE_MISSING)) {
            r->fault = (Fault){ 0 };
            return true;
        }
        return false;
    }
    return template_run(r, template, context_for(r, frame, template, flags, locals, false));
}

bool transfer_import(Render *r, Frame *frame, Value name, unsigned flags, const LocalSet *locals,
                     Value *out)
{
    const Template *template;
    bool missing;
    if (!load_template(r, name, &missing, &template)) {
        return false;
    }
    Context *context = context_for(r, frame, template, flags, locals, true);
    capture_begin(r);
    if (!template_run(r, template, context)) {
        capture_drop(r);
        return false;
    }
    Value body;
    if (!capture_end(r, &body)) {
        return false;
    }
    *out = module_new(r, context, body);
    return true;
}

Value transfer_import_name(Render *r, const Frame *frame, Value module, const Name *name,
                           uint32_t offset)
{
    const MapEntry *entry = map_find_str(module_exports(module), name->text);
    if (entry != NULL) {
        return entry->value;
    }
    const Template *importer = frame->function->template;
    const Template *imported = module_template(module);
    Source source = { .text = importer->text, .first_line = 1 };
    Str position = arena_format(r->arena, "line %u", source_location(&source, offset).line);
    if (importer->name.len > 0) {
        position = arena_format(r->arena, "%" STR_FMT " in '%" STR_FMT "'", STR_ARG(position),
                                STR_ARG(importer->name));
    }
    return undefined_hint(r,
                          "the template '%" STR_FMT "' (imported on %" STR_FMT
                          ") does not export the requested name '%" STR_FMT "'",
                          STR_ARG(imported->name), STR_ARG(position), STR_ARG(name->text));
}

bool transfer_extends(Render *r, Frame *frame, Value name)
{
    const Template *template;
    bool missing;
    if (!load_template(r, name, &missing, &template)) {
        return false;
    }
    if (frame->context->parents++ >= r->settings->limits.depth) {
        return render_raise(r, FAULT_RECURSION,
                            "template '%" STR_FMT "' extends itself recursively",
                            STR_ARG(template->name));
    }
    frame->parent = template;
    block_table_add(r, frame->context->blocks, template);
    return true;
}

bool check_namespace(Render *r, Value namespace)
{
    return value_is_namespace(namespace) ||
           render_raise(r, FAULT_RUNTIME, "cannot assign attribute on non-namespace object");
}

bool set_attribute(Render *r, Value namespace, const Name *name, Value value)
{
    if (!check_namespace(r, namespace)) {
        return false; /* evaluating the value may have replaced it */
    }
    r->escapes++;
    map_set_str(r->arena, namespace_attributes(namespace), name->text, value);
    return true;
}

static bool add_named(Render *r, Map *named, Value key, Value value)
{
    if (key.kind != VALUE_STRING) {
        return render_raise(r, FAULT_TYPE, "keywords must be strings");
    }
    if (!op_charge_key(r, key)) {
        return false;
    }
    if (map_find(named, key) != NULL) {
        return render_raise(r, FAULT_TYPE,
                            "got multiple values for keyword argument '%" STR_FMT "'",
                            STR_ARG(value_str(key)));
    }
    map_append(r->arena, named, key, value);
    return true;
}

bool arguments_add_mapping(Render *r, Value mapping, Map *named)
{
    if (!op_force(r, mapping, &mapping)) {
        return false;
    }
    if (mapping.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < mapping.map->len; i++) {
            MapEntry entry = mapping.map->entries[i];
            entry.key.flags |= mapping.flags & VALUE_SECRET;
            entry.value.flags |= mapping.flags & VALUE_SECRET;
            if (!render_charge(r, 1) || !map_reserve(r, named) ||
                !add_named(r, named, entry.key, entry.value)) {
                return false;
            }
        }
        return true;
    }
    if (mapping.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, mapping);
    }
    return render_raise(r, FAULT_TYPE, "argument after ** must be a mapping, not %s",
                        op_type_name(mapping));
}

bool make_markup(Render *r, Value *v)
{
    if (v->kind != VALUE_STRING) {
        Str text;
        if (!op_text(r, *v, &text)) {
            return false;
        }
        uint8_t secret = v->flags & VALUE_SECRET;
        *v = value_string(text);
        v->flags = secret;
    }
    v->flags |= VALUE_MARKUP;
    return true;
}
