/* Resolves names to slots.
 *
 * Templates rely on Jinja2's rules: a scope (template, macro, loop body, with, block) is analyzed
 * as a whole before its code is generated, without entering inner scopes. A name that is assigned
 * anywhere in a scope belongs to it, and starts as the outer variable of that name, as unset, or as
 * the variable of the context, depending on the order of loads and stores. A name that is only read
 * and that no enclosing scope assigns comes from the context; it is looked up once per function, on
 * first use. */
#pragma once

#include "lang/template/ast.h"
#include "lang/template/program.h"

typedef enum SymbolStart {
    START_PARAMETER, /* set by the code that enters the scope */
    START_UNSET,
    START_ALIAS,   /* copy of the outer symbol */
    START_RESOLVE, /* looked up in the context when the scope is entered */
    START_LAZY,    /* never assigned: looked up on first use */
} SymbolStart;

typedef struct Scope Scope;
typedef struct FunctionScope FunctionScope;

typedef struct Symbol {
    Str name;
    uint16_t slot;
    uint8_t start; /* SymbolStart */
    bool stored;
    FunctionScope *function;
    const struct Symbol *outer; /* for START_ALIAS */
    struct Symbol *next;        /* in its table, in order of appearance */
    bool in_branch;             /* during the analysis of an `if`: its first branch stores it */
} Symbol;

/* Symbols in order of appearance; hashed if there are many. */
typedef struct SymbolTable {
    Symbol *first, *last;
    Symbol **slots;
    uint32_t count, mask;
} SymbolTable;

/* The slots of one function; functions nest. */
struct FunctionScope {
    FunctionScope *outer;
    Arena *arena;
    Str *slot_names;
    uint32_t slot_count, slot_cap;
    bool captured;
    bool overflow;    /* more slots than an instruction can address */
    SymbolTable lazy; /* names from the context, shared by all scopes of the function */
};

struct Scope {
    Scope *parent;
    FunctionScope *function;
    SymbolTable symbols;
    Symbol **stores; /* in the order of their first assignment */
    uint32_t store_count, store_cap;
    /* used by the compiler: 1 + index of the local set of this scope; 0 if none */
    uint32_t local_set;
};

uint16_t function_scope_add_slot(FunctionScope *function, Str name);

void scope_init(Scope *scope, Scope *parent, FunctionScope *function);
Symbol *scope_declare(Scope *scope, Str name); /* as a parameter */
/* The symbol visible under that name in this scope or an enclosing one, or NULL. */
Symbol *scope_find(Scope *scope, Str name);
/* The same; if there is none, the name belongs to the context and gets a lazy slot of the current
 * function. */
Symbol *scope_use(Scope *scope, FunctionScope *running, Str name);

/* Analyzes nodes that belong to this scope. */
void scope_analyze(Scope *scope, const Node *nodes);           /* a sequence of statements */
void scope_analyze_expression(Scope *scope, const Node *node); /* names it reads */
void scope_analyze_target(Scope *scope, const Node *target);   /* names it assigns */

/* Cached results for one name, for all searches in one template. */
typedef struct NameSearch {
    Arena *arena;
    Str name;
    Map *known; /* loops and macros by address */
} NameSearch;

/* Whether the name is read in these statements without being assigned first: for `loop`, `caller`,
 * `varargs`, `kwargs`, `self`, `super`. Inner scopes are included. */
bool nodes_use_name(NameSearch *search, const Node *nodes);
