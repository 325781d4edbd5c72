#include "membership/liveness.h"

#include "membership/roster.h"
#include "scratch.h"

static void presence_survives_a_round_trip(void **state)
{
    Scratch *scratch = *state;
    Liveness alive = { STR("s1"), STR("boot \"x\""), STR("0.1.0"), 1800000000000 }, read;
    Buf text = buf_make_in(&scratch->arena, BUF_UNLIMITED);
    Error err;
    record_print(&alive_format, &alive, &text);
    assert_str(buf_str(&text), "{\"format\":\"eden.alive/1\",\"server\":\"s1\","
                               "\"boot_id\":\"boot \\\"x\\\"\",\"version\":\"0.1.0\","
                               "\"since_ms\":1800000000000}");
    assert_true(
        record_read(&alive_format, &scratch->arena, buf_str(&text), RECORD_STORED, &read, &err));
    assert_str(read.server, "s1");
    assert_str(read.boot_id, "boot \"x\"");
    assert_str(read.version, "0.1.0");
    assert_int_equal(read.since_ms, 1800000000000);
    assert_false(
        record_read(&silent_format, &scratch->arena, buf_str(&text), RECORD_STORED, &read, &err));
}

static void silence_has_only_a_time(void **state)
{
    Scratch *scratch = *state;
    Buf text = buf_make_in(&scratch->arena, BUF_UNLIMITED);
    record_print(&silent_format, &(Liveness){ .since_ms = 7 }, &text);
    assert_str(buf_str(&text), "{\"format\":\"eden.silent/1\",\"since_ms\":7}");
}

static void a_version_that_is_too_long_is_refused(void **state)
{
    Scratch *scratch = *state;
    char version[NODE_VERSION_MAX + 2] = "";
    Buf text = buf_make_in(&scratch->arena, BUF_UNLIMITED);
    Liveness read;
    Error err;
    memset(version, 'v', NODE_VERSION_MAX + 1);
    record_print(&alive_format, &(Liveness){ .version = str_from_c(version) }, &text);
    assert_false(
        record_read(&alive_format, &scratch->arena, buf_str(&text), RECORD_STORED, &read, &err));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(presence_survives_a_round_trip),
        ROW(silence_has_only_a_time),
        ROW(a_version_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
