/* cmd.*: commands and scripts.
 *
 * A command that ran counts as changed; one that its guards prevent from running is ok. Guards must
 * not change anything, because a plan evaluates them too. In a reaction, the command runs without
 * evaluating its guards. */
#include "modules/call.h"
#include "modules/command.h"
#include "modules/command_provides.h"
#include "modules/scratch.h"
#include "modules/tool.h"

static Command command_of(Call *call, Value command)
{
    return (Command){
        .command = command,
        .shell = call_str(call, "shell"),
        .directory = call_str(call, "cwd"),
        .env = call_param(call, "env"),
        .user = call_str(call, "user"),
        .input = call_str(call, "stdin"),
        .umask = call_int(call, "umask", 0),
        .has_umask = call_has(call, "umask"),
        .timeout_ms = call_int(call, "timeout", 0),
        .output_max = call_int(call, "output_limit", COMMAND_OUTPUT_MAX),
    };
}

/* --- Guards ---------------------------------------------------------------------------------- */

static bool all_paths_exist(Call *call, bool *out, Error *err)
{
    Value paths = call_param(call, "creates");
    *out = value_is_sequence(paths) && paths.list->len > 0;
    for (uint32_t i = 0; *out && i < paths.list->len; i++) {
        FileInfo info;
        if (!host_stat(call->host, value_str(paths.list->items[i]), &info, err)) {
            return error_wrap(err, "creates");
        }
        *out = info.kind != FILE_ABSENT;
    }
    return true;
}

/* Exit codes of a shell that could not run a command: not executable, or not found. */
static bool is_launch_failure(int exit_code)
{
    return exit_code == 126 || exit_code == 127;
}

/* Runs the guard of that name. */
static bool run_guard(Call *call, const char *name, int *exit_code, Error *err)
{
    ProcessResult result;
    Command guard = command_of(call, call_param(call, name));
    guard.input = STR_EMPTY;
    if (!command_execute(call, &guard, &result, err)) {
        error_wrap(err, "%s", name);
        return call_blame(call, name);
    }
    if (result.ending != PROCESS_EXITED) {
        command_failure(call, &guard, &result, err);
        error_wrap(err, "%s", name);
        return call_blame(call, name);
    }
    *exit_code = result.exit_code;
    /* A missing program is a valid answer for `unless: tool --version`. But with `onlyif`, a guard
     * that cannot run would silently prevent the command from ever running. */
    if (strcmp(name, "onlyif") == 0 && is_launch_failure(result.exit_code)) {
        command_failure(call, &guard, &result, err);
        error_wrap(err, "%s", name);
        return call_blame(call, name);
    }
    return true;
}

/* Sets `*skip_reason` if a guard prevents the command from running; otherwise, to an empty
 * string. */
static bool evaluate_guards(Call *call, Str *skip_reason, Error *err)
{
    bool created;
    int code;
    *skip_reason = STR_EMPTY;
    if (!all_paths_exist(call, &created, err)) {
        return false;
    }
    if (created) {
        *skip_reason = STR("not run because of 'creates'");
        return true;
    }
    if (call_has(call, "unless")) {
        if (!run_guard(call, "unless", &code, err)) {
            return false;
        }
        if (code == 0) {
            *skip_reason = STR("not run because of 'unless', which exited with 0");
            return true;
        }
    }
    if (call_has(call, "onlyif")) {
        if (!run_guard(call, "onlyif", &code, err)) {
            return false;
        }
        if (code != 0) {
            *skip_reason = arena_format(call->arena,
                                        "not run because of 'onlyif', which exited with %d", code);
        }
    }
    return true;
}

/* --- Planning -------------------------------------------------------------------------------- */

/* Stats the directory. Follows symlinks, but fails if root would follow a symlink owned by
 * another user. */
static bool stat_directory(Call *call, Str directory, FileInfo *info, Error *err)
{
    Str inside = arena_join(call->arena, directory, STR("/."), STR_EMPTY);
    return host_stat(call->host, directory, info, err) &&
           (info->kind != FILE_LINK || info->planned || host_stat(call->host, inside, info, err));
}

