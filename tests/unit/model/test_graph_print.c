#include "model/graph_print.h"

#include "lang/json.h"
#include "model/steps_text.h"

static Str printed(World *world, const char *steps, GraphFormat format)
{
    const Graph *graph = world_make(world, steps);
    Buf out = buf_make_in(&world->arena, BUF_UNLIMITED);
    graph_print(graph, format, false, &world->arena, &out);
    return buf_str(&out);
}

static bool holds(Str text, const char *part)
{
    return str_find(text, str_from_c(part), 0) != STR_NOT_FOUND;
}

static void the_tree_shows_the_order_and_dependencies(void **state)
{
    (void)state;
    World world;
    assert_str(printed(&world,
                       "a require=b; b mod=file claims=path:/x; c mod=svc watch_any=a,b prereq=d; "
                       "d claims=path:/x/y; job:web; e listen=main#a",
                       GRAPH_TREE),
               "   1 * main#b  [file.do]\n"
               "   2 * main#a  [test.do]\n"
               "       `- require    b\n"
               "      check main#d, before steps that have it as prereq\n"
               "   3 * main#c  [svc.do]\n"
               "       |- watch_any  a\n"
               "       |- watch_any  b\n"
               "       `- prereq     d\n"
               "   4 * main#d  [test.do]\n"
               "       `- order      b  (needs path:/x)\n"
               "   5   web#e  [test.do]\n"
               "       `- listen     main#a\n"
               "5 steps, 6 edges; the critical path (*) has 4\n");
    world_clear(&world);
    assert_str(printed(&world, "", GRAPH_TREE), "0 steps, 0 edges; the critical path (*) has 0\n");
    world_clear(&world);
}

static void graphviz_gets_arrows_in_the_direction_of_time(void **state)
{
    (void)state;
    World world;
    assert_str(printed(&world, "a\"q; b require=a\"q; c prereq=b", GRAPH_DOT),
               "digraph eden {\n"
               "    rankdir=LR;\n"
               "    node [shape=box, style=rounded];\n"
               "    \"main#a\\\"q\" [tooltip=\"test.do\", penwidth=3];\n"
               "    \"main#b\" [tooltip=\"test.do\", penwidth=3];\n"
               "    \"main#c\" [tooltip=\"test.do\", penwidth=3];\n"
               "    \"main#a\\\"q\" -> \"main#b\" [label=\"require\"];\n"
               "    \"main#c\" -> \"main#b\" [label=\"prereq\", style=bold, color=blue];\n"
               "}\n");
    world_clear(&world);
}

static void json_can_be_parsed(void **state)
{
    (void)state;
    World world;
    Str text = printed(&world, "a\"q; b onfail_all=a\"q; c prereq=b", GRAPH_JSON);
    Value value;
    Error err;
    assert_true(json_parse_text(&world.arena, text, NULL, &value, &err));
    assert_str(value_str(*value_get(value, STR("format"))), "eden.graph/1");
    const List *steps = value_get(value, STR("steps"))->list;
    assert_int_equal(steps->len, 3);
    assert_str(value_str(*value_get(steps->items[0], STR("id"))), "main#a\"q");
    assert_int_equal(value_get(steps->items[1], STR("run_order"))->integer, 3);
    const List *edges = value_get(value, STR("edges"))->list;
    assert_int_equal(edges->len, 2);
    assert_str(value_str(*value_get(edges->items[0], STR("kind"))), "onfail");
    assert_str(value_str(*value_get(edges->items[0], STR("form"))), "all");
    assert_str(value_str(*value_get(edges->items[0], STR("origin"))), "written");
    const List *order = value_get(value, STR("order"))->list;
    assert_int_equal(order->len, 4);
    assert_str(value_str(*value_get(order->items[1], STR("phase"))), "check");
    assert_int_equal(value_get(value, STR("critical_path"))->list->len, 3);
    world_clear(&world);
}

static void the_picture_has_a_box_for_each_step_and_an_arrow_for_each_edge(void **state)
{
    (void)state;
    World world;
    Str text = printed(&world, "a<b>&; b require=a<b>&; c watch=b; d onchanges=b", GRAPH_SVG);
    assert_true(str_starts(text, STR("<svg xmlns=\"http://www.w3.org/2000/svg\"")));
    assert_true(str_ends(text, STR("</svg>\n")));
    assert_true(holds(text, ">main#a&lt;b&gt;&amp;</text>"));
    assert_true(holds(text, "<path class=\"require critical\""));
    assert_true(holds(text, "<path class=\"onchanges\""));
    size_t boxes = 0;
    for (size_t at = 0; (at = str_find(text, STR("<rect "), at)) != STR_NOT_FOUND; at++) {
        boxes++;
    }
    assert_int_equal(boxes, 4);
    world_clear(&world);
    assert_true(str_ends(printed(&world, "", GRAPH_SVG), STR("</svg>\n")));
    world_clear(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_shows_the_order_and_dependencies),
        cmocka_unit_test(graphviz_gets_arrows_in_the_direction_of_time),
        cmocka_unit_test(json_can_be_parsed),
        cmocka_unit_test(the_picture_has_a_box_for_each_step_and_an_arrow_for_each_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
