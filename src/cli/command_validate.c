/* eden validate: checks sites, YAML, JSON and templates, and reports all problems of all files. */
#include "base/visible.h"
#include "cli/hide.h"
#include "cli/validation.h"
#include "run/node_paths.h"

static void print_skipped(const Validation *validation, const Invocation *invocation)
{
    if (validation->skipped_count == 0 || !invocation_prints(invocation, "text")) {
        return;
    }
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "skipped %u %s that are not YAML, JSON or templates by file name:",
                   validation->skipped_count, validation->skipped_count == 1 ? "file" : "files");
    for (uint32_t i = 0; i < validation->skipped_count && i < VALIDATION_SKIPPED_MAX; i++) {
        buf_put_c(&text, i == 0 ? " " : ", ");
        visible_put(&text, validation->skipped[i]);
    }
    buf_put_c(&text, validation->skipped_count > VALIDATION_SKIPPED_MAX ? ", ...\n" : "\n");
    stream_put(invocation->err, buf_str(&text));
}

static int report_json(Validation *validation, const Invocation *invocation)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Problems *problems = &validation->inputs.problems;
    problems_sort(problems);
    hide_secrets(problems, &validation->inputs.sources);
    problems_print_json(problems, &text);
    stream_put(invocation->out, buf_str(&text));
    return problems->errors > 0 ? EXIT_FAILED : EXIT_OK;
}

static int validate_run(Invocation *invocation)
{
    Validation validation = { .trust = node_trust_path(invocation_text(invocation, "config-dir")) };
    inputs_init(&validation.inputs, invocation->arena);
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        validation_check(&validation, invocation->args[i]);
    }
    int code = invocation_prints(invocation, "json")
                   ? report_json(&validation, invocation)
                   : inputs_report(&validation.inputs, invocation);
    print_skipped(&validation, invocation);
    if (code == EXIT_OK && validation.count == 0) {
        stream_put_format(invocation->err,
                          "eden validate: no YAML, JSON or template files found\n");
        return EXIT_NOT_MATCHED;
    }
    if (code == EXIT_OK && invocation_prints(invocation, "text")) {
        stream_put_format(invocation->out, "%u %s ok", validation.count,
                          validation.count == 1 ? "file" : "files");
        if (validation.data_count > 0) {
            stream_put_format(invocation->out, " (%u as data: without 'steps')",
                              validation.data_count);
        }
        stream_put_format(invocation->out, "\n");
    }
    return code;
}

static const Option options[] = {
    { .name = "config-dir",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "configuration directory with trusted-keys/ for modules; default: /etc/eden" },
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden validate site/", "check every YAML, JSON and template file in a directory" },
    { "eden validate jobs/base.yaml -o json", "print problems as JSON" },
    { 0 },
};

const Command command_validate = {
    .name = "validate",
    .group = GROUP_AUTHOR,
    .args = { { "PATH...", WORD_FILE } },
    .help = "Check files and report all problems.",
    .text =
        "A directory with jobs/base.yaml is a site: all of its documents are checked strictly,\n"
        "including every action, parameter, selector, name and reference, whether or not a node\n"
        "uses them. A single file of a site, such as site/jobs/base.yaml or a file of steps, is\n"
        "checked as the kind of document that its location in the site implies. A variable that\n"
        "no file of the site defines is a warning, because a node or the command line may define\n"
        "it. Modules of the site that this machine trusts are run to determine which actions they\n"
        "provide; others are not run.\n"
        "\n"
        "Other directories are searched for YAML and JSON (.yaml, .yml, .json) and templates\n"
        "(.j2, .jinja, .jinja2, and Salt's .sls); hidden files are ignored, other files are\n"
        "reported as skipped. Templates are compiled but not rendered: syntax errors and unknown\n"
        "filters are found, but undefined variables and missing includes are not. Hints about\n"
        "words and numbers that other YAML parsers interpret differently do not fail the check.",
    .options = options,
    .examples = examples,
    .run = validate_run,
};
