/* cmd.*: commands and scripts.
 *
 * A command that ran has changed something; one that its guards keep from running is ok. Guards
 * are questions, which a plan asks too. As a reaction the command runs without being asked. */
#include "modules/call.h"
#include "modules/command.h"
#include "modules/command_check.h"
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

/* --- Guards --------------------------------------------------------------------------------- */

static bool all_created(Call *call, bool *out, Error *err)
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

/* How a shell says that it could not run a command: not found, or not to be executed. */
static bool could_not_run(int exit_code)
{
    return exit_code == 126 || exit_code == 127;
}

/* How the guard of that name ended. */
static bool ask_guard(Call *call, const char *name, int *exit_code, Error *err)
{
    ProcessResult result;
    Command guard = command_of(call, call_param(call, name));
    guard.input = STR_EMPTY;
    if (!command_run(call, &guard, &result, err)) {
        error_wrap(err, "%s", name);
        return call_blame(call, name);
    }
    if (result.ending != PROCESS_EXITED) {
        command_failure(call, &guard, &result, err);
        error_wrap(err, "%s", name);
        return call_blame(call, name);
    }
    *exit_code = result.exit_code;
    /* `unless: tool --version` is how one asks whether a tool is there. But what is to run only if
     * something that cannot be asked says so would never run, without a message. */
    if (strcmp(name, "onlyif") == 0 && could_not_run(result.exit_code)) {
        command_failure(call, &guard, &result, err);
        error_wrap(err, "%s", name);
        return call_blame(call, name);
    }
    return true;
}

/* `*kept` says which guard keeps the command from running; empty: none does. */
static bool ask_guards(Call *call, Str *kept, Error *err)
{
    bool created;
    int code;
    *kept = STR_EMPTY;
    if (!all_created(call, &created, err)) {
        return false;
    }
    if (created) {
        *kept = STR("kept from running by 'creates'");
        return true;
    }
    if (call_has(call, "unless")) {
        if (!ask_guard(call, "unless", &code, err)) {
            return false;
        }
        if (code == 0) {
            *kept = STR("kept from running by 'unless', which ended with 0");
            return true;
        }
    }
    if (call_has(call, "onlyif")) {
        if (!ask_guard(call, "onlyif", &code, err)) {
            return false;
        }
        if (code != 0) {
            *kept = arena_format(call->arena, "kept from running by 'onlyif', which ended with %d",
                                 code);
        }
    }
    return true;
}

/* --- What a plan can know ------------------------------------------------------------------- */

/* What is there, also behind a link. Fails where root is led by a link of another user. */
static bool look_at_directory(Call *call, Str directory, FileInfo *info, Error *err)
{
    Str inside = arena_join(call->arena, directory, STR("/."), STR_EMPTY);
    return host_stat(call->host, directory, info, err) &&
           (info->kind != FILE_LINK || info->planned || host_stat(call->host, inside, info, err));
}

/* The user and the directory that the command, and its guards, run as and in. */
static bool check_place(Call *call, Error *err)
{
    uid_t uid;
    FileInfo info;
    Str user = call_str(call, "user"), directory = call_str(call, "cwd");
    bool as_root = user.len == 0;
    if (user.len > 0 && host_find_user(call->host, user, &uid, NULL, err)) {
        as_root = uid == 0;
    } else if (user.len > 0 &&
               (err->kind != ERROR_NOT_FOUND || !call_lacks(call, "user", "user", user))) {
        return false;
    }
    if (directory.len == 0) {
        return true;
    }
    if (!look_at_directory(call, directory, &info, err)) {
        /* Another user goes wherever they may go. */
        return (!as_root && err->kind == ERROR_DENIED) || call_blame(call, "cwd");
    }
    if (info.kind == FILE_DIRECTORY || info.kind == FILE_LINK ||
        call_lacks(call, "cwd", "path", directory)) {
        return true;
    }
    return info.kind == FILE_ABSENT
               ? error_set(err, ERROR_NOT_FOUND, "there is no directory '%" STR_FMT "'",
                           STR_ARG(directory))
               : error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a directory",
                           STR_ARG(directory), file_kind_name(info.kind));
}

/* A guard that cannot be asked: what it needs may come with an earlier step, or it never will. */
static bool cannot_ask(Call *call, Outcome *outcome, const Error *err)
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
    return err->kind == ERROR_TIMEOUT || call_lacks(call, "onlyif", "program", program);
}

