#include "cli/run_command.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/shell.h"
#include "cli/junit.h"
#include "cli/output.h"
#include "cli/run_print.h"
#include "cli/run_progress.h"
#include "fleet/records.h"
#include "lang/duration.h"
#include "lang/json.h"
#include "modules/modules.h"
#include "run/node_paths.h"
#include "run/plan_file.h"
#include "run/report.h"
#include "run/run_events.h"
#include "sys/file.h"
#include "sys/signals.h"

/* --- JUnit XML -------------------------------------------------------------------------------- */

/* Results of a run as JUnit XML, for build servers. */

static Str message_of(const StepReport *report)
{
    return report->status.result != RESULT_FAILED ? report->reason
           : report->error != NULL                ? report->error->message
                                                  : STR_EMPTY;
}

static bool run_junit_write(const RunReport *report, const char *path, Error *err)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    JunitSuite suite = { .name = report->planning ? STR("eden plan") : STR("eden apply"),
                         .hostname = report->node,
                         .duration_us = report->duration_us };
    for (uint32_t i = 0; i < report->steps->count; i++) {
        junit_count(&suite, report->items[i].status.result);
    }
    junit_declare(&out);
    junit_open_suite(&out, &suite);
    for (uint32_t i = 0; i < report->steps->count; i++) {
        const Step *step = &report->steps->items[i];
        const StepReport *item = &report->items[i];
        junit_put_case(&out, &(JunitCase){ .class_name = step->spec->job->name,
                                           .name = step->name,
                                           .duration_us = item->duration_us,
                                           .result = item->status.result,
                                           .message = message_of(item),
                                           .text = item->shown_error_out });
    }
    junit_close_suite(&out);
    return file_write_atomic(path, buf_str(&out), err);
}

enum {
    WORKERS_MAX = 256
};

const Option run_internal_options[] = {
    { .name = "run-id", .argument = "ID", .help = "ID of the run" },
    { .name = "events",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "append the events of the run to this file" },
    { .name = "attempt", .argument = "N", .help = "which attempt of the run this is, from 1" },
    { .name = "site-version", .argument = "NAME", .help = "version of the site, for the events" },
    { .name = "servers", .argument = "DIR", .help = "list of all nodes, for templates" },
    { .name = "event", .argument = "FILE", .help = "what the run reacts to, as JSON" },
    { .name = "control", .help = "read messages from the agent on standard input" },
    { 0 },
};

static bool get_order(const Invocation *invocation, RunConfig *out)
{
    out->workers = 1;
    out->max_wait_us = -1;
    if (option_find(invocation->command, invocation->verb, STR("order")) == NULL) {
        return true; /* the command only loads the site and has no such option */
    }
    const char *order = invocation_text(invocation, "order");
    const char *workers = invocation_text(invocation, "workers");
    const char *wait = invocation_text(invocation, "max-wait");
    int64_t number = 1;
    if (order != NULL) {
        (void)order_mode_from_name(
            str_from_c(order),
            &out->order); /* cannot fail, because the parser has checked the choice */
    }
    if (workers != NULL &&
        (!str_to_i64(str_from_c(workers), &number) || number < 1 || number > WORKERS_MAX)) {
        usage_error(invocation, "--workers must be a number from 1 to %d, not '%s'", WORKERS_MAX,
                    workers);
        return false;
    }
    out->workers = (uint32_t)number;
    if (wait != NULL) {
        int64_t ms;
        if (!duration_parse(str_from_c(wait), &ms)) {
            usage_error(invocation, "--max-wait must be a duration such as '5m', not '%s'", wait);
            return false;
        }
        out->max_wait_us = ms * 1000;
    }
    return true;
}

static bool get_paths(const Invocation *invocation, RunConfig *out)
{
    Arena *arena = invocation->arena;
    Error err;
    if (!node_state_path(arena, invocation_text(invocation, "state-dir"), out->root, &out->state,
                         &err)) {
        usage_error(invocation, "%s; use --state-dir", err.text);
        return false;
    }
    if (!node_config_path(arena, invocation_text(invocation, "config-dir"), out->root, &out->etc,
                          &err)) {
        usage_error(invocation, "%s; use --config-dir", err.text);
        return false;
    }
    return true;
}

