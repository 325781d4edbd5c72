/* Splits a template into tokens, one at a time, as the parser requests them.
 *
 * The order in which faults are found is part of the behavior: an invalid character after an
 * unexpected word is not reported if the parser stops at the word. So the lexer never reads ahead.
 *
 * After a fault every further token is TOKEN_FAULT, which no grammar rule accepts. */
#pragma once

#include "lang/template/fault.h"
#include "lang/template/template.h"

/* X(constant, name in messages) */
#define TOKEN_TYPES(X)                                  \
    X(TOKEN_FAULT, "")                                  \
    X(TOKEN_END, "end of template")                     \
    X(TOKEN_DATA, "template data / text")               \
    X(TOKEN_BLOCK_BEGIN, "begin of statement block")    \
    X(TOKEN_BLOCK_END, "end of statement block")        \
    X(TOKEN_VARIABLE_BEGIN, "begin of print statement") \
    X(TOKEN_VARIABLE_END, "end of print statement")     \
    X(TOKEN_NAME, "name")                               \
    X(TOKEN_STRING, "string")                           \
    X(TOKEN_INTEGER, "integer")                         \
    X(TOKEN_FLOAT, "float")                             \
    X(TOKEN_ADD, "+")                                   \
    X(TOKEN_SUB, "-")                                   \
    X(TOKEN_MUL, "*")                                   \
    X(TOKEN_DIV, "/")                                   \
    X(TOKEN_FLOOR_DIV, "//")                            \
    X(TOKEN_MOD, "%")                                   \
    X(TOKEN_POW, "**")                                  \
    X(TOKEN_TILDE, "~")                                 \
    X(TOKEN_EQ, "==")                                   \
    X(TOKEN_NE, "!=")                                   \
    X(TOKEN_LT, "<")                                    \
    X(TOKEN_LE, "<=")                                   \
    X(TOKEN_GT, ">")                                    \
    X(TOKEN_GE, ">=")                                   \
    X(TOKEN_ASSIGN, "=")                                \
    X(TOKEN_DOT, ".")                                   \
    X(TOKEN_COLON, ":")                                 \
    X(TOKEN_PIPE, "|")                                  \
    X(TOKEN_COMMA, ",")                                 \
    X(TOKEN_SEMICOLON, ";")                             \
    X(TOKEN_LPAREN, "(")                                \
    X(TOKEN_RPAREN, ")")                                \
    X(TOKEN_LBRACKET, "[")                              \
    X(TOKEN_RBRACKET, "]")                              \
    X(TOKEN_LBRACE, "{")                                \
    X(TOKEN_RBRACE, "}")

typedef enum TokenType {
#define X(constant, text) constant,
    TOKEN_TYPES(X)
#undef X
    TOKEN_TYPE_COUNT,
} TokenType;

/* Names with a meaning somewhere in the grammar; none of them is reserved everywhere. Sorted by
 * length, because lookup is by length. */
#define WORDS(X)                     \
    X(WORD_AS, "as")                 \
    X(WORD_DO, "do")                 \
    X(WORD_IF, "if")                 \
    X(WORD_IN, "in")                 \
    X(WORD_IS, "is")                 \
    X(WORD_OR, "or")                 \
    X(WORD_AND, "and")               \
    X(WORD_FOR, "for")               \
    X(WORD_NOT, "not")               \
    X(WORD_SET, "set")               \
    X(WORD_CALL, "call")             \
    X(WORD_ELIF, "elif")             \
    X(WORD_ELSE, "else")             \
    X(WORD_FROM, "from")             \
    X(WORD_NONE_LOWER, "none")       \
    X(WORD_NONE_UPPER, "None")       \
    X(WORD_TRUE_LOWER, "true")       \
    X(WORD_TRUE_UPPER, "True")       \
    X(WORD_WITH, "with")             \
    X(WORD_BLOCK, "block")           \
    X(WORD_BREAK, "break")           \
    X(WORD_ENDIF, "endif")           \
    X(WORD_FALSE_LOWER, "false")     \
    X(WORD_FALSE_UPPER, "False")     \
    X(WORD_MACRO, "macro")           \
    X(WORD_PRINT, "print")           \
    X(WORD_ENDFOR, "endfor")         \
    X(WORD_ENDSET, "endset")         \
    X(WORD_FILTER, "filter")         \
    X(WORD_IGNORE, "ignore")         \
    X(WORD_IMPORT, "import")         \
    X(WORD_SCOPED, "scoped")         \
    X(WORD_CONTEXT, "context")       \
    X(WORD_ENDCALL, "endcall")       \
    X(WORD_ENDWITH, "endwith")       \
    X(WORD_EXTENDS, "extends")       \
    X(WORD_INCLUDE, "include")       \
    X(WORD_MISSING, "missing")       \
    X(WORD_WITHOUT, "without")       \
    X(WORD_CONTINUE, "continue")     \
    X(WORD_ENDBLOCK, "endblock")     \
    X(WORD_ENDMACRO, "endmacro")     \
    X(WORD_REQUIRED, "required")     \
    X(WORD_ENDFILTER, "endfilter")   \
    X(WORD_RECURSIVE, "recursive")   \
    X(WORD_AUTOESCAPE, "autoescape") \
    X(WORD_ENDAUTOESCAPE, "endautoescape")

