/* Expressions. Levels, from loose to tight: condition, or, and, not, comparisons, + -, ~,
 * * / // %, **, sign, then what follows a value: subscripts, calls, filters and tests.
 *
 * As in Jinja2, ** groups to the left, a sign binds tighter than it (-1 ** 2 is 1), and filters
 * bind tighter than all operators but take a sign along (-1|abs is 1). */
#include "lang/template/parser.h"

typedef enum Level {
    LEVEL_NONE,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_SUM,
    LEVEL_CONCAT,
    LEVEL_PRODUCT,
    LEVEL_POWER,
    LEVEL_SIGN,
} Level;

typedef struct OperatorRow {
    uint8_t level; /* Level */
    uint8_t op;    /* Operator */
} OperatorRow;

static const OperatorRow operators[TOKEN_TYPE_COUNT] = {
    [TOKEN_EQ] = { LEVEL_COMPARE, OP_EQ },   [TOKEN_NE] = { LEVEL_COMPARE, OP_NE },
    [TOKEN_LT] = { LEVEL_COMPARE, OP_LT },   [TOKEN_LE] = { LEVEL_COMPARE, OP_LE },
    [TOKEN_GT] = { LEVEL_COMPARE, OP_GT },   [TOKEN_GE] = { LEVEL_COMPARE, OP_GE },
    [TOKEN_ADD] = { LEVEL_SUM, OP_ADD },     [TOKEN_SUB] = { LEVEL_SUM, OP_SUB },
    [TOKEN_TILDE] = { LEVEL_CONCAT, 0 },     [TOKEN_MUL] = { LEVEL_PRODUCT, OP_MUL },
    [TOKEN_DIV] = { LEVEL_PRODUCT, OP_DIV }, [TOKEN_FLOOR_DIV] = { LEVEL_PRODUCT, OP_FLOOR_DIV },
    [TOKEN_MOD] = { LEVEL_PRODUCT, OP_MOD }, [TOKEN_POW] = { LEVEL_POWER, OP_POW },
};

static Node *parse_unary(Parser *p, bool with_filters);
static Node *parse_level(Parser *p, Level min);

/* The span of a node that Jinja2 reports at `required`. */
static Span span_near(const Parser *p, Span required, Span preferred)
{
    return lexer_same_line(&p->lexer, required, preferred);
}

static Node *make_unary(Parser *p, Operator op, Span at, Node *operand)
{
    Node *node = operand == NULL ? NULL : parser_node(p, NODE_UNARY, at);
    if (node == NULL) {
        return NULL;
    }
    node->op = (uint8_t)op;
    node->left = operand;
    return parser_adopt(p, node, operand) ? node : NULL;
}

/* --- Literals and names ------------------------------------------------------------------- */

static Node *make_const(Parser *p, Span at, Value value)
{
    Node *node = parser_node(p, NODE_CONST, at);
    if (node != NULL) {
        node->value = value;
    }
    return node;
}

static Node *make_integer(Parser *p, const Token *token)
{
    if (token->wide || token->integer > INT64_MAX) {
        parser_complain(p, token->span, "the integer does not fit in 64 bits");
        return make_const(p, token->span, value_int(0));
    }
    return make_const(p, token->span, value_int((int64_t)token->integer));
}

static Node *parse_name(Parser *p)
{
    Token token = parser_next(p);
    switch (token.word) {
    case WORD_TRUE_LOWER:
    case WORD_TRUE_UPPER: return make_const(p, token.span, value_bool(true));
    case WORD_FALSE_LOWER:
    case WORD_FALSE_UPPER: return make_const(p, token.span, value_bool(false));
    case WORD_NONE_LOWER:
    case WORD_NONE_UPPER: return make_const(p, token.span, value_null());
    default: break;
    }
    Node *node = parser_node(p, NODE_NAME, token.span);
    if (node != NULL) {
        node->name = token.text;
    }
    return node;
}

