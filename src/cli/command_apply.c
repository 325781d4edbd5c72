/* eden apply: applies a site to this machine. */
#include "base/visible.h"
#include "cli/plan_input.h"
#include "cli/run_command.h"
#include "run/node_paths.h"
#include "run/resume.h"
#include "sys/file.h"
#include "sys/overlay.h"
#include "sys/process.h"

/* --- --resume: runs interrupted by a reboot -------------------------------------------------- */

enum {
    OUTPUT_MAX = 4096 /* output is forwarded line by line */
};

static void print_line(void *context, Str line)
{
    const Invocation *invocation = context;
    stream_put(invocation->err, line);
    stream_put(invocation->err, STR("\n"));
    (void)stream_flush(invocation->err);
}

static bool resume_run(Invocation *invocation, const Resume *resume, int *code, Error *err)
{
    Arena *arena = invocation->arena;
    const char **argv = ARENA_ARRAY(arena, const char *, resume->argc + 2);
    argv[0] = "/proc/self/exe";
    for (uint32_t i = 0; i < resume->argc; i++) {
        argv[i + 1] = arena_copy_c(arena, resume->argv[i]);
    }
    argv[resume->argc + 1] = NULL;
    ProcessSpec spec = { .argv = argv,
                         .directory = "/",
                         .output_max = OUTPUT_MAX,
                         .merge_output = true,
                         .line = print_line,
                         .line_context = invocation };
    ProcessResult result;
    if (!process_run(arena, &spec, &result, err)) {
        return false;
    }
    *code = result.ending == PROCESS_EXITED ? result.exit_code : EXIT_FAILED;
    return true;
}

/* Runs the recorded commands in order. Returns the exit code of the last one that failed, or 0. */
static int run_resume(Invocation *invocation)
{
    const char *state;
    Resume *resumes;
    uint32_t count;
    int worst = EXIT_OK, code;
    Error err;
    if (invocation->arg_count > 0) {
        return usage_error(invocation, "--resume takes no PATH: it resumes recorded runs");
    }
    if (!node_state_path(invocation->arena, invocation_text(invocation, "state-dir"),
                         invocation_text(invocation, "root"), &state, &err) ||
        !resume_list(state, invocation->arena, &resumes, &count, &err)) {
        return run_report_late_error(invocation, &err);
    }
    if (count == 0) {
        stream_put(invocation->err, STR("eden: no run to resume\n"));
    }
    for (uint32_t i = 0; i < count; i++) {
        stream_put_format(invocation->err, "eden: resuming the run of '%" STR_FMT "'\n",
                          STR_ARG(resumes[i].home));
        if (!resume_run(invocation, &resumes[i], &code, &err)) {
            return run_report_late_error(invocation, &err);
        }
        worst = code != EXIT_OK ? code : worst;
    }
    return worst;
}

/* --- --try: a real apply in a temporary overlay ---------------------------------------------- */

typedef struct TryRun {
    Invocation *invocation;
    const RunConfig *config;
} TryRun;

static int report_try_error(Invocation *invocation, Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    error_wrap(err, "cannot use --try");
    return run_report_error(invocation, &inputs, err);
}

/* Prints the changed paths, except those in eden's state directory. */
static void print_changes(const Invocation *invocation, const char *state,
                          const OverlayChanges *changes)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    uint32_t shown = 0;
    Str state_path = file_absolute(invocation->arena, state);
    for (uint32_t i = 0; i < changes->count; i++) {
        Str path = changes->items[i].path;
        if (str_eq(path, state_path) ||
            (str_starts(path, state_path) && path.len > state_path.len &&
             path.data[state_path.len] == '/')) {
            continue;
        }
        buf_put_format(&text, "  %-8s ", overlay_change_name(changes->items[i].kind));
        visible_put(&text, path);
        buf_put_char(&text, '\n');
        shown++;
    }
    Stream *out = invocation_prints(invocation, "text") ? invocation->out : invocation->err;
    stream_put_format(out, shown == 1 ? "%u path would differ%s\n" : "%u paths would differ%s\n",
                      shown, shown > 0 ? ":" : "");
    if (changes->truncated) {
        buf_put(&text, STR("  and more\n"));
    }
    stream_put(out, buf_str(&text));
}

