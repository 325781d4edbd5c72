/* Parses statements and the bodies between them. The table `statements` has one row per tag. */
#include "lang/template/parser.h"

#include "base/bug.h"
#include "base/source.h"
#include "base/suggest.h"

/* Parses from the name of the tag to its closing delimiter. */
typedef Node *(*StatementParser)(Parser *p);

static bool parse_body(Parser *p, const Word *ends, Node **out);

bool parse_closed_body(Parser *p, const Word *ends, bool in_loop, Node **out)
{
    bool outer = p->in_loop;
    p->in_loop = in_loop;
    if (!parse_body(p, ends, out)) {
        return false;
    }
    p->in_loop = outer;
    parser_next(p);
    return true;
}

/* --- Targets ------------------------------------------------------------------------------ */

/* The class of a node in Jinja2. */
static const char *node_class(const Node *node)
{
    static const char *const kinds[NODE_KINDS] = {
        [NODE_CONST] = "const",       [NODE_NAME] = "name",       [NODE_TUPLE] = "tuple",
        [NODE_LIST] = "list",         [NODE_DICT] = "dict",       [NODE_CONDITION] = "condexpr",
        [NODE_FILTER] = "filter",     [NODE_TEST] = "test",       [NODE_CALL] = "call",
        [NODE_ATTRIBUTE] = "getattr", [NODE_ELEMENT] = "getitem", [NODE_CONCAT] = "concat",
        [NODE_COMPARE] = "compare",
    };
    static const char *const operators[] = {
        [OP_ADD] = "add",
        [OP_SUB] = "sub",
        [OP_MUL] = "mul",
        [OP_DIV] = "div",
        [OP_FLOOR_DIV] = "floordiv",
        [OP_MOD] = "mod",
        [OP_POW] = "pow",
        [OP_AND] = "and",
        [OP_OR] = "or",
        [OP_NOT] = "not",
        [OP_NEGATE] = "neg",
        [OP_POSITIVE] = "pos",
    };
    bool operation = node->kind == NODE_BINARY || node->kind == NODE_UNARY;
    return operation ? operators[node->op] : kinds[node->kind];
}

static bool is_target(const Node *node)
{
    if (node->kind != NODE_TUPLE) {
        return node->kind == NODE_NAME || node->kind == NODE_NAMESPACE;
    }
    for (const Node *item = node->items; item != NULL; item = item->next) {
        if (!is_target(item)) {
            return false;
        }
    }
    return true;
}

Node *parse_namespace(Parser *p)
{
    Token name, attribute;
    if (!parser_expect(p, TOKEN_NAME, &name) || !parser_expect(p, TOKEN_DOT, NULL) ||
        !parser_expect(p, TOKEN_NAME, &attribute)) {
        return NULL;
    }
    Node *node = parser_node(p, NODE_NAMESPACE, name.span);
    if (node != NULL) {
        node->name = name.text;
        node->alias = attribute.text;
    }
    return node;
}

/* Parses names to assign to, and name.attribute if `with_namespace`. */
static Node *parse_target(Parser *p, bool with_namespace)
{
    Node *target = parse_tuple(p, (TupleRule){ .simple = true, .namespaces = with_namespace });
    if (target != NULL && !is_target(target)) {
        parser_fail(p, node_span(target), "can't assign to '%s'", node_class(target));
        return NULL;
    }
    return target;
}

bool parse_target_name(Parser *p, Token *name)
{
    if (!parser_expect(p, TOKEN_NAME, name)) {
        return false;
    }
    switch (name->word) {
    case WORD_TRUE_LOWER:
    case WORD_TRUE_UPPER:
    case WORD_FALSE_LOWER:
    case WORD_FALSE_UPPER:
    case WORD_NONE_LOWER:
    case WORD_NONE_UPPER: return parser_fail(p, name->span, "can't assign to 'name'");
    default: return true;
    }
}

/* --- Control flow ------------------------------------------------------------------------- */

