/* Builds a program: instructions, tables of names and constants, and functions. While tables still
 * grow, operands are indexes into them; link_function() replaces the indexes with pointers when the
 * tables are final. */
#include "lang/template/compile.h"

#include "base/bug.h"
#include "lang/template/compiler.h"
#include "lang/template/runtime.h"

bool compile_fail(Compiler *c, FaultClass class, const Node *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *c->fault = (Fault){ .class = class,
                         .message = arena_format_v(c->arena, format, args),
                         .offset = node == NULL ? 0 : node->offset,
                         .span = node == NULL ? 0 : node->span };
    va_end(args);
    return false;
}

/* Returns space for one more item at the end of an array that grows by doubling. */
static void *grow(Arena *arena, void *items, uint32_t count, uint32_t *cap, size_t size)
{
    if (count < *cap) {
        return items;
    }
    uint32_t larger = *cap == 0 ? 8 : *cap * 2;
    items = arena_grow(arena, items, *cap * size, larger * size);
    *cap = larger;
    return items;
}

uint32_t emit(Compiler *c, Opcode op, uint8_t a, uint16_t b, uint32_t operand, int stack,
              const Node *node)
{
    Unit *unit = c->unit;
    if (unit->count == unit->cap) {
        uint32_t cap = unit->cap;
        unit->code = grow(c->scratch, unit->code, unit->count, &cap, sizeof(Instruction));
        unit->origins = grow(c->scratch, unit->origins, unit->count, &unit->cap, sizeof(Origin));
    }
    unit->code[unit->count] = (Instruction){ .op = (uint8_t)op, .a = a, .b = b, .c = operand };
    unit->origins[unit->count] = (Origin){
        .offset = node == NULL ? 0 : node->offset,
        .span = node == NULL              ? 0
                : node->span < UINT16_MAX ? (uint16_t)node->span
                                          : UINT16_MAX,
        .stack = unit->stack < UINT16_MAX ? (uint16_t)unit->stack : UINT16_MAX,
    };
    unit->stack = (uint32_t)((int)unit->stack + stack);
    if (unit->stack > unit->stack_max) {
        unit->stack_max = unit->stack;
    }
    return unit->count++;
}

void patch_to_here(Compiler *c, uint32_t instruction)
{
    c->unit->code[instruction].c = c->unit->count;
}

uint32_t add_name(Compiler *c, Str text)
{
    MapEntry *entry = map_find_str(c->name_index, text);
    if (entry != NULL) {
        return (uint32_t)entry->value.integer;
    }
    Template *t = c->template;
    t->names = grow(c->arena, t->names, t->name_count, &c->name_cap, sizeof(Name));
    Name *name = &t->names[t->name_count];
    *name = (Name){ .text = arena_copy(c->arena, text), .hash = hash_str(text), .hint = NO_HINT };
    name->key_head = VALUE_HEAD(VALUE_STRING, 0, text.len);
    name_ends(text.data, text.len, &name->first, &name->last);
    name->global = global_find(text);
    name->loop_attribute = (uint8_t)loop_attribute_from_name(text);
    for (int kind = 0; kind < VALUE_OBJECT; kind++) {
        name->methods[kind] = method_find((ValueKind)kind, text);
    }
    name->is_map_attribute = name->methods[VALUE_MAP] != NULL || str_eq(text, STR("__class__"));
    map_append(c->scratch, c->name_index, value_string(name->text), value_int(t->name_count));
    return t->name_count++;
}

uint32_t add_constant(Compiler *c, Value value)
{
    Template *t = c->template;
    bool text = value.kind == VALUE_STRING && value.flags == 0;
    if (text) {
        MapEntry *entry = map_find_str(c->string_index, value_str(value));
        if (entry != NULL) {
            return (uint32_t)entry->value.integer;
        }
    }
    t->constants = grow(c->arena, t->constants, t->constant_count, &c->constant_cap, sizeof(Value));
    t->constants[t->constant_count] = value_copy(c->arena, value);
    if (text) {
        map_append(c->scratch, c->string_index, t->constants[t->constant_count],
                   value_int(t->constant_count));
    }
    return t->constant_count++;
}

uint32_t add_data(Compiler *c, Str text)
{
    Template *t = c->template;
    t->texts = grow(c->arena, t->texts, t->data_count, &c->data_cap, sizeof(Str));
    bool is_in_template = t->text.len > 0 && text.data >= t->text.data &&
                          text.data + text.len <= t->text.data + t->text.len;
    t->texts[t->data_count] = is_in_template ? text : data_copy(c->arena, text);
    return t->data_count++;
}

