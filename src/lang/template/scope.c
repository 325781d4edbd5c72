/* Assigns names to slots. scope_analyze() visits the statements of one scope in source order and
 * records for each name whether it is loaded or stored first, which determines how its slot starts
 * (SymbolStart). It does not enter inner scopes: those are analyzed when they are compiled, with
 * this scope as their parent.
 *
 * The second half searches for uses of special names such as `loop` and `caller`, so that the
 * compiler can omit what a template does not use. */
#include "lang/template/scope.h"

uint16_t function_scope_add_slot(FunctionScope *function, Str name)
{
    if (function->slot_count >= NO_SLOT) {
        function->overflow = true;
        return 0;
    }
    if (function->slot_count == function->slot_cap) {
        uint32_t cap = function->slot_cap == 0 ? 8 : function->slot_cap * 2;
        function->slot_names = arena_grow(function->arena, function->slot_names,
                                          function->slot_cap * sizeof(Str), cap * sizeof(Str));
        function->slot_cap = cap;
    }
    function->slot_names[function->slot_count] = name;
    return (uint16_t)function->slot_count++;
}

void scope_init(Scope *scope, Scope *parent, FunctionScope *function)
{
    *scope = (Scope){ .parent = parent, .function = function };
}

enum {
    TABLE_LINEAR = 12
};

static Symbol *table_find(const SymbolTable *table, Str name)
{
    if (table->slots == NULL) {
        for (Symbol *symbol = table->first; symbol != NULL; symbol = symbol->next) {
            if (str_eq(symbol->name, name)) {
                return symbol;
            }
        }
        return NULL;
    }
    for (uint32_t pos = (uint32_t)hash_str(name) & table->mask; table->slots[pos] != NULL;
         pos = (pos + 1) & table->mask) {
        if (str_eq(table->slots[pos]->name, name)) {
            return table->slots[pos];
        }
    }
    return NULL;
}

static void table_insert(SymbolTable *table, Symbol *symbol)
{
    uint32_t pos = (uint32_t)hash_str(symbol->name) & table->mask;
    while (table->slots[pos] != NULL) {
        pos = (pos + 1) & table->mask;
    }
    table->slots[pos] = symbol;
}

static Symbol *table_add(SymbolTable *table, FunctionScope *function, Str name, SymbolStart start)
{
    Symbol *symbol = ARENA_NEW(function->arena, Symbol);
    *symbol = (Symbol){ .name = name,
                        .slot = function_scope_add_slot(function, name),
                        .start = (uint8_t)start,
                        .function = function };
    if (table->last == NULL) {
        table->first = symbol;
    } else {
        table->last->next = symbol;
    }
    table->last = symbol;
    table->count++;
    if (table->slots != NULL && table->count * 2 <= table->mask) {
        table_insert(table, symbol);
    } else if (table->count > TABLE_LINEAR) {
        table->mask = table->slots == NULL ? 63 : table->mask * 2 + 1;
        table->slots =
            arena_alloc_zero(function->arena, ((size_t)table->mask + 1) * sizeof(Symbol *));
        for (Symbol *each = table->first; each != NULL; each = each->next) {
            table_insert(table, each);
        }
    }
    return symbol;
}

static Symbol *find_own(Scope *scope, Str name)
{
    return table_find(&scope->symbols, name);
}

Symbol *scope_find(Scope *scope, Str name)
{
    for (; scope != NULL; scope = scope->parent) {
        Symbol *symbol = find_own(scope, name);
        if (symbol != NULL) {
            return symbol;
        }
    }
    return NULL;
}

static Symbol *define(Scope *scope, Str name, SymbolStart start)
{
    return table_add(&scope->symbols, scope->function, name, start);
}

static void mark_stored(Scope *scope, Symbol *symbol)
{
    if (symbol->stored) {
        return;
    }
    symbol->stored = true;
    if (scope->store_count == scope->store_cap) {
        uint32_t cap = scope->store_cap == 0 ? 8 : scope->store_cap * 2;
        scope->stores = arena_grow(scope->function->arena, scope->stores,
                                   scope->store_cap * sizeof(Symbol *), cap * sizeof(Symbol *));
        scope->store_cap = cap;
    }
    scope->stores[scope->store_count++] = symbol;
}

Symbol *scope_declare(Scope *scope, Str name)
{
    Symbol *symbol = find_own(scope, name);
    if (symbol == NULL) {
        symbol = define(scope, name, START_PARAMETER);
    }
    symbol->start = START_PARAMETER;
    mark_stored(scope, symbol);
    return symbol;
}

