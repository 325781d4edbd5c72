/* eden why: explains why a step ran, was skipped or was blocked, and where its values came from. */
#include "base/suggest.h"
#include "base/visible.h"
#include "cli/output.h"
#include "cli/record_input.h"
#include "cli/why.h"

static bool has_text(const Value *v, Str text)
{
    return v != NULL && v->kind == VALUE_STRING && str_eq(value_str(*v), text);
}

/* Whether the name refers to this step: a step of that name in any job, an instance of forEach, or
 * a step that manages a resource of that name. */
static bool is_match(const Step *step, Value recorded, Str name)
{
    if (str_eq(step->name, name) || (str_starts(step->name, name) && step->name.len > name.len &&
                                     step->name.data[name.len] == '[')) {
        return true;
    }
    const Value *values = value_get(recorded, STR("values"));
    const Value *params = value_get(recorded, STR("params"));
    const Value *param = params == NULL ? NULL : value_get(*params, STR("name"));
    return (values != NULL && has_text(value_get(*values, STR("name")), name)) ||
           (param != NULL && has_text(value_get(*param, STR("value")), name));
}

static int report_missing(Invocation *invocation, const Recorded *recorded, const Graph *graph,
                          Str name)
{
    enum {
        MATCHES_MAX = 200
    };
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    Suggest suggest = suggest_make(name);
    Buf matches = buf_make_in(invocation->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        const Step *step = graph_step(graph, i);
        suggest_offer(&suggest, step->name);
        if (matches.len < MATCHES_MAX && is_match(step, recorded->steps[i].value, name)) {
            buf_put_format(&matches, "%s'%" STR_FMT "'", matches.len == 0 ? "" : ", ",
                           STR_ARG(step->id));
        }
    }
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        suggest_offer(&suggest, graph_step(graph, i)->id);
    }
    Str suggestion;
    if (matches.len > 0) {
        Problem *problem = problems_add(&inputs.problems, "E0722", NULL, 0, 0,
                                        "'%" STR_FMT "' matches more than one step", STR_ARG(name));
        problem->hint =
            arena_format(invocation->arena, "use %" STR_FMT, STR_ARG(buf_str(&matches)));
    } else {
        Problem *problem = problems_add(&inputs.problems, "E0722", NULL, 0, 0,
                                        "the run has no step '%" STR_FMT "'", STR_ARG(name));
        if (suggest_found(&suggest, &suggestion)) {
            problem->hint = arena_format(invocation->arena, "did you mean '%" STR_FMT "'?",
                                         STR_ARG(suggestion));
        }
    }
    (void)inputs_report(&inputs, invocation);
    return EXIT_NOT_MATCHED;
}

static int print_run(Invocation *invocation, const Recorded *recorded)
{
    Value why = why_run_value(recorded, invocation->arena);
    if (invocation_prints(invocation, "json")) {
        return output_json(invocation, why);
    }
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    why_run_print(why, &text);
    stream_put(invocation->out, buf_str(&text));
    return EXIT_OK;
}

static int why_run(Invocation *invocation)
{
    Recorded recorded;
    int code;
    if (!record_input_run(invocation, invocation_text(invocation, "run"), &recorded, &code)) {
        return code;
    }
    if (invocation->arg_count == 0) {
        return print_run(invocation, &recorded);
    }
    const Graph *graph = recorded.recording.graph;
    Str name = str_from_c(invocation->args[0]);
    uint32_t step;
    if (!graph_find(graph, name, &step)) {
        return report_missing(invocation, &recorded, graph, name);
    }
    Value why = why_value(&recorded, step, invocation->arena);
    if (invocation_prints(invocation, "json")) {
        return output_json(invocation, why);
    }
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    why_print(why, &text);
    buf_put(&text, STR("\nrecord: "));
    visible_put(&text, record_input_path(invocation, &recorded));
    buf_put_char(&text, '\n');
    stream_put(invocation->out, buf_str(&text));
    return EXIT_OK;
}

static const Option options[] = {
    { .name = "run",
      .argument = "ID",
      .help = "run ID, or a unique prefix of it; default: the last run" },
    RECORD_OPTIONS,
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden why", "show what went wrong in the last run, and the root causes" },
    { "eden why greet", "show what happened to a step in the last run, and why" },
    { "eden why 'greet#greet' --run 20260131T08", "select a step by ID, in an earlier run" },
    { "eden why greet -o json", "print JSON, for scripts" },
    { 0 },
};

const Command command_why = {
    .name = "why",
    .group = GROUP_OPERATE,
    .args = { { "[STEP]" } },
    .help = "Explain why a step ran, was skipped or was blocked.",
    .text =
        "STEP is a step name or a step ID (JOB#NAME). The explanation is based only on the run's\n"
        "record. It includes the chain of causes down to the root cause, the results of\n"
        "conditions, the step's dependencies and changes, and where the value of each parameter\n"
        "was defined. For variables, 'eden vars why' shows more.\n"
        "\n"
        "Without STEP, lists the steps that failed, were blocked or were still waiting, each\n"
        "with its root cause. 'eden runs --local' lists recorded runs.",
    .options = options,
    .examples = examples,
    .run = why_run,
};
