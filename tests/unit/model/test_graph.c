#include "model/graph.h"

#include <stdlib.h>

#include "model/steps_text.h"

/* "c a b": the order of mode ansible; a check is shown as "a?". */
static Str order_of(World *world)
{
    Buf out = buf_make_in(&world->arena, BUF_UNLIMITED);
    const Graph *graph = world->graph;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        Vertex vertex = graph->vertices[graph->order[i]];
        buf_put_format(&out, "%s%" STR_FMT "%s", i > 0 ? " " : "",
                       STR_ARG(graph_step(graph, vertex.step)->name), vertex.check ? "?" : "");
    }
    return buf_str(&out);
}

/* "a require b, b watch_any c": the edges of all steps. */
static Str edges_of(World *world)
{
    Buf out = buf_make_in(&world->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < world->graph->edge_count; i++) {
        const Edge *edge = &world->graph->edges[i];
        buf_put_format(&out, "%s%" STR_FMT " %s%s %" STR_FMT, i > 0 ? ", " : "",
                       STR_ARG(graph_step(world->graph, edge->from)->name),
                       requisite_kind_name((RequisiteKind)edge->kind),
                       edge->any   ? "_any"
                       : edge->all ? "_all"
                                   : "",
                       STR_ARG(graph_step(world->graph, edge->to)->name));
    }
    return buf_str(&out);
}

typedef struct Case {
    const char *steps;
    const char *expected;
} Case;

static void check_orders(const Case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        World world;
        world_make(&world, cases[i].steps);
        Str order = order_of(&world);
        if (!str_eq_c(order, cases[i].expected)) {
            print_error("%s\n", cases[i].steps);
        }
        assert_str(order, cases[i].expected);
        world_clear(&world);
    }
}

static void check_edges(const Case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        World world;
        world_make(&world, cases[i].steps);
        Str edges = edges_of(&world);
        if (!str_eq_c(edges, cases[i].expected)) {
            print_error("%s\n", cases[i].steps);
        }
        assert_str(edges, cases[i].expected);
        world_clear(&world);
    }
}

static void check_problems(const Case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        World world;
        world_init(&world);
        world_read(&world, str_from_c(cases[i].steps));
        assert_false(world_build(&world));
        assert_null(world.graph);
        Buf out = buf_make_in(&world.arena, BUF_UNLIMITED);
        for (uint32_t j = 0; j < world.problems.count; j++) {
            const Problem *problem = &world.problems.items[j];
            buf_put_format(&out, "%s%" STR_FMT " %" STR_FMT "%s%" STR_FMT, j > 0 ? "\n" : "",
                           STR_ARG(problem->code), STR_ARG(problem->message),
                           problem->hint.len > 0 ? "; " : "", STR_ARG(problem->hint));
        }
        if (!str_eq_c(buf_str(&out), cases[i].expected)) {
            print_error("%s\n", cases[i].steps);
        }
        assert_str(buf_str(&out), cases[i].expected);
        world_clear(&world);
    }
}

/* --- Order ---------------------------------------------------------------------------------- */

static void requisites_sort_before_order_and_file(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "", "" },
        { "a; b; c", "a b c" },
        { "a require=b; b; c", "b a c" },
        /* What a step requires comes right before it, not in file order. */
        { "a require=d; b; c; d", "d a b c" },
        { "a require=c,e; b; c require=d; d; e", "d c e a b" },
        { "a order=last; b; c", "b c a" },
        { "a; b; c order=first", "c a b" },
        { "a; b order=2; c order=1; d order=first; e order=last; f", "d c b a f e" },
        { "a order=-1; b order=first", "b a" },
        { "a order=1; b order=1; c", "a b c" },
        /* Requisites of `first` come first, too; a `last` step comes earlier if another step needs
         * it. */
        { "a; b; c order=first require=b", "b c a" },
        { "a; b order=last; c require=b; d", "a b c d" },
        { "a order=last; b order=last; c", "c a b" },
        { "a order=last require=b; b order=last; c", "c b a" },
        { "a onchanges=b; b", "b a" },
        { "a onfail=b; b", "b a" },
        { "a watch=b; b", "b a" },
        { "a listen=b; b", "a b" },
        { "a mod=file use=b; b mod=file", "a b" },
        { "a require_in=b; b; c require_in=a", "c a b" },
    };
    check_orders(cases, COUNT_OF(cases));
}

