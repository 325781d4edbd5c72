/* eden watch: prints changes to the store as they happen. */
#include "base/base64.h"
#include "base/visible.h"
#include "cli/cluster_client.h"
#include "cli/output.h"
#include "cli/reconnect.h"
#include "cli/watch_position.h"
#include "lang/json.h"

enum {
    LINE_MAX_BYTES = 64 << 20,       /* two values with every byte escaped */
    IDLE_TIMEOUT_MS = 3 * 60 * 1000, /* an idle server sends a keepalive every minute */
};

typedef struct Watch {
    Invocation *invocation;
    WatchPosition position;
    Str store; /* ID of the store, once connected */
    Buf line;
    Reconnect reconnect;
    bool was_connected; /* has been connected at least once */
    bool is_done;       /* nothing more to print */
    int code;           /* exit code if `is_done` */
    bool json, previous;
} Watch;

/* --- Events ---------------------------------------------------------------------------------- */

static int report_end(Watch *watch, const char *reason, const char *hint)
{
    Inputs inputs;
    inputs_init(&inputs, watch->invocation->arena);
    Problem *problem = problems_add(&inputs.problems, "E0870", NULL, 0, 0, "%s", reason);
    problem->hint = str_from_c(hint);
    return inputs_report(&inputs, watch->invocation);
}

static void finish(Watch *watch, const char *reason, const char *hint)
{
    watch->is_done = true;
    watch->code = report_end(watch, reason, hint);
}

/* Returns the string, or the decoded bytes with unprintable ones escaped. */
static Str bytes_of(Arena *arena, Value map, const char *name)
{
    Str encoded = value_get_text(map, arena_format(arena, "%s_base64", name).data), bytes;
    if (encoded.len > 0 && base64_decode(arena, encoded, &bytes)) {
        return bytes;
    }
    return value_get_text(map, name);
}

static void print_event(Watch *watch, Arena *arena, Value event, Str line)
{
    Stream *out = watch->invocation->out;
    if (watch->json) {
        output_json_text(out, line);
        stream_put(out, STR("\n"));
        return;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Str kind = value_get_text(event, "event");
    buf_put_format(&text, "%lld %" STR_FMT " ", (long long)value_get_int(event, "revision"),
                   STR_ARG(kind));
    visible_put(&text, bytes_of(arena, event, "key"));
    if (str_eq_c(kind, "put")) {
        buf_put_char(&text, ' ');
        visible_put(&text, bytes_of(arena, event, "value"));
    }
    const Value *previous = value_get(event, STR("previous"));
    if (previous != NULL && previous->kind == VALUE_MAP) {
        buf_put_c(&text, "\n    was ");
        visible_put(&text, bytes_of(arena, *previous, "value"));
    }
    buf_put_char(&text, '\n');
    stream_put(out, buf_str(&text));
}

static void start(Watch *watch, Value event)
{
    Str store = value_get_text(event, "store");
    if (watch->was_connected && !str_eq(store, watch->store)) {
        finish(watch, "the store was replaced: a backup has been restored",
               "read the keys again, then watch from that revision");
        return;
    }
    if (!watch->was_connected) {
        watch->store = arena_copy(watch->invocation->arena, store);
    }
    watch_position_start(&watch->position, value_get_int(event, "revision"));
    watch->was_connected = true;
    reconnect_done(&watch->reconnect);
}

static void handle_event(Watch *watch, Arena *arena, Str line)
{
    Value event;
    Error err;
    if (!json_parse_text(arena, line, NULL, &event, &err)) {
        finish(watch, "the server sent an invalid event",
               "check that the server runs the same version of eden");
        return;
    }
    Str kind = value_get_text(event, "event");
    int64_t revision = value_get_int(event, "revision");
    if (str_eq_c(kind, "start")) {
        start(watch, event);
    } else if (str_eq_c(kind, "progress")) {
        watch_position_progress(&watch->position, revision);
    } else if (str_eq_c(kind, "put") || str_eq_c(kind, "delete")) {
        if (watch_position_add(&watch->position, revision)) {
            print_event(watch, arena, event, line);
        }
    } else if (str_eq_c(kind, "resync")) {
        if (watch->json) {
            print_event(watch, arena, event, line);
        }
        int64_t from = watch->position.next_revision, compacted = value_get_int(event, "compacted");
        Str reason = arena_format(
            arena,
            from > compacted + 1
                ? "revision %lld does not exist yet, or is from another store; this one is at %lld"
                : "changes since revision %lld are no longer available (compacted up to %lld)",
            (long long)from, (long long)compacted);
        finish(watch, reason.data, "read the keys again, then watch from that revision");
    } else if (str_eq_c(kind, "error")) {
        Str reason = arena_format(arena, "the server cannot continue: %" STR_FMT,
                                  STR_ARG(value_get_text(event, "message")));
        finish(watch, reason.data, "run 'eden doctor' on the server");
    }
}

/* Splits chunks into lines; a line may span several chunks. */
static bool on_chunk(void *context, Str bytes)
{
    Watch *watch = context;
    while (bytes.len > 0 && !watch->is_done) {
        size_t end = str_find(bytes, STR("\n"), 0);
        buf_put(&watch->line, str_slice(bytes, 0, end));
        if (watch->line.overflow) {
            finish(watch, "the server sent a line that is too long",
                   "check that the server runs the same version of eden");
            break;
        }
        if (end == STR_NOT_FOUND) {
            break;
        }
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        handle_event(watch, &arena, buf_str(&watch->line));
        buf_reset(&watch->line);
        bytes = str_from_offset(bytes, end + 1);
    }
    if (!stream_flush(watch->invocation->out)) {
        watch->is_done = true;
        watch->code = EXIT_FAILED;
    }
    return !watch->is_done;
}

/* --- Requests -------------------------------------------------------------------------------- */

static Str target(const Watch *watch, Arena *arena)
{
    const Invocation *invocation = watch->invocation;
    Buf parameters = buf_make_in(arena, BUF_UNLIMITED);
    if (watch->position.next_revision > 0) {
        buf_put_format(&parameters, "&from=%lld", (long long)watch->position.next_revision);
    }
    buf_put_c(&parameters, watch->previous ? "&previous=true" : "");
    return cluster_target_with(
        arena, invocation_flag(invocation, "prefix") ? "/v1/watch?prefix=" : "/v1/watch?key=",
        str_from_c(invocation->args[0]), buf_c(&parameters));
}

static int follow(Watch *watch)
{
    Invocation *invocation = watch->invocation, request_invocation = *invocation;
    Reconnect *reconnect = &watch->reconnect;
    ClusterStreamHandler handler = { on_chunk, watch, IDLE_TIMEOUT_MS };
    for (;;) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        request_invocation.arena = &arena;
        Error err = { 0 };
        ClusterRequest request = { .method = "GET", .target = target(watch, &arena) };
        ClusterRefusal refusal = { .response = value_null() };
        buf_reset(&watch->line);
        bool ok = reconnect_check(reconnect, &err) &&
                  cluster_stream_at(&request_invocation, &reconnect->endpoint, &request, &handler,
                                    &refusal, &err);
        if (watch->is_done) {
            return watch->code;
        }
        if (ok && !watch->was_connected) {
            return report_end(watch, "the server closed the watch", "");
        }
        if (ok) {
            err = (Error){ 0 };
        }
        if (!watch->was_connected || !reconnect_is_useful(reconnect, &err, refusal.responded)) {
            refusal.responded = refusal.responded || err.kind == ERROR_CONFLICT;
            return cluster_report_refusal_at(invocation, &reconnect->endpoint, &refusal, &err);
        }
        reconnect_wait(reconnect, &err);
    }
}

