/* Follows a run: its events, and what the server reports about targets without events. */
#include "base/utc.h"
#include "cli/fleet_run.h"
#include "cli/fleet_view.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/run_stream.h"
#include "sys/clock.h"

enum {
    QUERY_INTERVAL_US = 2 * 1000 * 1000, /* interval of queries about targets without events */
    /* time without events after which running targets are queried too */
    SILENCE_US = 5 * 1000 * 1000,
    QUERY_TIMEOUT_MS = 2000, /* timeout of such a query */
    NODES_QUERIED_MAX = 1000,
};

typedef struct Watch {
    Invocation *invocation;
    Str run;
    FleetView view;
    int64_t queried_us;
} Watch;

/* --- Targets without events ------------------------------------------------------------------ */

/* Errors are not reported, because the stream reports them. */
static bool query(const Watch *watch, Arena *arena, Str target, Value *out)
{
    Invocation quiet = *watch->invocation;
    bool responded;
    Error err;
    quiet.arena = arena;
    return cluster_send(
        &quiet,
        &(ClusterRequest){ .method = "GET", .target = target, .timeout_ms = QUERY_TIMEOUT_MS }, out,
        &responded, &err);
}

static void add_nodes(Watch *watch, Arena *arena, const char *outcome)
{
    Value page;
    Str target = cluster_target_with(
        arena, "/v1/runs/", watch->run,
        arena_format(arena, "/nodes?limit=%d&outcome=%s", NODES_QUERIED_MAX, outcome).data);
    if (!query(watch, arena, target, &page)) {
        return;
    }
    const List *nodes = value_get_list(page, "nodes");
    for (uint32_t i = 0; i < nodes->len; i++) {
        Value node = nodes->items[i];
        fleet_view_add_missing(&watch->view,
                               &(FleetMissing){ .node = value_get_text(node, "node"),
                                                .outcome = str_from_c(outcome),
                                                .reason = value_get_text(node, "reason"),
                                                .until = value_get_text(node, "waits_until") });
    }
}

static void query_missing(Watch *watch)
{
    static const char *const outcomes[] = { "waiting", "silent", "pending", "running" };
    AUTO_CLEAR(Arena) arena;
    Value run;
    FleetView *view = &watch->view;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!query(watch, &arena, cluster_target(&arena, "/v1/runs/", watch->run), &run)) {
        return;
    }
    Value counts = value_get_map(object_status(run), "counts");
    bool is_canceled = value_get_bool(object_status(run), "canceled");
    fleet_view_reset_missing(view);
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        bool is_running = strcmp(outcomes[i], "running") == 0;
        if (value_get_int(counts, outcomes[i]) > 0 && (!is_running || is_canceled)) {
            add_nodes(watch, &arena, outcomes[i]);
        }
    }
    fleet_view_show_missing(view);
}

/* --- Streaming ------------------------------------------------------------------------------- */

static void on_line(void *context, Str line)
{
    Watch *watch = context;
    fleet_view_add(&watch->view, line);
}

static bool on_batch(void *context)
{
    Watch *watch = context;
    fleet_view_flush(&watch->view);
    return true;
}

static void on_tick(void *context)
{
    Watch *watch = context;
    const FleetView *view = &watch->view;
    int64_t now_us = clock_monotonic_us();
    bool is_needed = view->started < view->targets || now_us - view->event_us >= SILENCE_US;
    if (view->mode != PROGRESS_NONE && is_needed &&
        now_us - watch->queried_us >= QUERY_INTERVAL_US) {
        query_missing(watch);
        watch->queried_us = clock_monotonic_us();
    }
    fleet_view_tick(&watch->view);
}

static void on_break(void *context, const char *why)
{
    Watch *watch = context;
    fleet_view_interrupt(&watch->view, why == NULL ? STR_EMPTY : str_from_c(why));
}

static void on_resume(void *context)
{
    Watch *watch = context;
    fleet_view_resume(&watch->view);
}

static int64_t age_ms(Value run)
{
    int64_t created_ms, now_ms = clock_now_ms();
    bool is_known = utc_parse(value_get_text(object_status(run), "created"), &created_ms);
    return is_known && created_ms < now_ms ? now_ms - created_ms : 0;
}

static void print_start(const Watch *watch)
{
    const Invocation *invocation = watch->invocation;
    Str count = output_count(invocation->arena, watch->view.targets, "node", "nodes");
    output_line(invocation->err,
                "run %" STR_FMT " on %" STR_FMT "; Ctrl-C stops watching, 'eden runs cancel "
                "%" STR_FMT "' stops the run",
                STR_ARG(watch->run), STR_ARG(count), STR_ARG(watch->run));
    (void)stream_flush(invocation->err);
}

int fleet_run_watch(Invocation *invocation, Value run)
{
    Watch watch = { .invocation = invocation,
                    .run = object_name(run),
                    .queried_us = clock_monotonic_us() };
    FleetViewOptions options = {
        .stream = invocation->err,
        .run = watch.run,
        .what = value_get_text(value_get_map(run, "spec"), "version"),
        .targets = (uint32_t)value_get_int(object_status(run), "targets"),
        .age_ms = age_ms(run),
    };
    if (!progress_mode_from_name(str_from_c(invocation_text(invocation, "progress")),
                                 invocation->can_redraw_err, &options.mode)) {
        return EXIT_USAGE;
    }
    fleet_view_init(&watch.view, invocation->arena, &options);
    if (options.mode == PROGRESS_PLAIN || options.mode == PROGRESS_TTY) {
        print_start(&watch);
    }
    int code = run_stream(invocation, &(RunStream){ .what = "the watch",
                                                    .run = watch.run,
                                                    .follows = true,
                                                    .on_line = on_line,
                                                    .on_batch = on_batch,
                                                    .on_tick = on_tick,
                                                    .tick_ms = FLEET_VIEW_TICK_MS,
                                                    .on_break = on_break,
                                                    .on_resume = on_resume,
                                                    .is_quiet = options.mode == PROGRESS_JSON ||
                                                                options.mode == PROGRESS_NONE,
                                                    .context = &watch });
    fleet_view_end(&watch.view);
    fleet_view_clear(&watch.view);
    if (code == EXIT_OK) {
        code = fleet_run_get(invocation, watch.run, &run);
    }
    return code == EXIT_OK ? fleet_run_report(invocation, run) : code;
}
