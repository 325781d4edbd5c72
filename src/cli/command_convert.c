/* eden convert: YAML to JSON and back. */
#include "cli/inputs.h"
#include "cli/output.h"
#include "lang/json.h"
#include "lang/yaml.h"

static int convert_run(Invocation *invocation)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    const char *path = invocation->args[0];
    uint16_t id = inputs_read(&inputs, path);
    if (id == SOURCE_NONE) {
        return inputs_report(&inputs, invocation);
    }
    List *documents = list_new(invocation->arena, 1);
    bool ok;
    if (str_ends(str_from_c(path), STR(".json"))) {
        Value value;
        ok = json_parse(invocation->arena, &inputs.sources, id, NULL, &value, &inputs.problems);
        list_push(invocation->arena, documents, value);
    } else {
        ok = yaml_load_all(invocation->arena, &inputs.sources, id, NULL, &documents,
                           &inputs.problems);
    }
    return ok ? output_documents(&inputs, invocation, documents)
              : inputs_report(&inputs, invocation);
}

static const Option options[] = {
    { .name = "output",
      .letter = 'o',
      .argument = "FORMAT",
      .choices = "json|yaml",
      .fallback = "json",
      .help = "what to convert to" },
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
    .args = "FILE",
    .args_min = 1,
    .args_max = 1,
    .word = WORD_FILE,
    .help = "Convert YAML to JSON, or JSON to YAML.",
    .text = "Several YAML documents become several JSON values, one after the other.",
    .options = options,
    .examples = examples,
    .run = convert_run,
};
