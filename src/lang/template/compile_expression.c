/* Compiles expressions. compile_expression() pushes exactly one value on the operand stack; each
 * emit() passes the growth of the stack, so that the maximum is known when the function ends.
 *
 * Calls of filters and tests are bound at compile time if every argument matches a declared
 * parameter; otherwise, as with *args, they are bound at run time through a CallSite. Trailing
 * constant arguments are stored in the program and not pushed. */
#include <stdio.h>
#include <string.h>

#include "lang/template/compiler.h"

static bool compile_name(Compiler *c, const Level *level, const Node *node)
{
    Symbol *symbol = scope_use(level->scope, &c->unit->slots, node->name);
    if (symbol->start == START_LAZY) {
        emit(c, INS_LOAD_NAME, 0, symbol->slot, add_name(c, node->name), 1, node);
        return true;
    }
    uint16_t distance = 0;
    for (FunctionScope *f = &c->unit->slots; f != symbol->function; f = f->outer) {
        distance++;
    }
    emit(c, distance == 0 ? INS_LOAD : INS_LOAD_OUTER, 0, distance, symbol->slot, 1, node);
    return true;
}

static bool compile_items(Compiler *c, const Level *level, const Node *items)
{
    for (const Node *item = items; item != NULL; item = item->next) {
        if (!compile_expression(c, level, item)) {
            return false;
        }
    }
    return true;
}

/* Concatenates in groups, because an instruction has a 16-bit operand count. */
static bool compile_concat(Compiler *c, const Level *level, const Node *node)
{
    enum {
        GROUP = 1000
    };
    int count = 0;
    for (const Node *item = node->items; item != NULL; item = item->next) {
        if (!compile_expression(c, level, item)) {
            return false;
        }
        if (++count == GROUP && item->next != NULL) {
            emit(c, INS_CONCAT, 0, GROUP, 0, 1 - GROUP, node);
            count = 1;
        }
    }
    emit(c, INS_CONCAT, 0, (uint16_t)count, 0, 1 - count, node);
    return true;
}

static bool compile_compare(Compiler *c, const Level *level, const Node *node)
{
    if (!compile_expression(c, level, node->left)) {
        return false;
    }
    Patch *ends = NULL;
    for (const Node *operand = node->items; operand != NULL; operand = operand->next) {
        if (!compile_expression(c, level, operand->left)) {
            return false;
        }
        if (operand->next == NULL) {
            emit(c, INS_COMPARE, operand->op, 0, 0, -1, operand);
        } else {
            Patch *end = ARENA_NEW(c->scratch, Patch);
            end->instruction = emit(c, INS_COMPARE_CHAIN, operand->op, 0, 0, -1, operand);
            end->next = ends;
            ends = end;
        }
    }
    for (; ends != NULL; ends = ends->next) {
        patch_to_here(c, ends->instruction);
    }
    return true;
}

static bool compile_logic(Compiler *c, const Level *level, const Node *node)
{
    if (!compile_expression(c, level, node->left)) {
        return false;
    }
    Opcode op = node->op == OP_AND ? INS_JUMP_FALSE_OR_POP : INS_JUMP_TRUE_OR_POP;
    uint32_t end = emit(c, op, 0, 0, 0, -1, node);
    if (!compile_expression(c, level, node->right)) {
        return false;
    }
    patch_to_here(c, end);
    return true;
}

static bool compile_condition(Compiler *c, const Level *outer, const Node *node)
{
    Level level = *outer;
    level.soft = true;
    if (!compile_expression(c, &level, node->test)) {
        return false;
    }
    uint32_t else_body = emit(c, INS_JUMP_FALSE, 0, 0, 0, -1, node);
    if (!compile_expression(c, &level, node->left)) {
        return false;
    }
    uint32_t end = emit(c, INS_JUMP, 0, 0, 0, -1, node);
    patch_to_here(c, else_body);
    if (node->right != NULL) {
        if (!compile_expression(c, &level, node->right)) {
            return false;
        }
    } else {
        Source source = { .text = c->template->text, .first_line = 1 };
        Str text = arena_format(c->scratch,
                                "the inline if-expression on line %u evaluated to false and no "
                                "else section was defined.",
                                source_location(&source, node->offset).line);
        emit(c, INS_UNDEFINED, 1, 0, add_constant(c, value_string(text)), 1, node);
    }
    patch_to_here(c, end);
    return true;
}

