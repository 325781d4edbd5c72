#include "model/contradiction.h"

#include "unit.h"

enum {
    CONTENT = 100 * 1000, /* bytes */
    TRIES = 100
};

static const ParamSpec params[] = {
    { "name", PARAM_PATH, .help = "path" },
    { "content", PARAM_STRING, .aspect = "content", .help = "text" },
    { 0 },
};
static const Action action = {
    .name = "managed", .params = params, .resource = "path name", .desired_state = "kind=file"
};

/* Two steps about one file. */
typedef struct World {
    Arena arena;
    Problems problems;
    Contradictions contradictions;
    Job job;
    StepSpec spec;
    Step steps[2];
    Sources sources;
    Graph graph;
} World;

static void world_make(World *world)
{
    *world = (World){ .spec = { .action = &action, .params_set = 3, .job = &world->job } };
    arena_init(&world->arena, ARENA_UNLIMITED);
    problems_init(&world->problems, &world->arena);
    sources_init(&world->sources, &world->arena);
    contradictions_init(&world->contradictions, &world->arena);
    for (uint32_t i = 0; i < COUNT_OF(world->steps); i++) {
        world->steps[i] = (Step){ .spec = &world->spec, .index = i, .id = STR("job#step") };
    }
    world->graph = (Graph){ .steps = { .items = world->steps, .count = COUNT_OF(world->steps) },
                            .sources = &world->sources };
}

static void retries_use_constant_memory(void **state)
{
    static char content[CONTENT];
    World world;
    world_make(&world);
    memset(content, 'x', sizeof content);
    Value values[] = { value_string(STR("/etc/motd")),
                       value_string(str_from(content, sizeof content)) };
    assert_true(
        contradictions_add(&world.contradictions, &world.graph, 0, values, true, &world.problems));
    size_t used = arena_used(&world.arena);
    for (int i = 0; i < TRIES; i++) {
        assert_true(contradictions_add(&world.contradictions, &world.graph, 0, values, true,
                                       &world.problems));
    }
    assert_int_equal(arena_used(&world.arena), used);
    arena_clear(&world.arena);
}

static void the_last_attempt_counts(void **state)
{
    World world;
    world_make(&world);
    Value one[] = { value_string(STR("/etc/motd")), value_string(STR("one")) };
    Value two[] = { value_string(STR("/etc/motd")), value_string(STR("two")) };
    assert_true(
        contradictions_add(&world.contradictions, &world.graph, 0, one, true, &world.problems));
    assert_true(
        contradictions_add(&world.contradictions, &world.graph, 0, two, true, &world.problems));
    assert_true(
        contradictions_add(&world.contradictions, &world.graph, 1, two, true, &world.problems));
    assert_int_equal(world.problems.count, 0);
    arena_clear(&world.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retries_use_constant_memory),
        cmocka_unit_test(the_last_attempt_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
