#include "model/replay.h"

#include "model/steps_text.h"

/* A run recorded while it is decided: every action finds what `observation` specifies for its step. */
typedef struct Made {
    World world;
    Recording recording;
    Turns turns;
    StepStatus *results;
} Made;

/* "a=changed b=failed": the result of each step's action. */
static Observation seen_of(const char *seen, Str name)
{
    Str rest = str_from_c(seen), word;
    Observation observed = { 0 };
    while (str_split_next(&rest, ' ', &word)) {
        if (str_starts(word, name) && word.len > name.len && word.data[name.len] == '=') {
            Str what = str_from_offset(word, name.len + 1);
            observed.changed = str_eq(what, STR("changed"));
            observed.failed = str_eq(what, STR("failed"));
        }
    }
    return observed;
}

static void make(Made *made, const char *steps, const char *seen)
{
    *made = (Made){ 0 };
    const Graph *graph = world_make(&made->world, steps);
    Arena *arena = &made->world.arena;
    Schedule *schedule = schedule_new(arena, graph, MODE_ANSIBLE, 1);
    made->results = arena_alloc_zero(arena, graph->steps.count * sizeof(StepStatus));
    for (Work work; schedule_next(schedule, &work);) {
        Turn turn = { .work = work, .decided = true, .end = TURN_ENDED };
        StepStatus *status = &made->results[work.step];
        turn.decision = decide(graph, work, schedule_statuses(schedule), false, arena);
        if (turn.decision.kind != DECIDE_RUN) {
            conclude_not_run(status, work.phase, conclude_decision(turn.decision.kind));
        } else {
            turn.has_observation = true;
            turn.observation = seen_of(seen, graph_step(graph, work.step)->name);
            conclude_observation(status, work.phase, turn.observation, false);
            if (turn.observation.failed) {
                conclude_failed(status, work.phase);
            } else {
                conclude_success(status, work.phase);
            }
        }
        turn.status = *status;
        VEC_PUSH(arena, &made->turns.list, turn);
        schedule_done(schedule, work, status);
    }
    assert_true(schedule_is_finished(schedule));
    made->recording = (Recording){ .graph = graph,
                                   .order = MODE_ANSIBLE,
                                   .workers = 1,
                                   .turns = &made->turns,
                                   .results = made->results };
}

static const char site[] = "a; b require=a; c onchanges=a; d require=e; e; f prereq=a; g listen=a";
static const char seen[] = "a=changed e=failed";

static void a_recorded_run_agrees(void **state)
{
    Made made;
    make(&made, site, seen);
    Replay replay = replay_run(&made.recording, &made.world.arena);
    assert_str(replay.difference, "");
    assert_false(replay.differs);
    assert_int_equal(replay.decisions, 9); /* seven steps, a's check, g's reaction */
    world_clear(&made.world);
}

static Turn *turn_of(Made *made, const char *name, WorkPhase phase)
{
    uint32_t step = world_step(&made->world, name);
    for (uint32_t i = 0; i < made->turns.list.len; i++) {
        Turn *turn = &made->turns.list.items[i];
        if (turn->work.step == step && turn->work.phase == phase) {
            return turn;
        }
    }
    fail();
    return NULL;
}

static void assert_differs(Made *made, const char *name, const char *part)
{
    Replay replay = replay_run(&made->recording, &made->world.arena);
    assert_true(replay.differs);
    assert_str(graph_step(made->recording.graph, replay.step)->name, name);
    if (str_find(replay.difference, str_from_c(part), 0) == STR_NOT_FOUND) {
        print_error("%" STR_FMT "\n", STR_ARG(replay.difference));
        fail();
    }
    world_clear(&made->world);
}

static void observations_must_match_the_result(void **state)
{
    Made made;
    make(&made, site, seen);
    turn_of(&made, "e", PHASE_RUN)->observation.failed = false;
    assert_differs(&made, "e", "recorded: failed; what was observed results in: ok");
}

