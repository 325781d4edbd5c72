/* Parses what steps and jobs have in addition to an action: `conditions`, `retry` and
 * `runOptions`. */
#include "model/parse.h"

enum {
    RETRY_INTERVAL_MS = 10000
};

const Condition condition_none = { .is_set = false };

/* `{interval, limit}`, and `until` for run options. */
static bool retry_parse(const SiteLoad *load, Value input, bool with_until, Retry *out)
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
    bool ok = fields_read_all(load, &set, input, values);
    *out = (Retry){
        .is_set = true,
        .interval_ms = value_is_missing(values[0]) ? RETRY_INTERVAL_MS : values[0].integer,
        .limit = value_is_missing(values[1]) ? 0 : values[1].integer,
        .until = { .kind = DYNAMIC_CONSTANT, .value = value_null() },
    };
    if (!value_is_missing(values[2])) {
        SiteNames names = load->names == NULL ? (SiteNames){ 0 } : *load->names;
        names.step = true;
        SiteLoad inner = site_load_with_names(load, load->names == NULL ? NULL : &names);
        ok = site_compile_expression(&inner, values[2], &out->until) && ok;
    }
    return ok;
}

/* `{condition: .., retry: {interval, limit}}` */
static bool condition_parse(const SiteLoad *load, Value input, Condition *out)
{
    static const Field fields[] = {
        { "condition", FIELD_ANY, .required = true },
        { "retry", FIELD_MAP },
        { 0 },
    };
    *out = (Condition){ 0 };
    if (value_is_string(input) || input.kind == VALUE_BOOL) {
        Problem *problem = site_problem(load, "E0303", input,
                                        "a condition must be a map with the key 'condition'");
        problem->hint = STR("write it as 'condition: ...' on a separate line");
        return false;
    }
    if (input.kind == VALUE_LIST) {
        site_problem(load, "E0303", input, "a condition must be a map, not a list")->hint =
            STR("write one condition and join its parts with 'and'");
        return false;
    }
    Value values[2];
    FieldSet set = { .what = "a condition", .fields = fields };
    bool ok = fields_read_all(load, &set, input, values);
    if (!value_is_missing(values[0])) {
        ok = site_compile_expression(load, values[0], &out->test) && ok;
    }
    if (!value_is_missing(values[1])) {
        ok = retry_parse(load, values[1], false, &out->retry) && ok;
    }
    out->is_set = ok;
    return ok;
}

bool conditions_parse(const SiteLoad *load, Value input, Condition *when, Condition *success,
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
    bool ok = fields_read(load, &set, input, values);
    Condition *conditions[] = { when, success, proceed };
    SiteNames names = load->names == NULL ? (SiteNames){ 0 } : *load->names;
    SiteLoad inner = site_load_with_names(load, load->names == NULL ? NULL : &names);
    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        names.step = i > 0; /* all except `when` can use their own result */
        if (!value_is_missing(values[i])) {
            ok = condition_parse(&inner, values[i], conditions[i]) && ok;
        }
    }
    return ok;
}

/* --- runOptions ------------------------------------------------------------------------------- */

static bool percent_parse(const SiteLoad *load, Value input, int64_t *out)
{
    Str text;
    if (input.kind == VALUE_INT) {
        *out = input.integer;
    } else if (!site_text(load, input, &text) || !str_ends(text, STR("%")) ||
               !str_to_i64(str_slice(text, 0, text.len - 1), out)) {
        *out = 0;
    }
    if (*out < 1 || *out > 100) {
        site_problem(load, "E0303", input, "'percent' must be an integer from 1 to 100");
        return false;
    }
    return true;
}