static void a_prereq_runs_between_the_check_of_its_target_and_the_target(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a prereq=b; b", "b? a b" },
        { "b; a prereq=b", "b? a b" },
        { "b prereq_in=a; a", "b? a b" },
        /* The other requisites of the target come before its check. */
        { "a prereq=b; b require=c; c", "c b? a b" },
        { "a; b require=c prereq_in=a; c watch=d; d", "d c b? a b" },
        /* The target may require it too: same order, no cycle. */
        { "a prereq=b; b require=a", "b? a b" },
        { "a prereq=b; b require=a,c; c", "c b? a b" },
        { "a prereq=b; b onchanges=a watch=a", "b? a b" },
        /* Several for one target, one for several targets, chains. */
        { "c; a prereq=c; b prereq=c", "c? a b c" },
        { "a prereq=b,c; b; c", "b? c? a b c" },
        { "a prereq=b; b prereq=c; c", "c? b? a b c" },
        { "c; b prereq=c; a prereq=b", "c? b? a b c" },
        { "a prereq=b require=x; x; b", "x b? a b" },
        /* Targets that require each other, like those of a whole job. */
        { "a prereq=job:web; job:web; b; c require=b; d watch=c", "b? c? d? a b c d" },
        { "a; b prereq=c; c; d", "a c? b c d" },
    };
    check_orders(cases, COUNT_OF(cases));
}

/* --- References ------------------------------------------------------------------------------ */

static void references_find_steps_by_name_id_and_job(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a; b require=a", "b require a" },
        { "a mod=file id=/etc/motd; b require=file:/etc/motd", "b require a" },
        { "a mod=file id=/etc/motd; b require=file:a", "b require a" },
        { "a mod=file id=/etc/motd; b require=file.do:a", "b require a" },
        { "a mod=pkg id=kubelet,kubeadm; b require=pkg:kubeadm", "b require a" },
        /* An id refers to all steps that have it, except the step itself. */
        { "a mod=file id=x; b mod=file id=x; c require=file:x", "c require a, c require b" },
        { "a mod=file id=x; b mod=file id=x require=file:x", "b require a" },
        { "a mod=file id=x; b mod=pkg id=x; c require=pkg:x", "c require b" },
        { "a; a2; b require=a*", "b require a, b require a2" },
        { "a mod=file id=/etc/x; b mod=file id=/srv/x; c require=file:/etc/*", "c require a" },
        { "a/b/c; d require=a*c", "d require a/b/c" },
        { "ab; ac; ad; e require=a[bd]", "e require ab, e require ad" },
        { "ab; abc; e require=a?", "e require ab" },
        { "a require=*; b", "a require b" },
        { "a require=job:web; job:web; b; c", "a require b, a require c" },
        { "a require=job:w*; job:web; b; job:www; c", "a require b, a require c" },
        { "a require=job:web; job:web", "" },
        { "a; job:web; b onchanges=job:main; c onfail=job:main", "b onchanges a, c onfail a" },
        { "a require=job:main; b", "a require b" },
        /* The own file is searched first, then the run. */
        { "a; b require=a; job:web; a", "b require a" },
        { "b require=a; job:web; a", "b require a" },
        { "b require=web#a; a; job:web; a; job:www; a", "b require a" },
        { "b require=w*; job:web; wa; job:www; wb", "b require wa, b require wb" },
        { "b require=file:x; job:web; a mod=file id=x; job:www; c mod=file id=x",
          "b require a, b require c" },
        /* Instances of forEach: one by its key, all by the name. */
        { "a each=x,y; b require=a", "b require a[x], b require a[y]" },
        { "a each=x,y; b require=a[y]", "b require a[y]" },
        { "a each=x,y; b each=v,w require=a[x]", "b[v] require a[x], b[w] require a[x]" },
    };
    check_edges(cases, COUNT_OF(cases));
}

static void each_kind_has_its_reversed_form(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a require_in=b; b", "b require a" },
        { "a watch_in=b; b", "b watch a" },
        { "a prereq_in=b; b", "b prereq a" },
        { "a onchanges_in=b; b", "b onchanges a" },
        { "a onfail_in=b; b", "b onfail a" },
        { "a listen_in=b; b", "b listen a" },
        { "a mod=file use_in=b; b mod=file", "b use a" },
        { "a require_in=b,c; b; c require_in=b", "b require a, b require c, c require a" },
        { "a require_in=job:web; job:web; b; c", "b require a, c require a" },
    };
    check_edges(cases, COUNT_OF(cases));
}