/* Checks the user and working directory of the command and its guards. */
static bool check_user_and_directory(Call *call, Error *err)
{
    uid_t uid;
    FileInfo info;
    Str user = call_str(call, "user"), directory = call_str(call, "cwd");
    bool as_root = user.len == 0;
    if (user.len > 0 && host_find_user(call->host, user, &uid, NULL, err)) {
        as_root = uid == 0;
    } else if (user.len > 0 &&
               (err->kind != ERROR_NOT_FOUND || !call_report_missing(call, "user", "user", user))) {
        return false;
    }
    if (directory.len == 0) {
        return true;
    }
    if (!stat_directory(call, directory, &info, err)) {
        /* A command that runs as another user may follow any symlink. */
        return (!as_root && err->kind == ERROR_DENIED) || call_blame(call, "cwd");
    }
    if (info.kind == FILE_DIRECTORY || info.kind == FILE_LINK ||
        call_report_missing(call, "cwd", "path", directory)) {
        return true;
    }
    return info.kind == FILE_ABSENT
               ? error_set(err, ERROR_NOT_FOUND, "directory '%" STR_FMT "' does not exist",
                           STR_ARG(directory))
               : error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a directory",
                           STR_ARG(directory), file_kind_name(info.kind));
}

/* A guard cannot be evaluated during a plan: an earlier step may create what it needs. */
static bool guard_unavailable(Call *call, Outcome *outcome, const Error *err)
{
    if (!call->planning || err->kind == ERROR_INVALID) {
        return false;
    }
    outcome->changed = outcome->unknown = true;
    outcome->comment = arena_copy(call->arena, str_from_c(err->text));
    if (!call_has(call, "onlyif")) {
        return true;
    }
    Str program = command_program(call, call_param(call, "onlyif"));
    return err->kind == ERROR_TIMEOUT || call_report_missing(call, "onlyif", "program", program);
}

static bool cmd_check(Call *call, Outcome *outcome, Error *err)
{
    Str skip_reason;
    bool created;
    if (!all_paths_exist(call, &created, err)) {
        return false;
    }
    if (!created && call->planning && !check_user_and_directory(call, err)) {
        return false;
    }
    bool has_guards = call_has(call, "unless") || call_has(call, "onlyif");
    if (!created && has_guards && call->provided_by.len > 0) {
        outcome->changed = outcome->unknown = true;
        return true;
    }
    if (!evaluate_guards(call, &skip_reason, err)) {
        return guard_unavailable(call, outcome, err);
    }
    outcome->changed = skip_reason.len == 0;
    outcome->comment = skip_reason;
    return true;
}

static bool check_codes(Call *call, Error *err)
{
    Value codes = call_param(call, "success_codes");
    for (uint32_t i = 0; value_is_sequence(codes) && i < codes.list->len; i++) {
        int64_t code;
        if (!str_to_i64(value_str(codes.list->items[i]), &code) || code < 0 || code > UINT8_MAX) {
            return error_set(err, ERROR_INVALID,
                             "'success_codes' must be exit codes from 0 to 255, not '%" STR_FMT "'",
                             STR_ARG(value_str(codes.list->items[i])));
        }
    }
    return true;
}

static bool verify_run_params(Call *call, Error *err)
{
    Value command = call_param(call, "cmd");
    bool is_empty = value_is_string(command) && str_trim(value_str(command)).len == 0;
    return (!is_empty || error_set(err, ERROR_INVALID, "'cmd' is empty")) && check_codes(call, err);
}
CALL_VERIFY(run_verify, verify_run_params)

static bool is_success(Call *call, int exit_code)
{
    Value codes = call_param(call, "success_codes");
    if (!value_is_sequence(codes)) {
        return exit_code == 0;
    }
    for (uint32_t i = 0; i < codes.list->len; i++) {
        int64_t code;
        if (str_to_i64(value_str(codes.list->items[i]), &code) && code == exit_code) {
            return true;
        }
    }
    return false;
}

