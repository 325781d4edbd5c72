/* eden validate: is it YAML? All problems of all files at once. */
#include "cli/hide.h"
#include "cli/inputs.h"
#include "sys/file.h"

enum {
    FILES_MAX = 60000
};

static void validate_file(Inputs *inputs, const char *path)
{
    List *documents;
    (void)!inputs_load_all(inputs, path, INPUT_CHECKED, &documents);
}

/* Returns how many files it looked at. */
static uint32_t validate_path(Inputs *inputs, const char *path)
{
    static const char *const suffixes[] = { ".yaml", ".yml", ".json", NULL };
    if (!file_is_directory(path)) {
        validate_file(inputs, path);
        return 1;
    }
    FileList files;
    Error err;
    if (!file_list(inputs->arena, path, suffixes, FILES_MAX, &files, &err)) {
        inputs_add_file_error(inputs, &err);
        return 0;
    }
    for (uint32_t i = 0; i < files.count; i++) {
        validate_file(inputs, files.paths[i].data);
    }
    return files.count;
}

static int validate_run(Invocation *invocation)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    uint32_t count = 0;
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        count += validate_path(&inputs, invocation->args[i]);
    }
    int code;
    if (invocation_prints(invocation, "json")) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        hide_secrets(&inputs.problems, &inputs.sources);
        problems_print_json(&inputs.problems, &text);
        stream_put(invocation->out, buf_str(&text));
        code = inputs.problems.errors > 0 ? EXIT_FAILED : EXIT_OK;
    } else {
        code = inputs_report(&inputs, invocation);
    }
    if (code == EXIT_OK && count == 0) {
        stream_put_format(invocation->err, "eden validate: no .yaml, .yml or .json files there\n");
        return EXIT_NOT_MATCHED;
    }
    if (code == EXIT_OK && invocation_prints(invocation, "text")) {
        stream_put_format(invocation->out, "%u %s ok\n", count, count == 1 ? "file" : "files");
    }
    return code;
}

static const Option options[] = {
    { .name = "output",
      .letter = 'o',
      .argument = "FORMAT",
      .choices = "text|json",
      .fallback = "text",
      .help = "how to print the problems" },
    { 0 },
};

static const Example examples[] = {
    { "eden validate site/", "every .yaml, .yml and .json file below" },
    { "eden validate jobs/base.yaml -o json", "problems for another program" },
    { 0 },
};

const Command command_validate = {
    .name = "validate",
    .group = GROUP_AUTHOR,
    .args = "PATH...",
    .args_min = 1,
    .args_max = UINT32_MAX,
    .word = WORD_FILE,
    .help = "Check files and say all that is wrong with them.",
    .text =
        "Directories are searched for .yaml, .yml and .json files; hidden ones are left out. "
        "Hints\n"
        "about words and numbers that other readers of YAML take for something else do not fail\n"
        "the check.",
    .options = options,
    .examples = examples,
    .run = validate_run,
};
