/* Helpers shared by the parser's files: the token stream, expectations, limits, and creating nodes.
 *
 * The parser is recursive descent. Three limits keep it safe: parser_enter() bounds the nesting in
 * the source and with it the C stack, parser_adopt() the height of the tree, which is walked
 * recursively later, and parser_has_memory() the memory of the tree. */
#include "lang/template/parser.h"

bool parser_init(Parser *p, Arena *arena, const TemplateSettings *settings, Str text,
                 LexerState state, Fault *fault)
{
    *p = (Parser){ .arena = arena, .nesting_max = settings->limits.nesting };
    if (p->nesting_max > PARSER_NESTING_MAX) {
        p->nesting_max = PARSER_NESTING_MAX;
    }
    if (!lexer_init(&p->lexer, arena, settings, text, state, fault)) {
        return false;
    }
    lexer_next(&p->lexer, &p->current);
    return fault->class == FAULT_NONE;
}

bool parser_fail(Parser *p, Span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str message = arena_format_v(p->arena, format, args);
    va_end(args);
    return lexer_fail(&p->lexer, FAULT_SYNTAX, span, "%" STR_FMT, STR_ARG(message));
}

bool parser_fail_here(Parser *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str message = arena_format_v(p->arena, format, args);
    va_end(args);
    return lexer_fail(&p->lexer, FAULT_SYNTAX, p->current.span, "%" STR_FMT, STR_ARG(message));
}

void parser_defer_error(Parser *p, Span span, Str message)
{
    if (p->deferred_error.len == 0) {
        p->deferred_error = message;
        p->deferred_error_at = span;
    }
}

bool parser_finish(Parser *p)
{
    return p->deferred_error.len == 0 ||
           parser_fail(p, p->deferred_error_at, "%" STR_FMT, STR_ARG(p->deferred_error));
}

Token parser_next(Parser *p)
{
    Token token = p->current;
    if (p->has_ahead) {
        p->current = p->ahead;
        p->has_ahead = false;
    } else if (p->current.type != TOKEN_END) {
        lexer_next(&p->lexer, &p->current);
    }
    return token;
}

const Token *parser_peek(Parser *p)
{
    if (p->current.type == TOKEN_END) {
        return &p->current;
    }
    if (!p->has_ahead) {
        lexer_next(&p->lexer, &p->ahead);
        p->has_ahead = true;
    }
    return &p->ahead;
}

bool parser_accept(Parser *p, TokenType type)
{
    if (!parser_at(p, type)) {
        return false;
    }
    parser_next(p);
    return true;
}

bool parser_accept_word(Parser *p, Word word)
{
    if (!parser_at_word(p, word)) {
        return false;
    }
    parser_next(p);
    return true;
}

/* `{{ if x }}` or `a if b else if c`: `if` was parsed as a variable. */
static bool ends_in_if(Str text)
{
    return str_ends(text, STR("if")) && (text.len == 2 || !ascii_is_name(text.data[text.len - 3]));
}

/* Operators are in lowercase. */
static void hint_operator(Parser *p)
{
    static const Str operators[] = { STR("and"), STR("or"), STR("not"), STR("in"), STR("is") };
    for (size_t i = 0; i < COUNT_OF(operators) && parser_at(p, TOKEN_NAME); i++) {
        if (str_eq_ignore_case(p->current.text, operators[i])) {
            lexer_hint(&p->lexer, "write '%" STR_FMT "'", STR_ARG(operators[i]));
        }
    }
}

void parser_hint_foreign_syntax(Parser *p)
{
    Str before = str_slice(p->lexer.text, 0, p->current.span.offset);
    Str rest = str_from_offset(p->lexer.text, p->current.span.offset + p->current.span.len);
    switch (p->current.type) {
    case TOKEN_PIPE: lexer_hint(&p->lexer, "write 'or' for alternatives"); break;
    case TOKEN_DOT:
        lexer_hint(&p->lexer,
                   "names do not start with a dot; write 'vars.NAME' for a variable of the site");
        break;
    case TOKEN_ASSIGN:
        if (str_ends(before, STR("==")) || str_ends(before, STR("!="))) {
            lexer_hint(&p->lexer, "remove one '='");
        } else if (str_starts(rest, STR(">"))) {
            lexer_hint(&p->lexer, "write 'for key, value in map.items()'");
        } else {
            lexer_hint(&p->lexer,
                       "to compare, write '=='; to assign, write '{%% set name = ... %%}'");
        }
        break;
    case TOKEN_EQ: lexer_hint(&p->lexer, "to assign, write '='"); break;
    case TOKEN_GT:
        if (str_ends(before, STR("<"))) {
            lexer_hint(&p->lexer, "write '!='");
        }
        break;
    case TOKEN_NAME:
        hint_operator(p);
        if (str_eq(p->current.text, STR("then"))) {
            lexer_hint(&p->lexer, "there is no 'then'; end the tag here");
        } else if (ends_in_if(str_trim(before))) {
            lexer_hint(&p->lexer, "write '{%% if ... %%}' or 'a if condition else b'");
        }
        break;
    default: break;
    }
}

