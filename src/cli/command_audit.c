/* eden audit: shows, verifies and archives the audit log. */
#include "cli/audit_archiver.h"
#include "cli/audit_files.h"
#include "cli/audit_follow.h"
#include "cli/kind_command.h"
#include "cli/output.h"

enum {
    TAIL_MAX = 1000
};

/* --- tail ------------------------------------------------------------------------------------ */

/* Explains why fewer entries than requested are printed. */
static void report_archived(const Invocation *invocation, int64_t archived, bool is_all)
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

/* Prints the entries found so far, then follows the log. With -o json these are one per line
 * too. */
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
    const char *text = invocation_text(invocation, "lines");
    int64_t lines;
    Value response;
    if (!str_to_i64(str_from_c(text), &lines) || lines < 1 || lines > TAIL_MAX) {
        return usage_error(invocation, "--lines must be a number from 1 to %d, not '%s'", TAIL_MAX,
                           text);
    }
    if (invocation_flag(invocation, "follow") && output_wants_value(invocation) &&
        !invocation_prints(invocation, "json")) {
        return usage_error(invocation, "--follow supports only -o table, name and json");
    }
    Str target = arena_format(invocation->arena, "/v1/audit?limit=%lld", (long long)lines);
    int code =
        cluster_call(invocation, &(ClusterRequest){ .method = "GET", .target = target }, &response);
    if (code != EXIT_OK) {
        return code;
    }
    /* The server returns the newest entry first; output ends with it in every format. */
    List *entries = audit_reverse(invocation->arena, object_items(response));
    Value metadata = value_get_map(response, "metadata");
    int64_t archived = value_get_int(metadata, "archived");
    map_set_str(invocation->arena, response.map, STR("items"), value_list(entries));
    report_archived(invocation, archived, !value_get_bool(metadata, "truncated"));
    if (invocation_flag(invocation, "follow")) {
        return follow(invocation, entries, archived);
    }
    if (kind_print_value(invocation, response, &code)) {
        return code;
    }
    print_table(invocation, entries, archived);
    return EXIT_OK;
}

/* --- verify ---------------------------------------------------------------------------------- */

static void print_archived(const Invocation *invocation, Value archived)
{
    if (archived.kind == VALUE_MAP) {
        output_line(
            invocation->out,
            "entries 1 to %lld were archived on %" STR_FMT " by %" STR_FMT
            "; the hash of the last one is %" STR_FMT,
            (long long)value_get_int(archived, "last"), STR_ARG(value_get_text(archived, "time")),
            STR_ARG(value_get_text(archived, "who")), STR_ARG(value_get_text(archived, "hash")));
    }
}

static int run_verify(Invocation *invocation)
{
    Value response;
    if (invocation->arg_count > 0) {
        return audit_files_verify(invocation);
    }
    int code = cluster_call(
        invocation, &(ClusterRequest){ .method = "GET", .target = STR("/v1/audit-verification") },
        &response);
    if (code != EXIT_OK) {
        return code;
    }
    bool is_intact = value_get_bool(response, "whole");
    if (output_wants_value(invocation)) {
        output_response(invocation, response);
    } else if (is_intact) {
        print_archived(invocation, value_get_map(response, "archived"));
        output_line(invocation->out, "the chain of %" STR_FMT " is intact; its head is %" STR_FMT,
                    STR_ARG(output_count(invocation->arena, value_get_int(response, "entries"),
                                         "entry", "entries")),
                    STR_ARG(value_get_text(response, "head")));
    } else {
        output_line(invocation->out, "the chain is broken at entry %lld: %" STR_FMT,
                    (long long)value_get_int(response, "broken_at"),
                    STR_ARG(value_get_text(response, "what")));
    }
    return is_intact ? EXIT_OK : EXIT_FAILED;
}

static const Option tail_options[] = {
    { .name = "lines",
      .letter = 'n',
      .argument = "COUNT",
      .fallback = "20",
      .help = "number of entries to print" },
    { .name = "follow", .letter = 'f', .help = "keep printing new entries until Ctrl-C" },
    { 0 },
};

static const Option archive_options[] = {
    { .name = "to",
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "file to write; an existing archive is extended, never overwritten" },
    { .name = "before",
      .argument = "TIME",
      .help = "only entries older than this: a date, a time in UTC, or an age (90d)" },
    { .name = "keep",
      .argument = "COUNT",
      .fallback = "1000",
      .help = "number of newest entries to keep in the log; at least 1000" },
    { 0 },
};

static const Verb verbs[] = {
    { .name = "tail",
      .help = "Show the newest entries.",
      .text = "With --follow, prints new entries as they are written, one per line, and\n"
              "reconnects if the server restarts.",
      .options = tail_options,
      .examples = { { "eden audit tail", "show the newest entries, latest last" },
                    { "eden audit tail --follow", "keep printing new entries" },
                    { "eden audit tail -n 500 -o json", "show more entries, with all fields" } },
      .run = run_tail },
    { .name = "verify",
      .args = { { "[FILE...]", WORD_FILE } },
      .help = "Check that no entry was changed or dropped.",
      .text = "Each entry contains the hash of the previous one. The exit code is 1 if the\n"
              "chain is broken. Store the printed head in a safe place: it lets you detect\n"
              "even a rewritten chain.\n"
              "\n"
              "FILE is an archive. Archives can be verified offline; they must be complete and\n"
              "consecutive. If a server is reachable, its log must continue the last archive,\n"
              "so include that archive.",
      .examples = { { "eden audit verify", "check that no entry was changed or dropped" },
                    { "eden audit verify audit-2026.ndjson",
                      "check an archive, and that the log continues it" } },
      .run = run_verify },
    { .name = "archive",
      .help = "Move the oldest entries to a file.",
      .text = "Writes the oldest entries to --to (mode 0600) as one JSON object per line,\n"
              "verifies the file, and then deletes the entries from the log. The log retains\n"
              "the hash of the last archived entry and continues from there. The newest 1000\n"
              "entries and all entries of the last 7 days always stay in the log. If the\n"
              "command is interrupted, run it again.\n"
              "\n"
              "This requires the 'archive' permission on Audit; of the built-in roles, only\n"
              "admin has it.",
      .options = archive_options,
      .examples = { { "eden audit archive --to audit-2027.ndjson --before 90d --reason 'quarterly "
                      "archive'",
                      "move old entries to a file" } },
      .run = audit_archive_run },
    { 0 },
};

const Command command_audit = {
    .name = "audit",
    .group = GROUP_CLUSTER,
    .help = "Show, verify and archive the audit log.",
    .text = "Every change made through the API is recorded before and after it is made: who\n"
            "requested it, the credential and address they used, the operation, the reason if\n"
            "one was given, and the result. Denied requests are recorded too.",
    .options = kind_options,
    .verbs = verbs,
};
