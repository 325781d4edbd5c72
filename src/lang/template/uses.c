#include "lang/template/uses.h"

#include "base/str_map.h"

typedef struct Search {
    Str name;
    StrMap found;
    bool computed;
} Search;

static bool is_variable(const Search *search, const Node *node)
{
    return node != NULL && node->kind == NODE_NAME && str_eq(node->name, search->name);
}

static void find_in_sequence(Search *search, const Node *nodes);

static void add(Search *search, Str name)
{
    if (!str_map_has(&search->found, name)) {
        str_map_put(&search->found, arena_copy(search->found.arena, name), NULL);
    }
}

/* steps['x'] and steps.x; true when this node was one and needs no further look. */
static bool take_element(Search *search, const Node *node)
{
    if (!is_variable(search, node->left)) {
        return false;
    }
    if (node->kind == NODE_ATTRIBUTE) {
        add(search, node->name);
        return true;
    }
    if (node->kind == NODE_ELEMENT && node->right->kind == NODE_CONST &&
        value_is_string(node->right->value)) {
        add(search, value_str(node->right->value));
        return true;
    }
    return false;
}

static void find_in(Search *search, const Node *node)
{
    if (node == NULL || take_element(search, node)) {
        return;
    }
    if (is_variable(search, node)) {
        search->computed = true;
        return;
    }
    if (node->kind == NODE_CALL && node->left->kind == NODE_ATTRIBUTE &&
        is_variable(search, node->left->left)) {
        search->computed = true; /* a method, such as steps.items() */
    } else {
        find_in(search, node->left);
    }
    find_in(search, node->right);
    find_in(search, node->test);
    find_in(search, node->iterable);
    find_in_sequence(search, node->items);
    find_in_sequence(search, node->body);
    find_in_sequence(search, node->otherwise);
    find_in_sequence(search, node->args.positional);
    for (const Keyword *keyword = node->args.keywords; keyword != NULL; keyword = keyword->next) {
        find_in(search, keyword->value);
    }
    find_in(search, node->args.dynamic);
    find_in(search, node->args.dynamic_keywords);
    for (const Parameter *param = node->params; param != NULL; param = param->next) {
        find_in(search, param->fallback);
    }
}

static void find_in_sequence(Search *search, const Node *nodes)
{
    for (const Node *node = nodes; node != NULL; node = node->next) {
        find_in(search, node);
    }
}

TemplateUses template_uses_find(Arena *arena, const Node *nodes, Str name)
{
    Search search = { .name = name };
    str_map_init(&search.found, arena);
    find_in_sequence(&search, nodes);
    TemplateUses uses = { .computed = search.computed };
    if (search.found.count > 0) {
        Str *names = ARENA_ARRAY(arena, Str, search.found.count);
        uint32_t at = 0;
        for (StrMapEntry *entry; (entry = str_map_next(&search.found, &at)) != NULL;) {
            names[uses.count++] = entry->key;
        }
        uses.names = names;
    }
    return uses;
}