static bool fail_expected(Parser *p, Str expected)
{
    if (parser_at(p, TOKEN_END)) {
        return parser_fail_here(p, "unexpected end of template, expected '%" STR_FMT "'.",
                                STR_ARG(expected));
    }
    bool first = p->lexer.fault->class == FAULT_NONE;
    parser_fail_here(p, "expected token '%" STR_FMT "', got '%" STR_FMT "'", STR_ARG(expected),
                     STR_ARG(token_describe(&p->current)));
    if (first) {
        parser_hint_foreign_syntax(p);
    }
    return false;
}

bool parser_expect(Parser *p, TokenType type, Token *token)
{
    if (!parser_at(p, type)) {
        return fail_expected(p, token_type_describe(type));
    }
    Token found = parser_next(p);
    if (token != NULL) {
        *token = found;
    }
    return true;
}

bool parser_expect_word(Parser *p, Word word, Token *token)
{
    if (!parser_at_word(p, word)) {
        return fail_expected(p, word_text(word));
    }
    Token found = parser_next(p);
    if (token != NULL) {
        *token = found;
    }
    return true;
}

bool parser_enter(Parser *p)
{
    if (p->nesting >= p->nesting_max) {
        return lexer_fail(&p->lexer, FAULT_LIMIT, p->current.span,
                          "nested too deeply (limit: %u levels)", p->nesting_max);
    }
    p->nesting++;
    return true;
}

bool parser_has_memory(Parser *p, Span span)
{
    return !arena_exceeded(p->arena) ||
           lexer_fail(&p->lexer, FAULT_LIMIT, span, "compiling the template needs too much memory");
}

Node *parser_node(Parser *p, NodeKind kind, Span span)
{
    if (!parser_has_memory(p, span)) {
        return NULL;
    }
    Node *node = ARENA_NEW(p->arena, Node);
    node->kind = (uint8_t)kind;
    node->offset = span.offset;
    node->span = span.len;
    return node;
}

Node *parser_begin_statement(Parser *p, NodeKind kind)
{
    Token token = parser_next(p);
    return parser_node(p, kind, token.span);
}

bool parser_adopt(Parser *p, Node *node, const Node *child)
{
    if (child->height >= node->height) {
        node->height = child->height + 1;
        if (node->height > PARSE_HEIGHT_MAX) {
            return lexer_fail(&p->lexer, FAULT_LIMIT, node_span(node),
                              "expression too long (limit: %d operations in a chain)",
                              PARSE_HEIGHT_MAX);
        }
    }
    return true;
}

bool parser_add_item(Parser *p, Node *node, Node ***tail, Node *item)
{
    **tail = item;
    *tail = &item->next;
    node->count++;
    return parser_adopt(p, node, item);
}

Node *parser_make_unary(Parser *p, Operator op, Span span, Node *operand)
{
    Node *node = operand == NULL ? NULL : parser_node(p, NODE_UNARY, span);
    if (node == NULL) {
        return NULL;
    }
    node->op = (uint8_t)op;
    node->left = operand;
    return parser_adopt(p, node, operand) ? node : NULL;
}

void joined_add(Parser *p, Joined *joined, Str more)
{
    Str text = joined->text;
    size_t len = text.len + more.len;
    if (joined->room == NULL || len > joined->cap) {
        joined->cap = len * 2 + 16;
        joined->room = arena_alloc(p->arena, joined->cap);
        memcpy(joined->room, text.data, text.len);
    }
    memcpy(joined->room + text.len, more.data, more.len);
    joined->text = str_from(joined->room, len);
}

bool expression_parse(Arena *arena, const TemplateSettings *settings, Str text, Node **out,
                      Fault *fault)
{
    Parser p;
    *out = NULL;
    if (!parser_init(&p, arena, settings, text, LEXER_VARIABLE, fault)) {
        return false;
    }
    *out = parse_expression(&p);
    if (*out == NULL) {
        return false;
    }
    if (!parser_at(&p, TOKEN_END)) {
        Span span = p.current.span;
        Str shown = str_slice(text, span.offset, span.offset + (span.len < 40 ? span.len : 40));
        parser_fail_here(&p, "expected end of expression, got '%" STR_FMT "'", STR_ARG(shown));
        if (parser_at(&p, TOKEN_ASSIGN)) {
            lexer_hint(&p.lexer, "to compare, write '=='");
        }
        hint_operator(&p);
        if ((*out)->kind == NODE_NAME && str_eq_ignore_case((*out)->name, STR("not"))) {
            lexer_hint(&p.lexer, "write 'not' before this");
        }
        return false;
    }
    return parser_finish(&p);
}