static void a_result_must_match_later_decisions(void **state)
{
    Made made;
    make(&made, site, seen);
    turn_of(&made, "e", PHASE_RUN)->observation.failed = false;
    turn_of(&made, "e", PHASE_RUN)->status.result = RESULT_OK;
    assert_differs(&made, "d", "recorded: block, requires 'e', which failed");
}

static void a_check_counts_too(void **state)
{
    Made made;
    make(&made, site, seen);
    turn_of(&made, "a", PHASE_CHECK)->observation.changed = false;
    assert_differs(&made, "a", "recorded: changed");
}

static void owed_actions_are_included(void **state)
{
    Made made;
    make(&made, site, seen);
    uint16_t owed[7] = { [4] = 1 << REQUISITE_WATCH };
    made.recording.owed = owed;
    assert_differs(&made, "e", "decided now: run and react, owed from an earlier run");
}

static void a_truncated_record_is_reported(void **state)
{
    Made made;
    make(&made, site, seen);
    made.turns.list.len--;
    assert_differs(&made, "g", "now: the react of 'main#g' comes next");
}

static void turns_of_steps_that_did_not_run_are_reported(void **state)
{
    static const TurnKind kinds[] = { TURN_FINISH, TURN_WAKE, TURN_GIVE_UP };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        Made made;
        make(&made, site, seen);
        turn_of(&made, "b", PHASE_RUN)->kind = kinds[i];
        assert_differs(&made, "b", turn_kind_name(kinds[i]));
    }
}

/* --- Graphs from their parts ----------------------------------------------------------------- */

static GraphParts parts_of(const Graph *graph)
{
    return (GraphParts){ .steps = graph->steps,
                         .edges = graph->edges,
                         .edge_count = graph->edge_count,
                         .vertex_count = graph->vertex_count,
                         .next_start = graph->next_start,
                         .next = graph->next,
                         .order = graph->order,
                         .order_count = graph->vertex_count };
}

static void a_graph_can_be_reassembled(void **state)
{
    Made made;
    make(&made, site, seen);
    GraphParts parts = parts_of(made.recording.graph);
    Graph *graph;
    Error err;
    assert_true(graph_restore(&made.world.arena, &parts, &graph, &err));
    made.recording.graph = graph;
    Replay replay = replay_run(&made.recording, &made.world.arena);
    assert_false(replay.differs);
    world_clear(&made.world);
}

static void assert_refused(World *world, const GraphParts *parts, const char *text)
{
    Graph *graph;
    Error err;
    assert_false(graph_restore(&world->arena, parts, &graph, &err));
    assert_string_equal(err.text, text);
}

static void mismatched_parts_are_rejected(void **state)
{
    World world;
    const Graph *graph = world_make(&world, "a; b require=a; c require=b");
    GraphParts parts = parts_of(graph);
    parts.order_count = 2;
    assert_refused(&world, &parts, "the graph is corrupted: length of the order 2");
    parts = parts_of(graph);
    parts.vertex_count = 4;
    assert_refused(&world, &parts, "the graph is corrupted: number of vertices 4");
    uint32_t twice[] = { 0, 0, 1 };
    parts = parts_of(graph);
    parts.order = twice;
    assert_refused(&world, &parts, "the graph is corrupted: position in the order 2");
    uint32_t backwards[] = { 2, 1, 0 };
    parts.order = backwards;
    assert_refused(&world, &parts, "the graph is corrupted: successor of vertex 1");
    Edge edges[] = { { .from = 1, .to = 3 } };
    parts = parts_of(graph);
    parts.edges = edges;
    parts.edge_count = 1;
    assert_refused(&world, &parts, "the graph is corrupted: edge 1");
    world_clear(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_run_agrees),
        cmocka_unit_test(observations_must_match_the_result),
        cmocka_unit_test(a_result_must_match_later_decisions),
        cmocka_unit_test(a_check_counts_too),
        cmocka_unit_test(owed_actions_are_included),
        cmocka_unit_test(a_truncated_record_is_reported),
        cmocka_unit_test(turns_of_steps_that_did_not_run_are_reported),
        cmocka_unit_test(a_graph_can_be_reassembled),
        cmocka_unit_test(mismatched_parts_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