static void equal_edges_are_merged_and_forms_are_distinguished(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a; b require=a,a", "b require a" },
        { "a mod=file id=a2; b require=file:a,file:a2,a*", "b require a" },
        { "a require_in=b; b require=a", "b require a" },
        { "a; b require=a watch=a require_any=a", "b require a, b watch a, b require_any a" },
        { "a; b onfail=a onfail_all=a onfail_any=a", "b onfail a, b onfail_all a, b onfail_any a" },
    };
    check_edges(cases, COUNT_OF(cases));
}

static void edges_are_found_from_both_ends(void **state)
{
    (void)state;
    World world;
    const Graph *graph = world_make(&world, "a; b require=a; c watch=a require=b; d listen=a");
    assert_int_equal(graph_edges(graph, world_step(&world, "c")).count, 2);
    IndexSlice in = graph_edges_to(graph, world_step(&world, "a"));
    assert_int_equal(in.count, 3);
    assert_int_equal(graph_edge(graph, in.items[0])->from, 1);
    assert_int_equal(graph_edge(graph, in.items[1])->from, 2);
    assert_int_equal(graph_edge(graph, in.items[2])->kind, REQUISITE_LISTEN);
    assert_int_equal(graph_edges_to(graph, world_step(&world, "d")).count, 0);
    world_clear(&world);
}

static void dangling_and_ambiguous_references_are_reported_all_at_once(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "install_vnstat; b require=instal_vnstat",
          "E0401 no step named 'instal_vnstat' in this run; did you mean 'install_vnstat' (line "
          "1)?" },
        { "a require=zzzz; b watch=yyyy",
          "E0401 no step named 'zzzz' in this run\nE0401 no step named 'yyyy' in this run" },
        { "a require=nosuch:x", "E0401 no step with 'nosuch: x' in this run" },
        { "a mod=file id=/etc/motd; b require=file:/etc/mots",
          "E0401 no step with 'file: /etc/mots' in this run; did you mean '/etc/motd' (step '"
          "a', line 1)?" },
        { "a require=job:webb; job:web; b",
          "E0401 no job named 'webb' in this run; did you mean 'web'?" },
        { "a require=zz*", "E0401 no step named 'zz*' in this run" },
        { "a require_in=zzzz", "E0401 no step named 'zzzz' in this run" },
        { "a listen=zzzz", "E0401 no step named 'zzzz' in this run" },
        { "a use=zzzz", "E0401 no step named 'zzzz' in this run" },
        { "b require=a; job:web; a; job:www; a",
          "E0402 2 jobs have a step named 'a': 'web', 'www'; specify the job: 'web#a'" },
        { "b require=file:a; job:web; a mod=file; job:www; a mod=file",
          "E0402 2 jobs have a step named 'a': 'web', 'www'; specify the job: 'web#a'" },
        { "a require=zzzz,a", "E0401 no step named 'zzzz' in this run\n"
                              "E0403 circular requisites: 'a' -require-> 'a'; a step cannot "
                              "wait for itself" },
    };
    check_problems(cases, COUNT_OF(cases));
}

/* --- Cycles --------------------------------------------------------------------------------- */

