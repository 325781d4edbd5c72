#include "membership/facts_read.h"

#include "store_world.h"

typedef struct Read {
    StoreWorld *world;
    uint32_t answers, count;
    char first[16], next[16], text[16];
    int64_t revision;
} Read;

static void copy(char out[16], Str text)
{
    assert_true(text.len < 16);
    snprintf(out, 16, "%" STR_FMT, STR_ARG(text));
}

static void listed(void *context, const FactsPage *page, const Error *err)
{
    Read *read = context;
    assert_null(err);
    read->answers++;
    read->count = page->count;
    read->revision = page->revision;
    copy(read->first, page->count > 0 ? page->items[0].node : STR_EMPTY);
    copy(read->text, page->count > 0 ? page->items[0].text : STR_EMPTY);
    copy(read->next, page->next);
}

static Read list(StoreWorld *world, const char *after, int64_t revision)
{
    Read read = { .world = world };
    facts_list(&world->cluster_store,
               &(FactsQuery){ .after = str_from_c(after), .limit = 1, .revision = revision },
               listed, &read);
    world_pass(world);
    assert_int_equal(read.answers, 1);
    return read;
}

static void got(void *context, const NodeFacts *facts, const Error *err)
{
    Read *read = context;
    assert_null(err);
    read->answers++;
    read->count = facts != NULL;
    copy(read->text, facts != NULL ? facts->text : STR_EMPTY);
}

static void put(StoreWorld *world, const char *node, const char *text)
{
    world_put(world, cluster_key_facts(&world->arena, PREFIX, str_from_c(node)), str_from_c(text));
}

static void all_pages_show_one_revision(void **state)
{
    StoreWorld world = { 0 };
    world_open(&world);
    put(&world, "db1", "{}");
    put(&world, "web1", "{\"a\":1}");
    Read first = list(&world, "", 0);
    assert_int_equal(first.count, 1);
    assert_string_equal(first.first, "db1");
    assert_string_equal(first.next, "db1");
    put(&world, "web1", "{\"a\":2}");
    put(&world, "dns1", "{}");
    Read second = list(&world, first.next, first.revision);
    assert_string_equal(second.first, "web1");
    assert_string_equal(second.text, "{\"a\":1}");
    assert_string_equal(second.next, "");
    assert_int_equal(second.revision, first.revision);
    world_close(&world);
}

static void compacted(void *context, const StoreReply *reply, const Error *err)
{
    world_done(context, err);
}

static void a_page_of_a_compacted_revision_shows_the_current_one(void **state)
{
    StoreWorld world = { 0 };
    Error err;
    world_open(&world);
    put(&world, "db1", "{}");
    int64_t old = list(&world, "", 0).revision;
    put(&world, "db1", "{\"a\":2}");
    assert_true(store_compact(world.cluster_store.store, old + 1, compacted, &world, &err));
    world_expect(&world, ERROR_NONE, NULL);
    Read read = list(&world, "", old);
    assert_string_equal(read.text, "{\"a\":2}");
    assert_int_equal(read.revision, old + 1);
    world_close(&world);
}

static void a_node_has_facts_or_none(void **state)
{
    StoreWorld world = { 0 };
    world_open(&world);
    put(&world, "db1", "{}");
    Read read = { .world = &world };
    facts_get(&world.cluster_store, STR("db1"), got, &read);
    world_pass(&world);
    assert_int_equal(read.answers, 1);
    assert_string_equal(read.text, "{}");
    facts_get(&world.cluster_store, STR("web1"), got, &read);
    world_pass(&world);
    assert_int_equal(read.answers, 2);
    assert_int_equal(read.count, 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pages_show_one_revision),
        cmocka_unit_test(a_page_of_a_compacted_revision_shows_the_current_one),
        cmocka_unit_test(a_node_has_facts_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