/* `op`: GET_ITEM, or GET_CALLEE if the element is called. */
static bool compile_element(Compiler *c, const Level *level, const Node *node, Opcode op)
{
    if (!compile_expression(c, level, node->left)) {
        return false;
    }
    const Node *key = node->right;
    if (key->kind != NODE_SLICE) {
        if (!compile_expression(c, level, key)) {
            return false;
        }
        emit(c, op, 0, 0, 0, -1, node);
        return true;
    }
    const Node *bounds[] = { key->left, key->right, key->test };
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        if (bounds[i] == NULL) {
            emit(c, INS_CONST, 0, 0, add_constant(c, value_null()), 1, key);
        } else if (!compile_expression(c, level, bounds[i])) {
            return false;
        }
    }
    emit(c, INS_GET_SLICE, 0, 0, 0, -3, node);
    return true;
}

/* The index of a declared parameter, or NATIVE_PARAMS_MAX. */
static uint32_t find_param(const Native *native, uint32_t count, Str name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (str_eq_c(name, native->params[i].name)) {
            return i;
        }
    }
    return NATIVE_PARAMS_MAX;
}

/* Binds the arguments to the parameters of the native at compile time. Returns false if that is
 * impossible and the call must be bound, or rejected, at run time. `params[0]` is the filtered
 * value. Parameters that were not passed are NULL. */
static bool bind_arguments(const Native *native, const Arguments *args,
                           const Node *params[NATIVE_PARAMS_MAX])
{
    uint32_t count = native_param_count(native);
    uint32_t argument_count = 1 + args->positional_count;
    if (args->dynamic != NULL || args->dynamic_keywords != NULL ||
        (argument_count > count &&
         (!(native->flags & NATIVE_VARIADIC) || args->keywords != NULL))) {
        return false;
    }
    uint32_t index = 1;
    for (const Node *arg = args->positional; arg != NULL && index < count; arg = arg->next) {
        params[index++] = arg;
    }
    for (const Keyword *keyword = args->keywords; keyword != NULL; keyword = keyword->next) {
        uint32_t param = find_param(native, count, keyword->name);
        if (param == NATIVE_PARAMS_MAX || param == 0 || params[param] != NULL) {
            return false;
        }
        params[param] = keyword->value;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (params[i] == NULL && native->params[i].fallback == NULL) {
            return false;
        }
    }
    return true;
}

static bool is_constant(const Node *argument)
{
    return argument == NULL || argument->kind == NODE_CONST || argument->kind == NODE_DATA;
}

/* Compiles a call without its callee. `caller`, if any, is passed as the keyword argument. */
static bool compile_call_arguments(Compiler *c, const Level *level, const Node *node,
                                   const uint32_t *caller, uint32_t *site)
{
    const Arguments *args = &node->args;
    if (!compile_items(c, level, args->positional)) {
        return false;
    }
    uint32_t keyword_count = args->keyword_count + (caller != NULL);
    Str *keywords = ARENA_ARRAY(c->arena, Str, keyword_count);
    uint32_t index = 0;
    for (const Keyword *keyword = args->keywords; keyword != NULL; keyword = keyword->next) {
        if (!compile_expression(c, level, keyword->value)) {
            return false;
        }
        keywords[index++] = arena_copy(c->arena, keyword->name);
    }
    if (caller != NULL) {
        emit(c, INS_MACRO, 0, 0, *caller, 1, node);
        keywords[index++] = STR("caller");
    }
    if ((args->dynamic != NULL && !compile_expression(c, level, args->dynamic)) ||
        (args->dynamic_keywords != NULL && !compile_expression(c, level, args->dynamic_keywords))) {
        return false;
    }
    CallSite *call = add_site(c, site);
    bool dynamic = args->dynamic != NULL, dynamic_keywords = args->dynamic_keywords != NULL;
    *call =
        (CallSite){ .width = args->positional_count + keyword_count + dynamic + dynamic_keywords,
                    .positional = args->positional_count,
                    .keyword_count = keyword_count,
                    .keywords = keywords,
                    .dynamic = dynamic,
                    .dynamic_keywords = dynamic_keywords,
                    .keyword_slots = ARENA_ARRAY(c->arena, uint16_t, keyword_count) };
    return true;
}

