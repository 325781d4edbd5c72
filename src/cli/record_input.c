#include "cli/record_input.h"

#include "run/node_paths.h"

static bool report_error(Invocation *invocation, const Error *err, int *code)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    bool missing = err->kind == ERROR_NOT_FOUND || err->kind == ERROR_CONFLICT;
    Problem *problem =
        problems_add(&inputs.problems, missing ? "E0720" : "E0721", NULL, 0, 0, "%s", err->text);
    if (missing) {
        problem->hint =
            STR("'eden apply' records each run; --state-dir selects the directory; for runs across "
                "nodes, use 'eden logs RUN NODE STEP'");
    }
    (void)inputs_report(&inputs, invocation);
    *code = missing ? EXIT_NOT_MATCHED : EXIT_FAILED;
    return false;
}

/* NULL: the directory in the root. A default of the option is for cluster commands. */
static const char *state_dir(const Invocation *invocation)
{
    return invocation_flag(invocation, "state-dir") ? invocation_text(invocation, "state-dir")
                                                    : NULL;
}

static bool open_state(const Invocation *invocation, Directory *state, Error *err)
{
    const char *path;
    if (!node_state_path(invocation->arena, state_dir(invocation),
                         invocation_text(invocation, "root"), &path, err)) {
        return false;
    }
    return directory_open(path, state, err) ||
           (err->kind == ERROR_NOT_FOUND &&
            error_set(err, ERROR_NOT_FOUND, "no run recorded in %s", path));
}

bool record_input_all(Invocation *invocation, Value **out, uint32_t *count, int *code)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    Arena *arena = invocation->arena;
    Error err;
    Str *ids;
    if (!open_state(invocation, &state, &err) ||
        !run_records_list(&state, arena, &ids, count, &err)) {
        return report_error(invocation, &err, code);
    }
    *out = ARENA_ARRAY(arena, Value, *count + 1);
    for (uint32_t i = 0; i < *count; i++) {
        if (!run_record_load(&state, arena, ids[i], &(*out)[i], &err)) {
            Map *unreadable = map_new(arena, 2);
            map_set_str(arena, unreadable, STR("run"), value_string(ids[i]));
            map_set_str(arena, unreadable, STR("error"),
                        value_string(arena_copy(arena, str_from_c(err.text))));
            (*out)[i] = value_map(unreadable);
        }
    }
    return true;
}

Str record_input_path(const Invocation *invocation, const Recorded *recorded)
{
    const char *path;
    Error err;
    const Value *id = value_get(recorded->value, STR("run"));
    if (id == NULL || !value_is_string(*id) ||
        !node_state_path(invocation->arena, state_dir(invocation),
                         invocation_text(invocation, "root"), &path, &err)) {
        return STR("?");
    }
    return arena_format(invocation->arena, "%s/runs/%" STR_FMT ".json", path,
                        STR_ARG(value_str(*id)));
}

bool record_input_run(Invocation *invocation, const char *id, Recorded *out, int *code)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    Error err;
    Value record;
    if (!open_state(invocation, &state, &err)) {
        return report_error(invocation, &err, code);
    }
    if (!run_record_load(&state, invocation->arena, id == NULL ? STR_EMPTY : str_from_c(id),
                         &record, &err) ||
        !recorded_read(invocation->arena, record, out, &err)) {
        return report_error(invocation, &err, code);
    }
    return true;
}

bool record_input_file(Invocation *invocation, const char *path, Recorded *out, int *code)
{
    Error err;
    Value record;
    if (!run_record_read(path, invocation->arena, &record, &err) ||
        !recorded_read(invocation->arena, record, out, &err)) {
        return report_error(invocation, &err, code);
    }
    return true;
}
