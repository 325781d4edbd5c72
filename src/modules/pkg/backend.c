#include "modules/pkg/backend.h"

#include "base/bug.h"

/* In order of detection: dnf can be installed on Debian, and apt on Fedora. */
const PackageBackend *const package_backends[] = {
    &backend_apt, &backend_zypper, &backend_dnf, &backend_pacman, &backend_packagekit, NULL,
};

uint32_t backend_number(const PackageBackend *backend)
{
    for (uint32_t i = 0; package_backends[i] != NULL; i++) {
        if (package_backends[i] == backend) {
            return i;
        }
    }
    BUG("unknown backend '%s'", backend->name);
}

const VersionOrder *backend_order(Call *call, const PackageBackend *backend)
{
    return backend->find_order == NULL ? &backend->order : backend->find_order(call);
}

bool backend_choose(Call *call, Str provider, const PackageBackend **out, Error *err)
{
    for (uint32_t i = 0; package_backends[i] != NULL; i++) {
        const PackageBackend *backend = package_backends[i];
        if (provider.len > 0 ? str_eq_c(provider, backend->name) : backend->is_native(call)) {
            *out = backend;
            return !backend->live_only || host_is_live(call->host) ||
                   error_set(err, ERROR_UNAVAILABLE,
                             "'%s' requires the running system and cannot be used in the root '%s'",
                             backend->name, host_root(call->host));
        }
    }
    BUG_IF(provider.len > 0); /* cannot happen, because the parameter has choices */
    if (!host_is_live(call->host)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "no package manager found in the root '%s'; it must have its own",
                         host_root(call->host));
    }
    return error_set(
        err, ERROR_UNAVAILABLE,
        "no supported package manager found on this machine; set 'provider' to choose one");
}

/* --- Package managers that are programs ------------------------------------------------------ */

bool package_program_run(Call *call, ToolArgs *args, const char *const *env, int64_t timeout_ms,
                         ProcessResult *result, Error *err)
{
    Tool tool = { .argv = tool_args_end(call, args),
                  .env = env,
                  .timeout_ms = timeout_ms,
                  .merge_output = true };
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
static Str holder_text(Arena *arena, const LockHolder *holder)
{
    if (holder->pid == 0) {
        return STR("a process in another container");
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
            *out = (PackageHolder){ holder_text(call->arena, &holder), paths[i] };
            return true;
        }
    }
    return false;
}