static bool cmd_check(Call *call, Outcome *outcome, Error *err)
{
    Str kept;
    bool created;
    if (!all_created(call, &created, err)) {
        return false;
    }
    if (!created && call->planning && !check_place(call, err)) {
        return false;
    }
    bool asks = call_has(call, "unless") || call_has(call, "onlyif");
    if (!created && asks && call->comes.len > 0) {
        outcome->changed = outcome->unknown = true;
        return true;
    }
    if (!ask_guards(call, &kept, err)) {
        return cannot_ask(call, outcome, err);
    }
    outcome->changed = kept.len == 0;
    outcome->comment = kept;
    return true;
}

static bool run_check(Call *call, Outcome *outcome, Error *err)
{
    Value command = call_param(call, "cmd");
    if (!cmd_check(call, outcome, err)) {
        return false;
    }
    if (outcome->changed && call->planning) {
        if (!command_check(call, "cmd", command, call_param(call, "env"), err) ||
            (!value_is_sequence(command) &&
             !command_check_program(call, "shell", call_str(call, "shell"), err))) {
            return false;
        }
        Str words = command_words(call->arena, command);
        const char *between = outcome->comment.len > 0 ? "; " : "";
        outcome->comment = arena_format(call->arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(words),
                                        between, STR_ARG(outcome->comment));
    }
    return true;
}

/* --- Running -------------------------------------------------------------------------------- */

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

static bool run_command(Call *call, const Command *command, Outcome *outcome, Error *err)
{
    ProcessResult result;
    if (!command_run(call, command, &result, err)) {
        return false;
    }
    host_forget_people(call->host);
    outcome->changed = true;
    tool_show(&result, outcome);
    if (result.ending != PROCESS_EXITED || !is_success(call, result.exit_code)) {
        outcome->comment = command_words(call->arena, command->command);
        return command_failure(call, command, &result, err);
    }
    outcome->comment =
        result.out_cut || result.error_cut ? STR("ran; its output was cut") : STR("ran");
    return true;
}

static bool run_apply(Call *call, Outcome *outcome, Error *err)
{
    Command command = command_of(call, call_param(call, "cmd"));
    return run_command(call, &command, outcome, err);
}

/* One that ran after the change has answered to it already. */
static bool run_react(Call *call, Outcome *outcome, Error *err)
{
    return call->ran_since || run_apply(call, outcome, err);
}

/* A macro is the text without its last line end. */
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

/* --- Scripts -------------------------------------------------------------------------------- */

static bool get_script(Call *call, Str *out, Error *err)
{
    static const char *const names[] = { "content", "template", "source", NULL };
    const char *name;
    if (!call_choose(call, names, &name, err)) {
        return false;
    }
    if (name == NULL) {
        return error_set(err, ERROR_INVALID, "needs one of 'source', 'template' and 'content'");
    }
    *out = call_str(call, name);
    return true;
}

/* "#!/usr/bin/env -S python3 -u": the kernel knows a program and one argument. The program is called
 * by us, so that the script may lie where nothing can be executed. */
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

static bool script_check(Call *call, Outcome *outcome, Error *err)
{
    Str script;
    if (!get_script(call, &script, err) || !cmd_check(call, outcome, err)) {
        return false;
    }
    List *argv = list_new(call->arena, 2);
    push_interpreter(call, script, argv);
    if (value_str(argv->items[0]).len == 0) {
        return error_set(err, ERROR_INVALID, "the first line of the script (#!) names no program");
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
        return error_wrap(err, "cannot put the script down");
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
        return error_wrap(err, "cannot take the script away");
    }
    return ok;
}

static bool script_react(Call *call, Outcome *outcome, Error *err)
{
    return call->ran_since || script_apply(call, outcome, err);
}

static bool script_query(Call *call, Outcome *outcome, Error *err)
{
    if (!script_apply(call, outcome, err)) {
        return false;
    }
    outcome->value = text_value(outcome->out);
    return true;
}

/* --- Rows ----------------------------------------------------------------------------------- */

/* What a command creates is its to make; whom it runs as and where must be there before. */
static void claim_all(Arena *arena, const ParamSpec *specs, const Value *params, List *claims)
{
    Value creates = params_get(specs, params, "creates");
    for (uint32_t i = 0; value_is_sequence(creates) && i < creates.list->len; i++) {
        claims_add_param(arena, claims, "path:", creates.list->items[i]);
    }
    list_push(arena, claims, value_string(STR("brings:*")));
    claims_add_param(arena, claims, "needs:user:", params_get(specs, params, "user"));
    claims_add_param(arena, claims, "needs:path:", params_get(specs, params, "cwd"));
}

