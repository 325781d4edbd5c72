/* eden runs: runs across nodes, and runs recorded on this machine. */
#include "agent/run_queue.h"
#include "cli/daemon_command.h"
#include "cli/fleet_run.h"
#include "cli/kind_command.h"
#include "cli/kind_watch.h"
#include "cli/output.h"
#include "cli/responses.h"
#include "cli/runs_verbs.h"
#include "cli/version_ref.h"

/* Formats that only some verbs support. */
static int check_format(const Invocation *invocation, bool has_markdown)
{
    bool is_report =
        invocation_prints(invocation, "html") || invocation_prints(invocation, "junit");
    return is_report ? usage_error(invocation, "only 'eden runs report' prints html and junit")
           : invocation_prints(invocation, "markdown") && !has_markdown
               ? usage_error(invocation, "only show, watch, retry and report print markdown")
               : EXIT_OK;
}

/* Lists the newest runs, optionally only those with a given outcome. */
static int list_part(Invocation *invocation)
{
    const char *limit = invocation_text(invocation, "limit");
    int64_t max = INT64_MAX;
    if (limit != NULL && (!str_to_i64(str_from_c(limit), &max) || max < 1)) {
        return usage_error(invocation, "--limit must be a number of runs, from 1, not '%s'", limit);
    }
    return kind_list_part(invocation, runs_print_table, "outcome",
                          invocation_text(invocation, "outcome"), max);
}

static int run_list(Invocation *invocation)
{
    if (check_format(invocation, false) != EXIT_OK) {
        return EXIT_USAGE;
    }
    bool is_part = invocation_text(invocation, "outcome") != NULL ||
                   invocation_text(invocation, "limit") != NULL;
    if (is_part && !runs_are_local(invocation)) {
        return invocation_flag(invocation, "watch")
                   ? usage_error(invocation,
                                 "--watch shows all runs, without --outcome and --limit")
                   : list_part(invocation);
    }
    if (!runs_are_local(invocation)) {
        return kind_list_as(invocation, runs_print_table,
                            "no runs yet; 'eden run' applies the site to nodes");
    }
    return invocation_flag(invocation, "watch") || invocation_flag(invocation, "selector") ||
                   is_part
               ? usage_error(invocation,
                             "--watch, --selector, --outcome and --limit require a cluster")
               : runs_local_list(invocation);
}

static int get(Invocation *invocation, Value *run)
{
    return fleet_run_get(invocation, str_from_c(invocation->args[0]), run);
}

static int run_show(Invocation *invocation)
{
    Value run;
    List *nodes;
    int code = check_format(invocation, true);
    code = code == EXIT_OK ? get(invocation, &run) : code;
    if (code != EXIT_OK || output_wants_value(invocation) ||
        invocation_prints(invocation, "name") || invocation_prints(invocation, "markdown")) {
        return code == EXIT_OK ? fleet_run_report(invocation, run) : code;
    }
    runs_print_summary(invocation, run);
    stream_put(invocation->out, STR("\n"));
    if (invocation_prints(invocation, "wide")) {
        code = fleet_run_nodes(invocation, object_name(run), &nodes);
        if (code != EXIT_OK) {
            return code;
        }
        runs_print_nodes(invocation, nodes);
        stream_put(invocation->out, STR("\n"));
    }
    return fleet_run_report(invocation, run);
}

static int run_watch(Invocation *invocation)
{
    Value run;
    int code = check_format(invocation, true);
    code = code == EXIT_OK ? get(invocation, &run) : code;
    return code == EXIT_OK ? fleet_run_watch(invocation, run) : code;
}

/* Prints what happens on the nodes of a run that is being canceled. */
static void print_canceled(const Invocation *invocation, Str name, Value run)
{
    Arena *arena = invocation->arena;
    Value counts = value_get_map(object_status(run), "counts");
    int64_t running = value_get_int(counts, "running"), silent = value_get_int(counts, "silent");
    int64_t idle = value_get_int(counts, "pending") + value_get_int(counts, "waiting");
    bool now = invocation_flag(invocation, "now");
    output_line(invocation->out, "%" STR_FMT " is being canceled", STR_ARG(name));
    if (running > 0 && now) {
        output_line(invocation->out,
                    "  %" STR_FMT ": running steps get SIGTERM now, and are killed 2s later",
                    STR_ARG(output_count(arena, running, "node", "nodes")));
    } else if (running > 0) {
        output_line(invocation->out,
                    "  %" STR_FMT
                    ": running steps may finish for %ds, then they get SIGTERM and are "
                    "killed 2s later; --now does not wait",
                    STR_ARG(output_count(arena, running, "node", "nodes")), QUEUE_CANCEL_MS / 1000);
    }
    if (idle > 0) {
        output_line(invocation->out, "  %" STR_FMT ": not started yet, and will skip the run",
                    STR_ARG(output_count(arena, idle, "node", "nodes")));
    }
    if (silent > 0) {
        output_line(invocation->out,
                    "  %" STR_FMT ": not waiting for it; the run is stopped there when it returns",
                    STR_ARG(output_count(arena, silent, "silent node", "silent nodes")));
    }
}

