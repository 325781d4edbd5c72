#include "model/document_location.h"
#include "model/parse.h"

enum {
    STEP_NAME,
    STEP_ACTION,
    STEP_PARAMETERS,
    STEP_CONDITIONS,
    STEP_RUN_OPTIONS,
    STEP_ORDER,
    STEP_FOR_EACH,
    STEP_SECRET,
    STEP_METADATA,
    STEP_SPEC,
    STEP_FIELDS
};

static const Field step_fields[] = {
    { "name", FIELD_NAME,
      .documentation = { .help = "Name of the step.",
                         .text =
                             "Names must be unique within a file; JOB#NAME is the ID of the step. "
                             "The "
                             "default is derived from the\n"
                             "action and what it manages. A name cannot contain templates.\n" } },
    { "action", FIELD_NAME,
      .documentation = { .help = "Action of the step, such as 'file.managed'.",
                         .text =
                             "In the short form, the parameters are directly below the action: "
                             "'file.managed: [..]' is the same as\n"
                             "'action: file.managed' with 'parameters: [..]'. 'eden help actions' "
                             "lists all actions.\n",
                         .example = "- name: greet\n"
                                    "  action: file.managed\n"
                                    "  parameters:\n"
                                    "    - name: /etc/motd\n"
                                    "    - content: Welcome.\n" } },
    { "parameters", FIELD_ANY,
      .documentation = { .help = "Parameters of the action: a map, or a list of one-key maps.",
                         .text = "Strings may contain templates, which are rendered when the step "
                                 "runs. "
                                 "Requisites can also be\n"
                                 "written among the parameters.\n" } },
    { "conditions", FIELD_MAP,
      .documentation = { .help = "Conditions for running the step and for its success: 'when', "
                                 "'success', "
                                 "'continue'.",
                         .text =
                             "Conditions are bare expressions, without braces. If 'when' is "
                             "false,\n"
                             "the step is skipped; with 'retry', it waits, and fails when all\n"
                             "retries are used up. 'success' is evaluated after the action and "
                             "can\n"
                             "use its result as 'step'; if it is false, the step fails. In a\n"
                             "cluster, 'continue' delays the next batch. 'limit' is the number of\n"
                             "retries; 0 means no limit.\n",
                         .example = "- name: enough room\n"
                                    "  cmd.run:\n"
                                    "    - cmd: df --output=pcent / | tail -1 | tr -d ' %'\n"
                                    "  conditions:\n"
                                    "    when:\n"
                                    "      condition: server.os == 'debian'\n"
                                    "      retry: {interval: 30s, limit: 20}\n"
                                    "    success:\n"
                                    "      condition: step.StdOut | int < 80\n" } },
    { "runOptions", FIELD_MAP,
      .documentation = { .help = "How the step runs: 'timeout', 'retry', and for a cluster 'sync', "
                                 "'serialize', 'target'.",
                         .text =
                             "'retry' repeats the action itself until it succeeds and 'until' is\n"
                             "true. These options can also be set for all steps in a file.\n",
                         .example = "- name: fetch it\n"
                                    "  cmd.run: [{cmd: 'fetch > /srv/data'}]\n"
                                    "  runOptions:\n"
                                    "    timeout: 5m\n"
                                    "    retry: {interval: 10s, limit: 3, until: step.ExitCode == "
                                    "0}\n" } },
    { "order", FIELD_ANY,
      .documentation = { .help = "'first', 'last', or a number: numbered steps run before those "
                                 "without an "
                                 "order." } },
    { "forEach", FIELD_ANY,
      .documentation = { .help = "Create one step for each item of a list or map.",
                         .text =
                             "For a list, the current item is 'item'; for a map, use 'item.key' "
                             "and\n"
                             "'item.value'. The instances are named NAME[KEY], and a requisite on\n"
                             "NAME refers to all of them. The list must be known before the run: "
                             "it\n"
                             "can use variables, facts and macros, but not results of steps.\n",
                         .example = "- name: a directory per shop\n"
                                    "  forEach: [books, tea]\n"
                                    "  file.directory:\n"
                                    "    - name: /srv/{{ item }}\n" } },
    { "secret", FIELD_BOOL,
      .documentation = { .help = "Whether the output, result and changes of the step are secret.",
                         .text =
                             "Reports show (secret) instead. Later steps can use the values, and "
                             "whatever they derive from them is\n"
                             "secret too. See 'eden help secrets'.\n",
                         .example = "- name: token\n"
                                    "  secret: true\n"
                                    "  cmd.run: [{cmd: vault read -field=token app}]\n"
                                    "- name: keep it\n"
                                    "  file.managed:\n"
                                    "    - name: /etc/app/token\n"
                                    "    - content: \"{{ steps['token'].StdOut }}\"\n" } },
    { "metadata", FIELD_MAP,
      .documentation = { .help = "Name, labels and annotations of a step that has a 'spec'." } },
    { "spec", FIELD_MAP,
      .documentation = { .help = "All other keys of a step that has 'metadata'." } },
    { 0 },
};

