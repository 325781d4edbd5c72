/* eden audit: who has asked for what, and whether the log of it is whole. */
#include "cli/audit_follow.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/verbs.h"

enum {
    TAIL_MAX = 1000
};

/* --- tail ------------------------------------------------------------------------------------ */

static void print_table(const Invocation *invocation, const List *entries)
{
    kind_print_table(invocation, kind_find(STR("Audit")), entries);
    if (entries->len == 0) {
        stream_put_format(invocation->err, "the audit log is empty\n");
    }
}

/* What is there is the beginning of what follows: with -o json a line each, too. */
static int follow(Invocation *invocation, const List *entries)
{
    bool is_json = invocation_prints(invocation, "json");
    if (!is_json && !invocation_prints(invocation, "name")) {
        print_table(invocation, entries);
        return audit_follow(invocation, entries);
    }
    for (uint32_t i = 0; i < entries->len; i++) {
        audit_print_entry(invocation, entries->items[i]);
    }
    return audit_follow(invocation, entries);
}

static int run_tail(Invocation *invocation)
{
    const char *wanted = invocation_text(invocation, "lines");
    int64_t lines;
    Value answer;
    if (!str_to_i64(str_from_c(wanted), &lines) || lines < 1 || lines > TAIL_MAX) {
        return usage_error(invocation, "--lines takes a number from 1 to %d, not '%s'", TAIL_MAX,
                           wanted);
    }
    if (invocation_flag(invocation, "follow") && output_wants_value(invocation) &&
        !invocation_prints(invocation, "json")) {
        return usage_error(invocation, "--follow prints tables, names or JSON");
    }
    Str target = arena_format(invocation->arena, "/v1/audit?limit=%lld", (long long)lines);
    int code =
        cluster_call(invocation, &(ClusterRequest){ .method = "GET", .target = target }, &answer);
    if (code != EXIT_OK) {
        return code;
    }
    /* The server has the newest first; people read down, whatever the form. */
    List *entries = audit_turn(invocation->arena, object_items(answer));
    map_set_str(invocation->arena, answer.map, STR("items"), value_list(entries));
    if (invocation_flag(invocation, "follow")) {
        return follow(invocation, entries);
    }
    if (kind_print_value(invocation, answer, &code)) {
        return code;
    }
    print_table(invocation, entries);
    return EXIT_OK;
}

/* --- verify ---------------------------------------------------------------------------------- */

static int run_verify(Invocation *invocation)
{
    Value answer;
    int code = cluster_call(
        invocation, &(ClusterRequest){ .method = "GET", .target = STR("/v1/audit-verification") },
        &answer);
    if (code != EXIT_OK) {
        return code;
    }
    bool whole = cluster_bool(answer, "whole");
    if (output_wants_value(invocation)) {
        output_answer(invocation, answer);
    } else if (whole) {
        output_line(invocation->out, "the chain of %" STR_FMT " is whole; its head is %" STR_FMT,
                    STR_ARG(output_count(invocation->arena, cluster_int(answer, "entries"), "entry",
                                         "entries")),
                    STR_ARG(cluster_text(answer, "head")));
    } else {
        output_line(invocation->out, "the chain is broken at entry %lld: %" STR_FMT,
                    (long long)cluster_int(answer, "broken_at"),
                    STR_ARG(cluster_text(answer, "what")));
    }
    return whole ? EXIT_OK : EXIT_FAILED;
}

static int audit_run(Invocation *invocation)
{
    static const Verb verbs[] = {
        { "tail", "", 0, 0, run_tail },
        { "verify", "", 0, 0, run_verify },
        { 0 },
    };
    return verbs_run(invocation, verbs);
}

static const Option options[] = {
    { .name = "lines",
      .letter = 'n',
      .argument = "COUNT",
      .fallback = "20",
      .help = "tail: how many entries" },
    { .name = "follow",
      .letter = 'f',
      .help = "tail: go on with new entries as they are written, until Ctrl-C ends it" },
    OUTPUT_OPTION(KIND_FORMATS, "table", "how to print"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden audit tail", "the last entries, the newest at the end" },
    { "eden audit tail --follow", "goes on with what is asked for from now on" },
    { "eden audit tail -n 500 -o json", "more of them, with everything that is known" },
    { "eden audit verify", "whether nobody has changed or dropped any" },
    { 0 },
};

const Command command_audit = {
    .name = "audit",
    .group = GROUP_CLUSTER,
    .args = "tail|verify",
    .args_min = 1,
    .args_max = 1,
    .choices = "tail|verify",
    .help = "Show who has asked for what, and check that the log of it is whole.",
    .text =
        "'tail' shows the last entries, the newest at the end; with --follow it goes on with new\n"
        "ones, a line each, also after the server was away.\n"
        "\n"
        "What changes something through the API is recorded before it is done and after: who\n"
        "asked, by what they showed, from where, for what, why if they said so, and what came\n"
        "of it. So are refusals. Each entry has the hash of the one before in it: 'verify'\n"
        "looks whether the chain is whole, and its exit code is 1 when it is not. Keep the head\n"
        "that it prints somewhere else: then nobody can make up a whole chain either.",
    .options = options,
    .examples = examples,
    .run = audit_run,
};