static bool run_check(Call *call, Outcome *outcome, Error *err)
{
    Value command = call_param(call, "cmd");
    if (!cmd_check(call, outcome, err)) {
        return false;
    }
    if (outcome->changed && call->planning) {
        bool is_text = !value_is_sequence(command);
        bool may_be_missing = is_text && is_success(call, 127); /* the shell already reports that */
        if ((!may_be_missing && !command_check(call, "cmd", command, call_str(call, "shell"),
                                               call_param(call, "env"), err)) ||
            (is_text && !command_check_program(call, "shell", call_str(call, "shell"), err))) {
            return false;
        }
        Str words = command_words(call->arena, command);
        const char *between = outcome->comment.len > 0 ? "; " : "";
        outcome->comment = arena_format(call->arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(words),
                                        between, STR_ARG(outcome->comment));
    }
    return true;
}

/* --- Running --------------------------------------------------------------------------------- */

static bool run_command(Call *call, const Command *command, Outcome *outcome, Error *err)
{
    ProcessResult result;
    if (!command_execute(call, command, &result, err)) {
        return false;
    }
    host_forget_accounts(call->host);
    outcome->changed = true;
    tool_report(&result, outcome);
    if (result.ending != PROCESS_EXITED || !is_success(call, result.exit_code)) {
        outcome->comment = command_words(call->arena, command->command);
        return command_failure(call, command, &result, err);
    }
    outcome->comment = result.out_truncated || result.error_truncated
                           ? STR("ran; its output was truncated")
                           : STR("ran");
    return true;
}

static bool run_apply(Call *call, Outcome *outcome, Error *err)
{
    Command command = command_of(call, call_param(call, "cmd"));
    return run_command(call, &command, outcome, err);
}

/* A command that ran after the change has already taken it into account. */
static bool run_react(Call *call, Outcome *outcome, Error *err)
{
    return call->ran_after_change || run_apply(call, outcome, err);
}

/* The value of a macro is the output without its final newline. */
static Value text_value(Str out)
{
    return value_string(str_ends(out, STR("\n")) ? str_slice(out, 0, out.len - 1) : out);
}

static bool run_query(Call *call, Outcome *outcome, Error *err)
{
    if (!run_apply(call, outcome, err)) {
        return false;
    }
    outcome->value = text_value(outcome->out);
    return true;
}

/* --- Scripts --------------------------------------------------------------------------------- */

static bool get_script(Call *call, Str *out, Error *err)
{
    static const char *const names[] = { "content", "template", "source", NULL };
    const char *name;
    if (!call_choose(call, names, &name, err)) {
        return false;
    }
    if (name == NULL) {
        return error_set(err, ERROR_INVALID,
                         "one of 'source', 'template' and 'content' is required");
    }
    *out = call_str(call, name);
    return true;
}

/* "#!/usr/bin/env -S python3 -u": like the kernel, accepts a program and one argument. We run the
 * interpreter ourselves, so that the script may be on a file system mounted noexec. */
static void push_interpreter(Call *call, Str script, List *argv)
{
    Arena *arena = call->arena;
    Str line = str_slice(script, 0, str_find(script, STR("\n"), 0));
    if (!str_starts(line, STR("#!")) || call_has(call, "shell")) {
        Str shell = call_str(call, "shell");
        list_push(arena, argv, value_string(shell.len > 0 ? shell : STR("/bin/sh")));
        return;
    }
    line = str_trim(str_from_offset(line, 2));
    size_t space = 0;
    while (space < line.len && !ascii_is_space(line.data[space])) {
        space++;
    }
    list_push(arena, argv, value_string(str_slice(line, 0, space)));
    Str argument = str_trim(str_from_offset(line, space));
    if (argument.len > 0) {
        list_push(arena, argv, value_string(argument));
    }
}

static bool verify_script_params(Call *call, Error *err)
{
    Str ignored;
    return get_script(call, &ignored, err) && check_codes(call, err);
}
CALL_VERIFY(script_verify, verify_script_params)