#define SHARED_PARAMS                                                                             \
    { "name", PARAM_STRING, .help = "any text; requisites can find the step by it" },             \
        { "creates", PARAM_STRINGS,                                                               \
          .help = "paths; when all of them are there, it does not run" },                         \
        { "unless", PARAM_COMMAND, .help = "a command; when that ends with 0, it does not run" }, \
        { "onlyif", PARAM_COMMAND,                                                                \
          .help = "a command; unless that ends with 0, it does not run" },                        \
        { "cwd", PARAM_PATH, .help = "the directory to run in" },                                 \
        { "env", PARAM_MAP,                                                                       \
          .help = "variables of its environment, beside those of eden; another 'user' gets "      \
                  "of these only PATH, languages, time zone, terminal and proxies" },             \
        { "user", PARAM_STRING, .help = "whom to run as, by name or number" },                    \
        { "stdin", PARAM_STRING, .help = "text to read from standard input" },                    \
        { "umask", PARAM_MODE, .help = "permissions that new files do not get" },                 \
        { "timeout", PARAM_DURATION, .help = "when to end it, with everything it started" },      \
        { "output_limit", PARAM_INT, .fallback = "1048576",                                       \
          .help =                                                                                 \
              "how many bytes to keep of standard output, and of standard error; at least 128" }, \
    {                                                                                             \
        "success_codes", PARAM_STRINGS, .fallback = "0", .help = "exit codes that mean success"   \
    }

static const ParamSpec run_params[] = {
    { "cmd", PARAM_COMMAND, .required = true,
      .help = "text for the shell, or a list of words that is run without one" },
    { "shell", PARAM_STRING, .fallback = "/bin/sh", .help = "which shell a text is given to" },
    SHARED_PARAMS,
    { 0 },
};

static const ParamSpec script_params[] = {
    { "source", PARAM_SITE_FILE, .help = "the script, a file below files/ of the site" },
    { "template", PARAM_SITE_TEMPLATE, .help = "the script, a template below templates/" },
    { "context", PARAM_MAP, .help = "variables for the template" },
    { "content", PARAM_STRING, .help = "the script itself" },
    { "args", PARAM_STRINGS, .help = "words to call it with" },
    { "shell", PARAM_STRING, .help = "what to run it with; else its first line (#!), or /bin/sh" },
    SHARED_PARAMS,
    { 0 },
};

static void run_claims(Arena *arena, const Value *params, List *claims)
{
    claim_all(arena, run_params, params, claims);
}

static void script_claims(Arena *arena, const Value *params, List *claims)
{
    claim_all(arena, script_params, params, claims);
}

static const char *cmd_reaction(const Action *action, const Value *params)
{
    return "run again";
}

static const Action actions[] = {
    { "run", "Run a command.", run_params, run_check, run_apply, run_react, run_query, run_claims,
      .reaction = cmd_reaction, .repeats = true, .cost_ms = 100,
      .text =
          "A command that ran counts as changed. The guards 'creates', 'unless' and 'onlyif' keep\n"
          "it from running when there is nothing to do; then the step is ok. A plan asks them "
          "too.\n"
          "As the reaction to a change (watch, listen) it runs without asking them, unless it ran\n"
          "after that change anyway. With guards that never let it, such as 'onlyif: \"false\"', "
          "it\n"
          "only reacts.\n"
          "\n"
          "It has no terminal, and its input is empty unless 'stdin' gives one. At the timeout it\n"
          "is ended together with everything it started. Below another root (--root) it runs with\n"
          "that root as its own. As a macro it is what it printed, without the last line end.\n",
      .example = "- name: make the cache\n"
                 "  cmd.run:\n"
                 "    - cmd: mkdir -p /var/cache/app && echo made\n"
                 "    - creates: /var/cache/app\n"
                 "    - timeout: 30s\n" },
    { "script", "Run a script of the site.", script_params, script_check, script_apply,
      script_react, script_query, script_claims, .reaction = cmd_reaction, .repeats = true,
      .cost_ms = 100,
      .text =
          "The script is put down in /tmp for the time that it runs. Everything else is as with\n"
          "cmd.run.\n",
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
