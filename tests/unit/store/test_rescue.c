/* A store whose file is removed while it is open: what is reported depends on what was saved. */
#include "scratch.h"
#include "store/local_store.h"
#include "store/sqlite_engine.h"
#include "sys/file.h"

static void what_was_not_saved_is_not_reported_as_saved(void **state)
{
    Scratch *scratch = *state;
    const char *path = scratch_place(scratch, "store/store.db");
    const char *obstacle = scratch_place(scratch, "store/store.db.rescued.new/file");
    Engine *engine;
    StoreLostFile lost;
    Error err;
    scratch_put(scratch, "store/store.db.rescued.new/file", ""); /* in the place of the copy */
    assert_true(file_write_private(path, STR_EMPTY, &err));
    if (!sqlite_engine_open(path, 100, &engine, &err)) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(remove(path), 0);
    rescue_run(engine, path, &lost);
    assert_true(lost.is_lost);
    assert_false(lost.is_saved);
    assert_int_equal(lost.why.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(lost.why.text, "do not stop it until that succeeds"));
    assert_int_equal(remove(obstacle), 0);
    assert_int_equal(remove(scratch_place(scratch, "store/store.db.rescued.new")), 0);
    rescue_run(engine, path, &lost); /* it is tried again */
    assert_true(lost.is_saved);
    assert_non_null(strstr(lost.why.text, "were saved there again"));
    assert_int_equal(access(path, F_OK), 0);
    engine->kind->close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_not_saved_is_not_reported_as_saved, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