static bool script_check(Call *call, Outcome *outcome, Error *err)
{
    Str script;
    if (!get_script(call, &script, err) || !cmd_check(call, outcome, err)) {
        return false;
    }
    List *argv = list_new(call->arena, 2);
    push_interpreter(call, script, argv);
    if (value_str(argv->items[0]).len == 0) {
        return error_set(err, ERROR_INVALID,
                         "the first line of the script (#!) does not name a program");
    }
    return !outcome->changed || !call->planning ||
           command_check_program(call, call_has(call, "shell") ? "shell" : NULL,
                                 value_str(argv->items[0]), err);
}

static bool write_script(Call *call, Str script, Str *path, Error *err)
{
    uid_t uid = HOST_KEEP_ID;
    gid_t gid = HOST_KEEP_ID;
    Str user = call_str(call, "user");
    return (user.len == 0 || host_find_user(call->host, user, &uid, &gid, err)) &&
           scratch_put_program(call, script, uid, gid, path, err);
}

static bool script_apply(Call *call, Outcome *outcome, Error *err)
{
    Arena *arena = call->arena;
    Str script, path;
    if (!get_script(call, &script, err)) {
        return false;
    }
    if (!write_script(call, script, &path, err)) {
        return error_wrap(err, "cannot write the script");
    }
    List *argv = list_new(arena, 8);
    push_interpreter(call, script, argv);
    list_push(arena, argv, value_string(path));
    Value args = call_param(call, "args");
    for (uint32_t i = 0; value_is_sequence(args) && i < args.list->len; i++) {
        list_push(arena, argv, args.list->items[i]);
    }
    Command command = command_of(call, value_list(argv));
    bool ok = run_command(call, &command, outcome, err);
    Error removal;
    if (!host_remove(call->host, path, &removal) && ok) {
        *err = removal;
        return error_wrap(err, "cannot remove the script");
    }
    return ok;
}

static bool script_react(Call *call, Outcome *outcome, Error *err)
{
    return call->ran_after_change || script_apply(call, outcome, err);
}

static bool script_query(Call *call, Outcome *outcome, Error *err)
{
    if (!script_apply(call, outcome, err)) {
        return false;
    }
    outcome->value = text_value(outcome->out);
    return true;
}

/* --- Module table ---------------------------------------------------------------------------- */

/* Paths in `creates` are made by the command itself; its user and working directory must exist
 * before. */
static void claim_all(Arena *arena, const ParamSpec *specs, const Value *params, List *claims)
{
    Value creates = params_get(specs, params, "creates");
    for (uint32_t i = 0; value_is_sequence(creates) && i < creates.list->len; i++) {
        claims_add_param(arena, claims, "path:", creates.list->items[i]);
    }
    claims_add_param(arena, claims, "needs:user:", params_get(specs, params, "user"));
    claims_add_param(arena, claims, "needs:path:", params_get(specs, params, "cwd"));
}

#define SHARED_PARAMS                                                                             \
    { "name", PARAM_STRING, .help = "identifier for requisites; has no other effect" },           \
        { "creates", PARAM_STRINGS,                                                               \
          .help = "do not run the command if all of these paths exist" },                         \
        { "unless", PARAM_COMMAND,                                                                \
          .help = "do not run the step's command if this command exits with 0" },                 \
        { "onlyif", PARAM_COMMAND,                                                                \
          .help = "run the step's command only if this command exits with 0" },                   \
        { "cwd", PARAM_PATH, .help = "working directory" },                                       \
        { "env", PARAM_MAP,                                                                       \
          .help =                                                                                 \
              "environment variables, in addition to those of eden; with another 'user', only "   \
              "PATH, locale, time zone, terminal and proxy settings are inherited from eden" },   \
        { "user", PARAM_STRING, .help = "user to run as, by name or number" },                    \
        { "stdin", PARAM_STRING, .help = "standard input" },                                      \
        { "umask", PARAM_MODE, .help = "umask, for new files" },                                  \
        { "timeout", PARAM_DURATION,                                                              \
          .help = "time limit; then the command is killed with "                                  \
                  "everything it started" },                                                      \
        { "output_limit", PARAM_INT, .fallback = "1048576",                                       \
          .help = "number of bytes to retain of standard output and of standard error; at least " \
                  "128" },                                                                        \
    {                                                                                             \
        "success_codes", PARAM_STRINGS, .fallback = "0", .help = "exit codes that mean success"   \
    }

