#include "run/shutdown.h"

#include "modules/call.h"
#include "run/command_line.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/machine.h"
#include "sys/process.h"

enum {
    TOOL_TIMEOUT_MS = 120000,
    OUTPUT_MAX = 1 << 16
};

void run_shutdown_load(Run *run)
{
    (void)resume_load(run->config.state, run->arena, run->name, run->home, &run->now.resume);
}

bool run_has_rebooted(const Run *run, uint32_t step, int64_t *asked_ms)
{
    const ResumeStep *asked = resume_find(&run->now.resume, graph_step(run->graph, step)->id);
    if (asked == NULL || str_eq(asked->boot, value_get_text(run->facts, "boot_id"))) {
        return false;
    }
    *asked_ms = asked->asked_ms;
    return true;
}

static bool run_tool(Run *run, const char *const *argv, Error *err)
{
    ProcessSpec spec = {
        .argv = argv, .directory = "/", .timeout_ms = TOOL_TIMEOUT_MS, .output_max = OUTPUT_MAX
    };
    ProcessResult result;
    if (!process_run(run->arena, &spec, &result, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED || result.exit_code != 0) {
        result.error_out = secrets_scrub(run->secrets, result.error_out, run->arena);
        process_failure(run->arena, &result, spec.timeout_ms, err);
        return error_wrap(err, "%s", argv[0]);
    }
    return true;
}

/* --- The command that resumes the run -------------------------------------------------------- */

/* The same run from any directory: paths are absolute. */
static void put_command(Run *run)
{
    const RunConfig *config = &run->config;
    Arena *arena = run->arena;
    CommandWords words = { 0 };
    VEC_PUSH(arena, &words, (CommandWord){ "workers", arena_format(arena, "%u", config->workers) });
    if (config->max_wait_us >= 0) {
        VEC_PUSH(
            arena, &words,
            (CommandWord){ "max-wait", arena_format(arena, "%lldms",
                                                    (long long)(config->max_wait_us / 1000)) });
    }
    command_line_put(arena, config, &words);
    run->now.resume.argv = ARENA_ARRAY(arena, Str, words.len + 1);
    run->now.resume.argv[0] = STR("apply");
    run->now.resume.argc = 1;
    for (uint32_t i = 0; i < words.len; i++) {
        const CommandWord *word = &words.items[i];
        run->now.resume.argv[run->now.resume.argc++] =
            word->option == NULL
                ? word->value
                : arena_format(arena, "--%s=%" STR_FMT, word->option, STR_ARG(word->value));
    }
}

/* --- The note -------------------------------------------------------------------------------- */

static void note_step(Run *run, Str id)
{
    Resume *resume = &run->now.resume;
    ResumeStep step = { id, value_get_text(run->facts, "boot_id"), clock_now_ms() };
    for (uint32_t i = 0; i < resume->step_count; i++) {
        if (str_eq(resume->steps[i].id, id)) {
            resume->steps[i] = step;
            return;
        }
    }
    ResumeStep *steps = ARENA_ARRAY(run->arena, ResumeStep, resume->step_count + 1);
    for (uint32_t i = 0; i < resume->step_count; i++) {
        steps[i] = resume->steps[i];
    }
    steps[resume->step_count++] = step;
    resume->steps = steps;
}

/* The strongest request; NULL: none. */
static const ShutdownRequest *find_shutdown(Run *run, bool *resumes)
{
    const ShutdownRequest *shutdown = NULL;
    *resumes = false;
    for (uint32_t i = 0; i < run->steps.count; i++) {
        const ShutdownRequest *asked = run->now.report.items[i].shutdown;
        if (asked != NULL) {
            note_step(run, graph_step(run->graph, i)->id);
            shutdown = shutdown == NULL || asked->kind > shutdown->kind ? asked : shutdown;
            *resumes = *resumes || asked->resumes;
        }
    }
    return shutdown;
}

static bool ended_well(const Run *run, Str id)
{
    for (uint32_t i = 0; i < run->steps.count; i++) {
        if (str_eq(graph_step(run->graph, i)->id, id)) {
            StepResult result = run->now.report.items[i].status.result;
            return result == RESULT_OK || result == RESULT_CHANGED;
        }
    }
    /* the step was removed from the site; or was not part of this run */
    return run->config.job_count == 0;
}

/* Steps that did not get to see the reboot will see it next time. */
static void drop_settled(Run *run)
{
    Resume *resume = &run->now.resume;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < resume->step_count; i++) {
        if (!ended_well(run, resume->steps[i].id)) {
            resume->steps[kept++] = resume->steps[i];
        }
    }
    resume->step_count = kept;
    resume->resumes = false;
}

