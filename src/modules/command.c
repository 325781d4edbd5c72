#include "modules/command.h"

#include "base/shell.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "lang/json.h"

typedef VEC(const char *) Texts;

static bool push_text(Call *call, Texts *texts, Str text, Error *err)
{
    if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL) {
        return error_set(err, ERROR_INVALID, "a command cannot hold a NUL character");
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
        return error_set(err, ERROR_INVALID, "must be a text, not a %s",
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
            return error_set(err, ERROR_INVALID, "'%" STR_FMT "' cannot name a variable",
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

bool command_run(Call *call, const Command *command, ProcessResult *out, Error *err)
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
        .cancelled = call->cancelled,
    };
    if (as_user) {
        spec.as_user = true;
        spec.uid = account.uid;
        spec.gid = account.gid;
        spec.groups = account.groups;
        spec.group_count = account.group_count;
    }
    if (!process_run(arena, &spec, out, err)) {
        return spec.root != NULL && error_wrap(err, "below '%s'", spec.root);
    }
    return true;
}

bool command_failure(Call *call, const Command *command, const ProcessResult *result, Error *err)
{
    ProcessResult told = *result;
    told.error_out = call_scrub(call, result->error_out);
    return process_failure(call->arena, &told, call_limit_ms(call, command->timeout_ms), err);
}

Str command_words(Arena *arena, Value command)
{
    if (value_holds_secret(command)) {
        return STR("(not shown: it holds a secret)");
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

/* --- Commands about a file ------------------------------------------------------------------ */

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
