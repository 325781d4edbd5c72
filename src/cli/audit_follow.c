/* Polls the log: a user who may read the audit log may not watch its keys in the store. Each round
 * first requests only the newest entry, so an idle log costs little. */
#include "cli/audit_follow.h"

#include <stdio.h>

#include "audit/audit_entry.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/reconnect.h"
#include "lang/json.h"
#include "sys/clock.h"

enum {
    POLL_MS = 1000,
};

typedef struct Follow {
    Invocation *invocation;
    Invocation round;  /* copy of the command's invocation with an arena for one round */
    uint64_t last;     /* sequence number of the last printed entry; 0: none */
    uint64_t archived; /* sequence number of the last archived entry; 0: none */
    char hash[AUDIT_HASH_TEXT + 1];
    Reconnect reconnect;
    ClusterRefusal refusal; /* why this round failed */
} Follow;

static uint64_t sequence_of(Value entry)
{
    uint64_t sequence;
    return str_to_u64(object_name(entry), &sequence) ? sequence : 0;
}

List *audit_reverse(Arena *arena, const List *entries)
{
    List *reversed = list_new(arena, entries->len);
    for (uint32_t i = entries->len; i > 0; i--) {
        list_push(arena, reversed, entries->items[i - 1]);
    }
    return reversed;
}

static void set_position(Follow *follow, Value entry)
{
    Str hash = value_get_text(object_status(entry), "hash");
    follow->last = sequence_of(entry);
    snprintf(follow->hash, sizeof follow->hash, "%" STR_FMT, STR_ARG(hash));
}

/* --- Printing -------------------------------------------------------------------------------- */

void audit_print_entry(const Invocation *invocation, Value entry)
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

/* --- Polling --------------------------------------------------------------------------------- */

static bool request(Follow *follow, Str target, Value *out, Error *err)
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
static bool fetch_new(Follow *follow, List *out, Error *err)
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
static void report_gap(const Follow *follow, uint64_t sequence)
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
static bool print_new(Follow *follow, const List *entries, Error *err)
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

static bool poll_once(Follow *follow, Error *err)
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

int audit_follow(Invocation *invocation, const List *printed)
{
    Follow follow = { .invocation = invocation, .round = *invocation };
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
        } else if (reconnect_helps(&follow.reconnect, &err, follow.refusal.responded)) {
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
