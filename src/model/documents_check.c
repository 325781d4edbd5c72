/* Documents other than jobs: settings of the cluster, triggers, reactions and macros. They are
 * checked as strictly as jobs, as far as possible without a node; the code that uses them parses
 * them again. Settings for files in templates/ take effect immediately. */
#include "model/parse.h"
#include "model/step_params.h"

/* --- config.yaml, triggers and reactions ------------------------------------------------------ */

enum {
    SITE_NAME_MAX = 63
};

static bool name_check(const SiteLoad *load, Value name)
{
    Str text = value_is_string(name) ? value_str(name) : STR_EMPTY;
    bool ok =
        value_is_missing(name) || (text.len > 0 && text.len <= SITE_NAME_MAX &&
                                   (ascii_is_alpha(text.data[0]) || ascii_is_digit(text.data[0])));
    for (size_t i = 0; ok && i < text.len; i++) {
        ok = ascii_is_name(text.data[i]) || text.data[i] == '-' || text.data[i] == '.';
    }
    if (!ok) {
        site_problem(load, "E0325", name,
                     "a site name has at most %d letters, digits, '.', '_' and '-', and starts "
                     "with a letter or digit",
                     SITE_NAME_MAX);
    }
    return ok;
}

bool config_check(const SiteLoad *load, Value document, Str *name, SiteEntries *triggers)
{
    static const Field fields[] = {
        { "config", FIELD_MAP },
        { "events", FIELD_MAP },
        { "templates", FIELD_MAP },
        { "name", FIELD_NAME },
        { 0 },
    };
    static const Field config_fields[] = {
        { "dataStore", FIELD_MAP },
        { 0 },
    };
    static const Field store_fields[] = {
        { "type", FIELD_NAME, .choices = "etcd|sqlite" },
        { "count", FIELD_INT },
        { 0 },
    };
    static const Field template_fields[] = {
        { "trim_blocks", FIELD_BOOL },
        { "lstrip_blocks", FIELD_BOOL },
        { 0 },
    };
    static const Field event_fields[] = {
        { "triggers", FIELD_ANY },
        { 0 },
    };
    *triggers = (SiteEntries){ 0 };
    Value input[4], config[1], store[2], events[1], blocks[2];
    bool ok = fields_read_all(load, &(FieldSet){ .what = "config.yaml", .fields = fields },
                              document, input);
    ok = fields_read_all(load, &(FieldSet){ .what = "'config'", .fields = config_fields }, input[0],
                         config) &&
         ok;
    ok = fields_read_all(load, &(FieldSet){ .what = "'dataStore'", .fields = store_fields },
                         config[0], store) &&
         ok;
    ok = fields_read_all(load, &(FieldSet){ .what = "'events'", .fields = event_fields }, input[1],
                         events) &&
         ok;
    ok = fields_read_all(load, &(FieldSet){ .what = "'templates'", .fields = template_fields },
                         input[2], blocks) &&
         ok;
    templates_set_blocks(load->templates, value_is_true(blocks[0]), value_is_true(blocks[1]));
    ok = name_check(load, input[3]) && ok;
    *name = ok && value_is_string(input[3]) ? value_str(input[3]) : STR_EMPTY;
    return site_entries_parse(load, ENTRY_TRIGGERS, events[0], triggers) && ok;
}

/* The event determines its data. */
static const SiteNames event_names = { .open = true };

static bool trigger_check(const SiteLoad *load, Value input)
{
    static const Field fields[] = {
        { "expression", FIELD_ANY, .required = true },
        { "name", FIELD_NAME },
        { 0 },
    };
    Value values[2];
    Dynamic expression;
    bool ok =
        fields_read_all(load, &(FieldSet){ .what = "a trigger", .fields = fields }, input, values);
    if (!value_is_missing(values[0])) {
        SiteLoad inner = site_load_with_names(load, &event_names);
        ok = site_compile_expression(&inner, values[0], &expression) && ok;
    }
    return ok;
}

bool triggers_check(const SiteLoad *load, Value document)
{
    if (document.kind == VALUE_NULL) {
        return true;
    }
    if (document.kind != VALUE_MAP) {
        site_problem(load, "E0303", document, "triggers must be a map with names as keys, not %s",
                     site_kind_name(document));
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; i < document.map->len; i++) {
        ok = trigger_check(load, document.map->entries[i].value) && ok;
    }
    return ok;
}

static bool limiter_check(const SiteLoad *load, Value input)
{
    static const Field fields[] = {
        { "minOccurrences", FIELD_INT, .alias = "minOccurences" },
        { "reReactDelay", FIELD_DURATION, .alias = "reReactDealy" },
        { "waitForMore", FIELD_MAP },
        { "groupBy", FIELD_ANY },
        { 0 },
    };
    static const Field wait_fields[] = {
        { "timeout", FIELD_DURATION },
        { "resetTimeoutOnMore", FIELD_BOOL },
        { 0 },
    };
    Value values[4], wait[2];
    bool ok = fields_read_all(load, &(FieldSet){ .what = "'triggerLimiter'", .fields = fields },
                              input, values);
    return fields_read_all(load, &(FieldSet){ .what = "'waitForMore'", .fields = wait_fields },
                           values[2], wait) &&
           ok;
}