static bool serialize_parse(const SiteLoad *load, Value input, Serialize *out)
{
    enum {
        COUNT,
        PERCENT,
        FAIL_AFTER,
        MAX_FAILURES,
        FIELD_COUNT
    };
    static const Field fields[] = {
        { "count", FIELD_INT },
        { "percent", FIELD_ANY },
        { "failAfterAllTargetsRan", FIELD_BOOL },
        { "maxFailures", FIELD_INT },
        { 0 },
    };
    Value values[FIELD_COUNT];
    FieldSet set = { .what = "'serialize'", .fields = fields };
    bool ok = fields_read_all(load, &set, input, values);
    *out = (Serialize){ .is_set = true, .max_failures = -1 };
    bool has_count = !value_is_missing(values[COUNT]);
    bool has_percent = !value_is_missing(values[PERCENT]);
    if (ok && has_count == has_percent) {
        site_problem(load, "E0304", input,
                     has_count ? "'serialize' requires either 'count' or 'percent', not both"
                               : "'serialize' requires 'count' or 'percent'");
        ok = false;
    }
    if (has_count) {
        out->count = values[COUNT].integer;
        if (out->count == 0) {
            site_problem(load, "E0303", values[COUNT], "'count' must be a positive integer");
            ok = false;
        }
    }
    if (has_percent) {
        ok = percent_parse(load, values[PERCENT], &out->percent) && ok;
    }
    out->fail_after_all_ran = !value_is_missing(values[FAIL_AFTER]) && values[FAIL_AFTER].boolean;
    if (!value_is_missing(values[MAX_FAILURES])) {
        out->max_failures = values[MAX_FAILURES].integer;
    }
    return ok;
}

static bool hosts_parse(const SiteLoad *load, Value input, RunOptions *out)
{
    bool one = input.kind != VALUE_LIST;
    uint32_t count = one ? 1 : input.list->len;
    const Selector **targets = ARENA_ARRAY(load->arena, const Selector *, count + 1);
    bool ok = true;
    for (uint32_t i = 0; i < count; i++) {
        ok = site_selector_parse(load, one ? input : input.list->items[i], &targets[i]) && ok;
    }
    out->targets = targets;
    out->target_count = count;
    return ok;
}

static bool target_parse(const SiteLoad *load, Value input, RunOptions *out)
{
    static const Field fields[] = {
        { "hosts", FIELD_ANY },
        { "limit", FIELD_INT },
        { 0 },
    };
    Value values[2];
    FieldSet set = { .what = "'target'", .fields = fields };
    bool ok = fields_read_all(load, &set, input, values);
    out->targets = NULL;
    out->target_count = 0;
    out->target_limit = value_is_missing(values[1]) ? 0 : values[1].integer;
    if (!value_is_missing(values[0])) {
        ok = hosts_parse(load, values[0], out) && ok;
    }
    return ok;
}

enum {
    RUN_SYNC,
    RUN_SERIALIZE,
    RUN_TARGET,
    RUN_TIMEOUT,
    RUN_RETRY,
    RUN_CONSISTENCY,
    RUN_FAIL_AFTER,
    RUN_COUNT
};

static const Field run_fields[] = {
    { "sync", FIELD_BOOL },
    { "serialize", FIELD_MAP },
    { "target", FIELD_MAP },
    { "timeout", FIELD_DURATION },
    { "retry", FIELD_MAP },
    { "consistency", FIELD_NAME, .choices = "consistent|eventual" },
    { "failAfterAllTargetsRan", FIELD_BOOL },
    { 0 },
};

bool run_options_parse(const SiteLoad *load, Value input, RunOptions *out)
{
    Value values[RUN_COUNT];
    FieldSet set = { .what = "'runOptions'", .fields = run_fields };
    bool ok = fields_read_all(load, &set, input, values);
    if (!value_is_missing(values[RUN_SYNC])) {
        out->sync = values[RUN_SYNC].boolean;
    }
    if (!value_is_missing(values[RUN_SERIALIZE])) {
        ok = serialize_parse(load, values[RUN_SERIALIZE], &out->serialize) && ok;
    }
    if (!value_is_missing(values[RUN_TARGET])) {
        ok = target_parse(load, values[RUN_TARGET], out) && ok;
    }
    if (!value_is_missing(values[RUN_TIMEOUT])) {
        out->timeout_ms = values[RUN_TIMEOUT].integer;
    }
    if (!value_is_missing(values[RUN_RETRY])) {
        ok = retry_parse(load, values[RUN_RETRY], true, &out->retry) && ok;
    }
    if (!value_is_missing(values[RUN_CONSISTENCY])) {
        out->eventual = str_eq(value_str(values[RUN_CONSISTENCY]), STR("eventual"));
    }
    if (!value_is_missing(values[RUN_FAIL_AFTER])) {
        out->fail_after_all_ran = values[RUN_FAIL_AFTER].boolean;
    }
    return ok;
}
