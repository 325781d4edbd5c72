/* Syntax trees as text, to compare them in tests: (+ a 1), (|upper x), (for x y (do (out 'z'))).
 * `_` stands for an omitted part. */
#pragma once

#include "base/buf.h"
#include "lang/template/ast.h"
#include "unit.h"

static const char *const operator_names[] = {
    [OP_ADD] = "+",        [OP_SUB] = "-",   [OP_MUL] = "*",      [OP_DIV] = "/",
    [OP_FLOOR_DIV] = "//", [OP_MOD] = "%",   [OP_POW] = "**",     [OP_AND] = "and",
    [OP_OR] = "or",        [OP_NOT] = "not", [OP_NEGATE] = "neg", [OP_POSITIVE] = "pos",
    [OP_EQ] = "==",        [OP_NE] = "!=",   [OP_LT] = "<",       [OP_LE] = "<=",
    [OP_GT] = ">",         [OP_GE] = ">=",   [OP_IN] = "in",      [OP_NOT_IN] = "not-in",
};

static void put_node(Buf *out, const Node *node);

/* A space and the node, or `_` for none. */
static void put_next(Buf *out, const Node *node)
{
    buf_put_char(out, ' ');
    if (node == NULL) {
        buf_put_char(out, '_');
    } else {
        put_node(out, node);
    }
}

static void put_all(Buf *out, const Node *first)
{
    for (; first != NULL; first = first->next) {
        put_next(out, first);
    }
}

static void put_word(Buf *out, Str word)
{
    buf_put_char(out, ' ');
    buf_put(out, word);
}

static void put_flag(Buf *out, bool flag, const char *word)
{
    if (flag) {
        put_word(out, str_from_c(word));
    }
}

/* " (label body...)" unless it is empty. */
static void put_body(Buf *out, const char *label, const Node *body)
{
    if (body != NULL) {
        buf_put_format(out, " (%s", label);
        put_all(out, body);
        buf_put_char(out, ')');
    }
}

static void put_value(Buf *out, Value value)
{
    switch (value.kind) {
    case VALUE_NULL: buf_put_c(out, "none"); break;
    case VALUE_BOOL: buf_put_c(out, value.boolean ? "true" : "false"); break;
    case VALUE_INT: buf_put_i64(out, value.integer); break;
    case VALUE_FLOAT: buf_put_format(out, "%gf", value.number); break;
    default: buf_put_format(out, "'%" STR_FMT "'", STR_ARG(value_str(value))); break;
    }
}

static void put_arguments(Buf *out, const Arguments *args)
{
    put_all(out, args->positional);
    for (const Keyword *keyword = args->keywords; keyword != NULL; keyword = keyword->next) {
        put_word(out, keyword->name);
        buf_put_char(out, '=');
        put_node(out, keyword->value);
    }
    if (args->dynamic != NULL) {
        buf_put_c(out, " *");
        put_node(out, args->dynamic);
    }
    if (args->dynamic_keywords != NULL) {
        buf_put_c(out, " **");
        put_node(out, args->dynamic_keywords);
    }
}

static void put_params(Buf *out, const Parameter *param)
{
    for (; param != NULL; param = param->next) {
        put_word(out, param->name);
        if (param->fallback != NULL) {
            buf_put_char(out, '=');
            put_node(out, param->fallback);
        }
    }
}

static void put_expression(Buf *out, const Node *node)
{
    switch (node->kind) {
    case NODE_TUPLE:
        buf_put_c(out, "tuple");
        put_all(out, node->items);
        break;
    case NODE_LIST:
        buf_put_c(out, "list");
        put_all(out, node->items);
        break;
    case NODE_DICT:
        buf_put_c(out, "dict");
        put_all(out, node->items);
        break;
    case NODE_PAIR:
        buf_put_char(out, ':');
        put_next(out, node->left);
        put_next(out, node->right);
        break;
    case NODE_CONDITION:
        buf_put_char(out, '?');
        put_next(out, node->test);
        put_next(out, node->left);
        put_next(out, node->right);
        break;
    case NODE_FILTER:
        buf_put_format(out, "|%" STR_FMT, STR_ARG(node->name));
        put_next(out, node->left);
        put_arguments(out, &node->args);
        break;
    case NODE_TEST:
        buf_put_format(out, "is-%" STR_FMT, STR_ARG(node->name));
        put_next(out, node->left);
        put_arguments(out, &node->args);
        break;
    case NODE_CALL:
        buf_put_c(out, "call");
        put_next(out, node->left);
        put_arguments(out, &node->args);
        break;
    case NODE_ATTRIBUTE:
        buf_put_char(out, '.');
        put_next(out, node->left);
        put_word(out, node->name);
        break;
    case NODE_ELEMENT:
        buf_put_c(out, "[]");
        put_next(out, node->left);
        put_next(out, node->right);
        break;
    case NODE_SLICE:
        buf_put_c(out, "slice");
        put_next(out, node->left);
        put_next(out, node->right);
        put_next(out, node->test);
        break;
    case NODE_CONCAT:
        buf_put_char(out, '~');
        put_all(out, node->items);
        break;
    case NODE_COMPARE:
        buf_put_c(out, "cmp");
        put_next(out, node->left);
        for (const Node *operand = node->items; operand != NULL; operand = operand->next) {
            put_word(out, str_from_c(operator_names[operand->op]));
            put_next(out, operand->left);
        }
        break;
    case NODE_BINARY:
    case NODE_UNARY:
        buf_put_c(out, operator_names[node->op]);
        put_next(out, node->left);
        if (node->kind == NODE_BINARY) {
            put_next(out, node->right);
        }
        break;
    default: fail_msg("expression of kind %d", node->kind);
    }
}