bool step_key_next(uint32_t *pos, StepKey *out)
{
    uint32_t index = (*pos)++;
    if (index >= STEP_FIELDS) {
        return requisite_key_at(index - STEP_FIELDS, out);
    }
    *out = step_fields[index].documentation;
    out->name = step_fields[index].name;
    return true;
}

enum {
    NAME_MAX_BYTES = 1024
};

/* A step while its keys are collected. */
typedef struct StepBuilder {
    const SiteLoad *load;
    Value input[STEP_FIELDS];
    Value short_action; /* the key of `some.action: [..]`; missing: none */
    Value short_parameters;
    Requisites requisites;
    bool ok;
} StepBuilder;

/* Handles keys that are allowed both on the step and among its parameters. */
static bool handle_requisite(StepBuilder *b, const MapEntry *entry, Str name)
{
    if (!requisite_key_is(name)) {
        return false;
    }
    b->ok = requisite_parse(b->load, entry, &b->requisites) && b->ok;
    return true;
}

static void report_second_action(StepBuilder *b, Value key, Str hint)
{
    Problem *problem = site_problem(b->load, "E0310", key,
                                    "a step can have only one action; this is a second one");
    problem->hint = hint;
}

static bool handle_step_key(void *context, const MapEntry *entry)
{
    StepBuilder *b = context;
    Str name;
    if (!site_text(b->load, entry->key, &name)) {
        return false;
    }
    if (handle_requisite(b, entry, name)) {
        return true;
    }
    if (str_find(name, STR("."), 0) == STR_NOT_FOUND) {
        return false;
    }
    if (!value_is_missing(b->short_action)) {
        report_second_action(b, entry->key, STR("make it a separate step: '- name: ...'"));
        b->ok = false;
        return true;
    }
    b->short_action = entry->key;
    b->short_parameters = entry->value;
    return true;
}

static bool handle_parameter_key(void *context, const MapEntry *entry)
{
    StepBuilder *b = context;
    Str name;
    if (!site_text(b->load, entry->key, &name)) {
        return false;
    }
    if (str_eq(name, STR("order"))) {
        if (!value_is_missing(b->input[STEP_ORDER])) {
            site_hint_duplicate(
                b->load, site_problem(b->load, "E0310", entry->key, "'order' is given twice"),
                b->input[STEP_ORDER]);
            b->ok = false;
        } else if (entry->value.kind != VALUE_NULL) {
            b->input[STEP_ORDER] = entry->value;
        }
        return true;
    }
    return handle_requisite(b, entry, name);
}

static void suggest_requisites(void *context, Suggest *suggest)
{
    requisite_keys_suggest(suggest);
}

/* An unknown key is most likely a misplaced parameter. */
static Str explain_key(void *context, Str name)
{
    const StepBuilder *b = context;
    Value key = value_is_missing(b->short_action) ? b->input[STEP_ACTION] : b->short_action;
    const Module *module;
    const Action *action;
    if (!value_is_string(key) ||
        !module_table_find(b->load->modules, value_str(key), &module, &action) ||
        action_param_index(action, name) < 0) {
        return STR_EMPTY;
    }
    return arena_format(
        b->load->problems->arena, "it is a parameter: indent it below '%" STR_FMT ":'",
        STR_ARG(value_is_missing(b->short_action) ? STR("parameters") : value_str(key)));
}

static void read_keys(StepBuilder *b, Value input)
{
    FieldSet set = { .what = "a step",
                     .fields = step_fields,
                     .handle_key = handle_step_key,
                     .suggest_names = suggest_requisites,
                     .explain = explain_key,
                     .context = b,
                     .names_actions = true };
    fields_clear(step_fields, b->input);
    b->ok = fields_read(b->load, &set, input, b->input) && b->ok;
    Value spec = b->input[STEP_SPEC];
    if (!value_is_missing(spec)) {
        b->input[STEP_SPEC] = value_missing();
        b->ok = fields_read(b->load, &set, spec, b->input) && b->ok;
    }
    Value name = value_missing();
    if (!value_is_missing(b->input[STEP_METADATA])) {
        b->ok = document_metadata(b->load, b->input[STEP_METADATA], &name) && b->ok;
    }
    if (!value_is_missing(name) && !value_is_missing(b->input[STEP_NAME])) {
        site_hint_duplicate(b->load,
                            site_problem(b->load, "E0310", name, "the step already has a name"),
                            b->input[STEP_NAME]);
        b->ok = false;
    } else if (!value_is_missing(name)) {
        b->input[STEP_NAME] = name;
    }
}

