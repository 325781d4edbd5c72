/* Internal state of the compiler; compile.h is the public interface. */
#pragma once

#include "lang/template/compile.h"
#include "lang/template/scope.h"

/* A jump whose target is not known yet. */
typedef struct Patch {
    uint32_t instruction;
    struct Patch *next;
} Patch;

/* A construct that `break` or `continue` must undo when leaving it. */
typedef enum UnwindKind {
    UNWIND_LOOP,
    UNWIND_CAPTURE,
    UNWIND_AUTOESCAPE
} UnwindKind;

typedef struct Unwind {
    UnwindKind kind;
    uint32_t next_label; /* of a loop: its LOOP_NEXT */
    Patch *breaks;
    struct Unwind *outer;
} Unwind;

/* A function being compiled. */
typedef struct Unit {
    struct Unit *outer;
    Function *function;
    FunctionScope slots;
    Instruction *code;
    Origin *origins;
    uint32_t count, cap;
    uint32_t stack, stack_max;
    Unwind *unwind;
} Unit;

/* The current position in the template; passed down by value. */
typedef struct Level {
    Scope *scope;
    EmitMode emit;
    bool top;          /* assignments are exported to the context */
    bool root;         /* at top level and not inside an `if` */
    bool soft;         /* unknown filters fail at run time, not at compile time */
    bool check_output; /* an earlier extends may suppress output */
} Level;

/* Names with a special meaning where they are used. */
typedef enum SpecialName {
    SPECIAL_LOOP,
    SPECIAL_SELF,
    SPECIAL_SUPER,
    SPECIAL_CALLER,
    SPECIAL_KWARGS,
    SPECIAL_VARARGS,
    SPECIAL_NAMES,
} SpecialName;

typedef struct Compiler {
    Template *template;
    Arena *arena;   /* memory of the program */
    Arena *scratch; /* freed after compiling */
    const TemplateSettings *settings;
    Fault *fault;
    Unit *unit;
    Map *name_index; /* name -> index into names */
    Map *string_index;
    uint32_t name_cap, constant_cap, data_cap, site_cap, native_call_cap, function_cap,
        local_set_cap, block_cap;
    NameSearch searches[SPECIAL_NAMES];
    Fault *first_unknown, *last_unknown; /* unknown filters and tests, reported together */
    uint32_t unknown_count;
    uint32_t locals_visited; /* number of symbols visited for local sets */
    uint32_t extends_count;
    bool has_scoped_blocks;
    bool extends_certain; /* an extends is always executed; further output is discarded */
} Compiler;

/* Always returns false. */
PRINTF_LIKE(4, 5)
bool compile_fail(Compiler *c, FaultClass class, const Node *node, const char *format, ...);

/* Appends an instruction and returns its index. `stack` is the growth of the operand stack. */
uint32_t emit(Compiler *c, Opcode op, uint8_t a, uint16_t b, uint32_t operand, int stack,
              const Node *node);
void patch_to_here(Compiler *c, uint32_t instruction);

uint32_t add_name(Compiler *c, Str text);
uint32_t add_constant(Compiler *c, Value value);
uint32_t add_data(Compiler *c, Str text);
/* `constants` are the last of `count` arguments. */
uint32_t add_native_call(Compiler *c, const Native *native, uint32_t count, const Value *constants,
                         uint32_t constant_count);
CallSite *add_site(Compiler *c, uint32_t *index);
uint32_t add_function(Compiler *c, Function *function);
/* Adds the set of variables assigned in all enclosing scopes, which are visible to an included
 * template. Fails if the sets of all includes together are too large. */
bool add_local_set(Compiler *c, const Level *level, const Node *node, uint32_t *index);

/* Begins and ends the compilation of a function; `unit` is the current unit in between. */
void unit_begin(Compiler *c, Unit *unit, FunctionKind kind, Str name);
bool unit_end(Compiler *c, const Node *node);

bool compile_expression(Compiler *c, const Level *level, const Node *node);
/* Compiles the filter chain of a filter block or block set, on the value on top of the stack. */
bool compile_filter_chain(Compiler *c, const Level *level, const Node *node);
/* `caller`, if any, is passed as the keyword argument. */
bool compile_call(Compiler *c, const Level *level, const Node *node, Opcode op,
                  const uint32_t *caller);
bool expression_allocates(const Node *node);

bool compile_statements(Compiler *c, const Level *level, const Node *nodes);
bool compile_for(Compiler *c, const Level *level, const Node *node);
/* Pops the value on top of the stack into the target. */
bool compile_target(Compiler *c, const Level *level, const Node *target);
void compile_scope_entry(Compiler *c, const Scope *scope, const Node *node);