static bool get_run_id(const Invocation *invocation, RunConfig *out)
{
    Error err;
    const char *id = invocation_text(invocation, "run-id");
    bool has_events = invocation_text(invocation, "events") != NULL;
    if ((id != NULL) != has_events) {
        usage_error(invocation, "--run-id and --events require each other");
        return false;
    }
    if (id == NULL) {
        return true;
    }
    if (!run_id_check(str_from_c(id), &err)) {
        usage_error(invocation, "--run-id: %s", err.text);
        return false;
    }
    out->id = str_from_c(id);
    out->servers = invocation_text(invocation, "servers");
    out->event = invocation_text(invocation, "event");
    out->is_supervised = true;
    return true;
}

/* The agent passes variables in its first message, where other processes cannot see their
 * values. */
static bool get_control(const Invocation *invocation, RunConfig *out)
{
    RunStart start;
    Error err;
    if (invocation->command->internal_options == NULL || !invocation_flag(invocation, "control")) {
        return true;
    }
    out->control = ARENA_NEW(invocation->arena, RunControl);
    *out->control = run_control_make(STDIN_FILENO);
    if (!run_control_start(out->control, invocation->arena, &start, &err)) {
        usage_error(invocation, "--control: %s", err.text);
        return false;
    }
    for (uint32_t i = 0; i < start.define_count; i++) {
        if (!inputs_check_define(invocation, start.defines[i])) {
            return false;
        }
    }
    out->defines = start.defines;
    out->define_count = start.define_count;
    return true;
}

bool run_config_get(const Invocation *invocation, RunConfig *out)
{
    *out = (RunConfig){
        .path = invocation->args[0],
        .root = invocation_text(invocation, "root"),
        .node = invocation_text(invocation, "node"),
        .trust = node_trust_path(invocation_text(invocation, "config-dir")),
        .modules = modules,
        .command = arena_format(invocation->arena, "eden %s %s", invocation->command->name,
                                invocation->args[0]),
    };
    if (!inputs_check_defines(invocation) || !get_paths(invocation, out) ||
        (invocation->command->internal_options != NULL && !get_run_id(invocation, out))) {
        return false;
    }
    out->labels = invocation_texts(invocation, "label", &out->label_count);
    out->var_files = invocation_texts(invocation, "vars", &out->var_file_count);
    out->defines = invocation_texts(invocation, "define", &out->define_count);
    const char **jobs = invocation_texts(invocation, "job", &out->job_count);
    Str *names = ARENA_ARRAY(invocation->arena, Str, out->job_count + 1);
    for (uint32_t i = 0; i < out->job_count; i++) {
        names[i] = str_from_c(jobs[i]);
    }
    out->jobs = names;
    return get_order(invocation, out) && get_control(invocation, out);
}

static RunPrintStyle print_style(const Invocation *invocation)
{
    const char *diff = invocation_text(invocation, "diff");
    return (RunPrintStyle){
        .color = invocation->color_out,
        .all = invocation_flag(invocation, "verbose"),
        .recorded = !invocation_flag(invocation, "try"),
        .diff = strcmp(diff, "none") == 0      ? DIFF_NONE
                : strcmp(diff, "concise") == 0 ? DIFF_CONCISE
                                               : DIFF_FULL,
    };
}

/* Errors of steps are in the report; warnings about the site go to standard error. */
static void print_report(Invocation *invocation, Inputs *inputs, const RunReport *report)
{
    if (invocation_prints(invocation, "text")) {
        RunPrintStyle style = print_style(invocation);
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        run_print(report, &style, &text);
        stream_put(invocation->out, buf_str(&text));
        (void)inputs_report(inputs, invocation);
    } else {
        (void)output_value(inputs, invocation, OUTPUT_LINE,
                           run_report_value(report, invocation->arena));
    }
}