static Node *parse_for(Parser *p)
{
    static const Word ends[] = { WORD_ENDFOR, WORD_ELSE, WORD_OTHER };
    static const Word else_ends[] = { WORD_ENDFOR, WORD_OTHER };
    Node *node = parser_begin_statement(p, NODE_FOR);
    if (node == NULL) {
        return NULL;
    }
    node->target = parse_target(p, false);
    if (node->target == NULL || !parser_expect_word(p, WORD_IN, NULL)) {
        return NULL;
    }
    node->iterable = parse_tuple(p, (TupleRule){ .no_condition = true });
    if (node->iterable == NULL) {
        return NULL;
    }
    if (parser_accept_word(p, WORD_IF)) {
        node->test = parse_expression(p);
        if (node->test == NULL) {
            return NULL;
        }
    }
    node->recursive = parser_accept_word(p, WORD_RECURSIVE);
    bool outer = p->in_loop;
    p->in_loop = true;
    if (!parse_body(p, ends, &node->body)) {
        return NULL;
    }
    p->in_loop = outer;
    Token end = parser_next(p);
    if (end.word == WORD_ELSE && !parse_closed_body(p, else_ends, outer, &node->else_body)) {
        return NULL;
    }
    return node;
}

static Node *parse_if(Parser *p)
{
    static const Word ends[] = { WORD_ELIF, WORD_ELSE, WORD_ENDIF, WORD_OTHER };
    static const Word else_ends[] = { WORD_ENDIF, WORD_OTHER };
    Node *first = parser_begin_statement(p, NODE_IF);
    int links = 0;
    for (Node *node = first; node != NULL;) {
        node->test = parse_tuple(p, (TupleRule){ .no_condition = true });
        if (node->test == NULL || !parse_body(p, ends, &node->body)) {
            return NULL;
        }
        Token end = parser_next(p);
        if (end.word == WORD_ELSE) {
            bool else_if = parser_at_word(p, WORD_IF);
            if (parse_closed_body(p, else_ends, p->in_loop, &node->else_body)) {
                return first;
            }
            if (else_if) {
                lexer_hint(&p->lexer, "write 'elif'");
            }
            return NULL;
        }
        if (end.word == WORD_ENDIF) {
            return first;
        }
        if (++links > PARSE_HEIGHT_MAX) {
            lexer_fail(&p->lexer, FAULT_LIMIT, end.span, "too many elif branches (limit: %d)",
                       PARSE_HEIGHT_MAX);
            return NULL;
        }
        /* Jinja2 reports an elif at the start of its condition. */
        Span span = lexer_same_line(&p->lexer, p->current.span, end.span);
        node->else_body = parser_node(p, NODE_IF, span);
        node = node->else_body;
    }
    return NULL;
}

static Node *parse_loop_control(Parser *p)
{
    bool leave = parser_at_word(p, WORD_BREAK);
    Node *node = parser_begin_statement(p, leave ? NODE_BREAK : NODE_CONTINUE);
    if (node != NULL && !p->in_loop) {
        parser_defer_error(p, node_span(node),
                           leave ? STR("'break' outside loop")
                                 : STR("'continue' not properly in loop"));
    }
    return node;
}

/* --- Variables and scopes ----------------------------------------------------------------- */

static Node *parse_set(Parser *p)
{
    static const Word ends[] = { WORD_ENDSET, WORD_OTHER };
    Node *node = parser_begin_statement(p, NODE_ASSIGN);
    if (node == NULL) {
        return NULL;
    }
    node->target = parse_target(p, true);
    if (node->target == NULL) {
        return NULL;
    }
    if (parser_accept(p, TOKEN_ASSIGN)) {
        node->left = parse_tuple(p, (TupleRule){ 0 });
        return node->left == NULL ? NULL : node;
    }
    bool ok;
    node->kind = NODE_ASSIGN_BLOCK;
    node->left = parse_filters(p, NULL, false, &ok);
    return ok && parse_closed_body(p, ends, p->in_loop, &node->body) ? node : NULL;
}

static Node *parse_bind(Parser *p)
{
    Node *target = parse_target(p, false);
    if (target == NULL || !parser_expect(p, TOKEN_ASSIGN, NULL)) {
        return NULL;
    }
    Node *value = parse_expression(p);
    Node *node = value == NULL ? NULL : parser_node(p, NODE_BIND, node_span(target));
    if (node != NULL) {
        node->target = target;
        node->left = value;
    }
    return node;
}

