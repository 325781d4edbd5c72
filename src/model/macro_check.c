/* Files of macros, as far as they can be checked without a node: keys, actions, parameters,
 * expressions. Who asks macros reads them again. */
#include "model/parse.h"
#include "model/step_params.h"

enum {
    MACRO_ACTION,
    MACRO_PARAMETERS,
    MACRO_EXPRESSION,
    MACRO_ARGS,
    MACRO_MEMO,
    MACRO_SECRET,
    MACRO_FIELDS
};

static const Field fields[] = {
    { "action", FIELD_NAME },
    { "parameters", FIELD_ANY },
    { "expression", FIELD_ANY },
    { "args", FIELD_LIST },
    { "memo", FIELD_BOOL },
    { "secret", FIELD_BOOL },
    { 0 },
};

typedef struct Builder {
    const SiteLoad *load;
    Value short_action; /* the key of `some.action: [..]`; missing: none */
    Value short_parameters;
    bool twice;
} Builder;

static bool take_action(void *context, const MapEntry *entry)
{
    Builder *b = context;
    Str name;
    if (!site_text(b->load, entry->key, &name) || str_find(name, STR("."), 0) == STR_NOT_FOUND) {
        return false;
    }
    b->twice = b->twice || !value_is_missing(b->short_action);
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
        StepSpec spec = { .action_place = name, .module = call.module, .action = call.action };
        ok = step_params_complete(&spec, call.params_set, load->sources, load->problems);
    }
    return ok;
}

static bool check_macro(const SiteLoad *load, const MapEntry *entry)
{
    if (!value_is_string(entry->key)) {
        site_problem(load, "E0303", entry->key, "the name of a macro is text, not %s",
                     site_kind_words(entry->key));
        return false;
    }
    Builder b = { .load = load,
                  .short_action = value_missing(),
                  .short_parameters = value_missing() };
    FieldSet set = { .what = "a macro", .fields = fields, .take = take_action, .context = &b };
    Value given[MACRO_FIELDS];
    if (!fields_read_all(load, &set, entry->value, given)) {
        return false;
    }
    bool has_action = !value_is_missing(given[MACRO_ACTION]);
    bool has_short = !value_is_missing(b.short_action);
    bool has_expression = !value_is_missing(given[MACRO_EXPRESSION]);
    if (b.twice || has_action + has_short + has_expression != 1) {
        site_problem(load, "E0304", entry->key,
                     "a macro has one of 'action', an action as key, or 'expression'");
        return false;
    }
    if (!has_action && !value_is_missing(given[MACRO_PARAMETERS])) {
        site_problem(load, "E0302", given[MACRO_PARAMETERS], "'parameters' belong to an 'action'");
        return false;
    }
    Dynamic compiled;
    return has_expression ? site_compile_expression(load, given[MACRO_EXPRESSION], &compiled)
                          : check_action(load, has_short ? b.short_action : given[MACRO_ACTION],
                                         has_short ? b.short_parameters : given[MACRO_PARAMETERS]);
}

bool macros_check(const SiteLoad *outer, Value document)
{
    static const SiteNames names = { .open = true, .here = "macros" };
    SiteLoad inner = site_load_naming(outer, &names);
    const SiteLoad *load = &inner;
    if (document.kind == VALUE_NULL) {
        return true;
    }
    if (document.kind != VALUE_MAP) {
        site_problem(load, "E0303", document, "macros must be a map of names, not %s",
                     site_kind_words(document));
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; i < document.map->len; i++) {
        ok = check_macro(load, &document.map->entries[i]) && ok;
    }
    return ok;
}
