/* Which slot a name means where.
 *
 * Jinja2's rules, which templates rely on: a scope (template, macro, loop body, with, block) is
 * looked through as a whole before its code is made, not entering inner scopes. A name that is
 * assigned anywhere in a scope belongs to it, and starts out as the outer variable of that name,
 * as unset, or as the context's, by the order in which loads and stores come. A name that is only
 * read and that no scope around assigns comes from the context; it is looked up once per function
 * when first used. */
#pragma once

#include "lang/template/ast.h"
#include "lang/template/program.h"

typedef enum SymbolStart {
    START_PARAMETER, /* set by whoever enters the scope */
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
    const struct Symbol *outer; /* of START_ALIAS */
    struct Symbol *next;        /* in its table, in order of appearance */
    bool in_branch;             /* while an `if` is looked at: its first branch stores it */
} Symbol;

/* Symbols in order of appearance; hashed when they become many. */
typedef struct SymbolTable {
    Symbol *first, *last;
    Symbol **slots;
    uint32_t count, mask;
} SymbolTable;

/* Slots of one function; functions nest. */
struct FunctionScope {
    FunctionScope *outer;
    Arena *arena;
    Str *slot_names;
    uint32_t slot_count, slot_cap;
    bool captured;
    bool overflow;    /* more slots than an instruction can name */
    SymbolTable lazy; /* names from the context, shared by all scopes of the function */
};

struct Scope {
    Scope *parent;
    FunctionScope *function;
    SymbolTable symbols;
    Symbol **stores; /* in the order in which they were first assigned */
    uint32_t store_count, store_cap;
    uint32_t local_set; /* the compiler's: 1 + index of the set made for this scope; 0: none */
};

uint16_t function_scope_add_slot(FunctionScope *function, Str name);

void scope_init(Scope *scope, Scope *parent, FunctionScope *function);
Symbol *scope_declare(Scope *scope, Str name); /* as a parameter */
/* The symbol visible under that name in this scope or one around it, or NULL. */
Symbol *scope_find(Scope *scope, Str name);
/* The same; when there is none, the name is the context's and gets a lazy slot of the running
 * function. */
Symbol *scope_use(Scope *scope, FunctionScope *running, Str name);

/* Looks through nodes that belong to this scope. */
void scope_analyze(Scope *scope, const Node *nodes);           /* a sequence of statements */
void scope_analyze_expression(Scope *scope, const Node *node); /* names read by it */
void scope_analyze_target(Scope *scope, const Node *target);   /* names assigned by it */

/* What is known already about one name, for all searches in one template. */
typedef struct NameSearch {
    Arena *arena;
    Str name;
    Map *known; /* loops and macros, by address */
} NameSearch;

/* Whether the name is read in these statements without being assigned before: for `loop`,
 * `caller`, `varargs`, `kwargs`, `self`, `super`. Inner scopes count too. */
bool nodes_use_name(NameSearch *search, const Node *nodes);
