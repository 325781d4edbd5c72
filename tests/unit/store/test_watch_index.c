/* Which watches match a key, compared with scanning all of them. */
#include <stdlib.h>

#include "store/local_store.h"
#include "store/request.h"
#include "unit.h"

enum {
    WATCHES = 300
};

typedef struct Watcher {
    LocalWatch watch;
    char key[8], end[8];
    bool in, found;
} Watcher;

static void note(LocalWatch *watch, void *context)
{
    Watcher *watcher = (Watcher *)watch;
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
    LocalWatch *watch = &watcher->watch;
    watch->spec.key = watch->node.key = word(loop, watcher->key);
    switch (loop_random(loop) % 3) {
    case 0: /* one key */
        watch->spec.end = STR_EMPTY;
        watcher->key[watch->spec.key.len] = '\0';
        watch->node.end = str_from(watcher->key, watch->spec.key.len + 1);
        break;
    case 1:
        watch->spec.end = STORE_ALL;
        watch->node.end = STR_EMPTY;
        break;
    default: watch->spec.end = watch->node.end = word(loop, watcher->end);
    }
}

static void finds_exactly_the_ranges_that_contain_the_key(void **state)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        AUTO(Loop) *loop = loop_new_virtual(seed);
        Watcher *watchers = calloc(WATCHES, sizeof *watchers);
        LocalWatch *root = NULL;
        for (int step = 0; step < 2000; step++) {
            Watcher *watcher = &watchers[loop_random(loop) % WATCHES];
            if (watcher->in) {
                watch_index_remove(&root, &watcher->watch);
            } else {
                make(loop, watcher);
                watcher->watch.node.number = (uint64_t)step;
                watcher->watch.node.priority = loop_random(loop);
                watch_index_add(&root, &watcher->watch);
            }
            watcher->in = !watcher->in;
            char text[8];
            Str key = word(loop, text);
            watch_index_find(root, key, note, NULL);
            for (int i = 0; i < WATCHES; i++) {
                Watcher *each = &watchers[i];
                bool wanted =
                    each->in && range_has(each->watch.spec.key, each->watch.spec.end, key);
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
