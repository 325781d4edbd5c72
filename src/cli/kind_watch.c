#include "cli/kind_watch.h"

#include "cli/output.h"
#include "cli/reconnect.h"
#include "lang/json.h"

enum {
    LINE_MAX_BYTES = 16 << 20,   /* maximum length of a line in bytes */
    IDLE_TIMEOUT_MS = 60 * 1000, /* an idle server sends a keepalive every 15 seconds */
};

typedef struct KindWatch {
    Invocation *invocation;
    const Kind *kind;
    Arena round; /* memory of one connection, including the objects until the list is complete */
    List *items;
    Buf line, last;  /* the line being received, and the last line that was printed */
    bool is_synced;  /* the complete list was received on this connection */
    bool was_synced; /* the complete list was received at least once */
    bool is_finished;
    Error
        /* why it is finished; none if the output was closed, which is reported when the program
         * exits */
        err;
    Reconnect reconnect;
} KindWatch;

/* --- Printing -------------------------------------------------------------------------------- */

static bool is_json(const KindWatch *watch)
{
    return invocation_prints(watch->invocation, "json");
}

/* Prints "changed  web1  alive  ...": with the columns of the table above. Changes of other fields,
 * such as the progress of a run, are not printed. */
static void print_line(KindWatch *watch, Str type, Value object)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str line = kind_line(watch->invocation, &arena, watch->kind, type, object);
    if (!str_eq(line, buf_str(&watch->last))) {
        output_line(watch->invocation->out, "%" STR_FMT, STR_ARG(line));
        buf_reset(&watch->last);
        buf_put(&watch->last, line);
    }
}

static void print_change(KindWatch *watch, Str type, Value object)
{
    bool is_deleted = str_eq_c(type, "deleted");
    if (invocation_prints(watch->invocation, "name")) {
        if (!is_deleted) { /* -o name prints only existing objects */
            output_line(watch->invocation->out, "%" STR_FMT, STR_ARG(object_name(object)));
        }
    } else if (is_deleted) {
        /* The other columns no longer apply. */
        output_line(watch->invocation->out, "%-8s  %" STR_FMT, "deleted",
                    STR_ARG(object_name(object)));
    } else {
        print_line(watch, type, object);
    }
}

static void print_all(KindWatch *watch)
{
    if (invocation_prints(watch->invocation, "name")) {
        for (uint32_t i = 0; i < watch->items->len; i++) {
            print_change(watch, STR_EMPTY, watch->items->items[i]);
        }
    } else {
        kind_print_table(watch->invocation, watch->kind, watch->items);
    }
}

/* --- Events ---------------------------------------------------------------------------------- */

static bool fail_line(KindWatch *watch)
{
    watch->is_finished = true;
    return error_set(&watch->err, ERROR_OS,
                     "the server's response is not a watch; is it a different version?");
}

static bool handle_line(KindWatch *watch, Str line)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value event;
    Error err;
    if (line.len == 0 || line.data[0] == ':') {
        return true; /* keepalive */
    }
    if (!json_parse_text(&arena, line, NULL, &event, &err)) {
        return fail_line(watch);
    }
    Str type = value_get_text(event, "type");
    Value object = value_get_map(event, "object");
    bool is_object =
        str_eq_c(type, "added") || str_eq_c(type, "changed") || str_eq_c(type, "deleted");
    if (type.len == 0 || (is_object && object.kind != VALUE_MAP)) {
        return fail_line(watch);
    }
    if (str_eq_c(type, "heartbeat")) {
        return true;
    }
    if (is_json(watch)) {
        output_json_text(watch->invocation->out, line);
        stream_put(watch->invocation->out, STR("\n"));
    } else if (is_object && !watch->is_synced) {
        list_push(&watch->round, watch->items, value_copy(&watch->round, object));
    } else if (is_object) {
        print_change(watch, type, object);
    }
    if (str_eq_c(type, "synced") && !watch->is_synced) {
        watch->is_synced = watch->was_synced = true;
        reconnect_done(&watch->reconnect);
        if (!is_json(watch)) {
            print_all(watch);
        }
    }
    return !str_eq_c(type, "resync"); /* "resync": the server will send the list again */
}