static void cycles_are_errors_with_the_full_path(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a require=b; b require=a", "E0403 circular requisites: 'a' -require-> 'b' "
                                      "-require-> 'a'; remove this or the 'require' on line 1" },
        { "a watch=b; b onchanges=c; c onfail=d; d require_any=a",
          "E0403 circular requisites: 'a' -watch-> 'b' -onchanges-> 'c' -onfail-> 'd' "
          "-require_any-> 'a'; remove this, the 'onchanges' on line 1, the 'onfail' on line 1 or "
          "the 'require_any' on line 1" },
        { "a require_in=b; b require_in=a",
          "E0403 circular requisites: 'a' -require (written there as _in)-> 'b' -require "
          "(written there as _in)-> 'a'; remove this or the 'require_in' on line 1" },
        { "a prereq=b; b prereq=a", "E0403 circular requisites: 'a' <-prereq- 'b' <-prereq- "
                                    "'a'; remove this or the 'prereq' on line 1" },
        { "a prereq=a",
          "E0403 circular requisites: 'a' -prereq-> 'a'; a step cannot wait for itself" },
        { "a prereq=b require=b; b", "E0403 circular requisites: 'a' -require-> 'b' <-prereq- "
                                     "'a'; remove this or the 'prereq' on line 1" },
        { "a prereq=b; b require=c; c require=a",
          "E0403 circular requisites: 'a' -prereq-> 'b' -require-> 'c' -require-> 'a'; remove "
          "this, the 'require' on line 1 or the 'require' on line 1" },
        { "a prereq=b; b; c require=b require_in=a",
          "E0403 circular requisites: 'a' -require (written there as _in)-> 'c' -require-> "
          "'b' <-prereq- 'a'; remove this, the 'require' on line 1 or the 'prereq' on line 1" },
        { "a prereq=b; b prereq=c; c prereq=a",
          "E0403 circular requisites: 'a' <-prereq- 'c' <-prereq- 'b' <-prereq- 'a'; remove "
          "this, the 'prereq' on line 1 or the 'prereq' on line 1" },
        { "a mod=file use=b; b mod=file use=a", "E0404 circular 'use': 'a' -use-> 'b' -use-> "
                                                "'a'; remove this or the 'use' on line 1" },
        { "a mod=file use=a",
          "E0404 circular 'use': 'a' -use-> 'a'; a step cannot wait for itself" },
        { "a each=x,y require=a", "E0403 circular requisites: 'a[x]' -require-> 'a[y]' "
                                  "-require-> 'a[x]'; remove this" },
        { "a require=b; job:web; b require=main#a",
          "E0403 circular requisites: 'main#a' -require-> 'web#b' -require-> 'main#a'; remove "
          "this or the 'require' on line 1" },
        /* Each cycle is reported, by its shortest path. */
        { "a require=b; b require=a,c; c require=a; x require=y; y require=x",
          "E0403 circular requisites: 'a' -require-> 'b' -require-> 'a'; remove this or the "
          "'require' on line 1\nE0403 circular requisites: 'x' -require-> 'y' -require-> 'x'; "
          "remove this or the 'require' on line 1" },
    };
    check_problems(cases, COUNT_OF(cases));
}

static void listen_and_use_close_no_cycle_with_others(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a listen=b; b listen=a", "a b" },
        { "a listen=a", "a" },
        { "a require=b; b listen=a", "b a" },
        { "a mod=file require=b; b mod=file use=a", "b a" },
    };
    check_orders(cases, COUNT_OF(cases));
}

/* --- Claims ---------------------------------------------------------------------------------- */

static void steps_of_one_resource_keep_file_order(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a claims=path:/x; b claims=path:/y; c claims=path:/x", "c order a" },
        { "a claims=path:/x; b claims=path:/x; c claims=path:/x", "b order a, c order b" },
        { "a claims=path:/x,pkg:y; b claims=pkg:y,path:/x", "b order a" },
        { "a claims=path:/x/; b claims=path:/x", "b order a" },
        { "a claims=path:/x order=last; b claims=path:/x", "a order b" },
        /* A step that requires the later one comes after both. */
        { "x require=b; a claims=path:/p; b claims=path:/p", "x require b, b order a" },
        /* An explicit requisite takes precedence. */
        { "a claims=path:/x require=b; b claims=path:/x", "a require b, a order b" },
        { "a claims=path:/x require=c; b claims=path:/x; c claims=path:/x",
          "a require c, a order c, b order a" },
        { "a claims=path:/x prereq=b; b claims=path:/x", "a prereq b, b order a" },
        { "b claims=path:/x; a claims=path:/x prereq=b", "b order a, a prereq b" },
    };
    check_edges(cases, COUNT_OF(cases));
}

