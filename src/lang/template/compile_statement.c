/* Compiles statements: output, assignments, conditions, macros, blocks, includes and inheritance.
 * Loops are in compile_loop.c.
 *
 * Every scope is analyzed before its code is generated (scope.h); compile_scope_entry() then emits
 * the initialization of its slots. Statements leave the operand stack unchanged. `break` and
 * `continue` jump out of open loops, captures and autoescape states, which they undo through the
 * Unwind records of the unit. At top level an assignment is also exported to the context, where
 * includes and importing templates see it. */
#include "base/bug.h"
#include "lang/template/compiler.h"

static uint16_t distance_to(const Compiler *c, const FunctionScope *function)
{
    uint16_t distance = 0;
    for (const FunctionScope *f = &c->unit->slots; f != function; f = f->outer) {
        distance++;
    }
    return distance;
}

void compile_scope_entry(Compiler *c, const Scope *scope, const Node *node)
{
    for (const Symbol *symbol = scope->symbols.first; symbol != NULL; symbol = symbol->next) {
        switch ((SymbolStart)symbol->start) {
        case START_ALIAS:
            if (symbol->outer->start == START_LAZY) {
                emit(c, INS_RESOLVE, 0, symbol->slot, add_name(c, symbol->name), 0, node);
            } else {
                uint16_t distance = distance_to(c, symbol->outer->function);
                emit(c, distance == 0 ? INS_COPY : INS_COPY_OUTER, (uint8_t)distance, symbol->slot,
                     symbol->outer->slot, 0, node);
            }
            break;
        case START_RESOLVE:
            emit(c, INS_RESOLVE, 0, symbol->slot, add_name(c, symbol->name), 0, node);
            break;
        case START_UNSET: emit(c, INS_UNSET, 0, 0, symbol->slot, 0, node); break;
        case START_PARAMETER:
        case START_LAZY: break;
        }
    }
}

static bool compile_namespace(Compiler *c, const Level *level, const Node *target)
{
    Node name = {
        .kind = NODE_NAME, .name = target->name, .offset = target->offset, .span = target->span
    };
    return compile_expression(c, level, &name);
}

/* Jinja2 checks the namespaces of a target before it evaluates the value. */
static bool compile_target_checks(Compiler *c, const Level *level, const Node *target)
{
    if (target->kind == NODE_NAMESPACE) {
        if (!compile_namespace(c, level, target)) {
            return false;
        }
        emit(c, INS_CHECK_NAMESPACE, 0, 0, 0, -1, target);
    }
    for (const Node *item = target->items; item != NULL; item = item->next) {
        if (!compile_target_checks(c, level, item)) {
            return false;
        }
    }
    return true;
}

bool compile_target(Compiler *c, const Level *level, const Node *target)
{
    if (target->kind == NODE_NAME) {
        Symbol *symbol = scope_find(level->scope, target->name);
        emit(c, INS_STORE, 0, 0, symbol->slot, -1, target);
        return true;
    }
    if (target->kind == NODE_NAMESPACE) {
        Node name = {
            .kind = NODE_NAME, .name = target->name, .offset = target->offset, .span = target->span
        };
        if (!compile_expression(c, level, &name)) {
            return false;
        }
        emit(c, INS_SET_ATTR, 0, 0, add_name(c, target->alias), -2, target);
        return true;
    }
    emit(c, INS_UNPACK, 0, 0, target->count, (int)target->count - 1, target);
    for (const Node *item = target->items; item != NULL; item = item->next) {
        if (!compile_target(c, level, item)) {
            return false;
        }
    }
    return true;
}

static void export_name(Compiler *c, const Level *level, Str name, bool is_public, const Node *node)
{
    if (level->top) {
        Symbol *symbol = scope_find(level->scope, name);
        bool is_exported = is_public && !(name.len > 0 && name.data[0] == '_');
        emit(c, INS_EXPORT, is_exported, symbol->slot, add_name(c, name), 0, node);
    }
}

static void export_target(Compiler *c, const Level *level, const Node *target)
{
    if (target->kind == NODE_NAME) {
        export_name(c, level, target->name, true, target);
    } else if (target->kind != NODE_NAMESPACE) {
        for (const Node *item = target->items; item != NULL; item = item->next) {
            export_target(c, level, item);
        }
    }
}

