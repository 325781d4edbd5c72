/* eden audit: shows, verifies and archives the audit log. */
#include <stdio.h>

#include "audit/audit_entry.h"
#include "cli/audit_archiver.h"
#include "cli/audit_files.h"
#include "cli/cluster_client.h"
#include "cli/kind_command.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/reconnect.h"
#include "lang/json.h"
#include "sys/clock.h"

/* --- Following the log ------------------------------------------------------------------------ */

/* `eden audit tail --follow` prints the audit log as it grows, by polling: a user who may read the
 * audit log may not watch its keys in the store. Each round first requests only the newest entry,
 * so that polling an idle log is cheap. */

enum {
    AUDIT_PAGE = 500,           /* entries per request */
    AUDIT_CATCH_UP_MAX = 10000, /* maximum number of entries printed after a reconnect */
};

enum {
    POLL_MS = 1000,
};

typedef struct AuditTail {
    Invocation *invocation;
    Invocation round;  /* copy of the command's invocation with an arena for one round */
    uint64_t last;     /* sequence number of the last printed entry; 0: none */
    uint64_t archived; /* sequence number of the last archived entry; 0: none */
    char hash[AUDIT_HASH_TEXT + 1];
    Reconnect reconnect;
    ClusterRefusal refusal; /* why this round failed */
} AuditTail;

static uint64_t sequence_of(Value entry)
{
    uint64_t sequence;
    return str_to_u64(object_name(entry), &sequence) ? sequence : 0;
}

/* Reverses the order: the server returns the newest entry first, but it is printed last. */
static List *audit_reverse(Arena *arena, const List *entries)
{
    List *reversed = list_new(arena, entries->len);
    for (uint32_t i = entries->len; i > 0; i--) {
        list_push(arena, reversed, entries->items[i - 1]);
    }
    return reversed;
}

static void set_position(AuditTail *follow, Value entry)
{
    Str hash = value_get_text(object_status(entry), "hash");
    follow->last = sequence_of(entry);
    snprintf(follow->hash, sizeof follow->hash, "%" STR_FMT, STR_ARG(hash));
}

/* --- Printing --------------------------------------------------------------------------------- */

/* Prints one entry on one line, in the format that -o selects. */
static void audit_print_entry(const Invocation *invocation, Value entry)
{
    if (invocation_prints(invocation, "json")) {
        AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
        Error err;
        if (json_print(&line, entry, NULL, &err)) {
            output_json_text(invocation->out, buf_str(&line));
            stream_put(invocation->out, STR("\n"));
        }
    } else if (invocation_prints(invocation, "name")) {
        output_line(invocation->out, "%" STR_FMT, STR_ARG(object_name(entry)));
    } else {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        Str line = kind_line(invocation, &arena, kind_find(STR("Audit")), STR_EMPTY, entry);
        output_line(invocation->out, "%" STR_FMT, STR_ARG(line));
    }
}

/* --- Polling ---------------------------------------------------------------------------------- */

static bool request(AuditTail *follow, Str target, Value *out, Error *err)
{
    ClusterResponse response;
    *out = value_null();
    follow->refusal = (ClusterRefusal){ .target = target, .response = value_null() };
    follow->refusal.responded = cluster_exchange_at(
        &follow->round, &follow->reconnect.endpoint,
        &(ClusterRequest){ .method = "GET", .target = target }, NULL, &response, err);
    if (follow->refusal.responded &&
        cluster_response_read(follow->round.arena, &response, out, err)) {
        return true;
    }
    follow->refusal.response = *out;
    return false;
}

static bool fail_replaced(Error *err)
{
    return error_set(err, ERROR_CONFLICT,
                     "the audit log was replaced: the last printed entry is gone or differs; run "
                     "'eden audit verify' to check the log");
}

/* Fetches the entries after the last printed one, newest first, up to AUDIT_CATCH_UP_MAX. */
static bool fetch_new(AuditTail *follow, List *out, Error *err)
{
    Arena *arena = follow->round.arena;
    Str target = arena_format(arena, "/v1/audit?limit=%d", AUDIT_PAGE);
    for (Str next = target; next.len > 0;) {
        Value page;
        if (!request(follow, next, &page, err)) {
            return false;
        }
        const List *entries = object_items(page);
        Value metadata = value_get_map(page, "metadata");
        Str more = value_get_text(metadata, "continue");
        follow->archived = (uint64_t)value_get_int(metadata, "archived");
        next = more.len == 0
                   ? STR_EMPTY
                   : cluster_target(
                         arena, arena_format(arena, "%" STR_FMT "&continue=", STR_ARG(target)).data,
                         more);
        for (uint32_t i = 0; i < entries->len; i++) {
            if (sequence_of(entries->items[i]) <= follow->last || out->len == AUDIT_CATCH_UP_MAX) {
                return true;
            }
            list_push(arena, out, entries->items[i]);
        }
    }
    return true;
}

