/* Parses what follows a value: subscripts, calls, filters and tests. */
#include "lang/template/parser.h"

/* The span of a node that Jinja2 reports at `required`. */
static Span span_near(const Parser *p, Span required, Span preferred)
{
    return lexer_same_line(&p->lexer, required, preferred);
}

typedef struct ArgumentsTail {
    Node **positional;
    Keyword **keyword;
    Map *names; /* index of the keywords; only if there are many */
} ArgumentsTail;

/* Whether the keyword was passed before. Long lists get an index, so that each lookup takes
 * constant time. */
static bool is_repeated(Parser *p, const Arguments *args, Str name, ArgumentsTail *tail)
{
    enum {
        FEW = 8
    };
    const Keyword *keyword = args->keywords;
    if (args->keyword_count < FEW) {
        while (keyword != NULL && !str_eq(keyword->name, name)) {
            keyword = keyword->next;
        }
        return keyword != NULL;
    }
    if (tail->names == NULL) {
        tail->names = map_new(p->arena, 2 * FEW);
        for (; keyword != NULL; keyword = keyword->next) {
            map_set_str(p->arena, tail->names, keyword->name, value_null());
        }
    }
    if (map_find_str(tail->names, name) != NULL) {
        return true;
    }
    map_set_str(p->arena, tail->names, name, value_null());
    return false;
}

/* Like Python's compiler, rejects repeated keywords. */
static void check_repeated(Parser *p, const Arguments *args, const Token *name, ArgumentsTail *tail)
{
    if (is_repeated(p, args, name->text, tail)) {
        Str message =
            arena_format(p->arena, "keyword argument repeated: %" STR_FMT, STR_ARG(name->text));
        parser_defer_error(p, name->span, message);
    }
}

static bool parse_keyword(Parser *p, Node *owner, ArgumentsTail *tail)
{
    Token name = parser_next(p);
    parser_next(p);
    check_repeated(p, &owner->args, &name, tail);
    Node *value = parse_expression(p);
    if (value == NULL) {
        return false;
    }
    Keyword *keyword = ARENA_NEW(p->arena, Keyword);
    *keyword = (Keyword){ .name = name.text, .value = value, .offset = name.span.offset };
    *tail->keyword = keyword;
    tail->keyword = &keyword->next;
    owner->args.keyword_count++;
    return parser_adopt(p, owner, value);
}

static bool parse_argument(Parser *p, Node *owner, ArgumentsTail *tail, bool *valid)
{
    Arguments *args = &owner->args;
    Node **slot;
    if (parser_at(p, TOKEN_MUL)) {
        *valid = args->dynamic == NULL && args->dynamic_keywords == NULL;
        slot = &args->dynamic;
    } else if (parser_at(p, TOKEN_POW)) {
        *valid = args->dynamic_keywords == NULL;
        slot = &args->dynamic_keywords;
    } else if (parser_at(p, TOKEN_NAME) && parser_peek(p)->type == TOKEN_ASSIGN) {
        *valid = args->dynamic_keywords == NULL;
        return *valid && parse_keyword(p, owner, tail);
    } else {
        *valid =
            args->dynamic == NULL && args->dynamic_keywords == NULL && args->keyword_count == 0;
        slot = NULL;
    }
    if (!*valid) {
        return false;
    }
    if (slot != NULL) {
        parser_next(p);
    }
    Node *value = parse_expression(p);
    if (value == NULL) {
        return false;
    }
    if (slot != NULL) {
        *slot = value;
    } else {
        *tail->positional = value;
        tail->positional = &value->next;
        args->positional_count++;
    }
    return parser_adopt(p, owner, value);
}

