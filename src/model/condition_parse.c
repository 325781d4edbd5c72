#include "model/parse.h"

enum {
    RETRY_INTERVAL_MS = 10000
};

const Condition condition_none = { .given = false };

bool retry_parse(const SiteLoad *load, Value given, bool with_until, Retry *out)
{
    static const Field fields[] = {
        { "interval", FIELD_DURATION },
        { "limit", FIELD_INT },
        { "until", FIELD_ANY },
        { 0 },
    };
    static const Field without_until[] = {
        { "interval", FIELD_DURATION },
        { "limit", FIELD_INT },
        { 0 },
    };
    Value values[3] = { [2] = value_missing() };
    FieldSet set = { .what = "'retry'", .fields = with_until ? fields : without_until };
    bool ok = fields_read_all(load, &set, given, values);
    *out = (Retry){
        .given = true,
        .interval_ms = value_is_missing(values[0]) ? RETRY_INTERVAL_MS : values[0].integer,
        .limit = value_is_missing(values[1]) ? 0 : values[1].integer,
        .until = { .kind = DYNAMIC_CONSTANT, .value = value_null() },
    };
    if (!value_is_missing(values[2])) {
        SiteNames names = load->names == NULL ? (SiteNames){ 0 } : *load->names;
        names.step = true;
        SiteLoad inner = site_load_naming(load, load->names == NULL ? NULL : &names);
        ok = site_compile_expression(&inner, values[2], &out->until) && ok;
    }
    return ok;
}

/* `{condition: .., retry: {interval, limit}}` */
static bool condition_parse(const SiteLoad *load, Value given, Condition *out)
{
    static const Field fields[] = {
        { "condition", FIELD_ANY, .required = true },
        { "retry", FIELD_MAP },
        { 0 },
    };
    *out = (Condition){ 0 };
    if (value_is_string(given) || given.kind == VALUE_BOOL) {
        Problem *problem = site_problem(load, "E0303", given,
                                        "a condition is a map with the key "
                                        "'condition'");
        problem->hint = STR("write it as 'condition: ...' on a line of its own");
        return false;
    }
    Value values[2];
    FieldSet set = { .what = "a condition", .fields = fields };
    bool ok = fields_read_all(load, &set, given, values);
    if (!value_is_missing(values[0])) {
        ok = site_compile_expression(load, values[0], &out->test) && ok;
    }
    if (!value_is_missing(values[1])) {
        ok = retry_parse(load, values[1], false, &out->retry) && ok;
    }
    out->given = ok;
    return ok;
}

bool conditions_parse(const SiteLoad *load, Value given, Condition *when, Condition *success,
                      Condition *proceed)
{
    static const Field of_step[] = {
        { "when", FIELD_ANY },
        { "success", FIELD_ANY },
        { "continue", FIELD_ANY },
        { 0 },
    };
    static const Field of_job[] = {
        { "when", FIELD_ANY },
        { 0 },
    };
    Value values[3] = { value_missing(), value_missing(), value_missing() };
    FieldSet set = { .what = success != NULL ? "'conditions'" : "'conditions' of a job",
                     .fields = success != NULL ? of_step : of_job };
    bool ok = fields_read(load, &set, given, values);
    Condition *conditions[] = { when, success, proceed };
    SiteNames names = load->names == NULL ? (SiteNames){ 0 } : *load->names;
    SiteLoad inner = site_load_naming(load, load->names == NULL ? NULL : &names);
    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        names.step = i > 0; /* all but `when` see the own result */
        if (!value_is_missing(values[i])) {
            ok = condition_parse(&inner, values[i], conditions[i]) && ok;
        }
    }
    return ok;
}
