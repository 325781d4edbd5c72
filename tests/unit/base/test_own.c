#include "base/own.h"

#include <stdlib.h>

#include "unit.h"

typedef struct Thing {
    int *freed;
} Thing;

static void thing_free(Thing *thing)
{
    if (thing != NULL) {
        ++*thing->freed;
        free(thing);
    }
}
DEFINE_AUTO(Thing, thing_free)

static Thing *thing_new(int *freed)
{
    Thing *thing = malloc(sizeof *thing);
    thing->freed = freed;
    return thing;
}

static Thing *make_or_fail(int *freed, bool fail)
{
    AUTO(Thing) *thing = thing_new(freed);
    if (fail) {
        return NULL;
    }
    return TAKE(thing);
}

static void a_scope_frees_what_it_still_owns(void **state)
{
    int freed = 0;
    assert_null(make_or_fail(&freed, true));
    assert_int_equal(freed, 1);
    {
        AUTO(Thing) *thing = make_or_fail(&freed, false);
        assert_non_null(thing);
        assert_int_equal(freed, 1);
    }
    assert_int_equal(freed, 2);
}

static void take_leaves_null(void **state)
{
    int number = 1;
    int *pointer = &number;
    int *taken = TAKE(pointer);
    assert_null(pointer);
    assert_ptr_equal(taken, &number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scope_frees_what_it_still_owns),
        cmocka_unit_test(take_leaves_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