/* Compiles a filter or test of the value on top of the stack. */
static bool compile_native(Compiler *c, const Level *level, const Node *node, const Native *native,
                           Opcode op)
{
    const Node *params[NATIVE_PARAMS_MAX] = { NULL };
    if (!bind_arguments(native, &node->args, params)) {
        uint32_t site;
        if (!compile_call_arguments(c, level, node, NULL, &site)) {
            return false;
        }
        CallSite *call = &c->template->sites[site];
        call->native = native;
        emit(c, op == INS_FILTER ? INS_FILTER_SITE : INS_TEST_SITE, 0, 0, site, -(int)call->width,
             node);
        return true;
    }
    uint32_t count = native_param_count(native);
    uint32_t argument_count = 1 + node->args.positional_count;
    uint32_t pushed = count; /* number of arguments up to the last one that is not constant */
    while (argument_count <= count && pushed > 1 && is_constant(params[pushed - 1])) {
        pushed--;
    }
    for (uint32_t i = 1; i < pushed; i++) {
        if (params[i] == NULL) {
            emit(c, INS_CONST, 0, 0, add_constant(c, value_missing()), 1, node);
        } else if (!compile_expression(c, level, params[i])) {
            return false;
        }
    }
    Value constants[NATIVE_PARAMS_MAX];
    uint32_t constant_count = count - pushed;
    for (uint32_t i = 0; i < constant_count; i++) {
        const Node *param = params[pushed + i];
        constants[i] = param == NULL ? value_missing() : param->value;
    }
    uint32_t skipped = 1;
    for (const Node *arg = node->args.positional; arg != NULL; arg = arg->next, skipped++) {
        if (skipped >= count) {
            if (!compile_expression(c, level, arg)) {
                return false;
            }
            pushed++;
        }
    }
    if (pushed > UINT16_MAX) {
        return compile_fail(c, FAULT_LIMIT, node, "too many arguments");
    }
    uint32_t call = add_native_call(c, native, pushed + constant_count, constants, constant_count);
    emit(c, op, 0, (uint16_t)pushed, call, 1 - (int)pushed, node);
    return true;
}

/* Names that are known from other tools. */
static const char *foreign_native(Str name)
{
    static const struct {
        const char *names, *hint;
    } rows[] = {
        { "|changed|", "write \"steps['NAME'].Changed\" instead" },
        { "|failed|failure|", "write \"steps['NAME'].Result == 'failed'\" instead" },
        { "|succeeded|success|successful|", "write \"steps['NAME'].Result != 'failed'\" instead" },
        { "|skipped|", "write \"steps['NAME'].Result == 'skipped'\" instead" },
        { "|password_hash|",
          "hash the password with 'openssl passwd -6', and store the hash as a secret variable" },
        { "|json_query|", "write selectattr() and map() instead" },
        { "|vault|unvault|", "mark the variable with '!secret' instead" },
        { "|exists|file|directory|link|link_exists|mount|expanduser|realpath|fileglob|",
          "use a macro to query the machine" },
    };
    char wanted[40];
    int len = snprintf(wanted, sizeof wanted, "|%" STR_FMT "|", STR_ARG(name));
    for (size_t i = 0; i < COUNT_OF(rows) && len < (int)sizeof wanted; i++) {
        if (strstr(rows[i].names, wanted) != NULL) {
            return rows[i].hint;
        }
    }
    return NULL;
}

