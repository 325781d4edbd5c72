/* Units below another root: nothing runs there, but links can be made. Its own systemctl makes
 * them, with that root as its own, so that nothing leads out of it. */
#include "modules/service/ensure.h"
#include "modules/tool.h"

static const char *const offline[] = { "SYSTEMD_OFFLINE=1", NULL };

static bool systemctl(Call *call, const char *verb, Str name, ProcessResult *out, Error *err)
{
    const char *const argv[] = {
        "systemctl",
        "--root=/",
        "--no-ask-password",
        "--quiet",
        verb,
        "--",
        arena_copy_c(call->arena, name),
        NULL,
    };
    Tool tool = { .argv = argv, .env = offline };
    if (!tool_run(call, &tool, out, err)) {
        return false;
    }
    return out->ending == PROCESS_EXITED || tool_failure(call, &tool, out, err);
}

/* is-enabled says it with a word and with its exit code; without --quiet the word is printed. */
static bool ask_state(Call *call, Str name, ProcessResult *out, Error *err)
{
    const char *const argv[] = {
        "systemctl", "--root=/", "is-enabled", "--", arena_copy_c(call->arena, name), NULL
    };
    Tool tool = { .argv = argv, .env = offline };
    if (!tool_run(call, &tool, out, err)) {
        return false;
    }
    return out->ending == PROCESS_EXITED || tool_failure(call, &tool, out, err);
}

bool ensure_root_look(Call *call, const Wanted *wanted, Found *out, Error *err)
{
    ProcessResult result;
    *out = (Found){ .unit.name = wanted->name };
    if (!tool_is_there(call, "systemctl")) {
        return call_lacks_program(call, "systemctl") ||
               error_set(err, ERROR_UNAVAILABLE, "the root '%s' has no systemctl",
                         host_root(call->host));
    }
    if (!ask_state(call, wanted->name, &result, err)) {
        return false;
    }
    Str state = str_trim(result.out);
    out->file_state = str_eq(state, STR("not-found")) ? STR_EMPTY : state;
    return true;
}

bool ensure_root_apply(Call *call, const Wanted *wanted, const Todo *todo, Outcome *outcome,
                       Error *err)
{
    static const struct {
        UnitFileChange change;
        const char *verb;
    } order[] = {
        { UNIT_UNMASK, "unmask" },
        { UNIT_DISABLE, "disable" },
        { UNIT_ENABLE, "enable" },
        { UNIT_MASK, "mask" },
    };
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        ProcessResult result;
        if (!todo->changes_file[order[i].change]) {
            continue;
        }
        if (!systemctl(call, order[i].verb, wanted->name, &result, err)) {
            return false;
        }
        outcome->changed = true;
        if (result.exit_code != 0) {
            Str said = str_trim(result.error_out);
            return error_set(err, ERROR_OS, "systemctl %s: %" STR_FMT, order[i].verb,
                             STR_ARG(said));
        }
    }
    return true;
}