typedef enum Word {
    WORD_OTHER,
#define X(constant, text) constant,
    WORDS(X)
#undef X
    WORD_COUNT,
} Word;

/* A location in the original template, before line endings were normalized. */
typedef struct Span {
    uint32_t offset;
    uint32_t len;
} Span;

typedef struct Token {
    uint8_t type; /* TokenType */
    uint8_t word; /* Word; for names */
    bool wide;    /* integer above 2^64 - 1; `integer` is not set */
    Span span;
    union {
        Str text; /* data, name or decoded string */
        uint64_t integer;
        double number;
    };
} Token;

typedef enum LexerState {
    LEXER_DATA,
    LEXER_BLOCK,
    LEXER_VARIABLE,
    LEXER_LINE_STATEMENT,
    LEXER_COMMENT,
    LEXER_LINE_COMMENT,
    LEXER_RAW,
} LexerState;

/* A string that ends data, and the lexer state it leads to. */
typedef struct LexerStart {
    Str text;
    LexerState state;
} LexerStart;

enum {
    LEXER_STARTS_MAX = 5
};

typedef struct Lexer {
    Arena *arena;
    const TemplateSyntax *syntax;
    Fault *fault;
    Str text;   /* original source */
    Str source; /* the source with '\n' as the only line ending and without the last one */
    size_t pos; /* offset in `source` */
    LexerState state;
    bool begin_pending; /* data was emitted; the token that begins `state` is next */
    Span begin;
    Span last;           /* latest token: the end of the template is reported here */
    bool one_first_byte; /* all starts begin with `first_byte`, and there are no line prefixes */
    char first_byte;
    uint8_t start_count;
    LexerStart starts[LEXER_STARTS_MAX]; /* the first match wins */
    char *brackets;                      /* stack of the closing characters of open brackets */
    uint32_t bracket_count;
    uint32_t bracket_cap;
    const uint32_t *joins; /* offsets in `source` of line endings that had two bytes in `text` */
    uint32_t join_count;
} Lexer;

/* Starts in data, or inside a variable tag for a bare expression. Returns false and sets the fault
 * if the text is too long or not UTF-8, or the delimiters are invalid. */
MUST_CHECK bool lexer_init(Lexer *lexer, Arena *arena, const TemplateSettings *settings, Str text,
                           LexerState state, Fault *fault);

void lexer_next(Lexer *lexer, Token *token);

/* Returns `preferred` if it is on the same line as `required`: Jinja2 reports that line, but the
 * column of `preferred` is better. Locations far apart count as different lines, so that long lists
 * do not take quadratic time. */
Span lexer_same_line(const Lexer *lexer, Span required, Span preferred);

/* Returns "end of print statement", "+", or the name itself. */
Str token_describe(const Token *token);
Str token_type_describe(TokenType type);

Str word_text(Word word);
Word word_find(Str name);

/* Sets the fault and its location unless a fault is already set. Always returns false. */
PRINTF_LIKE(4, 5)
bool lexer_fail(Lexer *lexer, FaultClass class, Span span, const char *format, ...);

/* Adds a hint to the fault that was just set, unless it has one. */
PRINTF_LIKE(2, 3) void lexer_hint(Lexer *lexer, const char *format, ...);

/* Shared between lexer.c and lexer_tag.c only: */

/* Maps a range of `source` to a location in `text`. */
Span lexer_span(const Lexer *lexer, size_t start, size_t end);
/* Sets the type and location of a token for this range of `source`. */
void lexer_emit(Lexer *lexer, Token *token, TokenType type, size_t start, size_t end);
/* Returns the offset after a closing delimiter `end` at `pos`, including whitespace control, or
 * STR_NOT_FOUND. With `block`, '+' is accepted and trim_blocks applies; neither holds for
 * variables. */
size_t lexer_match_close(const Lexer *lexer, size_t pos, Str end, bool block);
/* Skips what Python's \s matches, starting at `pos`; returns the offset after it. */
size_t lexer_skip_space(const Lexer *lexer, size_t pos);
/* Replaces '\n' with the newline sequence of the settings. */
Str lexer_normalize(Lexer *lexer, Str text);
/* Reads the next token inside a tag. */
void lexer_next_in_tag(Lexer *lexer, Token *token);