static int watch_run(Invocation *invocation)
{
    Watch watch = { .invocation = invocation,
                    .line = buf_make(LINE_MAX_BYTES),
                    .json = invocation_prints(invocation, "json"),
                    .previous = invocation_flag(invocation, "previous") };
    const char *from = invocation_text(invocation, "from");
    Error err;
    if (invocation->args[0][0] == '\0') {
        return usage_error(invocation, "KEY must not be empty");
    }
    if (from != NULL && (!str_to_i64(str_from_c(from), &watch.position.next_revision) ||
                         watch.position.next_revision < 1)) {
        return usage_error(invocation, "--from must be a revision, 1 or greater");
    }
    if (!reconnect_init(&watch.reconnect, invocation, "the watch", &err)) {
        return cluster_report_error(invocation, &err, false);
    }
    int code = follow(&watch);
    buf_clear(&watch.line);
    return code;
}

static const Option options[] = {
    { .name = "prefix", .help = "watch all keys that start with KEY" },
    { .name = "from",
      .argument = "REVISION",
      .help = "first revision to print; default: the next one" },
    { .name = "previous", .help = "also print the previous value" },
    CLUSTER_OPTIONS,
    OUTPUT_OPTION("text|json", "text", "output format; json prints one line per change"),
    { 0 },
};

static const Example examples[] = {
    { "eden watch /eden/nodes/ --prefix", "watch nodes being added, changed and removed" },
    { "eden watch /eden/nodes/ --prefix --from 1 -o json",
      "print all changes still available, as JSON" },
    { 0 },
};

const Command command_watch = {
    .name = "watch",
    .group = GROUP_CLUSTER,
    .args = { { "KEY" } },
    .help = "Watch keys in the store for changes.",
    .text =
        "Prints a line for every change, with its revision, until Ctrl-C. If the server\n"
        "restarts, the command prints a note on standard error and resumes where it left off: no\n"
        "change is missed or printed twice. If changes are no longer available, or a backup has\n"
        "been restored, it exits with code 1 instead of skipping changes.\n"
        "\n"
        "Bytes that are not valid UTF-8 are escaped; with -o json, the line contains key_base64\n"
        "or value_base64 instead.",
    .options = options,
    .examples = examples,
    .run = watch_run,
};