static void load(Scope *scope, Str name)
{
    if (scope_find(scope, name) == NULL) {
        define(scope, name, START_LAZY);
    }
}

static void inherit_start(Scope *scope, Symbol *symbol, SymbolStart fallback)
{
    symbol->outer = scope->parent == NULL ? NULL : scope_find(scope->parent, symbol->name);
    symbol->start = (uint8_t)(symbol->outer != NULL ? START_ALIAS : fallback);
}

static void store(Scope *scope, Str name)
{
    Symbol *symbol = find_own(scope, name);
    if (symbol == NULL) {
        symbol = define(scope, name, START_UNSET);
        inherit_start(scope, symbol, START_UNSET);
    } else if (symbol->start == START_LAZY) {
        symbol->start = START_RESOLVE; /* read before it is assigned */
    }
    mark_stored(scope, symbol);
}

Symbol *scope_use(Scope *scope, FunctionScope *running, Str name)
{
    Symbol *symbol = scope_find(scope, name);
    if (symbol != NULL && symbol->start != START_LAZY) {
        return symbol;
    }
    Symbol *lazy = table_find(&running->lazy, name);
    return lazy != NULL ? lazy : table_add(&running->lazy, running, name, START_LAZY);
}

static void analyze_arguments(Scope *scope, const Arguments *args)
{
    for (const Node *node = args->positional; node != NULL; node = node->next) {
        scope_analyze_expression(scope, node);
    }
    for (const Keyword *keyword = args->keywords; keyword != NULL; keyword = keyword->next) {
        scope_analyze_expression(scope, keyword->value);
    }
    scope_analyze_expression(scope, args->dynamic);
    scope_analyze_expression(scope, args->dynamic_keywords);
}

void scope_analyze_expression(Scope *scope, const Node *node)
{
    if (node == NULL) {
        return;
    }
    if (node->kind == NODE_NAME) {
        load(scope, node->name);
        return;
    }
    scope_analyze_expression(scope, node->left);
    scope_analyze_expression(scope, node->right);
    scope_analyze_expression(scope, node->test);
    for (const Node *item = node->items; item != NULL; item = item->next) {
        scope_analyze_expression(scope, item);
    }
    analyze_arguments(scope, &node->args);
}

void scope_analyze_target(Scope *scope, const Node *target)
{
    if (target->kind == NODE_NAME) {
        store(scope, target->name);
    } else if (target->kind == NODE_NAMESPACE) {
        load(scope, target->name);
    } else {
        for (const Node *item = target->items; item != NULL; item = item->next) {
            scope_analyze_target(scope, item);
        }
    }
}

/* A name that only one branch of an `if` assigns must keep its outer value in the other branch, so
 * the sets of names that each branch is the first to assign are compared. */
static void analyze_if(Scope *scope, const Node *node)
{
    scope_analyze_expression(scope, node->test);
    uint32_t start = scope->store_count;
    scope_analyze(scope, node->body);
    uint32_t middle = scope->store_count;
    for (uint32_t i = start; i < middle; i++) {
        scope->stores[i]->in_branch = true;
        scope->stores[i]->stored = false; /* to detect whether the other branch stores it too */
    }
    scope_analyze(scope, node->else_body);
    uint32_t end = scope->store_count;
    scope->store_count = middle;
    for (uint32_t i = middle; i < end; i++) {
        Symbol *symbol = scope->stores[i];
        if (symbol->in_branch) {
            symbol->in_branch = false;
        } else {
            inherit_start(scope, symbol, START_RESOLVE);
            scope->stores[scope->store_count++] = symbol;
        }
    }
    for (uint32_t i = start; i < middle; i++) {
        Symbol *symbol = scope->stores[i];
        if (symbol->in_branch) {
            symbol->in_branch = false;
            symbol->stored = true;
            inherit_start(scope, symbol, START_RESOLVE);
        }
    }
}

