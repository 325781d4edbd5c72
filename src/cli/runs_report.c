#include "cli/runs_verbs.h"

#include "cli/daemon_command.h"
#include "cli/fleet_run.h"
#include "cli/matrix_fetch.h"
#include "cli/output.h"
#include "sys/file.h"

/* The default of -o for the whole command is a table; for this verb, it is an HTML page. */
static bool is_format(const char *name)
{
    static const char *const names[] = { "table", "html", "junit", "json" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void print(const Invocation *invocation, const FleetReport *report, Buf *out)
{
    if (invocation_prints(invocation, "junit")) {
        fleet_report_junit(report, out);
    } else if (invocation_prints(invocation, "json")) {
        fleet_report_json(report, out);
    } else {
        fleet_report_html(report, out);
    }
}

static int write_report(Invocation *invocation, Str text)
{
    const char *path = invocation_text(invocation, "out");
    Error err;
    if (path == NULL || strcmp(path, "-") == 0) {
        output_text(invocation->out, text);
        return EXIT_OK;
    }
    return file_write_atomic(path, text, &err) ? EXIT_OK
                                               : daemon_command_fail(invocation, "E0883", &err);
}

int runs_report_run(Invocation *invocation)
{
    AUTO_CLEAR(RunMatrix) matrix = { 0 };
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    FleetReport report;
    Value run;
    if (!is_format(invocation_text(invocation, "output"))) {
        return usage_error(invocation, "report prints html, junit or json, not '%s'",
                           invocation_text(invocation, "output"));
    }
    run_matrix_init(&matrix, invocation->arena);
    int code = fleet_run_get(invocation, str_from_c(invocation->args[0]), &run);
    code = code == EXIT_OK ? matrix_fetch(invocation, run, &matrix, &report) : code;
    if (code != EXIT_OK) {
        return code;
    }
    print(invocation, &report, &text);
    return write_report(invocation, buf_str(&text));
}

const Option runs_report_options[] = {
    { .name = "out",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "write the report to this file; default: standard output" },
    { 0 },
};