/* Returns the text of a constant output. */
static bool constant_text(const Level *level, const Node *node, Str *text)
{
    if (node->kind == NODE_DATA || (node->kind == NODE_CONST && node->value.kind == VALUE_STRING &&
                                    level->emit == EMIT_PLAIN)) {
        *text = value_str(node->value);
        return true;
    }
    return false;
}

/* `marked`: whether a MARK instruction was already emitted for this output statement. */
static bool compile_output_value(Compiler *c, const Level *level, const Node *node, bool *marked)
{
    uint8_t mode = (uint8_t)level->emit;
    const Node *base = node->kind == NODE_ATTRIBUTE ? node->left : node;
    if (base->kind == NODE_NAME) {
        Symbol *symbol = scope_use(level->scope, &c->unit->slots, base->name);
        bool is_local = symbol->function == &c->unit->slots;
        if (base == node && symbol->start == START_LAZY) {
            emit(c, INS_EMIT_NAME, mode, symbol->slot, add_name(c, node->name), 0, node);
            return true;
        }
        if (is_local && base == node) {
            emit(c, INS_EMIT_LOAD, mode, 0, symbol->slot, 0, node);
            return true;
        }
        if (is_local && symbol->start != START_LAZY) {
            emit(c, INS_EMIT_ATTR, mode, symbol->slot, add_name(c, node->name), 0, node);
            return true;
        }
    }
    bool allocates = expression_allocates(node);
    if (allocates && !*marked) {
        emit(c, INS_MARK, 0, 0, 0, 0, node);
        *marked = true;
    }
    if (node->kind == NODE_CALL) {
        if (!compile_call(c, level, node, INS_CALL_EMIT, NULL)) {
            return false;
        }
    } else {
        if (!compile_expression(c, level, node)) {
            return false;
        }
        Instruction *last = &c->unit->code[c->unit->count - 1];
        if (node->kind == NODE_FILTER && last->op == INS_FILTER) {
            last->op = INS_FILTER_EMIT;
            last->a = mode;
            c->unit->stack--;
            return true;
        }
        emit(c, INS_EMIT, mode, 0, 0, -1, node);
    }
    if (allocates) {
        emit(c, INS_RELEASE, 0, 0, 0, 0, node);
    }
    return true;
}

/* Output after an extends is discarded, because the parent renders the page. */
static bool output_suppressed(const Compiler *c, const Level *level)
{
    return level->check_output && c->extends_certain;
}

static bool output_is_checked(const Compiler *c, const Level *level)
{
    return level->check_output && c->extends_count > 0;
}

static bool compile_output(Compiler *c, const Level *level, const Node *node)
{
    if (output_suppressed(c, level)) {
        return true;
    }
    bool checked = output_is_checked(c, level);
    uint32_t end = checked ? emit(c, INS_JUMP_EXTENDED, 0, 0, 0, 0, node) : 0;
    bool marked = false;
    for (const Node *item = node->items; item != NULL; item = item->next) {
        Str text;
        if (constant_text(level, item, &text)) {
            if (text.len > 0) {
                emit(c, INS_EMIT_DATA, 0, 0, add_data(c, text), 0, item);
            }
        } else if (!compile_output_value(c, level, item, &marked)) {
            return false;
        }
    }
    if (checked) {
        patch_to_here(c, end);
    }
    return true;
}

static bool compile_if(Compiler *c, const Level *outer, const Node *node)
{
    Level level = *outer;
    level.soft = true;
    level.root = false;
    if (!compile_expression(c, &level, node->test)) {
        return false;
    }
    uint32_t else_body = emit(c, INS_JUMP_FALSE, 0, 0, 0, -1, node);
    if (!compile_statements(c, &level, node->body)) {
        return false;
    }
    if (node->else_body == NULL) {
        patch_to_here(c, else_body);
        return true;
    }
    uint32_t end = emit(c, INS_JUMP, 0, 0, 0, 0, node);
    patch_to_here(c, else_body);
    if (!compile_statements(c, &level, node->else_body)) {
        return false;
    }
    patch_to_here(c, end);
    return true;
}

