/* Shared by the parser's files: the token stream with its one token of lookahead, making nodes,
 * and failing.
 *
 * A function that returns a Node returns NULL when it failed; the fault is then set. */
#pragma once

#include "lang/template/lexer.h"
#include "lang/template/parse.h"

/* The tags that may end the body being parsed, innermost first. Messages name them. */
typedef struct ParserBody {
    const Word *ends; /* up to WORD_OTHER */
    const struct ParserBody *outer;
} ParserBody;

/* The statements being parsed, innermost first. */
typedef struct ParserTag {
    Word word;
    Span at;
    const struct ParserTag *outer;
} ParserTag;

typedef struct Parser {
    Lexer lexer;
    Arena *arena;
    Token current;
    Token ahead; /* valid when has_ahead */
    bool has_ahead;
    bool in_loop; /* break and continue have a loop to act on */
    uint32_t nesting;
    uint32_t nesting_max;
    const ParserBody *body;
    const ParserTag *tag;
    Str complaint; /* the first of parser_complain(); empty: none */
    Span complaint_at;
} Parser;

enum {
    /* Above this no setting goes: every level takes C stack. */
    PARSER_NESTING_MAX = 1000
};

bool parser_init(Parser *p, Arena *arena, const TemplateSettings *settings, Str text,
                 LexerState state, Fault *fault);

/* Fails at a place; always false. */
PRINTF_LIKE(3, 4) bool parser_fail(Parser *p, Span at, const char *format, ...);
PRINTF_LIKE(2, 3) bool parser_fail_here(Parser *p, const char *format, ...);

/* For what Jinja2's parser lets pass and its code generator or ours cannot: fails at the end, if
 * nothing else is wrong. */
void parser_complain(Parser *p, Span at, Str message);
/* Whether all was well, once everything is parsed. */
bool parser_finish(Parser *p);

/* Moves on; the old token is returned. At the end the last token stays. */
Token parser_next(Parser *p);
/* The token behind the current one. */
const Token *parser_look(Parser *p);

static inline bool parser_at(const Parser *p, TokenType type)
{
    return p->current.type == type;
}
static inline bool parser_at_word(const Parser *p, Word word)
{
    return p->current.type == TOKEN_NAME && p->current.word == word;
}
static inline bool token_is_word(const Token *token, Word word)
{
    return token->type == TOKEN_NAME && token->word == word;
}
bool parser_accept(Parser *p, TokenType type);
bool parser_accept_word(Parser *p, Word word);
/* Adds a hint to the fault at the current token when that is what another language wants there. */
void parser_hint_habit(Parser *p);
/* `*token` (may be NULL) is the token that was expected and found. */
bool parser_expect(Parser *p, TokenType type, Token *token);
bool parser_expect_word(Parser *p, Word word, Token *token);

/* Counts a level of nesting in the source; parser_leave() is not owed after a failure. */
bool parser_enter(Parser *p);
static inline void parser_leave(Parser *p)
{
    p->nesting--;
}

/* False, with the fault set, when the memory for this work is used up. */
bool parser_has_memory(Parser *p, Span at);
/* NULL when parser_has_memory() is false. */
Node *parser_node(Parser *p, NodeKind kind, Span at);
/* The current token, a tag's name, becomes the node's place. */
Node *parser_begin_statement(Parser *p, NodeKind kind);
/* Makes `node` at least one level higher than `child`; false when that is too high. */
bool parser_adopt(Parser *p, Node *node, const Node *child);
/* Appends to the items of `node`. `tail` is the end of its list so far: &node->items at first. */
bool parser_add_item(Parser *p, Node *node, Node ***tail, Node *item);

static inline Span node_span(const Node *node)
{
    return (Span){ node->offset, node->span };
}

/* What may stand in a tuple. */
typedef struct TupleRule {
    bool simple;        /* names, literals and brackets only: targets */
    bool namespaces;    /* and name.attribute */
    bool no_condition;  /* of parse_unconditional() */
    bool parenthesized; /* may be empty */
} TupleRule;

Node *parser_make_const(Parser *p, Span at, Value value);
Node *parser_make_integer(Parser *p, const Token *token);
/* NULL for an operand that is NULL. */
Node *parser_make_unary(Parser *p, Operator op, Span at, Node *operand);

/* Text that grows from a borrowed beginning. */
typedef struct Joined {
    Str text;
    char *room; /* NULL as long as the text is borrowed */
    size_t cap;
} Joined;

void joined_add(Parser *p, Joined *joined, Str more);

Node *parse_expression(Parser *p);
/* An expression in a place where `if` belongs to the statement. */
Node *parse_unconditional(Parser *p);
/* A name, a literal or something in brackets. */
Node *parse_primary(Parser *p);
Node *parse_tuple(Parser *p, TupleRule rule);
/* Subscripts and calls of `node`, which may be NULL after a failure. */
Node *parse_postfix(Parser *p, Node *node);
/* The same for filters, tests and calls of what they give. */
Node *parse_filter_expression(Parser *p, Node *node);
/* A chain of filters on `node`, which may be NULL; `inline_first` when the first name comes
 * without a pipe. Returns `node` itself when no filter follows: check `*ok`, not the result. */
Node *parse_filters(Parser *p, Node *node, bool inline_first, bool *ok);

/* name.attribute as a target. */
Node *parse_namespace(Parser *p);
/* A single name to assign to. */
bool parse_target_name(Parser *p, Token *name);
/* A body up to a tag of `ends`, which is consumed. `in_loop`: break and continue may be used. */
bool parse_closed_body(Parser *p, const Word *ends, bool in_loop, Node **out);

/* Statements of parse_reference.c, from the tag's name up to its closing delimiter. */
Node *parse_block(Parser *p);
Node *parse_extends(Parser *p);
Node *parse_include(Parser *p);
Node *parse_import(Parser *p);
Node *parse_from(Parser *p);