static void put_import(Buf *out, const Node *node)
{
    if (node->kind == NODE_IMPORT) {
        buf_put_c(out, "import");
        put_next(out, node->left);
        put_word(out, node->name);
    } else {
        buf_put_c(out, "from");
        put_next(out, node->left);
        for (const Node *alias = node->items; alias != NULL; alias = alias->next) {
            put_word(out, alias->name);
            if (!str_eq(alias->name, alias->alias)) {
                buf_put_format(out, ">%" STR_FMT, STR_ARG(alias->alias));
            }
        }
    }
    put_flag(out, node->with_context, "context");
}

static void put_statement(Buf *out, const Node *node)
{
    switch (node->kind) {
    case NODE_OUTPUT:
        buf_put_c(out, "out");
        put_all(out, node->items);
        break;
    case NODE_FOR:
        buf_put_c(out, "for");
        put_next(out, node->target);
        put_next(out, node->iterable);
        put_body(out, "if", node->test);
        put_flag(out, node->recursive, "recursive");
        put_body(out, "do", node->body);
        put_body(out, "else", node->else_body);
        break;
    case NODE_IF:
        buf_put_c(out, "if");
        put_next(out, node->test);
        put_body(out, "then", node->body);
        put_body(out, "else", node->else_body);
        break;
    case NODE_MACRO:
        buf_put_format(out, "macro %" STR_FMT, STR_ARG(node->name));
        put_params(out, node->params);
        put_body(out, "do", node->body);
        break;
    case NODE_CALL_BLOCK:
        buf_put_c(out, "call-block");
        put_params(out, node->params);
        put_next(out, node->left);
        put_body(out, "do", node->body);
        break;
    case NODE_FILTER_BLOCK:
        buf_put_c(out, "filter");
        put_next(out, node->left);
        put_body(out, "do", node->body);
        break;
    case NODE_WITH:
        buf_put_c(out, "with");
        for (const Node *bind = node->items; bind != NULL; bind = bind->next) {
            put_next(out, bind->target);
            put_next(out, bind->left);
        }
        put_body(out, "do", node->body);
        break;
    case NODE_BLOCK:
        buf_put_format(out, "block %" STR_FMT, STR_ARG(node->name));
        put_flag(out, node->scoped, "scoped");
        put_flag(out, node->required, "required");
        put_body(out, "do", node->body);
        break;
    case NODE_INCLUDE:
        buf_put_c(out, "include");
        put_next(out, node->left);
        put_flag(out, node->ignore_missing, "ignore-missing");
        put_flag(out, !node->with_context, "no-context");
        break;
    case NODE_IMPORT:
    case NODE_FROM_IMPORT: put_import(out, node); break;
    case NODE_ASSIGN:
        buf_put_c(out, "set");
        put_next(out, node->target);
        put_next(out, node->left);
        break;
    case NODE_ASSIGN_BLOCK:
        buf_put_c(out, "set-block");
        put_next(out, node->target);
        put_next(out, node->left);
        put_body(out, "do", node->body);
        break;
    case NODE_EXTENDS:
        buf_put_c(out, "extends");
        put_next(out, node->left);
        break;
    case NODE_DO:
        buf_put_c(out, "do");
        put_next(out, node->left);
        break;
    case NODE_BREAK: buf_put_c(out, "break"); break;
    case NODE_CONTINUE: buf_put_c(out, "continue"); break;
    case NODE_AUTOESCAPE:
        buf_put_c(out, "autoescape");
        put_next(out, node->left);
        put_body(out, "do", node->body);
        break;
    default: put_expression(out, node);
    }
}

static void put_node(Buf *out, const Node *node)
{
    switch (node->kind) {
    case NODE_CONST:
    case NODE_DATA: put_value(out, node->value); return;
    case NODE_NAME: buf_put(out, node->name); return;
    case NODE_NAMESPACE:
        buf_put_format(out, "%" STR_FMT ".%" STR_FMT, STR_ARG(node->name), STR_ARG(node->alias));
        return;
    default: break;
    }
    buf_put_char(out, '(');
    put_statement(out, node);
    buf_put_char(out, ')');
}