/* Finds the action and its parameters: `action` and `parameters`, or the short form. */
static bool read_action(StepBuilder *b, Value step, ActionCall *call)
{
    Value name = b->input[STEP_ACTION];
    Value parameters = b->input[STEP_PARAMETERS];
    *call = (ActionCall){ 0 };
    if (!value_is_missing(b->short_action)) {
        if (!value_is_missing(name)) {
            report_second_action(b, b->short_action,
                                 STR("use either 'action' and 'parameters', or this form"));
            b->ok = false;
        } else if (!value_is_missing(parameters)) {
            site_problem(b->load, "E0310", parameters,
                         "the parameters are already below the action");
            b->ok = false;
        } else {
            name = b->short_action;
            parameters = b->short_parameters;
        }
    }
    bool found = false;
    if (value_is_missing(name)) {
        if (b->ok) {
            Problem *problem = site_problem(b->load, "E0304", step, "a step requires 'action'");
            problem->hint =
                STR("add a line such as 'action: file.managed'; 'eden explain' lists all actions");
        }
    } else {
        found = action_call_find(b->load, name, call);
    }
    FieldSet others = { .handle_key = handle_parameter_key,
                        .suggest_names = suggest_requisites,
                        .context = b };
    return action_call_params(b->load, parameters, &others, call) && found;
}

static bool read_conditions(const SiteLoad *load, Value input, StepSpec *out)
{
    if (value_is_missing(input)) {
        return true;
    }
    Condition *conditions = arena_alloc_zero(load->arena, 3 * sizeof *conditions);
    out->when = &conditions[0];
    out->success = &conditions[1];
    out->proceed = &conditions[2];
    return conditions_parse(load, input, &conditions[0], &conditions[1], &conditions[2]);
}

/* The options of the step override those of its file. */
static bool read_run_options(const SiteLoad *load, Value input, StepSpec *out)
{
    if (value_is_missing(input)) {
        return true;
    }
    RunOptions *options = ARENA_NEW(load->arena, RunOptions);
    *options = *out->run;
    out->run = options;
    return run_options_parse(load, input, options);
}

static bool read_order(const SiteLoad *load, Value input, StepSpec *out)
{
    out->order = ORDER_NONE;
    if (value_is_missing(input)) {
        return true;
    }
    Str word = value_is_string(input) ? value_str(input) : STR_EMPTY;
    if (str_eq(word, STR("first"))) {
        out->order = ORDER_FIRST;
    } else if (str_eq(word, STR("last"))) {
        out->order = ORDER_LAST;
    } else if (input.kind == VALUE_INT && input.integer >= 0) {
        out->order = ORDER_NUMBER;
        out->order_number = input.integer;
    } else {
        site_problem(load, "E0303", input,
                     "'order' must be 'first', 'last' or a non-negative integer");
        return false;
    }
    return true;
}

void for_each_unknown(const SiteLoad *load, Value location)
{
    Problem *problem =
        site_problem(load, "E0317", location,
                     "'forEach' must be known before the run, but this depends on the run");
    problem->hint = STR("it can use variables, facts and macros, but not the results of steps");
}

void for_each_of_scalar(const SiteLoad *load, Value location, Value items)
{
    Problem *problem =
        site_problem(load, "E0316", location, "'forEach' requires a list or a map, not %s",
                     site_kind_name(items));
    problem->hint = STR("write a list, such as [web, db]");
}

static bool check_for_each(const SiteLoad *load, const Dynamic *input)
{
    if (dynamic_uses_steps(input)) {
        for_each_unknown(load, input->value);
        return false;
    }
    if (input->kind == DYNAMIC_TEXT) {
        Problem *problem = site_problem(load, "E0316", input->value,
                                        "'forEach' requires a list or a map, not a string");
        problem->hint = STR("a single '{{ expression }}' keeps its type");
        return false;
    }
    bool is_iterable = input->kind != DYNAMIC_CONSTANT || input->value.kind == VALUE_LIST ||
                       input->value.kind == VALUE_MAP;
    if (!is_iterable) {
        for_each_of_scalar(load, input->value, input->value);
    }
    return is_iterable;
}

static bool read_for_each(const SiteLoad *load, Value input, StepSpec *out)
{
    out->for_each = (Dynamic){ .kind = DYNAMIC_CONSTANT, .value = value_null() };
    if (value_is_missing(input)) {
        return true;
    }
    out->has_for_each = true;
    static const SiteNames names = { .steps = true };
    SiteLoad inner = site_load_with_names(load, &names);
    if (!site_compile(&inner, input, &out->for_each) || !check_for_each(load, &out->for_each)) {
        out->for_each = (Dynamic){ .kind = DYNAMIC_CONSTANT, .value = value_missing() };
        return false;
    }
    return true;
}

