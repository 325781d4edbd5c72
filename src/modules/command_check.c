#include "modules/command_check.h"

#include "sys/process.h"

/* Whether a secret begins in it and goes on behind it: then it would be shown, as a part is not found. */
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

/* Where the link at `path` leads to. */
static bool read_target(Call *call, Str path, Str *out, Error *err)
{
    Str target;
    if (!host_read_link(call->host, call->arena, path, &target, err)) {
        return false;
    }
    size_t folder = path.len;
    while (folder > 0 && path.data[folder - 1] != '/') {
        folder--;
    }
    *out = str_starts(target, STR("/"))
               ? target
               : arena_format(call->arena, "%" STR_FMT "%" STR_FMT,
                              STR_ARG(str_slice(path, 0, folder)), STR_ARG(target));
    return true;
}

/* The PATH that the command will have; empty: not known. */
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

/* No shell looks for it, which would have commands of its own. */
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
    return !searched || call_lacks(call, param, "program", program) ||
           error_set(err, ERROR_NOT_FOUND, "there is no program '%" STR_FMT "' in PATH",
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
        call_lacks(call, param, "path", path)) {
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
    if (call_lacks(call, param, "path", path)) {
        return true;
    }
    return str_eq(path, program)
               ? error_set(err, ERROR_NOT_FOUND, "there is no program '%" STR_FMT "'",
                           STR_ARG(program))
               : error_set(err, ERROR_NOT_FOUND,
                           "there is no program '%" STR_FMT "': it is a link to '%" STR_FMT
                           "', which does not exist",
                           STR_ARG(program), STR_ARG(path));
}

bool command_check(Call *call, const char *param, Value command, Value env, Error *err)
{
    Str program = command_program(call, command);
    if (value_is_sequence(command) && program.len == 0) {
        return error_set(err, ERROR_INVALID, "the name of the program is empty") ||
               call_blame(call, param);
    }
    bool is_name = value_is_sequence(command) && program.len > 0 &&
                   str_find(program, STR("/"), 0) == STR_NOT_FOUND;
    return is_name ? check_found(call, param, program, env, err)
                   : command_check_program(call, param, program, err);
}