static int exit_code(const Invocation *invocation, const RunReport *report)
{
    uint32_t counts[RESULT_COUNT];
    run_report_count(report, counts);
    bool failed = counts[RESULT_FAILED] + counts[RESULT_BLOCKED] > 0;
    bool changed = counts[RESULT_CHANGED] + counts[RESULT_UNKNOWN] > 0;
    bool detailed = invocation_flag(invocation, "detailed-exitcode");
    if (report->interrupted) {
        return EXIT_INTERRUPTED;
    }
    if (failed) {
        return detailed && changed ? EXIT_CHANGES_AND_FAILURES : EXIT_FAILED;
    }
    if (report->timed_out) {
        return EXIT_TIMED_OUT;
    }
    return detailed && changed ? EXIT_CHANGES : EXIT_OK;
}

int run_report_error(Invocation *invocation, Inputs *inputs, const Error *err)
{
    if (inputs->problems.errors == 0) {
        Problem *problem = problems_add(&inputs->problems, "E0710", NULL, 0, 0, "%s", err->text);
        if (err->kind == ERROR_DENIED) {
            problem->hint = STR("changing this machine requires root privileges (sudo)");
        }
    }
    (void)inputs_report(inputs, invocation);
    return error_kind_exit_code(err->kind);
}

int run_report_late_error(const Invocation *invocation, const Error *err)
{
    stream_put_format(invocation->err, "eden: %s\n", err->text);
    return error_kind_exit_code(err->kind);
}

/* --- Events, for the agent -------------------------------------------------------------------- */

static bool open_events(const Invocation *invocation, const RunConfig *config, RunEvents **out,
                        Error *err)
{
    *out = NULL;
    if (config->id.len == 0) {
        return true;
    }
    const char *attempt = invocation_text(invocation, "attempt");
    RunEventsSettings settings = { .path = invocation_text(invocation, "events"),
                                   .run = config->id,
                                   .version = invocation_text(invocation, "site-version"),
                                   .attempt =
                                       attempt == NULL ? 0 : (uint32_t)strtoul(attempt, NULL, 10) };
    return run_events_open(invocation->arena, &settings, out, err) ||
           error_wrap(err, "cannot write the events of the run");
}

static void report_lost_events(const Invocation *invocation, const RunEvents *events)
{
    const Error *lost = run_events_lost(events);
    if (lost != NULL) {
        stream_put_format(invocation->err, "eden: run events were lost: %s\n", lost->text);
    }
}

/* Writes the final event of a run that failed prematurely. The exit code reports the same. */
static int fail_events(const Invocation *invocation, RunEvents *events, const char *result,
                       Str reason, const Problems *problems, int code)
{
    Error err;
    if (events != NULL && !run_events_fail(events, result, reason, problems, code, &err)) {
        (void)run_report_late_error(invocation, &err);
    }
    return code;
}

/* --- Running ---------------------------------------------------------------------------------- */

/* Prints the reason, and an empty report if one is expected. */
static int report_no_match(Invocation *invocation, Inputs *inputs, const Run *run)
{
    const RunConfig *config = run_config(run);
    RunReport report = { .planning = config->planning,
                         .node = run_node(run)->name,
                         .order = config->order,
                         .steps = run_steps(run) };
    if (invocation_prints(invocation, "text")) {
        (void)inputs_report(inputs, invocation);
    } else {
        print_report(invocation, inputs, &report);
    }
    stream_put_format(invocation->err, "eden: '%s' has no steps for this node ('%" STR_FMT "')\n",
                      config->path, STR_ARG(report.node));
    return EXIT_NOT_MATCHED;
}

/* Flushes all output, then shuts down the machine. */
static bool shut_down_machine(Invocation *invocation, Run *run, Error *err)
{
    if (!run_shutdown_ready(run, err)) {
        return false;
    }
    stream_put_format(invocation->err, "eden: the machine will %s\n", run_shutdown_name(run));
    (void)stream_flush(invocation->out);
    (void)stream_flush(invocation->err);
    return run_shutdown(run, err);
}

/* Whether another run holds the lock. Then this run has not started, and the agent will start it
 * again later. */
static bool is_lock_held(const Inputs *inputs, const Error *err)
{
    const Problems *problems = &inputs->problems;
    return err->kind == ERROR_CONFLICT && problems->count > 0 &&
           str_eq_c(problems->items[problems->count - 1].code, "E0701");
}