static bool on_chunk(void *context, Str bytes)
{
    KindWatch *watch = context;
    bool should_continue = true;
    while (should_continue && bytes.len > 0) {
        size_t end = str_find(bytes, STR("\n"), 0);
        buf_put(&watch->line, str_slice(bytes, 0, end));
        if (watch->line.overflow) {
            return fail_line(watch);
        }
        if (end == STR_NOT_FOUND) {
            break;
        }
        should_continue = handle_line(watch, buf_str(&watch->line));
        buf_reset(&watch->line);
        bytes = str_from_offset(bytes, end + 1);
    }
    if (!stream_flush(watch->invocation->out)) {
        watch->is_finished = true;
        return false;
    }
    return should_continue;
}

/* --- Requests -------------------------------------------------------------------------------- */

static Str target(const KindWatch *watch, const char *selector)
{
    Arena *arena = watch->invocation->arena;
    Str all = arena_format(arena, "/v1/%s?watch=ndjson", watch->kind->plural);
    return selector == NULL
               ? all
               : cluster_target(arena,
                                arena_format(arena, "%" STR_FMT "&selector=", STR_ARG(all)).data,
                                str_from_c(selector));
}

static void begin_round(KindWatch *watch)
{
    arena_clear(&watch->round);
    arena_init(&watch->round, ARENA_UNLIMITED);
    watch->items = list_new(&watch->round, 0);
    watch->is_synced = false;
    buf_reset(&watch->line);
}

static int follow(KindWatch *watch, const char *selector)
{
    Invocation *invocation = watch->invocation, quiet = *invocation;
    const ClusterEndpoint *endpoint = &watch->reconnect.endpoint;
    ClusterStreamHandler handler = { .on_chunk = on_chunk,
                                     .context = watch,
                                     .idle_timeout_ms = IDLE_TIMEOUT_MS };
    ClusterRequest request = { .method = "GET", .target = target(watch, selector) };
    quiet.arena = &watch->round;
    for (;;) {
        Error err = { 0 };
        ClusterRefusal refusal = { .response = value_null() };
        begin_round(watch);
        bool ok = reconnect_check(&watch->reconnect, &err) &&
                  cluster_stream_at(&quiet, endpoint, &request, &handler, &refusal, &err);
        if (ok && !watch->is_finished && !watch->was_synced) {
            (void)fail_line(watch);
        }
        if (watch->is_finished) {
            return watch->err.kind == ERROR_NONE
                       ? EXIT_FAILED
                       : cluster_report_error_at(invocation, endpoint, &watch->err, true);
        }
        if (ok) {
            err = (Error){ 0 };
        }
        if (!watch->was_synced ||
            !reconnect_is_useful(&watch->reconnect, &err, refusal.responded)) {
            refusal.responded = refusal.responded || err.kind == ERROR_CONFLICT;
            return cluster_report_refusal_at(invocation, endpoint, &refusal, &err);
        }
        reconnect_wait(&watch->reconnect, &err);
    }
}

int kind_watch(Invocation *invocation, const Kind *kind, const char *selector)
{
    KindWatch watch = { .invocation = invocation,
                        .kind = kind,
                        .line = buf_make(LINE_MAX_BYTES),
                        .last = buf_make(LINE_MAX_BYTES) };
    if (output_wants_value(invocation) && !is_json(&watch)) {
        return usage_error(invocation, "--watch supports only -o table, name and json");
    }
    Error err;
    if (!reconnect_init(&watch.reconnect, invocation, "the watch", &err)) {
        return cluster_report_error(invocation, &err, false);
    }
    arena_init(&watch.round, ARENA_UNLIMITED);
    int code = follow(&watch, selector);
    arena_clear(&watch.round);
    buf_clear(&watch.line);
    buf_clear(&watch.last);
    return code;
}
