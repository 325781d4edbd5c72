/* alternatives.*: selects the program that a generic name refers to. */
#include "modules/tool.h"

typedef struct AlternativeState {
    bool known; /* the name exists, and `path` is one of its alternatives */
    Str value;  /* current alternative */
    bool manual;
} AlternativeState;

/* Parses "Key: value" lines; the first paragraph is about the name itself. */
static bool read_state(Call *call, Str name, Str path, AlternativeState *out, Error *err)
{
    Tool tool = { .argv = (const char *const[]){ "update-alternatives", "--query",
                                                 arena_copy_c(call->arena, name), NULL } };
    ProcessResult result;
    *out = (AlternativeState){ 0 };
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED || result.exit_code > 2) {
        return tool_failure(call, &tool, &result, err);
    }
    Str text = result.out, line;
    while (result.exit_code == 0 && str_split_next(&text, '\n', &line)) {
        if (str_starts(line, STR("Value: "))) {
            out->value = str_from_offset(line, STR("Value: ").len);
        } else if (str_starts(line, STR("Status: "))) {
            out->manual = str_eq(str_from_offset(line, STR("Status: ").len), STR("manual"));
        } else if (str_starts(line, STR("Alternative: "))) {
            out->known =
                out->known || str_eq(str_from_offset(line, STR("Alternative: ").len), path);
        }
    }
    return true;
}

static bool set_check(Call *call, Outcome *outcome, Error *err)
{
    AlternativeState now;
    Str name = call_str(call, "name"), path = call_str(call, "path");
    if (!tool_check_word(name, "an alternative", err)) {
        return false;
    }
    if (!read_state(call, name, path, &now, err)) {
        return false;
    }
    if (!now.known && !call_report_missing(call, "path", "alternative", name)) {
        return error_set(err, ERROR_NOT_FOUND,
                         "'%" STR_FMT "' is not an alternative for '%" STR_FMT
                         "'; alternatives are added by packages",
                         STR_ARG(path), STR_ARG(name));
    }
    outcome->state = path;
    outcome->changed = !str_eq(now.value, path) || !now.manual;
    outcome->comment = outcome->changed ? STR("set") : STR("already set");
    if (outcome->changed) {
        bool chosen = str_eq(now.value, path);
        outcome_change(call, outcome, chosen ? "status" : "alternative",
                       chosen              ? value_string(STR("auto"))
                       : now.value.len > 0 ? value_string(now.value)
                                           : value_missing(),
                       value_string(chosen ? STR("manual") : path));
    }
    return true;
}

static bool set_apply(Call *call, Outcome *outcome, Error *err)
{
    if (!TOOL_RUN(call, NULL, err, "update-alternatives", "--set",
                  arena_copy_c(call->arena, call_str(call, "name")),
                  arena_copy_c(call->arena, call_str(call, "path")))) {
        return false;
    }
    outcome->changed = true;
    return true;
}

static const ParamSpec set_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "generic name, such as editor",
      .claims = "alternative" },
    { "path", PARAM_PATH, .aspect = "path", .required = true, .help = "path of the program to use",
      .claims = "needs:path" },
    { 0 },
};

static const Action actions[] = {
    { "set", "Ensure that a generic name refers to a program.", set_params, set_check, set_apply,
      .cost_ms = 20, .resource = "alternative name",
      .text = "Uses update-alternatives, which preserves the choice when packages are installed "
              "and\nremoved.\n",
      .example = "- name: use less as the pager\n"
                 "  alternatives.set:\n"
                 "    - name: pager\n"
                 "    - path: /usr/bin/less\n" },
    { 0 },
};

const Module modules_alternatives = {
    .name = "alternatives",
    .help = "Programs behind generic names.",
    .id_param = "name",
    .actions = actions,
};