/* A level for a scope nested in this one. */
static Level inner_level(const Level *outer, Scope *scope)
{
    return (Level){ .scope = scope, .emit = outer->emit, .check_output = outer->check_output };
}

enum {
    MACRO_PARAMS_MAX = 255 /* names are searched linearly */
};

static bool compile_macro(Compiler *c, const Level *outer, const Node *node, FunctionKind kind,
                          uint32_t *function)
{
    c->unit->slots.captured = true;
    Unit unit;
    unit_begin(c, &unit, kind, kind == FUNCTION_MACRO ? node->name : STR_EMPTY);
    Scope scope;
    scope_init(&scope, outer->scope, &unit.slots);
    for (const Parameter *param = node->params; param != NULL; param = param->next) {
        if (++unit.function->param_count > MACRO_PARAMS_MAX) {
            Node at_param = { .offset = param->offset, .span = (uint32_t)param->name.len };
            return compile_fail(c, FAULT_LIMIT, &at_param, "a macro has at most %d parameters",
                                MACRO_PARAMS_MAX);
        }
    }
    unit.function->params = ARENA_ARRAY(c->arena, FunctionParameter, unit.function->param_count);
    uint32_t slot_count = 0;
    bool explicit_caller = false;
    for (const Parameter *param = node->params; param != NULL; param = param->next) {
        for (uint32_t i = 0; i < slot_count; i++) {
            if (str_eq(unit.function->params[i].name, param->name)) {
                Node at_param = { .offset = param->offset, .span = (uint32_t)param->name.len };
                return compile_fail(c, FAULT_SYNTAX, &at_param,
                                    "duplicate argument '%" STR_FMT "' in macro definition",
                                    STR_ARG(param->name));
            }
        }
        if (str_eq(param->name, STR("caller"))) {
            if (param->fallback == NULL) {
                return compile_fail(c, FAULT_ASSERTION, node,
                                    "When defining macros or call blocks the special \"caller\" "
                                    "argument must be omitted or be given a default.");
            }
            explicit_caller = true;
        }
        Symbol *symbol = scope_declare(&scope, param->name);
        unit.function->params[slot_count++] =
            (FunctionParameter){ .name = arena_copy(c->arena, param->name) };
        BUG_IF(symbol->slot != slot_count - 1);
        if (str_eq(param->name, STR("caller"))) {
            unit.function->caller_slot = symbol->slot;
        }
    }
    if (!explicit_caller && nodes_use_name(&c->searches[SPECIAL_CALLER], node->body)) {
        unit.function->caller_slot = scope_declare(&scope, STR("caller"))->slot;
    }
    if (nodes_use_name(&c->searches[SPECIAL_KWARGS], node->body)) {
        unit.function->kwargs_slot = scope_declare(&scope, STR("kwargs"))->slot;
    }
    if (nodes_use_name(&c->searches[SPECIAL_VARARGS], node->body)) {
        unit.function->varargs_slot = scope_declare(&scope, STR("varargs"))->slot;
    }
    for (const Parameter *param = node->params; param != NULL; param = param->next) {
        scope_analyze_expression(&scope, param->fallback);
    }
    scope_analyze(&scope, node->body);
    compile_scope_entry(c, &scope, node);
    Level level = { .scope = &scope, .emit = outer->emit };
    slot_count = 0;
    for (const Parameter *param = node->params; param != NULL; param = param->next) {
        uint16_t slot = (uint16_t)slot_count++;
        Node at_param = { .offset = param->offset, .span = (uint32_t)param->name.len };
        uint32_t skip_default = emit(c, INS_JUMP_SET, 0, slot, 0, 0, &at_param);
        if (param->fallback != NULL) {
            if (!compile_expression(c, &level, param->fallback)) {
                return false;
            }
        } else {
            Str text = arena_format(c->scratch, "parameter '%" STR_FMT "' was not provided",
                                    STR_ARG(param->name));
            emit(c, INS_UNDEFINED, 0, 0, add_constant(c, value_string(text)), 1, &at_param);
        }
        emit(c, INS_STORE, 0, 0, slot, -1, &at_param);
        patch_to_here(c, skip_default);
    }
    if (!compile_statements(c, &level, node->body)) {
        return false;
    }
    emit(c, INS_RETURN, 0, 0, 0, 0, NULL);
    if (!unit_end(c, node)) {
        return false;
    }
    *function = add_function(c, unit.function);
    return true;
}