/* The current token is the opening parenthesis. */
static bool parse_arguments(Parser *p, Node *owner)
{
    Token open = parser_next(p);
    ArgumentsTail tail = { &owner->args.positional, &owner->args.keywords, NULL };
    bool first = true;
    while (!parser_at(p, TOKEN_RPAREN)) {
        if (!first) {
            if (!parser_expect(p, TOKEN_COMMA, NULL)) {
                return false;
            }
            if (parser_at(p, TOKEN_RPAREN)) {
                break;
            }
        }
        first = false;
        bool valid = true;
        Span span = span_near(p, open.span, p->current.span);
        if (!parse_argument(p, owner, &tail, &valid)) {
            return valid ? false
                         : parser_fail(p, span, "invalid syntax for function call expression");
        }
    }
    parser_next(p);
    return true;
}

static Node *parse_call(Parser *p, Node *callee)
{
    Span span = span_near(p, p->current.span, node_span(callee));
    Node *node = parser_node(p, NODE_CALL, span);
    if (node == NULL) {
        return NULL;
    }
    node->left = callee;
    return parser_adopt(p, node, callee) && parse_arguments(p, node) ? node : NULL;
}

static bool at_bound_end(const Parser *p)
{
    return parser_at(p, TOKEN_RBRACKET) || parser_at(p, TOKEN_COMMA);
}

/* Parses one part of a slice, which may be absent. */
static bool parse_bound(Parser *p, Node *slice, Node **out)
{
    *out = parse_expression(p);
    return *out != NULL && parser_adopt(p, slice, *out);
}

/* Parses an index or a slice. */
static Node *parse_subscript_item(Parser *p)
{
    Span span = p->current.span;
    Node *start = NULL;
    if (!parser_at(p, TOKEN_COLON)) {
        start = parse_expression(p);
        if (start == NULL || !parser_at(p, TOKEN_COLON)) {
            return start;
        }
    }
    parser_next(p);
    Node *slice = parser_node(p, NODE_SLICE, span);
    if (slice == NULL || (start != NULL && !parser_adopt(p, slice, start))) {
        return NULL;
    }
    slice->left = start;
    if (!parser_at(p, TOKEN_COLON) && !at_bound_end(p) && !parse_bound(p, slice, &slice->right)) {
        return NULL;
    }
    if (parser_accept(p, TOKEN_COLON) && !at_bound_end(p) && !parse_bound(p, slice, &slice->test)) {
        return NULL;
    }
    return slice;
}

static Node *parse_brackets(Parser *p, Span span)
{
    Node *tuple = parser_node(p, NODE_TUPLE, span);
    if (tuple == NULL) {
        return NULL;
    }
    Node **tail = &tuple->items;
    while (!parser_at(p, TOKEN_RBRACKET)) {
        if (tuple->count > 0 && !parser_expect(p, TOKEN_COMMA, NULL)) {
            return NULL;
        }
        Node *item = parse_subscript_item(p);
        if (item == NULL || !parser_add_item(p, tuple, &tail, item)) {
            return NULL;
        }
    }
    parser_next(p);
    return tuple->count == 1 ? tuple->items : tuple;
}

static Node *make_element(Parser *p, Node *owner, Node *key, Span span)
{
    Node *node = key == NULL ? NULL : parser_node(p, NODE_ELEMENT, span);
    if (node == NULL) {
        return NULL;
    }
    node->left = owner;
    node->right = key;
    return parser_adopt(p, node, owner) && parser_adopt(p, node, key) ? node : NULL;
}

static Node *parse_subscript(Parser *p, Node *owner)
{
    Token open = parser_next(p);
    if (open.type == TOKEN_LBRACKET) {
        return make_element(p, owner, parse_brackets(p, open.span), open.span);
    }
    Token key = parser_next(p);
    Span span = span_near(p, open.span, key.span);
    if (key.type == TOKEN_INTEGER) {
        return make_element(p, owner, parser_make_integer(p, &key), span);
    }
    if (key.type != TOKEN_NAME) {
        parser_fail(p, key.span, "expected name or number");
        return NULL;
    }
    Node *node = parser_node(p, NODE_ATTRIBUTE, span);
    if (node == NULL) {
        return NULL;
    }
    node->left = owner;
    node->name = key.text;
    return parser_adopt(p, node, owner) ? node : NULL;
}

