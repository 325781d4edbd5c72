/* Starts, finds and stops runner processes. A runner holds a lock on its events file; the lock, not
 * the process ID, identifies it. */
#include "agent/runner.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "run/run_control.h"
#include "sys/fifo.h"
#include "sys/path_watch.h"
#include "sys/process.h"

enum {
    OUTPUT_READ = 64 << 10, /* size of the output that is searched for an error */
};

struct Runner {
    RunnerOptions options;
    int control; /* named pipe; -1: none */
    DetachedProcess *process;
    PathWatch *files;
};

/* --- Command line ----------------------------------------------------------------------------- */

typedef VEC(const char *) Arguments;

static void put_option(Arena *arena, Arguments *words, const char *option, Str value)
{
    VEC_PUSH(arena, words, option);
    VEC_PUSH(arena, words, arena_copy_c(arena, value));
}

static void put_site_arguments(const RunnerOptions *options, Arena *arena, Arguments *words)
{
    const Order *order = &options->run->order;
    for (uint32_t i = 0; i < order->job_count; i++) {
        put_option(arena, words, "--job", order->jobs[i]);
    }
    if (order->mode.len > 0) {
        put_option(arena, words, "--order", order->mode);
    }
    if (order->version[0] != '\0') {
        put_option(arena, words, "--site-version", str_from_c(order->version));
    }
    if (options->servers != NULL) {
        put_option(arena, words, "--servers", str_from_c(options->servers));
    }
    if (!value_is_missing(order->event)) {
        put_option(
            arena, words, "--event",
            str_from_c(local_run_path(options->node->path, options->run, arena, LOCAL_EVENT)));
    }
    if (strcmp(options->node->root, "/") != 0) {
        put_option(arena, words, "--root", str_from_c(options->node->root));
    }
}

/* A command has a separate state directory, so that it does not wait for the lock. */
static const char *const *make_arguments(const RunnerOptions *options, Arena *arena)
{
    const Order *order = &options->run->order;
    bool is_exec = order->kind == RUN_KIND_EXEC;
    Arguments words = { 0 };
    VEC_PUSH(arena, &words, "eden");
    VEC_PUSH(arena, &words, order->kind == RUN_KIND_PLAN ? "plan" : "apply");
    put_option(arena, &words, "--run-id", str_from_c(order->run));
    put_option(arena, &words, "--events",
               str_from_c(local_run_path(options->node->path, options->run, arena, LOCAL_EVENTS)));
    put_option(arena, &words, "--attempt",
               arena_format(arena, "%u", options->run->state.attempts_before + 1));
    put_option(arena, &words, "--node", options->node->name);
    put_option(arena, &words, "--progress", STR("none"));
    VEC_PUSH(arena, &words, "--control");
    put_option(arena, &words, "--config-dir", str_from_c(options->node->config_dir));
    put_option(
        arena, &words, "--state-dir",
        str_from_c(is_exec ? local_run_path(options->node->path, options->run, arena, LOCAL_STATE)
                           : options->node->state_dir));
    if (!is_exec) {
        put_site_arguments(options, arena, &words);
    }
    VEC_PUSH(arena, &words, "--");
    VEC_PUSH(arena, &words,
             is_exec ? local_run_path(options->node->path, options->run, arena, LOCAL_COMMAND)
                     : options->site);
    VEC_PUSH(arena, &words, NULL);
    return words.items;
}

/* --- Following -------------------------------------------------------------------------------- */

static void process_ended(void *context, DetachedProcessExit end)
{
    Runner *runner = context;
    runner->options.ended(runner->options.context, end);
}

static void files_changed(void *context, const char *name)
{
    Runner *runner = context;
    if (name == NULL || strcmp(name, LOCAL_EVENTS) == 0) {
        runner->options.wrote(runner->options.context);
    }
}

static Runner *new_runner(const RunnerOptions *options)
{
    Runner *runner = memory_new(sizeof *runner);
    runner->options = *options;
    runner->control = -1;
    return runner;
}

static const char *control_path(const RunnerOptions *options, Arena *arena)
{
    return local_run_path(options->node->path, options->run, arena, LOCAL_CONTROL);
}

static void free_runner(Runner *runner)
{
    fifo_close(runner->control);
    free(runner);
}

static DetachedProcessOptions process_options(Runner *runner)
{
    const RunnerOptions *options = &runner->options;
    return (DetachedProcessOptions){ .loop = options->loop,
                                     .program = options->node->program,
                                     .name = options->run->order.run,
                                     .limits = options->node->limits,
                                     .ended = process_ended,
                                     .context = runner };
}

