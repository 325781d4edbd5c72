/* eden logs: the events of a run across nodes. */
#include "base/visible.h"
#include "cli/fleet_run.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "lang/json.h"

enum {
    FOLLOW_MS = 24 * 3600 * 1000,
};

typedef struct Logs {
    Invocation *invocation;
    bool as_json;
    Buf partial;
} Logs;

static void put_text(const Logs *logs, Str text)
{
    Str rest = str_trim(text), line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        output_line(logs->invocation->out, "    %" STR_FMT, STR_ARG(line));
    }
}

static void put_event(const Logs *logs, Value event)
{
    Str kind = value_get_text(event, "event"), node = value_get_text(event, "node"),
        step = value_get_text(event, "step");
    Stream *out = logs->invocation->out;
    if (str_eq_c(kind, "step")) {
        Value error = value_get_map(event, "error");
        output_line(out, "%" STR_FMT "  %-8" STR_FMT " %" STR_FMT "%s%" STR_FMT, STR_ARG(node),
                    STR_ARG(value_get_text(event, "result")), STR_ARG(step),
                    value_get_text(error, "message").len > 0 ? ": " : "",
                    STR_ARG(value_get_text(error, "message")));
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
    } else if (str_eq_c(kind, "truncated")) {
        output_line(out,
                    "%" STR_FMT "  (the log of this node is too large: details follow only "
                    "for results)",
                    STR_ARG(node));
    }
}

static void take_line(const Logs *logs, Str line)
{
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

static bool take(void *context, Str bytes)
{
    Logs *logs = context;
    size_t used = 0, end;
    buf_put(&logs->partial, bytes);
    while ((end = str_find(buf_str(&logs->partial), STR("\n"), used)) != STR_NOT_FOUND) {
        take_line(logs, str_slice(buf_str(&logs->partial), used, end));
        used = end + 1;
    }
    memmove(logs->partial.data, logs->partial.data + used, logs->partial.len - used);
    logs->partial.len -= used;
    return stream_flush(logs->invocation->out);
}

static int logs_run(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Logs logs = { .invocation = invocation,
                  .as_json = invocation_prints(invocation, "json"),
                  .partial = buf_make(BUF_UNLIMITED) };
    Value run;
    int code = fleet_run_get(invocation, str_from_c(invocation->args[0]), &run);
    if (code != EXIT_OK) {
        return code;
    }
    Str target = cluster_target_with(arena, "/v1/runs/", object_name(run),
                                     invocation_flag(invocation, "follow") ? "/logs?follow=true"
                                                                           : "/logs?follow=false");
    static const char *const filters[] = { "&node=", "&step=" };
    for (uint32_t i = 1; i < invocation->arg_count; i++) {
        target = arena_format(
            arena, "%" STR_FMT "%" STR_FMT, STR_ARG(target),
            STR_ARG(cluster_target(arena, filters[i - 1], str_from_c(invocation->args[i]))));
    }
    ClusterStreamHandler handler = { .on_chunk = take,
                                     .context = &logs,
                                     .idle_timeout_ms = FOLLOW_MS };
    ClusterRefusal refusal = { .target = target };
    Error err;
    bool ok = cluster_stream(invocation, &(ClusterRequest){ .method = "GET", .target = target },
                             &handler, &refusal, &err);
    buf_clear(&logs.partial);
    return ok ? EXIT_OK : cluster_report_refusal(invocation, &refusal, &err);
}

static const Option options[] = {
    { .name = "follow", .letter = 'f', .help = "keep printing until the run has ended" },
    OUTPUT_OPTION("text|json", "text", "output format; json: one event per line"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden logs 20261118T2201", "show all nodes of a run; a unique prefix of its ID is enough" },
    { "eden logs 20261118T2201 web2", "show one node" },
    { "eden logs 20261118T2201 web2 'web#nginx' -f", "follow one step until the run has ended" },
    { 0 },
};

const Command command_logs = {
    .name = "logs",
    .group = GROUP_CLUSTER,
    .args = { { "RUN", WORD_RUN }, { "[NODE]", WORD_NODE }, { "[STEP]" } },
    .help = "Show the log of a run across nodes.",
    .text = "The log contains the results of steps, with their changes and output, as uploaded "
            "by\nthe nodes. Secrets are removed on the nodes.",
    .options = options,
    .examples = examples,
    .run = logs_run,
};
