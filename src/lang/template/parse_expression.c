/* Parses expressions by precedence, from loose to tight: condition, or, and, not, comparisons, + -,
 * ~,
 * * / // %, **, sign, then the postfix operators: subscripts, calls, filters and tests.
 *
 * As in Jinja2, ** is left-associative, a sign binds tighter than it (-1 ** 2 is 1), and filters
 * bind tighter than all operators except a sign (-1|abs is 1). */
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

static Node *parse_sign(Parser *p)
{
    Token sign = parser_next(p);
    bool negative = sign.type == TOKEN_SUB;
    /* The magnitude of the smallest integer is not an integer itself. */
    if (negative && parser_at(p, TOKEN_INTEGER) && !p->current.wide &&
        p->current.integer == (uint64_t)INT64_MAX + 1) {
        parser_next(p);
        return parser_make_const(p, sign.span, value_int(INT64_MIN));
    }
    if (!parser_enter(p)) {
        return NULL;
    }
    Node *node = parse_unary(p, false);
    parser_leave(p);
    return parser_make_unary(p, negative ? OP_NEGATE : OP_POSITIVE, sign.span, node);
}

static Node *parse_unary(Parser *p, bool with_filters)
{
    Node *node =
        parser_at(p, TOKEN_SUB) || parser_at(p, TOKEN_ADD) ? parse_sign(p) : parse_primary(p);
    node = parse_postfix(p, node);
    return with_filters ? parse_filter_expression(p, node) : node;
}

/* Returns the operator at the current token, or LEVEL_NONE. */
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
        return token_is_word(parser_peek(p), WORD_IN) ? (OperatorRow){ LEVEL_COMPARE, OP_NOT_IN }
                                                      : none;
    default: return none;
    }
}

/* left < a <= b ...: a single node, reported at its end. */
static Node *parse_comparison(Parser *p, Node *left)
{
    Span span = p->current.span;
    Node *node = parser_node(p, NODE_COMPARE, span);
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
    span = lexer_same_line(&p->lexer, p->current.span, span);
    node->offset = span.offset;
    node->span = span.len;
    return node;
}

static Node *parse_concat(Parser *p, Node *left, Span span)
{
    Node *node = parser_node(p, NODE_CONCAT, lexer_same_line(&p->lexer, span, p->current.span));
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

static Node *parse_binary(Parser *p, Node *left, OperatorRow row, Span span)
{
    Token token = parser_next(p);
    Node *right = parse_level(p, (Level)(row.level + 1));
    Node *node = right == NULL
                     ? NULL
                     : parser_node(p, NODE_BINARY, lexer_same_line(&p->lexer, span, token.span));
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
    return parser_make_unary(p, OP_NOT, token.span, node);
}

/* Parses everything that binds at least as tightly as `min`. Jinja2 reports the first operation of
 * a level at the start of its left operand, and each further one at its operator. */
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
        Span span = row.level == last ? p->current.span : start;
        last = (Level)row.level;
        if (row.level == LEVEL_COMPARE) {
            left = parse_comparison(p, left);
        } else if (row.level == LEVEL_CONCAT) {
            left = parse_concat(p, left, span);
        } else {
            left = parse_binary(p, left, row, span);
        }
    }
    return left;
}

static Node *parse_condition(Parser *p)
{
    Span span = p->current.span;
    Node *left = parse_level(p, LEVEL_OR);
    while (left != NULL && parser_accept_word(p, WORD_IF)) {
        Node *test = parse_level(p, LEVEL_OR);
        Node *node = test == NULL ? NULL : parser_node(p, NODE_CONDITION, span);
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
        span = p->current.span;
    }
    return left;
}

Node *parse_unconditional(Parser *p)
{
    if (!parser_enter(p)) {
        return NULL;
    }
    Node *node = parse_level(p, LEVEL_OR);
    parser_leave(p);
    return node;
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
