/* eden convert: converts between YAML and JSON. */
#include "cli/output.h"

static int convert_run(Invocation *invocation)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    List *documents;
    return inputs_load_all(&inputs, invocation->args[0], INPUT_LENIENT, &documents)
               ? output_documents(&inputs, invocation, documents)
               : inputs_report(&inputs, invocation);
}

static const Option options[] = {
    OUTPUT_OPTION("json|yaml", "json", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden convert site.yaml -o json", "resolve aliases and merge keys, preserve order" },
    { "eden convert facts.json -o yaml", "convert back" },
    { "kubectl get nodes -o json | eden convert - -o yaml", "read from a pipe; JSON is also YAML" },
    { 0 },
};

const Command command_convert = {
    .name = "convert",
    .group = GROUP_AUTHOR,
    .args = { { "FILE", WORD_FILE } },
    .help = "Convert YAML to JSON, or JSON to YAML.",
    .text =
        "FILE is YAML, or JSON if its name ends in .json; '-' reads standard input. Multiple\n"
        "YAML documents are converted to a sequence of JSON values, and vice versa.\n"
        "\n"
        "YAML output preserves the tag '!secret'; JSON cannot represent it, so it is dropped.\n"
        "Unknown tags are dropped with a warning. A map that has both 1 and '1' as keys cannot\n"
        "be converted to JSON, where all keys are strings.",
    .options = options,
    .examples = examples,
    .run = convert_run,
};