/* Parses comma-separated items up to the end of the tag and adds them to `node`. */
static bool parse_items(Parser *p, Node *node, Node *(*parse)(Parser *p))
{
    Node **tail = &node->items;
    while (!parser_at(p, TOKEN_BLOCK_END)) {
        if (node->count > 0 && !parser_expect(p, TOKEN_COMMA, NULL)) {
            return false;
        }
        Node *item = parse(p);
        if (item == NULL || !parser_add_item(p, node, &tail, item)) {
            return false;
        }
    }
    return true;
}

static Node *parse_with(Parser *p)
{
    static const Word ends[] = { WORD_ENDWITH, WORD_OTHER };
    Node *node = parser_begin_statement(p, NODE_WITH);
    if (node == NULL) {
        return NULL;
    }
    return parse_items(p, node, parse_bind) && parse_closed_body(p, ends, p->in_loop, &node->body)
               ? node
               : NULL;
}

static Node *parse_autoescape(Parser *p)
{
    static const Word ends[] = { WORD_ENDAUTOESCAPE, WORD_OTHER };
    Node *node = parser_begin_statement(p, NODE_AUTOESCAPE);
    if (node == NULL) {
        return NULL;
    }
    node->left = parse_expression(p);
    return node->left != NULL && parse_closed_body(p, ends, p->in_loop, &node->body) ? node : NULL;
}

/* --- Macros, calls and filters ------------------------------------------------------------ */

static bool parse_parameters(Parser *p, Node *node)
{
    if (!parser_expect(p, TOKEN_LPAREN, NULL)) {
        return false;
    }
    Parameter **tail = &node->params;
    bool fallbacks = false;
    while (!parser_at(p, TOKEN_RPAREN)) {
        if (node->params != NULL && !parser_expect(p, TOKEN_COMMA, NULL)) {
            return false;
        }
        Token name;
        if (!parse_target_name(p, &name) || !parser_has_memory(p, name.span)) {
            return false;
        }
        Parameter *parameter = ARENA_NEW(p->arena, Parameter);
        *parameter = (Parameter){ .name = name.text, .offset = name.span.offset };
        if (parser_accept(p, TOKEN_ASSIGN)) {
            fallbacks = true;
            parameter->fallback = parse_expression(p);
            if (parameter->fallback == NULL) {
                return false;
            }
        } else if (fallbacks) {
            Span span = lexer_same_line(&p->lexer, p->current.span, name.span);
            return parser_fail(p, span, "non-default argument follows default argument");
        }
        *tail = parameter;
        tail = &parameter->next;
    }
    parser_next(p);
    return true;
}

static Node *parse_macro(Parser *p)
{
    static const Word ends[] = { WORD_ENDMACRO, WORD_OTHER };
    Node *node = parser_begin_statement(p, NODE_MACRO);
    Token name;
    if (node == NULL || !parse_target_name(p, &name) || !parse_parameters(p, node)) {
        return NULL;
    }
    node->name = name.text;
    return parse_closed_body(p, ends, false, &node->body) ? node : NULL;
}

static Node *parse_call_block(Parser *p)
{
    static const Word ends[] = { WORD_ENDCALL, WORD_OTHER };
    Node *node = parser_begin_statement(p, NODE_CALL_BLOCK);
    if (node == NULL || (parser_at(p, TOKEN_LPAREN) && !parse_parameters(p, node))) {
        return NULL;
    }
    node->left = parse_expression(p);
    if (node->left == NULL) {
        return NULL;
    }
    if (node->left->kind != NODE_CALL) {
        parser_fail(p, lexer_same_line(&p->lexer, node_span(node), node_span(node->left)),
                    "expected call");
        return NULL;
    }
    return parse_closed_body(p, ends, false, &node->body) ? node : NULL;
}

static Node *parse_filter_block(Parser *p)
{
    static const Word ends[] = { WORD_ENDFILTER, WORD_OTHER };
    Node *node = parser_begin_statement(p, NODE_FILTER_BLOCK);
    if (node == NULL) {
        return NULL;
    }
    bool ok;
    node->left = parse_filters(p, NULL, true, &ok);
    return ok && parse_closed_body(p, ends, p->in_loop, &node->body) ? node : NULL;
}

