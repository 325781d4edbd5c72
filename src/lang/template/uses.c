/* Finds the variables that a template uses, for checks and documentation of sites. Names that the
 * template assigns anywhere are collected first, so that uses of them can be marked as its own;
 * then every use of a name is recorded with the element that is accessed. */
#include "lang/template/parse.h"

#include "base/str_map.h"
#include "base/vec.h"

typedef struct Search {
    Arena *arena;
    VEC(TemplateUse) found;
    VEC(TemplateLink) links;
    StrMap bound; /* names that the template itself assigns */
} Search;

static void find_in_sequence(Search *search, const Node *nodes);

/* --- Names assigned by the template ----------------------------------------------------------- */

static void bind(Search *search, Str name)
{
    str_map_put(&search->bound, arena_copy(search->arena, name), NULL);
}

static void bind_target(Search *search, const Node *target)
{
    if (target == NULL) {
        return;
    }
    if (target->kind == NODE_NAME) {
        bind(search, target->name);
    }
    for (const Node *item = target->items; item != NULL; item = item->next) {
        bind_target(search, item);
    }
}

static void bind_names(Search *search, const Node *node)
{
    bind_target(search, node->target);
    for (const Parameter *param = node->params; param != NULL; param = param->next) {
        bind(search, param->name);
    }
    if (node->kind == NODE_MACRO || node->kind == NODE_IMPORT) {
        bind(search, node->name);
    } else if (node->kind == NODE_ALIAS) {
        bind(search, node->alias);
    }
}

static bool is_bound(const Search *search, Str name)
{
    static const Str everywhere[] = { STR("loop"),   STR("self"),    STR("super"),
                                      STR("caller"), STR("varargs"), STR("kwargs") };
    for (size_t i = 0; i < COUNT_OF(everywhere); i++) {
        if (str_eq(name, everywhere[i])) {
            return true;
        }
    }
    return str_map_has(&search->bound, name);
}

/* --- Uses ------------------------------------------------------------------------------------- */

static TemplateUse *add(Search *search, const Node *name)
{
    TemplateUse use = { .name = arena_copy(search->arena, name->name),
                        .offset = name->offset,
                        .span = name->span };
    VEC_PUSH(search->arena, &search->found, use);
    return &search->found.items[search->found.len - 1];
}

static void add_element(Search *search, const Node *name, Str element, uint32_t offset,
                        uint32_t span)
{
    TemplateUse *use = add(search, name);
    use->literal = true;
    use->element = arena_copy(search->arena, element);
    use->element_offset = offset;
    use->element_span = span;
}

/* Returns false if the element is computed. */
static bool literal_element(const Node *node, Str *name, uint32_t *offset, uint32_t *span)
{
    bool is_attribute = node->kind == NODE_ATTRIBUTE;
    if (!is_attribute && (node->kind != NODE_ELEMENT || node->right->kind != NODE_CONST ||
                          !value_is_string(node->right->value))) {
        return false;
    }
    *name = is_attribute ? node->name : value_str(node->right->value);
    *offset = is_attribute ? node->offset : node->right->offset;
    *span = is_attribute ? node->span : node->right->span;
    return true;
}

/* Records x['a'], x.a or x; returns true if the node was one and needs no further search. */
static bool take_use(Search *search, const Node *node)
{
    const Node *owner = node->left;
    if (node->kind == NODE_NAME) {
        add(search, node);
        return true;
    }
    if (owner == NULL || owner->kind != NODE_NAME) {
        return false;
    }
    Str element;
    uint32_t offset, span;
    if (!literal_element(node, &element, &offset, &span)) {
        return false;
    }
    add_element(search, owner, element, offset, span);
    return true;
}

/* Records x['a'].b, or a shorter form. */
static bool take_member(Search *search, const Node *node)
{
    Str name;
    uint32_t offset, span;
    if (take_use(search, node)) {
        return true;
    }
    if (node->left == NULL || !literal_element(node, &name, &offset, &span) ||
        !take_use(search, node->left)) {
        return false;
    }
    TemplateUse *use = &search->found.items[search->found.len - 1];
    use->member = arena_copy(search->arena, name);
    use->member_offset = offset;
    use->member_span = span;
    return true;
}

/* `x is defined`, `x | default(1)`: the variable is optional. */
static bool is_guard(const Node *node)
{
    static const Str filters[] = { STR("default"), STR("d") };
    static const Str tests[] = { STR("defined"), STR("undefined") };
    const Str *names = node->kind == NODE_FILTER ? filters : node->kind == NODE_TEST ? tests : NULL;
    return names != NULL && node->left != NULL &&
           (str_eq(node->name, names[0]) || str_eq(node->name, names[1]));
}

static void take_link(Search *search, const Node *node)
{
    bool is_link = (node->kind == NODE_INCLUDE && !node->ignore_missing) ||
                   node->kind == NODE_IMPORT || node->kind == NODE_FROM_IMPORT ||
                   node->kind == NODE_EXTENDS;
    if (is_link && node->left->kind == NODE_CONST && value_is_string(node->left->value)) {
        TemplateLink link = { .name = arena_copy(search->arena, value_str(node->left->value)),
                              .offset = node->left->offset,
                              .span = node->left->span };
        VEC_PUSH(search->arena, &search->links, link);
    }
}

static void find_in(Search *search, const Node *node)
{
    if (node == NULL || take_member(search, node)) {
        return;
    }
    take_link(search, node);
    bind_names(search, node);
    if (is_guard(node) && take_member(search, node->left)) {
        TemplateUse *use = &search->found.items[search->found.len - 1];
        use->guarded = use->member.len == 0;
        use->member = STR_EMPTY; /* optional */
    } else if (node->kind == NODE_CALL && node->left->kind == NODE_ATTRIBUTE &&
               node->left->left->kind == NODE_NAME) {
        TemplateUse *use = add(search, node->left->left); /* a method, such as steps.items() */
        use->method = arena_copy(search->arena, node->left->name);
    } else {
        find_in(search, node->left);
    }
    find_in(search, node->right);
    find_in(search, node->test);
    find_in(search, node->iterable);
    find_in_sequence(search, node->items);
    find_in_sequence(search, node->body);
    find_in_sequence(search, node->else_body);
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

TemplateUses template_uses_find(Arena *arena, const Node *nodes)
{
    Search search = { .arena = arena };
    str_map_init(&search.bound, arena);
    find_in_sequence(&search, nodes);
    for (uint32_t i = 0; i < search.found.len; i++) {
        search.found.items[i].own = is_bound(&search, search.found.items[i].name);
    }
    VEC(Str) assigned = { 0 };
    uint32_t pos = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&search.bound, &pos)) != NULL;) {
        VEC_PUSH(arena, &assigned, entry->key);
    }
    return (TemplateUses){ .items = search.found.items,
                           .links = search.links.items,
                           .assigned = assigned.items,
                           .count = search.found.len,
                           .link_count = search.links.len,
                           .assigned_count = assigned.len };
}