uint32_t add_native_call(Compiler *c, const Native *native, uint32_t count, const Value *constants,
                         uint32_t constant_count)
{
    Template *t = c->template;
    t->native_calls = grow(c->arena, t->native_calls, t->native_call_count, &c->native_call_cap,
                           sizeof(NativeCall));
    Value *copies = NULL;
    if (constant_count > 0) {
        uint32_t padded = (constant_count + 1) & ~1u;
        copies = ARENA_ARRAY(c->arena, Value, padded);
        for (uint32_t i = 0; i < constant_count; i++) {
            copies[i] = value_copy(c->arena, constants[i]);
        }
        copies[padded - 1] = constant_count < padded ? value_missing() : copies[padded - 1];
    }
    t->native_calls[t->native_call_count] = (NativeCall){
        .native = native,
        .constants = copies,
        .constant_pairs = (constant_count + 1) / 2,
        .count = count,
        .pushed = (count - constant_count) * (uint32_t)sizeof(Value),
    };
    return t->native_call_count++;
}

CallSite *add_site(Compiler *c, uint32_t *index)
{
    Template *t = c->template;
    t->sites = grow(c->arena, t->sites, t->site_count, &c->site_cap, sizeof(CallSite));
    *index = t->site_count++;
    t->sites[*index] = (CallSite){ 0 };
    return &t->sites[*index];
}

uint32_t add_function(Compiler *c, Function *function)
{
    Template *t = c->template;
    t->functions =
        grow(c->arena, t->functions, t->function_count, &c->function_cap, sizeof(Function *));
    t->functions[t->function_count] = function;
    return t->function_count++;
}

bool add_local_set(Compiler *c, const Level *level, const Node *node, uint32_t *index)
{
    enum {
        VISITS_MAX = 1 << 20 /* each include lists the variables of all enclosing scopes */
    };
    if (level->scope->local_set != 0) {
        *index = level->scope->local_set - 1;
        return true;
    }
    LocalRef *refs = NULL;
    uint32_t count = 0, cap = 0;
    Map *seen = map_new(c->scratch, 0);
    for (Scope *scope = level->scope; scope != NULL; scope = scope->parent) {
        uint16_t distance = 0;
        for (FunctionScope *f = &c->unit->slots; f != scope->function; f = f->outer) {
            distance++;
        }
        for (Symbol *symbol = scope->symbols.first; symbol != NULL; symbol = symbol->next) {
            if (++c->locals_visited > VISITS_MAX) {
                return compile_fail(c, FAULT_LIMIT, node,
                                    "the template has too many variables around its includes");
            }
            if (!symbol->stored || map_find_str(seen, symbol->name) != NULL) {
                continue;
            }
            map_append(c->scratch, seen, value_string(symbol->name), value_null());
            refs = grow(c->arena, refs, count, &cap, sizeof(LocalRef));
            refs[count++] = (LocalRef){ .name = add_name(c, symbol->name),
                                        .slot = symbol->slot,
                                        .level = distance };
        }
    }
    Template *t = c->template;
    t->local_sets =
        grow(c->arena, t->local_sets, t->local_set_count, &c->local_set_cap, sizeof(LocalSet));
    t->local_sets[t->local_set_count] = (LocalSet){ refs, count };
    *index = t->local_set_count++;
    level->scope->local_set = t->local_set_count;
    return true;
}

void unit_begin(Compiler *c, Unit *unit, FunctionKind kind, Str name)
{
    Function *function = ARENA_NEW(c->arena, Function);
    *function = (Function){ .template = c->template,
                            .kind = kind,
                            .name = arena_copy(c->arena, name),
                            .varargs_slot = NO_SLOT,
                            .kwargs_slot = NO_SLOT,
                            .caller_slot = NO_SLOT,
                            .loop_slot = NO_SLOT };
    *unit = (Unit){ .outer = c->unit, .function = function };
    unit->slots.arena = c->scratch;
    unit->slots.outer = c->unit == NULL ? NULL : &c->unit->slots;
    c->unit = unit;
}

