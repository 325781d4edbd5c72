#include "modules/command.h"

#include "base/shell.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "lang/json.h"
#include "sys/process.h"

typedef VEC(const char *) Texts;

static bool push_text(Call *call, Texts *texts, Str text, Error *err)
{
    if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL) {
        return error_set(err, ERROR_INVALID, "a command cannot contain a NUL character");
    }
    VEC_PUSH(call->arena, texts, arena_copy_c(call->arena, text));
    return true;
}

static bool list_arguments(Call *call, const Command *command, Texts *argv, Error *err)
{
    Value given = command->command;
    if (value_is_sequence(given)) {
        for (uint32_t i = 0; i < given.list->len; i++) {
            if (!push_text(call, argv, value_str(given.list->items[i]), err)) {
                return false;
            }
        }
    } else {
        Str shell = command->shell.len > 0 ? command->shell : STR("/bin/sh");
        if (!push_text(call, argv, shell, err) || !push_text(call, argv, STR("-c"), err) ||
            !push_text(call, argv, value_str(given), err)) {
            return false;
        }
    }
    VEC_PUSH(call->arena, argv, NULL);
    return true;
}

static bool env_text(Call *call, Value value, Str *out, Error *err)
{
    if (value_is_string(value)) {
        *out = value_str(value);
        return true;
    }
    if (value.kind == VALUE_LIST || value.kind == VALUE_MAP || value.kind == VALUE_TUPLE) {
        return error_set(err, ERROR_INVALID, "must be a string, not a %s",
                         value_kind_name(value.kind));
    }
    Buf text = buf_make_in(call->arena, BUF_UNLIMITED);
    bool ok = value.kind == VALUE_NULL || json_print(&text, value, &(JsonStyle){ 0 }, err);
    *out = buf_str(&text);
    return ok;
}

static bool list_environment(Call *call, const Command *command, const Account *account,
                             Texts *extra, Error *err)
{
    if (account != NULL) {
        const struct {
            const char *name;
            Str value;
        } own[] = { { "HOME", account->home.len > 0 ? account->home : STR("/") },
                    { "USER", account->name },
                    { "LOGNAME", account->name },
                    { "SHELL", account->shell.len > 0 ? account->shell : STR("/bin/sh") } };
        for (size_t i = 0; i < COUNT_OF(own); i++) {
            Str text =
                arena_format(call->arena, "%s=%" STR_FMT, own[i].name, STR_ARG(own[i].value));
            VEC_PUSH(call->arena, extra, arena_copy_c(call->arena, text));
        }
    }
    for (uint32_t i = 0; command->env.kind == VALUE_MAP && i < command->env.map->len; i++) {
        const MapEntry *entry = &command->env.map->entries[i];
        Str name = value_str(entry->key), value = STR_EMPTY, text;
        if (name.len == 0 || memchr(name.data, '=', name.len) != NULL) {
            return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a variable name",
                             STR_ARG(name));
        }
        if (!env_text(call, entry->value, &value, err)) {
            return error_wrap(err, "variable '%" STR_FMT "'", STR_ARG(name));
        }
        text = arena_format(call->arena, "%" STR_FMT "=%" STR_FMT, STR_ARG(name), STR_ARG(value));
        if (!push_text(call, extra, text, err)) {
            return false;
        }
    }
    VEC_PUSH(call->arena, extra, NULL);
    return true;
}

static size_t output_max(const Command *command)
{
    size_t max = command->output_max > 0 ? (size_t)command->output_max : COMMAND_OUTPUT_MAX;
    return max > COMMAND_OUTPUT_MIN ? max : COMMAND_OUTPUT_MIN;
}

bool command_execute(Call *call, const Command *command, ProcessResult *out, Error *err)
{
    Arena *arena = call->arena;
    Texts argv = { 0 }, extra = { 0 };
    Account account;
    bool as_user = command->user.len > 0;
    if (as_user && !host_find_account(call->host, arena, command->user, &account, err)) {
        return false;
    }
    if (!list_arguments(call, command, &argv, err) ||
        !list_environment(call, command, as_user ? &account : NULL, &extra, err)) {
        return false;
    }
    ProcessSpec spec = {
        .argv = argv.items,
        .env = as_user ? process_environment_as(arena, account.uid, extra.items)
                       : process_environment(arena, extra.items),
        .input = command->input,
        .root = host_is_live(call->host) ? NULL : host_root(call->host),
        .directory = command->directory.len > 0 ? arena_copy_c(arena, command->directory) : NULL,
        .host = call->host,
        .set_umask = command->has_umask,
        .umask = (mode_t)command->umask,
        .timeout_ms = call_limit_ms(call, command->timeout_ms),
        .output_max = output_max(command),
        .canceled = call->canceled,
    };
    if (as_user) {
        spec.as_user = true;
        spec.uid = account.uid;
        spec.gid = account.gid;
        spec.groups = account.groups;
        spec.group_count = account.group_count;
    }
    if (!process_run(arena, &spec, out, err)) {
        return spec.root != NULL && error_wrap(err, "in '%s'", spec.root);
    }
    return true;
}