static bool drop_unit(Run *run, Error *err)
{
    Resume *others;
    uint32_t count;
    if (!resume_list(run->config.state, run->arena, &others, &count, err)) {
        return false;
    }
    if (count > 0) {
        return true;
    }
    Error ignored; /* systemd also forgets it at the next boot */
    const char *const reload[] = { "systemctl", "daemon-reload", NULL };
    if (!resume_unit_remove(run->host, err) || !host_sync(run->host, err)) {
        return false;
    }
    (void)run_tool(run, reload, &ignored);
    return true;
}

/* Root runs all of these again, possibly after they are gone: /tmp may be empty then, and open to
 * other users. */
static bool check_guarded(Run *run, Error *err)
{
    const RunConfig *config = &run->config;
    Str program;
    if (!machine_own_program(run->arena, &program, err)) {
        return false;
    }
    const char *const paths[] = { arena_copy_c(run->arena, program), config->path, config->state,
                                  config->etc };
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT_OF(paths); i++) {
        ok = file_check_path_protected(run->arena, paths[i], err);
    }
    for (uint32_t i = 0; ok && i < config->var_file_count; i++) {
        ok = file_check_path_protected(run->arena, config->var_files[i], err);
    }
    return ok || error_wrap(err, "the run could not continue safely");
}

static bool note(Run *run, const Directory *state, bool resumes, Error *err)
{
    if (resumes && file_is_on_tmpfs(run->config.path)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "'%s' is in memory and would be lost, so the run could not continue",
                         run->config.path);
    }
    if (resumes && !check_guarded(run, err)) {
        return false;
    }
    bool by_unit = resumes && !run->config.is_supervised;
    run->now.resume.resumes = by_unit;
    put_command(run);
    return resume_save(state, &run->now.resume, err) &&
           (!by_unit || resume_unit_put(run->host, run->arena,
                                        file_absolute(run->arena, run->config.state), err));
}

void run_shutdown_prepare(Run *run, const Directory *state)
{
    bool resumes;
    Error err;
    uint32_t noted = run->now.resume.step_count;
    if (run->now.report.interrupted || run->config.no_reboot) {
        return;
    }
    run->now.shutdown = find_shutdown(run, &resumes);
    if (run->now.shutdown != NULL) {
        run->now.shutdown_ready = note(run, state, resumes, &run->now.shutdown_error);
    } else if (noted > 0) {
        drop_settled(run);
        if (!resume_save(state, &run->now.resume, &err) || !drop_unit(run, &err)) {
            problems_add_severity(run->problems, SEVERITY_WARNING, "E0723", NULL, 0, 0,
                                  "cannot remove the resume record: %s", err.text);
        }
    }
}

bool run_shutdown_ready(const Run *run, Error *err)
{
    if (run->now.shutdown_ready) {
        return true;
    }
    *err = run->now.shutdown_error;
    return error_wrap(err, "not restarting the machine");
}

/* --- Reboot ---------------------------------------------------------------------------------- */

static bool load_kernel(Run *run, const ShutdownRequest *shutdown, Error *err)
{
    Arena *arena = run->arena;
    Str initrd = arena_format(arena, "--initrd=%" STR_FMT, STR_ARG(shutdown->initrd));
    Str line = shutdown->command_line.len == 0 ? STR("--reuse-cmdline")
                                               : arena_format(arena, "--command-line=%" STR_FMT,
                                                              STR_ARG(shutdown->command_line));
    const char *argv[] = { "kexec",
                           "-l",
                           arena_copy_c(arena, shutdown->kernel),
                           arena_copy_c(arena, line),
                           shutdown->initrd.len > 0 ? arena_copy_c(arena, initrd) : NULL,
                           NULL };
    return run_tool(run, argv, err);
}

const char *run_shutdown_name(const Run *run)
{
    static const char *const names[] = {
        [SHUTDOWN_KEXEC] = "kexec",
        [SHUTDOWN_REBOOT] = "reboot",
        [SHUTDOWN_POWEROFF] = "poweroff",
    };
    return run->now.shutdown == NULL ? NULL : names[run->now.shutdown->kind];
}

bool run_shutdown(Run *run, Error *err)
{
    const ShutdownRequest *shutdown = run->now.shutdown;
    Str message = arena_format(run->arena, "--message=%" STR_FMT, STR_ARG(shutdown->message));
    const char *argv[] = { "systemctl", run_shutdown_name(run),
                           shutdown->message.len > 0 ? arena_copy_c(run->arena, message) : NULL,
                           NULL };
    (void)clock_sleep_ms(shutdown->delay_ms, NULL);
    return (shutdown->kind != SHUTDOWN_KEXEC || load_kernel(run, shutdown, err)) &&
           run_tool(run, argv, err);
}