static int apply_inside(const TryRun *attempt, const char *directory)
{
    Invocation *invocation = attempt->invocation;
    OverlaySettings settings = { .directory = directory,
                                 .network = invocation_flag(invocation, "network") };
    Overlay *overlay;
    OverlayChanges changes;
    Error err;
    if (!overlay_enter(invocation->arena, &settings, &overlay, &err)) {
        return report_try_error(invocation, &err);
    }
    int code = run_command(invocation, attempt->config, &(PlanFiles){ 0 });
    if (!overlay_changes(overlay, invocation->arena, &changes, &err)) {
        return run_report_late_error(invocation, &err);
    }
    print_changes(invocation, attempt->config->state, &changes);
    return code;
}

/* Runs in a separate process, which makes all changes and prints all output. */
static int run_inside(void *context, const char *directory)
{
    const TryRun *attempt = context;
    int code = apply_inside(attempt, directory);
    (void)stream_flush(attempt->invocation->out);
    (void)stream_flush(attempt->invocation->err);
    return code;
}

/* Applies in a private overlay, lists every file that changed, and discards the overlay. Returns
 * the exit code of the apply. */
static int run_try(Invocation *invocation, const RunConfig *config)
{
    Error err;
    int code;
    RunConfig sandboxed = *config;
    sandboxed.no_reboot = true; /* a reboot would affect the real machine */
    TryRun attempt = { invocation, &sandboxed };
    return overlay_process_run(run_inside, &attempt, &code, &err)
               ? code
               : report_try_error(invocation, &err);
}

/* --- Command --------------------------------------------------------------------------------- */

static int apply_run(Invocation *invocation)
{
    RunConfig config;
    Value plan;
    bool is_plan;
    int code;
    if (invocation_flag(invocation, "resume")) {
        return run_resume(invocation);
    }
    if (invocation->arg_count == 0) {
        return usage_error(invocation, "PATH is required");
    }
    if (!run_config_get(invocation, &config)) {
        return EXIT_USAGE;
    }
    if (!plan_input_get(invocation, true, &config, &plan, &is_plan, &code)) {
        return code;
    }
    if (is_plan && !plan_input_complete(invocation, plan, &config)) {
        return EXIT_USAGE;
    }
    if (invocation_flag(invocation, "try")) {
        return run_try(invocation, &config);
    }
    PlanFiles plan_files = { .plan = is_plan ? &plan : NULL };
    return run_command(invocation, &config, &plan_files);
}

static const Option options[] = {
    SITE_OPTIONS("also show unchanged steps"),
    RUN_OPTIONS,
    { .name = "resume",
      .help = "resume runs after a reboot; used by a systemd unit, without PATH" },
    { .name = "try", .help = "actually execute the steps, in a temporary copy of this machine" },
    { .name = "network", .help = "with --try: allow network access" },
    { 0 },
};

static const Example examples[] = {
    { "eden apply site/", "apply the site to this node" },
    { "eden apply site/ --order justdoit", "run as many steps in parallel as requisites allow" },
    { "eden apply steps.yaml --root /srv/image -D version=1.4",
      "apply a file of steps to an image" },
    { "eden apply site/ --try",
      "list every file that would change, including files changed by commands" },
    { 0 },
};

const Command command_apply = {
    .name = "apply",
    .group = GROUP_OPERATE,
    .args = { { "[PATH]", WORD_FILE } },
    .help = "Apply a site to this machine.",
    .text =
        "PATH is a site or a single file of steps. Steps run in the order that their requisites\n"
        "require. Each step checks the current state first and changes only what differs. If a\n"
        "step fails, the steps that require it are blocked; all others still run.\n"
        "\n"
        "With --order ansible, one step runs at a time, in file order as far as requisites\n"
        "allow. With justdoit, steps whose requisites are met run in parallel; genius does the\n"
        "same, but starts the longest chain of dependencies first.\n"
        "\n"
        "Previous file contents and owed actions, such as service restarts, are saved in\n"
        "--state-dir. If a run is interrupted, the next run performs the owed actions ('eden\n"
        "owed'). Ctrl-C stops the run after the current steps; a second Ctrl-C kills these\n"
        "steps.\n"
        "\n"
        "PATH can also be a plan saved with 'eden plan --out'. It is rejected (exit code 5) if\n"
        "the site or the machine has changed since it was saved.\n"
        "\n"
        "If a step reboots the machine (machine.reboot), the run resumes automatically.\n"
        "\n"
        "With --try, all steps are actually executed, including commands, but in a private\n"
        "overlay of this machine's file systems, isolated from the network and from other\n"
        "processes. The changes are listed and discarded, and remaining processes are killed.\n"
        "Services, swap, kernel modules and the clock cannot be isolated: steps that change them\n"
        "fail. Requires root.",
    .options = options,
    .internal_options = run_internal_options,
    .examples = examples,
    .run = apply_run,
};