bool command_failure(Call *call, const Command *command, const ProcessResult *result, Error *err)
{
    ProcessResult shown = *result;
    shown.error_out = call_scrub(call, result->error_out);
    return process_failure(call->arena, &shown, call_limit_ms(call, command->timeout_ms), err);
}

Str command_words(Arena *arena, Value command)
{
    if (value_holds_secret(command)) {
        return STR("(not shown: it contains a secret)");
    }
    Buf words = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; value_is_sequence(command) && i < command.list->len; i++) {
        buf_put_format(&words, "%s%" STR_FMT, i == 0 ? "" : " ",
                       STR_ARG(value_str(command.list->items[i])));
    }
    Str all = value_is_string(command) ? str_trim(value_str(command)) : buf_str(&words);
    Str line = str_slice(all, 0, str_find(all, STR("\n"), 0));
    Str shown = str_slice(line, 0, COMMAND_WORDS_MAX);
    while (shown.len < line.len && shown.len > 0 && utf8_is_continuation(line.data[shown.len])) {
        shown.len--;
    }
    return shown.len == all.len ? arena_copy(arena, shown)
                                : arena_format(arena, "%" STR_FMT " ...", STR_ARG(shown));
}

/* --- Commands for a file --------------------------------------------------------------------- */

static Str with_path(Arena *arena, Str text, Str path, bool *found)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (;;) {
        size_t at = str_find(text, STR("%s"), 0);
        buf_put(&out, str_slice(text, 0, at));
        if (at == STR_NOT_FOUND) {
            return buf_str(&out);
        }
        buf_put(&out, path);
        *found = true;
        text = str_from_offset(text, at + 2);
    }
}

Value command_with_path(Arena *arena, Value command, Str path)
{
    bool found = false;
    if (!value_is_sequence(command)) {
        Buf word = buf_make_in(arena, BUF_UNLIMITED);
        shell_put_quoted(&word, path);
        Str safe = buf_str(&word);
        Str text = with_path(arena, value_str(command), safe, &found);
        return value_string(
            found ? text
                  : arena_format(arena, "%" STR_FMT " %" STR_FMT, STR_ARG(text), STR_ARG(safe)));
    }
    List *list = list_new(arena, command.list->len + 1);
    for (uint32_t i = 0; i < command.list->len; i++) {
        Str text = with_path(arena, value_str(command.list->items[i]), path, &found);
        list_push(arena, list, value_string(text));
    }
    if (!found) {
        list_push(arena, list, value_string(path));
    }
    return value_list(list);
}

/* --- Checking a command before it runs ------------------------------------------------------- */

/* Returns true if a secret begins in `program` and continues after it; its first part alone would
 * not be redacted. */
static bool is_part_of_secret(Call *call, Str program, Str command)
{
    Str quoted = arena_format(call->arena, "'%" STR_FMT "'", STR_ARG(program));
    return str_eq(call_scrub(call, quoted), quoted) &&
           !str_starts(call_scrub(call, command), program);
}

Str command_program(Call *call, Value command)
{
    if (value_is_sequence(command)) {
        return command.list->len > 0 && value_is_string(command.list->items[0])
                   ? value_str(command.list->items[0])
                   : STR_EMPTY;
    }
    Str text = str_trim(value_str(command));
    size_t end = text.len;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\0' || strchr("|&;()<>`$\\\"'*?[]{}#~\n", text.data[i]) != NULL) {
            return STR_EMPTY;
        }
        if (end == text.len && ascii_is_space(text.data[i])) {
            end = i;
        }
    }
    Str program = str_slice(text, 0, end);
    return value_holds_secret(command) && is_part_of_secret(call, program, text) ? STR_EMPTY
                                                                                 : program;
}

/* Reads the target of the symlink at `path`. */
static bool read_target(Call *call, Str path, Str *out, Error *err)
{
    Str target;
    if (!host_read_link(call->host, call->arena, path, &target, err)) {
        return false;
    }
    size_t directory = path.len;
    while (directory > 0 && path.data[directory - 1] != '/') {
        directory--;
    }
    *out = str_starts(target, STR("/"))
               ? target
               : arena_format(call->arena, "%" STR_FMT "%" STR_FMT,
                              STR_ARG(str_slice(path, 0, directory)), STR_ARG(target));
    return true;
}

/* The PATH of the command; empty: unknown. */
static Str path_of(Call *call, Value env)
{
    const Value *given = env.kind == VALUE_MAP ? value_get(env, STR("PATH")) : NULL;
    if (given != NULL) {
        return value_is_string(*given) ? value_str(*given) : STR_EMPTY;
    }
    for (const char *const *entry = process_environment(call->arena, NULL); *entry != NULL;
         entry++) {
        if (str_starts(str_from_c(*entry), STR("PATH="))) {
            return str_from_offset(str_from_c(*entry), STR("PATH=").len);
        }
    }
    return STR_EMPTY;
}