static bool compile_macro_statement(Compiler *c, const Level *level, const Node *node)
{
    uint32_t function;
    if (!compile_macro(c, level, node, FUNCTION_MACRO, &function)) {
        return false;
    }
    emit(c, INS_MACRO, 0, 0, function, 1, node);
    emit(c, INS_STORE, 0, 0, scope_find(level->scope, node->name)->slot, -1, node);
    export_name(c, level, node->name, true, node);
    return true;
}

static bool compile_call_block(Compiler *c, const Level *level, const Node *node)
{
    uint32_t function;
    if (!compile_macro(c, level, node, FUNCTION_CALLER, &function)) {
        return false;
    }
    Level plain = *level;
    plain.emit = EMIT_PLAIN;
    return compile_call(c, &plain, node->left, INS_CALL_EMIT, &function);
}

static void capture_enter(Compiler *c, Unwind *unwind, const Node *node)
{
    *unwind = (Unwind){ .kind = UNWIND_CAPTURE, .outer = c->unit->unwind };
    c->unit->unwind = unwind;
    emit(c, INS_CAPTURE, 0, 0, 0, 0, node);
}

static void capture_leave(Compiler *c, const Level *level, const Unwind *unwind, const Node *node)
{
    c->unit->unwind = unwind->outer;
    emit(c, INS_CAPTURE_END, (uint8_t)level->emit, 0, 0, 1, node);
}

static bool compile_filter_block(Compiler *c, const Level *outer, const Node *node)
{
    Scope scope;
    scope_init(&scope, outer->scope, &c->unit->slots);
    scope_analyze(&scope, node->body);
    scope_analyze_expression(&scope, node->left);
    compile_scope_entry(c, &scope, node);
    Level level = inner_level(outer, &scope);
    Unwind unwind;
    capture_enter(c, &unwind, node);
    if (!compile_statements(c, &level, node->body)) {
        return false;
    }
    capture_leave(c, &level, &unwind, node);
    if (!compile_filter_chain(c, &level, node->left)) {
        return false;
    }
    emit(c, INS_EMIT, EMIT_PLAIN, 0, 0, -1, node);
    return true;
}

static bool compile_with(Compiler *c, const Level *outer, const Node *node)
{
    for (const Node *bind = node->items; bind != NULL; bind = bind->next) {
        if (!compile_expression(c, outer, bind->left)) {
            return false;
        }
    }
    Scope scope;
    scope_init(&scope, outer->scope, &c->unit->slots);
    List *targets = list_new(c->scratch, 0);
    for (const Node *bind = node->items; bind != NULL; bind = bind->next) {
        scope_analyze_target(&scope, bind->target);
        list_push(c->scratch, targets,
                  (Value){ .kind = VALUE_OBJECT, .object = (Object *)bind->target });
    }
    for (Symbol *symbol = scope.symbols.first; symbol != NULL; symbol = symbol->next) {
        symbol->start = symbol->stored ? START_PARAMETER : symbol->start;
    }
    scope_analyze(&scope, node->body);
    compile_scope_entry(c, &scope, node);
    Level level = inner_level(outer, &scope);
    for (uint32_t i = targets->len; i > 0; i--) {
        if (!compile_target(c, &level, (const Node *)targets->items[i - 1].object)) {
            return false;
        }
    }
    return compile_statements(c, &level, node->body);
}

