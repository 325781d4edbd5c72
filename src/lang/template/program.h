/* Compiled templates: the output of the compiler and input of the interpreter. Immutable after
 * compilation.
 *
 * A template is a set of functions: its top level (root), and one for every block, macro, call
 * block and recursive loop. A function is an array of instructions that operate on an operand stack
 * and a frame of slots. A function defined inside another one can access the slots of the enclosing
 * frames. */
#pragma once

#include "base/str_map.h"
#include "lang/template/native.h"
#include "lang/template/template.h"

/* Operands: a (8 bits), b (16), c (32). If c is an index into a table of the template, the
 * instruction also has a pointer to the entry. "push" and "pop" refer to the operand stack. */
#define INSTRUCTIONS(X)                                                                       \
    X(CONST)      /* push constants[c] */                                                     \
    X(LOAD)       /* push slot c; undefined if unset */                                       \
    X(LOAD_OUTER) /* push slot c of the frame b levels out */                                 \
    X(LOAD_NAME)  /* push slot b, looked up in the context as names[c] on first use */        \
    X(UNDEFINED)  /* push undefined with the message constants[c]; a: lenient */              \
    X(RESOLVE)    /* slot b = names[c] from the context, or unset */                          \
    X(STORE)      /* slot c = pop */                                                          \
    X(UNSET)      /* slot c = unset */                                                        \
    X(COPY)       /* slot b = slot c, even if unset */                                        \
    X(COPY_OUTER) /* slot b = slot c of the frame a levels out, even if unset */              \
    X(EXPORT)     /* context variable names[c] = slot b; a: visible to importing templates */ \
    X(POP)                                                                                    \
    X(DUP)                                                                                    \
    X(GET_ATTR)      /* pop owner, push owner.names[c] */                                     \
    X(LOAD_ATTR)     /* push (slot b).names[c] */                                             \
    X(GET_ITEM)      /* pop key, owner; push owner[key] */                                    \
    X(GET_CALLEE)    /* the same if the element is called */                                  \
    X(GET_SLICE)     /* pop step, stop, start, owner */                                       \
    X(BINARY)        /* pop right, left; push left a right */                                 \
    X(COMPARE)       /* pop right, left; push bool */                                         \
    X(COMPARE_CHAIN) /* pop right, left; false: push it, jump to c; true: push right */       \
    X(NOT)                                                                                    \
    X(NEGATE)                                                                                 \
    X(POSITIVE)                                                                               \
    X(CONCAT)            /* pop b parts, push text */                                         \
    X(JUMP)              /* to c */                                                           \
    X(JUMP_FALSE)        /* pop; to c if false */                                             \
    X(JUMP_FALSE_OR_POP) /* to c if false, leaving it on the stack; otherwise pop */          \
    X(JUMP_TRUE_OR_POP)                                                                       \
    X(JUMP_SET)      /* to c if slot b is set */                                              \
    X(JUMP_EXTENDED) /* to c if a parent template is set */                                   \
    X(BUILD_LIST)    /* pop c items */                                                        \
    X(BUILD_TUPLE)                                                                            \
    X(BUILD_DICT)  /* pop c pairs */                                                          \
    X(FILTER)      /* pop b bound arguments; native_calls[c] */                               \
    X(FILTER_EMIT) /* FILTER, EMIT and RELEASE in one; a: EmitMode */                         \
    X(FILTER_SITE) /* filter with arguments as described by sites[c] */                       \
    X(TEST)                                                                                   \
    X(TEST_SITE)                                                                              \
    X(IS_DEFINED)  /* pop, push whether it is defined; a: negate */                           \
    X(CHECK_ATTR)  /* fail early if the owner on top cannot have names[c] */                  \
    X(CALL)        /* sites[c]: pop arguments, callee; push result */                         \
    X(CALL_EMIT)   /* the same, writing the result */                                         \
    X(CALL_METHOD) /* sites[c], names[b of site]: pop arguments, owner; push result */        \
    X(CALL_METHOD_EMIT)                                                                       \
    X(EMIT_DATA)       /* write texts[c] */                                                   \
    X(EMIT)            /* pop, write; a: EmitMode */                                          \
    X(EMIT_LOAD)       /* write slot c */                                                     \
    X(EMIT_NAME)       /* write slot b, names[c] as LOAD_NAME */                              \
    X(EMIT_ATTR)       /* write (slot b).names[c] */                                          \
    X(MARK)            /* start of a statement that creates temporary values */               \
    X(RELEASE)         /* end of a statement: release its temporary values */                 \
    X(CAPTURE)         /* redirect output to a new buffer */                                  \
    X(CAPTURE_DROP)    /* discard the captured output */                                      \
    X(CAPTURE_END)     /* push the captured output as plain text or markup; a: EmitMode */    \
    X(MARKUP)          /* pop, push as markup; a: EmitMode */                                 \
    X(LOOP_BEGIN)      /* pop iterable, push loop; b: slot of `loop` or NO_SLOT */            \
    X(LOOP_NEXT)       /* push next item, or jump to c; b: cost of one iteration */           \
    X(LOOP_RAN)        /* the body ran to its end */                                          \
    X(LOOP_ELSE)       /* pop loop; to c if the body ran to its end */                        \
    X(LOOP_END)        /* pop loop */                                                         \
    X(LOOP_COLLECT)    /* pop item, add it to the loop's list */                              \
    X(LOOP_COLLECTED)  /* pop loop, push its list */                                          \
    X(LOOP_RECURSIVE)  /* pop iterable, render functions[c] over it */                        \
    X(UNPACK)          /* pop, push c items, the first on top */                              \
    X(MACRO)           /* push macro of functions[c] */                                       \
    X(BLOCK)           /* render block names[c]; a: BlockFlag; b: local set */                \
    X(SUPER)           /* push super() of the current block */                                \
    X(SELF)            /* push the reference to the template's own blocks */                  \
    X(INCLUDE)         /* pop name; a: IncludeFlag; c: local set */                           \
    X(IMPORT)          /* pop name, push module; a, c as INCLUDE */                           \
    X(IMPORT_NAME)     /* push names[c] of the module on top */                               \
    X(EXTENDS)         /* pop name; set the parent template */                                \
    X(CHECK_NAMESPACE) /* pop; fail unless it is a namespace */                               \
    X(SET_ATTR)        /* pop namespace, value; namespace.names[c] = value */                 \
    X(AUTOESCAPE)      /* pop the new state; push the old one */                              \
    X(AUTOESCAPE_END)  /* pop the state to restore */                                         \
    X(RAISE)           /* runtime error constants[c]; a: FaultClass */                        \
    X(RETURN)          /* end of the function */                                              \
    X(RETURN_VALUE)    /* pop: the value of an expression */