bool unit_end(Compiler *c, const Node *node)
{
    Unit *unit = c->unit;
    Function *function = unit->function;
    c->unit = unit->outer;
    if (unit->slots.overflow || unit->count > INT32_MAX / 2) {
        return compile_fail(c, FAULT_LIMIT, node, "the template has too many variables");
    }
    BUG_IF(unit->stack != 0);
    function->code = ARENA_ARRAY(c->arena, Instruction, unit->count);
    memcpy(function->code, unit->code, unit->count * sizeof(Instruction));
    function->origins = ARENA_ARRAY(c->arena, Origin, unit->count);
    memcpy(function->origins, unit->origins, unit->count * sizeof(Origin));
    function->cost = unit->count;
    function->slot_count = unit->slots.slot_count;
    function->slot_names = ARENA_ARRAY(c->arena, Str, function->slot_count);
    for (uint32_t i = 0; i < function->slot_count; i++) {
        function->slot_names[i] = arena_copy(c->arena, unit->slots.slot_names[i]);
    }
    /* Calls pad absent arguments in place. */
    function->stack_max = unit->stack_max + NATIVE_PARAMS_MAX;
    function->captured = unit->slots.captured;
    return true;
}

/* The start of a top-level function: `self` if it is used, then the variables of the scope. */
static bool compile_root(Compiler *c, const Node *body)
{
    Unit unit;
    unit_begin(c, &unit, FUNCTION_ROOT, c->template->name);
    Scope scope;
    scope_init(&scope, NULL, &unit.slots);
    if (nodes_use_name(&c->searches[SPECIAL_SELF], body)) {
        Symbol *self = scope_declare(&scope, STR("self"));
        emit(c, INS_SELF, 0, 0, 0, 1, body);
        emit(c, INS_STORE, 0, 0, self->slot, -1, body);
    }
    scope_analyze(&scope, body);
    compile_scope_entry(c, &scope, body);
    Level level = { .scope = &scope,
                    .emit = c->settings->autoescape ? EMIT_ESCAPED : EMIT_PLAIN,
                    .top = true,
                    .root = true,
                    .check_output = true };
    if (!compile_statements(c, &level, body)) {
        return false;
    }
    emit(c, INS_RETURN, 0, 0, 0, 0, NULL);
    if (!unit_end(c, body)) {
        return false;
    }
    c->template->root = unit.function;
    return true;
}

static bool compile_block(Compiler *c, const Node *block)
{
    Unit unit;
    unit_begin(c, &unit, FUNCTION_BLOCK, block->name);
    Scope scope;
    scope_init(&scope, NULL, &unit.slots);
    static const struct {
        SpecialName name;
        Opcode op;
    } specials[] = { { SPECIAL_SELF, INS_SELF }, { SPECIAL_SUPER, INS_SUPER } };
    for (size_t i = 0; i < COUNT_OF(specials); i++) {
        NameSearch *search = &c->searches[specials[i].name];
        if (nodes_use_name(search, block->body)) {
            Symbol *symbol = scope_declare(&scope, search->name);
            emit(c, specials[i].op, 0, 0, 0, 1, block);
            emit(c, INS_STORE, 0, 0, symbol->slot, -1, block);
        }
    }
    scope_analyze(&scope, block->body);
    compile_scope_entry(c, &scope, block);
    Level level = { .scope = &scope, .emit = c->settings->autoescape ? EMIT_ESCAPED : EMIT_PLAIN };
    if (!compile_statements(c, &level, block->body)) {
        return false;
    }
    emit(c, INS_RETURN, 0, 0, 0, 0, NULL);
    if (!unit_end(c, block)) {
        return false;
    }
    Template *t = c->template;
    t->blocks = grow(c->arena, t->blocks, t->block_count, &c->block_cap, sizeof(BlockEntry));
    t->blocks[t->block_count++] = (BlockEntry){ .name = unit.function->name,
                                                .function = unit.function,
                                                .required = block->required };
    return true;
}

/* Collects all blocks of the template at any depth; names must be unique. */
static bool collect_blocks(Compiler *c, const Node *nodes, Map *names, List *out)
{
    for (const Node *node = nodes; node != NULL; node = node->next) {
        if (node->kind == NODE_BLOCK) {
            if (map_find_str(names, node->name) != NULL) {
                return compile_fail(c, FAULT_ASSERTION, node, "block '%" STR_FMT "' defined twice",
                                    STR_ARG(node->name));
            }
            map_append(c->scratch, names, value_string(node->name), value_null());
            c->has_scoped_blocks |= node->scoped;
            list_push(c->scratch, out, (Value){ .kind = VALUE_OBJECT, .object = (Object *)node });
        }
        if (!collect_blocks(c, node->body, names, out) ||
            !collect_blocks(c, node->else_body, names, out)) {
            return false;
        }
    }
    return true;
}

