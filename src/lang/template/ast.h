/* The syntax tree between parser and compiler. Nodes live in the arena of one compilation.
 *
 * Sequences of nodes are linked through `next`. Every node has the byte offset of the token it is
 * reported at, which determines the line that Jinja2 would report. */
#pragma once

#include "lang/value.h"

typedef enum NodeKind {
    /* Expressions */
    NODE_CONST,     /* value */
    NODE_NAME,      /* name */
    NODE_NAMESPACE, /* name.attribute as the target of an assignment */
    NODE_TUPLE,     /* items */
    NODE_LIST,      /* items */
    NODE_DICT,      /* items: NODE_PAIR */
    NODE_PAIR,      /* key, value in left, right */
    NODE_CONDITION, /* left if test else right; right may be NULL */
    NODE_FILTER,    /* left | name(args); left is NULL in filter blocks and block set */
    NODE_TEST,      /* left is name(args) */
    NODE_CALL,      /* left(args) */
    NODE_ATTRIBUTE, /* left.name */
    NODE_ELEMENT,   /* left[right] */
    NODE_SLICE,     /* start, stop, step in left, right, test; each may be NULL; below ELEMENT */
    NODE_CONCAT,    /* items joined by ~ */
    NODE_COMPARE,   /* left, then items: NODE_OPERAND */
    NODE_OPERAND,   /* compare operator `op` with left */
    NODE_BINARY,    /* left op right, `and` and `or` included */
    NODE_UNARY,     /* op left */
    /* Statements */
    NODE_OUTPUT,       /* items: expressions and NODE_DATA */
    NODE_DATA,         /* value: template text as a string */
    NODE_FOR,          /* target, iterable, test, body, otherwise, recursive */
    NODE_IF,           /* test, body, otherwise: a NODE_IF for elif, or statements */
    NODE_MACRO,        /* name, params, body */
    NODE_CALL_BLOCK,   /* left: NODE_CALL, params, body */
    NODE_FILTER_BLOCK, /* left: filter chain, innermost filter has left NULL; body */
    NODE_WITH,         /* items: NODE_BIND, body */
    NODE_BIND,         /* target, left: value */
    NODE_BLOCK,        /* name, body, scoped, required */
    NODE_INCLUDE,      /* left: template, with_context, ignore_missing */
    NODE_IMPORT,       /* left: template, name: target, with_context */
    NODE_FROM_IMPORT,  /* left: template, items: NODE_ALIAS, with_context */
    NODE_ALIAS,        /* name, alias (same as name if none was given) */
    NODE_ASSIGN,       /* target, left */
    NODE_ASSIGN_BLOCK, /* target, left: filter chain or NULL, body */
    NODE_EXTENDS,      /* left */
    NODE_DO,           /* left */
    NODE_BREAK,
    NODE_CONTINUE,
    NODE_AUTOESCAPE, /* left: condition, body */
    NODE_KINDS,
} NodeKind;

typedef enum Operator {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOOR_DIV,
    OP_MOD,
    OP_POW,
    OP_AND,
    OP_OR,
    OP_NOT,
    OP_NEGATE,
    OP_POSITIVE,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_IN,
    OP_NOT_IN,
} Operator;

typedef struct Node Node;

enum {
    /* Limit on the height of an expression tree and the length of an elif chain, so that walks may
     * recurse. */
    PARSE_HEIGHT_MAX = 2000
};

/* Arguments of a call, filter or test, in the order in which Jinja2 evaluates them. */
typedef struct Arguments {
    Node *positional;
    struct Keyword *keywords;
    Node *dynamic;          /* *expression, or NULL */
    Node *dynamic_keywords; /* **expression, or NULL */
    uint32_t positional_count;
    uint32_t keyword_count;
} Arguments;

typedef struct Keyword {
    Str name;
    Node *value;
    uint32_t offset;
    struct Keyword *next;
} Keyword;

/* A parameter of a macro. */
typedef struct Parameter {
    Str name;
    Node *fallback; /* default; NULL if none */
    uint32_t offset;
    struct Parameter *next;
} Parameter;

struct Node {
    uint8_t kind; /* NodeKind */
    uint8_t op;   /* Operator */
    bool recursive;
    bool scoped;
    bool required;
    bool with_context;
    bool ignore_missing;
    bool parenthesized; /* tuple or expression written in parentheses */
    uint32_t offset;    /* offset of the token it is reported at */
    uint32_t span;      /* length of that token in bytes */
    Node *next;
    Node *left, *right, *test; /* see NodeKind */
    Node *items;               /* first of a sequence */
    uint32_t count;            /* number of items */
    uint32_t height;           /* levels below an expression; at most PARSE_HEIGHT_MAX */
    Node *target, *iterable, *body, *else_body;
    Str name, alias;
    Value value;
    Arguments args;
    Parameter *params;
};
