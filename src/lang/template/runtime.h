/* State of the interpreter while a template runs: contexts, frames, loops, macros. */
#pragma once

#include "lang/template/object.h"
#include "lang/template/program.h"

typedef struct Context Context;
typedef struct Frame Frame;

/* The versions of a block, from the child template outward; super() selects the next one. */
typedef struct BlockChain {
    Str name;
    const Function **versions;
    uint32_t count, cap;
} BlockChain;

typedef struct BlockTable {
    BlockChain **chains; /* pointers are stable: references to blocks store them */
    uint32_t count, cap;
    Map *index; /* name -> index in `chains`; NULL if empty */
} BlockTable;

/* Where names are looked up: variables set at top level, then those of the enclosing contexts
 * (passed to an include or a scoped block), then the caller's map, then globals. */
struct Context {
    const Template *template;
    Context *parent;
    Map *vars;
    Map *exported; /* visible to an importing template */
    Map *base;
    BlockTable *blocks;
    uint32_t parents; /* length of the chain of extends so far */
    bool autoescape;
};

Context *context_new(Render *r, const Template *template, Context *parent, Map *base);
/* Returns false if there is no such variable. */
bool context_lookup(Render *r, const Context *context, const Name *name, Value *out);
void context_export(Render *r, Context *context, Str name, Value value);
/* A context with a copy of all current variables of `context` and `locals`. */
Context *context_snapshot(Render *r, const Context *context);

BlockChain *block_table_find(BlockTable *table, Str name); /* NULL if there is none */
void block_table_add(Render *r, BlockTable *table, const Template *template);

struct Frame {
    const Function *function;
    Frame *outer;
    Context *context;
    Value *slots;
    Value *stack;           /* operands, after the slots */
    uint32_t depth0;        /* for a recursive loop */
    const Template *parent; /* set by extends */
    const BlockChain *block;
    uint32_t block_depth;
};

/* A loop in progress, which is also the `loop` variable. */
typedef struct Loop {
    Object object;
    List *list; /* may grow during the iteration; NULL for a sized sequence such as a range */
    Iter iter;  /* iterator of such a sequence */
    int64_t count;
    int64_t index; /* index of the current item; -1 before the first */
    Value owner;
    List *collected; /* items of a filtered loop that satisfied the condition */
    Value changed;   /* last arguments of loop.changed(), as a tuple */
    bool ran;        /* the body ran to its end at least once */
    bool secret;
    uint32_t depth0;
    const Function *function; /* for a recursive loop */
    Frame *frame;             /* enclosing frame */
} Loop;

bool loop_start(Render *r, Value iterable, Loop **out);
/* Sets the next item; returns false at the end and on failure. */
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
/* The value of an attribute of `loop`. */
bool loop_attribute(Render *r, Loop *loop, LoopAttribute attribute, Value *out);

typedef struct Macro {
    Object object;
    const Function *function;
    Frame *frame; /* frame that encloses its definition */
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
/* super() of the block that runs in `frame`; undefined if there is no outer version. */
Value block_super(Render *r, const BlockChain *chain, uint32_t depth, Context *context);
Value self_new(Render *r, Context *context);

Value module_new(Render *r, Context *context, Value body);
Map *module_exports(Value module);
const Template *module_template(Value module);

/* Runs a function to its end; output goes to r->out. `result` is used for expressions only. */
bool interpret(Render *r, Frame *frame, Value *result);

/* Opens a frame for `function` with unset slots, except for the first `filled` ones, which the
 * caller must set at once. Closing releases it unless functions created inside still need it. */
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

/* Redirects output to a separate buffer until the matching end, which returns the text. */
void capture_begin(Render *r);
bool capture_end(Render *r, Value *out);
void capture_drop(Render *r);

/* Whether a call site can be bound to the macro without collecting its arguments first. */
static inline bool macro_accepts(const Macro *macro, const CallSite *site)
{
    const Function *function = macro->function;
    return !site->dynamic && !site->dynamic_keywords && function->varargs_slot == NO_SLOT &&
           function->kwargs_slot == NO_SLOT && site->positional <= function->param_count;
}
/* The call that macro_accepts() permits; `values` are the positional arguments, then keyword
 * values. */
bool macro_call_site(Render *r, Macro *macro, CallSite *site, const Value *values, bool emit,
                     Value *out);

/* Calls that produce template output. `emit`: it is written to r->out directly, and `out` is
 * unchanged. */
bool macro_call(Render *r, Macro *macro, const Args *args, bool emit, Value *out);
bool block_render(Render *r, Context *context, const BlockChain *chain, uint32_t depth, bool emit,
                  Value *out);
bool loop_call(Render *r, Loop *loop, const Args *args, bool emit, Value *out);
bool loop_render(Render *r, const Function *function, Frame *outer, Value iterable,
                 uint32_t depth0);

/* Renders the top level of a template and, through extends, of its parents. */
bool template_run(Render *r, const Template *template, Context *context);

/* If a variable is missing, adds "did you mean" to the fault with a similar name that is visible in
 * `frame`. */
void fault_suggest_name(Render *r, const Frame *frame);
/* Adds the location in `frame` to the fault. */
void fault_locate(Render *r, const Frame *frame, uint32_t instruction);