static bool compile_block_call(Compiler *c, const Level *level, const Node *node)
{
    if (level->top && c->extends_certain) {
        return true;
    }
    bool checked = level->top && c->extends_count > 0;
    uint32_t end = checked ? emit(c, INS_JUMP_EXTENDED, 0, 0, 0, 0, node) : 0;
    uint32_t locals = 0;
    if (node->scoped) {
        if (!add_local_set(c, level, node, &locals)) {
            return false;
        }
        if (locals > UINT16_MAX) {
            return compile_fail(c, FAULT_LIMIT, node, "the template has too many scoped blocks");
        }
    }
    uint8_t flags =
        (uint8_t)((node->scoped ? BLOCK_SCOPED : 0) | (node->required ? BLOCK_REQUIRED : 0));
    emit(c, INS_BLOCK, flags, (uint16_t)locals, add_name(c, node->name), 0, node);
    if (checked) {
        patch_to_here(c, end);
    }
    return true;
}

static uint8_t include_flags(const Node *node)
{
    return (uint8_t)((node->with_context ? INCLUDE_WITH_CONTEXT : 0) |
                     (node->ignore_missing ? INCLUDE_IGNORE_MISSING : 0));
}

static bool compile_include(Compiler *c, const Level *level, const Node *node)
{
    uint32_t locals;
    if (!add_local_set(c, level, node, &locals) || !compile_expression(c, level, node->left)) {
        return false;
    }
    emit(c, INS_INCLUDE, include_flags(node), 0, locals, -1, node);
    return true;
}

static bool compile_import(Compiler *c, const Level *level, const Node *node)
{
    uint32_t locals;
    if (!add_local_set(c, level, node, &locals) || !compile_expression(c, level, node->left)) {
        return false;
    }
    emit(c, INS_IMPORT, include_flags(node), 0, locals, 0, node);
    if (node->kind == NODE_IMPORT) {
        emit(c, INS_STORE, 0, 0, scope_find(level->scope, node->name)->slot, -1, node);
        export_name(c, level, node->name, false, node);
        return true;
    }
    for (const Node *alias = node->items; alias != NULL; alias = alias->next) {
        emit(c, INS_IMPORT_NAME, 0, 0, add_name(c, alias->name), 1, node);
        emit(c, INS_STORE, 0, 0, scope_find(level->scope, alias->alias)->slot, -1, alias);
        export_name(c, level, alias->alias, false, alias);
    }
    emit(c, INS_POP, 0, 0, 0, -1, node);
    return true;
}

static bool compile_extends(Compiler *c, const Level *level, const Node *node)
{
    if (!level->top) {
        return compile_fail(c, FAULT_ASSERTION, node,
                            "cannot use extend from a non top-level scope");
    }
    if (c->extends_count > 0) {
        uint32_t message = add_constant(c, value_string(STR("extended multiple times")));
        if (c->extends_certain) {
            emit(c, INS_RAISE, FAULT_RUNTIME, 0, message, 0, node);
            return true;
        }
        uint32_t raise = emit(c, INS_JUMP_EXTENDED, 0, 0, 0, 0, node);
        uint32_t after_raise = emit(c, INS_JUMP, 0, 0, 0, 0, node);
        patch_to_here(c, raise);
        emit(c, INS_RAISE, FAULT_RUNTIME, 0, message, 0, node);
        patch_to_here(c, after_raise);
    }
    if (!compile_expression(c, level, node->left)) {
        return false;
    }
    emit(c, INS_EXTENDS, 0, 0, 0, -1, node);
    if (level->root) {
        c->extends_certain = true;
    }
    c->extends_count++;
    return true;
}

static bool compile_assign(Compiler *c, const Level *level, const Node *node)
{
    if (!compile_target_checks(c, level, node->target) ||
        !compile_expression(c, level, node->left) || !compile_target(c, level, node->target)) {
        return false;
    }
    export_target(c, level, node->target);
    return true;
}

static bool compile_assign_block(Compiler *c, const Level *outer, const Node *node)
{
    Scope scope;
    scope_init(&scope, outer->scope, &c->unit->slots);
    scope_analyze(&scope, node->body);
    compile_scope_entry(c, &scope, node);
    Level level = inner_level(outer, &scope);
    level.check_output = false;
    Unwind unwind;
    capture_enter(c, &unwind, node);
    if (!compile_statements(c, &level, node->body)) {
        return false;
    }
    capture_leave(c, &level, &unwind, node);
    if (node->left != NULL) {
        if (!compile_filter_chain(c, &level, node->left)) {
            return false;
        }
        emit(c, INS_MARKUP, (uint8_t)level.emit, 0, 0, 0, node);
    }
    if (!compile_target(c, outer, node->target)) {
        return false;
    }
    export_target(c, outer, node->target);
    return true;
}