typedef enum Opcode {
#define X(name) INS_##name,
    INSTRUCTIONS(X)
#undef X
} Opcode;

typedef enum EmitMode {
    EMIT_PLAIN,
    EMIT_ESCAPED,
    EMIT_DYNAMIC, /* depends on the autoescape state of the context */
} EmitMode;

enum BlockFlag {
    BLOCK_SCOPED = 1,
    BLOCK_REQUIRED = 2
};
enum IncludeFlag {
    INCLUDE_WITH_CONTEXT = 1,
    INCLUDE_IGNORE_MISSING = 2
};
enum {
    NO_SLOT = UINT16_MAX
};
#define NO_HINT UINT32_MAX

typedef struct Instruction {
    uint8_t op; /* Opcode */
    uint8_t a;
    uint16_t b;
    uint32_t c;
    union { /* set when the tables of the template are complete */
        const Value *constant;
        struct Name *name;
        const char *data; /* for EMIT_DATA, whose c is then the length */
        const struct NativeCall *native_call;
        struct CallSite *site;
    };
} Instruction;

_Static_assert(sizeof(Instruction) == 16, "instructions stay small");

/* The source location of an instruction, for errors. */
typedef struct Origin {
    uint32_t offset;
    uint16_t span;  /* length of the token in bytes; UINT16_MAX if longer */
    uint16_t stack; /* operands on the stack before it; UINT16_MAX if more */
} Origin;

/* The attributes of the `loop` variable. */
typedef enum LoopAttribute {
    LOOP_NO_ATTRIBUTE,
    LOOP_INDEX,
    LOOP_INDEX0,
    LOOP_REVINDEX,
    LOOP_REVINDEX0,
    LOOP_FIRST,
    LOOP_LAST,
    LOOP_LENGTH,
    LOOP_DEPTH,
    LOOP_DEPTH0,
    LOOP_PREVIOUS,
    LOOP_NEXT,
    LOOP_CYCLE,
    LOOP_CHANGED,
} LoopAttribute;

/* A name used for lookups: hashed once, with the methods and globals of that name resolved. The
 * hint, the index of its last occurrence in a map, is the only part of a program that changes at
 * run time. */
typedef struct Name {
    Str text;
    uint64_t hash;
    uint64_t key_head;      /* type and length of a key that equals this name, as in Value.head */
    uint64_t first, last;   /* its bytes at both ends, as many as name_matches() compares */
    uint32_t hint;          /* NO_HINT: not found in any map yet, or `is_map_attribute` */
    uint8_t loop_attribute; /* LoopAttribute */
    bool is_map_attribute;  /* maps have an attribute of that name, which precedes any key */
    const Native *global;
    const Native *methods[VALUE_OBJECT]; /* by type of the owner */
} Name;

/* A filter or test with those of its arguments that are constant: the last ones, which follow the
 * arguments on the stack. */
