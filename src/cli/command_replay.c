/* eden replay: repeats the decisions of a recorded run. */
#include "base/visible.h"
#include "cli/output.h"
#include "cli/record_input.h"

static Str run_id(const Recorded *recorded)
{
    const Value *id = value_get(recorded->value, STR("run"));
    return id != NULL && value_is_string(*id) ? value_str(*id) : STR("?");
}

static void print_json(const Invocation *invocation, const Recorded *recorded, const Replay *replay)
{
    Arena *arena = invocation->arena;
    const Graph *graph = recorded->recording.graph;
    Map *map = map_new(arena, 8);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.replay/1")));
    map_set_str(arena, map, STR("run"), value_string(run_id(recorded)));
    map_set_str(arena, map, STR("agrees"), value_bool(!replay->differs));
    map_set_str(arena, map, STR("steps"), value_int(graph->steps.count));
    map_set_str(arena, map, STR("decisions"), value_int(replay->decisions));
    map_set_str(arena, map, STR("turns"), value_int(replay->turns));
    if (replay->differs) {
        map_set_str(arena, map, STR("step"), value_string(graph_step(graph, replay->step)->id));
        map_set_str(arena, map, STR("difference"), value_string(replay->difference));
    }
    (void)output_json(invocation, value_map(map));
}

static void print_text(const Invocation *invocation, const Recorded *recorded, const Replay *replay)
{
    const Graph *graph = recorded->recording.graph;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put(&text, STR("run "));
    visible_put(&text, run_id(recorded));
    if (replay->differs) {
        buf_put_format(&text, ": differs at decision %u, iteration %u\n  ", replay->decisions,
                       replay->turns);
        visible_put(&text, graph_step(graph, replay->step)->id);
        buf_put(&text, STR("\n  "));
        visible_put(&text, replay->difference);
        buf_put_char(&text, '\n');
    } else {
        Arena *arena = invocation->arena;
        buf_put_format(&text, ": compared %" STR_FMT " about %" STR_FMT ", no differences\n",
                       STR_ARG(output_count(arena, replay->decisions, "decision", "decisions")),
                       STR_ARG(output_count(arena, graph->steps.count, "step", "steps")));
    }
    stream_put(invocation->out, buf_str(&text));
}

/* Run ids contain no '/' and do not end in ".json". */
static bool is_file(const char *name)
{
    return strchr(name, '/') != NULL || str_ends(str_from_c(name), STR(".json"));
}

static int replay_command(Invocation *invocation)
{
    const char *name = invocation->arg_count > 0 ? invocation->args[0] : NULL;
    Recorded recorded;
    int code;
    if (name != NULL && is_file(name) ? !record_input_file(invocation, name, &recorded, &code)
                                      : !record_input_run(invocation, name, &recorded, &code)) {
        return code;
    }
    Replay replay = replay_run(&recorded.recording, invocation->arena);
    if (invocation_prints(invocation, "json")) {
        print_json(invocation, &recorded, &replay);
    } else {
        print_text(invocation, &recorded, &replay);
    }
    return replay.differs ? EXIT_FAILED : EXIT_OK;
}

static const Option options[] = {
    RECORD_OPTIONS,
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden replay", "replay the last run on this node" },
    { "eden replay 20260131T08 -o json", "replay a run by a prefix of its ID" },
    { "eden replay ./record.json", "replay a record copied from another machine" },
    { 0 },
};

const Command command_replay = {
    .name = "replay",
    .group = GROUP_OPERATE,
    .args = { { "[FILE|RUN]", WORD_FILE } },
    .help = "Replay the decisions of a recorded run and compare them.",
    .text =
        "Every apply records the site's digest, facts, variables, the step graph, the results of\n"
        "conditions and checks, and the decisions based on them. Replay uses only this record,\n"
        "so it works on any machine. It repeats the decision for every step and prints the\n"
        "number of decisions compared, or the first one that differs (exit code 1).\n"
        "\n"
        "RUN is a run ID or a unique prefix of it; default: the last run. An argument that\n"
        "contains a slash or ends in '.json' is a file name.",
    .options = options,
    .examples = examples,
    .run = replay_command,
};