static void dependencies_precede_a_step(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "a claims=path:/x/y; b claims=path:/x", "a order b" },
        { "a claims=path:/x; b claims=path:/x/y", "b order a" },
        { "a claims=path:/x/y/z; b claims=path:/; c claims=path:/x",
          "a order c, a order b, c order b" },
        { "a claims=path:/xy; b claims=path:/x", "" },
        { "a claims=path:/x,needs:user:web,needs:group:www; b claims=user:web; c claims=group:www",
          "a order b, a order c" },
        { "a claims=needs:user:web", "" },
        /* Once it exists, file order applies: a directory is closed after its files. */
        { "a claims=path:/x; b claims=path:/x/y; c claims=path:/x",
          "b order a, c order a, c order b" },
        /* What removes it keeps file order. */
        { "a claims=path:/x/y; b claims=drops:path:/x", "b order a" },
        { "b claims=drops:path:/x; a claims=path:/x/y", "a order b" },
        { "a claims=path:/x; b claims=path:/x/y; c claims=drops:path:/x; d claims=path:/x; e "
          "claims=path:/x/y",
          "b order a, c order a, c order b, d order c, e order b, e order d" },
        { "a claims=path:/x/y; b claims=drops:path:/x; c claims=path:/x", "b order a, c order b" },
        { "a claims=path:/x/y; b claims=path:/x; c claims=drops:path:/x",
          "a order b, c order b, c order a" },
        /* Requisites take precedence here too. */
        { "a claims=path:/x/y; b claims=path:/x require=a", "b require a, b order a" },
    };
    check_edges(cases, COUNT_OF(cases));
}

static void implicit_edges_show_their_origin(void **state)
{
    (void)state;
    World world;
    const Graph *graph =
        world_make(&world, "a claims=path:/x; b claims=path:/x; c claims=path:/x/y");
    const Edge *edge = &graph_edges(graph, 1).items[0];
    assert_string_equal(edge_origin_name((EdgeOrigin)edge->origin), "claim");
    assert_str(edge->detail, "path:/x");
    edge = &graph_edges(graph, 2).items[0];
    assert_string_equal(edge_origin_name((EdgeOrigin)edge->origin), "need");
    assert_str(edge->detail, "path:/x");
    world_clear(&world);
}

/* --- Size ------------------------------------------------------------------------------------ */

/* A chain in which each step requires the one written after it, closed to a cycle if requested. */
static char *chain_text(uint32_t count, bool closed)
{
    char *text = malloc((size_t)count * 64);
    size_t len = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 < count || closed) {
            len += (size_t)sprintf(text + len, "s%u require=s%u\n", i, (i + 1) % count);
        } else {
            len += (size_t)sprintf(text + len, "s%u\n", i);
        }
    }
    return text;
}

static void long_chains_need_no_stack(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 1000, 20000 };
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        char *text = chain_text(counts[i], false);
        World world;
        const Graph *graph = world_make(&world, text);
        for (uint32_t j = 0; j < counts[i]; j++) {
            assert_int_equal(graph->order[j], counts[i] - 1 - j);
        }
        assert_int_equal(graph_critical_path(graph, &world.arena).count, counts[i]);
        world_clear(&world);
        free(text);
    }
}

static void a_long_cycle_is_shown_by_its_ends(void **state)
{
    (void)state;
    char *text = chain_text(20000, true);
    World world;
    world_init(&world);
    world_read(&world, str_from_c(text));
    assert_false(world_build(&world));
    assert_int_equal(world.problems.count, 1);
    Str message = world.problems.items[0].message;
    assert_true(str_starts(message, STR("circular requisites: 's0' -require-> 's1' -re")));
    assert_true(str_ends(message, STR(" -require-> 's19999' -require-> 's0'")));
    assert_true(str_find(message, STR(" more ... -require-> 's"), 0) != STR_NOT_FOUND);
    assert_true(message.len < PROBLEM_MESSAGE_MAX);
    world_clear(&world);
    free(text);
}

static void too_many_pairs_of_steps_are_rejected(void **state)
{
    (void)state;
    enum {
        COUNT = 1500
    };
    char *text = malloc(COUNT * 2 * 32);
    size_t len = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        len += (size_t)sprintf(text + len, "a%u require=job:b\n", i);
    }
    len += (size_t)sprintf(text + len, "job:b\n");
    for (uint32_t i = 0; i < COUNT; i++) {
        len += (size_t)sprintf(text + len, "b%u\n", i);
    }
    World world;
    world_init(&world);
    world_read(&world, str_from(text, len));
    assert_false(world_build(&world));
    assert_int_equal(world.problems.count, 1);
    assert_str(world.problems.items[0].code, "E0405");
    world_clear(&world);
    free(text);
}

/* Random requisites to earlier and later steps, but none against the rank, so that there is no
 * cycle; and claims. */