static int report_failed_run(Invocation *invocation, Inputs *inputs, RunEvents *events,
                             const Error *err)
{
    bool is_locked = is_lock_held(inputs, err);
    int code = run_report_error(invocation, inputs, err);
    return is_locked ? code
                     : fail_events(invocation, events, "failed", str_from_c(err->text),
                                   &inputs->problems, code);
}

/* The report has been printed, but the remaining steps can still fail. */
static bool finish(Invocation *invocation, Run *run, RunEvents *events, int code, Error *err)
{
    const char *junit = invocation_text(invocation, "junit");
    if (events != NULL && !run_events_end(events, run, code, err)) {
        return false;
    }
    return (junit == NULL || run_junit_write(run_report(run), junit, err)) &&
           (run_shutdown_name(run) == NULL || shut_down_machine(invocation, run, err));
}

static int perform(Invocation *invocation, Inputs *inputs, Run *run, RunEvents *events)
{
    ProgressMode mode;
    (void)progress_mode_from_name(str_from_c(invocation_text(invocation, "progress")),
                                  invocation->can_redraw_err, &mode);
    RunProgress *progress = run_progress_new(invocation->arena, invocation->err, mode, run);
    RunView view = run_progress_view(progress);
    if (events != NULL) {
        view = run_events_view(events, run, view);
    }
    Error err;
    int interrupts;
    if (!signals_open(&interrupts, &err)) {
        return run_report_error(invocation, inputs, &err);
    }
    bool ok = run_perform(run, &view, interrupts, &err);
    run_progress_end(progress);
    signals_close(interrupts);
    if (!ok) {
        return report_failed_run(invocation, inputs, events, &err);
    }
    const RunReport *report = run_report(run);
    print_report(invocation, inputs, report);
    int code = exit_code(invocation, report);
    ok = finish(invocation, run, events, code, &err);
    if (events != NULL) {
        report_lost_events(invocation, events);
    }
    if (ok) {
        return code;
    }
    code = run_report_late_error(invocation, &err);
    bool has_left = run_shutdown_name(run) != NULL && run_shutdown_ready(run, &(Error){ 0 });
    return has_left ? fail_events(invocation, events, "failed", str_from_c(err.text), NULL, code)
                    : code;
}

/* Whether the option sets a variable that must not be printed. */
static bool is_secret_define(Run *run, const CommandWord *word)
{
    return word->option != NULL && strcmp(word->option, "define") == 0 &&
           run_variable_is_secret(run, define_name(word->value));
}

/* Returns the command that recreates the plan, with all of its options. For each secret, it
 * contains a shell variable whose expansion fails unless the variable is set. */
static Str replan_hint(const Invocation *invocation, Run *run, Value plan)
{
    Arena *arena = invocation->arena;
    CommandWords words = { 0 };
    plan_file_command(arena, plan, run_config(run), &words);
    Buf line = buf_make_in(arena, BUF_UNLIMITED);
    Str unset = STR_EMPTY;
    for (uint32_t i = 0; i < words.len; i++) {
        const CommandWord *word = &words.items[i];
        bool secret = is_secret_define(run, word);
        Str value = word->value;
        buf_put(&line, STR(" "));
        if (word->option != NULL) {
            buf_put_format(&line, "--%s%s", word->option, value.data == NULL ? "" : "=");
        }
        if (value.data == NULL) {
            continue;
        }
        if (secret) {
            value = str_slice(value, 0, str_find(value, STR("="), 0) + 1);
        }
        shell_put_word(&line, value);
        if (secret) {
            unset = shell_variable(arena, define_name(word->value));
            buf_put_format(&line, "\"${%" STR_FMT ":?}\"", STR_ARG(unset));
        }
    }
    buf_put(&line, STR(" --out="));
    shell_put_word(&line, str_from_c(invocation->args[0]));
    return unset.len == 0
               ? arena_format(arena, "plan again: eden plan%" STR_FMT, STR_ARG(buf_str(&line)))
               : arena_format(arena,
                              "set the shell variable '%" STR_FMT "' to the secret, which is not "
                              "shown, and plan again: eden plan%" STR_FMT,
                              STR_ARG(unset), STR_ARG(buf_str(&line)));
}

