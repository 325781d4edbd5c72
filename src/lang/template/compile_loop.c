/* Compiles loops: plain and filtered loops in place, recursive loops as functions. */
#include "lang/template/compiler.h"

static bool contains_scoped_block(const Node *nodes)
{
    for (const Node *node = nodes; node != NULL; node = node->next) {
        if ((node->kind == NODE_BLOCK && node->scoped) || contains_scoped_block(node->body) ||
            contains_scoped_block(node->else_body)) {
            return true;
        }
    }
    return false;
}

/* The `loop` variable is created only if the body or a scoped block can use it. */
static bool needs_loop_variable(Compiler *c, const Node *node)
{
    return node->recursive || nodes_use_name(&c->searches[SPECIAL_LOOP], node->body) ||
           (c->has_scoped_blocks && contains_scoped_block(node->body));
}

static const Node *find_loop_target(const Node *target)
{
    if (target->kind == NODE_NAME) {
        return str_eq(target->name, STR("loop")) ? target : NULL;
    }
    const Node *found = NULL;
    for (const Node *item = target->items; item != NULL && found == NULL; item = item->next) {
        found = find_loop_target(item);
    }
    return found;
}

/* Finds an assignment to `loop` anywhere in a loop that has the variable. */
static const Node *find_loop_assignment(const Node *nodes)
{
    for (const Node *node = nodes; node != NULL; node = node->next) {
        const Node *found = node->target == NULL ? NULL : find_loop_target(node->target);
        for (const Node *bind = node->kind == NODE_WITH ? node->items : NULL;
             bind != NULL && found == NULL; bind = bind->next) {
            found = find_loop_target(bind->target);
        }
        found = found != NULL ? found : find_loop_assignment(node->body);
        found = found != NULL ? found : find_loop_assignment(node->else_body);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static void declare_target(Scope *scope, const Node *target)
{
    if (target->kind == NODE_NAME) {
        scope_declare(scope, target->name);
    } else {
        for (const Node *item = target->items; item != NULL; item = item->next) {
            declare_target(scope, item);
        }
    }
}

/* Expects an item on top of the stack; leaves it there and pushes the result of the loop's
 * condition. */
static bool compile_filter_test(Compiler *c, const Level *outer, const Node *node)
{
    Scope scope;
    scope_init(&scope, outer->scope, &c->unit->slots);
    declare_target(&scope, node->target);
    scope_analyze_expression(&scope, node->test);
    compile_scope_entry(c, &scope, node);
    Level level = { .scope = &scope, .emit = outer->emit, .check_output = outer->check_output };
    emit(c, INS_DUP, 0, 0, 0, 1, node->target);
    return compile_target(c, &level, node->target) && compile_expression(c, &level, node->test);
}

/* Replaces the iterable on top of the stack with the list of items that satisfy the condition. */
static bool compile_prefilter(Compiler *c, const Level *level, const Node *node)
{
    emit(c, INS_LOOP_BEGIN, 0, NO_SLOT, 0, 0, node);
    uint32_t next = emit(c, INS_LOOP_NEXT, 0, 4, 0, 1, node);
    if (!compile_filter_test(c, level, node)) {
        return false;
    }
    uint32_t skip = emit(c, INS_JUMP_FALSE, 0, 0, 0, -1, node);
    emit(c, INS_LOOP_COLLECT, 0, 0, 0, -1, node);
    emit(c, INS_JUMP, 0, 0, next, 0, node);
    patch_to_here(c, skip);
    c->unit->stack++; /* the item is still on the stack */
    emit(c, INS_POP, 0, 0, 0, -1, node);
    emit(c, INS_JUMP, 0, 0, next, 0, node);
    patch_to_here(c, next);
    emit(c, INS_LOOP_COLLECTED, 0, 0, 0, 0, node);
    return true;
}

/* Compiles the loop itself, over the iterable on top of the stack. */
static bool compile_loop(Compiler *c, const Level *outer, const Node *node, bool extended)
{
    bool prefilter = node->test != NULL && extended;
    if (prefilter && !compile_prefilter(c, outer, node)) {
        return false;
    }
    Scope scope;
    scope_init(&scope, outer->scope, &c->unit->slots);
    uint16_t loop_slot = NO_SLOT;
    if (extended) {
        loop_slot = scope_declare(&scope, STR("loop"))->slot;
    }
    declare_target(&scope, node->target);
    scope_analyze(&scope, node->body);
    emit(c, INS_LOOP_BEGIN, 0, loop_slot, 0, 0, node);
    Unwind unwind = { .kind = UNWIND_LOOP, .outer = c->unit->unwind };
    c->unit->unwind = &unwind;
    uint32_t next = emit(c, INS_LOOP_NEXT, 0, 0, 0, 1, node);
    unwind.next_label = next;
    uint32_t skip = 0;
    bool inline_test = node->test != NULL && !prefilter;
    if (inline_test) {
        if (!compile_filter_test(c, outer, node)) {
            return false;
        }
        skip = emit(c, INS_JUMP_FALSE, 0, 0, 0, -1, node);
    }
    Level level = { .scope = &scope, .emit = outer->emit, .check_output = outer->check_output };
    if (!compile_target(c, &level, node->target)) {
        return false;
    }
    compile_scope_entry(c, &scope, node);
    if (!compile_statements(c, &level, node->body)) {
        return false;
    }
    if (node->else_body != NULL) {
        emit(c, INS_LOOP_RAN, 0, 0, 0, 0, node);
    }
    emit(c, INS_JUMP, 0, 0, next, 0, node);
    if (inline_test) {
        patch_to_here(c, skip);
        c->unit->stack++;
        emit(c, INS_POP, 0, 0, 0, -1, node);
        emit(c, INS_JUMP, 0, 0, next, 0, node);
    }
    patch_to_here(c, next);
    uint32_t cost = c->unit->count - next;
    c->unit->code[next].b = (uint16_t)(cost > UINT16_MAX ? UINT16_MAX : cost);
    c->unit->unwind = unwind.outer;
    for (Patch *patch = unwind.breaks; patch != NULL; patch = patch->next) {
        patch_to_here(c, patch->instruction);
    }
    if (node->else_body == NULL) {
        emit(c, INS_LOOP_END, 0, 0, 0, -1, node);
        return true;
    }
    uint32_t end = emit(c, INS_LOOP_ELSE, 0, 0, 0, -1, node);
    Scope else_scope;
    scope_init(&else_scope, outer->scope, &c->unit->slots);
    scope_analyze(&else_scope, node->else_body);
    compile_scope_entry(c, &else_scope, node);
    Level else_level = level;
    else_level.scope = &else_scope;
    if (!compile_statements(c, &else_level, node->else_body)) {
        return false;
    }
    patch_to_here(c, end);
    return true;
}

static bool compile_recursive_loop(Compiler *c, const Level *outer, const Node *node)
{
    c->unit->slots.captured = true;
    Unit unit;
    unit_begin(c, &unit, FUNCTION_LOOP, STR("loop"));
    uint16_t iterable = function_scope_add_slot(&unit.slots, STR("loop"));
    unit.function->loop_slot = iterable;
    Scope scope;
    scope_init(&scope, outer->scope, &unit.slots);
    Level level = { .scope = &scope, .emit = outer->emit, .check_output = outer->check_output };
    emit(c, INS_LOAD, 0, 0, iterable, 1, node);
    if (!compile_loop(c, &level, node, true)) {
        return false;
    }
    emit(c, INS_RETURN, 0, 0, 0, 0, NULL);
    if (!unit_end(c, node)) {
        return false;
    }
    emit(c, INS_LOOP_RECURSIVE, 0, 0, add_function(c, unit.function), -1, node);
    return true;
}

bool compile_for(Compiler *c, const Level *level, const Node *node)
{
    bool extended = needs_loop_variable(c, node);
    if (extended) {
        const Node *assigned = find_loop_target(node->target);
        assigned = assigned != NULL ? assigned : find_loop_assignment(node->body);
        if (assigned != NULL) {
            return compile_fail(c, FAULT_ASSERTION, assigned,
                                "Can't assign to special loop variable in for-loop");
        }
    }
    if (!compile_expression(c, level, node->iterable)) {
        return false;
    }
    return node->recursive ? compile_recursive_loop(c, level, node)
                           : compile_loop(c, level, node, extended);
}
