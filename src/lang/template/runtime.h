/* What the interpreter keeps while a template runs: contexts, frames, loops, macros. */
#pragma once

#include "lang/template/object.h"
#include "lang/template/program.h"

typedef struct Context Context;
typedef struct Frame Frame;

/* The versions of one block, from the child template outward; super() goes one further. */
typedef struct BlockChain {
    Str name;
    const Function **versions;
    uint32_t count, cap;
} BlockChain;

typedef struct BlockTable {
    BlockChain **chains; /* they stay where they are: references to blocks keep them */
    uint32_t count, cap;
    Map *places; /* name -> place in `chains`; NULL when there are none */
} BlockTable;

/* Where names come from: variables set at top level, then those of the contexts around (what an
 * include or a scoped block was handed), then the caller's map, then globals. */
struct Context {
    const Template *template;
    Context *parent;
    Map *vars;
    Map *exported; /* what an importing template sees */
    Map *base;
    BlockTable *blocks;
    uint32_t parents; /* templates that extend one another, so far */
    bool autoescape;
};

Context *context_new(Render *r, const Template *template, Context *parent, Map *base);
/* False when no variable of that name exists. */
bool context_lookup(Render *r, const Context *context, const Name *name, Value *out);
void context_export(Render *r, Context *context, Str name, Value value);
/* A context over a copy of everything that `context` and `locals` hold now. */
Context *context_snapshot(Render *r, const Context *context);

BlockChain *block_table_find(BlockTable *table, Str name); /* NULL when absent */
void block_table_add(Render *r, BlockTable *table, const Template *template);

struct Frame {
    const Function *function;
    Frame *outer;
    Context *context;
    Value *slots;
    Value *stack;           /* operands, behind the slots */
    uint32_t depth0;        /* of a recursive loop */
    const Template *parent; /* set by extends */
    const BlockChain *block;
    uint32_t block_depth;
};

/* A loop in progress. Also the `loop` variable. */
typedef struct Loop {
    Object object;
    List *list; /* may grow while it is walked; NULL for a sized sequence such as a range */
    Iter iter;  /* of such a sequence */
    int64_t count;
    int64_t index; /* of the current item; -1 before the first */
    Value owner;
    List *kept;    /* items that passed the condition of a filtered loop */
    Value changed; /* last arguments of loop.changed(), as a tuple */
    bool ran;      /* the body came to its end at least once */
    bool secret;
    uint32_t depth0;
    const Function *function; /* of a recursive loop */
    Frame *frame;             /* around it */
} Loop;

bool loop_start(Render *r, Value iterable, Loop **out);
/* The next item; false at the end or when failed. */
bool loop_advance_slow(Render *r, Loop *loop, Value *item);
static inline bool loop_advance(Render *r, Loop *loop, Value *item)
{
    if (LIKELY(loop->list != NULL && loop->index + 1 < loop->list->len && !loop->secret)) {
        *item = loop->list->items[++loop->index];
        return true;
    }
    return loop_advance_slow(r, loop, item);
}
extern const ObjectType loop_type;
LoopAttribute loop_attribute_from_name(Str name);
/* The value of an attribute that is one. */
bool loop_attribute(Render *r, Loop *loop, LoopAttribute attribute, Value *out);

typedef struct Macro {
    Object object;
    const Function *function;
    Frame *frame; /* around its definition */
} Macro;
extern const ObjectType macro_type;
Value macro_new(Render *r, const Function *function, Frame *frame);

typedef struct BlockReference {
    Object object;
    Context *context;
    const BlockChain *chain;
    uint32_t depth;
} BlockReference;
extern const ObjectType block_reference_type;
/* super() of the block that runs in `frame`; undefined when there is none further out. */
Value block_super(Render *r, const BlockChain *chain, uint32_t depth, Context *context);
Value self_new(Render *r, Context *context);

Value module_new(Render *r, Context *context, Value body);
Map *module_exports(Value module);
const Template *module_template(Value module);

/* Runs a function to its end; output goes to r->out. `result` is used by expressions only. */
bool interpret(Render *r, Frame *frame, Value *result);

/* A frame of `function` with unset slots, but for the first `filled` ones, which the caller sets at
 * once. Closing gives it back, unless functions that were made inside still need it. */
typedef struct FrameMark {
    ArenaMark mark;
} FrameMark;
static inline Frame *frame_open_for(Render *r, const Function *function, Frame *outer,
                                    Context *context, uint32_t filled, FrameMark *mark)
{
    Arena *arena = function->captured ? r->arena : &r->rendered->frames;
    mark->mark = arena_mark(&r->rendered->frames);
    uint32_t count = function->slot_count + function->stack_max;
    Frame *frame = arena_alloc(arena, sizeof(Frame) + count * sizeof(Value));
    frame->function = function;
    frame->outer = outer;
    frame->context = context;
    frame->depth0 = 0;
    frame->parent = NULL;
    frame->block = NULL;
    frame->block_depth = 0;
    frame->slots = (Value *)(frame + 1);
    frame->stack = frame->slots + function->slot_count;
    for (uint32_t i = filled; i < function->slot_count; i++) {
        frame->slots[i] = value_missing();
    }
    return frame;
}

static inline Frame *frame_open(Render *r, const Function *function, Frame *outer, Context *context,
                                FrameMark *mark)
{
    return frame_open_for(r, function, outer, context, 0, mark);
}

static inline void frame_close(Render *r, FrameMark mark)
{
    arena_release(&r->rendered->frames, mark.mark);
}

/* Output goes to a buffer of its own until the matching end, which gives the text. */
void capture_begin(Render *r);
bool capture_end(Render *r, Value *out);
void capture_drop(Render *r);

/* Whether a call site can be bound to the macro without gathering its arguments first. */
static inline bool macro_takes(const Macro *macro, const CallSite *site)
{
    const Function *function = macro->function;
    return !site->dynamic && !site->dynamic_keywords && function->varargs_slot == NO_SLOT &&
           function->kwargs_slot == NO_SLOT && site->positional <= function->param_count;
}
/* The call that macro_takes() allows; `values` are positional ones, then keyword values. */
bool macro_call_site(Render *r, Macro *macro, CallSite *site, const Value *values, bool emit,
                     Value *out);

/* Calls that produce template output. `emit`: written straight to r->out, `out` is untouched. */
bool macro_call(Render *r, Macro *macro, const Args *args, bool emit, Value *out);
bool block_render(Render *r, Context *context, const BlockChain *chain, uint32_t depth, bool emit,
                  Value *out);
bool loop_call(Render *r, Loop *loop, const Args *args, bool emit, Value *out);
bool loop_render(Render *r, const Function *function, Frame *around, Value iterable,
                 uint32_t depth0);

/* Renders the top level of a template and, through extends, its parents. */
bool template_run(Render *r, const Template *template, Context *context);

/* Adds "did you mean" to the fault when a variable is missing whose name is near to one that
 * `frame` can see. */
void fault_suggest_name(Render *r, const Frame *frame);
/* Adds to the fault where `frame` stood. */
void fault_locate(Render *r, const Frame *frame, uint32_t instruction);