static void the_order_is_deterministic_and_valid(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 50; round++) {
        char text[20000];
        size_t len = 0;
        for (uint32_t i = 0; i < 100; i++) {
            seed = seed * 1664525u + 1013904223u;
            uint32_t hidden = (i * 37) % 100; /* the rank that requisites respect */
            len += (size_t)snprintf(text + len, sizeof text - len, "s%u claims=path:/%u", hidden,
                                    seed >> 28);
            /* A target of a prereq has no requisites, because they would precede the prereq's owner
             * too. */
            bool target = (seed >> 20 & 7) == 0;
            uint32_t requisites = target ? 1 : (seed >> 8) % 3;
            for (uint32_t j = 0; hidden > 0 && j < requisites; j++) {
                seed = seed * 1664525u + 1013904223u;
                len += (size_t)snprintf(text + len, sizeof text - len, " %s=s%u",
                                        target ? "prereq_in" : "require", (seed >> 16) % hidden);
            }
            len += (size_t)snprintf(text + len, sizeof text - len, "\n");
        }
        World first, second;
        world_make(&first, text);
        world_make(&second, text);
        assert_true(str_eq(order_of(&first), order_of(&second)));
        const Graph *graph = first.graph;
        for (uint32_t i = 0; i < graph->vertex_count; i++) {
            IndexSlice next = graph_next(graph, i);
            for (uint32_t j = 0; j < next.count; j++) {
                assert_true(graph->position[i] < graph->position[next.items[j]]);
            }
        }
        for (uint32_t i = 0; i < graph->edge_count; i++) {
            const Edge *edge = &graph->edges[i];
            bool before = graph->position[edge->to] < graph->position[edge->from];
            assert_true(before == (edge->kind != REQUISITE_PREREQ));
        }
        world_clear(&first);
        world_clear(&second);
    }
}

static void the_critical_path_is_the_costliest_chain(void **state)
{
    (void)state;
    World world;
    const Graph *graph = world_make(&world, "a; b require=a; c require=b; d mod=slow; e require=d; "
                                            "f require=c,e; g require=c");
    IndexSlice path = graph_critical_path(graph, &world.arena);
    assert_int_equal(path.count, 3);
    assert_int_equal(path.items[0], world_step(&world, "d"));
    assert_int_equal(path.items[1], world_step(&world, "e"));
    assert_int_equal(path.items[2], world_step(&world, "f"));
    world_clear(&world);
    graph = world_make(&world, "");
    assert_int_equal(graph_critical_path(graph, &world.arena).count, 0);
    world_clear(&world);
}

static void steps_are_found_by_id_and_by_unique_name(void **state)
{
    (void)state;
    World world;
    const Graph *graph = world_make(&world, "a; b; job:web; a; c");
    uint32_t step;
    assert_true(graph_find(graph, STR("web#a"), &step));
    assert_int_equal(step, 2);
    assert_true(graph_find(graph, STR("c"), &step));
    assert_int_equal(step, 3);
    assert_false(graph_find(graph, STR("a"), &step));
    assert_false(graph_find(graph, STR("z"), &step));
    assert_str(graph_step_label(graph, 0, 1), "a");
    assert_str(graph_step_label(graph, 2, 1), "web#a");
    world_clear(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requisites_sort_before_order_and_file),
        cmocka_unit_test(a_prereq_runs_between_the_check_of_its_target_and_the_target),
        cmocka_unit_test(references_find_steps_by_name_id_and_job),
        cmocka_unit_test(each_kind_has_its_reversed_form),
        cmocka_unit_test(equal_edges_are_merged_and_forms_are_distinguished),
        cmocka_unit_test(edges_are_found_from_both_ends),
        cmocka_unit_test(dangling_and_ambiguous_references_are_reported_all_at_once),
        cmocka_unit_test(cycles_are_errors_with_the_full_path),
        cmocka_unit_test(listen_and_use_close_no_cycle_with_others),
        cmocka_unit_test(steps_of_one_resource_keep_file_order),
        cmocka_unit_test(dependencies_precede_a_step),
        cmocka_unit_test(implicit_edges_show_their_origin),
        cmocka_unit_test(long_chains_need_no_stack),
        cmocka_unit_test(a_long_cycle_is_shown_by_its_ends),
        cmocka_unit_test(too_many_pairs_of_steps_are_rejected),
        cmocka_unit_test(the_order_is_deterministic_and_valid),
        cmocka_unit_test(the_critical_path_is_the_costliest_chain),
        cmocka_unit_test(steps_are_found_by_id_and_by_unique_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