static bool reaction_check(const SiteLoad *load, Value input)
{
    static const Field fields[] = {
        { "reaction", FIELD_MAP, .required = true },
        { "triggerLimiter", FIELD_MAP },
        { 0 },
    };
    static const Field reaction_fields[] = {
        { "jobs", FIELD_ANY, .required = true },
        { "conditions", FIELD_MAP },
        { 0 },
    };
    Value values[2], reaction[2];
    Condition when;
    SiteEntries jobs;
    bool ok =
        fields_read_all(load, &(FieldSet){ .what = "a reaction", .fields = fields }, input, values);
    if (!value_is_missing(values[0])) {
        ok = fields_read_all(load, &(FieldSet){ .what = "'reaction'", .fields = reaction_fields },
                             values[0], reaction) &&
             ok;
        SiteLoad inner = site_load_with_names(load, &event_names);
        ok = conditions_parse(&inner, reaction[1], &when, NULL, NULL) && ok;
        ok = site_entries_parse(&inner, ENTRY_JOBS, reaction[0], &jobs) && ok;
        ok = site_entries_exist(load, &jobs, "jobs") && ok;
    }
    return limiter_check(load, values[1]) && ok;
}

bool reactions_check(const SiteLoad *load, Value document)
{
    static const Field fields[] = {
        { "reactions", FIELD_MAP },
        { 0 },
    };
    Value input[1];
    bool ok = fields_read_all(load, &(FieldSet){ .what = "a file of reactions", .fields = fields },
                              document, input);
    for (uint32_t i = 0; !value_is_missing(input[0]) && i < input[0].map->len; i++) {
        ok = reaction_check(load, input[0].map->entries[i].value) && ok;
    }
    return ok;
}

/* --- Macros ----------------------------------------------------------------------------------- */

enum {
    MACRO_ACTION,
    MACRO_PARAMETERS,
    MACRO_EXPRESSION,
    MACRO_ARGS,
    MACRO_MEMO,
    MACRO_SECRET,
    MACRO_FIELDS
};

static const Field macro_fields[] = {
    { "action", FIELD_NAME },
    { "parameters", FIELD_ANY },
    { "expression", FIELD_ANY },
    { "args", FIELD_LIST },
    { "memo", FIELD_BOOL },
    { "secret", FIELD_BOOL },
    { 0 },
};

typedef struct MacroBuilder {
    const SiteLoad *load;
    Value short_action; /* the key of `some.action: [..]`; missing: none */
    Value short_parameters;
    bool has_two_actions;
} MacroBuilder;

static bool take_action(void *context, const MapEntry *entry)
{
    MacroBuilder *b = context;
    Str name;
    if (!site_text(b->load, entry->key, &name) || str_find(name, STR("."), 0) == STR_NOT_FOUND) {
        return false;
    }
    b->has_two_actions = b->has_two_actions || !value_is_missing(b->short_action);
    b->short_action = entry->key;
    b->short_parameters = entry->value;
    return true;
}

static bool check_action(const SiteLoad *load, Value name, Value parameters)
{
    ActionCall call;
    bool ok = action_call_find(load, name, &call);
    ok = action_call_params(load, parameters, NULL, &call) && ok;
    if (ok) {
        StepSpec spec = { .action_location = name, .module = call.module, .action = call.action };
        ok = step_params_complete(&spec, call.params_set, load->sources, load->problems);
    }
    return ok;
}

static bool check_macro(const SiteLoad *load, const MapEntry *entry)
{
    if (!value_is_string(entry->key)) {
        site_problem(load, "E0303", entry->key, "the name of a macro must be a string, not %s",
                     site_kind_name(entry->key));
        return false;
    }
    MacroBuilder b = { .load = load,
                       .short_action = value_missing(),
                       .short_parameters = value_missing() };
    FieldSet set = {
        .what = "a macro", .fields = macro_fields, .handle_key = take_action, .context = &b
    };
    Value input[MACRO_FIELDS];
    if (!fields_read_all(load, &set, entry->value, input)) {
        return false;
    }
    bool has_action = !value_is_missing(input[MACRO_ACTION]);
    bool has_short = !value_is_missing(b.short_action);
    bool has_expression = !value_is_missing(input[MACRO_EXPRESSION]);
    if (b.has_two_actions || has_action + has_short + has_expression != 1) {
        site_problem(load, "E0304", entry->key,
                     "a macro needs exactly one of 'action', an action as key, or 'expression'");
        return false;
    }
    if (!has_action && !value_is_missing(input[MACRO_PARAMETERS])) {
        site_problem(load, "E0302", input[MACRO_PARAMETERS], "'parameters' require an 'action'");
        return false;
    }
    Dynamic compiled;
    return has_expression ? site_compile_expression(load, input[MACRO_EXPRESSION], &compiled)
                          : check_action(load, has_short ? b.short_action : input[MACRO_ACTION],
                                         has_short ? b.short_parameters : input[MACRO_PARAMETERS]);
}

bool macros_check(const SiteLoad *outer, Value document)
{
    static const SiteNames names = { .open = true, .context_name = "macros" };
    SiteLoad inner = site_load_with_names(outer, &names);
    const SiteLoad *load = &inner;
    if (document.kind == VALUE_NULL) {
        return true;
    }
    if (document.kind != VALUE_MAP) {
        site_problem(load, "E0303", document, "macros must be a map with names as keys, not %s",
                     site_kind_name(document));
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; i < document.map->len; i++) {
        ok = check_macro(load, &document.map->entries[i]) && ok;
    }
    return ok;
}
