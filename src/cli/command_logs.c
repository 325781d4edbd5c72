/* eden logs: the events of a run across nodes. */
#include "base/utc.h"
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/run_names.h"
#include "cli/run_stream.h"
#include "lang/json.h"

typedef struct Logs {
    Invocation *invocation;
    bool as_json;
} Logs;

static void put_text(const Logs *logs, Str text)
{
    Str rest = str_trim(text), line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        output_line(logs->invocation->out, "    %" STR_FMT, STR_ARG(line));
    }
}

/* Returns the path within the site, without the directory in which the node stores the version:
 * ".../sites/3f2a.../jobs/web.yaml". Empty for commands of 'eden exec', which are not part of a
 * site. */
static Str path_in_site(Str file)
{
    size_t at = str_find(file, STR("/sites/"), 0);
    size_t end = at == STR_NOT_FOUND ? at : str_find(file, STR("/"), at + STR("/sites/").len);
    return end == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(file, end + 1);
}

/* "validate failed (jobs/web.yaml:6:15)" */
static void put_error(Buf *text, Value error)
{
    Str message = value_get_text(error, "message"),
        file = path_in_site(value_get_text(error, "file"));
    int64_t line = value_get_int(error, "line");
    if (message.len > 0) {
        buf_put_format(text, ": %" STR_FMT, STR_ARG(message));
    }
    if (file.len > 0 && line > 0) {
        buf_put_format(text, " (%" STR_FMT ":%lld:%lld)", STR_ARG(file), (long long)line,
                       (long long)value_get_int(error, "column"));
    }
}

static void put_event(const Logs *logs, Value event)
{
    Str kind = value_get_text(event, "event"), node = value_get_text(event, "node"),
        step = value_get_text(event, "step");
    Stream *out = logs->invocation->out;
    if (str_eq_c(kind, "step")) {
        AUTO_CLEAR(Buf) error = buf_make(BUF_UNLIMITED);
        put_error(&error, value_get_map(event, "error"));
        output_line(out, "%" STR_FMT "  %-8" STR_FMT " %" STR_FMT "%" STR_FMT, STR_ARG(node),
                    STR_ARG(value_get_text(event, "result")), STR_ARG(step),
                    STR_ARG(buf_str(&error)));
        put_text(logs, value_get_text(event, "diff"));
        put_text(logs, value_get_text(event, "stdout"));
        put_text(logs, value_get_text(event, "stderr"));
    } else if (str_eq_c(kind, "line")) {
        output_line(out, "%" STR_FMT "  %" STR_FMT ": %" STR_FMT, STR_ARG(node), STR_ARG(step),
                    STR_ARG(value_get_text(event, "text")));
    } else if (str_eq_c(kind, "wait") && value_get_text(event, "reason").len > 0) {
        output_line(out, "%" STR_FMT "  waits    %" STR_FMT ": %" STR_FMT, STR_ARG(node),
                    STR_ARG(step), STR_ARG(value_get_text(event, "reason")));
    } else if (str_eq_c(kind, "end")) {
        output_line(out, "%" STR_FMT "  ended    %" STR_FMT "%s%" STR_FMT, STR_ARG(node),
                    STR_ARG(value_get_text(event, "result")),
                    value_get_text(event, "reason").len > 0 ? ": " : "",
                    STR_ARG(value_get_text(event, "reason")));
    } else if (str_eq_c(kind, "removed")) {
        output_line(out,
                    "(the log was removed at %" STR_FMT
                    ", because the total size of all run logs was too large; results: 'eden runs "
                    "show')",
                    STR_ARG(utc_text(logs->invocation->arena, value_get_int(event, "at_ms"))));
    } else if (str_eq_c(kind, "truncated")) {
        output_line(out,
                    "%" STR_FMT "  (this node's log is too large: details are shown only for "
                    "results)",
                    STR_ARG(node));
    }
}

static void take_line(void *context, Str line)
{
    const Logs *logs = context;
    AUTO_CLEAR(Arena) arena;
    Value event;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (logs->as_json) {
        output_json_text(logs->invocation->out, line);
        stream_put(logs->invocation->out, STR("\n"));
    } else if (json_parse_text(&arena, line, &json_options_default, &event, &err)) {
        put_event(logs, event);
    }
}

static bool flush(void *context)
{
    const Logs *logs = context;
    return stream_flush(logs->invocation->out);
}

static Str argument(const Invocation *invocation, uint32_t index)
{
    return invocation->arg_count > index ? str_from_c(invocation->args[index]) : STR_EMPTY;
}

static int logs_run(Invocation *invocation)
{
    Logs logs = { .invocation = invocation, .as_json = invocation_prints(invocation, "json") };
    Value run;
    Str node = argument(invocation, 1), step = argument(invocation, 2);
    int code = fleet_run_get(invocation, argument(invocation, 0), &run);
    if (code == EXIT_OK && node.len > 0) {
        code = run_names_check_node(invocation, run, node);
    }
    if (code == EXIT_OK && step.len > 0) {
        code = run_names_check_step(invocation, run, node, step);
    }
    return code == EXIT_OK
               ? run_stream(invocation,
                            &(RunStream){ .what = "the log",
                                          .run = object_name(run),
                                          .node = node,
                                          .step = step,
                                          .follows = invocation_flag(invocation, "follow"),
                                          .on_line = take_line,
                                          .on_batch = flush,
                                          .context = &logs })
               : code;
}

static const Option options[] = {
    { .name = "follow", .letter = 'f', .help = "keep printing until the run ends" },
    OUTPUT_OPTION("text|json", "text", "output format; json: one event per line"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden logs 20261118T2201",
      "show all nodes of a run; a unique prefix of its ID is sufficient" },
    { "eden logs 20261118T2201 web2", "show one node" },
    { "eden logs 20261118T2201 web2 'web#nginx' -f", "follow one step until the run ends" },
    { 0 },
};

const Command command_logs = {
    .name = "logs",
    .group = GROUP_CLUSTER,
    .args = { { "RUN", WORD_RUN }, { "[NODE]", WORD_NODE }, { "[STEP]" } },
    .help = "Show the log of a run across nodes.",
    .text = "The log contains step results, with changes and output, as sent by the nodes.\n"
            "Secrets are redacted on the nodes. If the server is unreachable for a while, -f\n"
            "resumes where it left off.",
    .options = options,
    .examples = examples,
    .run = logs_run,
};
