#include "store/dump_reader.h"

#include "base/buf.h"
#include "unit.h"

static void put_record(Buf *out, const char *key)
{
    buf_put_char(out, DUMP_KEY);
    dump_put_number(out, 4, strlen(key));
    dump_put_number(out, 4, 1);
    buf_put_c(out, key);
    buf_put_char(out, 'v');
}

/* Reads a dump with these keys, which has no end yet. */
static bool takes(const char *first, const char *second, Error *err)
{
    AUTO_CLEAR(Buf) bytes = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(StoreDumpReader) reader;
    buf_put(&bytes, STORE_DUMP_MAGIC);
    dump_put_number(&bytes, 8, 7);
    buf_put_char(&bytes, 1);
    buf_put_char(&bytes, 'x');
    put_record(&bytes, first);
    put_record(&bytes, second);
    Str rest = buf_str(&bytes);
    store_dump_reader_init(&reader, &(StoreDumpSink){ 0 });
    return store_dump_reader_feed(&reader, &rest, err);
}

/* Loading a key twice would keep one of two values. */
static void keys_are_in_order_and_each_is_there_once(void **state)
{
    Error err;
    assert_true(takes("a", "b", &err));
    assert_true(takes("a", "aa", &err));
    assert_false(takes("b", "a", &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "keys are not in order"));
    assert_false(takes("a", "a", &err));
    assert_non_null(strstr(err.text, "keys are not in order"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_in_order_and_each_is_there_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
