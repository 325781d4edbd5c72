/* eden graph: shows the dependencies of steps. */
#include "base/bug.h"
#include "cli/run_command.h"
#include "model/graph_print.h"

static int graph_run(Invocation *invocation)
{
    RunConfig config;
    GraphFormat format;
    if (!run_config_get(invocation, &config)) {
        return EXIT_USAGE;
    }
    bool known = graph_format_from_name(str_from_c(invocation_text(invocation, "output")), &format);
    BUG_IF(!known);
    config.planning = true;
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    AUTO(Run) *run = NULL;
    if (!run_load(invocation->arena, &config, &inputs.sources, &inputs.problems, &run)) {
        return inputs_report(&inputs, invocation);
    }
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    graph_print(run_graph(run), format, invocation_flag(invocation, "verbose"), invocation->arena,
                &text);
    stream_put(invocation->out, buf_str(&text));
    (void)inputs_report(&inputs, invocation);
    if (run_steps(run)->count == 0) {
        stream_put_format(invocation->err,
                          "eden: '%s' has no steps for this node ('%" STR_FMT "')\n", config.path,
                          STR_ARG(run_node(run)->name));
        return EXIT_NOT_MATCHED;
    }
    return EXIT_OK;
}

static const Option options[] = {
    SITE_OPTIONS("also show where steps and requisites are defined"),
    OUTPUT_OPTION("tree|dot|svg|json", "tree", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden graph site/", "show the order of a run and the reasons for it" },
    { "eden graph site/ --verbose", "also show where each requisite is defined" },
    { "eden graph site/ -o svg > site.svg", "draw the graph" },
    { "eden graph site/ --label role=web -o dot | dot -Tpdf > web.pdf",
      "draw the graph with Graphviz" },
    { 0 },
};

const Command command_graph = {
    .name = "graph",
    .group = GROUP_AUTHOR,
    .args = { { "PATH", WORD_FILE } },
    .help = "Show the dependencies between steps.",
    .text = "PATH is a site or a single file of steps. Shows this node's steps in the order of a\n"
            "sequential run. Below each step are its dependencies: explicit requisites, and\n"
            "implicit ones derived from step results, from resources that several steps manage,\n"
            "and from directories and owners that must exist first. The critical path, which is\n"
            "the longest chain, is marked. Nothing is checked or changed.",
    .options = options,
    .examples = examples,
    .run = graph_run,
};
