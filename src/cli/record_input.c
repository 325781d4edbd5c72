#include "cli/record_input.h"

#include "run/node_paths.h"

static bool tell(Invocation *invocation, const Error *err, int *code)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    bool missing = err->kind == ERROR_NOT_FOUND || err->kind == ERROR_CONFLICT;
    Problem *problem =
        problems_add(&inputs.problems, missing ? "E0720" : "E0721", NULL, 0, 0, "%s", err->text);
    if (missing) {
        problem->hint = STR("'eden apply' records each run; --state-dir says where");
    }
    (void)inputs_report(&inputs, invocation);
    *code = missing ? EXIT_NOT_MATCHED : EXIT_FAILED;
    return false;
}

bool record_input_run(Invocation *invocation, const char *id, Recorded *out, int *code)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    const char *path;
    Error err;
    Value record;
    if (!node_state_path(invocation->arena, invocation_text(invocation, "state-dir"),
                         invocation_text(invocation, "root"), &path, &err)) {
        return tell(invocation, &err, code);
    }
    if (!directory_open(path, &state, &err)) {
        if (err.kind == ERROR_NOT_FOUND) {
            error_set(&err, ERROR_NOT_FOUND, "no run is recorded in %s", path);
        }
        return tell(invocation, &err, code);
    }
    if (!run_record_load(&state, invocation->arena, id == NULL ? STR_EMPTY : str_from_c(id),
                         &record, &err) ||
        !recorded_read(invocation->arena, record, out, &err)) {
        return tell(invocation, &err, code);
    }
    return true;
}

bool record_input_file(Invocation *invocation, const char *path, Recorded *out, int *code)
{
    Error err;
    Value record;
    if (!run_record_read(path, invocation->arena, &record, &err) ||
        !recorded_read(invocation->arena, record, out, &err)) {
        return tell(invocation, &err, code);
    }
    return true;
}
