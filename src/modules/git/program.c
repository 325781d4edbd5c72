#include "modules/git/program.h"

#include "base/buf.h"
#include "modules/tool.h"

/* What a caller of ours may have set for a repository of its own. */
static const char *const foreign[] = {
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_ALLOW_PROTOCOL",
    "GIT_PROTOCOL_FROM_USER",
    "GIT_SSH",
    "GIT_PROXY_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_TEMPLATE_DIR",
    "GIT_CEILING_DIRECTORIES",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_TRACE",
    "GIT_CURL_VERBOSE",
    "GIT_EXEC_PATH",
};

/* A constant for the shell that git gives it to; the secrets are in the environment. */
#define HELPER                                                                              \
    "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' \"$EDEN_USERNAME\" " \
    "\"$EDEN_PASSWORD\"; }; f"

/* What git hands to a shell as part of a command has no character that means something there. */
static bool check_plain_path(Call *call, const char *name, Error *err)
{
    Str path = call_str(call, name);
    for (size_t i = 0; i < path.len; i++) {
        if (!ascii_is_name(path.data[i]) && memchr("/.+-@:,=", path.data[i], 8) == NULL) {
            return error_set(err, ERROR_INVALID,
                             "'%s' is a path of letters, digits and /._+-@:,= only", name);
        }
    }
    return true;
}

static bool check_secret(Call *call, const char *name, Error *err)
{
    Str text = call_str(call, name);
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.data[i] < ' ') {
            return error_set(err, ERROR_INVALID, "'%s' has a control character in it", name);
        }
    }
    return true;
}

bool git_begin(Call *call, Git *git, Error *err)
{
    *git = (Git){ .call = call, .directory = STR_EMPTY };
    git->has_account = call_has(call, "user");
    if (call_has(call, "username") != call_has(call, "password")) {
        return error_set(err, ERROR_INVALID, "'username' and 'password' belong together");
    }
    return check_plain_path(call, "key", err) && check_plain_path(call, "known_hosts", err) &&
           check_secret(call, "username", err) && check_secret(call, "password", err);
}

static const char *setting(Git *git, const char *name, Str value)
{
    return arena_copy_c(git->call->arena,
                        arena_format(git->call->arena, "%s%" STR_FMT, name, STR_ARG(value)));
}

static const char *ssh_command(Git *git)
{
    Call *call = git->call;
    Buf out = buf_make_in(call->arena, BUF_UNLIMITED);
    buf_put_c(&out, "GIT_SSH_COMMAND=ssh -o BatchMode=yes -o StrictHostKeyChecking=yes "
                    "-o ConnectTimeout=30");
    if (call_has(call, "key")) {
        buf_put_format(&out, " -o IdentitiesOnly=yes -i %" STR_FMT, STR_ARG(call_str(call, "key")));
    }
    if (call_has(call, "known_hosts")) {
        buf_put_format(&out,
                       " -o UserKnownHostsFile=%" STR_FMT " -o GlobalKnownHostsFile=/dev/null",
                       STR_ARG(call_str(call, "known_hosts")));
    }
    return buf_c(&out);
}

typedef VEC(const char *) Words;

static void add_environment(Git *git, Words *env)
{
    Call *call = git->call;
    VEC_PUSH(call->arena, env, "GIT_TERMINAL_PROMPT=0");
    VEC_PUSH(call->arena, env, "GIT_ASKPASS=");
    VEC_PUSH(call->arena, env, "SSH_ASKPASS=");
    VEC_PUSH(call->arena, env, ssh_command(git));
    if (call_has(call, "password")) {
        VEC_PUSH(call->arena, env, setting(git, "EDEN_USERNAME=", call_str(call, "username")));
        VEC_PUSH(call->arena, env, setting(git, "EDEN_PASSWORD=", call_str(call, "password")));
    }
    VEC_PUSH(call->arena, env, NULL);
}