/* Whether sh, bash and dash would search PATH for this word: it is not a keyword, an assignment or
 * a built-in command. */
static bool is_searched(Arena *arena, Str shell, Str word)
{
    static const char shells[] = " sh bash dash ";
    static const char own[] =
        " . : [ [[ ! { } alias bg bind break builtin caller case cd chdir command compgen complete "
        "compopt continue coproc declare dirs disown do done echo elif else enable esac eval exec "
        "exit export false fc fg fi for function getopts hash help history if in jobs kill let "
        "local logout mapfile popd printf pushd pwd read readarray readonly return select set "
        "shift shopt source suspend test then time times trap true type typeset ulimit umask "
        "unalias unset until wait while ";
    Str name = str_from_offset(shell, shell.len > 0 ? str_find_last(shell, STR("/")) + 1 : 0);
    Str as_shell = arena_format(arena, " %" STR_FMT " ", STR_ARG(name));
    Str as_own = arena_format(arena, " %" STR_FMT " ", STR_ARG(word));
    return str_find(word, STR("="), 0) == STR_NOT_FOUND &&
           (shell.len == 0 || str_find(str_from_c(shells), as_shell, 0) != STR_NOT_FOUND) &&
           str_find(str_from_c(own), as_own, 0) == STR_NOT_FOUND;
}

static bool check_found(Call *call, const char *param, Str program, Value env, Error *err)
{
    Str rest = path_of(call, env), part;
    bool searched = false;
    while (str_split_next(&rest, ':', &part)) {
        FileInfo info;
        if (!str_starts(part, STR("/"))) {
            continue;
        }
        Str path =
            arena_format(call->arena, "%" STR_FMT "/%" STR_FMT, STR_ARG(part), STR_ARG(program));
        if (!host_stat(call->host, path, &info, err) || info.kind != FILE_ABSENT) {
            return true;
        }
        searched = true;
    }
    return !searched || call_report_missing(call, param, "program", program) ||
           error_set(err, ERROR_NOT_FOUND, "program '%" STR_FMT "' not found in PATH",
                     STR_ARG(program));
}

static bool check_executable(Call *call, const char *param, Str path, const FileInfo *info,
                             Error *err)
{
    enum {
        EXECUTABLE = 0111
    };
    bool is_file = info->kind == FILE_REGULAR;
    if ((is_file && (info->mode & EXECUTABLE) != 0) || info->kind == FILE_LINK ||
        call_report_missing(call, param, "path", path)) {
        return true;
    }
    return is_file ? error_set(err, ERROR_DENIED, "'%" STR_FMT "' is not executable (mode %04o)",
                               STR_ARG(path), info->mode)
                   : error_set(err, ERROR_CONFLICT, "'%" STR_FMT "' is a %s, not a program",
                               STR_ARG(path), file_kind_name(info->kind));
}

bool command_check_program(Call *call, const char *param, Str program, Error *err)
{
    enum {
        LINKS_MAX = 8
    };
    FileInfo info = { 0 };
    Str path = program;
    if (!str_starts(program, STR("/"))) {
        return true;
    }
    for (int links = 0; links <= LINKS_MAX; links++) {
        if (!host_stat(call->host, path, &info, err)) {
            return call_blame(call, param);
        }
        if (info.kind != FILE_LINK) {
            break;
        }
        if (!read_target(call, path, &path, err)) {
            return call_blame(call, param);
        }
    }
    if (info.kind != FILE_ABSENT) {
        return check_executable(call, param, path, &info, err);
    }
    if (call_report_missing(call, param, "path", path)) {
        return true;
    }
    return str_eq(path, program)
               ? error_set(err, ERROR_NOT_FOUND, "program '%" STR_FMT "' not found",
                           STR_ARG(program))
               : error_set(err, ERROR_NOT_FOUND,
                           "program '%" STR_FMT "' not found: it is a symlink to '%" STR_FMT
                           "', which does not exist",
                           STR_ARG(program), STR_ARG(path));
}

bool command_check(Call *call, const char *param, Value command, Str shell, Value env, Error *err)
{
    Str program = command_program(call, command);
    bool is_list = value_is_sequence(command);
    if (is_list && program.len == 0) {
        return error_set(err, ERROR_INVALID, "the name of the program is empty") ||
               call_blame(call, param);
    }
    /* In another root, a plan does not fail if a command cannot be run: the image may still lack
     * what it needs. */
    bool is_name =
        program.len > 0 && str_find(program, STR("/"), 0) == STR_NOT_FOUND &&
        (is_list || (host_is_live(call->host) && is_searched(call->arena, shell, program)));
    return is_name ? check_found(call, param, program, env, err)
                   : command_check_program(call, param, program, err);
}