static Node *parse_do(Parser *p)
{
    Node *node = parser_begin_statement(p, NODE_DO);
    if (node == NULL) {
        return NULL;
    }
    node->left = parse_tuple(p, (TupleRule){ 0 });
    return node->left == NULL ? NULL : node;
}

static Node *parse_print(Parser *p)
{
    Node *node = parser_begin_statement(p, NODE_OUTPUT);
    if (node == NULL) {
        return NULL;
    }
    return parse_items(p, node, parse_expression) ? node : NULL;
}

/* --- Bodies ------------------------------------------------------------------------------- */

static const StatementParser statements[WORD_COUNT] = {
    [WORD_AUTOESCAPE] = parse_autoescape,
    [WORD_BLOCK] = parse_block,
    [WORD_BREAK] = parse_loop_control,
    [WORD_CALL] = parse_call_block,
    [WORD_CONTINUE] = parse_loop_control,
    [WORD_DO] = parse_do,
    [WORD_EXTENDS] = parse_extends,
    [WORD_FILTER] = parse_filter_block,
    [WORD_FOR] = parse_for,
    [WORD_FROM] = parse_from,
    [WORD_IF] = parse_if,
    [WORD_IMPORT] = parse_import,
    [WORD_INCLUDE] = parse_include,
    [WORD_MACRO] = parse_macro,
    [WORD_PRINT] = parse_print,
    [WORD_SET] = parse_set,
    [WORD_WITH] = parse_with,
};

static bool is_end(Word word, const Word *ends)
{
    for (; ends != NULL && *ends != WORD_OTHER; ends++) {
        if (*ends == word) {
            return word != WORD_OTHER;
        }
    }
    return false;
}

/* The tag that closes a body. Each has one, in addition to `else` and similar tags. */
static Str closing_tag(const Word *ends)
{
    while (!str_starts(word_text(*ends), STR("end"))) {
        BUG_IF(*ends == WORD_OTHER);
        ends++;
    }
    return word_text(*ends);
}

/* Whether the tag only continues or ends another one. */
static bool is_continuation(const Token *tag)
{
    return tag->word == WORD_ELSE || tag->word == WORD_ELIF ||
           (tag->word != WORD_OTHER && str_starts(tag->text, STR("end")));
}

static void suggest_tag(Parser *p, Str name)
{
    Suggest suggest = suggest_make(name);
    for (const Word *end = p->body == NULL ? NULL : p->body->ends;
         end != NULL && *end != WORD_OTHER; end++) {
        suggest_offer(&suggest, word_text(*end));
    }
    for (Word word = WORD_OTHER; word < WORD_COUNT; word++) {
        if (statements[word] != NULL) {
            suggest_offer(&suggest, word_text(word));
        }
    }
    Str best;
    if (suggest_found(&suggest, &best)) {
        lexer_hint(&p->lexer, "did you mean '%" STR_FMT "'?", STR_ARG(best));
    }
}

/* Hints how to close the innermost open tag, and where it was opened. */
static void hint_to_close(Parser *p, const char *how)
{
    const TemplateSyntax *syntax = p->lexer.syntax;
    Source source = { .text = p->lexer.text, .first_line = 1 };
    lexer_hint(&p->lexer, "%s '%" STR_FMT " %" STR_FMT " %" STR_FMT "'", how,
               STR_ARG(syntax->block_start), STR_ARG(closing_tag(p->body->ends)),
               STR_ARG(syntax->block_end));
    p->lexer.fault->begins = source_location(&source, p->tag->span.offset).line;
}

/* Fails because the template ends inside a body. */
static bool fail_open(Parser *p)
{
    if (p->lexer.fault->class == FAULT_NONE) {
        parser_fail_here(p, "the '%" STR_FMT "' is never closed", STR_ARG(word_text(p->tag->word)));
        hint_to_close(p, "add");
    }
    return false;
}