/* In a branch that may not run, an unknown name is an error only when it is reached. Elsewhere
 * compilation fails, but continues to find further unknown names. */
static bool unknown_native(Compiler *c, const Level *level, const Node *node, const char *what,
                           bool (*suggest)(Str, Str *))
{
    enum {
        REPORTED_MAX = 50
    };
    Str text = arena_format(c->arena, "unknown %s '%" STR_FMT "'", what, STR_ARG(node->name));
    emit(c, INS_RAISE, FAULT_RUNTIME, 0, add_constant(c, value_string(text)), 0, node);
    if (level->soft || c->unknown_count++ >= REPORTED_MAX) {
        return true;
    }
    Fault *fault = ARENA_NEW(c->arena, Fault);
    *fault = (Fault){
        .class = FAULT_ASSERTION, .message = text, .offset = node->offset, .span = node->span
    };
    Str closest;
    const char *foreign = foreign_native(node->name);
    if (foreign != NULL) {
        fault->hint = str_from_c(foreign);
    } else if (suggest(node->name, &closest)) {
        fault->hint = arena_format(c->arena, "did you mean '%" STR_FMT "'?", STR_ARG(closest));
        fault->fix = arena_copy(c->arena, closest);
    }
    if (c->first_unknown == NULL) {
        c->first_unknown = fault;
    } else {
        c->last_unknown->next = fault;
    }
    c->last_unknown = fault;
    return true;
}

static bool compile_filter(Compiler *c, const Level *level, const Node *node)
{
    const Native *native = filter_find(node->name);
    if (native == NULL) {
        return unknown_native(c, level, node, "filter", filter_suggest);
    }
    return compile_native(c, level, node, native, INS_FILTER);
}

bool compile_filter_chain(Compiler *c, const Level *level, const Node *node)
{
    if (node->left != NULL && !compile_filter_chain(c, level, node->left)) {
        return false;
    }
    return compile_filter(c, level, node);
}

static bool compile_test(Compiler *c, const Level *level, const Node *node)
{
    bool defined = str_eq(node->name, STR("defined"));
    if ((defined || str_eq(node->name, STR("undefined"))) && node->args.positional == NULL &&
        node->args.keywords == NULL && node->args.dynamic == NULL &&
        node->args.dynamic_keywords == NULL) {
        emit(c, INS_IS_DEFINED, !defined, 0, 0, 0, node);
        return true;
    }
    const Native *native = test_find(node->name);
    if (native == NULL) {
        return unknown_native(c, level, node, "test", test_suggest);
    }
    return compile_native(c, level, node, native, INS_TEST);
}

bool compile_call(Compiler *c, const Level *level, const Node *node, Opcode op,
                  const uint32_t *caller)
{
    const Node *callee = node->left;
    bool is_emitted = op == INS_CALL_EMIT;
    bool method = callee->kind == NODE_ATTRIBUTE;
    bool element = callee->kind == NODE_ELEMENT;
    if (!(element ? compile_element(c, level, callee, INS_GET_CALLEE)
                  : compile_expression(c, level, method ? callee->left : callee))) {
        return false;
    }
    if (method && (node->args.positional != NULL || node->args.keywords != NULL ||
                   node->args.dynamic != NULL || node->args.dynamic_keywords != NULL)) {
        emit(c, INS_CHECK_ATTR, 0, 0, add_name(c, callee->name), 0, callee);
    }
    uint32_t site;
    if (!compile_call_arguments(c, level, node, caller, &site)) {
        return false;
    }
    int argument_count = (int)c->template->sites[site].width;
    if (method) {
        uint32_t name = add_name(c, callee->name);
        c->template->sites[site].name = name;
        op = is_emitted ? INS_CALL_METHOD_EMIT : INS_CALL_METHOD;
    }
    emit(c, op, (uint8_t)level->emit, 0, site, is_emitted ? -argument_count - 1 : -argument_count,
         node);
    return true;
}