static const ParamSpec run_params[] = {
    { "cmd", PARAM_COMMAND, .required = true,
      .help = "command as a string for a shell, or as a list of arguments without a shell" },
    { "shell", PARAM_STRING, .fallback = "/bin/sh", .help = "shell that runs a string" },
    SHARED_PARAMS,
    { 0 },
};

static const ParamSpec script_params[] = {
    { "source", PARAM_SITE_FILE, .help = "script in the site's files/" },
    { "template", PARAM_SITE_TEMPLATE,
      .help = "template in templates/ from which the script is rendered" },
    { "context", PARAM_MAP, .help = "variables for the template" },
    { "content", PARAM_STRING, .help = "content of the script" },
    { "args", PARAM_STRINGS, .help = "arguments of the script" },
    { "shell", PARAM_STRING,
      .help = "program that runs it; default: its first line (#!), or /bin/sh" },
    SHARED_PARAMS,
    { 0 },
};

static void run_claims(Arena *arena, const Value *params, List *claims)
{
    claim_all(arena, run_params, params, claims);
    command_provides(arena, params_get(run_params, params, "cmd"),
                     params_text(run_params, params, "shell"),
                     params_get(run_params, params, "creates"), claims);
}

static void script_claims(Arena *arena, const Value *params, List *claims)
{
    claim_all(arena, script_params, params, claims);
    bool has_shell = !value_is_missing(params_get(script_params, params, "shell"));
    command_provides_script(arena,
                            has_shell ? STR_EMPTY : params_text(script_params, params, "content"),
                            params_get(script_params, params, "creates"), claims);
}

static const char *cmd_reaction(const Action *action, const Value *params)
{
    return "run again";
}

static const Action actions[] = {
    { "run", "Run a command.", run_params, run_check, run_apply, run_react, run_query, run_claims,
      .verify_all = run_verify, .reaction = cmd_reaction, .always_changes = true, .cost_ms = 100,
      .text = "A command that ran counts as changed. The guards 'creates', 'unless' and\n"
              "'onlyif' prevent it from running if there is nothing to do; then the step is ok.\n"
              "A plan evaluates them too. In reaction to a change (watch, listen), it runs\n"
              "without evaluating them, unless it already ran after that change. With a guard\n"
              "that always prevents it, such as 'onlyif: \"false\"', it only runs in reaction\n"
              "to changes.\n"
              "\n"
              "In a plan, a step fails if something it needs is missing and no earlier step may\n"
              "provide it. A command may provide anything, except for known programs: echo, for\n"
              "example, provides nothing, and useradd only accounts. With 'creates', an unknown\n"
              "program provides only these paths, other entries of their directories, and\n"
              "anything below them.\n"
              "\n"
              "It has no terminal, and its input is empty unless 'stdin' is set. After the\n"
              "timeout it is killed together with everything it started. In another root\n"
              "(--root) it runs chrooted there. As a macro it returns its output, without the\n"
              "final newline.\n",
      .example = "- name: create the cache\n"
                 "  cmd.run:\n"
                 "    - cmd: mkdir -p /var/cache/app && echo created\n"
                 "    - creates: /var/cache/app\n"
                 "    - timeout: 30s\n" },
    { "script", "Run a script from the site.", script_params, script_check, script_apply,
      script_react, script_query, script_claims, .verify_all = script_verify,
      .reaction = cmd_reaction, .always_changes = true, .cost_ms = 100,
      .text = "The script is written to /tmp while it runs. Otherwise it works like cmd.run.\n",
      .example = "- name: set up the database\n"
                 "  cmd.script:\n"
                 "    - content: |\n"
                 "        #!/bin/sh\n"
                 "        echo \"setting up $1\" && touch /var/done\n"
                 "    - args: [main]\n"
                 "    - creates: /var/done\n" },
    { 0 },
};

const Module modules_cmd = {
    .name = "cmd",
    .help = "Commands and scripts.",
    .id_param = "name|cmd",
    .actions = actions,
};
