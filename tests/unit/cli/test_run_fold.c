#include "cli/run_fold.h"

#include "cli/fold_print.h"
#include "lang/json.h"
#include "unit.h"

typedef struct World {
    Arena arena;
    List *nodes;
    RunFold fold;
    Buf out;
} World;

static void world_clear(World *world)
{
    run_fold_clear(&world->fold);
    buf_clear(&world->out);
    arena_clear(&world->arena);
}
DEFINE_AUTO_CLEAR(World, world_clear)

static void world_init(World *world)
{
    *world = (World){ .out = buf_make(BUF_UNLIMITED) };
    arena_init(&world->arena, ARENA_UNLIMITED);
    world->nodes = list_new(&world->arena, 8);
}

static Value parse(World *world, Str text)
{
    Value value;
    Error err;
    assert_true(json_parse_text(&world->arena, text, NULL, &value, &err));
    return value;
}

static void add(World *world, const char *name, const char *outcome, const char *digest)
{
    Str text = arena_format(&world->arena, "{\"node\":\"%s\",\"outcome\":\"%s\",\"digest\":\"%s\"}",
                            name, outcome, digest);
    list_push(&world->arena, world->nodes, parse(world, text));
}

static void take(World *world, const char *node, const char *step, const char *result,
                 const char *more)
{
    Str line = arena_format(
        &world->arena, "{\"node\":\"%s\",\"event\":\"step\",\"step\":\"%s\",\"result\":\"%s\"%s}\n",
        node, step, result, more);
    assert_true(run_fold_add(&world->fold, line));
}

/* Two roles with a change in common: each change is told once, for all nodes that have it. */
static void make_roles(World *world)
{
    world_init(world);
    add(world, "db1", "changed", "dd");
    add(world, "db2", "changed", "dd");
    add(world, "mail1", "ok", "");
    add(world, "web1", "changed", "ee");
    add(world, "web2", "changed", "ee");
    add(world, "web3", "changed", "ee");
    add(world, "web4", "silent", "");
    run_fold_init(&world->fold, &world->arena, world->nodes);
    static const char *const names[] = { "db1", "db2", "web1", "web2", "web3" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        take(world, names[i], "base#motd", "changed",
             arena_format(&world->arena, ",\"diff\":\"+hello %s\"", names[i]).data);
        take(world, names[i], "base#same", "ok", "");
        take(world, names[i], i < 2 ? "db#conf" : "web#conf", "changed",
             ",\"changes\":{\"mode\":"
             "{\"old\":\"0600\",\"new\":\"0644\"}}");
        take(world, names[i], i < 2 ? "db#reload" : "web#reload", "unknown", "");
    }
    run_fold_finish(&world->fold);
}

static void check_section(World *world, uint32_t index, const char *title, const char *names)
{
    const FoldSection *section = &world->fold.sections.items[index];
    assert_true(index < world->fold.sections.len);
    assert_str(run_fold_title(&world->fold, &world->arena, section), title);
    assert_str(run_fold_names(&world->fold, &world->arena, section, 3), names);
}

static void each_change_is_told_once_with_its_nodes(void **state)
{
    AUTO_CLEAR(World) world;
    make_roles(&world);
    assert_int_equal(world.fold.matrix.nodes.len, 2); /* only representatives */
    assert_int_equal(world.fold.sections.len, 3);
    check_section(&world, 0, "5 nodes: the same change", "db1, db2, web1 and 2 more");
    check_section(&world, 1, "3 nodes: the same 2 changes", "web1, web2, web3");
    check_section(&world, 2, "2 nodes: the same 2 changes", "db1, db2");
    assert_int_equal(world.fold.changes, 5);
    assert_int_equal(world.fold.failures, 0);
    assert_int_equal(world.fold.changing, 5);
}

static void a_change_of_several_nodes_has_none_of_their_names(void **state)
{
    AUTO_CLEAR(World) world;
    make_roles(&world);
    fold_print_text(&world.fold, false, &world.out);
    assert_str(str_slice(buf_str(&world.out), 0, 160), "5 nodes: the same change\n"
                                                       "  changed  base#motd\n"
                                                       "      +hello {node}\n"
                                                       "  on db1, db2, web1, web2, web3\n"
                                                       "\n"
                                                       "3 nodes: the same 2 changes\n"
                                                       "  changed  web#conf\n"
                                                       "      mode: \"");
    assert_true(str_find(buf_str(&world.out), STR("mode: \"0600\" -> \"0644\"\n"), 0) !=
                STR_NOT_FOUND);
}

static void failures_come_first_and_a_single_node_is_named(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    add(&world, "a1", "changed", "aa");
    add(&world, "a2", "changed", "aa");
    add(&world, "b", "failed", "bb");
    run_fold_init(&world.fold, &world.arena, world.nodes);
    take(&world, "a1", "one", "changed", "");
    take(&world, "b", "one", "changed", ",\"diff\":\"+b\"");
    take(&world, "b", "two", "failed",
         ",\"error\":{\"code\":\"E0601\",\"message\":\"exited with 1\"},\"stderr\":\"full\\n\"");
    take(&world, "b", "three", "blocked", ",\"reason\":\"requires two\"");
    run_fold_finish(&world.fold);
    check_section(&world, 0, "b: 1 failure and 1 change", "b");
    check_section(&world, 1, "2 nodes: the same change", "a1, a2");
    fold_print_text(&world.fold, false, &world.out);
    assert_str(buf_str(&world.out), "b: 1 failure and 1 change\n"
                                    "  failed   two: exited with 1 [E0601]\n"
                                    "      full\n"
                                    "  changed  one\n"
                                    "      +b\n"
                                    "\n"
                                    "2 nodes: the same change\n"
                                    "  changed  one\n"
                                    "  on a1, a2\n"
                                    "\n");
}