/* Reports entries between the last printed one and `sequence`. */
static void report_gap(const AuditTail *follow, uint64_t sequence)
{
    uint64_t last = follow->last;
    if (follow->archived > last) {
        output_line(follow->invocation->err, "entries %llu to %llu are archived",
                    (unsigned long long)last + 1, (unsigned long long)follow->archived);
        last = follow->archived;
    }
    if (sequence > last + 1) {
        output_line(follow->invocation->err,
                    "%llu entries skipped; use 'eden audit tail -n' to show them",
                    (unsigned long long)(sequence - last - 1));
    }
    (void)stream_flush(follow->invocation->err);
}

/* Checks that entries are contiguous, except where some were skipped, and prints them. */
static bool print_new(AuditTail *follow, const List *entries, Error *err)
{
    for (uint32_t i = 0; i < entries->len; i++) {
        Value entry = entries->items[i];
        uint64_t sequence = sequence_of(entry);
        if (follow->last > 0 && sequence > follow->last + 1) {
            report_gap(follow, sequence);
        } else if (follow->last > 0 &&
                   !str_eq_c(value_get_text(object_status(entry), "previous"), follow->hash)) {
            return fail_replaced(err);
        }
        audit_print_entry(&follow->round, entry);
        set_position(follow, entry);
    }
    return true;
}

static bool poll_once(AuditTail *follow, Error *err)
{
    Value newest;
    if (!reconnect_check(&follow->reconnect, err) ||
        !request(follow, STR("/v1/audit?limit=1"), &newest, err)) {
        return false;
    }
    reconnect_done(&follow->reconnect);
    const List *entries = object_items(newest);
    uint64_t last = entries->len > 0 ? sequence_of(entries->items[0]) : 0;
    if (last < follow->last ||
        (last > 0 && last == follow->last &&
         !str_eq_c(value_get_text(object_status(entries->items[0]), "hash"), follow->hash))) {
        return fail_replaced(err);
    }
    if (last == follow->last) {
        return true;
    }
    List *unread = list_new(follow->round.arena, 0);
    return fetch_new(follow, unread, err) &&
           print_new(follow, audit_reverse(follow->round.arena, unread), err);
}

/* Prints every entry after the last one of `printed` (oldest first, may be empty) as it is written,
 * one per line, and reconnects if the server becomes unreachable. Returns an exit code once the log
 * has been replaced, the server rejects the request, or stdout is closed. */
static int audit_follow(Invocation *invocation, const List *printed)
{
    AuditTail follow = { .invocation = invocation, .round = *invocation };
    Error err;
    if (!reconnect_init(&follow.reconnect, invocation, "the audit log", &err)) {
        return cluster_report_error(invocation, &err, false);
    }
    for (uint32_t i = 0; i < printed->len; i++) {
        set_position(&follow, printed->items[i]);
    }
    while (stream_flush(invocation->out)) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        follow.round.arena = &arena;
        follow.refusal = (ClusterRefusal){ .response = value_null() };
        err = (Error){ 0 };
        if (poll_once(&follow, &err)) {
            clock_sleep_ms(POLL_MS, NULL);
        } else if (reconnect_is_useful(&follow.reconnect, &err, follow.refusal.responded)) {
            reconnect_wait(&follow.reconnect, &err);
        } else {
            stream_flush(invocation->out);
            follow.refusal.responded = follow.refusal.responded || err.kind == ERROR_CONFLICT;
            return cluster_report_refusal_at(invocation, &follow.reconnect.endpoint,
                                             &follow.refusal, &err);
        }
    }
    return EXIT_FAILED;
}

enum {
    TAIL_MAX = 1000
};

/* --- tail ------------------------------------------------------------------------------------- */

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
    /* The server returns the newest entry first, but every format prints it last. */
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

/* --- verify ----------------------------------------------------------------------------------- */

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
