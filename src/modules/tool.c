#include "modules/tool.h"

#include "base/buf.h"

#define TOOL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const char *tool_variable(Call *call, const char *name, Str value)
{
    return arena_copy_c(call->arena,
                        arena_format(call->arena, "%s=%" STR_FMT, name, STR_ARG(value)));
}

static Str home_from_environment(Call *call)
{
    for (const char *const *entry = process_environment(call->arena, NULL); *entry != NULL;
         entry++) {
        Str text = str_from_c(*entry);
        if (str_starts(text, STR("HOME="))) {
            return str_from_offset(text, STR("HOME=").len);
        }
    }
    return STR_EMPTY;
}

static bool is_foreign(Call *call, Str home)
{
    FileInfo info;
    Error err;
    Str inside = arena_join(call->arena, home, STR("/."), STR_EMPTY);
    return home.len == 0 || home.data[0] != '/' || !host_stat(call->host, inside, &info, &err) ||
           (info.kind != FILE_ABSENT && info.uid != 0);
}

Str tool_home(Call *call)
{
    Account root;
    Error err;
    Str home = home_from_environment(call);
    if (process_own_user() != 0 || !is_foreign(call, home)) {
        return home;
    }
    return host_find_account(call->host, call->arena, STR("root"), &root, &err) ? root.home
                                                                                : STR("/root");
}

static const char *const *environment(Call *call, const Account *account, const char *const *more)
{
    VEC(const char *) all = { 0 };
    VEC_PUSH(call->arena, &all, "PATH=" TOOL_PATH);
    VEC_PUSH(call->arena, &all, "LC_ALL=C.UTF-8");
    VEC_PUSH(call->arena, &all, "LANGUAGE=");
    if (account != NULL) {
        VEC_PUSH(call->arena, &all, tool_variable(call, "HOME", account->home));
        VEC_PUSH(call->arena, &all, tool_variable(call, "USER", account->name));
        VEC_PUSH(call->arena, &all, tool_variable(call, "LOGNAME", account->name));
    } else if (!str_eq(tool_home(call), home_from_environment(call))) {
        VEC_PUSH(call->arena, &all, tool_variable(call, "HOME", tool_home(call)));
        VEC_PUSH(call->arena, &all, "XDG_CONFIG_HOME="); /* empty counts as not set */
        VEC_PUSH(call->arena, &all, "XDG_DATA_HOME=");
    }
    for (uint32_t i = 0; more != NULL && more[i] != NULL; i++) {
        VEC_PUSH(call->arena, &all, more[i]);
    }
    VEC_PUSH(call->arena, &all, NULL);
    return account != NULL ? process_environment_as(call->arena, account->uid, all.items)
                           : process_environment(call->arena, all.items);
}

bool tool_run(Call *call, const Tool *tool, ProcessResult *out, Error *err)
{
    ProcessSpec spec = {
        .argv = tool->argv,
        .env = environment(call, tool->account, tool->env),
        .input = tool->input,
        .input_file = tool->input_file,
        .root = host_is_live(call->host) ? NULL : host_root(call->host),
        .directory = "/",
        .timeout_ms = call_limit_ms(call, tool->timeout_ms),
        .output_max = TOOL_OUTPUT_MAX,
        .merge_output = tool->merge_output,
        .canceled = call->canceled,
        .line = tool->line,
        .line_context = tool->line_context,
        .sink = tool->take,
        .sink_context = tool->sink_context,
    };
    if (tool->account != NULL) {
        spec.as_user = true;
        spec.uid = tool->account->uid;
        spec.gid = tool->account->gid;
        spec.groups = tool->account->groups;
        spec.group_count = tool->account->group_count;
    }
    if (!process_run(call->arena, &spec, out, err)) {
        return spec.root != NULL && error_wrap(err, "in '%s'", spec.root);
    }
    return true;
}

void tool_report(const ProcessResult *result, Outcome *outcome)
{
    outcome->out = result->out;
    outcome->error_out = result->error_out;
    outcome->has_exit_code = result->ending == PROCESS_EXITED;
    outcome->exit_code = outcome->has_exit_code ? result->exit_code : 0;
}

bool tool_failure(Call *call, const Tool *tool, const ProcessResult *result, Error *err)
{
    /* The output is not shown elsewhere, so include more of it in the error. */
    ProcessResult shown = *result;
    shown.error_out = process_summary(call->arena, call_scrub(call, result->error_out));
    process_failure(call->arena, &shown, call_limit_ms(call, tool->timeout_ms), err);
    const char *slash = strrchr(tool->argv[0], '/');
    char text[sizeof err->text];
    memcpy(text, err->text, sizeof text);
    return error_set(err, err->kind, "%s %s", slash == NULL ? tool->argv[0] : slash + 1, text);
}

bool tool_run_checked(Call *call, const char *const *argv, Str *out, Error *err)
{
    Tool tool = { .argv = argv };
    ProcessResult result;
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED || result.exit_code != 0) {
        return tool_failure(call, &tool, &result, err);
    }
    if (out != NULL) {
        *out = result.out;
    }
    /* A truncated list must not be mistaken for a complete one. */
    return out == NULL || !result.out_truncated ||
           error_set(err, ERROR_LIMIT, "%s wrote more than %d MiB", argv[0], TOOL_OUTPUT_MAX >> 20);
}

bool tool_find(Call *call, const char *program, Str *out)
{
    Str rest = STR(TOOL_PATH);
    while (rest.len > 0) {
        size_t colon = str_find(rest, STR(":"), 0);
        Str directory = str_slice(rest, 0, colon);
        rest = colon == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(rest, colon + 1);
        FileInfo info;
        Error err;
        Str path = arena_format(call->arena, "%" STR_FMT "/%s", STR_ARG(directory), program);
        if (host_stat(call->host, path, &info, &err) &&
            (info.kind == FILE_REGULAR || info.kind == FILE_LINK)) {
            *out = path;
            return true;
        }
    }
    return false;
}

bool tool_exists(Call *call, const char *program)
{
    Str path;
    return tool_find(call, program, &path);
}

void tool_arg(Call *call, ToolArgs *args, Str text)
{
    VEC_PUSH(call->arena, args, arena_copy_c(call->arena, text));
}

void tool_option(Call *call, ToolArgs *args, const char *name, Str value)
{
    if (value.len > 0) {
        tool_arg(call, args, arena_format(call->arena, "--%s=%" STR_FMT, name, STR_ARG(value)));
    }
}

const char *const *tool_args_end(Call *call, ToolArgs *args)
{
    VEC_PUSH(call->arena, args, NULL);
    return args->items;
}

Str tool_join(Call *call, Value list, char between)
{
    Buf text = buf_make_in(call->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; value_is_sequence(list) && i < list.list->len; i++) {
        if (i > 0) {
            buf_put_char(&text, between);
        }
        buf_put(&text, value_str(list.list->items[i]));
    }
    return buf_str(&text);
}

bool tool_check_word(Str text, const char *what, Error *err)
{
    if (text.len == 0) {
        return error_set(err, ERROR_INVALID, "the name of %s cannot be empty", what);
    }
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f) {
            return error_set(err, ERROR_INVALID, "the name of %s cannot contain control characters",
                             what);
        }
    }
    if (text.data[0] == '-') {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' would be parsed as an option, not as %s", STR_ARG(text),
                         what);
    }
    return true;
}
