/* Version comparison, as a filter and as a test. */
#include "lang/template/filter.h"
#include "lang/template/version.h"

/* Which of less, equal, greater satisfy an operator. */
typedef struct Comparison {
    const char *names[3];
    bool less, equal, greater;
} Comparison;

static const Comparison comparisons[] = {
    { { "<", "lt" }, true, false, false },       { { "<=", "le" }, true, true, false },
    { { ">", "gt" }, false, false, true },       { { ">=", "ge" }, false, true, true },
    { { "==", "eq", "=" }, false, true, false }, { { "!=", "ne", "<>" }, true, false, true },
};

static const Comparison *find_comparison(Str name)
{
    for (size_t i = 0; i < COUNT_OF(comparisons); i++) {
        for (size_t k = 0; k < COUNT_OF(comparisons[i].names); k++) {
            if (comparisons[i].names[k] != NULL && str_eq_c(name, comparisons[i].names[k])) {
                return &comparisons[i];
            }
        }
    }
    return NULL;
}

static bool compare(Render *r, Str a, Str b, Str type, int *out)
{
    if (str_eq(type, STR("loose"))) {
        *out = version_compare_loose(a, b);
        return true;
    }
    if (str_eq(type, STR("semver")) || str_eq(type, STR("semantic"))) {
        return version_compare_semver(a, b, out) ||
               render_raise(r, FAULT_VALUE,
                            "'%" STR_FMT "' or '%" STR_FMT "' is not a semantic version",
                            STR_ARG(a), STR_ARG(b));
    }
    return render_raise(r, FAULT_FILTER_ARGUMENT,
                        "version_type must be loose or semver, not '%" STR_FMT "'", STR_ARG(type));
}

static bool filter_version(Render *r, const Args *args, Value *out)
{
    Str a, b, name, type;
    int order;
    if (!op_text(r, args->values[0], &a) || !op_text(r, args->values[1], &b) ||
        !arg_text(r, args, 2, STR("eq"), &name) || !arg_text(r, args, 3, STR("loose"), &type)) {
        return false;
    }
    const Comparison *comparison = find_comparison(name);
    if (comparison == NULL) {
        return render_raise(r, FAULT_FILTER_ARGUMENT,
                            "unknown comparison '%" STR_FMT "'; use < <= > >= == != or lt le "
                            "gt ge eq ne",
                            STR_ARG(name));
    }
    if (a.len == 0 || b.len == 0) {
        return render_raise(r, FAULT_VALUE, "cannot compare an empty version");
    }
    if (!compare(r, a, b, type, &order)) {
        return false;
    }
    *out = value_bool(order < 0    ? comparison->less
                      : order == 0 ? comparison->equal
                                   : comparison->greater);
    return true;
}

const Native filters_version[] = {
    { .name = "version_compare",
      .call = filter_version,
      .params = { { "value" },
                  { "version" },
                  { "operator", "'eq'" },
                  { "version_type", "'loose'" } },
      .flags = NATIVE_PLAIN,
      .help = "Compares two versions, part by part (loose) or as semantic versions (semver).",
      .example = "{{ '1.10' | version_compare('1.9', '>') }}",
      .output = "True" },
    { 0 },
};

const Native tests_version[] = {
    { .name = "version",
      .call = filter_version,
      .params = { { "value" },
                  { "version" },
                  { "operator", "'eq'" },
                  { "version_type", "'loose'" } },
      .flags = NATIVE_PLAIN,
      .help =
          "The version compares to another one as specified: < <= > >= == != or lt le gt ge eq ne.",
      .example = "{{ '12.5' is version('11.9', '>=') }} "
                 "{{ '1.0.0-rc1' is version('1.0.0', 'lt', version_type='semver') }}",
      .output = "True True" },
    { .name = "version_compare",
      .call = filter_version,
      .params = { { "value" },
                  { "version" },
                  { "operator", "'eq'" },
                  { "version_type", "'loose'" } },
      .flags = NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as version.",
      .example = "{{ '1.2' is version_compare('1.2') }}",
      .output = "True" },
    { 0 },
};
