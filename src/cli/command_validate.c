/* eden validate: is it YAML? All problems of all files at once. */
#include <stdio.h>

#include "cli/inputs.h"
#include "lang/json.h"
#include "lang/yaml.h"
#include "sys/file.h"

enum {
    FILES_MAX = 60000
};

static void validate_file(Inputs *inputs, const char *path)
{
    uint16_t id = inputs_read(inputs, path);
    if (id == SOURCE_NONE) {
        return;
    }
    if (str_ends(str_from_c(path), STR(".json"))) {
        Value value;
        (void)!json_parse(inputs->arena, &inputs->sources, id, NULL, &value, &inputs->problems);
        return;
    }
    List *documents;
    YamlOptions options = yaml_options_default;
    options.lint = true;
    (void)!yaml_load_all(inputs->arena, &inputs->sources, id, &options, &documents,
                         &inputs->problems);
}

static int validate_run(Invocation *invocation)
{
    static const char *const suffixes[] = { ".yaml", ".yml", ".json", NULL };
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    uint32_t count = 0;
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        const char *path = invocation->args[i];
        if (!file_is_directory(path)) {
            validate_file(&inputs, path);
            count++;
            continue;
        }
        FileList files;
        Error err;
        if (!file_list(invocation->arena, path, suffixes, FILES_MAX, &files, &err)) {
            problems_add(&inputs.problems, "E0001", NULL, 0, 0, "%s", err.text);
            continue;
        }
        for (uint32_t file = 0; file < files.count; file++) {
            validate_file(&inputs, files.paths[file].data);
        }
        count += files.count;
    }
    bool json = strcmp(invocation_text(invocation, "output"), "json") == 0;
    if (inputs.problems.count == 0 && json) {
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        problems_print_json(&inputs.problems, &out);
        fwrite(out.data, 1, out.len, stdout);
        return count == 0 ? EXIT_NOT_MATCHED : EXIT_OK;
    }
    int code = inputs_report(&inputs, invocation);
    if (count == 0 && code == EXIT_OK) {
        fprintf(stderr, "eden validate: no .yaml, .yml or .json files there\n");
        return EXIT_NOT_MATCHED;
    }
    if (code == EXIT_OK && !json) {
        printf("%u %s ok\n", count, count == 1 ? "file" : "files");
    }
    return code;
}

static const Option options[] = {
    { .name = "output",
      .letter = 'o',
      .argument = "FORMAT",
      .choices = "text|json",
      .fallback = "text",
      .help = "json: {\"format\": \"eden.problems/1\", \"problems\": [...]}" },
    { 0 },
};

static const Example examples[] = {
    { "eden validate site/", "every .yaml, .yml and .json file below" },
    { "eden validate jobs/base.yaml -o json", "problems for another program" },
    { 0 },
};

const Command command_validate = {
    .name = "validate",
    .args = "PATH...",
    .args_min = 1,
    .args_max = UINT32_MAX,
    .word = WORD_FILE,
    .help = "Check files and say all that is wrong with them.",
    .text = "Directories are searched for .yaml, .yml and .json files.",
    .options = options,
    .examples = examples,
    .run = validate_run,
};