static bool compile_binary(Compiler *c, const Level *level, const Node *node)
{
    if (node->op == OP_AND || node->op == OP_OR) {
        return compile_logic(c, level, node);
    }
    if (!compile_expression(c, level, node->left) || !compile_expression(c, level, node->right)) {
        return false;
    }
    emit(c, INS_BINARY, node->op, 0, 0, -1, node);
    return true;
}

static bool compile_unary(Compiler *c, const Level *level, const Node *node)
{
    if (!compile_expression(c, level, node->left)) {
        return false;
    }
    Opcode op = node->op == OP_NOT ? INS_NOT : node->op == OP_NEGATE ? INS_NEGATE : INS_POSITIVE;
    emit(c, op, 0, 0, 0, 0, node);
    return true;
}

static bool compile_attribute(Compiler *c, const Level *level, const Node *node)
{
    if (node->left->kind == NODE_NAME) {
        Symbol *symbol = scope_use(level->scope, &c->unit->slots, node->left->name);
        if (symbol->start != START_LAZY && symbol->function == &c->unit->slots) {
            emit(c, INS_LOAD_ATTR, 0, symbol->slot, add_name(c, node->name), 1, node);
            return true;
        }
    }
    if (!compile_expression(c, level, node->left)) {
        return false;
    }
    emit(c, INS_GET_ATTR, 0, 0, add_name(c, node->name), 0, node);
    return true;
}

bool compile_expression(Compiler *c, const Level *level, const Node *node)
{
    switch ((NodeKind)node->kind) {
    case NODE_CONST:
    case NODE_DATA: emit(c, INS_CONST, 0, 0, add_constant(c, node->value), 1, node); return true;
    case NODE_NAME: return compile_name(c, level, node);
    case NODE_TUPLE:
    case NODE_LIST:
        if (!compile_items(c, level, node->items)) {
            return false;
        }
        emit(c, node->kind == NODE_LIST ? INS_BUILD_LIST : INS_BUILD_TUPLE, 0, 0, node->count,
             1 - (int)node->count, node);
        return true;
    case NODE_DICT:
        for (const Node *pair = node->items; pair != NULL; pair = pair->next) {
            if (!compile_expression(c, level, pair->left) ||
                !compile_expression(c, level, pair->right)) {
                return false;
            }
        }
        emit(c, INS_BUILD_DICT, 0, 0, node->count, 1 - 2 * (int)node->count, node);
        return true;
    case NODE_CONDITION: return compile_condition(c, level, node);
    case NODE_FILTER:
        return compile_expression(c, level, node->left) && compile_filter(c, level, node);
    case NODE_TEST: return compile_expression(c, level, node->left) && compile_test(c, level, node);
    case NODE_CALL: return compile_call(c, level, node, INS_CALL, NULL);
    case NODE_ATTRIBUTE: return compile_attribute(c, level, node);
    case NODE_ELEMENT: return compile_element(c, level, node, INS_GET_ITEM);
    case NODE_CONCAT: return compile_concat(c, level, node);
    case NODE_COMPARE: return compile_compare(c, level, node);
    case NODE_BINARY: return compile_binary(c, level, node);
    case NODE_UNARY: return compile_unary(c, level, node);
    default: return compile_fail(c, FAULT_SYNTAX, node, "not allowed as an expression");
    }
}

bool expression_allocates(const Node *node)
{
    switch ((NodeKind)node->kind) {
    case NODE_CONST:
    case NODE_DATA:
    case NODE_NAME: return false;
    case NODE_ATTRIBUTE: return expression_allocates(node->left);
    case NODE_ELEMENT:
        return node->right->kind == NODE_SLICE || expression_allocates(node->left) ||
               expression_allocates(node->right);
    default: return true;
    }
}