static void nothing_to_change_is_no_section(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    add(&world, "a", "ok", "");
    run_fold_init(&world.fold, &world.arena, world.nodes);
    take(&world, "a", "one", "changed", "");
    run_fold_finish(&world.fold);
    assert_int_equal(world.fold.sections.len, 0);
    fold_print_text(&world.fold, true, &world.out);
    assert_int_equal(world.out.len, 0);
}

static bool has(const World *world, const char *text)
{
    return str_find(buf_str(&world->out), str_from_c(text), 0) != STR_NOT_FOUND;
}

static Value run_of(World *world, const char *kind)
{
    return parse(world,
                 arena_format(&world->arena,
                              "{\"metadata\":{\"name\":\"r1\"},\"spec\":{\"version\":\"3f2a\","
                              "\"reason\":\"@all <b>\"},\"status\":{\"kind\":\"%s\",\"by\":\"ann\","
                              "\"targets\":7,\"counts\":{\"changed\":5,\"ok\":1,\"silent\":1}}}",
                              kind));
}

static void a_comment_counts_and_folds(void **state)
{
    AUTO_CLEAR(World) world;
    make_roles(&world);
    fold_print_markdown(&world.fold, run_of(&world, "plan"), world.nodes, &world.out);
    assert_true(str_starts(buf_str(&world.out),
                           STR("### eden plan: 5 different changes on 5 of 7 nodes\n\n"
                               "| nodes | silent | would be changed | ok |\n|--:|--:|--:|--:|\n"
                               "| 7 | 1 | 5 | 1 |\n\n"
                               "Version 3f2a, run r1, requested by ann: &#64;all &#60;b&#62;. "
                               "Nothing was changed.\n")));
    assert_true(has(&world, "\n#### 3 nodes: the same 2 changes\n"));
    assert_true(has(&world, "<details><summary>changed <code>base&#35;motd</code></summary>\n\n"
                            "```diff\n+hello {node}\n```\n\n</details>\n"));
    assert_true(has(&world, "\n- unknown <code>web&#35;reload</code>\n"));
    assert_true(has(&world, "\n#### Other nodes\n\n- web4: silent\n"));
    buf_reset(&world.out);
    fold_print_markdown(&world.fold, run_of(&world, "apply"), world.nodes, &world.out);
    assert_true(has(&world, "### eden run: "));
    assert_false(has(&world, "would be"));
}

/* GitHub accepts 65,536 characters. */
static void a_comment_is_not_too_long(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    add(&world, "a", "changed", "aa");
    run_fold_init(&world.fold, &world.arena, world.nodes);
    Buf diff = buf_make_in(&world.arena, BUF_UNLIMITED);
    buf_put_repeat(&diff, '+', 7000);
    for (uint32_t i = 0; i < 100; i++) {
        take(&world, "a", arena_format(&world.arena, "step %u", i).data, "changed",
             arena_format(&world.arena, ",\"diff\":\"%s\"", buf_c(&diff)).data);
    }
    run_fold_finish(&world.fold);
    fold_print_markdown(&world.fold, run_of(&world, "plan"), world.nodes, &world.out);
    assert_in_range(world.out.len, 30000, 65000);
    assert_true(has(&world, "too long for a comment"));
    assert_true(has(&world, "step 99"));
}

static void what_a_comment_lacks_is_counted(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    Buf text = buf_make_in(&world.arena, BUF_UNLIMITED);
    buf_put_repeat(&text, 'x', 900);
    add(&world, "a", "failed", "aa");
    for (uint32_t i = 0; i < 300; i++) {
        add(&world, arena_format(&world.arena, "s%03u", i).data, "silent", "");
    }
    run_fold_init(&world.fold, &world.arena, world.nodes);
    for (uint32_t i = 0; i < 1000; i++) {
        take(&world, "a", arena_format(&world.arena, "step %u", i).data, "failed",
             arena_format(&world.arena, ",\"error\":{\"code\":\"E0601\",\"message\":\"%s\"}",
                          buf_c(&text))
                 .data);
    }
    run_fold_finish(&world.fold);
    fold_print_markdown(&world.fold, run_of(&world, "apply"), world.nodes, &world.out);
    assert_in_range(world.out.len, 50000, 65536);
    assert_true(has(&world, "\n- s000: silent\n"));
    assert_true(has(&world, " of 1000 failures and changes, 200 other nodes. `eden runs report r1 "
                            "--out report.html` shows everything.\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_told_once_with_its_nodes),
        cmocka_unit_test(a_change_of_several_nodes_has_none_of_their_names),
        cmocka_unit_test(failures_come_first_and_a_single_node_is_named),
        cmocka_unit_test(nothing_to_change_is_no_section),
        cmocka_unit_test(a_comment_counts_and_folds),
        cmocka_unit_test(a_comment_is_not_too_long),
        cmocka_unit_test(what_a_comment_lacks_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
