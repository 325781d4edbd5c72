#include "cli/run_resume.h"

#include "cli/run_command.h"
#include "run/node_paths.h"
#include "run/resume.h"
#include "sys/process.h"

enum {
    OUTPUT_MAX = 4096 /* lines are shown as they come */
};

static void show_line(void *context, Str line)
{
    const Invocation *invocation = context;
    stream_put(invocation->err, line);
    stream_put(invocation->err, STR("\n"));
    (void)stream_flush(invocation->err);
}

static bool continue_one(Invocation *invocation, const Resume *resume, int *code, Error *err)
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
                         .join_output = true,
                         .line = show_line,
                         .line_context = invocation };
    ProcessResult result;
    if (!process_run(arena, &spec, &result, err)) {
        return false;
    }
    *code = result.ending == PROCESS_EXITED ? result.exit_code : EXIT_FAILED;
    return true;
}

int run_resume(Invocation *invocation)
{
    const char *state;
    Resume *resumes;
    uint32_t count;
    int worst = EXIT_OK, code;
    Error err;
    if (invocation->arg_count > 0) {
        return usage_error(invocation, "--resume takes no PATH: it was noted");
    }
    if (!node_state_path(invocation->arena, invocation_text(invocation, "state-dir"),
                         invocation_text(invocation, "root"), &state, &err) ||
        !resume_list(state, invocation->arena, &resumes, &count, &err)) {
        return run_tell_late(invocation, &err);
    }
    if (count == 0) {
        stream_put(invocation->err, STR("eden: there is no run to continue\n"));
    }
    for (uint32_t i = 0; i < count; i++) {
        stream_put_format(invocation->err, "eden: continuing the run of '%" STR_FMT "'\n",
                          STR_ARG(resumes[i].home));
        if (!continue_one(invocation, &resumes[i], &code, &err)) {
            return run_tell_late(invocation, &err);
        }
        worst = code != EXIT_OK ? code : worst;
    }
    return worst;
}
