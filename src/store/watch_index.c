/* A treap of ranges by their start, in which each node has the last end in its subtree. So the
 * watches of a key are found without visiting all others. */
#include "store/watch_index.h"

static bool before(const WatchNode *a, const WatchNode *b)
{
    int order = str_compare(a->key, b->key);
    return order != 0 ? order < 0 : a->number < b->number;
}

static bool ends_later(const WatchNode *a, const WatchNode *b)
{
    if (b->end.len == 0) {
        return false;
    }
    return a->end.len == 0 || str_compare(a->end, b->end) > 0;
}

static void update(WatchNode *node)
{
    node->last = node;
    if (node->left != NULL && ends_later(node->left->last, node->last)) {
        node->last = node->left->last;
    }
    if (node->right != NULL && ends_later(node->right->last, node->last)) {
        node->last = node->right->last;
    }
}

/* Splits the tree into ranges before `at` and the others. */
static void split(WatchNode *root, const WatchNode *at, WatchNode **low, WatchNode **high)
{
    if (root == NULL) {
        *low = *high = NULL;
        return;
    }
    if (before(root, at)) {
        split(root->right, at, &root->right, high);
        *low = root;
    } else {
        split(root->left, at, low, &root->left);
        *high = root;
    }
    update(root);
}

static WatchNode *join(WatchNode *low, WatchNode *high)
{
    if (low == NULL || high == NULL) {
        return low == NULL ? high : low;
    }
    WatchNode *top = low->priority > high->priority ? low : high;
    if (top == low) {
        low->right = join(low->right, high);
    } else {
        high->left = join(low, high->left);
    }
    update(top);
    return top;
}

void watch_index_add(WatchNode **root, WatchNode *node)
{
    WatchNode *low, *high;
    node->left = node->right = NULL;
    update(node);
    split(*root, node, &low, &high);
    *root = join(join(low, node), high);
}

void watch_index_remove(WatchNode **root, WatchNode *node)
{
    if (*root == node) {
        *root = join(node->left, node->right);
        return;
    }
    WatchNode *top = *root;
    watch_index_remove(before(node, top) ? &top->left : &top->right, node);
    update(top);
}

void watch_index_find(WatchNode *root, Str key, void (*found)(WatchNode *node, void *context),
                      void *context)
{
    while (root != NULL) {
        const WatchNode *last = root->last;
        if (last->end.len > 0 && str_compare(last->end, key) <= 0) {
            return;
        }
        watch_index_find(root->left, key, found, context);
        if (str_compare(root->key, key) > 0) {
            return;
        }
        if (root->end.len == 0 || str_compare(key, root->end) < 0) {
            found(root, context);
        }
        root = root->right;
    }
}