static void add_arguments(Git *git, const char *const *args, Words *argv)
{
    static const char *const settings[] = { "core.hooksPath=/dev/null",
                                            "core.fsmonitor=false",
                                            "core.askPass=",
                                            "gc.auto=0",
                                            "advice.detachedHead=false",
                                            "protocol.allow=never",
                                            "protocol.git.allow=always",
                                            "protocol.http.allow=always",
                                            "protocol.https.allow=always",
                                            "protocol.ssh.allow=always" };
    Arena *arena = git->call->arena;
    VEC_PUSH(arena, argv, "env");
    for (size_t i = 0; i < COUNT_OF(foreign); i++) {
        VEC_PUSH(arena, argv, "-u");
        VEC_PUSH(arena, argv, foreign[i]);
    }
    VEC_PUSH(arena, argv, "git");
    VEC_PUSH(arena, argv, "--no-optional-locks");
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        VEC_PUSH(arena, argv, "-c");
        VEC_PUSH(arena, argv, settings[i]);
    }
    /* The repository itself, never a submodule, for which its author would choose the path. */
    VEC_PUSH(arena, argv, "-c");
    VEC_PUSH(arena, argv, git->local ? "protocol.file.allow=user" : "protocol.file.allow=never");
    if (call_has(git->call, "password")) {
        VEC_PUSH(arena, argv, "-c");
        VEC_PUSH(arena, argv, "credential.helper=");
    }
    if (call_has(git->call, "password") && git->server.len > 0) {
        /* A redirect or a submodule may lead to another server, which the password is not for. */
        Str helper =
            arena_format(arena, "credential.%" STR_FMT ".helper=%s", STR_ARG(git->server), HELPER);
        VEC_PUSH(arena, argv, "-c");
        VEC_PUSH(arena, argv, arena_copy_c(arena, helper));
    }
    if (git->directory.len > 0) {
        VEC_PUSH(arena, argv, "-C");
        VEC_PUSH(arena, argv, arena_copy_c(arena, git->directory));
    }
    for (; *args != NULL; args++) {
        VEC_PUSH(arena, argv, *args);
    }
    VEC_PUSH(arena, argv, NULL);
}

/* The user may be made by an earlier step, so they are looked up when they are needed. */
static bool find_account(Git *git, Error *err)
{
    return !git->has_account || git->account.name.len > 0 ||
           host_find_account(git->call->host, git->call->arena, call_str(git->call, "user"),
                             &git->account, err);
}

static bool run(Git *git, const char *const *args, ProcessResult *result, Tool *tool, Error *err)
{
    Words argv = { 0 }, env = { 0 };
    if (!find_account(git, err)) {
        return false;
    }
    add_arguments(git, args, &argv);
    add_environment(git, &env);
    *tool = (Tool){ .argv = argv.items,
                    .env = env.items,
                    .account = git->has_account ? &git->account : NULL };
    return tool_run(git->call, tool, result, err);
}

static Str trim_end(Str text)
{
    while (text.len > 0 && ascii_is_space(text.data[text.len - 1])) {
        text.len--;
    }
    return text;
}

/* What ssh says comes before what git makes of it. */
static bool is_of_ssh(Str line)
{
    return str_starts(line, STR("ssh: ")) ||
           str_find(line, STR("Permission denied ("), 0) != STR_NOT_FOUND ||
           str_starts(line, STR("Host key verification failed"));
}

/* The message of git tells what happened, hints follow it. */
static bool tell_failure(Git *git, const Tool *tool, const ProcessResult *result, const char *what,
                         Error *err)
{
    Str rest = result->error_out, line, told = STR_EMPTY;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        if (told.len > 0) {
            break;
        }
        if (str_starts(line, STR("fatal: ")) || str_starts(line, STR("error: "))) {
            told = str_from_offset(line, strlen("fatal: "));
        } else if (is_of_ssh(line)) {
            told = str_trim(line);
        }
    }
    if (result->ending != PROCESS_EXITED || told.len == 0) {
        tool_failure(git->call, tool, result, err);
        return error_wrap(err, "git %s", what);
    }
    bool asks =
        call_has(git->call, "password") && str_starts(told, STR("could not read Username for "));
    const char *hint = str_starts(told, STR("Host key verification failed"))
                           ? " A step 'ssh.known_host' says by which key the host is known."
                       : asks ? "; 'password' is given to no other server than that of 'repo'"
                              : "";
    return error_set(err, ERROR_OS, "git %s: %" STR_FMT "%s", what, STR_ARG(told), hint);
}

bool git_run(Git *git, const char *const *args, Str *out, Error *err)
{
    ProcessResult result;
    Tool tool;
    if (!run(git, args, &result, &tool, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED || result.exit_code != 0) {
        return tell_failure(git, &tool, &result, args[0], err);
    }
    if (out != NULL) {
        *out = trim_end(result.out);
    }
    return true;
}

bool git_ask(Git *git, const char *const *args, bool *yes, Str *out, Error *err)
{
    ProcessResult result;
    Tool tool;
    if (!run(git, args, &result, &tool, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED) {
        return tell_failure(git, &tool, &result, args[0], err);
    }
    *yes = result.exit_code == 0;
    *out = trim_end(result.out);
    return true;
}