/* Text that grows from a borrowed beginning. */
typedef struct Joined {
    Str text;
    char *room; /* NULL as long as the text is borrowed */
    size_t cap;
} Joined;

static void joined_add(Parser *p, Joined *joined, Str more)
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

/* Strings that follow one another are one. */
static Node *parse_string(Parser *p)
{
    Token first = parser_next(p);
    Joined joined = { .text = first.text };
    while (parser_at(p, TOKEN_STRING)) {
        joined_add(p, &joined, p->current.text);
        parser_next(p);
    }
    return make_const(p, first.span, value_string(joined.text));
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

static Node *parse_primary(Parser *p)
{
    Node *node;
    switch (p->current.type) {
    case TOKEN_NAME: return parse_name(p);
    case TOKEN_STRING: return parse_string(p);
    case TOKEN_INTEGER: {
        Token token = parser_next(p);
        return make_integer(p, &token);
    }
    case TOKEN_FLOAT: {
        Token token = parser_next(p);
        return make_const(p, token.span, value_float(token.number));
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
        parser_fail_here(p, "unexpected '%" STR_FMT "'", STR_ARG(token_describe(&p->current)));
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
    if (rule.simple) {
        return parse_primary(p);
    }
    if (!rule.no_condition) {
        return parse_expression(p);
    }
    if (!parser_enter(p)) {
        return NULL;
    }
    Node *node = parse_level(p, LEVEL_OR);
    parser_leave(p);
    return node;
}

Node *parse_tuple(Parser *p, TupleRule rule)
{
    Span at = p->current.span;
    if (at_tuple_end(p)) {
        if (!rule.parenthesized) {
            parser_fail_here(p, "Expected an expression, got '%" STR_FMT "'",
                             STR_ARG(token_describe(&p->current)));
            return NULL;
        }
        return parser_node(p, NODE_TUPLE, at);
    }
    Node *item = parse_tuple_item(p, rule);
    if (item == NULL || !parser_at(p, TOKEN_COMMA)) {
        return item;
    }
    Node *tuple = parser_node(p, NODE_TUPLE, at);
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
        at = span_near(p, p->current.span, at);
        parser_next(p);
        if (at_tuple_end(p)) {
            break;
        }
        item = parse_tuple_item(p, rule);
        if (item == NULL) {
            return NULL;
        }
    }
    tuple->offset = at.offset;
    tuple->span = at.len;
    return tuple;
}

/* --- What follows a value ----------------------------------------------------------------- */

typedef struct ArgumentsTail {
    Node **positional;
    Keyword **keyword;
} ArgumentsTail;

static bool parse_keyword(Parser *p, Node *owner, ArgumentsTail *tail)
{
    Token name = parser_next(p);
    parser_next(p);
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
    } else if (parser_at(p, TOKEN_NAME) && parser_look(p)->type == TOKEN_ASSIGN) {
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
    ArgumentsTail tail = { &owner->args.positional, &owner->args.keywords };
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
        Span place = span_near(p, open.span, p->current.span);
        if (!parse_argument(p, owner, &tail, &valid)) {
            return valid ? false
                         : parser_fail(p, place, "invalid syntax for function call expression");
        }
    }
    parser_next(p);
    return true;
}

static Node *parse_call(Parser *p, Node *callee)
{
    Span at = span_near(p, p->current.span, node_span(callee));
    Node *node = parser_node(p, NODE_CALL, at);
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

/* One part of a slice, unless nothing is written in its place. */
static bool parse_bound(Parser *p, Node *slice, Node **out)
{
    *out = parse_expression(p);
    return *out != NULL && parser_adopt(p, slice, *out);
}

/* An index or a slice. */
static Node *parse_subscript_item(Parser *p)
{
    Span at = p->current.span;
    Node *start = NULL;
    if (!parser_at(p, TOKEN_COLON)) {
        start = parse_expression(p);
        if (start == NULL || !parser_at(p, TOKEN_COLON)) {
            return start;
        }
    }
    parser_next(p);
    Node *slice = parser_node(p, NODE_SLICE, at);
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

static Node *parse_brackets(Parser *p, Span at)
{
    Node *tuple = parser_node(p, NODE_TUPLE, at);
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

static Node *make_element(Parser *p, Node *owner, Node *key, Span at)
{
    Node *node = key == NULL ? NULL : parser_node(p, NODE_ELEMENT, at);
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
    Span at = span_near(p, open.span, key.span);
    if (key.type == TOKEN_INTEGER) {
        return make_element(p, owner, make_integer(p, &key), at);
    }
    if (key.type != TOKEN_NAME) {
        parser_fail(p, key.span, "expected name or number");
        return NULL;
    }
    Node *node = parser_node(p, NODE_ATTRIBUTE, at);
    if (node == NULL) {
        return NULL;
    }
    node->left = owner;
    node->name = key.text;
    return parser_adopt(p, node, owner) ? node : NULL;
}

static Node *parse_postfix(Parser *p, Node *node)
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

/* The name of a filter or test, which may have dots in it. */
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

/* Whether a test's argument without parentheses may begin here. */
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
    Span at = span_near(p, is.span, first.span);
    Node *test = parser_node(p, NODE_TEST, at);
    if (test == NULL || !parser_adopt(p, test, left)) {
        return NULL;
    }
    test->left = left;
    test->name = name;
    if (!parse_test_arguments(p, test)) {
        return NULL;
    }
    return negated ? make_unary(p, OP_NOT, at, test) : test;
}

static Node *parse_filter_expression(Parser *p, Node *node)
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

/* --- Operators ---------------------------------------------------------------------------- */

static Node *parse_sign(Parser *p)
{
    Token sign = parser_next(p);
    bool negative = sign.type == TOKEN_SUB;
    /* The magnitude of the smallest integer is no integer itself. */
    if (negative && parser_at(p, TOKEN_INTEGER) && !p->current.wide &&
        p->current.integer == (uint64_t)INT64_MAX + 1) {
        parser_next(p);
        return make_const(p, sign.span, value_int(INT64_MIN));
    }
    if (!parser_enter(p)) {
        return NULL;
    }
    Node *node = parse_unary(p, false);
    parser_leave(p);
    return make_unary(p, negative ? OP_NEGATE : OP_POSITIVE, sign.span, node);
}

static Node *parse_unary(Parser *p, bool with_filters)
{
    Node *node =
        parser_at(p, TOKEN_SUB) || parser_at(p, TOKEN_ADD) ? parse_sign(p) : parse_primary(p);
    node = parse_postfix(p, node);
    return with_filters ? parse_filter_expression(p, node) : node;
}

/* The operator at the current token; LEVEL_NONE when there is none. */
static OperatorRow operator_here(Parser *p)
{
    const OperatorRow none = { LEVEL_NONE, 0 };
    if (p->current.type != TOKEN_NAME) {
        return operators[p->current.type];
    }
    switch (p->current.word) {
    case WORD_OR: return (OperatorRow){ LEVEL_OR, OP_OR };
    case WORD_AND: return (OperatorRow){ LEVEL_AND, OP_AND };
    case WORD_IN: return (OperatorRow){ LEVEL_COMPARE, OP_IN };
    case WORD_NOT:
        return token_is_word(parser_look(p), WORD_IN) ? (OperatorRow){ LEVEL_COMPARE, OP_NOT_IN }
                                                      : none;
    default: return none;
    }
}

/* left < a <= b ...: one node for all of it, reported where it ends. */
static Node *parse_comparison(Parser *p, Node *left)
{
    Span at = p->current.span;
    Node *node = parser_node(p, NODE_COMPARE, at);
    if (node == NULL || !parser_adopt(p, node, left)) {
        return NULL;
    }
    node->left = left;
    Node **tail = &node->items;
    for (;;) {
        OperatorRow row = operator_here(p);
        if (row.level != LEVEL_COMPARE) {
            break;
        }
        Token token = parser_next(p);
        if (row.op == OP_NOT_IN) {
            parser_next(p);
        }
        Node *right = parse_level(p, LEVEL_SUM);
        Node *operand = right == NULL ? NULL : parser_node(p, NODE_OPERAND, token.span);
        if (operand == NULL) {
            return NULL;
        }
        operand->op = row.op;
        operand->left = right;
        operand->height = right->height;
        if (!parser_add_item(p, node, &tail, operand)) {
            return NULL;
        }
    }
    at = span_near(p, p->current.span, at);
    node->offset = at.offset;
    node->span = at.len;
    return node;
}

static Node *parse_concat(Parser *p, Node *left, Span at)
{
    Node *node = parser_node(p, NODE_CONCAT, span_near(p, at, p->current.span));
    if (node == NULL) {
        return NULL;
    }
    Node **tail = &node->items;
    if (!parser_add_item(p, node, &tail, left)) {
        return NULL;
    }
    while (parser_accept(p, TOKEN_TILDE)) {
        Node *item = parse_level(p, LEVEL_PRODUCT);
        if (item == NULL || !parser_add_item(p, node, &tail, item)) {
            return NULL;
        }
    }
    return node;
}

static Node *parse_binary(Parser *p, Node *left, OperatorRow row, Span at)
{
    Token token = parser_next(p);
    Node *right = parse_level(p, (Level)(row.level + 1));
    Node *node = right == NULL ? NULL : parser_node(p, NODE_BINARY, span_near(p, at, token.span));
    if (node == NULL) {
        return NULL;
    }
    node->op = row.op;
    node->left = left;
    node->right = right;
    return parser_adopt(p, node, left) && parser_adopt(p, node, right) ? node : NULL;
}

static Node *parse_not(Parser *p)
{
    Token token = parser_next(p);
    if (!parser_enter(p)) {
        return NULL;
    }
    Node *node = parse_level(p, LEVEL_NOT);
    parser_leave(p);
    return make_unary(p, OP_NOT, token.span, node);
}

/* Everything that binds at least as tight as `min`. Jinja2 reports the first operation of a
 * level where its left side begins, and each further one at its operator. */
static Node *parse_level(Parser *p, Level min)
{
    Span start = p->current.span;
    Node *left =
        min <= LEVEL_NOT && parser_at_word(p, WORD_NOT) ? parse_not(p) : parse_unary(p, true);
    Level last = LEVEL_NONE;
    while (left != NULL) {
        OperatorRow row = operator_here(p);
        if (row.level == LEVEL_NONE || row.level < min) {
            break;
        }
        Span at = row.level == last ? p->current.span : start;
        last = (Level)row.level;
        if (row.level == LEVEL_COMPARE) {
            left = parse_comparison(p, left);
        } else if (row.level == LEVEL_CONCAT) {
            left = parse_concat(p, left, at);
        } else {
            left = parse_binary(p, left, row, at);
        }
    }
    return left;
}

static Node *parse_condition(Parser *p)
{
    Span at = p->current.span;
    Node *left = parse_level(p, LEVEL_OR);
    while (left != NULL && parser_accept_word(p, WORD_IF)) {
        Node *test = parse_level(p, LEVEL_OR);
        Node *node = test == NULL ? NULL : parser_node(p, NODE_CONDITION, at);
        if (node == NULL || !parser_adopt(p, node, left) || !parser_adopt(p, node, test)) {
            return NULL;
        }
        node->left = left;
        node->test = test;
        if (parser_accept_word(p, WORD_ELSE)) {
            node->right = parse_expression(p);
            if (node->right == NULL || !parser_adopt(p, node, node->right)) {
                return NULL;
            }
        }
        left = node;
        at = p->current.span;
    }
    return left;
}

Node *parse_expression(Parser *p)
{
    if (!parser_enter(p)) {
        return NULL;
    }
    Node *node = parse_condition(p);
    parser_leave(p);
    return node;
}
