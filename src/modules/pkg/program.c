#include "modules/pkg/program.h"

bool package_program_run(Call *call, ToolArgs *args, const char *const *env, int64_t timeout_ms,
                         ProcessResult *result, Error *err)
{
    Tool tool = {
        .argv = tool_args_end(call, args), .env = env, .timeout_ms = timeout_ms, .join_output = true
    };
    return tool_run(call, &tool, result, err);
}

bool package_program_is_done(const ProcessResult *result)
{
    return result->ending == PROCESS_EXITED && result->exit_code == 0;
}

void package_program_add_items(Call *call, ToolArgs *args, const PackageChange *change,
                               const char *between)
{
    tool_arg(call, args, STR("--"));
    for (uint32_t i = 0; i < change->count; i++) {
        const PackageItem *item = &change->items[i];
        Str word = item->name;
        if (between != NULL && item->version.len > 0) {
            word = arena_format(call->arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(item->name),
                                between, STR_ARG(item->version));
        }
        tool_arg(call, args, word);
    }
}

void package_program_add_offers(Call *call, ToolArgs *args, const PackageOffer *offers,
                                uint32_t count)
{
    tool_arg(call, args, STR("--"));
    for (uint32_t i = 0; i < count; i++) {
        tool_arg(call, args, offers[i].name);
    }
}

void package_program_add_names(Call *call, ToolArgs *args, const Str *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        tool_arg(call, args, names[i]);
    }
}

bool package_refresh_result(Call *call, const PackageBackend *backend, const ProcessResult *result,
                            int64_t timeout_ms, Error *err)
{
    if (result->ending == PROCESS_EXITED && result->exit_code == 0) {
        return true;
    }
    if (result->ending != PROCESS_EXITED) {
        process_failure(call->arena, result, timeout_ms, err);
        return error_wrap(err, "%s", backend->name);
    }
    Str words;
    backend->blame(call->arena, result->out, STR("\n"), &words);
    return error_set(err, backend->was_locked(result->out) ? ERROR_CONFLICT : ERROR_OS,
                     "%s exited with %d: %" STR_FMT, backend->program, result->exit_code,
                     STR_ARG(words));
}

bool package_program_refresh(Call *call, const PackageBackend *backend, ToolArgs *args,
                             int64_t timeout_ms, Error *err)
{
    ProcessResult result;
    return package_program_run(call, args, NULL, timeout_ms, &result, err) &&
           package_refresh_result(call, backend, &result, timeout_ms, err);
}

/* "'apt-get upgrade' (process 812)" */
static Str holder_words(Arena *arena, const LockHolder *holder)
{
    if (holder->pid == 0) {
        return STR("a process of another container");
    }
    return holder->command.len > 0 ? arena_format(arena, "'%" STR_FMT "' (process %d)",
                                                  STR_ARG(holder->command), (int)holder->pid)
                                   : arena_format(arena, "process %d", (int)holder->pid);
}

bool package_holder_find(Call *call, const Str *paths, size_t count, LockHolderFind *find,
                         PackageHolder *out)
{
    for (size_t i = 0; i < count; i++) {
        LockHolder holder;
        if (find(call->host, call->arena, paths[i], &holder)) {
            *out = (PackageHolder){ holder_words(call->arena, &holder), paths[i] };
            return true;
        }
    }
    return false;
}
