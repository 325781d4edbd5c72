/* Parses the operands of expressions: names, literals, everything in brackets, and tuples. */
#include "lang/template/parser.h"

Node *parser_make_const(Parser *p, Span span, Value value)
{
    Node *node = parser_node(p, NODE_CONST, span);
    if (node != NULL) {
        node->value = value;
    }
    return node;
}

Node *parser_make_integer(Parser *p, const Token *token)
{
    if (token->wide || token->integer > INT64_MAX) {
        parser_defer_error(p, token->span, STR("the integer does not fit in 64 bits"));
        return parser_make_const(p, token->span, value_int(0));
    }
    return parser_make_const(p, token->span, value_int((int64_t)token->integer));
}

static Node *parse_name(Parser *p)
{
    Token token = parser_next(p);
    switch (token.word) {
    case WORD_TRUE_LOWER:
    case WORD_TRUE_UPPER: return parser_make_const(p, token.span, value_bool(true));
    case WORD_FALSE_LOWER:
    case WORD_FALSE_UPPER: return parser_make_const(p, token.span, value_bool(false));
    case WORD_NONE_LOWER:
    case WORD_NONE_UPPER: return parser_make_const(p, token.span, value_null());
    default: break;
    }
    Node *node = parser_node(p, NODE_NAME, token.span);
    if (node != NULL) {
        node->name = token.text;
    }
    return node;
}

/* Adjacent string literals are concatenated. */
static Node *parse_string(Parser *p)
{
    Token first = parser_next(p);
    Joined joined = { .text = first.text };
    while (parser_at(p, TOKEN_STRING)) {
        joined_add(p, &joined, p->current.text);
        parser_next(p);
    }
    return parser_make_const(p, first.span, value_string(joined.text));
}

static Node *parse_list(Parser *p)
{
    Token open = parser_next(p);
    Node *node = parser_node(p, NODE_LIST, open.span);
    if (node == NULL) {
        return NULL;
    }
    Node **tail = &node->items;
    while (!parser_at(p, TOKEN_RBRACKET)) {
        if (node->count > 0 && !parser_expect(p, TOKEN_COMMA, NULL)) {
            return NULL;
        }
        if (parser_at(p, TOKEN_RBRACKET)) {
            break;
        }
        Node *item = parse_expression(p);
        if (item == NULL || !parser_add_item(p, node, &tail, item)) {
            return NULL;
        }
    }
    parser_next(p);
    return node;
}

static Node *parse_pair(Parser *p)
{
    Node *key = parse_expression(p);
    if (key == NULL || !parser_expect(p, TOKEN_COLON, NULL)) {
        return NULL;
    }
    Node *value = parse_expression(p);
    Node *node = value == NULL ? NULL : parser_node(p, NODE_PAIR, node_span(key));
    if (node == NULL) {
        return NULL;
    }
    node->left = key;
    node->right = value;
    return parser_adopt(p, node, key) && parser_adopt(p, node, value) ? node : NULL;
}

static Node *parse_dict(Parser *p)
{
    Token open = parser_next(p);
    Node *node = parser_node(p, NODE_DICT, open.span);
    if (node == NULL) {
        return NULL;
    }
    Node **tail = &node->items;
    while (!parser_at(p, TOKEN_RBRACE)) {
        if (node->count > 0 && !parser_expect(p, TOKEN_COMMA, NULL)) {
            return NULL;
        }
        if (parser_at(p, TOKEN_RBRACE)) {
            break;
        }
        Node *pair = parse_pair(p);
        if (pair == NULL || !parser_add_item(p, node, &tail, pair)) {
            return NULL;
        }
    }
    parser_next(p);
    return node;
}

Node *parse_primary(Parser *p)
{
    Node *node;
    switch (p->current.type) {
    case TOKEN_NAME: return parse_name(p);
    case TOKEN_STRING: return parse_string(p);
    case TOKEN_INTEGER: {
        Token token = parser_next(p);
        return parser_make_integer(p, &token);
    }
    case TOKEN_FLOAT: {
        Token token = parser_next(p);
        return parser_make_const(p, token.span, value_float(token.number));
    }
    case TOKEN_LPAREN:
        parser_next(p);
        node = parse_tuple(p, (TupleRule){ .parenthesized = true });
        if (node == NULL || !parser_expect(p, TOKEN_RPAREN, NULL)) {
            return NULL;
        }
        node->parenthesized = true;
        return node;
    case TOKEN_LBRACKET: return parse_list(p);
    case TOKEN_LBRACE: return parse_dict(p);
    default:
        if (p->lexer.fault->class == FAULT_NONE) {
            parser_fail_here(p, "unexpected '%" STR_FMT "'", STR_ARG(token_describe(&p->current)));
            parser_hint_foreign_syntax(p);
        }
        return NULL;
    }
}

/* --- Tuples ------------------------------------------------------------------------------- */

static bool at_tuple_end(const Parser *p)
{
    return parser_at(p, TOKEN_VARIABLE_END) || parser_at(p, TOKEN_BLOCK_END) ||
           parser_at(p, TOKEN_RPAREN);
}

static Node *parse_tuple_item(Parser *p, TupleRule rule)
{
    if (rule.namespaces && parser_at(p, TOKEN_NAME) && parser_peek(p)->type == TOKEN_DOT) {
        return parse_namespace(p);
    }
    if (rule.simple) {
        return parse_primary(p);
    }
    return rule.no_condition ? parse_unconditional(p) : parse_expression(p);
}

Node *parse_tuple(Parser *p, TupleRule rule)
{
    Span span = p->current.span;
    if (at_tuple_end(p)) {
        if (!rule.parenthesized) {
            parser_fail_here(p, "Expected an expression, got '%" STR_FMT "'",
                             STR_ARG(token_describe(&p->current)));
            return NULL;
        }
        return parser_node(p, NODE_TUPLE, span);
    }
    Node *item = parse_tuple_item(p, rule);
    if (item == NULL || !parser_at(p, TOKEN_COMMA)) {
        return item;
    }
    Node *tuple = parser_node(p, NODE_TUPLE, span);
    if (tuple == NULL) {
        return NULL;
    }
    Node **tail = &tuple->items;
    for (;;) {
        if (!parser_add_item(p, tuple, &tail, item)) {
            return NULL;
        }
        if (!parser_at(p, TOKEN_COMMA)) {
            break;
        }
        span = lexer_same_line(&p->lexer, p->current.span, span);
        parser_next(p);
        if (at_tuple_end(p)) {
            break;
        }
        item = parse_tuple_item(p, rule);
        if (item == NULL) {
            return NULL;
        }
    }
    tuple->offset = span.offset;
    tuple->span = span.len;
    return tuple;
}
