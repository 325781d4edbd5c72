/* eden audit: who has asked for what, and whether the log of it is whole. */
#include "cli/audit_archiving.h"
#include "cli/audit_files.h"
#include "cli/audit_follow.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/verbs.h"

enum {
    TAIL_MAX = 1000
};

/* --- tail ------------------------------------------------------------------------------------ */

/* Fewer than were wanted are there, and this is why. */
static void tell_missing(const Invocation *invocation, int64_t archived, bool is_all)
{
    if (archived > 0 && is_all) {
        output_line(invocation->err, "entries 1 to %lld are archived", (long long)archived);
    }
}

static void print_table(const Invocation *invocation, const List *entries, int64_t archived)
{
    kind_print_table(invocation, kind_find(STR("Audit")), entries);
    if (entries->len == 0 && archived == 0) {
        stream_put_format(invocation->err, "the audit log is empty\n");
    }
}

/* What is there is the beginning of what follows: with -o json a line each, too. */
static int follow(Invocation *invocation, const List *entries, int64_t archived)
{
    bool is_json = invocation_prints(invocation, "json");
    if (!is_json && !invocation_prints(invocation, "name")) {
        print_table(invocation, entries, archived);
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
    Value metadata = value_get_map(answer, "metadata");
    int64_t archived = value_get_int(metadata, "archived");
    map_set_str(invocation->arena, answer.map, STR("items"), value_list(entries));
    tell_missing(invocation, archived, !value_get_bool(metadata, "truncated"));
    if (invocation_flag(invocation, "follow")) {
        return follow(invocation, entries, archived);
    }
    if (kind_print_value(invocation, answer, &code)) {
        return code;
    }
    print_table(invocation, entries, archived);
    return EXIT_OK;
}

/* --- verify ---------------------------------------------------------------------------------- */

static void tell_archived(const Invocation *invocation, Value archived)
{
    if (archived.kind == VALUE_MAP) {
        output_line(
            invocation->out,
            "entries 1 to %lld are archived since %" STR_FMT " by %" STR_FMT
            "; their last hash is %" STR_FMT,
            (long long)value_get_int(archived, "last"), STR_ARG(value_get_text(archived, "time")),
            STR_ARG(value_get_text(archived, "who")), STR_ARG(value_get_text(archived, "hash")));
    }
}

static int run_verify(Invocation *invocation)
{
    Value answer;
    if (invocation->arg_count > 1) {
        return audit_files_verify(invocation);
    }
    int code = cluster_call(
        invocation, &(ClusterRequest){ .method = "GET", .target = STR("/v1/audit-verification") },
        &answer);
    if (code != EXIT_OK) {
        return code;
    }
    bool whole = value_get_bool(answer, "whole");
    if (output_wants_value(invocation)) {
        output_answer(invocation, answer);
    } else if (whole) {
        tell_archived(invocation, value_get_map(answer, "archived"));
        output_line(invocation->out, "the chain of %" STR_FMT " is whole; its head is %" STR_FMT,
                    STR_ARG(output_count(invocation->arena, value_get_int(answer, "entries"),
                                         "entry", "entries")),
                    STR_ARG(value_get_text(answer, "head")));
    } else {
        output_line(invocation->out, "the chain is broken at entry %lld: %" STR_FMT,
                    (long long)value_get_int(answer, "broken_at"),
                    STR_ARG(value_get_text(answer, "what")));
    }
    return whole ? EXIT_OK : EXIT_FAILED;
}

static int audit_run(Invocation *invocation)
{
    static const Verb verbs[] = {
        { "tail", "", 0, 0, run_tail },
        { "verify", "[FILE...]", 0, UINT32_MAX, run_verify },
        { "archive", "", 0, 0, audit_archive_run },
        { 0 },
    };
    return verbs_run(invocation, verbs);
}

static const Option options[] = {
    { .name = "lines",
      .verbs = "tail",
      .letter = 'n',
      .argument = "COUNT",
      .fallback = "20",
      .help = "how many entries to print" },
    { .name = "follow",
      .verbs = "tail",
      .letter = 'f',
      .help = "then print new entries as they are written, until Ctrl-C" },
    { .name = "to",
      .verbs = "archive",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "the file to write; an existing archive is appended to, never replaced" },
    { .name = "before",
      .verbs = "archive",
      .argument = "TIME",
      .help = "only entries older than this: a day, a time in UTC, or an age (90d)" },
    { .name = "keep",
      .verbs = "archive",
      .argument = "COUNT",
      .fallback = "1000",
      .help = "how many of the newest entries stay in the log; at least 1000" },
    OUTPUT_OPTION(KIND_FORMATS, "table", "how to print"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden audit tail", "the last entries, the newest at the end" },
    { "eden audit tail --follow", "goes on with what is asked for from now on" },
    { "eden audit tail -n 500 -o json", "more of them, with everything that is known" },
    { "eden audit verify", "check that no entry was changed or dropped" },
    { "eden audit archive --to audit-2027.ndjson --before 90d --reason 'every quarter'",
      "old entries into a file, and out of the log" },
    { "eden audit verify audit-2026.ndjson", "archives, and that the log goes on behind them" },
    { 0 },
};

const Command command_audit = {
    .name = "audit",
    .group = GROUP_CLUSTER,
    .args = "tail|verify|archive [FILE...]",
    .args_min = 1,
    .args_max = UINT32_MAX,
    .word = WORD_FILE,
    .choices = "tail|verify|archive",
    .help = "Show, verify and archive the audit log.",
    .text =
        "'tail' shows the last entries, the newest at the end; with --follow it goes on with new\n"
        "ones, a line each, also after the server was away.\n"
        "\n"
        "What changes something through the API is recorded before it is done and after: who\n"
        "asked, by what they showed, from where, for what, why if they said so, and what came\n"
        "of it. So are refusals. Each entry has the hash of the one before in it: 'verify'\n"
        "looks whether the chain is whole, and its exit code is 1 when it is not. Keep the head\n"
        "that it prints somewhere else: then even a rewritten chain is detected.\n"
        "\n"
        "'archive' writes the oldest entries to a file (--to, 0600), a line of JSON each as the "
        "log\n"
        "has them, reads it again, and only when it is whole asks the server to drop them. The "
        "log\n"
        "keeps the hash of the last one, and begins there. The newest 1000 entries and those of "
        "the\n"
        "last 7 days always stay. When it was interrupted, the same command goes on. The verb is\n"
        "'archive' on Audit, which of the built-in roles only admin has.\n"
        "\n"
        "'verify FILE...' reads archives, for which no server is needed: each is whole, and they\n"
        "follow each other. With a server that answers, also that its log goes on behind the\n"
        "last one: give it too.",
    .options = options,
    .examples = examples,
    .run = audit_run,
};
