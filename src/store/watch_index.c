/* A treap of ranges by their start, in which each node has the last end in its subtree. So the
 * watches of a key are found without visiting all others. */
#include "store/local_store.h"

static bool before(const LocalWatch *a, const LocalWatch *b)
{
    int order = str_compare(a->node.key, b->node.key);
    return order != 0 ? order < 0 : a->node.number < b->node.number;
}

static bool ends_later(const LocalWatch *a, const LocalWatch *b)
{
    if (b->node.end.len == 0) {
        return false;
    }
    return a->node.end.len == 0 || str_compare(a->node.end, b->node.end) > 0;
}

static void update(LocalWatch *watch)
{
    WatchNode *node = &watch->node;
    node->last = watch;
    if (node->left != NULL && ends_later(node->left->node.last, node->last)) {
        node->last = node->left->node.last;
    }
    if (node->right != NULL && ends_later(node->right->node.last, node->last)) {
        node->last = node->right->node.last;
    }
}

/* Splits the tree into ranges before `at` and the others. */
static void split(LocalWatch *root, const LocalWatch *at, LocalWatch **low, LocalWatch **high)
{
    if (root == NULL) {
        *low = *high = NULL;
        return;
    }
    if (before(root, at)) {
        split(root->node.right, at, &root->node.right, high);
        *low = root;
    } else {
        split(root->node.left, at, low, &root->node.left);
        *high = root;
    }
    update(root);
}

static LocalWatch *join(LocalWatch *low, LocalWatch *high)
{
    if (low == NULL || high == NULL) {
        return low == NULL ? high : low;
    }
    LocalWatch *top = low->node.priority > high->node.priority ? low : high;
    if (top == low) {
        low->node.right = join(low->node.right, high);
    } else {
        high->node.left = join(low, high->node.left);
    }
    update(top);
    return top;
}

void watch_index_add(LocalWatch **root, LocalWatch *watch)
{
    LocalWatch *low, *high;
    watch->node.left = watch->node.right = NULL;
    update(watch);
    split(*root, watch, &low, &high);
    *root = join(join(low, watch), high);
}

void watch_index_remove(LocalWatch **root, LocalWatch *watch)
{
    if (*root == watch) {
        *root = join(watch->node.left, watch->node.right);
        return;
    }
    LocalWatch *top = *root;
    watch_index_remove(before(watch, top) ? &top->node.left : &top->node.right, watch);
    update(top);
}

void watch_index_find(LocalWatch *root, Str key, void (*found)(LocalWatch *watch, void *context),
                      void *context)
{
    while (root != NULL) {
        const LocalWatch *last = root->node.last;
        if (last->node.end.len > 0 && str_compare(last->node.end, key) <= 0) {
            return;
        }
        watch_index_find(root->node.left, key, found, context);
        if (str_compare(root->node.key, key) > 0) {
            return;
        }
        if (root->node.end.len == 0 || str_compare(key, root->node.end) < 0) {
            found(root, context);
        }
        root = root->node.right;
    }
}