/* Fails because the current token is not a tag that is allowed here. */
static bool fail_tag(Parser *p)
{
    Str name = str_slice(p->current.text, 0, 100);
    if (p->lexer.fault->class != FAULT_NONE) {
        return false;
    }
    if (!is_continuation(&p->current)) {
        parser_fail_here(p, "unknown tag '%" STR_FMT "'", STR_ARG(name));
        suggest_tag(p, p->current.text);
    } else if (p->body == NULL) {
        parser_fail_here(p, "'%" STR_FMT "' has no matching open tag", STR_ARG(name));
    } else {
        parser_fail_here(p, "'%" STR_FMT "' does not match the open '%" STR_FMT "'", STR_ARG(name),
                         STR_ARG(word_text(p->tag->word)));
        hint_to_close(p, "close it first:");
    }
    return false;
}

static Node *parse_statement(Parser *p)
{
    if (!parser_at(p, TOKEN_NAME)) {
        parser_fail_here(p, "tag name expected");
        return NULL;
    }
    StatementParser parse = statements[p->current.word];
    if (parse == NULL) {
        fail_tag(p);
        return NULL;
    }
    const ParserTag *outer = p->tag;
    ParserTag tag = { (Word)p->current.word, p->current.span, outer };
    p->tag = &tag;
    Node *node = parser_enter(p) ? parse(p) : NULL;
    p->tag = outer;
    if (node != NULL) {
        parser_leave(p);
    }
    return node;
}

/* Parses text and expressions up to the next statement. */
static bool parse_output(Parser *p, Node **out)
{
    Node *output = NULL;
    Node **tail = NULL;
    while (parser_at(p, TOKEN_DATA) || parser_at(p, TOKEN_VARIABLE_BEGIN)) {
        Token token = parser_next(p);
        Node *item;
        if (token.type == TOKEN_DATA) {
            item = parser_node(p, NODE_DATA, token.span);
            if (item != NULL) {
                item->value = value_string(token.text);
            }
        } else {
            item = parse_tuple(p, (TupleRule){ 0 });
            if (item != NULL && !parser_expect(p, TOKEN_VARIABLE_END, NULL)) {
                return false;
            }
        }
        if (item == NULL) {
            return false;
        }
        if (output == NULL) {
            output = parser_node(p, NODE_OUTPUT, node_span(item));
            if (output == NULL) {
                return false;
            }
            tail = &output->items;
        }
        if (!parser_add_item(p, output, &tail, item)) {
            return false;
        }
    }
    *out = output;
    return true;
}

/* Parses statements up to a tag in `ends`, whose name is then the current token, or to the end of
 * the template if `ends` is NULL. */
static bool parse_statements(Parser *p, const Word *ends, Node **out)
{
    Node **tail = out;
    *out = NULL;
    for (;;) {
        if (!parse_output(p, tail)) {
            return false;
        }
        if (*tail != NULL) {
            tail = &(*tail)->next;
        }
        if (parser_at(p, TOKEN_FAULT)) {
            return false;
        }
        if (!parser_accept(p, TOKEN_BLOCK_BEGIN)) {
            return true;
        }
        if (parser_at(p, TOKEN_NAME) && is_end((Word)p->current.word, ends)) {
            return true;
        }
        *tail = parse_statement(p);
        if (*tail == NULL || !parser_expect(p, TOKEN_BLOCK_END, NULL)) {
            return false;
        }
        tail = &(*tail)->next;
    }
}

static bool parse_body(Parser *p, const Word *ends, Node **out)
{
    parser_accept(p, TOKEN_COLON);
    if (!parser_expect(p, TOKEN_BLOCK_END, NULL)) {
        return false;
    }
    ParserBody body = { ends, p->body };
    p->body = &body;
    bool ok = parse_statements(p, ends, out);
    if (ok && parser_at(p, TOKEN_END)) {
        ok = fail_open(p);
    }
    p->body = body.outer;
    return ok;
}

bool template_parse(Arena *arena, const TemplateSettings *settings, Str text, Node **out,
                    Fault *fault)
{
    Parser p;
    *out = NULL;
    return parser_init(&p, arena, settings, text, LEXER_DATA, fault) &&
           parse_statements(&p, NULL, out) && parser_finish(&p);
}
