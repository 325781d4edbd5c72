/* Which sites need the list of all nodes. Fetching it is tested in tests/scenario. */
#include "agent/site_supply.h"

#include "scratch.h"

static bool mentions(Scratch *scratch)
{
    bool found;
    Error err;
    if (!site_mentions_servers(scratch_place(scratch, "site"), &found, &err)) {
        fail_msg("%s", err.text);
    }
    return found;
}

static void a_site_without_either_word_needs_none(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "site/jobs/base.yaml", "jobs: {}\n");
    scratch_put(scratch, "site/files/empty", "");
    scratch_put(scratch, "site/templates/motd", "{{ server.name }} server vars");
    scratch_link(scratch, "site/files/link", "/nonexistent");
    assert_false(mentions(scratch));
}

static void either_word_in_any_file_counts(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "site/jobs/base.yaml", "jobs: {}\n");
    scratch_put(scratch, "site/templates/deep/list", "{% for n in servervars %}");
    assert_true(mentions(scratch));
    scratch_put(scratch, "site/templates/deep/list", "{{ eden.servers_get_by_label('a') }}");
    assert_true(mentions(scratch));
    scratch_put(scratch, "site/templates/deep/list", "{{ eden.node }}");
    assert_false(mentions(scratch));
}

/* Files are read in chunks. */
static void a_word_is_found_wherever_it_is_in_a_large_file(void **state)
{
    enum {
        CHUNK = 64 << 10,
        AROUND = 40
    };
    Scratch *scratch = *state;
    static char text[3 * CHUNK];
    for (int at = CHUNK - AROUND; at < CHUNK + AROUND; at++) {
        memset(text, ' ', sizeof text - 1);
        memcpy(text + at, "servers_get_by_label", 20);
        scratch_put(scratch, "site/large", text);
        assert_true(mentions(scratch));
    }
    memset(text, ' ', sizeof text - 1);
    memcpy(text + sizeof text - 11, "servervars", 10);
    scratch_put(scratch, "site/large", text);
    assert_true(mentions(scratch));
}

static void a_missing_site_is_an_error(void **state)
{
    Scratch *scratch = *state;
    bool found;
    Error err;
    assert_false(site_mentions_servers(scratch_place(scratch, "site"), &found, &err));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_site_without_either_word_needs_none),
        TEST(either_word_in_any_file_counts),
        TEST(a_word_is_found_wherever_it_is_in_a_large_file),
        TEST(a_missing_site_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