Node *parse_postfix(Parser *p, Node *node)
{
    while (node != NULL) {
        if (parser_at(p, TOKEN_DOT) || parser_at(p, TOKEN_LBRACKET)) {
            node = parse_subscript(p, node);
        } else if (parser_at(p, TOKEN_LPAREN)) {
            node = parse_call(p, node);
        } else {
            break;
        }
    }
    return node;
}

/* Parses the name of a filter or test, which may contain dots. */
static bool parse_dotted_name(Parser *p, Token *first, Str *out)
{
    if (!parser_expect(p, TOKEN_NAME, first)) {
        return false;
    }
    Joined joined = { .text = first->text };
    while (parser_accept(p, TOKEN_DOT)) {
        Token part;
        if (!parser_expect(p, TOKEN_NAME, &part)) {
            return false;
        }
        joined_add(p, &joined, STR("."));
        joined_add(p, &joined, part.text);
    }
    *out = joined.text;
    return true;
}

Node *parse_filters(Parser *p, Node *node, bool inline_first, bool *ok)
{
    *ok = false;
    while (inline_first || parser_accept(p, TOKEN_PIPE)) {
        inline_first = false;
        Token first;
        Str name;
        if (!parse_dotted_name(p, &first, &name)) {
            return NULL;
        }
        Node *filter = parser_node(p, NODE_FILTER, first.span);
        if (filter == NULL || (node != NULL && !parser_adopt(p, filter, node))) {
            return NULL;
        }
        filter->left = node;
        filter->name = name;
        if (parser_at(p, TOKEN_LPAREN) && !parse_arguments(p, filter)) {
            return NULL;
        }
        node = filter;
    }
    *ok = true;
    return node;
}

/* Whether an argument of a test without parentheses may begin here. */
static bool at_test_argument(const Parser *p)
{
    switch (p->current.type) {
    case TOKEN_NAME:
        return p->current.word != WORD_ELSE && p->current.word != WORD_OR &&
               p->current.word != WORD_AND;
    case TOKEN_STRING:
    case TOKEN_INTEGER:
    case TOKEN_FLOAT:
    case TOKEN_LBRACKET:
    case TOKEN_LBRACE: return true;
    default: return false;
    }
}

static bool parse_test_arguments(Parser *p, Node *test)
{
    if (parser_at(p, TOKEN_LPAREN)) {
        return parse_arguments(p, test);
    }
    if (!at_test_argument(p)) {
        return true;
    }
    if (parser_at_word(p, WORD_IS)) {
        return parser_fail_here(p, "You cannot chain multiple tests with is");
    }
    Node *argument = parse_primary(p);
    argument = argument == NULL ? NULL : parse_postfix(p, argument);
    if (argument == NULL) {
        return false;
    }
    test->args.positional = argument;
    test->args.positional_count = 1;
    return parser_adopt(p, test, argument);
}

static Node *parse_test(Parser *p, Node *left)
{
    Token is = parser_next(p);
    bool negated = parser_accept_word(p, WORD_NOT);
    Token first;
    Str name;
    if (!parse_dotted_name(p, &first, &name)) {
        return NULL;
    }
    Span span = span_near(p, is.span, first.span);
    Node *test = parser_node(p, NODE_TEST, span);
    if (test == NULL || !parser_adopt(p, test, left)) {
        return NULL;
    }
    test->left = left;
    test->name = name;
    if (!parse_test_arguments(p, test)) {
        return NULL;
    }
    return negated ? parser_make_unary(p, OP_NOT, span, test) : test;
}

Node *parse_filter_expression(Parser *p, Node *node)
{
    while (node != NULL) {
        bool ok;
        if (parser_at(p, TOKEN_PIPE)) {
            node = parse_filters(p, node, false, &ok);
        } else if (parser_at_word(p, WORD_IS)) {
            node = parse_test(p, node);
        } else if (parser_at(p, TOKEN_LPAREN)) {
            node = parse_call(p, node);
        } else {
            break;
        }
    }
    return node;
}