static void follow(Runner *runner)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    const RunnerOptions *options = &runner->options;
    if (!path_watch_new(options->loop,
                        local_run_path(options->node->path, options->run, &arena, ""),
                        files_changed, runner, &runner->files, &err)) {
        log_warning("cannot follow the events of a run; they will be sent when it ends",
                    LOG_C("run", options->run->order.run), LOG_C("error", err.text));
    }
    options->wrote(options->context);
}

/* With its first message. */
static bool open_control(Runner *runner, const char *path, Error *err)
{
    const Order *order = &runner->options.run->order;
    AUTO_CLEAR(Buf) start = buf_make(BUF_UNLIMITED);
    run_control_put_start(&start, order->defines, order->define_count);
    return fifo_make(path, &runner->control, err) &&
           fifo_write(runner->control, buf_str(&start), err);
}

bool runner_start(const RunnerOptions *options, Runner **out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Runner *runner = new_runner(options);
    DetachedProcessOptions how = process_options(runner);
    how.input = control_path(options, &arena);
    if (!open_control(runner, how.input, err) ||
        !detached_process_start(
            &how, make_arguments(options, &arena),
            local_run_path(options->node->path, options->run, &arena, LOCAL_OUTPUT),
            &runner->process, err)) {
        free_runner(runner);
        return error_wrap(err, "cannot start the runner");
    }
    follow(runner);
    *out = runner;
    return true;
}

/* A process that reuses the PID of an ended runner does not hold its lock. */
static bool find(Runner *runner)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    const RunnerOptions *options = &runner->options;
    DetachedProcessOptions how = process_options(runner);
    Error err;
    if (!local_run_open(options->node->directory, options->run, &directory, &err)) {
        return false;
    }
    int64_t writer = run_events_writer(&directory, LOCAL_EVENTS);
    if (writer == 0 || !detached_process_find(&how, (pid_t)writer, &runner->process, &err)) {
        return false;
    }
    if (run_events_writer(&directory, LOCAL_EVENTS) != writer) {
        detached_process_release(TAKE(runner->process));
        return false;
    }
    return true;
}

bool runner_find(const RunnerOptions *options, Runner **out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Runner *runner = new_runner(options);
    Error none; /* a runner that was started by an earlier version of eden has none */
    if (!find(runner)) {
        free_runner(runner);
        return false;
    }
    (void)!fifo_open(control_path(options, &arena), &runner->control, &none);
    follow(runner);
    *out = runner;
    return true;
}

void runner_release(Runner *runner)
{
    if (runner != NULL) {
        detached_process_release(runner->process);
        path_watch_free(runner->files);
        free_runner(runner);
    }
}

pid_t runner_pid(const Runner *runner)
{
    return detached_process_pid(runner->process);
}

void runner_cancel(const Runner *runner, bool now)
{
    AUTO_CLEAR(Buf) message = buf_make(BUF_UNLIMITED);
    Error err;
    run_control_put_cancel(&message, now);
    if (runner->control < 0 || !fifo_write(runner->control, buf_str(&message), &err)) {
        detached_process_interrupt(runner->process, now);
    }
}

void runner_kill(const Runner *runner)
{
    detached_process_kill(runner->process);
}

/* --- Explaining ------------------------------------------------------------------------------- */

static Str describe_exit(DetachedProcessExit end, Arena *arena)
{
    return !end.has_status ? STR("the runner ended without a result")
           : end.by_signal ? arena_format(arena, "the runner was killed by %" STR_FMT,
                                          STR_ARG(process_signal_name(arena, end.status)))
                           : arena_format(arena, "the runner exited with status %d", end.status);
}

Str runner_explain(const RunnerNode *node, const LocalRun *run, DetachedProcessExit end,
                   bool has_begun, Arena *arena)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Str text, how = describe_exit(end, arena);
    Error err;
    if (has_begun && local_run_events(node->directory, run, arena, &text, &err)) {
        Str step = run_events_running(text, arena);
        return step.len == 0
                   ? how
                   : arena_format(arena, "%" STR_FMT " while step '%" STR_FMT "' was running",
                                  STR_ARG(how), STR_ARG(step));
    }
    if (local_run_open(node->directory, run, &directory, &err) &&
        directory_read(&directory, arena, LOCAL_OUTPUT, OUTPUT_READ, &text, &err)) {
        Str output = process_summary(arena, text);
        return output.len == 0
                   ? how
                   : arena_format(arena, "%" STR_FMT ": %" STR_FMT, STR_ARG(how), STR_ARG(output));
    }
    return how;
}