static bool compile_autoescape(Compiler *c, const Level *outer, const Node *node)
{
    if (!compile_expression(c, outer, node->left)) {
        return false;
    }
    emit(c, INS_AUTOESCAPE, 0, 0, 0, 0, node);
    Unwind unwind = { .kind = UNWIND_AUTOESCAPE, .outer = c->unit->unwind };
    c->unit->unwind = &unwind;
    Scope scope;
    scope_init(&scope, outer->scope, &c->unit->slots);
    scope_analyze(&scope, node->body);
    compile_scope_entry(c, &scope, node);
    Level level = inner_level(outer, &scope);
    level.emit = EMIT_DYNAMIC;
    if (node->left->kind == NODE_CONST && node->left->value.kind == VALUE_BOOL) {
        level.emit = node->left->value.boolean ? EMIT_ESCAPED : EMIT_PLAIN;
    }
    if (!compile_statements(c, &level, node->body)) {
        return false;
    }
    c->unit->unwind = unwind.outer;
    emit(c, INS_AUTOESCAPE_END, 0, 0, 0, -1, node);
    return true;
}

/* Unwinds to the innermost loop, then jumps. */
static void compile_loop_exit(Compiler *c, const Node *node)
{
    uint32_t stack = c->unit->stack;
    Unwind *unwind = c->unit->unwind;
    for (; unwind != NULL && unwind->kind != UNWIND_LOOP; unwind = unwind->outer) {
        if (unwind->kind == UNWIND_CAPTURE) {
            emit(c, INS_CAPTURE_DROP, 0, 0, 0, 0, node);
        } else {
            emit(c, INS_AUTOESCAPE_END, 0, 0, 0, -1, node);
        }
    }
    BUG_IF(unwind == NULL); /* rejected by the parser outside a loop */
    if (node->kind == NODE_CONTINUE) {
        emit(c, INS_JUMP, 0, 0, unwind->next_label, 0, node);
    } else {
        Patch *patch = ARENA_NEW(c->scratch, Patch);
        *patch = (Patch){ emit(c, INS_JUMP, 0, 0, 0, 0, node), unwind->breaks };
        unwind->breaks = patch;
    }
    c->unit->stack = stack; /* the code that follows is reached only by other paths */
}

static bool compile_statement(Compiler *c, const Level *level, const Node *node)
{
    switch ((NodeKind)node->kind) {
    case NODE_OUTPUT: return compile_output(c, level, node);
    case NODE_FOR: return compile_for(c, level, node);
    case NODE_IF: return compile_if(c, level, node);
    case NODE_MACRO: return compile_macro_statement(c, level, node);
    case NODE_CALL_BLOCK: return compile_call_block(c, level, node);
    case NODE_FILTER_BLOCK: return compile_filter_block(c, level, node);
    case NODE_WITH: return compile_with(c, level, node);
    case NODE_BLOCK: return compile_block_call(c, level, node);
    case NODE_INCLUDE: return compile_include(c, level, node);
    case NODE_IMPORT:
    case NODE_FROM_IMPORT: return compile_import(c, level, node);
    case NODE_ASSIGN: return compile_assign(c, level, node);
    case NODE_ASSIGN_BLOCK: return compile_assign_block(c, level, node);
    case NODE_EXTENDS: return compile_extends(c, level, node);
    case NODE_DO:
        if (!compile_expression(c, level, node->left)) {
            return false;
        }
        emit(c, INS_POP, 0, 0, 0, -1, node);
        return true;
    case NODE_BREAK:
    case NODE_CONTINUE: compile_loop_exit(c, node); return true;
    case NODE_AUTOESCAPE: return compile_autoescape(c, level, node);
    default: BUG("node %d is not a statement", node->kind);
    }
}

bool compile_statements(Compiler *c, const Level *level, const Node *nodes)
{
    for (const Node *node = nodes; node != NULL; node = node->next) {
        if (!compile_statement(c, level, node)) {
            return false;
        }
    }
    return true;
}