static bool read_name(const SiteLoad *load, Value input, const ActionCall *call, Value step,
                      StepSpec *out)
{
    out->name_location = value_is_missing(input) ? call->location : input;
    if (!value_is_missing(input)) {
        out->name = str_trim(value_str(input));
    } else if (call->action != NULL) {
        Str id = action_call_id(load, call);
        out->name = arena_format(load->arena, "%s.%s%s%" STR_FMT, call->module->name,
                                 call->action->name, id.len > 0 ? " " : "", STR_ARG(id));
    } else {
        out->name_location = step;
        out->name = STR_EMPTY;
    }
    if (out->name.len > NAME_MAX_BYTES) {
        if (value_is_missing(input)) {
            out->name.len = NAME_MAX_BYTES;
            return true;
        }
        site_problem(load, "E0303", input, "a name can have at most %d bytes", NAME_MAX_BYTES);
        return false;
    }
    return true;
}

/* watch and listen without a reaction are misleading. */
static void hint_about_reactions(const SiteLoad *load, const StepSpec *spec)
{
    if (spec->action == NULL || spec->action->react != NULL) {
        return;
    }
    for (uint32_t i = 0; i < spec->requisite_count; i++) {
        const Requisite *requisite = &spec->requisites[i];
        bool watch = requisite->kind == REQUISITE_WATCH;
        if (!requisite->in && (watch || requisite->kind == REQUISITE_LISTEN)) {
            Problem *hint =
                site_hint(load, "E0320", requisite->location,
                          "'%s.%s' does not react to changes: here '%s' %s", spec->module->name,
                          spec->action->name, watch ? "watch" : "listen",
                          watch ? "is the same as 'require'" : "does nothing");
            if (hint != NULL && watch) {
                hint->hint = STR("write 'require'");
            }
        }
    }
}

/* Placeholder for an unknown action: such a step never runs, but references to it and its
 * conditions are checked nevertheless. */
static const ParamSpec no_params[] = { { 0 } };
static const Action unknown_actions[] = {
    { .name = "unknown", .params = no_params },
    { 0 },
};
static const Module unknown_module = { .name = "unknown",
                                       .id_param = "name",
                                       .actions = unknown_actions };

/* Checked before parsing its keys: it determines the names that templates can use. */
static bool has_for_each(Value step)
{
    const Value *spec = value_get(step, STR("spec"));
    const Value *own = value_get(step, STR("forEach"));
    const Value *inner = spec == NULL ? NULL : value_get(*spec, STR("forEach"));
    return (own != NULL && own->kind != VALUE_NULL) || (inner != NULL && inner->kind != VALUE_NULL);
}

bool step_parse(const SiteLoad *outer, Value input, const RunOptions *base, StepSpec *out)
{
    const SiteNames names = { .steps = true, .item = has_for_each(input) };
    SiteLoad inner = site_load_with_names(outer, &names);
    const SiteLoad *load = &inner;
    StepBuilder b = { .load = load,
                      .short_action = value_missing(),
                      .short_parameters = value_missing(),
                      .ok = true };
    *out = (StepSpec){ .location = input,
                       .action_location = input,
                       .module = &unknown_module,
                       .action = unknown_actions,
                       .params_unreadable = true,
                       .when = &condition_none,
                       .success = &condition_none,
                       .proceed = &condition_none,
                       .run = base };
    if (input.kind != VALUE_MAP) {
        site_problem(load, "E0303", input, "a step must be a map, not %s", site_kind_name(input))
            ->hint = STR("a step is an action with its parameters: 'cmd.run: {cmd: ...}'");
        return false;
    }
    read_keys(&b, input);
    ActionCall call;
    bool ok = read_action(&b, input, &call);
    out->action_location = call.location;
    out->module = call.module;
    out->action = call.action;
    out->params = call.params;
    out->params_set = call.params_set;
    out->params_by_foreign_name = call.params_by_foreign_name;
    out->params_unreadable = call.params_unreadable;
    out->params_invalid = !ok;
    out->values = call.values;
    ok = read_name(load, b.input[STEP_NAME], &call, input, out) && ok;
    ok = read_conditions(load, b.input[STEP_CONDITIONS], out) && ok;
    ok = read_run_options(load, b.input[STEP_RUN_OPTIONS], out) && ok;
    ok = read_order(load, b.input[STEP_ORDER], out) && ok;
    ok = read_for_each(load, b.input[STEP_FOR_EACH], out) && ok;
    out->secret = b.input[STEP_SECRET].kind == VALUE_BOOL && b.input[STEP_SECRET].boolean;
    out->requisites = b.requisites.items;
    out->requisite_count = b.requisites.len;
    hint_about_reactions(load, out);
    if (out->action == NULL) {
        out->module = &unknown_module;
        out->action = unknown_actions;
        out->params_set = 0;
    }
    return ok && b.ok;
}