static void compiler_init(Compiler *c, Template *template, Arena *scratch, Fault *fault)
{
    *c = (Compiler){ .template = template,
                     .arena = &template->owner->arena,
                     .scratch = scratch,
                     .settings = &template->owner->settings,
                     .fault = fault };
    c->name_index = map_new(scratch, 0);
    c->string_index = map_new(scratch, 0);
    static const char *const specials[SPECIAL_NAMES] = {
        [SPECIAL_LOOP] = "loop",     [SPECIAL_SELF] = "self",     [SPECIAL_SUPER] = "super",
        [SPECIAL_CALLER] = "caller", [SPECIAL_KWARGS] = "kwargs", [SPECIAL_VARARGS] = "varargs",
    };
    for (size_t i = 0; i < SPECIAL_NAMES; i++) {
        c->searches[i] = (NameSearch){ .arena = scratch, .name = str_from_c(specials[i]) };
    }
}

/* Replaces indexes in the instructions with pointers into the tables, which no longer move. */
static void link_function(const Function *function)
{
    const Template *t = function->template;
    for (uint32_t i = 0; i < function->cost; i++) {
        Instruction *ins = &function->code[i];
        switch ((Opcode)ins->op) {
        case INS_CONST: ins->constant = &t->constants[ins->c]; break;
        case INS_LOAD_NAME:
        case INS_EMIT_NAME:
        case INS_GET_ATTR:
        case INS_LOAD_ATTR:
        case INS_EMIT_ATTR: ins->name = &t->names[ins->c]; break;
        case INS_FILTER:
        case INS_FILTER_EMIT:
        case INS_TEST: ins->native_call = &t->native_calls[ins->c]; break;
        case INS_CALL:
        case INS_CALL_EMIT: ins->site = &t->sites[ins->c]; break;
        case INS_EMIT_DATA:
            ins->data = t->texts[ins->c].data;
            ins->c = (uint32_t)t->texts[ins->c].len;
            break;
        default: break;
        }
    }
}

static void link_template(const Template *t)
{
    link_function(t->root);
    for (uint32_t i = 0; i < t->function_count; i++) {
        link_function(t->functions[i]);
    }
    for (uint32_t i = 0; i < t->block_count; i++) {
        link_function(t->blocks[i].function);
    }
}

/* Unknown filters and tests were only recorded so far. Adds them to the fault, in source order. */
static bool finish_compile(Compiler *c, bool compiled)
{
    if (c->first_unknown == NULL) {
        if (compiled) {
            link_template(c->template);
        }
        return compiled;
    }
    if (compiled) {
        *c->fault = *c->first_unknown;
    } else if (c->first_unknown->offset < c->fault->offset) {
        Fault *later = ARENA_NEW(c->arena, Fault);
        *later = *c->fault;
        c->last_unknown->next = later;
        *c->fault = *c->first_unknown;
    } else {
        c->fault->next = c->first_unknown;
    }
    return false;
}

bool template_compile(Template *template, Node *body, Fault *fault)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Compiler c;
    compiler_init(&c, template, &scratch, fault);
    List *blocks = list_new(&scratch, 0);
    bool ok = collect_blocks(&c, body, map_new(&scratch, 0), blocks) && compile_root(&c, body);
    for (uint32_t i = 0; i < blocks->len && ok; i++) {
        ok = compile_block(&c, (const Node *)blocks->items[i].object);
    }
    return finish_compile(&c, ok);
}

bool expression_compile(Template *template, Node *expression, Fault *fault)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Compiler c;
    compiler_init(&c, template, &scratch, fault);
    Unit unit;
    unit_begin(&c, &unit, FUNCTION_EXPRESSION, template->name);
    Scope scope;
    scope_init(&scope, NULL, &unit.slots);
    Level level = { .scope = &scope, .emit = c.settings->autoescape ? EMIT_ESCAPED : EMIT_PLAIN };
    if (!compile_expression(&c, &level, expression)) {
        return finish_compile(&c, false);
    }
    emit(&c, INS_RETURN_VALUE, 0, 0, 0, -1, expression);
    bool ok = unit_end(&c, expression);
    template->root = unit.function;
    return finish_compile(&c, ok);
}