static int run_cancel(Invocation *invocation)
{
    Str *names = ARENA_ARRAY(invocation->arena, Str, invocation->arg_count);
    if (check_format(invocation, false) != EXIT_OK) {
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        names[i] = str_from_c(invocation->args[i]);
    }
    return responses_request_each(invocation,
                                  &(EachRequest){ .method = "POST",
                                                  .prefix = "/v1/runs/",
                                                  .suffix = invocation_flag(invocation, "now")
                                                                ? "/cancel?now=true"
                                                                : "/cancel",
                                                  .print = print_canceled },
                                  names, invocation->arg_count);
}

/* Chooses the version to repeat a run with. If the run's version is no longer current, the user has
 * to choose explicitly. */
static int choose_version(Invocation *invocation, Value run, Map *spec)
{
    const char *ref = invocation_text(invocation, "version");
    bool same = invocation_flag(invocation, "same-version");
    Str version = value_get_text(value_get_map(run, "spec"), "version");
    Value found;
    Error err;
    if ((ref != NULL || same) && version.len == 0) {
        return usage_error(invocation, "a command has no version");
    }
    if (ref != NULL && same) {
        return usage_error(invocation, "--version and --same-version are mutually exclusive");
    }
    if (same || version.len == 0) {
        return EXIT_OK;
    }
    int code = version_ref_find(invocation, ref != NULL ? ref : "current", &found);
    if (code != EXIT_OK) {
        return code;
    }
    if (ref == NULL && !str_eq(object_name(found), version)) {
        error_set(&err, ERROR_CONFLICT,
                  "run %" STR_FMT " has version %" STR_FMT ", and the current version is %" STR_FMT
                  ": retry with --version current, or with --same-version to apply %" STR_FMT
                  " again",
                  STR_ARG(object_name(run)), STR_ARG(version), STR_ARG(object_name(found)),
                  STR_ARG(version));
        return daemon_command_fail(invocation, "E0854", &err);
    }
    map_set_str(invocation->arena, spec, STR("version"), value_string(object_name(found)));
    return EXIT_OK;
}

/* Everything else is copied by the server, including values that the API does not show. */
static int run_retry(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Map *spec = map_new(arena, 3);
    const char *reason = invocation_text(invocation, "reason");
    Value run;
    int code = check_format(invocation, true);
    code = code == EXIT_OK ? get(invocation, &run) : code;
    code = code == EXIT_OK ? choose_version(invocation, run, spec) : code;
    if (code != EXIT_OK) {
        return code;
    }
    if (reason != NULL) {
        map_set_str(arena, spec, STR("reason"), value_string(str_from_c(reason)));
    }
    map_set_str(arena, spec, STR("retry_of"), value_string(object_name(run)));
    map_set_str(arena, spec, STR("retry"),
                value_string(invocation_flag(invocation, "failed") ? STR("failed") : STR("all")));
    bool is_exec = value_get_list(value_get_map(run, "spec"), "command")->len > 0;
    return fleet_run_start(invocation, is_exec ? "/v1/exec" : "/v1/runs", spec);
}

static int run_compare(Invocation *invocation)
{
    int code = check_format(invocation, false);
    return code == EXIT_OK ? runs_compare(invocation, str_from_c(invocation->args[0]),
                                          str_from_c(invocation->args[1]))
                           : code;
}

/* --- Rows ------------------------------------------------------------------------------------ */