typedef struct NativeCall {
    const Native *native;
    const Value *constants; /* copied in pairs: padded to an even number */
    uint32_t constant_pairs;
    uint32_t count;  /* number of all arguments */
    uint32_t pushed; /* bytes of those on the stack */
} NativeCall;

static inline void name_ends(const char *text, size_t len, uint64_t *first, uint64_t *last)
{
    uint32_t low, high;
    if (len >= 8) {
        memcpy(first, text, 8);
        memcpy(last, text + len - 8, 8);
    } else if (len >= 4) {
        memcpy(&low, text, 4);
        memcpy(&high, text + len - 4, 4);
        *first = low;
        *last = high;
    } else {
        *first =
            len == 0 ? 0 : (uint64_t)(unsigned char)text[0] << 8 | (unsigned char)text[len / 2];
        *last = len == 0 ? 0 : (unsigned char)text[len - 1];
    }
}

/* Whether the key of a map equals the name; compares the bytes that the name has cached. */
static ALWAYS_INLINE bool name_matches(const Name *name, const Value *key)
{
    if (UNLIKELY((key->head & VALUE_HEAD(0xff, 0, UINT32_MAX)) != name->key_head)) {
        return false;
    }
    size_t len = name->text.len;
    uint64_t first, last;
    name_ends(key->text, len, &first, &last);
    if (UNLIKELY(first != name->first || last != name->last)) {
        return false;
    }
    return LIKELY(len <= 16) || memcmp(key->text, name->text.data, len) == 0;
}

/* How a call passes its arguments. On the stack: callee or owner, positional arguments, keyword
 * values, *args, **kwargs. The slots of the keyword values in the most recently called macro are
 * cached, like the hints of names. */
typedef struct CallSite {
    uint32_t width; /* number of operands, excluding callee or owner */
    uint32_t positional;
    uint32_t keyword_count;
    Str *keywords;
    bool dynamic;
    bool dynamic_keywords;
    const Native *native; /* for FILTER_SITE and TEST_SITE */
    uint32_t name;        /* for CALL_METHOD */
    const struct Function *bound;
    uint16_t *keyword_slots; /* slots in `bound`, one for each keyword */
} CallSite;

typedef enum FunctionKind {
    FUNCTION_ROOT,
    FUNCTION_BLOCK,
    FUNCTION_MACRO,
    FUNCTION_CALLER,
    FUNCTION_LOOP,
    FUNCTION_EXPRESSION,
} FunctionKind;

/* Parameters occupy the first slots, in order. */
typedef struct FunctionParameter {
    Str name;
} FunctionParameter;

typedef struct Function {
    const Template *template;
    FunctionKind kind;
    bool captured; /* nested functions use its slots: the frame must outlive the call */
    Str name;
    Instruction *code;
    Origin *origins;
    Str *slot_names;
    uint32_t slot_count;
    uint32_t stack_max;
    uint32_t cost; /* steps charged for one run: its instructions */
    FunctionParameter *params;
    uint32_t param_count;
    uint16_t varargs_slot, kwargs_slot, caller_slot; /* NO_SLOT if not used */
    uint16_t loop_slot;                              /* for FUNCTION_LOOP */
} Function;

typedef struct BlockEntry {
    Str name;
    const Function *function;
    bool required;
} BlockEntry;

/* A list of (name, slot, levels out) that is passed to an include or a scoped block. */
typedef struct LocalRef {
    uint32_t name;
    uint16_t slot;
    uint16_t level;
} LocalRef;

typedef struct LocalSet {
    LocalRef *refs;
    uint32_t count;
} LocalSet;

struct Template {
    Templates *owner;
    Str name;
    Str text;
    const Function *root;
    Function **functions;
    Value *constants;
    Name *names;
    Str *texts; /* each followed by BUF_SLACK readable bytes */
    CallSite *sites;
    NativeCall *native_calls;
    LocalSet *local_sets;
    BlockEntry *blocks;
    TemplateUses uses;
    uint32_t function_count, constant_count, name_count, data_count, site_count, native_call_count,
        local_set_count, block_count;
};

/* A copy followed by BUF_SLACK readable bytes, for strings that EMIT_DATA writes. */
static inline Str data_copy(Arena *arena, Str text)
{
    char *copy = arena_alloc(arena, text.len + BUF_SLACK);
    if (text.len > 0) {
        memcpy(copy, text.data, text.len);
    }
    memset(copy + text.len, 0, BUF_SLACK);
    return str_from(copy, text.len);
}

/* The environment declared in template.h, as used by compiler and interpreter. */
struct Templates {
    TemplateSettings settings;
    bool trim_blocks, lstrip_blocks; /* settings of loaded templates */
    Arena arena;                     /* settings, sources, programs */
    StrMap compiled;                 /* name -> Template; those loaded by templates_get */
};
