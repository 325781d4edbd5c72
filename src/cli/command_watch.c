/* eden watch: prints changes of the store as they happen. */
#include "base/base64.h"
#include "base/visible.h"
#include "cli/cluster_client.h"
#include "cli/output.h"
#include "cli/reconnect.h"
#include "cli/watch_position.h"
#include "lang/json.h"

enum {
    LINE_LONGEST = 64 << 20,    /* in bytes: two values with every byte escaped */
    SILENCE_MS = 3 * 60 * 1000, /* an idle server sends a keepalive every minute */
};

typedef struct Watching {
    Invocation *invocation;
    WatchPosition position;
    Str store; /* id of the store, once connected */
    Buf line;
    Reconnect reconnect;
    bool stood; /* was connected at least once */
    bool over;  /* nothing more to print */
    int code;   /* exit code if `over` */
    bool json, previous;
} Watching;

/* --- Events ---------------------------------------------------------------------------------- */

static int tell_end(Watching *watching, const char *why, const char *hint)
{
    Inputs inputs;
    inputs_init(&inputs, watching->invocation->arena);
    Problem *problem = problems_add(&inputs.problems, "E0870", NULL, 0, 0, "%s", why);
    problem->hint = str_from_c(hint);
    return inputs_report(&inputs, watching->invocation);
}

static void finish(Watching *watching, const char *why, const char *hint)
{
    watching->over = true;
    watching->code = tell_end(watching, why, hint);
}

/* Returns the string, or decoded bytes with the unprintable ones escaped. */
static Str bytes_of(Arena *arena, Value map, const char *name)
{
    Str encoded = value_get_text(map, arena_format(arena, "%s_base64", name).data), bytes;
    if (encoded.len > 0 && base64_decode(arena, encoded, &bytes)) {
        return bytes;
    }
    return value_get_text(map, name);
}

