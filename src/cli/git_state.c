#include "cli/git_state.h"

#include "sys/process.h"

enum {
    GIT_MS = 10000,
    GIT_OUTPUT_MAX = 64 << 10
};

/* Returns git's output without the last newline; false if git failed. */
static bool run_git(Arena *arena, const char *directory, const char *const *args, Str *out)
{
    const char *argv[12] = { "git", "--no-optional-locks", "-C", directory };
    const char *const extra[] = { "GIT_TERMINAL_PROMPT=0", "LC_ALL=C.UTF-8", NULL };
    ProcessSpec spec = { .argv = argv,
                         .env = process_environment(arena, extra),
                         .timeout_ms = GIT_MS,
                         .output_max = GIT_OUTPUT_MAX };
    ProcessResult result;
    Error err;
    uint32_t count = 4;
    for (; *args != NULL && count + 1 < COUNT_OF(argv); args++) {
        argv[count++] = *args;
    }
    if (!process_run(arena, &spec, &result, &err) || result.ending != PROCESS_EXITED ||
        result.exit_code != 0) {
        return false;
    }
    *out = str_trim(result.out);
    return true;
}

static Str shorten(Str text)
{
    return str_slice(text, 0, VERSION_TEXT_MAX);
}

void git_state_read(Arena *arena, const char *directory, VersionSource *out)
{
    static const char *const log[] = { "log", "-1", "--format=%H%n%an <%ae>%n%s", NULL };
    static const char *const branch[] = { "symbolic-ref", "--short", "-q", "HEAD", NULL };
    static const char *const status[] = { "status", "--porcelain", "--", ".", NULL };
    Str text, changes;
    if (!run_git(arena, directory, log, &text)) {
        return;
    }
    (void)str_split_next(&text, '\n', &out->commit);
    (void)str_split_next(&text, '\n', &out->author);
    (void)str_split_next(&text, '\n', &out->subject);
    out->author = shorten(out->author);
    out->subject = shorten(out->subject);
    if (run_git(arena, directory, status, &changes) && changes.len > 0) {
        out->commit = arena_join(arena, out->commit, STR("-dirty"), STR_EMPTY);
    }
    if (run_git(arena, directory, branch, &text)) {
        out->branch = shorten(text);
    }
}
