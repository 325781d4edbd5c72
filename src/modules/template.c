/* template.*: values. Parameters are already evaluated, so there is nothing left to do. */
#include "modules/call.h"

static bool expression_query(Call *call, Outcome *outcome, Error *err)
{
    outcome->value = call_param(call, "content");
    outcome->out = call_str(call, "content");
    return true;
}

static const ParamSpec expression_params[] = {
    { "content", PARAM_ANY, .required = true, .help = "value, or a template that evaluates to it" },
    { 0 },
};

static const Action actions[] = {
    { "expression", "Provide a value to other steps and macros.", expression_params,
      expression_query, .query = expression_query,
      .text = "If the content is a single '{{ }}', with optional whitespace around it, the type\n"
              "of its value is preserved. In a step, the result contains the value as 'value';\n"
              "a macro returns it directly.\n",
      .example = "- name: number of items\n"
                 "  template.expression:\n"
                 "    - content: \"{{ [1, 2, 3] | length }}\"\n" },
    { 0 },
};

const Module modules_template = {
    .name = "template",
    .help = "Values from templates.",
    .actions = actions,
};
