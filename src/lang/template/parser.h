/* Shared by the files of the parser: the token stream with one token of lookahead, creating nodes,
 * and failing.
 *
 * Functions that return a Node return NULL on failure, with the fault set. */
#pragma once

#include "lang/template/lexer.h"
#include "lang/template/parse.h"

/* The tags that may end the body being parsed, innermost first; used in messages. */
typedef struct ParserBody {
    const Word *ends; /* terminated by WORD_OTHER */
    const struct ParserBody *outer;
} ParserBody;

/* The statements being parsed, innermost first. */
typedef struct ParserTag {
    Word word;
    Span span;
    const struct ParserTag *outer;
} ParserTag;

typedef struct Parser {
    Lexer lexer;
    Arena *arena;
    Token current;
    Token ahead; /* valid if has_ahead */
    bool has_ahead;
    bool in_loop; /* break and continue are allowed */
    uint32_t nesting;
    uint32_t nesting_max;
    const ParserBody *body;
    const ParserTag *tag;
    Str deferred_error; /* first message of parser_defer_error(); empty if none */
    Span deferred_error_at;
} Parser;

enum {
    /* Upper bound for the setting, because every level uses C stack. */
    PARSER_NESTING_MAX = 1000
};

bool parser_init(Parser *p, Arena *arena, const TemplateSettings *settings, Str text,
                 LexerState state, Fault *fault);

/* Fails at a location. Always returns false. */
PRINTF_LIKE(3, 4) bool parser_fail(Parser *p, Span span, const char *format, ...);
PRINTF_LIKE(2, 3) bool parser_fail_here(Parser *p, const char *format, ...);

/* Records an error that Jinja2's parser accepts and its code generator, or ours, rejects: parsing
 * fails with it at the end if there is no other fault. */
void parser_defer_error(Parser *p, Span span, Str message);
/* Returns whether parsing succeeded; call it when everything is parsed. */
bool parser_finish(Parser *p);

/* Advances and returns the previous current token. At the end the last token stays current. */
Token parser_next(Parser *p);
/* The token after the current one. */
const Token *parser_peek(Parser *p);

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
/* Adds a hint to the fault at the current token if the token is syntax of another language. */
void parser_hint_foreign_syntax(Parser *p);
/* `*token`, unless NULL, is set to the accepted token. */
bool parser_expect(Parser *p, TokenType type, Token *token);
bool parser_expect_word(Parser *p, Word word, Token *token);

/* Counts a nesting level in the source. Do not call parser_leave() if it fails. */
bool parser_enter(Parser *p);
static inline void parser_leave(Parser *p)
{
    p->nesting--;
}

/* Returns false and sets the fault if the memory limit of this compilation is reached. */
bool parser_has_memory(Parser *p, Span span);
/* Returns NULL if parser_has_memory() fails. */
Node *parser_node(Parser *p, NodeKind kind, Span span);
/* The current token, the name of a tag, becomes the location of the node. */
Node *parser_begin_statement(Parser *p, NodeKind kind);
/* Makes `node` at least one level higher than `child`; returns false if the tree becomes too
 * deep. */
bool parser_adopt(Parser *p, Node *node, const Node *child);
/* Appends to the items of `node`. `tail` is the current end of its list, initially &node->items. */
bool parser_add_item(Parser *p, Node *node, Node ***tail, Node *item);

static inline Span node_span(const Node *node)
{
    return (Span){ node->offset, node->span };
}

/* The items that a tuple may contain. */
typedef struct TupleRule {
    bool simple;        /* names, literals and brackets only: targets */
    bool namespaces;    /* also name.attribute */
    bool no_condition;  /* as parse_unconditional() */
    bool parenthesized; /* may be empty */
} TupleRule;

Node *parser_make_const(Parser *p, Span span, Value value);
Node *parser_make_integer(Parser *p, const Token *token);
/* Returns NULL if the operand is NULL. */
Node *parser_make_unary(Parser *p, Operator op, Span span, Node *operand);

/* A string that starts out borrowed and is copied when it grows. */
typedef struct Joined {
    Str text;
    char *room; /* NULL while the string is borrowed */
    size_t cap;
} Joined;

void joined_add(Parser *p, Joined *joined, Str more);

Node *parse_expression(Parser *p);
/* Parses an expression where `if` belongs to the statement. */
Node *parse_unconditional(Parser *p);
/* Parses a name, a literal or something in brackets. */
Node *parse_primary(Parser *p);
Node *parse_tuple(Parser *p, TupleRule rule);
/* Parses subscripts and calls of `node`, which may be NULL after a failure. */
Node *parse_postfix(Parser *p, Node *node);
/* Parses filters, tests and calls of their results. */
Node *parse_filter_expression(Parser *p, Node *node);
/* Parses a chain of filters on `node`, which may be NULL; with `inline_first` the first name has no
 * pipe. Returns `node` itself if there is no filter: check `*ok`, not the result. */
Node *parse_filters(Parser *p, Node *node, bool inline_first, bool *ok);

/* Parses name.attribute as a target. */
Node *parse_namespace(Parser *p);
/* Parses a single name to assign to. */
bool parse_target_name(Parser *p, Token *name);
/* Parses a body up to a tag in `ends`, which is consumed. `in_loop`: break and continue are
 * allowed. */
bool parse_closed_body(Parser *p, const Word *ends, bool in_loop, Node **out);

/* Statements of parse_reference.c, each from the name of the tag to its closing delimiter. */
Node *parse_block(Parser *p);
Node *parse_extends(Parser *p);
Node *parse_include(Parser *p);
Node *parse_import(Parser *p);
Node *parse_from(Parser *p);
