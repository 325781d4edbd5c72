#include "modules/git/program.h"

#include "base/buf.h"
#include "modules/tool.h"

/* Variables that may have been set for another repository before eden was started. */
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

/* A constant that git passes to a shell; the secrets are in the environment. */
#define HELPER                                                                              \
    "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' \"$EDEN_USERNAME\" " \
    "\"$EDEN_PASSWORD\"; }; f"

/* git passes the path to a shell as part of a command, so it must not contain shell
 * metacharacters. */
static bool check_plain_path(Call *call, const char *name, Error *err)
{
    Str path = call_str(call, name);
    for (size_t i = 0; i < path.len; i++) {
        if (!ascii_is_name(path.data[i]) && memchr("/.+-@:,=", path.data[i], 8) == NULL) {
            return error_set(err, ERROR_INVALID,
                             "'%s' can contain only letters, digits and /._+-@:,=", name);
        }
    }
    return true;
}

static bool check_secret(Call *call, const char *name, Error *err)
{
    Str text = call_str(call, name);
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.data[i] < ' ') {
            return error_set(err, ERROR_INVALID, "'%s' contains a control character", name);
        }
    }
    return true;
}

bool git_begin(Call *call, Git *git, Error *err)
{
    *git = (Git){ .call = call, .directory = STR_EMPTY };
    git->has_account = call_has(call, "user");
    if (call_has(call, "username") != call_has(call, "password")) {
        return error_set(err, ERROR_INVALID, "'username' and 'password' must be set together");
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
    /* Allow local paths only for the repository itself, not for submodules, whose author could
     * choose the path. */
    VEC_PUSH(arena, argv, "-c");
    VEC_PUSH(arena, argv, git->local ? "protocol.file.allow=user" : "protocol.file.allow=never");
    if (call_has(git->call, "password")) {
        VEC_PUSH(arena, argv, "-c");
        VEC_PUSH(arena, argv, "credential.helper=");
    }
    if (call_has(git->call, "password") && git->server.len > 0) {
        /* A redirect or submodule may lead to another server, which must not receive the
         * password. */
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

/* An earlier step may create the user, so the account is looked up only when needed. */
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

/* ssh's messages are more specific than git's. */
static bool is_from_ssh(Str line)
{
    return str_starts(line, STR("ssh: ")) ||
           str_find(line, STR("Permission denied ("), 0) != STR_NOT_FOUND ||
           str_starts(line, STR("Host key verification failed"));
}

/* Extracts git's error message and adds a hint. */
static bool set_failure(Git *git, const Tool *tool, const ProcessResult *result, const char *what,
                        Error *err)
{
    Str rest = result->error_out, line, message = STR_EMPTY;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        if (message.len > 0) {
            break;
        }
        if (str_starts(line, STR("fatal: ")) || str_starts(line, STR("error: "))) {
            message = str_from_offset(line, strlen("fatal: "));
        } else if (is_from_ssh(line)) {
            message = str_trim(line);
        }
    }
    if (result->ending != PROCESS_EXITED || message.len == 0) {
        tool_failure(git->call, tool, result, err);
        return error_wrap(err, "git %s", what);
    }
    bool is_password_withheld =
        call_has(git->call, "password") && str_starts(message, STR("could not read Username for "));
    const char *hint = str_starts(message, STR("Host key verification failed"))
                           ? "; use a step 'ssh.known_host' to add the host key"
                       : is_password_withheld ? "; 'password' is sent only to the server of 'repo'"
                                              : "";
    return error_set(err, ERROR_OS, "git %s: %" STR_FMT "%s", what, STR_ARG(message), hint);
}

bool git_run(Git *git, const char *const *args, Str *out, Error *err)
{
    ProcessResult result;
    Tool tool;
    if (!run(git, args, &result, &tool, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED || result.exit_code != 0) {
        return set_failure(git, &tool, &result, args[0], err);
    }
    if (out != NULL) {
        *out = trim_end(result.out);
    }
    return true;
}

bool git_query(Git *git, const char *const *args, bool *yes, Str *out, Error *err)
{
    ProcessResult result;
    Tool tool;
    if (!run(git, args, &result, &tool, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED) {
        return set_failure(git, &tool, &result, args[0], err);
    }
    *yes = result.exit_code == 0;
    *out = trim_end(result.out);
    return true;
}