static void analyze_statement(Scope *scope, const Node *node)
{
    switch ((NodeKind)node->kind) {
    case NODE_OUTPUT:
        for (const Node *item = node->items; item != NULL; item = item->next) {
            scope_analyze_expression(scope, item);
        }
        break;
    case NODE_FOR: scope_analyze_expression(scope, node->iterable); break;
    case NODE_IF: analyze_if(scope, node); break;
    case NODE_MACRO: store(scope, node->name); break;
    case NODE_CALL_BLOCK:
    case NODE_FILTER_BLOCK:
    case NODE_INCLUDE:
    case NODE_EXTENDS:
    case NODE_DO: scope_analyze_expression(scope, node->left); break;
    case NODE_WITH:
        for (const Node *bind = node->items; bind != NULL; bind = bind->next) {
            scope_analyze_expression(scope, bind->left);
        }
        break;
    case NODE_IMPORT:
        scope_analyze_expression(scope, node->left);
        store(scope, node->name);
        break;
    case NODE_FROM_IMPORT:
        scope_analyze_expression(scope, node->left);
        for (const Node *alias = node->items; alias != NULL; alias = alias->next) {
            store(scope, alias->alias);
        }
        break;
    case NODE_ASSIGN:
        scope_analyze_expression(scope, node->left);
        scope_analyze_target(scope, node->target);
        break;
    case NODE_ASSIGN_BLOCK: scope_analyze_target(scope, node->target); break;
    default: break; /* blocks and autoescape are separate scopes */
    }
}

void scope_analyze(Scope *scope, const Node *nodes)
{
    for (const Node *node = nodes; node != NULL; node = node->next) {
        analyze_statement(scope, node);
    }
}

/* The result of a search for one name so far. */
typedef enum Search {
    SEARCH_CONTINUE,
    SEARCH_FOUND,
    SEARCH_SHADOWED
} Search;

static Search search_sequence(NameSearch *search, const Node *nodes);
static Search search_node(NameSearch *search, const Node *node);

static Search search_parts(NameSearch *search, const Node *node)
{
    if (node->target != NULL && node->kind != NODE_FOR) {
        /* The value is read before the target is assigned. */
        Search value = search_node(search, node->left);
        if (value != SEARCH_CONTINUE) {
            return value;
        }
    }
    if (node->target != NULL && node->target->kind == NODE_NAME &&
        str_eq(node->target->name, search->name)) {
        return SEARCH_SHADOWED;
    }
    const Node *parts[] = { node->left, node->iterable, node->right, node->test };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        Search found = search_node(search, parts[i]);
        if (found != SEARCH_CONTINUE) {
            return found;
        }
    }
    const Node *sequences[] = { node->items, node->args.positional, node->body, node->else_body };
    for (size_t i = 0; i < COUNT_OF(sequences); i++) {
        Search found = search_sequence(search, sequences[i]);
        if (found != SEARCH_CONTINUE) {
            return found;
        }
    }
    for (const Keyword *keyword = node->args.keywords; keyword != NULL; keyword = keyword->next) {
        Search found = search_node(search, keyword->value);
        if (found != SEARCH_CONTINUE) {
            return found;
        }
    }
    for (const Parameter *param = node->params; param != NULL; param = param->next) {
        Search found = search_node(search, param->fallback);
        if (found != SEARCH_CONTINUE) {
            return found;
        }
    }
    Search found = search_node(search, node->args.dynamic);
    return found != SEARCH_CONTINUE ? found : search_node(search, node->args.dynamic_keywords);
}

/* Searches begin at loops and macros. The results of inner ones are cached, so that nested bodies
 * are not searched repeatedly. */
static Search search_node(NameSearch *search, const Node *node)
{
    if (node == NULL || node->kind == NODE_BLOCK) {
        return SEARCH_CONTINUE;
    }
    if (node->kind == NODE_NAME) {
        return str_eq(node->name, search->name) ? SEARCH_FOUND : SEARCH_CONTINUE;
    }
    if (node->kind != NODE_FOR && node->kind != NODE_MACRO && node->kind != NODE_CALL_BLOCK) {
        return search_parts(search, node);
    }
    Value key = value_int((int64_t)(intptr_t)node);
    const MapEntry *known = search->known == NULL ? NULL : map_find(search->known, key);
    if (known != NULL) {
        return (Search)known->value.integer;
    }
    Search found = search_parts(search, node);
    if (search->known == NULL) {
        search->known = map_new(search->arena, 4);
    }
    map_append(search->arena, search->known, key, value_int(found));
    return found;
}

static Search search_sequence(NameSearch *search, const Node *nodes)
{
    for (const Node *node = nodes; node != NULL; node = node->next) {
        Search found = search_node(search, node);
        if (found != SEARCH_CONTINUE) {
            return found;
        }
    }
    return SEARCH_CONTINUE;
}

bool nodes_use_name(NameSearch *search, const Node *nodes)
{
    return search_sequence(search, nodes) == SEARCH_FOUND;
}