/* Plans again and compares. If it fails, nothing has been changed. */
static bool check_plan(Invocation *invocation, const RunConfig *config, const Value *plan,
                       Inputs *inputs, int *code)
{
    RunConfig planning = *config;
    planning.planning = true;
    AUTO(Run) *run = NULL;
    Error err;
    RunView view = { 0 };
    if (!run_load(invocation->arena, &planning, &inputs->sources, &inputs->problems, &run)) {
        *code = inputs_report(inputs, invocation);
        return false;
    }
    if (!run_perform(run, &view, -1, &err)) {
        *code = run_report_error(invocation, inputs, &err);
        return false;
    }
    if (!plan_file_matches(*plan, run, &err)) {
        Problem *problem = problems_add(&inputs->problems, "E0718", NULL, 0, 0, "%s", err.text);
        problem->hint = replan_hint(invocation, run, *plan);
        (void)inputs_report(inputs, invocation);
        *code = error_kind_exit_code(err.kind);
        return false;
    }
    return true;
}

/* Returns the given options that only affect how the plan is shown, for the command that recreates
 * it. */
static Value shown_options(const Invocation *invocation)
{
    List *options = list_new(invocation->arena, 4);
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        const GivenOption *given = &invocation->given[i];
        if (plan_file_is_shown_option(str_from_c(given->option->name))) {
            List *pair = list_new(invocation->arena, 2);
            list_push(invocation->arena, pair, value_string(str_from_c(given->option->name)));
            if (given->value != NULL) {
                bool is_file = strcmp(given->option->name, "junit") == 0;
                list_push(invocation->arena, pair,
                          value_string(is_file ? file_absolute(invocation->arena, given->value)
                                               : str_from_c(given->value)));
            }
            list_push(invocation->arena, options, value_list(pair));
        }
    }
    return value_list(options);
}

static bool save_plan(const Invocation *invocation, Run *run, const char *path, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED), shown = buf_make(BUF_UNLIMITED);
    RunPrintStyle style = { .diff = DIFF_FULL };
    run_print(run_report(run), &style, &shown);
    Value plan = plan_file_value(run, buf_str(&shown), invocation->arena);
    map_set_str(invocation->arena, plan.map, STR("options"), shown_options(invocation));
    if (!json_print(&text, plan, NULL, err)) {
        return false;
    }
    buf_put_char(&text, '\n');
    return file_write_private(path, buf_str(&text), err);
}

int run_command(Invocation *invocation, const RunConfig *config, const PlanFiles *plan_files)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    int code = EXIT_OK;
    for (uint32_t i = 0; plan_files->out != NULL && i < config->var_file_count; i++) {
        if (!file_is_rereadable(config->var_files[i])) {
            return usage_error(invocation,
                               "--out requires variable files that can be read again; '-v %s' is "
                               "not a regular file",
                               config->var_files[i]);
        }
    }
    if (plan_files->plan != NULL &&
        !check_plan(invocation, config, plan_files->plan, &inputs, &code)) {
        return code;
    }
    AUTO(RunEvents) *events = NULL;
    AUTO(Run) *run = NULL;
    Error err;
    if (!open_events(invocation, config, &events, &err)) {
        return run_report_error(invocation, &inputs, &err);
    }
    if (!run_load(invocation->arena, config, &inputs.sources, &inputs.problems, &run)) {
        return fail_events(invocation, events, "failed", STR("the site cannot be loaded"),
                           &inputs.problems, inputs_report(&inputs, invocation));
    }
    if (run_steps(run)->count == 0) {
        code = report_no_match(invocation, &inputs, run);
        return fail_events(invocation, events, "skipped", STR("no job selects this node"), NULL,
                           code);
    }
    code = perform(invocation, &inputs, run, events);
    if (plan_files->out != NULL && run_report(run) != NULL &&
        !save_plan(invocation, run, plan_files->out, &err)) {
        return run_report_late_error(invocation, &err);
    }
    return code;
}