static const Option options[] = {
    OUTPUT_OPTION(KIND_FORMATS "|markdown|html|junit", "table", "output format"),
    CLUSTER_OPTIONS,
    { 0 },
};
static const Option list_options[] = {
    SELECTOR_OPTION,
    { .name = "outcome",
      .argument = "NAME",
      .choices = "running|ok|changed|failed|skipped|canceled|silent",
      .help = "list only runs with this outcome" },
    { .name = "limit", .argument = "N", .help = "list only the N newest runs" },
    WATCH_OPTION,
    { .name = "local", .help = "list runs recorded on this machine" },
    { .name = "root",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .fallback = "/",
      .help = "root directory of the system whose runs to list; implies --local" },
    { 0 },
};
static const Option watch_options[] = { FLEET_WAIT_OPTIONS, { 0 } };
static const Option cancel_options[] = {
    { .name = "now", .help = "stop running steps immediately: SIGTERM, and SIGKILL 2s later" },
    { 0 },
};
static const Option retry_options[] = {
    { .name = "failed", .help = "only nodes that failed, were canceled or did not respond" },
    { .name = "version",
      .argument = "REF",
      .word = WORD_VERSION,
      .help = "use this version of the site, as in 'eden run'" },
    { .name = "same-version",
      .help = "use the version of the earlier run, even if it is not "
              "current" },
    { .name = "detach", .help = "do not wait: print the ID of the run" },
    FLEET_WAIT_OPTIONS,
    { 0 },
};

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List runs across nodes, newest first, or runs recorded on this machine.",
      .text = "Without a cluster, or with --local, lists the runs recorded on this machine,\n"
              "oldest first. Every apply is recorded in --state-dir; the last 20 records are\n"
              "retained. 'eden why --run ID' explains what went wrong in a run.",
      .options = list_options,
      .examples = { { "eden runs", "list recent runs" },
                    { "eden runs -o wide", "also show selectors, durations and reasons" },
                    { "eden runs --outcome failed --limit 5", "list the newest failed runs" },
                    { "eden runs --local -o json", "print runs on this machine, for scripts" } },
      .run = run_list },
    { .name = "show",
      .args = { { "RUN", WORD_RUN } },
      .help = "Show a run and its results on each node.",
      .text = "Nodes that succeeded are only counted; use -o wide to list them. The exit code\n"
              "reflects the outcome: 1 if the run failed or was canceled, 3 if nodes are silent.",
      .examples = { { "eden runs show 20261118T2201", "show a run by a unique prefix of its ID" },
                    { "eden runs show latest -o wide", "show all nodes of the newest run" } },
      .run = run_show },
    { .name = "watch",
      .args = { { "RUN", WORD_RUN } },
      .help = "Follow a run until it ends, then show its outcome.",
      .text = "Ctrl-C stops watching, not the run. If the server is unreachable for a while, the\n"
              "watch resumes where it left off.",
      .options = watch_options,
      .examples = { { "eden runs watch 20261118T2201", "watch a detached run" } },
      .run = run_watch },
    { .name = "cancel",
      .args = { { "RUN...", WORD_RUN } },
      .help = "Stop runs.",
      .text =
          "Nodes that have not started the run skip it. On other nodes, running steps have 30s\n"
          "to finish; then they get SIGTERM, and SIGKILL 2s later. With --now, they get SIGTERM\n"
          "immediately. 'eden runs show' and 'watch' show which steps are being stopped. The\n"
          "command does not wait for silent nodes: they stop the run if they return in time (15m,\n"
          "or lost_node_timeout in 'eden config'). You can cancel a run again with --now.",
      .options = cancel_options,
      .examples = { { "eden runs cancel 20261118T2201 --reason 'wrong version'", "stop a run" } },
      .run = run_cancel },
    { .name = "retry",
      .args = { { "RUN", WORD_RUN } },
      .help = "Repeat a run on its nodes.",
      .text = "The new run uses the same version, jobs and variables, on the nodes of the\n"
              "earlier run that are still in the cluster. It is watched as with 'eden run'. If\n"
              "another version has become current since then, nothing is started (exit code 5):\n"
              "specify --version current, or --same-version to use the version of the earlier\n"
              "run.",
      .options = retry_options,
      .examples = { { "eden runs retry 20261118T2201 --failed",
                      "retry it on the nodes that did not succeed" } },
      .run = run_retry },
    { .name = "compare",
      .args = { { "RUN", WORD_RUN }, { "RUN", WORD_RUN } },
      .help = "Show the nodes on which two runs differ.",
      .text = "A node is shown if its outcome, errors or changes differ between the runs.",
      .examples = { { "eden runs compare 20261118T2201 20261119T0800",
                      "show what changed since yesterday" } },
      .run = run_compare },
    { .name = "report",
      .args = { { "RUN", WORD_RUN } },
      .help = "Print a report of a run.",
      .text =
          "By default, a single self-contained HTML page with a matrix of nodes and steps: nodes\n"
          "with the same results are one row, failures are first. Beyond 100,000 cells, steps "
          "with\n"
          "identical results are one column, and the last rows are only counted. As JUnit, each "
          "node "
          "is\n"
          "a suite and each of its steps a case; beyond 200,000, only steps that did something "
          "are.\n"
          "The exit code is 0 if the report could be written, regardless of the run's outcome.",
      .options = runs_report_options,
      .examples = { { "eden runs report 20261118T2201 --out report.html", "write an HTML report" },
                    { "eden runs report 20261118T2201 -o junit --out junit.xml",
                      "write a report for a build server" } },
      .run = runs_report_run },
    { 0 },
};

const Command command_runs = {
    .name = "runs",
    .group = GROUP_OPERATE,
    .kind = "Run",
    .help = "List, watch, cancel, repeat, compare and report on runs.",
    .text = "A run is created by 'eden run' or 'eden exec', or when a site version becomes\n"
            "current. It is identified by its ID or a unique prefix of the ID. The newest run is\n"
            "'latest', except for 'cancel'.",
    .options = options,
    .verbs = verbs,
};