static void print_event(Watching *watching, Arena *arena, Value event, Str line)
{
    Stream *out = watching->invocation->out;
    if (watching->json) {
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

static void start(Watching *watching, Value event)
{
    Str store = value_get_text(event, "store");
    if (watching->stood && !str_eq(store, watching->store)) {
        finish(watching, "the store was replaced: a backup was restored in the meantime",
               "read the keys again, then watch from that revision");
        return;
    }
    if (!watching->stood) {
        watching->store = arena_copy(watching->invocation->arena, store);
    }
    watch_position_start(&watching->position, value_get_int(event, "revision"));
    watching->stood = true;
    reconnect_done(&watching->reconnect);
}

static void handle(Watching *watching, Arena *arena, Str line)
{
    Value event;
    Error err;
    if (!json_parse_text(arena, line, NULL, &event, &err)) {
        finish(watching, "the server sent something that is not an event",
               "does it run the same version?");
        return;
    }
    Str kind = value_get_text(event, "event");
    int64_t revision = value_get_int(event, "revision");
    if (str_eq_c(kind, "start")) {
        start(watching, event);
    } else if (str_eq_c(kind, "progress")) {
        watch_position_progress(&watching->position, revision);
    } else if (str_eq_c(kind, "put") || str_eq_c(kind, "delete")) {
        if (watch_position_take(&watching->position, revision)) {
            print_event(watching, arena, event, line);
        }
    } else if (str_eq_c(kind, "resync")) {
        if (watching->json) {
            print_event(watching, arena, event, line);
        }
        int64_t from = watching->position.from, compacted = value_get_int(event, "compacted");
        Str why = arena_format(
            arena,
            from > compacted + 1
                ? "revision %lld does not exist yet, or is from another store; this one is at %lld"
                : "changes since revision %lld are no longer available (compacted up to %lld)",
            (long long)from, (long long)compacted);
        finish(watching, why.data, "read the keys again, then watch from that revision");
    } else if (str_eq_c(kind, "error")) {
        Str why = arena_format(arena, "the server cannot continue: %" STR_FMT,
                               STR_ARG(value_get_text(event, "message")));
        finish(watching, why.data, "run 'eden doctor' on the server");
    }
}

/* Splits a piece into lines; the first may have started in an earlier piece. */
static bool take(void *context, Str bytes)
{
    Watching *watching = context;
    while (bytes.len > 0 && !watching->over) {
        size_t end = str_find(bytes, STR("\n"), 0);
        buf_put(&watching->line, str_slice(bytes, 0, end));
        if (watching->line.overflow) {
            finish(watching, "the server sent a line that is too long",
                   "does it run the same version?");
            break;
        }
        if (end == STR_NOT_FOUND) {
            break;
        }
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        handle(watching, &arena, buf_str(&watching->line));
        buf_reset(&watching->line);
        bytes = str_from_offset(bytes, end + 1);
    }
    if (!stream_flush(watching->invocation->out)) {
        watching->over = true;
        watching->code = EXIT_FAILED;
    }
    return !watching->over;
}

/* --- Requests -------------------------------------------------------------------------------- */

static Str target(const Watching *watching, Arena *arena)
{
    const Invocation *invocation = watching->invocation;
    Buf behind = buf_make_in(arena, BUF_UNLIMITED);
    if (watching->position.from > 0) {
        buf_put_format(&behind, "&from=%lld", (long long)watching->position.from);
    }
    buf_put_c(&behind, watching->previous ? "&previous=true" : "");
    return cluster_target_with(
        arena, invocation_flag(invocation, "prefix") ? "/v1/watch?prefix=" : "/v1/watch?key=",
        str_from_c(invocation->args[0]), buf_c(&behind));
}

static int follow(Watching *watching)
{
    Invocation *invocation = watching->invocation, asking = *invocation;
    Reconnect *reconnect = &watching->reconnect;
    ClusterPieces pieces = { take, watching, SILENCE_MS };
    for (;;) {
        AUTO_CLEAR(Arena) round;
        arena_init(&round, ARENA_UNLIMITED);
        asking.arena = &round;
        Error err = { 0 };
        ClusterRequest request = { .method = "GET", .target = target(watching, &round) };
        ClusterRefusal refusal = { .answer = value_null() };
        buf_reset(&watching->line);
        bool ok = reconnect_check(reconnect, &err) &&
                  cluster_stream_at(&asking, &reconnect->end, &request, &pieces, &refusal, &err);
        if (watching->over) {
            return watching->code;
        }
        if (ok && !watching->stood) {
            return tell_end(watching, "the server closed the watch", "");
        }
        if (ok) {
            err = (Error){ 0 };
        }
        if (!watching->stood || !reconnect_helps(reconnect, &err, refusal.asked)) {
            refusal.asked = refusal.asked || err.kind == ERROR_CONFLICT;
            return cluster_tell_refusal_at(invocation, &reconnect->end, &refusal, &err);
        }
        reconnect_wait(reconnect, &err);
    }
}

static int watch_run(Invocation *invocation)
{
    Watching watching = { .invocation = invocation,
                          .line = buf_make(LINE_LONGEST),
                          .json = invocation_prints(invocation, "json"),
                          .previous = invocation_flag(invocation, "previous") };
    const char *from = invocation_text(invocation, "from");
    Error err;
    if (invocation->args[0][0] == '\0') {
        return usage_error(invocation, "KEY must not be empty");
    }
    if (from != NULL &&
        (!str_to_i64(str_from_c(from), &watching.position.from) || watching.position.from < 1)) {
        return usage_error(invocation, "--from must be a revision, 1 or greater");
    }
    if (!reconnect_init(&watching.reconnect, invocation, "the watch", &err)) {
        return cluster_tell(invocation, &err, false);
    }
    int code = follow(&watching);
    buf_clear(&watching.line);
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
    { "eden watch /eden/nodes/ --prefix --from 1 -o json", "all changes still available, as JSON" },
    { 0 },
};

const Command command_watch = {
    .name = "watch",
    .group = GROUP_CLUSTER,
    .args = { { "KEY" } },
    .help = "Watch keys of the store for changes.",
    .text =
        "Prints a line for every change, with its revision, until Ctrl-C. If the server restarts,\n"
        "it resumes where it left off, with a note on standard error: no change is missed or\n"
        "printed twice. If changes are too old to be available, or a backup was restored, it "
        "exits\n"
        "with code 1 and a message; it never leaves a gap.\n"
        "\n"
        "Bytes that are not valid UTF-8 are escaped; with -o json the line has key_base64 or\n"
        "value_base64 instead.",
    .options = options,
    .examples = examples,
    .run = watch_run,
};
