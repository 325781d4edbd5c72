/* Which sites need the list of all nodes, and fetches that are given up. Complete ones are tested
 * in tests/scenario. */
#include "agent/site_supply.h"

#include "net/world.h"

#define MANIFEST "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

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

/* --- Fetching -------------------------------------------------------------------------------- */

typedef struct Supplied {
    uint32_t calls;
    ErrorKind kind;
} Supplied;

static void supplied(void *context, const char *path, const char *servers, const Error *err)
{
    Supplied *ended = context;
    assert_null(path);
    assert_null(servers);
    ended->calls++;
    ended->kind = err->kind;
}

static GrpcClient *no_client(void *context)
{
    return NULL;
}

static void a_closed_supply_ends_its_fetches(void **state)
{
    Scratch *scratch = *state;
    World world;
    SiteSupply *supply;
    Supplied ended[2] = { 0 };
    Error err;
    world_open(&world);
    SiteCacheOptions options = { .loop = world.loop,
                                 .directory = scratch_place(scratch, "agent"),
                                 .client = no_client };
    assert_true(site_supply_open(&options, &supply, &err));
    for (size_t i = 0; i < COUNT_OF(ended); i++) {
        site_supply_fetch(supply, STR(MANIFEST), STR("9f86d081884c"), supplied, &ended[i]);
    }
    world_pass(&world, 1);
    assert_int_equal(ended[0].calls, 0); /* it waits for a connection */
    site_supply_close(supply);
    for (size_t i = 0; i < COUNT_OF(ended); i++) {
        assert_int_equal(ended[i].calls, 1);
        assert_int_equal(ended[i].kind, ERROR_UNAVAILABLE);
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_site_without_either_word_needs_none),
        TEST(either_word_in_any_file_counts),
        TEST(a_word_is_found_wherever_it_is_in_a_large_file),
        TEST(a_missing_site_is_an_error),
        TEST(a_closed_supply_ends_its_fetches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
