/* Which watches match a key, compared with scanning all of them. */
#include <stdlib.h>

#include "store/request.h"
#include "store/watch_index.h"
#include "sys/loop.h"
#include "unit.h"

enum {
    WATCHES = 300
};

typedef struct Watcher {
    WatchNode node;
    Str range_end; /* of the request */
    char key[8], end[8];
    bool in, found;
} Watcher;

static void note(WatchNode *node, void *context)
{
    Watcher *watcher = (Watcher *)node;
    assert_false(watcher->found);
    watcher->found = true;
}

static Str word(Loop *loop, char *out)
{
    size_t len = 1 + loop_random(loop) % 3;
    for (size_t i = 0; i < len; i++) {
        out[i] = (char)('a' + loop_random(loop) % 4);
    }
    return str_from(out, len);
}

static void make(Loop *loop, Watcher *watcher)
{
    WatchNode *node = &watcher->node;
    node->key = word(loop, watcher->key);
    switch (loop_random(loop) % 3) {
    case 0: /* one key */
        watcher->range_end = STR_EMPTY;
        watcher->key[node->key.len] = '\0';
        node->end = str_from(watcher->key, node->key.len + 1);
        break;
    case 1:
        watcher->range_end = STORE_ALL;
        node->end = STR_EMPTY;
        break;
    default: watcher->range_end = node->end = word(loop, watcher->end);
    }
}

static void finds_exactly_the_ranges_that_contain_the_key(void **state)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        AUTO(Loop) *loop = loop_new_virtual(seed);
        Watcher *watchers = calloc(WATCHES, sizeof *watchers);
        WatchNode *root = NULL;
        for (int step = 0; step < 2000; step++) {
            Watcher *watcher = &watchers[loop_random(loop) % WATCHES];
            if (watcher->in) {
                watch_index_remove(&root, &watcher->node);
            } else {
                make(loop, watcher);
                watcher->node.number = (uint64_t)step;
                watcher->node.priority = loop_random(loop);
                watch_index_add(&root, &watcher->node);
            }
            watcher->in = !watcher->in;
            char text[8];
            Str key = word(loop, text);
            watch_index_find(root, key, note, NULL);
            for (int i = 0; i < WATCHES; i++) {
                Watcher *each = &watchers[i];
                bool wanted = each->in && range_has(each->node.key, each->range_end, key);
                assert_int_equal(each->found, wanted);
                each->found = false;
            }
        }
        free(watchers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_exactly_the_ranges_that_contain_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
