/* Parses statements that refer to blocks and other templates. */
#include "lang/template/parser.h"

#include "base/utf8.h"
#include "lang/unicode.h"

static bool is_blank(Str text)
{
    for (size_t pos = 0; pos < text.len;) {
        if (!unicode_is(utf8_next(text, &pos), UNICODE_SPACE)) {
            return false;
        }
    }
    return true;
}

static bool is_blank_body(const Node *body)
{
    for (; body != NULL; body = body->next) {
        if (body->kind != NODE_OUTPUT) {
            return false;
        }
        for (const Node *item = body->items; item != NULL; item = item->next) {
            if (item->kind != NODE_DATA || !is_blank(value_str(item->value))) {
                return false;
            }
        }
    }
    return true;
}

Node *parse_block(Parser *p)
{
    static const Word ends[] = { WORD_ENDBLOCK, WORD_OTHER };
    Node *node = parser_begin_statement(p, NODE_BLOCK);
    Token name;
    if (node == NULL || !parser_expect(p, TOKEN_NAME, &name)) {
        return NULL;
    }
    node->name = name.text;
    node->scoped = parser_accept_word(p, WORD_SCOPED);
    node->required = parser_accept_word(p, WORD_REQUIRED);
    if (parser_at(p, TOKEN_SUB)) {
        parser_fail_here(p, "Block names in Jinja have to be valid Python identifiers and may not "
                            "contain hyphens, use an underscore instead.");
        return NULL;
    }
    if (!parse_closed_body(p, ends, false, &node->body)) {
        return NULL;
    }
    if (node->required && !is_blank_body(node->body)) {
        parser_fail_here(p, "Required blocks can only contain comments or whitespace");
        return NULL;
    }
    if (parser_at(p, TOKEN_NAME) && str_eq(p->current.text, node->name)) {
        parser_next(p);
    }
    return node;
}

Node *parse_extends(Parser *p)
{
    Node *node = parser_begin_statement(p, NODE_EXTENDS);
    if (node == NULL) {
        return NULL;
    }
    node->left = parse_expression(p);
    return node->left == NULL ? NULL : node;
}

/* Accepts "with context" or "without context"; returns false if neither follows. */
static bool accept_context(Parser *p, Node *node)
{
    bool with = parser_at_word(p, WORD_WITH);
    if ((!with && !parser_at_word(p, WORD_WITHOUT)) ||
        !token_is_word(parser_peek(p), WORD_CONTEXT)) {
        return false;
    }
    parser_next(p);
    parser_next(p);
    node->with_context = with;
    return true;
}

Node *parse_include(Parser *p)
{
    Node *node = parser_begin_statement(p, NODE_INCLUDE);
    if (node == NULL) {
        return NULL;
    }
    node->left = parse_expression(p);
    if (node->left == NULL) {
        return NULL;
    }
    if (parser_at_word(p, WORD_IGNORE) && token_is_word(parser_peek(p), WORD_MISSING)) {
        node->ignore_missing = true;
        parser_next(p);
        parser_next(p);
    }
    node->with_context = true;
    accept_context(p, node);
    return node;
}

Node *parse_import(Parser *p)
{
    Node *node = parser_begin_statement(p, NODE_IMPORT);
    if (node == NULL) {
        return NULL;
    }
    Token name;
    node->left = parse_expression(p);
    if (node->left == NULL || !parser_expect_word(p, WORD_AS, NULL) ||
        !parse_target_name(p, &name)) {
        return NULL;
    }
    node->name = name.text;
    accept_context(p, node);
    return node;
}

static Node *parse_alias(Parser *p)
{
    Token name;
    if (!parse_target_name(p, &name)) {
        return NULL;
    }
    if (name.text.data[0] == '_') {
        lexer_fail(&p->lexer, FAULT_ASSERTION, name.span,
                   "names starting with an underline can not be imported");
        return NULL;
    }
    Node *node = parser_node(p, NODE_ALIAS, name.span);
    if (node == NULL) {
        return NULL;
    }
    node->name = node->alias = name.text;
    if (parser_accept_word(p, WORD_AS)) {
        Token alias;
        if (!parse_target_name(p, &alias)) {
            return NULL;
        }
        node->alias = alias.text;
    }
    return node;
}

Node *parse_from(Parser *p)
{
    Node *node = parser_begin_statement(p, NODE_FROM_IMPORT);
    if (node == NULL) {
        return NULL;
    }
    node->left = parse_expression(p);
    if (node->left == NULL || !parser_expect_word(p, WORD_IMPORT, NULL)) {
        return NULL;
    }
    Node **tail = &node->items;
    for (;;) {
        if (node->count > 0 && !parser_expect(p, TOKEN_COMMA, NULL)) {
            return NULL;
        }
        if (accept_context(p, node)) {
            return node;
        }
        Node *alias = parse_alias(p);
        if (alias == NULL || !parser_add_item(p, node, &tail, alias)) {
            return NULL;
        }
        if (accept_context(p, node) || !parser_at(p, TOKEN_COMMA)) {
            return node;
        }
    }
}
