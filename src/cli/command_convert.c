/* eden convert: YAML to JSON and back. */
#include "cli/output.h"

static int convert_run(Invocation *invocation)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    List *documents;
    return inputs_load_all(&inputs, invocation->args[0], INPUT_TAKEN, &documents)
               ? output_documents(&inputs, invocation, documents)
               : inputs_report(&inputs, invocation);
}

static const Option options[] = {
    OUTPUT_OPTION("json|yaml", "json", "what to convert to"),
    { 0 },
};

static const Example examples[] = {
    { "eden convert site.yaml -o json", "aliases and merge keys resolved, order kept" },
    { "eden convert facts.json -o yaml", "the way back" },
    { "kubectl get nodes -o json | eden convert - -o yaml", "from a pipe; JSON is YAML too" },
    { 0 },
};

const Command command_convert = {
    .name = "convert",
    .group = GROUP_AUTHOR,
    .args = { { "FILE", WORD_FILE } },
    .help = "Convert YAML to JSON, or JSON to YAML.",
    .text =
        "FILE is YAML, or JSON if its name ends in .json; '-' is standard input. Several YAML\n"
        "documents become several JSON values, one after the other, and the other way round.\n"
        "\n"
        "YAML output keeps the tag '!secret'; JSON has no form for it, so the mark is lost there.\n"
        "Other tags that eden does not know are dropped with a warning. A map with both 1 and\n"
        "'1' as keys cannot become JSON, where all keys are text.",
    .options = options,
    .examples = examples,
    .run = convert_run,
};
